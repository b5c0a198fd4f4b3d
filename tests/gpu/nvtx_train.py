# SPDX-License-Identifier: MIT
"""Training steps with ranges named by NVTX, pinned memory, and NCCL on one rank where there is
any; prints as JSON what there was."""
import json
import os
import threading

import torch

STEPS, PINNED = 5, 64 << 20
nvtx = torch.cuda.nvtx


def other_thread():
    with nvtx.range("loader"):
        torch.empty(1 << 20, dtype=torch.uint8).pin_memory()


nccl = torch.distributed.is_available() and torch.distributed.is_nccl_available()
if nccl:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", rank=0, world_size=1)
batch = torch.empty(PINNED, dtype=torch.uint8, pin_memory=True)
model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(512, 2048, device="cuda")
running = nvtx.range_start("whole run")
for i in range(STEPS):
    nvtx.range_push(f"step {i}")
    nvtx.range_push("forward \u2192")
    loss = model(x).square().mean()
    nvtx.range_pop()
    with nvtx.range("backward"):
        loss.backward()
    if nccl:
        for p in model.parameters():
            torch.distributed.all_reduce(p.grad)
    optimizer.step()
    optimizer.zero_grad()
    nvtx.range_pop()
nvtx.range_end(running)
nvtx.mark("done")
thread = threading.Thread(target=other_thread)
thread.start()
thread.join()
torch.cuda.synchronize()
print(json.dumps({"torch": torch.__version__, "steps": STEPS, "pinned": PINNED, "nccl": nccl}), flush=True)
if nccl:
    torch.distributed.destroy_process_group()
