# SPDX-License-Identifier: MIT
"""What `memtool fit` predicts and what PyTorch then reserves.

    check_fit.py run FOLDER [PROGRAM...]     on a GPU: records each program of fit_programs.py at four
                                             sizes under the default settings, prints what memtool
                                             predicts for two larger ones under three settings, then
                                             runs these and prints both
    check_fit.py table FOLDER [PROGRAM...]   predicts again from the recordings in FOLDER and compares
                                             with what was measured then

memtool is MEMTOOL_BIN, or build/static/memtool. Only peaks that PyTorch counted are compared. Returns 1
where nothing was measured. FIT_SECONDS: no process begins after as many (default: 400), nor a
recording after 0.45 of them; one that then still runs is given 40 more.
"""
import concurrent.futures
import csv
import glob
import json
import os
import subprocess
import sys
import tarfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MEMTOOL = os.environ.get("MEMTOOL_BIN", os.path.join(HERE, "..", "..", "build", "static", "memtool"))
BEGAN = time.monotonic()
SECONDS = float(os.environ.get("FIT_SECONDS", "400"))
GRACE = 40
SETTINGS = ("", "expandable_segments:True", "max_split_size_mb:128")
BATCHES = ((4, 6, 8, 12), (24, 40))

# recorded sizes, predicted sizes, settings; those the check was written for stand first
PROGRAMS = {
    "compiled": (*BATCHES, SETTINGS),
    "fsdp": (*BATCHES, SETTINGS),
    "train": (*BATCHES, SETTINGS),
    "lora": (*BATCHES, SETTINGS),
    "conv": (*BATCHES, SETTINGS),
    "generate": (*BATCHES, SETTINGS),
    "accumulate": (*BATCHES, SETTINGS[:2]),
    "plain_attention": ((64, 96, 128, 192), (320, 512), SETTINGS[:2]),
    "vision": (*BATCHES, SETTINGS[:2]),
    "perceptron": (*BATCHES, SETTINGS[:2]),
    "recurrent": (*BATCHES, SETTINGS[:2]),
    "unet": (*BATCHES, SETTINGS[:2]),
}
MEASURED = "measured.tsv"
COLUMNS = ("program", "size", "settings", "reserved", "requested", "allocated", "retries", "ooms")


# ---- running programs ----


class Card:
    """Which GPU the next process gets, and a port that no other uses."""

    def __init__(self):
        self.n = max(1, len(glob.glob("/dev/nvidia[0-9]*")))
        self.next, self.lock = 0, threading.Lock()

    def take(self):
        with self.lock:
            self.next += 1
            return self.next % self.n, 29500 + self.next


