# SPDX-License-Identifier: MIT
"""memtool capture --pid and --modules on a GPU, with PyTorch: reaches into a training run by each way
that the machine has, finds a planted leak by the name of the list that keeps it, and the losses are
to the bit those of a run that nobody touched; what --modules costs a step. OUT, MEMTOOL_BIN."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = os.path.join(HERE, "attach_train.py")
memtool = os.path.abspath(os.environ.get("MEMTOOL_BIN", "build/release/memtool"))
work = tempfile.mkdtemp(prefix="memtool-attach-gpu.")
out = os.environ.get("OUT")
failed = 0


def line(ok, name, text=""):
    global failed
    failed += not ok
    print(("ok     " if ok else "FAILED ") + name + (": " + text if text else ""), flush=True)


def ask(*words, timeout=120):
    done = subprocess.run([memtool, *words], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


class Job:
    def __init__(self, steps, kind="leak", capture=(), name="job"):
        self.ready = os.path.join(work, "ready")
        if os.path.exists(self.ready):
            os.unlink(self.ready)
        command = [sys.executable, TRAIN, str(steps), self.ready, kind]
        if capture:
            command = [memtool, "capture", *capture, "--"] + command
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.name = name

    def wait_ready(self):
        while not os.path.exists(self.ready) and self.process.poll() is None:
            time.sleep(0.05)

    def end(self):
        text, err = self.process.communicate(timeout=240)
        self.said = err.strip()
        if err.strip():
            print("       " + self.name + ": " + err.strip()[-600:].replace("\n", "\n       "), flush=True)
        rows = [r for r in text.splitlines() if r.startswith("{")]
        return json.loads(rows[-1]) if rows else {"bits": None, "code": self.process.returncode}


def keep(name):
    if out and os.path.exists(os.path.join(work, name)):
        shutil.copy(os.path.join(work, name), os.path.join(out, name))


def show(name, *words, rows=14):
    code, text, err = ask(*words)
    print("   $ memtool " + " ".join(words).replace(work + "/", ""))
    print("     " + "\n     ".join((text or err).splitlines()[:rows]), flush=True)
    if out:
        with open(os.path.join(out, name + ".txt"), "w") as f:
            f.write(text + err)
    return text


def reach(job, name, *options):
    begin = time.time()
    path = os.path.join(work, name + ".pickle")
    code, _, err = ask("capture", "--pid", str(job.process.pid), "-f", "-o", path, *options)
    line(code == 0, "%s %s" % (name, " ".join(options)),
         "%.2f s; %s" % (time.time() - begin, err.strip().replace(work + "/", "")[-400:]))
    return path if code == 0 else None


def check_leak(path, name):
    show(name, "peak", "--by", "label", "-n", "12", path)
    text = ask("peak", "--by", "label", "-n", "9999", path)[1]  # early on the list is small
    rows = [row.strip() for row in text.splitlines() if "Trainer.kept" in row]
    line(bool(rows), name + ": the list is named", "; ".join(rows))
    line("blocks.0.mlp.0.weight" in text, name + ": parameters are named")


def attach():
    steps = 500
    untouched = Job(steps, name="untouched").end()
    print("       untouched: %s ms a step, loss %s, %s" % (
        untouched.get("step_ms"), untouched.get("last"), untouched.get("torch")), flush=True)
    job = Job(steps, name="attached")
    job.wait_ready()
    now = reach(job, "now", "--tensors")
    if now:
        check_leak(now, "now")
    by_time = reach(job, "for", "--for", "2s", "--tensors")
    if by_time:
        text = show("for-leaks", "leaks", by_time)
        line("attach_train.py" in text, "for: leaks names the line")
        check_leak(by_time, "for")
    stepped = reach(job, "steps", "--steps", "5", "--tensors")
    if stepped:
        show("steps", "steps", "-n", "6", stepped)
        check_leak(stepped, "steps")
    show("top", "top", "--pid", str(job.process.pid), "--once")
    show("top-json", "top", "--pid", str(job.process.pid), "--once", "--json", rows=40)
    for way in ("gdb", "lldb", "remote"):
        there = shutil.which(way) if way != "remote" else hasattr(sys, "remote_exec")
        if there:
            reach(job, way, "--by", way, "--tensors")
        else:
            code, _, err = ask("capture", "--pid", str(job.process.pid), "--by", way, "-o", os.path.join(work, "x"))
            print("       no %s here: %s" % (way, err.strip().replace("\n", " | ")), flush=True)
    alive = job.process.poll() is None
    attached = job.end()
    line(not job.said, "nothing was said in it")
    line(alive and attached["bits"] == untouched["bits"], "the losses are those of the untouched run",
         "alive %s, %s ms a step, recording at the end %s" % (
             alive, attached.get("step_ms"), attached.get("recording")))
    for name in ("now.pickle", "steps.pickle", "for.pickle"):
        keep(name)


def often():
    job = Job(900, name="often")
    job.wait_ready()
    done, slowest, begin = 0, 0, time.time()
    for i in range(100):
        at = time.time()
        code, _, err = ask("capture", "--pid", str(job.process.pid), "-f", "-o", os.path.join(work, "o.pickle"))
        slowest = max(slowest, time.time() - at)
        done += code == 0
        if code:
            print("       " + err.strip(), flush=True)
    seconds = time.time() - begin
    alive = job.process.poll() is None
    result = job.end()
    line(done == 100 and result["bits"] is not None, "100 times in a row",
         "%d in %.1f s, the slowest %.2f s; alive after it: %s" % (done, seconds, slowest, alive))


def modules():
    times = {"plain": [], "modules": []}
    bits, said = set(), False
    path = os.path.join(work, "modules.pickle")
    for which in ("plain", "modules", "modules", "plain", "plain", "modules"):
        options = ["-f", "-o", path if which == "modules" else os.path.join(work, "plain.pickle")]
        job = Job(120, "clean", options + (["--modules"] if which == "modules" else []), which)
        result = job.end()
        times[which].append(result.get("step_ms"))
        said |= "no module names" in job.said
        bits.add(result.get("bits"))
    plain, labelled = min(times["plain"]), min(times["modules"])
    line(len(bits) == 1, "modules: the losses are the same bits")
    line(labelled < 1.01 * plain, "modules: a step is slower by under 1 %",
         "%+.2f %%; %s" % (100 * (labelled / plain - 1), times))
    text = show("by-module", "peak", "--by", "module", "-n", "20", path, rows=30)
    line("Model.blocks" in text and not said, "modules: they are named")
    labels = ask("peak", "--by", "label", "-n", "9999", path)[1]
    line("optimizer AdamW" in labels, "modules: the optimizer is named")
    rows = [row.strip() for row in (text + labels).splitlines() if "(no " in row or "optimizer AdamW" in row]
    print("       " + "; ".join(rows), flush=True)
    show("plain-by-module", "peak", "--by", "module", os.path.join(work, "plain.pickle"))
    keep("modules.pickle")


def door():
    job = Job(200, "clean", ["-f", "-o", os.path.join(work, "door.pickle")], "door")
    job.wait_ready()
    child = subprocess.run(["pgrep", "-P", str(job.process.pid)], capture_output=True, text=True).stdout.split()
    code, _, err = ask("capture", "--pid", child[0] if child else "1", "--by", "signal")
    line(code == 0, "its own door", err.strip())
    job.end()
    line(os.path.exists(os.path.join(work, "door.pickle")), "the snapshot of the door")


for part in sys.argv[1:] or ("attach", "often", "modules", "door"):
    try:
        globals()[part]()
    except Exception as error:
        line(False, part, repr(error))
shutil.rmtree(work, ignore_errors=True)
sys.exit(failed > 0)
