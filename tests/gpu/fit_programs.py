# SPDX-License-Identifier: MIT
"""Programs that `memtool fit` is tried on: one process, one program, one size. Writes PyTorch's own
peaks as JSON, and with --record a snapshot of the whole run.

    fit_programs.py PROGRAM --size N --result FILE [--record FILE]

The size is the batch, or the sequence where the program says so. The settings are those of
PYTORCH_CUDA_ALLOC_CONF. `fsdp` wants two processes with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT; the first writes.
"""
import argparse
import json
import os

import torch
import torch.nn.functional as F
from torch import nn

VOCAB = 16000
STEPS = 3
DEVICE = "cuda"


# ---- a transformer with rotary positions and gated feed-forward layers ----


class Attention(nn.Module):
    def __init__(self, d, heads, plain=False):
        super().__init__()
        self.q, self.k = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.v, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.heads, self.plain = heads, plain

    def forward(self, x, angles, past=None):
        b, t, d = x.shape
        q, k, v = (p(x).view(b, t, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = turn(q, angles), turn(k, angles)
        if past is not None:
            if past:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            past[:] = [k, v]
        if self.plain:
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            mask = torch.ones(t, t, device=x.device, dtype=torch.bool).triu(1)
            y = scores.masked_fill(mask, float("-inf")).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.o(y.transpose(1, 2).reshape(b, t, d))


def turn(x, angles):
    cos, sin = angles
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, d, heads, plain=False):
        super().__init__()
        self.before, self.attention = nn.RMSNorm(d), Attention(d, heads, plain)
        self.after = nn.RMSNorm(d)
        self.gate, self.up = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, 3 * d, bias=False)
        self.down = nn.Linear(3 * d, d, bias=False)

    def forward(self, x, angles, past=None):
        x = x + self.attention(self.before(x), angles, past)
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Language(nn.Module):
    def __init__(self, d=768, layers=8, heads=12, plain=False):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d)
        self.blocks = nn.ModuleList(Block(d, heads, plain) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(d), nn.Linear(d, VOCAB, bias=False)
        self.width = d // heads

    def angles(self, start, end, device):
        rate = 10000 ** (-torch.arange(0, self.width, 2, device=device) / self.width)
        turns = torch.outer(torch.arange(start, end, device=device), rate)
        return turns.cos(), turns.sin()

    def forward(self, tokens):
        x = self.embed(tokens)
        angles = self.angles(0, tokens.shape[1], tokens.device)
        for block in self.blocks:
            x = block(x, angles)
        return self.head(self.norm(x))


def tokens(batch, sequence):
    return torch.randint(0, VOCAB, (batch, sequence + 1), device=DEVICE)


def loss_of(model, x):
    return F.cross_entropy(model(x[:, :-1]).flatten(0, 1).float(), x[:, 1:].flatten())


def train_language(model, optimizer, batch, sequence=256, micro=1, autocast=True):
    for _ in range(STEPS):
        for _ in range(micro):
            with torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
                loss = loss_of(model, tokens(batch, sequence))
            (loss / micro).backward()
        optimizer.step()
        optimizer.zero_grad()


def adamw(model):
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def train(size):
    """A language model, autocast to bfloat16, AdamW."""
    model = Language().to(DEVICE)
    train_language(model, adamw(model), size)


def accumulate(size):
    """The same, four micro-batches a step."""
    model = Language(layers=4).to(DEVICE)
    train_language(model, adamw(model), size, micro=4)


def plain_attention(size):
    """The same by sequence, attention without fusion."""
    model = Language(layers=4, plain=True).to(DEVICE)
    train_language(model, adamw(model), 4, sequence=size)


def compiled(size):
    """The same, torch.compile."""
    model = Language(layers=4).to(DEVICE)
    train_language(torch.compile(model, dynamic=False), adamw(model), size)


class Adapter(nn.Module):
    def __init__(self, linear, rank=8):
        super().__init__()
        self.linear = linear
        kw = {"dtype": torch.float32, "device": linear.weight.device}
        self.a = nn.Parameter(torch.randn(rank, linear.in_features, **kw) * 0.01)
        self.b = nn.Parameter(torch.zeros(linear.out_features, rank, **kw))

    def forward(self, x):
        return self.linear(x) + F.linear(F.linear(x, self.a), self.b) * 2.0


def lora(size):
    """Adapters of rank 8 on the queries and values of a frozen bfloat16 model, AdamW."""
    model = Language(d=1024, layers=10, heads=16).to(DEVICE).to(torch.bfloat16).requires_grad_(False)
    for block in model.blocks:
        block.attention.q = Adapter(block.attention.q)
        block.attention.v = Adapter(block.attention.v)
    train_language(model, adamw(model), size)


def generate(size):
    """64 tokens from prompts of 32, a KV cache that grows."""
    model = Language(d=1024, layers=12, heads=16).to(DEVICE).to(torch.bfloat16).eval()
    caches = [[] for _ in model.blocks]
    with torch.no_grad():
        x, at = tokens(size, 31), 0
        for _ in range(64):
            h = model.embed(x)
            angles = model.angles(at, at + x.shape[1], DEVICE)
            for block, cache in zip(model.blocks, caches):
                h = block(h, angles, cache)
            at += x.shape[1]
            odds = model.head(model.norm(h[:, -1])).float().softmax(-1)
            x = torch.multinomial(odds, 1)


def fsdp(size):
    """Fully sharded over two GPUs (FSDP2), parameters gathered in bfloat16, AdamW."""
    from torch import distributed
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    torch.cuda.set_device(int(os.environ["RANK"]))
    distributed.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["RANK"])))
    model = Language(d=1024, layers=6, heads=16).to(DEVICE)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    train_language(model, adamw(model), size, autocast=False)
    torch.cuda.synchronize()
    distributed.barrier()