def environments(card, program, settings):
    """One a process."""
    gpu, port = card.take()
    env = {
        **os.environ,
        "PYTORCH_CUDA_ALLOC_CONF": settings,
        "TORCHINDUCTOR_COMPILE_THREADS": "2",
        "OMP_NUM_THREADS": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if not settings:
        del env["PYTORCH_CUDA_ALLOC_CONF"]
    if program != "fsdp":
        return [{**env, "CUDA_VISIBLE_DEVICES": str(gpu)}]
    here = {**env, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{**here, "RANK": str(rank)} for rank in range(2)]


def run_program(card, folder, until, program, size, settings, record):
    """PyTorch's peaks, or None; says why."""
    name = f"{program}-{size}" + (f"-{SETTINGS.index(settings)}" if not record else "")
    result = os.path.join(folder, name + ".json")
    snapshot = os.path.join(folder, f"{program}-{size}.pickle")
    if time.monotonic() > until:
        print(f"{name}: not begun, the time is over", flush=True)
        return None
    if program == "fsdp" and card.n < 2:
        print(f"{name}: wants two GPUs", flush=True)
        return None
    call = [sys.executable, os.path.join(HERE, "fit_programs.py"), program, "--size", str(size), "--result", result]
    call += ["--record", snapshot] if record else []
    began, running = time.monotonic(), []
    with open(result + ".log", "wb") as log:
        for env in environments(card, program, settings):
            running.append(subprocess.Popen(call, env=env, stdout=log, stderr=subprocess.STDOUT))
        try:
            for process in running:
                process.wait(timeout=max(1, until + GRACE - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    try:
        with open(result) as f:
            found = json.load(f)
    except (OSError, ValueError):
        with open(result + ".log", errors="replace") as f:
            print(f"{name}: failed: {f.read()[-600:]}", flush=True)
        return None
    print(f"{name}: {found['reserved']} reserved, {time.monotonic() - began:.0f} s", flush=True)
    return found


def run_all(jobs, folder, until, record):
    """(program, size, settings) -> peaks. Processes side by side on a card disturb no counters."""
    card = Card()
    shared = {False: concurrent.futures.ThreadPoolExecutor(14), True: concurrent.futures.ThreadPoolExecutor(3)}
    waiting = {job: shared[job[0] == "fsdp"].submit(run_program, card, folder, until, *job, record) for job in jobs}
    done = {}
    for job, future in waiting.items():
        try:
            done[job] = future.result()
        except Exception as e:  # one that fails must not stop the others
            print(*job, repr(e), flush=True)
    return {job: found for job, found in done.items() if found}


# ---- predictions ----


def predict(folder, program):
    """(size, settings) -> prediction, and the doubts."""
    recorded, wanted, settings = PROGRAMS[program]
    files = {n: glob.glob(os.path.join(folder, f"{program}-{n}.pickle*")) for n in recorded}
    have = [n for n in recorded if files[n]]
    if len(have) < 2:
        return {}, ["too few recordings"]
    call = [MEMTOOL, "fit", "--json", "--sizes", ",".join(map(str, have)), "--predict", ",".join(map(str, wanted))]
    for s in settings[1:]:
        call += ["--conf", s]
    done = subprocess.run(call + [files[n][0] for n in have], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        got = json.loads(done.stdout)
    except ValueError:
        return {}, [done.stderr.decode(errors="replace")[-300:]]
    return {(p["size"], p["conf"]): p for p in got["predictions"]}, got["doubts"]


def print_predictions(folder, programs):
    predictions = {}
    print("\npredicted before the runs:", flush=True)
    for program in programs:
        predictions[program], doubts = predict(folder, program)
        for (size, settings), p in predictions[program].items():
            figures = [p[k] for k in ("reserved_peak_bytes", "reserved_low_bytes", "reserved_high_bytes", "requested_peak_bytes")]
            print(program, size, settings or "default", *figures)
        for doubt in doubts:
            print(f"  {program}: {doubt if isinstance(doubt, str) else doubt.get('text')}")
    sys.stdout.flush()
    return predictions


def share(predicted, measured):
    return "0" if predicted == measured else f"{100 * (predicted / measured - 1):+.2f} %"


def compare(program, predictions, measured):
    """The rows of a program, and how many of them are answered, to the byte, within 2 %, inside."""
    counts = [0, 0, 0, 0]
    for (size, settings), m in measured.items():
        p = predictions.get((size, settings)) or {}
        v = p.get("reserved_peak_bytes")
        cells = [program, size, settings or "default", "unknown" if v is None else v, m["reserved"]]
        if v is not None:
            low, high = p["reserved_low_bytes"], p["reserved_high_bytes"]
            error, inside = v / m["reserved"] - 1, low <= m["reserved"] <= high
            for i, holds in enumerate((True, error == 0, abs(error) <= 0.02, inside)):
                counts[i] += holds
            cells += [share(v, m["reserved"]), share(p["requested_peak_bytes"], m["requested"])]
            cells += ["inside" if inside else "outside", f"{low}..{high}"]
        print("| " + " | ".join(map(str, cells)) + " |")
    return counts


def print_table(predictions, measured):
    print("\n| program | size | settings | predicted | measured | error | requested | range |\n|---|---|---|---|---|---|---|---|")
    totals, rows = {}, 0
    for program in PROGRAMS:
        mine = {key[1:]: m for key, m in measured.items() if key[0] == program}
        if mine:
            totals[program] = (len(mine), *compare(program, predictions.get(program, {}), mine))
            rows += len(mine)
    print("\nprogram: sizes and settings, answered, to the byte, within 2 %, inside the range")
    for program, counts in totals.items():
        print(program, *counts)
    return 0 if rows else 1


# ---- the two calls ----


def keep_measured(folder, measured):
    with open(os.path.join(folder, MEASURED), "w", newline="") as f:
        rows = csv.writer(f, delimiter="\t", lineterminator="\n")
        rows.writerow(COLUMNS)
        for key, m in measured.items():
            rows.writerow([*key, *(m[c] for c in COLUMNS[3:])])


def read_measured(folder):
    with open(os.path.join(folder, MEASURED)) as f:
        rows = list(csv.DictReader(f, delimiter="\t"))
    return {(r["program"], int(r["size"]), r["settings"]): {c: int(r[c]) for c in COLUMNS[3:]} for r in rows}


def pack(folder, programs, names):
    """Recordings as two archives, each below 16 MiB."""
    for name, part in zip(names, (programs[:6], programs[6:])):
        with tarfile.open(os.path.join(folder, name), "w:gz", compresslevel=6) as tar:
            for path in sorted(glob.glob(os.path.join(folder, "*.pickle"))):
                if os.path.basename(path).rsplit("-", 1)[0] in part:
                    tar.add(path, arcname=os.path.basename(path))


def run(folder, programs):
    os.makedirs(folder, exist_ok=True)
    jobs = [(p, n, "") for p in programs for n in PROGRAMS[p][0]]
    recorded = run_all(jobs, folder, BEGAN + 0.45 * SECONDS, True)
    print(f"{len(recorded)} of {len(jobs)} recorded, {time.monotonic() - BEGAN:.0f} s", flush=True)
    pack(folder, programs, ("recordings-1.tar.gz", "recordings-2.tar.gz"))
    predictions = print_predictions(folder, programs)
    jobs = [(p, n, s) for p in programs for n in PROGRAMS[p][1] for s in PROGRAMS[p][2]]
    measured = run_all(jobs, folder, BEGAN + SECONDS, False)
    print(f"{len(measured)} of {len(jobs)} measured, {time.monotonic() - BEGAN:.0f} s", flush=True)
    keep_measured(folder, measured)
    return print_table(predictions, measured)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("run", "table"):
        sys.exit(__doc__)
    folder = sys.argv[2]
    programs = sys.argv[3:] or list(PROGRAMS)
    if sys.argv[1] == "run":
        return run(folder, programs)
    return print_table({p: predict(folder, p)[0] for p in programs}, read_measured(folder))


if __name__ == "__main__":
    sys.exit(main())
