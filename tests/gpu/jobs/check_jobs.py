# SPDX-License-Identifier: MIT
"""Trains with DDP and FSDP on two GPUs under memtool capture, then compares and ranks what was captured:

    check_jobs.py MEMTOOL [FOLDER]

Needs two GPUs and PyTorch 2.11 or later. Each check prints "ok" or "FAILED" and what was seen; a job that fails stops no
other. Pictures, reports and the snapshots (snapshots.tar) are left in FOLDER, by default a new one."""
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# name: arguments of train.py, seconds, whether the job has to end well
JOBS = {"ddp": (["ddp"], 90, True), "fsdp": (["fsdp"], 90, True),
        "long": (["ddp", "--long", "1"], 90, True), "oom": (["ddp", "--limit", "1"], 75, False)}


class Check:
    def __init__(self, memtool, folder):
        self.memtool, self.folder, self.failed = memtool, folder, 0
        self.work = tempfile.mkdtemp(prefix="memtool-jobs.")
        self.said = {}

    def say(self, ok, what, seen=""):
        self.failed += not ok
        print("%s %s %s" % ("ok     " if ok else "FAILED ", what, seen), flush=True)
        return ok

    def run(self, command, seconds):
        """Exit code and output; a command out of time is ended with all of its processes."""
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True, cwd=self.work)
        try:
            return p.communicate(timeout=seconds)[0], p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 15)
            try:
                return p.communicate(timeout=15)[0] + "\n[out of time]", -1
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, 9)
                return p.communicate()[0] + "\n[out of time, killed]", -1

    def ask(self, *arguments, codes=(0,)):
        out, code = self.run([self.memtool, *arguments], 60)
        with open(os.path.join(self.folder, "reports.txt"), "a") as f:
            f.write("$ memtool %s\n%s[exit %d]\n\n" % (" ".join(arguments), out[:20000], code))
        if code not in codes:
            self.say(False, "memtool " + " ".join(arguments), "exit %d: %s" % (code, out[-400:]))
        return out

    def asked(self, *arguments, codes=(0,)):
        try:
            return json.loads(self.ask(*arguments, "--json", codes=codes))
        except ValueError:
            return {}

    def job(self, name):
        arguments, seconds, well = JOBS[name]
        os.makedirs(os.path.join(self.work, name))
        begin = time.time()
        out, code = self.run([self.memtool, "capture", "-o", os.path.join(self.work, name, "rank%r.pickle"), "--",
                              sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                              os.path.join(HERE, "train.py"), *arguments], seconds)
        with open(os.path.join(self.folder, "jobs.log"), "a") as f:
            f.write("== %s: exit %d after %.1f s\n%s\n" % (name, code, time.time() - begin, out[-20000:]))
        for line in out.splitlines():
            if line.startswith('{"how"'):
                said = json.loads(line)
                self.said[name, said["rank"]] = said
        files = sorted(glob.glob(os.path.join(self.work, name, "*.pickle")))
        self.say((code == 0) == well and len(files) >= (2 if well else 1), name,
                 "exit %d, %.1f s, %s" % (code, time.time() - begin, [os.path.basename(f) for f in files]))

    def file(self, name, rank):
        return os.path.join(name, "rank%d.pickle" % rank)

    def peaks(self, name):
        """memtool's peak against PyTorch's counter, which has seen what came before the recording too."""
        for rank in (0, 1):
            said = self.said.get((name, rank))
            if not said:
                self.say(False, "%s rank %d: no counters" % (name, rank))
                continue
            peak = sum(d["peak_requested_bytes"] for d in self.asked("peak", self.file(name, rank)).get("devices", []))
            self.say(peak == said["requested_peak"], "%s rank %d: requested peak" % (name, rank),
                     "%d, PyTorch says %d" % (peak, said["requested_peak"]))

    def ranks(self, name, odd, codes=(0,)):
        r = self.asked("ranks", name, codes=codes)
        self.ask("ranks", "--capacity", "139GiB", name, codes=codes)
        found = sorted(x["rank"] for x in r.get("outliers", []))
        self.say(found == odd, "%s: odd ranks" % name, "%s, expected %s" % (found, odd))

    def died(self, name, rank):
        """The rank that ran out of memory is named, and so are those that left no dump."""
        r = self.asked("ranks", "--world-size", "2", name, codes=(0, 4))
        dumps = sorted(x["rank"] for x in r.get("ranks", []))
        self.say(r.get("first_oom_rank") == rank and rank in dumps and dumps == sorted(set(dumps)),
                 "%s: who died" % name, "%s first, dumps of %s, missing %s" %
                 (r.get("first_oom_rank"), dumps, r.get("missing")))

    def compare(self, before, after):
        c = self.asked("compare", "-n", "0", before, after)
        self.ask("compare", before, after)
        rows = sum(x["delta_bytes"] for x in c.get("stacks", []))
        self.say(bool(c) and rows == c["delta_bytes"], "compare %s %s" % (before, after),
                 "rows %d, total %s" % (rows, c.get("delta_bytes")))
        return c

    def pack(self):
        path = os.path.join(self.folder, "snapshots.tar")
        with tarfile.open(path, "w") as tar:
            for file in sorted(glob.glob(os.path.join(self.work, "*", "*.pickle"))):
                packed = file + ".gz"
                with open(file, "rb") as f, gzip.open(packed, "wb", 9) as g:
                    shutil.copyfileobj(f, g)
                if os.path.getsize(packed) < 4 << 20:
                    tar.add(packed, os.path.relpath(packed, self.work))
        print("snapshots.tar: %d bytes" % os.path.getsize(path), flush=True)


def questions(check):
    return [lambda: check.peaks("ddp"), lambda: check.peaks("fsdp"),
            lambda: check.ranks("ddp", []), lambda: check.ranks("fsdp", []), lambda: check.ranks("long", [1]),
            lambda: check.died("oom", 1),
            lambda: check.compare(check.file("ddp", 0), check.file("fsdp", 0)),
            lambda: check.compare(check.file("ddp", 1), check.file("long", 1)),
            lambda: check.ask("trace_plot", check.file("ddp", 0), check.file("fsdp", 0), "-o",
                              os.path.join(check.folder, "overlay.png")),
            lambda: check.ask("compare", check.file("ddp", 0), check.file("fsdp", 0), "-o",
                              os.path.join(check.folder, "difference.png")),
            lambda: check.ask("ranks", "long", "-o", os.path.join(check.folder, "ranks.png")),
            lambda: check.ask("triage", check.file("oom", 1), codes=(0, 1))]


def main():
    check = Check(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tempfile.mkdtemp())
    os.makedirs(check.folder, exist_ok=True)
    begin = time.time()
    for name in JOBS:
        try:
            check.job(name)
        except Exception as error:  # the next job tells its own story
            check.say(False, name, repr(error))
    for question in [*questions(check), check.pack]:
        try:
            question()
        except Exception as error:
            check.say(False, "a question", repr(error))
    print("check_jobs: %d failed, %.0f s; reports in %s" % (check.failed, time.time() - begin, check.folder))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