# ---- convolutions and others ----


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            convolution(inputs, width, 1), convolution(width, width, 3, stride), convolution(width, outputs, 1)
        )
        same = stride == 1 and inputs == outputs
        self.short = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def train_images(model, optimizer, batch, side, classes):
    for _ in range(STEPS):
        x = torch.randn(batch, 3, side, side, device=DEVICE).to(memory_format=torch.channels_last)
        y = torch.randint(0, classes, (batch,), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def conv(size):
    """A residual network of bottlenecks, channels last, autocast, SGD with momentum."""
    layers = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)):
        layers.append(Bottleneck(inputs, width, stride))
        inputs = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)]
    model = nn.Sequential(*layers).to(DEVICE).to(memory_format=torch.channels_last)
    train_images(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), size, 160, 1000)


def vision(size):
    """A vision transformer of PyTorch's own encoder layers, autocast, AdamW."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True, norm_first=True)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.encoder = nn.Conv2d(3, 512, 16, 16), nn.TransformerEncoder(layer, 6)
            self.head = nn.Linear(512, 1000)

        def forward(self, x):
            return self.head(self.encoder(self.patches(x).flatten(2).transpose(1, 2)).mean(1))

    model = Model().to(DEVICE)
    train_images(model, adamw(model), size, 224, 1000)


def perceptron(size):
    """Ten layers with dropout in float32, Adam."""
    layers = [m for _ in range(10) for m in (nn.Linear(2048, 2048), nn.ReLU(), nn.Dropout(0.1))]
    model = nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        model(torch.randn(size * 256, 2048, device=DEVICE)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def recurrent(size):
    """A GRU of two layers in float32, Adam."""
    model = nn.ModuleDict(
        {"embed": nn.Embedding(VOCAB, 512), "gru": nn.GRU(512, 1024, 2, batch_first=True), "head": nn.Linear(1024, VOCAB)}
    ).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        x = tokens(size, 128)
        h, _ = model["gru"](model["embed"](x[:, :-1]))
        F.cross_entropy(model["head"](h).flatten(0, 1), x[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def double(inputs, outputs):
    return nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, 1, 1))


def unet(size):
    """A U-Net in float16 with a loss scaler, AdamW."""

    class Model(nn.Module):
        def __init__(self, c=32):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, c, 3, 1, 1), nn.Conv2d(c, 3, 3, 1, 1)
            self.down = nn.ModuleList([double(c, 2 * c), double(2 * c, 4 * c), double(4 * c, 4 * c)])
            self.up = nn.ModuleList([double(8 * c, 4 * c), double(8 * c, 2 * c), double(4 * c, c)])

        def forward(self, x):
            h, kept = self.first(x), []
            for layer in self.down:
                h = layer(h)
                kept.append(h)
                h = F.avg_pool2d(h, 2)
            for layer in self.up:
                h = layer(torch.cat([F.interpolate(h, scale_factor=2), kept.pop()], 1))
            return self.last(h)

    model = Model().to(DEVICE)
    optimizer, scaler = adamw(model), torch.amp.GradScaler(DEVICE)
    for _ in range(STEPS):
        x = torch.randn(size, 3, 96, 96, device=DEVICE)
        with torch.autocast(DEVICE, torch.float16):
            loss = F.mse_loss(model(x), x)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


PROGRAMS = (train, lora, conv, compiled, generate, fsdp, accumulate, plain_attention, vision, perceptron, recurrent, unet)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=[p.__name__ for p in PROGRAMS])
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--result", required=True)
    parser.add_argument("--record", default="")
    a = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.manual_seed(1)
    torch.cuda.init()
    if a.record:
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    {p.__name__: p for p in PROGRAMS}[a.program](a.size)
    torch.cuda.synchronize()
    if rank > 0:
        return
    if a.record:
        torch.cuda.memory._dump_snapshot(a.record)
    stats = torch.cuda.memory_stats()
    keys = ("reserved_bytes.all.peak", "requested_bytes.all.peak", "allocated_bytes.all.peak")
    found = {k.split("_")[0]: stats[k] for k in keys}
    with open(a.result, "w") as f:
        json.dump({**found, "retries": stats["num_alloc_retries"], "ooms": stats["num_ooms"]}, f)


if __name__ == "__main__":
    main()
