# SPDX-License-Identifier: MIT
"""Training steps for the capture part of check-gpu: prints as JSON what the device has less of
afterwards and the time of a step. Then, as the argument says: "catch" runs out of memory and goes
on, "oom" does not catch it, "segv" dies."""
import json
import os
import signal
import sys
import time

import torch


def reserved():
    try:
        return torch.cuda.memory_reserved()
    except RuntimeError:  # a pluggable allocator does not say
        return 0


torch.manual_seed(0)
torch.cuda.init()
x = torch.randn(4096, 4096, device="cuda")
torch.cuda.synchronize()
before, _ = torch.cuda.mem_get_info()
held = reserved()
model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
times = []
for i in range(40):
    begin = time.perf_counter()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
after, _ = torch.cuda.mem_get_info()
print(json.dumps({"difference": before - after + held, "torch": torch.__version__,
                  "step_ms": round(1000 * sorted(times[10:])[15], 4), "reserved": reserved()}),
      flush=True)
what = sys.argv[1] if len(sys.argv) > 1 else ""
if what == "segv":
    os.kill(os.getpid(), signal.SIGSEGV)
try:
    if what:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
except RuntimeError as refusal:
    if what != "catch":
        raise
    print(json.dumps({"refused": type(refusal).__name__, "text": str(refusal)[:300]}), flush=True)
