# SPDX-License-Identifier: MIT
"""A transformer trained by two ranks, for memtool capture to record: train.py ddp|fsdp [--long RANK] [--limit RANK].

Prints a line of JSON for each rank with PyTorch's own counters. --long RANK: that rank's inputs are twice as long.
--limit RANK: that rank may reserve so little that it runs out of memory in its third step."""
import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

WIDTH, LAYERS, HEADS, WORDS, BATCH, LENGTH = 1536, 8, 12, 32000, 8, 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, WIDTH))

    def feed_forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def wrap(model, how):
    if how == "ddp":
        return nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    from torch.distributed.fsdp import fully_shard
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def train_step(model, optimizer, length):
    tokens = torch.randint(WORDS, (BATCH, length + 1), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(tokens[:, :-1])
        loss = cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


def main():
    options = argparse.ArgumentParser()
    options.add_argument("how", choices=("ddp", "fsdp"))
    options.add_argument("--long", type=int, default=-1)
    options.add_argument("--limit", type=int, default=-1)
    options.add_argument("--steps", type=int, default=6)
    o = options.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    torch.manual_seed(0)
    model = wrap(Model().cuda(), o.how)
    optimizer = torch.optim.AdamW(model.parameters())
    length = LENGTH * 2 if rank == o.long else LENGTH
    for i in range(o.steps):
        if rank == o.limit and i == 2:
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (64 << 20)) / total)
            length *= 2
        loss = train_step(model, optimizer, length)
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(json.dumps({"how": o.how, "rank": rank, "torch": torch.__version__, "loss": round(float(loss), 4),
                      "requested_peak": stats["requested_bytes.all.peak"],
                      "reserved": stats["reserved_bytes.all.current"],
                      "allocated": stats["allocated_bytes.all.current"]}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
