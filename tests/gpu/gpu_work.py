# SPDX-License-Identifier: MIT
"""One process of the GPU tests: does one job under PyTorch's own allocator or under memtool's and
writes what came of it as JSON.

    gpu_work.py JOB native|memtool RESULT.json LIBRARY
"""
import ctypes
import gc
import json
import os
import pickle
import random
import statistics
import struct
import sys
import time

import torch

JOB, KIND, RESULT, LIBRARY = sys.argv[1:5]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
MIB = 1 << 20
out = {}
lib = None


def start():
    global lib
    if KIND == "memtool":
        import memtool_torch

        lib = memtool_torch.use(LIBRARY)
        lib.memtool_last_error.restype = ctypes.c_char_p
    return lib


def snapshot(name):
    """The state as PyTorch's schema has it, from either allocator."""
    path = f"{RESULT}.{name}.pickle"
    if KIND == "memtool":
        assert lib.memtool_dump(path.encode()) == 0, lib.memtool_last_error()
    else:
        with open(path, "wb") as f:
            pickle.dump(torch.cuda.memory._snapshot(), f)
    with open(path, "rb") as f:
        return pickle.load(f)


EACH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)


def counters():
    if KIND == "native":
        return {k: v for k, v in torch.cuda.memory_stats().items() if isinstance(v, int)}
    found = {}

    def each(_, name, value):
        found[name.decode()] = value
        return 1

    lib.memtool_each_stat(0, EACH(each), None)
    return found


def layout(snap):
    return [
        [s["total_size"], s["segment_type"], s["stream"] == 0, s["is_expandable"],
         [[b["size"], b["state"]] for b in s["blocks"]]]
        for s in snap["segments"]
    ]


def random_size(rng):
    c = rng.random()
    if c < 0.4:
        return rng.randint(1, 4096)
    if c < 0.7:
        return rng.randint(4096, MIB)
    if c < 0.9:
        return rng.randint(MIB, 10 * MIB)
    return rng.randint(10 * MIB, 100 * MIB)


def churn():
    """The same random requests and frees, with a limit that is met."""
    start()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(3072 * MIB / total, 0)
    side = torch.cuda.Stream()
    rng = random.Random(7)
    slots = [None] * 400
    ooms = 0
    for step in range(20000):
        i = rng.randrange(len(slots))
        slots[i] = None
        size, on_side = random_size(rng), rng.random() < 0.1
        try:
            with torch.cuda.stream(side if on_side else torch.cuda.default_stream()):
                slots[i] = torch.empty(size, dtype=torch.uint8, device="cuda")
        except RuntimeError as error:
            assert "out of memory" in str(error), error
            ooms += 1
            del error
            for k in range(0, len(slots), 2):
                slots[k] = None
        if step == 12000:
            torch.cuda.empty_cache()
    out["ooms"] = ooms
    out["layout"] = layout(snapshot("churn"))
    out["counters"] = counters()


class Model(torch.nn.Module):
    def __init__(self, width, layers, words):
        super().__init__()
        self.embed = torch.nn.Embedding(words, width)
        layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, 0.0, batch_first=True)
        self.body = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.body(self.embed(x)))


