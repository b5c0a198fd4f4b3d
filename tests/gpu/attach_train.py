# SPDX-License-Identifier: MIT
"""A training run that capture --pid reaches into, and that capture --modules labels: a transformer
with a leak, an activation a step that a list keeps. STEPS; a file that is written once it trains, or
-; "leak" or "clean". Prints as JSON the bits of its losses and the time of a step."""
import json
import os
import struct
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch
from torch import nn

steps, ready, leaks = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "leak"
torch.manual_seed(0)
torch.use_deterministic_algorithms(True, warn_only=True)
D, HEADS, LENGTH, BATCH, WORDS = 1024, 16, 256, 8, 8192


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        weights = ((q @ k.transpose(-1, -2)) / (D // HEADS) ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, D))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(D), nn.LayerNorm(D), Attention()
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, D)
        self.blocks = nn.ModuleList(Block() for _ in range(8))
        self.head = nn.Linear(D, WORDS)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return x, self.head(x)


class Trainer:
    def __init__(self):
        self.model = Model().cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.kept = []

    def step(self, tokens):
        hidden, logits = self.model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if leaks and len(self.kept) < 2000:
            self.kept.append(hidden.detach()[:, ::8].contiguous())  # 1 MiB a step
        return loss


def main():
    trainer = Trainer()
    losses, times = [], []
    for i in range(steps):
        tokens = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
        begin = time.perf_counter()
        losses.append(trainer.step(tokens).item())
        times.append(time.perf_counter() - begin)
        if i == 3 and ready != "-":
            with open(ready, "w") as f:
                f.write("ready")
    rest = sorted(times[len(times) // 4:])
    print(json.dumps({"bits": struct.pack("%df" % len(losses), *losses).hex(), "last": losses[-1],
                      "step_ms": round(1000 * rest[len(rest) // 2], 4), "torch": torch.__version__,
                      "recording": torch._C._cuda_isHistoryEnabled(), "reserved": torch.cuda.memory_reserved()}),
          flush=True)


main()
