#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cures that `memtool fit --advise` and `memtool triage` propose, tried on a GPU.

    check_cures.py MEMTOOL FOLDER     records each program of cures_programs.py at four sizes, asks
                                      memtool what would make a larger one fit under a limit
                                      (set_per_process_memory_fraction), and what a snapshot of that
                                      size, ended out of memory, says; prints both, then runs the
                                      program with each cure under the limit

About three minutes on one H200. Returns 1 where a cure that was said to fit did not, or nothing was
measured. CURES_SECONDS: no process begins after as many (default: 320).
"""
import concurrent.futures
import json
import linecache
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "cures_programs.py")
BEGAN = time.monotonic()
SECONDS = float(os.environ.get("CURES_SECONDS", "320"))
AT_ONCE = 8
RECORDED = (4, 6, 8, 12)
EXPANDABLE = "expandable_segments:True"
SETTINGS_TRIED = 2  # of those that fit

# the size that does not fit, and the share of what it asks for at once that it gets; None: as much as
# it asks for, where only settings help: half way between what expandable segments need and the most
# that is refused under the defaults
PROGRAMS = {"train": (32, 0.9), "validate": (20, 0.9), "ragged": (24, None)}


# ---- running programs ----


def run_program(folder, name, program, size, options=(), conf=""):
    """PyTorch's peaks, or None; says why."""
    result = os.path.join(folder, name + ".json")
    if time.monotonic() - BEGAN > SECONDS:
        print(f"{name}: not begun, the time is over", flush=True)
        return None
    env = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": conf, "OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    if not conf:
        del env["PYTORCH_CUDA_ALLOC_CONF"]
    call = [sys.executable, SOURCE, program, "--size", str(size), "--result", result, *options]
    try:
        done = subprocess.run(call, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90, check=False)
        with open(result) as f:
            return json.load(f)
    except (OSError, ValueError):
        print(f"{name}: failed: {done.stdout.decode(errors='replace')[-600:]}", flush=True)
    except subprocess.TimeoutExpired:
        print(f"{name}: took too long", flush=True)
    return None


