# SPDX-License-Identifier: MIT
"""Measures what `memtool estimate` predicts: real transformers, written as those of transformers are
but in plain PyTorch, train a few steps on a GPU.

  check_estimate.py predict MEMTOOL     writes estimate.tsv beside this file: what is expected
  check_estimate.py [RUN...]            trains, prints what was measured beside it; 1 when one of
                                        the goals is missed: states 1 %, activations 10 %, the total
                                        inside of its range

Every run is a process of its own. The predictions are made, and committed, before the measurement.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'estimate.tsv')

LLAMA_1B = {'model_type': 'llama', 'hidden_size': 2048, 'intermediate_size': 8192, 'num_hidden_layers': 16,
            'num_attention_heads': 32, 'num_key_value_heads': 8, 'head_dim': 64, 'vocab_size': 128256,
            'tie_word_embeddings': True}
LLAMA_8B = {'model_type': 'llama', 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': 32,
            'num_attention_heads': 32, 'num_key_value_heads': 8, 'vocab_size': 128256}
SMALL = {'model_type': 'llama', 'hidden_size': 1024, 'intermediate_size': 2816, 'num_hidden_layers': 24,
         'num_attention_heads': 16, 'vocab_size': 32000}
QWEN3 = {'model_type': 'qwen3', 'hidden_size': 1024, 'intermediate_size': 3072, 'num_hidden_layers': 28,
         'num_attention_heads': 16, 'num_key_value_heads': 8, 'head_dim': 128, 'vocab_size': 151936,
         'tie_word_embeddings': True}
GPT2 = {'model_type': 'gpt2', 'n_embd': 1024, 'n_layer': 24, 'n_head': 16, 'n_positions': 1024, 'vocab_size': 50257}
MIXTRAL = {'model_type': 'mixtral', 'hidden_size': 1024, 'intermediate_size': 2816, 'num_hidden_layers': 12,
           'num_attention_heads': 16, 'num_key_value_heads': 4, 'vocab_size': 32000, 'num_local_experts': 8,
           'num_experts_per_tok': 2, 'sliding_window': None}

# config, dtype of the weights, batch, sequence, options of memtool
RUNS = {
    'fp32': (SMALL, 'float32', 8, 1024, '--account pure --optimizer adamw'),
    'bf16': (LLAMA_1B, 'bfloat16', 4, 2048, '--account pure --optimizer adamw'),
    'autocast': (QWEN3, 'bfloat16', 4, 1024, '--account amp --optimizer adamw'),
    'recompute': (LLAMA_1B, 'bfloat16', 8, 2048, '--account pure --optimizer momentum --recompute full'),
    'lora': (LLAMA_8B, 'bfloat16', 2, 2048, '--lora 16 --optimizer adamw'),
    'lora_int8': (LLAMA_8B, 'bfloat16', 1, 2048, '--lora 16 --optimizer adamw --dtype int8'),
    'adam8bit': (LLAMA_1B, 'bfloat16', 2, 2048, '--account pure --optimizer adam8bit'),
    'master': (GPT2, 'bfloat16', 8, 1024, '--account mixed --optimizer adamw'),
    'experts': (MIXTRAL, 'bfloat16', 4, 2048, '--account pure --optimizer sgd'),
}
STATES = ('weights', 'gradients', 'optimizer')


# ---- predictions ----

def predict(memtool):
    with open(TABLE, 'w', newline='') as out:
        rows = csv.writer(out, delimiter='\t', lineterminator='\n')
        rows.writerow(['run', 'params', *STATES, 'activations', 'logits', 'workspace', 'total_low', 'total', 'total_high'])
        for name, (config, dtype, batch, seq, options) in RUNS.items():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, 'config.json')
                with open(path, 'w') as f:
                    json.dump({**config, 'torch_dtype': dtype}, f)
                call = [memtool, 'estimate', '--config', path, '--json', '--batch', str(batch), '--seq', str(seq)]
                e = json.loads(subprocess.run(call + options.split(), check=True, stdout=subprocess.PIPE).stdout)
            terms = {t['id']: t['bytes'] for t in e['terms']}
            rows.writerow([name, e['params'], *(terms[t] for t in STATES), terms['activations'], terms['logits'], terms['workspace'],
                           e['total_low_bytes'], e['total_bytes'], e['total_high_bytes']])


def predictions():
    with open(TABLE) as f:
        return {r['run']: {k: int(v) for k, v in r.items() if k != 'run'} for r in csv.DictReader(f, delimiter='\t')}


# ---- models ----

def build(torch, config, dtype, lora, int8):
    """The model on the GPU; its forward gives the hidden states behind the last norm."""
    from torch import nn
    import torch.nn.functional as F
    h = config.get('hidden_size') or config['n_embd']
    layers = config.get('num_hidden_layers') or config['n_layer']
    a = config.get('num_attention_heads') or config['n_head']
    k = config.get('num_key_value_heads', a)
    d = config.get('head_dim', h // a)
    f = config.get('intermediate_size', 4 * h)
    kind = config['model_type']

    class Frozen8(torch.autograd.Function):
        """A product with a matrix that lies in int8 and is made bf16 for the moment."""
        @staticmethod
        def forward(ctx, x, w, scale):
            ctx.save_for_backward(w, scale)
            return F.linear(x, (w.to(x.dtype) * scale.to(x.dtype)[:, None]))

        @staticmethod
        def backward(ctx, g):
            w, scale = ctx.saved_tensors
            return g @ (w.to(g.dtype) * scale.to(g.dtype)[:, None]), None, None

    class Linear(nn.Module):
        def __init__(self, i, o, bias=False):
            super().__init__()
            if int8:
                self.register_buffer('w8', torch.randint(-127, 127, (o, i), dtype=torch.int8))
                self.register_buffer('scale', torch.full((o,), 1e-4, dtype=torch.float32))
            else:
                self.weight = nn.Parameter(torch.randn(o, i) * 0.02, requires_grad=not lora)
            self.bias = nn.Parameter(torch.zeros(o)) if bias else None
            if lora:
                self.a = nn.Parameter(torch.randn(lora, i, dtype=torch.float32) * 0.01)
                self.b = nn.Parameter(torch.zeros(o, lora, dtype=torch.float32))

        def forward(self, x):
            y = Frozen8.apply(x, self.w8, self.scale) if int8 else F.linear(x, self.weight, self.bias)
            return y + F.linear(F.linear(x.float(), self.a), self.b) if lora else y

    class RMSNorm(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(n), requires_grad=not lora)

        def forward(self, x):
            dtype = x.dtype
            x = x.to(torch.float32)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
            return self.weight * x.to(dtype)

    norm = nn.LayerNorm if kind == 'gpt2' else RMSNorm

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            biased = kind == 'gpt2'
            self.q, self.o = Linear(h, a * d, biased), Linear(a * d, h, biased)
            self.k, self.v = Linear(h, k * d, biased), Linear(h, k * d, biased)
            self.q_norm, self.k_norm = (RMSNorm(d), RMSNorm(d)) if kind == 'qwen3' else (None, None)

        def forward(self, x, cos, sin):
            b, s, _ = x.shape
            q, key, v = self.q(x).view(b, s, a, d), self.k(x).view(b, s, k, d), self.v(x).view(b, s, k, d)
            if self.q_norm:
                q, key = self.q_norm(q), self.k_norm(key)
            q, key, v = q.transpose(1, 2), key.transpose(1, 2), v.transpose(1, 2)
            if kind != 'gpt2':
                q, key = rotate(q, cos, sin), rotate(key, cos, sin)
            y = F.scaled_dot_product_attention(q, key, v, is_causal=True, enable_gqa=k != a)
            return self.o(y.transpose(1, 2).reshape(b, s, a * d))

    def rotate(x, cos, sin):
        half = torch.cat((-x[..., d // 2:], x[..., :d // 2]), dim=-1)
        return x * cos + half * sin

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up, self.down = Linear(h, f), Linear(h, f), Linear(f, h)

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.proj = Linear(h, f, True), Linear(f, h, True)

        def forward(self, x):
            return self.proj(F.gelu(self.fc(x), approximate='tanh'))

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = Linear(h, config['num_local_experts'])
            self.experts = nn.ModuleList(Gated() for _ in range(config['num_local_experts']))

        def forward(self, x):
            flat = x.reshape(-1, h)
            weights, chosen = F.softmax(self.gate(flat), dim=-1, dtype=torch.float32).topk(2, dim=-1)
            weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
            out = torch.zeros_like(flat)
            for i, expert in enumerate(self.experts):
                token, slot = torch.where(chosen == i)
                out.index_add_(0, token, expert(flat[token]) * weights[token, slot, None])
            return out.view_as(x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2, self.attention = norm(h), norm(h), Attention()
            self.mlp = Plain() if kind == 'gpt2' else Experts() if kind == 'mixtral' else Gated()

        def forward(self, x, cos, sin):
            x = x + self.attention(self.n1(x), cos, sin)
            return x + self.mlp(self.n2(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            v = config['vocab_size']
            self.embed = nn.Embedding(v, h)
            self.places = nn.Embedding(config['n_positions'], h) if kind == 'gpt2' else None
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm = norm(h)
            tied = config.get('tie_word_embeddings', kind == 'gpt2')
            self.head = self.embed if tied else nn.Linear(h, v, bias=False)
            if lora:
                self.embed.requires_grad_(False)
                self.head.requires_grad_(False)
                self.norm.requires_grad_(False)

        def forward(self, ids, again):
            x = self.embed(ids)
            if self.places:
                x = x + self.places(torch.arange(ids.shape[1], device=ids.device))
            angle = torch.arange(ids.shape[1], device=ids.device)[:, None] * torch.linspace(1, 1e-4, d // 2,
                                                                                            device=ids.device)
            angle = torch.cat((angle, angle), dim=-1)
            cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
            for layer in self.layers:
                if again:
                    x = torch.utils.checkpoint.checkpoint(layer, x, cos, sin, use_reentrant=False)
                else:
                    x = layer(x, cos, sin)
            return self.norm(x)

        def loss(self, hidden, ids):
            logits = F.linear(hidden, self.head.weight)
            return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), ids.view(-1))

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device('cuda'):
            return Model()
    finally:
        torch.set_default_dtype(before)


# ---- optimizers ----

def optimizer_of(torch, params, options):
    params = [p for p in params if p.requires_grad]
    if 'adam8bit' in options:
        return Adam8(torch, params)
    if '--account mixed' in options:
        return Master(torch, params)
    if 'momentum' in options:
        return torch.optim.SGD(params, lr=1e-4, momentum=0.9)
    if 'sgd' in options:
        return torch.optim.SGD(params, lr=1e-4)
    return torch.optim.AdamW(params, lr=1e-4)


class Master:
    """AdamW over an fp32 copy of parameters in half precision; gradients stay in theirs."""
    def __init__(self, torch, params):
        self.params, self.state = params, []
        for p in params:
            copy = p.detach().float()
            self.state.append((copy, torch.zeros_like(copy), torch.zeros_like(copy)))

    def step(self):
        for p, (copy, m, v) in zip(self.params, self.state):
            g = p.grad.float()
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.99).addcmul_(g, g, value=0.01)
            copy.sub_(1e-4 * m / (v.sqrt() + 1e-8))
            p.data.copy_(copy)

    def zero_grad(self):
        for p in self.params:
            p.grad = None


class Adam8(Master):
    """Two moments in one byte each, with a largest value in fp32 for each 256 elements; tensors
    below 4096 elements keep theirs in fp32. The layout of bitsandbytes; the rounding is plainer."""
    def __init__(self, torch, params):
        self.torch, self.params, self.state = torch, params, []
        for p in params:
            n = p.numel()
            if n < 4096:
                self.state.append([torch.zeros(n, device=p.device) for _ in range(2)])
            else:
                blocks = (n + 255) // 256
                self.state.append([(torch.zeros(n, dtype=torch.uint8, device=p.device),
                                    torch.zeros(blocks, device=p.device)) for _ in range(2)])

    def wide(self, state, n):
        if not isinstance(state, tuple):
            return state
        q, most = state
        return ((q.float() - 128) / 127 * most.repeat_interleave(256)[:n])

    def narrow(self, x, state):
        if not isinstance(state, tuple):
            state.copy_(x)
            return
        q, most = state
        padded = self.torch.nn.functional.pad(x, (0, most.numel() * 256 - x.numel())).view(-1, 256)
        most.copy_(padded.abs().amax(1))
        q.copy_((x / (most.repeat_interleave(256)[:x.numel()] + 1e-12) * 127 + 128).round().to(self.torch.uint8))

    def step(self):
        for p, (first, second) in zip(self.params, self.state):
            g = p.grad.float().view(-1)
            m = self.wide(first, g.numel()).mul(0.9).add(g, alpha=0.1)
            v = self.wide(second, g.numel()).mul(0.99).addcmul(g, g, value=0.01)
            p.data.view(-1).sub_((1e-4 * m / (v.abs().sqrt() + 1e-6)).to(p.dtype))
            self.narrow(m, first)
            self.narrow(v, second)


# ---- measuring ----

def measure(name):
    import torch
    import torch.utils.checkpoint
    config, dtype_name, batch, seq, options = RUNS[name]
    amp, again = '--account amp' in options, '--recompute full' in options
    lora, int8 = 16 if '--lora' in options else 0, 'int8' in options
    compute = getattr(torch, dtype_name)
    weights_dtype = torch.float32 if amp else compute
    torch.manual_seed(1)
    torch.cuda.init()

    def allocated():
        """What was asked for: blocks may be larger, which is fragmentation and no tensor's."""
        return torch.cuda.memory_stats().get('requested_bytes.all.current', 0)

    # cuBLAS takes a workspace for this thread and one for autograd's
    with torch.autocast('cuda', dtype=torch.bfloat16):
        torch.nn.functional.linear(torch.ones(64, 64, device='cuda', requires_grad=True),
                                   torch.ones(64, 64, device='cuda', requires_grad=True)).sum().backward()
    found = {'workspace': allocated()}
    model = build(torch, config, weights_dtype, lora, int8)
    found['weights'] = allocated() - found['workspace']
    optimizer = optimizer_of(torch, list(model.parameters()), options)
    ids = torch.randint(0, config['vocab_size'], (batch, seq), device='cuda')
    cast = torch.autocast('cuda', dtype=torch.bfloat16, enabled=amp or lora > 0)

    def step(watch):
        before = allocated()
        with cast:
            hidden = model(ids, again)
            if watch:
                found['activations'] = allocated() - before
            at = allocated()
            torch.cuda.reset_peak_memory_stats() if watch == 2 else None
            loss = model.loss(hidden, ids)
        if watch == 2:
            grads = torch.autograd.grad(loss, hidden)
            found['logits'] = torch.cuda.max_memory_allocated() - at
            del grads
            return
        del hidden
        loss.backward()
        optimizer.step()

    step(0)
    optimizer.zero_grad()
    step(1)
    torch.cuda.synchronize()
    found['states'] = allocated() - ids.numel() * 8 - found['workspace']
    found['gradients'] = sum(p.grad.numel() * p.grad.element_size() for p in model.parameters() if p.grad is not None)
    found['optimizer'] = found['states'] - found['weights'] - found['gradients']
    optimizer.zero_grad()
    step(1)
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    context = total - free - torch.cuda.memory_reserved()
    found['peak'] = torch.cuda.max_memory_allocated()
    found['total'] = torch.cuda.max_memory_reserved() + context
    found['context'] = context
    optimizer.zero_grad()
    step(2)
    if again:
        x = torch.randn(batch, seq, config['hidden_size'], device='cuda', dtype=compute, requires_grad=True)
        table = torch.zeros(seq, config['head_dim'], device='cuda', dtype=compute)
        at = allocated()
        y = model.layers[0](x, table, table)
        found['activations'] += allocated() - at - y.numel() * y.element_size()
        del y
    return found


