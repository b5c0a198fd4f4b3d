# SPDX-License-Identifier: MIT
"""Python treats the C door badly in one way, named by the first argument; the others are the library,
a name for the snapshot and odd_library.so. Nothing here may crash, hang or be told of frames that
were not there."""
import asyncio
import atexit
import ctypes
import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time

part, library, path = sys.argv[1:4]
held = ctypes.PyDLL(library)  # calls with the GIL held
free = ctypes.CDLL(library)  # and without it, as PyTorch's do
for door in (held, free):
    door.memtool_malloc.restype = ctypes.c_void_p
    door.memtool_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    door.memtool_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
here = os.path.basename(__file__)


def record(settings="max_entries:100000"):
    assert held.memtool_record(settings.encode()) == 0


def trace():
    assert free.memtool_dump(os.fsencode(path)) == 0
    with open(path, "rb") as f:
        return pickle.load(f)["device_traces"][0]


def names(events, size):
    return [f["name"] for e in events if e["action"] == "alloc" and e["size"] == size for f in e.get("frames", [])]


def pair(door, size):
    door.memtool_free(door.memtool_malloc(size, 0, None), 0, 0, None)


class Slow:
    """Makes the end of the interpreter take its time."""

    def __del__(self):
        for _ in range(40):
            [bytes(n % 2000) for n in range(3000)]


class Memory:
    """As a tensor: frees when it goes."""

    def __init__(self, size, door=held):
        self.door, self.ptr = door, door.memtool_malloc(size, 0, None)

    def __del__(self):
        self.door.memtool_free(self.ptr, 0, 0, None)