def run_all(folder, jobs):
    """name -> peaks. Processes side by side on a card disturb no counters."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {name: pool.submit(run_program, folder, name, *job) for name, job in jobs.items()}
        return {name: future.result() for name, future in waiting.items()}


# ---- what memtool says ----


def ask(memtool, *call):
    done = subprocess.run([memtool, *call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(f"memtool {call[0]}: exit {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}", flush=True)
        return {}


def snapshots(folder, program):
    paths = {n: os.path.join(folder, f"{program}-{n}.pickle") for n in RECORDED}
    return {n: p for n, p in paths.items() if os.path.exists(p)}


def fit(memtool, folder, program, *more):
    have = snapshots(folder, program)
    sizes = ("--sizes", ",".join(map(str, have)), "--predict", str(PROGRAMS[program][0]))
    return ask(memtool, "fit", "--json", "--what", "batch", *sizes, *more, *have.values())


def is_refused(memtool, folder, program, limit):
    return fit(memtool, folder, program, "--limit", str(limit))["predictions"][0]["verdict"] == "out_of_memory"


def most_refused(memtool, folder, program, low, high):
    """About the largest limit under which the defaults are refused; unused memory that is given back
    makes it less than what they reserve without one."""
    while high - low > low // 200:
        middle = (low + high) // 2
        low, high = (middle, high) if is_refused(memtool, folder, program, middle) else (low, middle)
    return low


def choose_limit(memtool, folder, program):
    """Bytes, or None where nothing is predicted."""
    size, share = PROGRAMS[program]
    found = fit(memtool, folder, program, "--conf", EXPANDABLE)
    default, expandable = (found.get("predictions") or [None, None])[:2]
    if not default or default["reserved_peak_bytes"] is None or expandable["reserved_peak_bytes"] is None:
        print(f"{program}: not predicted: {[d['text'] for d in found.get('doubts', ())]}", flush=True)
        return None
    asked, needs = default["requested_peak_bytes"], (default["reserved_peak_bytes"], expandable["reserved_peak_bytes"])
    limit = int(asked * share) if share else (needs[1] + most_refused(memtool, folder, program, asked, needs[0])) // 2
    print(f"{program}: batch {size} asks for {asked} at once and reserves {needs[0]}, with {EXPANDABLE} {needs[1]}; the limit is {limit}", flush=True)
    return limit


def from_fit(memtool, folder, program, limit):
    advice = fit(memtool, folder, program, "--limit", str(limit), "--advise").get("advice") or {}
    if advice.get("size") != PROGRAMS[program][0]:
        print(f"{program}: the advice is for {advice.get('size')}")
        return []
    return advice["cures"]


def from_triage(memtool, path):
    found = ask(memtool, "triage", "--json", path)
    return (found.get("snapshots") or [{}])[0].get("changes") or []


def options_of(cure):
    """How the program is called with a cure; None: no line that it knows."""
    if cure["id"] == "recompute":
        at = re.search(r"cures_programs\.py:(\d+)", cure["text"])
        name = re.search(r"# checkpoint (\w+)", linecache.getline(SOURCE, int(at[1]))) if at else None
        return ("--checkpoint", name[1]) if name else None
    return {"settings": (), "logits_in_pieces": ("--pieces",), "evaluation_batch": ("--half",)}[cure["id"]]


def choose_cures(cures):
    """Those that are measured: of settings that fit the first few; of the others all."""
    settings = [c for c in cures if c["id"] == "settings"]
    fitting = [c for c in settings if c["verdict"] == "fits"][:SETTINGS_TRIED]
    return [c for c in cures if c["id"] != "settings"] + (fitting or settings[:1])


# ---- both beside each other ----


def print_advice(program, who, cures):
    print(f"\n{program}, {who}, before the runs:")
    for c in cures:
        known = "" if options_of(c) is not None else "  (another line: not tried)"
        print(f"  {c['verdict']:14} {c['reserved_peak_bytes']:>12}  {c['id']}: {c['text']}{known}")
    if not cures:
        print("  nothing")
    sys.stdout.flush()


def row(program, who, cure, limit, found):
    """Whether what was said holds."""
    fits = not found["refused"]
    need, real = cure["reserved_peak_bytes"], found["reserved"]
    share = f"{100 * (need / real - 1):+.2f} %" if fits and who == "fit" else ""
    verdict = "fits" if fits else "refused"
    wrong = cure["verdict"] == ("out_of_memory" if fits else "fits")
    right = "OTHER THAN SAID" if wrong else "as said"
    print("| " + " | ".join(map(str, (program, who, cure["text"], cure["verdict"], need, verdict, real, share, right))) + " |")
    if not fits:
        print(f"    {found['refused'][:200]}")
    return not wrong


def measure(folder, advised, limits):
    jobs, asked = {}, []
    for (program, who), cures in advised.items():
        for cure in choose_cures(cures):
            options = options_of(cure)
            if options is None:
                continue
            key = (program, options, cure["conf"])
            name = next((a[0] for a in asked if a[1] == key), f"{program}-cure-{len(jobs)}")
            asked.append((name, key, who, cure))
            jobs[name] = (program, PROGRAMS[program][0], ("--limit", str(limits[program]), *options), cure["conf"])
    found = run_all(folder, jobs)
    print("\n| program | by | cure | said | reserved | is | really | error | |\n|---|---|---|---|---|---|---|---|---|")
    right = [row(key[0], who, cure, limits[key[0]], found[name]) for name, key, who, cure in asked if found[name]]
    print(f"\n{sum(right)} of {len(right)} cures are as said, {time.monotonic() - BEGAN:.0f} s")
    return right and all(right)


def pack(folder, out):
    """What was recorded and measured, an archive a program."""
    for program in PROGRAMS:
        with tarfile.open(os.path.join(out, f"cures-{program}.tar.gz"), "w:gz", compresslevel=6) as tar:
            for name in sorted(os.listdir(folder)):
                if name.startswith(program + "-"):
                    tar.add(os.path.join(folder, name), arcname=name)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    memtool, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return check(memtool, folder)
        finally:
            pack(folder, out)


def check(memtool, folder):
    path = os.path.join(folder, "{}.pickle").format
    run_all(folder, {f"{p}-{n}": (p, n, ("--record", path(f"{p}-{n}"))) for p in PROGRAMS for n in RECORDED})
    print(f"recorded, {time.monotonic() - BEGAN:.0f} s", flush=True)
    limits = {p: choose_limit(memtool, folder, p) for p in PROGRAMS}
    limits = {p: limit for p, limit in limits.items() if limit}
    advised = {(p, "fit"): from_fit(memtool, folder, p, limit) for p, limit in limits.items()}
    for (program, who), cures in advised.items():
        print_advice(program, who, cures)
    ends = {f"{p}-refused": (p, PROGRAMS[p][0], ("--limit", str(n), "--record", path(f"{p}-refused"))) for p, n in limits.items()}
    for name, found in run_all(folder, ends).items():
        program = name.rsplit("-", 1)[0]
        print(f"\n{name}: {'refused' if found and found['refused'] else 'IS NOT REFUSED'}: {found}")
        advised[program, "triage"] = from_triage(memtool, path(name))
        print_advice(program, "triage", advised[program, "triage"])
    return 0 if measure(folder, advised, limits) else 1


if __name__ == "__main__":
    sys.exit(main())