def measured(name):
    """What a run in a process of its own found; None when it failed."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), '--measure', name], stdout=subprocess.PIPE,
                          text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def share(found, expected):
    return (found - expected) / expected if expected else 0.0


def print_run(name, found, p):
    """One table a run; the names of the goals that were missed."""
    states = sum(p[t] for t in STATES)
    rows = [(t, p[t], found[t]) for t in (*STATES, 'activations', 'logits')]
    rows.append(('states', states, found['states']))
    rows.append(('workspace', p['workspace'], found['workspace']))
    print(f"== {name}: {RUNS[name][4]}, batch {RUNS[name][2]}, sequence {RUNS[name][3]}")
    for what, expected, got in rows:
        print(f'{what:12} {expected / 2**20:12.2f} MiB expected {got / 2**20:12.2f} MiB found '
              f'{100 * share(got, expected):+8.2f} %')
    print(f"total        {p['total_low'] / 2**20:12.2f} to {p['total_high'] / 2**20:.2f} MiB, middle "
          f"{p['total'] / 2**20:.2f}, found {found['total'] / 2**20:.2f} MiB (allocated {found['peak'] / 2**20:.2f}, "
          f"context {found['context'] / 2**20:.2f})")
    missed = []
    missed += ['states'] if abs(share(found['states'], states)) > 0.01 else []
    missed += ['activations'] if abs(share(found['activations'], p['activations'])) > 0.10 else []
    missed += ['range'] if not p['total_low'] <= found['total'] <= p['total_high'] else []
    print('missed: ' + ', '.join(missed) if missed else 'within all goals', flush=True)
    return missed


def main(args):
    if args[:1] == ['predict']:
        predict(args[1])
        return 0
    if args[:1] == ['--measure']:
        print(json.dumps(measure(args[1])))
        return 0
    expected, failed = predictions(), 0
    for name in args or RUNS:
        found = measured(name)
        if found is None:
            print(f'== {name}: failed', flush=True)
        failed += found is None or bool(print_run(name, found, expected[name]))
    print(f'{len(args or RUNS)} runs, {failed} missed a goal')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