def toggled():
    """Recording goes on and off, under changing settings, while many threads allocate."""
    stop = threading.Event()

    def churn(k):
        while not stop.is_set():
            for i in range(50):
                deep(k % 7, lambda: pair((held, free)[i % 2], 1000 * (i + 1)))

    threads = [threading.Thread(target=churn, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    settings = ["", "stacks:all", "stacks:none", "stacks:c", "max_entries:10", "max_frames:1", "context:alloc",
                "enabled:state", "stacks:all,max_frames:128"]
    end = time.time() + 3
    i = 0
    while time.time() < end:
        (held, free)[i % 2].memtool_record(settings[i % len(settings)].encode() if i % 3 else None)
        if i % 20 == 0:
            free.memtool_dump(os.fsencode(path))
        i += 1
    stop.set()
    for t in threads:
        t.join()


def deep(n, f):
    return f() if n == 0 else deep(n - 1, f)


def recursion():
    """More frames than are kept, and more than there may be."""
    sys.setrecursionlimit(3000)
    record("max_frames:128")
    deep(20, lambda: pair(held, 5000))
    deep(2000, lambda: pair(held, 6000))
    deep(2000, lambda: pair(free, 7000))

    def endless():
        pair(free, 8000)
        endless()

    try:
        endless()
    except (RecursionError, ctypes.ArgumentError):
        pass
    for stacks in ("all", "python"):
        record("max_frames:128,stacks:" + stacks)
        deep(2000, lambda: pair(held, 9000))
    events = trace()
    assert names(events, 5000)[:22] == ["pair", "<lambda>"] + ["deep"] * 20, names(events, 5000)
    for size in (6000, 7000):
        assert names(events, size) == ["pair", "<lambda>"] + ["deep"] * 126, size


def generators():
    """Frames that are left and entered again."""
    record()

    def inner():
        while True:
            pair(held, (yield))

    def outer():
        yield from inner()

    g = outer()
    next(g)
    g.send(5000)
    deep(3, lambda: g.send(6000))

    async def sleeper():
        await asyncio.sleep(0)
        pair(free, 7000)
        async for _ in ticks():
            pair(held, 8000)

    async def ticks():
        for _ in range(3):
            await asyncio.sleep(0)
            yield

    async def main():
        await asyncio.gather(*[sleeper() for _ in range(5)])

    asyncio.run(main())
    events = trace()
    assert names(events, 5000) == ["pair", "inner", "outer", "generators", "<module>"], names(events, 5000)
    assert names(events, 6000)[:8] == ["pair", "inner", "outer", "<lambda>"] + ["deep"] * 4, names(events, 6000)
    assert names(events, 7000)[:2] == ["pair", "sleeper"]


def exceptions():
    """Memory goes while an exception is on its way, in destructors and in handlers."""
    record()

    def fails(door, n):
        memory = Memory(n, door)
        if n > 2000:
            raise KeyError(n)
        fails(door, n + 100)
        del memory

    for door in (held, free):
        for kind in ("stacks:python", "stacks:all"):
            record(kind)
            for _ in range(200):
                try:
                    fails(door, 1000)
                    raise AssertionError("no exception")
                except KeyError as e:
                    assert e.args == (2100,), e.args
                    pair(door, 3000)
    trace()


def odd_names():
    """Names that are no text, very long, or gone when the snapshot is written."""
    record()
    codes = ["\udcff\udc80.py", "nul\0nul.py", "x" * 100000 + ".py", "", "\U0001f600.py", "<frozen>"]
    for i, name in enumerate(codes):
        space = {"pair": pair, "held": held}
        code = compile("\n" * (2 ** (3 * i)) + "pair(held, %d)" % (4000 + i), "?", "exec")
        exec(code.replace(co_filename=name), space)
    for i in range(3000):
        exec(compile("def f%d(): pair(free, 9000)\nf%d()" % (i, i), "gone%d.py" % i, "exec"),
             {"pair": pair, "free": free})
        if i % 500 == 0:
            gc.collect()
    events = trace()
    assert len({n for n in names(events, 9000) if n.startswith("f")}) == 3000
    files = [e["frames"][1]["filename"] for e in events if e["action"] == "alloc" and 4000 <= e["size"] <= 4005]
    assert len(files) == 6 and files[0] == "??" and files[4] == codes[4], [f[:20] for f in files]


def interpreters():
    """Another interpreter in the same thread, which the GIL functions do not know."""
    try:
        import _xxsubinterpreters as sub
        legacy = {} if sys.version_info < (3, 12) else {"isolated": False}
        create, run = lambda: sub.create(**legacy), sub.run_string
    except ImportError:
        import _interpreters as sub
        create, run = lambda: sub.create("legacy"), sub.exec

    record()
    pair(held, 4000)
    script = """if True:
        import ctypes
        for kind in (ctypes.PyDLL, ctypes.CDLL):
            door = kind(%r)
            door.memtool_malloc.restype = ctypes.c_void_p
            door.memtool_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
            door.memtool_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
            def inside(size):
                door.memtool_free(door.memtool_malloc(size, 0, None), 0, 0, None)
            inside(5000)
            inside(6000)
    """ % library
    for _ in range(3):
        interpreter = create()
        run(interpreter, script)
        sub.destroy(interpreter)
        pair(held, 7000)
    thread_error = []

    def in_thread():
        try:
            interpreter = create()
            run(interpreter, script)
            sub.destroy(interpreter)
        except BaseException as e:
            thread_error.append(e)

    threads = [threading.Thread(target=in_thread) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not thread_error, thread_error
    assert names(trace(), 7000)[:2] == ["pair", "interpreters"]


def greenlets():
    """Stacks that change places."""
    try:
        import greenlet
    except ImportError:
        return

    record()

    def work(k):
        for i in range(50):
            deep(k, lambda: (pair((held, free)[i % 2], 5000 + 1000 * k), main.switch()))

    main = greenlet.getcurrent()
    all_of_them = [greenlet.greenlet(work) for _ in range(5)]
    for k, g in enumerate(all_of_them):
        g.switch(k)
    while any(not g.dead for g in all_of_them):
        for g in all_of_them:
            if not g.dead:
                deep(3, lambda: pair(held, 4000))
                g.switch()
    events = trace()
    assert names(events, 8000)[:6] == ["pair", "<lambda>"] + ["deep"] * 4, names(events, 8000)[:8]
    assert "work" in names(events, 8000) and "work" not in names(events, 4000)


def shutdown():
    """The interpreter ends while daemon threads are in the library, and memory goes until the end."""
    record(os.environ.get("SHUTDOWN_RECORD", "stacks:all"))

    def churn(door, k):
        while True:
            exec(compile("pair(door, %d)" % (k * 100 + 1), "daemon%d.py" % k, "exec"), {"pair": pair, "door": door})
            k += 1

    forever = ctypes.CDLL(sys.argv[4]).pairs_forever  # in C, without the GIL
    functions = [ctypes.cast(f, ctypes.c_void_p) for f in (free.memtool_malloc, free.memtool_free)]
    for k in range(6):
        threading.Thread(target=churn, args=((held, free)[k % 2], k * 100000), daemon=True).start()
    for k in range(2):
        threading.Thread(target=deep, args=(20 * k, lambda: forever(*functions)), daemon=True).start()
    sys.memories = [Memory(3000), Slow(), Memory(4000, free)]  # go with sys
    builtins = sys.modules["builtins"]
    builtins.memory = Memory(5000)
    atexit.register(lambda: pair(free, 6000))
    time.sleep(0.05)


def faults():
    """The interpreter's own handlers stay."""
    faulthandler.register(signal.SIGUSR1, file=open(path + ".said", "w"), all_threads=True)
    record()
    end = time.time() + 1
    while time.time() < end:
        pair(held, 5000)
        deep(5, lambda: pair(free, 6000))
        os.kill(os.getpid(), signal.SIGUSR1)
    assert "Current thread" in open(path + ".said").read()
    assert names(trace(), 5000)[:2] == ["pair", "faults"]


def traced():
    """A debugger's and a profiler's functions run at every call, and allocate."""
    record()
    depth = [0]

    def hook(frame, event, argument):
        if depth[0] == 0:
            depth[0] = 1
            pair(held, 4000)
            depth[0] = 0
        return hook

    for install in (sys.settrace, sys.setprofile):
        install(hook)
        for i in range(200):
            deep(3, lambda: pair(free, 5000))
            g = (pair(held, 6000 + i) for i in range(2))
            list(g)
        install(None)
    assert names(trace(), 5000)[:2] == ["pair", "<lambda>"]


def collected():
    """Collections of garbage that free memory fall into every moment."""
    record()
    gc.set_threshold(1)
    for i in range(300):
        a, b = Memory(4000, (held, free)[i % 2]), []
        a.b, a.self = b, a
        b.append(a)
        del a, b
        deep(i % 5, lambda: [pair(held, 5000 + j) for j in range(3)])
    gc.set_threshold(700)
    assert names(trace(), 5000)[:3] == ["pair", "<listcomp>", "<lambda>"] or sys.version_info >= (3, 12)


def forked():
    """Children of a process with threads, with and without exec."""
    record("at_exit:True,dump:" + path + ".child-%p")
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            deep(3, lambda: pair(free, 5000))

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for t in threads:
        t.start()
    for i in range(20):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            assert not held.memtool_malloc(100, 0, None)
            deep(3, lambda: pair(free, 5000))
            if i % 2:
                os.execv(sys.executable, [sys.executable, "-c", "pass"])
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    stop.set()
    for t in threads:
        t.join()
    record("at_exit:False")
    assert not [f for f in os.listdir(os.path.dirname(os.path.abspath(path))) if ".child-" in f]


{f.__name__: f for f in (toggled, recursion, generators, exceptions, odd_names, interpreters, greenlets, shutdown,
                         faults, traced, collected, forked)}[part]()
