# SPDX-License-Identifier: MIT
"""Training steps for the capture part of check-gpu: prints as JSON what the device has less of
afterwards, the time of a step, and (with "oom") ends by running out of memory."""
import json
import sys
import time

import torch

torch.manual_seed(0)
torch.cuda.init()
torch.zeros(1, device="cuda") @ torch.zeros(1, device="cuda")
model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(24)]).cuda()
before, _ = torch.cuda.mem_get_info()
held = torch.cuda.memory_reserved()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(8192, 4096, device="cuda")
times = []
for i in range(60):
    begin = time.perf_counter()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
after, _ = torch.cuda.mem_get_info()
print(json.dumps({"difference": before - after + held,
                  "step_ms": round(1000 * sorted(times[10:])[25], 4),
                  "reserved": torch.cuda.memory_reserved()}), flush=True)
if "oom" in sys.argv:
    torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
