# SPDX-License-Identifier: MIT
"""The capture part of check_gpu.py: memtool capture in every mode, around programs that end in
every way. Each check prints its line; one that fails stops no other."""
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = [sys.executable, os.path.join(HERE, "capture_train.py")]
RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1"]
MODES = ("torch", "record", "cache", "allocator")


def find_memtool(build):
    """The static binary goes to machines where memtool itself cannot be built."""
    places = (os.environ.get("MEMTOOL_BIN"), os.path.join(build, "memtool"),
              os.path.join(os.path.dirname(build), "static", "memtool"))
    return next((os.path.abspath(p) for p in places if p and os.access(p, os.X_OK)), None)


class Run:
    """One program under capture, in a folder of its own."""

    def __init__(self, check, name, mode, command, output="snap.pickle", seconds=90):
        self.folder = os.path.join(check.folder, name.replace(", ", "-").replace(" ", "_"))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.name, self.begin = name, time.time()
        env = dict(os.environ, MEMTOOL_ALLOC_LIBRARY=check.library)
        for left in ("MEMTOOL_PRELOAD", "MEMTOOL_RECORD", "MEMTOOL_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            env.pop(left, None)
        if mode:
            command = [check.memtool, "capture", "--mode", mode, "-o", output, "--", *command]
        try:
            done = subprocess.run(command, cwd=self.folder, env=env, timeout=seconds, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace")
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as e:
            self.code, self.out, self.err = "timeout", str(e.stdout), str(e.stderr)
        self.seconds = time.time() - self.begin
        with open(os.path.join(check.build, "gpu", f"capture.{os.path.basename(self.folder)}.log"), "w") as f:
            f.write(f"{command}\nexit {self.code} after {self.seconds:.1f} s\n{self.out}\n{self.err}\n")

    def json(self):
        """The first line of its output."""
        for text in self.out.splitlines():
            if text.startswith("{"):
                return json.loads(text)
        return {}

    def snapshots(self):
        """What memtool says was written: [(why, name)]."""
        found = []
        for text in self.err.splitlines():
            if "wrote " in text and "; next: memtool " in text:
                path, why = text.split("wrote ")[1].split("; next:")[0].rsplit(" (", 1)
                found.append((why.rstrip(")"), os.path.basename(path)))
        return found

    def path(self, name):
        return os.path.join(self.folder, name)

    def tail(self):
        lines = (self.out + self.err).strip().splitlines()
        return " | ".join(lines[-4:])[-500:]


class Check:
    def __init__(self, build, library, line, keep):
        self.build, self.library, self.line, self.keep = build, library, line, keep
        self.folder = os.path.join(build, "gpu", "capture")
        self.program = os.path.join(build, "gpu", "capture_program")
        self.memtool = find_memtool(build)

    def ask(self, verb, path):
        """memtool's answer as JSON; {} when it has none."""
        done = subprocess.run([self.memtool, verb, "--json", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def ended(self, run, code, snapshots):
        """How a program ended, and which snapshots there are, each whole."""
        seen = run.snapshots()
        broken = [n for _, n in seen if not self.ask("info", run.path(n)).get("devices")]
        self.line(run.code == code and seen == snapshots and not broken, run.name,
                  f"exit {run.code}, {seen}, {run.seconds:.1f} s"
                  + (f", unreadable {broken}" if broken else "")
                  + ("" if run.code == code and seen == snapshots else f": {run.tail()}"))
        if self.keep:
            for _, name in seen:
                if os.path.getsize(run.path(name)) < 4 << 20:
                    shutil.copy(run.path(name), os.path.join(
                        self.keep, os.path.basename(run.folder) + "." + name))

    def explained(self, name, difference, path):
        """What a snapshot of mode record holds, by library, beside what the device has less of."""
        with open(path, "rb") as f:
            segments = pickle.load(f)["segments"]
        by_library = {}
        for s in segments:
            frames = [f["filename"] for f in s["frames"] if f["filename"] != "??"]
            library = os.path.basename(frames[0]) if frames else "?"
            by_library[library] = by_library.get(library, 0) + s["total_size"]
        total = sum(by_library.values())
        figures = ", ".join(f"{k} {v >> 20} MiB"
                            for k, v in sorted(by_library.items(), key=lambda kv: -kv[1])[:8])
        share = total / difference if difference else 0
        self.line(0.95 <= share <= 1.05, name,
                  f"{total >> 20} of {difference >> 20} MiB, {100 * share:.2f} %: {figures}")
        for device in self.ask("stats", path).get("devices", []):
            account = device.get("account") or {}
            print("       the card, says memtool stats: " + ", ".join(
                f"{key[:-6]} {account[key] >> 20} MiB" for key in
                ("total_bytes", "used_bytes", "seen_bytes", "unexplained_bytes")
                if isinstance(account.get(key), int)), flush=True)

    def served(self, run, name):
        """Whether requests were served again from memory that others had given back."""
        hits = sum(device["cache"]["hits"] for device in self.ask("stats", run.path(name))["devices"])
        asked = sum(device["trace"]["actions"]["alloc"]
                    for device in self.ask("stats", run.path(name))["devices"])
        self.line(hits > 0, f"{run.name}: served", f"{hits} of {asked} requests without the driver")

    def through_the_cache(self, run, name):
        """PyTorch gives segments back at an out of memory alone, so that the cache has little to
        serve twice: whether its memory is the cache's, and did not go by it to the driver."""
        account = self.ask("stats", run.path(name))["devices"][0]["account"]
        own = sum(o["bytes"] for o in account["owners"] if o["kind"] == "allocator")
        by = {o["name"]: o["bytes"] >> 20 for o in account["owners"]
              if o["kind"] in ("library", "program", "unknown")}
        self.line(own >> 20 > 9 * sum(by.values()), f"{run.name}: served",
                  f"{own >> 20} MiB by the cache; MiB that passed by: {by}")

    # ---- programs in C ----

    def account(self):
        run = Run(self, "record, a C program", "record", [self.program, "account"])
        self.ended(run, 0, [("oom", "snap.pickle"), ("exit", "snap.exit.pickle")])
        self.explained("record explains a C program", run.json()["difference"],
                       run.path("snap.exit.pickle"))

    def verify(self):
        plain = Run(self, "a C program without memtool", None, [self.program, "verify"]).json()
        cached = Run(self, "cache, a C program", "cache", [self.program, "verify"])
        self.ended(cached, 0, [("exit", "snap.pickle")])
        self.served(cached, "snap.pickle")
        result = cached.json()
        self.line(result.get("wrong") == 0 and result.get("wrong_in_graph", 0) == 0,
                  "cache, its data survives", f"{result}; without memtool {plain}")
        if result["rounds"] == 0:
            print("       (a stand-in for CUDA: neither data nor times are compared)")
            return
        self.line(result["pair_us"] < plain["pair_us"], "cache, a cudaMalloc and cudaFree",
                  f"{result['pair_us']} us, {plain['pair_us']} without memtool")

    def ends(self):
        for mode in ("record", "cache"):
            run = Run(self, f"{mode}, SIGSEGV", mode, [self.program, "segv", "snap.pickle"])
            self.ended(run, -signal.SIGSEGV, [("signal", "snap.pickle"), ("crash", "snap.crash.pickle")])
            run = Run(self, f"{mode}, SIGKILL", mode, [self.program, "kill", "snap.pickle"])
            self.ended(run, -signal.SIGKILL, [("signal", "snap.pickle")])
            run = Run(self, f"{mode}, out of memory", mode, [self.program, "oom"])
            self.ended(run, 3, [("oom", "snap.pickle"), ("exit", "snap.exit.pickle")])
            triage = self.ask("triage", run.path("snap.pickle"))
            self.line(bool(triage.get("verdict")), f"{mode}, triage of it", str(triage.get("verdict")))
        run = Run(self, "record, SIGKILL unasked", "record", [self.program, "kill"])
        self.line(run.code == -signal.SIGKILL and "no snapshot was written" in run.err, run.name,
                  run.tail())

    # ---- PyTorch ----

    def slowed(self):
        steps, last = {None: [], "record": []}, None
        for mode in (None, "record", "record", None):
            run = Run(self, f"{mode or 'no memtool'}, training", mode, TRAIN)
            if not run.json():
                self.line(False, run.name, f"exit {run.code}: {run.tail()}")
                continue
            steps[mode].append(run.json()["step_ms"])
            last = run if mode else last
        if last:
            self.ended(last, 0, [("exit", "snap.pickle")])
            self.explained("record explains a training run", last.json()["difference"],
                           last.path("snap.pickle"))
        if last and steps[None] and "fake" in last.json()["torch"]:
            print(f"       (a stand-in for PyTorch: its steps are not compared, {steps})")
        elif steps[None] and steps["record"]:
            plain, watched = min(steps[None]), min(steps["record"])
            self.line(watched < 1.01 * plain, "record slows a training step by under 1 %",
                      f"{watched} ms, {plain} without, {100 * (watched / plain - 1):+.2f} %; "
                      f"all {steps}")

    def train(self, mode):
        run = Run(self, f"{mode}, training and a caught out of memory", mode, TRAIN + ["catch"])
        self.ended(run, 0, [("oom", "snap.pickle"), ("exit", "snap.exit.pickle")])
        self.verdict(run, "snap.pickle")
        if mode == "cache":
            self.through_the_cache(run, "snap.exit.pickle")

    def ranks(self, _):
        run = Run(self, "torch, under torchrun", "torch", RANKS + TRAIN[1:] + ["catch"],
                  output="snap-%r.pickle")
        self.ended(run, 0, [("oom", "snap-0.pickle"), ("exit", "snap-0.exit.pickle")])

    def crash(self, _):
        run = Run(self, "torch, SIGSEGV", "torch", TRAIN + ["segv"])
        self.line(run.code == -signal.SIGSEGV and "no snapshot was written" in run.err, run.name,
                  f"exit {run.code}: {run.tail()}")

    def uncaught(self, _):
        run = Run(self, "record, out of memory in PyTorch", "record", TRAIN + ["oom"])
        self.ended(run, 1, [("oom", "snap.pickle"), ("exit", "snap.exit.pickle")])
        self.verdict(run, "snap.pickle")

    def verdict(self, run, name):
        triage = self.ask("triage", run.path(name))
        trace = self.ask("info", run.path(name)).get("devices") or [{}]
        self.line(bool(triage.get("verdict")), f"{run.name}: what is in it",
                  f"verdict {triage.get('verdict')}, {trace[0].get('events')} events, "
                  f"{(trace[0].get('allocated_bytes') or 0) >> 20} MiB allocated")

    def attempt(self, part, *arguments):
        try:
            part(*arguments)
        except Exception:
            self.line(False, part.__name__, traceback.format_exc().strip().replace("\n", " | ")[-600:])

    def all(self):
        if not self.memtool:
            self.line(False, "capture", "there is no memtool: MEMTOOL_BIN names it")
            return
        print(f"       memtool is {self.memtool}", flush=True)
        if os.path.exists(self.program):
            for part in (self.account, self.verify, self.ends):
                self.attempt(part)
        else:
            self.line(False, "capture of C programs", "capture_program was not built")
        self.attempt(self.slowed)
        # these compare neither times nor what the device has less of
        jobs = [(self.train, mode) for mode in MODES]
        jobs += [(job, None) for job in (self.ranks, self.crash, self.uncaught)]
        with ThreadPoolExecutor(len(jobs)) as pool:
            list(pool.map(lambda job: self.attempt(*job), jobs))
