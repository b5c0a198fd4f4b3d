# SPDX-License-Identifier: MIT
"""Programs that do not fit, and their cures: one process, one program, one size. Writes PyTorch's own
peaks as JSON, and with --record a snapshot of the whole run, also when it ends out of memory.

    cures_programs.py PROGRAM --size N --result FILE [--record FILE] [--limit BYTES]
                      [--checkpoint block|attention|feed] [--pieces] [--half]

The size is the batch. The settings are those of PYTORCH_CUDA_ALLOC_CONF.
"""
import argparse
import functools
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import fit_programs

VOCAB = 32000
PIECES = 8
again = functools.partial(checkpoint, use_reentrant=False)


class Block(fit_programs.Block):
    def attend(self, x, angles):
        return x + self.attention(self.before(x), angles)

    def feed(self, x):
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def forward(self, x, angles):
        x = self.attend(x, angles)  # checkpoint attention
        return self.feed(x)  # checkpoint feed


class Model(fit_programs.Language):
    def __init__(self, vocab, d=768, layers=8, heads=12):
        super().__init__(d, 0, heads)
        self.embed, self.head = nn.Embedding(vocab, d), nn.Linear(d, vocab, bias=False)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))

    def forward(self, x):
        angles = self.angles(0, x.shape[1], x.device)
        x = self.embed(x)
        for block in self.blocks:
            x = block(x, angles)  # checkpoint block
        return self.norm(x)

    def loss(self, h, y):
        return F.cross_entropy(self.head(h).float(), y)


def recompute(model, which):
    """What a person would write: the calls at one line go through torch.utils.checkpoint."""
    names = {"block": "forward", "attention": "attend", "feed": "feed"}
    for block in model.blocks if which else ():
        name = names[which]
        setattr(block, name, functools.partial(again, getattr(block, name)))


def loss_of(model, x, options):
    h, y = model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()
    if not options.pieces:
        return model.loss(h, y)
    parts = zip(h.chunk(PIECES), y.chunk(PIECES))
    return sum(again(model.loss, a, b) * (len(b) / len(y)) for a, b in parts)


def tokens(vocab, batch, sequence):
    return torch.randint(0, vocab, (batch, sequence + 1), device="cuda")


def train_step(model, optimizer, x, options):
    with torch.autocast("cuda", torch.bfloat16):
        loss = loss_of(model, x, options)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def evaluate(model, x, options):
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for part in x.chunk(2) if options.half else (x,):
            loss_of(model, part, options)


def begin(vocab, options):
    model = Model(vocab).to("cuda")
    recompute(model, options.checkpoint)
    return model, fit_programs.adamw(model)


def train(size, options):
    """A language model of 32,000 words: activations and logits."""
    model, optimizer = begin(VOCAB, options)
    for _ in range(3):
        train_step(model, optimizer, tokens(VOCAB, size, 256), options)


def validate(size, options):
    """The same, with an evaluation of eight times the batch after each step."""
    model, optimizer = begin(VOCAB, options)
    for _ in range(3):
        train_step(model, optimizer, tokens(VOCAB, size, 256), options)
        evaluate(model, tokens(VOCAB, 8 * size, 256), options)


def ragged(size, options):
    """Sequences of another length in each step, few words: what fragments."""
    model, optimizer = begin(4000, options)
    for length in (256, 176, 320, 208, 288, 352, 192, 384, 240, 336):
        train_step(model, optimizer, tokens(4000, size, length), options)


PROGRAMS = (train, validate, ragged)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=[p.__name__ for p in PROGRAMS])
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--result", required=True)
    parser.add_argument("--record", default="")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--checkpoint", default="")
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--half", action="store_true")
    a = parser.parse_args()
    torch.manual_seed(1)
    torch.cuda.init()
    if a.limit:
        torch.cuda.set_per_process_memory_fraction((a.limit + 0.5) / torch.cuda.get_device_properties(0).total_memory)
    if a.record:
        torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
    refused = ""
    try:
        {p.__name__: p for p in PROGRAMS}[a.program](a.size, a)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError as e:
        refused = str(e)
    if a.record:
        torch.cuda.memory._dump_snapshot(a.record)
    stats = torch.cuda.memory_stats()
    keys = ("reserved_bytes.all.peak", "requested_bytes.all.peak")
    found = {k.split("_")[0]: stats[k] for k in keys}
    with open(a.result, "w") as f:
        json.dump({**found, "retries": stats["num_alloc_retries"], "refused": refused}, f)


if __name__ == "__main__":
    main()