def trainer(width, layers, batch, length, words=4096):
    torch.manual_seed(1)
    model = Model(width, layers, words).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    data = torch.randint(words, (batch, length + 1), device="cuda")

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(data[:, :-1])
        loss = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1), data[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def train():
    start()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.enable_flash_sdp(False)  # the others add in no fixed order
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    if KIND == "memtool":
        assert lib.memtool_record(b"max_entries:200000,stacks:python") == 0
    step = trainer(256, 4, 8, 128)
    losses = []
    for i in range(30):
        if KIND == "memtool":
            lib.memtool_annotate_begin(f"step {i}".encode(), 0)
        losses.append(step())
        if KIND == "memtool":
            lib.memtool_annotate_end(f"step {i}".encode(), 0)
    out["losses"] = [struct.pack(">f", float(x)).hex() for x in losses]
    out["first_last"] = [float(losses[0]), float(losses[-1])]
    snap = snapshot("train")
    out["segments"] = sorted((s["total_size"], s["segment_type"]) for s in snap["segments"])
    if KIND == "memtool":
        events = [e for e in snap["device_traces"][0] if e["action"] == "alloc"]
        seen = [{f["name"] for f in e.get("frames", [])} for e in events]
        out["allocs"], out["with_stack"] = len(events), sum(bool(s) for s in seen)
        out["in_forward"] = sum("forward" in s for s in seen)


def streams():
    """record_stream keeps memory from being reused while another stream reads it; without it the
    same program does reuse it. A round counts only if the reader was still at work when the memory
    was asked for: the first use of a kernel loads it, and that waits for the device."""
    start()
    side = torch.cuda.Stream()
    n = 8 * MIB

    def turn(i, told):
        x = torch.full((n,), i + 1, dtype=torch.int32, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20000000)
            y = x.sum(dtype=torch.int64)
            done = torch.cuda.Event()
            done.record()
        if told:
            x.record_stream(side)
        at = x.data_ptr()
        del x
        z = torch.empty((n,), dtype=torch.int32, device="cuda")
        at_work, reused = not done.query(), z.data_ptr() == at
        z.fill_(-1)
        torch.cuda.synchronize()
        right = int(y) == n * (i + 1)
        del y, z
        return at_work, reused, right

    turn(0, True)
    for name, told in (("told", True), ("not_told", False)):
        turns = [turn(i, told) for i in range(20)]
        out[name] = {"counted": sum(t[0] for t in turns),
                     "reused": sum(t[0] and t[1] for t in turns),
                     "wrong": sum(t[0] and not t[2] for t in turns)}


def graphs():
    start()
    x = torch.zeros(1 << 20, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            y = (x * 2 + 1).relu()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        t = x * 2
        y = (t + 1).relu()
        del t
    wrong = 0
    for i in range(20):
        x.fill_(i)
        graph.replay()
        junk = [torch.full((1 << 20,), -5.0, device="cuda") for _ in range(8)]
        torch.cuda.synchronize()
        wrong += bool((y != 2 * i + 1).any())
        del junk
    out["wrong"], out["hooks"] = wrong, getattr(lib, "memtool_hooks", None)
    out["pools"] = sorted({tuple(s["segment_pool_id"]) != (0, 0) for s in snapshot("graph")["segments"]})
    del y, graph
    gc.collect()
    torch.cuda.empty_cache()
    out["pools_after"] = sorted({tuple(s["segment_pool_id"]) != (0, 0) for s in snapshot("after")["segments"]})


def out_of_memory():
    start()
    path = f"{RESULT}.oom.pickle"
    assert lib.memtool_record(f"stacks:python,dump:{path}".encode()) == 0
    keep = [torch.empty(30 * MIB, dtype=torch.uint8, device="cuda") for _ in range(10)]
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
        out["error"] = "none"
    except RuntimeError as error:
        out["error"] = str(error)[:600]
        out["type"] = type(error).__name__
    assert int((torch.ones(1000, device="cuda") + 1).sum()) == 2000
    del keep
    with open(path, "rb") as f:
        snap = pickle.load(f)
    out["last_events"] = [e["action"] for e in snap["device_traces"][0][-2:]]
    out["frames"] = [f["name"] for f in snap["device_traces"][0][-1].get("frames", [])]


def mem_pool():
    import memtool_torch

    pool = memtool_torch.mem_pool(LIBRARY)
    direct = ctypes.CDLL(LIBRARY)
    with torch.cuda.use_mem_pool(pool):
        x = torch.ones(3 * MIB, device="cuda")
    y = torch.ones(3 * MIB, device="cuda")
    value = ctypes.c_int64()
    assert direct.memtool_stat(0, b"allocated_bytes.all.current", ctypes.byref(value)) == 0
    out["ours"] = value.value
    out["torch"] = torch.cuda.memory_allocated()
    out["sum"] = float(x.sum() + y.sum()) / MIB
    direct.memtool_set_memory_fraction(ctypes.c_double(0.001), 0)
    try:
        with torch.cuda.use_mem_pool(pool):
            torch.empty(1000 * MIB, device="cuda")
        out["error"] = "none"
    except torch.OutOfMemoryError as error:
        out["error"] = str(error)[:120]
    out["after"] = float(torch.ones(10, device="cuda").sum())


def deep(n, call):
    return call() if n <= 0 else deep(n - 1, call)


ROUNDS = 9


def bench():
    """Both allocators in one process, by the same loops; recording off and on; stacks of 5 to 24
    frames; then PyTorch's wrapper around memtool's."""
    names = json.loads(os.environ["BENCH"])
    loops = ctypes.PyDLL(names["loops"])  # the GIL is held, as when PyTorch allocates
    native = ctypes.PyDLL(names["native"])
    pointers = {}
    if KIND == "memtool":
        start()
    else:
        direct = ctypes.PyDLL(LIBRARY)
        pointers["memtool"] = (direct.memtool_malloc, direct.memtool_free)
    pointers["native" if KIND == "native" else "wrapped"] = (native.native_malloc, native.native_free)
    torch.empty(1, device="cuda")
    for name in ("bench_same", "bench_mixed"):
        getattr(loops, name).restype = ctypes.c_double
    ptr = ctypes.c_void_p
    loops.bench_same.argtypes = [ptr, ptr, ctypes.c_ssize_t, ctypes.c_long]
    loops.bench_mixed.argtypes = [ptr, ptr, ctypes.c_long, ctypes.c_long, ctypes.c_uint64]

    def pair(who):
        return [ctypes.cast(f, ptr) for f in pointers[who]]

    def rows(name, whos, mixed=True):
        """Short rounds, the allocators turn about, so that a busy moment of the host falls on both
        and into few of them; the least of each, and the median to tell how noisy it was."""
        found = {who: {"same_1MiB": [], "same_4KiB": [], "mixed_512": [], "mixed_2000": []}
                 for who in whos}
        for _ in range(ROUNDS):
            for who in whos:
                a, b = pair(who)
                empty(who)  # of what the mixed sizes left: a pair would split and merge it
                found[who]["same_1MiB"].append(loops.bench_same(a, b, MIB, 100000))
                found[who]["same_4KiB"].append(loops.bench_same(a, b, 4096, 100000))
                if mixed:
                    found[who]["mixed_512"].append(loops.bench_mixed(a, b, 512, 40000, 1 << 40))
                    found[who]["mixed_2000"].append(loops.bench_mixed(a, b, 2000, 40000, 1 << 40))
        for who in whos:
            out[name.format(who)] = {k: round(min(v), 1) for k, v in found[who].items() if v}
            out["medians"][name.format(who)] = {k: round(statistics.median(v), 1)
                                                for k, v in found[who].items() if v}

    def empty(who):
        if who == "native":
            torch.cuda.empty_cache()
        else:
            (lib or ctypes.CDLL(LIBRARY)).memtool_empty_cache()

    def record(who, on, settings=""):
        if who == "native":
            torch.cuda.memory._record_memory_history(
                enabled="all" if on else None, context="all", stacks="python", max_entries=100000)
        else:
            target = lib or ctypes.CDLL(LIBRARY)
            text = f"max_entries:100000,stacks:python{settings}".encode() if on else None
            assert target.memtool_record(text) == 0

    out["medians"] = {}
    ours = [who for who in pointers if who != "native"]
    rows("{}.off", pointers)
    for who in pointers:
        record(who, True)
    for frames in (5, 8, 16, 24):  # rows, lambda, deep ..., bench, <module>
        deep(frames - 5, lambda: rows(f"{{}}.on.{frames}", pointers, frames == 5))
    for who in pointers:
        record(who, False)
    for name, settings in (("alloc", ",context:alloc"), ("state", ",enabled:state")):
        for who in ours:
            record(who, True, settings)
        deep(0, lambda: rows(f"{{}}.{name}.5", ours, False))
        for who in ours:
            record(who, False)
    torch.cuda.empty_cache()
    if KIND == "native":
        dump_speed(direct)


def dump_speed(direct):
    """A dump of the state alone with 2,000 live blocks."""
    direct.memtool_malloc.restype = ctypes.c_void_p
    direct.memtool_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    direct.memtool_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    direct.memtool_empty_cache()
    assert direct.memtool_record(b"enabled:state,stacks:python") == 0
    rng = random.Random(3)
    blocks = [direct.memtool_malloc(rng.randint(1, 2 * MIB), 0, None) for _ in range(2000)]
    path = f"{RESULT}.state.pickle".encode()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        assert direct.memtool_dump(path) == 0
        times.append(1e6 * (time.perf_counter() - begin))
    out["state_dump_us"] = round(sorted(times)[len(times) // 2])
    for block in blocks:
        direct.memtool_free(block, 0, 0, None)


def middle_half(values):
    """The mean without the lowest and the highest quarter, and its standard error (Tukey and
    McLaughlin 1963: from the values with the quarters drawn in to where they were cut)."""
    values = sorted(values)
    n, quarter = len(values), len(values) // 4
    middle = values[quarter:n - quarter]
    drawn_in = [min(max(v, middle[0]), middle[-1]) for v in values]
    return statistics.mean(middle), statistics.stdev(drawn_in) / (len(middle) / n * n ** 0.5)


SLOWDOWN_S = {"native": 25, "memtool": 60}


def slowdown():
    """A training step with recording off and on, turn about: the host's speed changes within a second
    by more than what is measured, so steps are compared with their neighbours."""
    start()
    step = trainer(1024, 8, 8, 512)
    for _ in range(10):
        step()
    torch.cuda.synchronize()

    def timed(on):
        if KIND == "memtool":
            assert lib.memtool_record(b"max_entries:1000000,stacks:python" if on else None) == 0
        else:
            torch.cuda.memory._record_memory_history(
                enabled="all" if on else None, context="all", stacks="python", max_entries=1000000)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    # off, on, on, off: what drifts, drifts for both; pauses of the machine fall out with the quarters
    ratios, offs = [], []
    begin = time.perf_counter()
    while len(ratios) < 20 or time.perf_counter() - begin < SLOWDOWN_S[KIND]:
        a, b, c, d = timed(False), timed(True), timed(True), timed(False)
        ratios.append((b + c) / (a + d))
        offs += [a, d]
    mean, error = middle_half(ratios)
    out["step_ms"] = round(1000 * sorted(offs)[len(offs) // 2], 2)
    out["rounds"] = len(ratios)
    out["slower_pct"] = round(100 * (mean - 1), 2)
    out["noise_pct"] = round(200 * error, 2)
    if KIND == "memtool":
        before = counters()
        step()
        torch.cuda.synchronize()
        after = counters()
        out["requests_a_step"] = after["allocation.all.allocated"] - before["allocation.all.allocated"]


jobs = {f.__name__: f for f in (churn, train, streams, graphs, out_of_memory, mem_pool, bench, slowdown)}
jobs[JOB]()
with open(RESULT, "w") as f:
    json.dump(out, f)
