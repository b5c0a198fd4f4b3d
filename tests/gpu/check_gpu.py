# SPDX-License-Identifier: MIT
"""Runs the GPU tests and prints one line for each, then the speed table.

    check_gpu.py BUILD_FOLDER [JOB...]
"""
import json
import os
import shutil
import subprocess
import sys
import time

import check_capture
import check_estimate
import check_nvtx

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ONLY = sys.argv[2:]
KEEP = os.environ.get("OUT")
LIBRARY = os.path.join(BUILD, "libmemtool_alloc.so")
READER = os.path.join(BUILD, "memtool")
failed = 0
figures = {}


def line(good, name, text=""):
    global failed
    failed += not good
    print(f"{'ok    ' if good else 'FAILED'} {name}{': ' if text else ''}{text}", flush=True)


def work(job, kind, conf="", seconds=240):
    """Runs one process; its result, or None after a line that says how it failed."""
    result = os.path.join(BUILD, "gpu", f"{job}.{kind}{'.' + conf.split(':')[0] if conf else ''}")
    env = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    for name in ("MEMTOOL_RECORD", "MEMTOOL_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        env.pop(name, None)
    if conf:
        env["MEMTOOL_ALLOC_CONF" if kind == "memtool" else "PYTORCH_CUDA_ALLOC_CONF"] = conf
    env["BENCH"] = json.dumps({"loops": os.path.join(BUILD, "gpu", "bench_pair.so"),
                               "native": os.path.join(BUILD, "gpu", "native_pair.so")})
    command = [sys.executable, os.path.join(HERE, "gpu_work.py"), job, kind, result, LIBRARY]
    begin = time.time()
    try:
        done = subprocess.run(command, env=env, timeout=seconds, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        code, output = "timeout", str(e.stdout)
    with open(result + ".log", "w") as f:
        f.write(output)
    if code != 0:
        line(False, f"{job} {kind} {conf}", f"exit {code} after {time.time() - begin:.0f} s")
        print("    " + "\n    ".join(output.strip().splitlines()[-12:]))
        return None
    with open(result) as f:
        return json.load(f)


def conformance():
    done = subprocess.run([os.path.join(BUILD, "gpu", "gpu_conformance")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    line(done.returncode == 0, "conformance", "; ".join(done.stdout.strip().splitlines()[-5:]))
    example = subprocess.run([os.path.join(BUILD, "gpu", "alloc_example"),
                              os.path.join(BUILD, "gpu", "example.pickle")],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line(example.returncode == 0, "C example", example.stdout.strip())


def churn():
    for conf in ("", "expandable_segments:True", "max_split_size_mb:64",
                 "garbage_collection_threshold:0.6"):
        native, ours = work("churn", "native", conf), work("churn", "memtool", conf)
        if not native or not ours:
            continue
        name = f"same workload, {conf or 'default'}"
        shape = lambda r: sorted([s[0], s[1], s[2], s[3]] for s in r["layout"])
        blocks = lambda r: sorted(json.dumps(s) for s in r["layout"])
        keys = [k for k in native["counters"] if k in ours["counters"]]
        different = [k for k in keys if native["counters"][k] != ours["counters"][k]]
        line(shape(native) == shape(ours), name + ": segments",
             f"{len(native['layout'])} and {len(ours['layout'])}, blocks "
             f"{'equal' if blocks(native) == blocks(ours) else 'DIFFERENT'}, "
             f"{native['ooms']} and {ours['ooms']} out of memory")
        line(len(keys) > 100 and not different, name + ": counters",
             f"{len(keys)} compared, {len(different)} differ " + ", ".join(
                 f"{k} {native['counters'][k]} {ours['counters'][k]}" for k in different[:4]))


def train():
    native, ours = work("train", "native"), work("train", "memtool")
    expandable = work("train", "memtool", "expandable_segments:True")
    if native and ours and expandable:
        line(native["losses"] == ours["losses"] == expandable["losses"], "same loss bits, 30 steps",
             f"{native['first_last'][0]:.4f} to {native['first_last'][1]:.4f}")
        line(native["segments"] == ours["segments"], "training: same segments",
             f"{len(native['segments'])} and {len(ours['segments'])}")
        line(ours["in_forward"] > 1000, "training: stacks of Python",
             f"of {ours['allocs']} requests {ours['with_stack']} have one, {ours['in_forward']} with "
             "forward(); those of the backward pass come from threads without Python frames")


def streams():
    for kind in ("native", "memtool"):
        r = work("streams", kind)
        if r:
            told, control = r["told"], r["not_told"]
            line(told["counted"] >= 10 and control["counted"] >= 10 and told["reused"] == 0
                 and told["wrong"] == 0 and control["reused"] == control["counted"],
                 f"record_stream, {kind}", f"with {told}, without {control}")


def graphs():
    for kind, conf in (("native", ""), ("memtool", ""), ("memtool", "expandable_segments:True")):
        r = work("graphs", kind, conf)
        if r:
            line(r["wrong"] == 0 and r["pools"] == [False, True],
                 f"CUDA graph, {kind} {conf}", str(r))


def refusals():
    r = work("out_of_memory", "memtool")
    if r:
        line("memtool: " in r["error"] and "The snapshot is in" in r["error"]
             and r["last_events"][-1] == "oom" and "out_of_memory" in r["frames"],
             "out of memory", f"{r.get('type')}: {r['error'][:420]} | frames {r['frames'][:3]}")
    r = work("mem_pool", "memtool")
    if r:
        line(r["ours"] > 0 and r["sum"] == 6 and "CUDA out of memory" in r["error"]
             and r["after"] == 10, "MemPool", str(r)[:300])


def viewers():
    """Snapshots of memtool's, opened by PyTorch's own viewer and by memtool."""
    code = """
import pickle, sys
from torch.cuda import _memory_viz as v
text_itself = lambda text, *_: text  # the default fetches a script from the network
for path in sys.argv[1:]:
    data = pickle.load(open(path, "rb"))
    texts = [f(data) for f in (v.segsum, v.trace, v.trace_plot, v.segment_plot)]
    texts += [f(data, format_flamegraph=text_itself) for f in (v.memory, v.segments)]
    sizes = [len(text) for text in texts]
    print(path.rsplit("/", 1)[-1], sizes)
    events = sum(map(len, data["device_traces"]))  # the C example dumps a state alone
    assert all(size > 0 for size in sizes[:1] + sizes[2:]) and (sizes[1] > 0) == (events > 0)
"""
    folder = os.path.join(BUILD, "gpu")
    paths = [os.path.join(folder, f) for f in ("example.pickle", "train.memtool.train.pickle",
                                               "churn.memtool.churn.pickle")]
    paths = [p for p in paths if os.path.exists(p)]
    done = subprocess.run([sys.executable, "-c", code, *paths], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    line(done.returncode == 0 and len(paths) > 0, "PyTorch's viewer",
         "; ".join(done.stdout.strip().splitlines()[-4:]))
    for path in paths:
        if not os.path.exists(READER):
            print(f"      memtool itself was not built here: open {os.path.basename(path)} elsewhere")
            continue
        done = subprocess.run([READER, "stats", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        line(done.returncode == 0, f"memtool stats {os.path.basename(path)}",
             " ".join(done.stdout.split())[:100])
    if KEEP:
        for path in paths[:2]:
            if os.path.getsize(path) < 15 << 20:
                shutil.copy(path, KEEP)


def bench():
    names = ("same_1MiB", "same_4KiB", "mixed_512", "mixed_2000")
    native, wrapped = work("bench", "native"), work("bench", "memtool")
    if not native or not wrapped:
        return
    medians = native.pop("medians")
    wrapped.pop("medians")
    rows = dict(native, **{k: v for k, v in wrapped.items() if k.startswith("wrapped")})
    print(f"ns a pair of allocate and free     " + "".join(f"{n:>12}" for n in names))
    for key, row in rows.items():
        if isinstance(row, dict):
            who, how, *frames = key.split(".")
            how = {"off": "", "on": ", recording", "alloc": ", recording, context:alloc",
                   "state": ", enabled:state"}[how]
            label = f"{who}{how}" + (f", {frames[0]} frames" if frames else "")
            print(f"  {label:42}" + "".join(f"{row[n]:12.1f}" if n in row else " " * 12
                                            for n in names))
    on, more = native["memtool.on.5"], native["memtool.on.24"]
    print(f"  a frame more costs a pair {(more['same_4KiB'] - on['same_4KiB']) / 19:.1f} ns "
          f"(two stacks: of the allocation and of the free)")
    off = native["memtool.off"]
    for goal, how, what in ((100, "off", "without recording"), (400, "on.5", "recording 5 frames")):
        a, b = native[f"memtool.{how}"], native[f"native.{how}"]
        same = ("same_1MiB", "same_4KiB")
        line(all(a[n] <= goal for n in same), f"at most {goal} ns {what}",
             ", ".join(f"{n} {a[n]} (median {medians[f'memtool.{how}'][n]}), {a[n] / b[n]:.2f} of "
                       f"PyTorch's own" for n in same))
    for how in ("off", "on.5", "on.8", "on.24"):
        a, b = native[f"memtool.{how}"], native[f"native.{how}"]
        line(all(a[n] < b[n] for n in a), f"never slower than PyTorch's own, {how}",
             ", ".join(f"{n} {a[n] / b[n]:.2f}" for n in a))
    line(off["mixed_2000"] <= native["native.off"]["mixed_2000"] / 2,
         "mixed sizes, 2,000 live blocks: at most half of PyTorch's",
         f"{off['mixed_2000']} of {native['native.off']['mixed_2000']}")
    line(native["state_dump_us"] < 1000, "dump of the state, 2,000 live blocks",
         f"{native['state_dump_us']} us")


def slowdown():
    for kind in ("native", "memtool"):
        r = work("slowdown", kind)
        if r:
            line(kind == "native" or r["slower_pct"] < 2, f"recording a training step, {kind}",
                 f"{r['step_ms']} ms, slower by {r['slower_pct']} % +- {r['noise_pct']} "
                 f"({r['rounds']} rounds of 4 steps, {r.get('requests_a_step', '?')} requests a step)")


def capture():
    check_capture.Check(BUILD, LIBRARY, line, KEEP).all()


def nvtx():
    check_nvtx.all(check_capture.Check(BUILD, LIBRARY, line, KEEP))


def estimate():
    expected = check_estimate.predictions()
    for name in check_estimate.RUNS:
        found = check_estimate.measured(name)
        line(found is not None and not check_estimate.print_run(name, found, expected[name]),
             f"estimate, {name}: states 1 %, activations 10 %, total inside of its range")


PARTS = (conformance, churn, train, streams, graphs, refusals, viewers, bench, slowdown, capture, nvtx, estimate)
os.makedirs(os.path.join(BUILD, "gpu"), exist_ok=True)
for part in PARTS:
    if not ONLY or part.__name__ in ONLY:
        begin = time.time()
        part()
        print(f"       ({part.__name__}: {time.time() - begin:.0f} s)", flush=True)
if KEEP:
    with open(os.path.join(KEEP, "logs.txt"), "w") as all_logs:
        for name in sorted(os.listdir(os.path.join(BUILD, "gpu"))):
            path = os.path.join(BUILD, "gpu", name)
            if name.endswith(".log") or "." in name and not name.endswith((".pickle", ".so")):
                with open(path, errors="replace") as f:
                    all_logs.write(f"==== {name}\n{f.read(200000)}\n")
print(f"check-gpu: {failed} failed")
sys.exit(failed > 0)
