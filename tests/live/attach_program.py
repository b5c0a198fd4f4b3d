# SPDX-License-Identifier: MIT
"""A training loop over the stand-in for PyTorch that memtool capture --pid reaches into. It writes
"ready" into the file that it is given, and goes on until a file "stop" is beside it; then it prints
what it has left: what was switched, threads, names and hooks that are not its own, and its sum."""
import ctypes  # as PyTorch itself does
import os
import sys
import threading
import time

import torch

torch.cuda.init()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._parameters["weight"] = torch.nn.Parameter(4096)
        self._modules["inner"] = Inner()


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._parameters["bias"] = torch.nn.Parameter(512)
        self._buffers["mean"] = torch.Tensor(1024)


class Trainer:
    def __init__(self):
        self.history = []


class Optimizer(torch.optim.Optimizer):
    pass


def slow_hook(optimizer):
    time.sleep(0.0005)


def wait():
    threading.Event().wait(1000)


def train(trainer):
    ready, total, began = sys.argv[1], 0, time.monotonic()
    stop = os.path.join(os.path.dirname(ready), "stop")
    if "threads" in sys.argv:
        threading.Thread(target=wait, daemon=True).start()
    names = set(globals())
    with open(ready + ".part", "w") as f:
        f.write("ready")
    os.rename(ready + ".part", ready)
    while not os.path.exists(stop) and time.monotonic() - began < 600:
        total += sum(range(1000)) - 499500
        if len(trainer.history) < 50:
            trainer.history.append(torch.Tensor(2048))
        optimizer.step()
        time.sleep(0.001 if "sleeps" in sys.argv else 0)
    own = {"MainThread"} | ({"Thread-1", "Thread-1 (wait)"} if "threads" in sys.argv else set())
    print({"sum": total, "switched": torch.cuda.memory.switched, "recording": torch._C._cuda_isHistoryEnabled(),
           "hooks": len(set(sys.modules["torch.optim.optimizer"].hooks.values()) - {slow_hook}), "names": sorted(set(globals()) - names),
           "threads": sorted({t.name for t in threading.enumerate()} - own),
           "folders": [m for m in sys.modules if "memtool" in m], "interval": round(sys.getswitchinterval(), 4)})


if "recording" in sys.argv:
    torch.cuda.memory._record_memory_history()
    torch.cuda.memory.switched.clear()
model = Net()
optimizer = Optimizer()
if "threads" in sys.argv:
    for _ in range(2):
        sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook(slow_hook)
cache = {"step": torch.Tensor(8192)}
train(Trainer())
