# SPDX-License-Identifier: MIT
"""Switches PyTorch's memory recording on in a program that memtool capture runs.

Python imports this module by itself, because its folder stands first on PYTHONPATH. It gets out of
the way again (the user's own sitecustomize is imported next), waits until the program imports torch,
and queues what is to be done for the moment when torch starts CUDA: a program that never touches a
GPU is not changed. Everything comes from the environment, MEMTOOL_CAPTURE_*; nothing here may ever
raise into the program.
"""
import errno
import importlib
import importlib.util
import os
import re
import stat
import sys


def say(text):
    try:
        sys.stderr.write("memtool: " + text + "\n")
    except Exception:
        pass


def user_sitecustomize():
    """Imports the sitecustomize that stands behind this one on sys.path, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    me = sys.modules.pop("sitecustomize", None)
    try:
        if importlib.util.find_spec("sitecustomize") is not None:
            importlib.import_module("sitecustomize")
            return
    except Exception as error:
        say("the program's own sitecustomize failed: %r" % error)
    if me is not None:
        sys.modules.setdefault("sitecustomize", me)


class Capture:
    """Records in one process and writes its snapshots."""

    def __init__(self):
        self.mode = os.environ.get("MEMTOOL_CAPTURE_MODE", "torch")
        self.pattern = os.environ["MEMTOOL_CAPTURE_OUTPUT"]
        self.list = os.environ["MEMTOOL_CAPTURE_LIST"]
        self.max_entries = int(os.environ.get("MEMTOOL_CAPTURE_MAX_ENTRIES", "1000000"))
        self.stacks = os.environ.get("MEMTOOL_CAPTURE_STACKS", "python")
        self.pid = os.getpid()
        self.library = None
        self.since = int(os.environ.get("MEMTOOL_CAPTURE_SINCE", "0"))
        self.recording = False
        self.written = []  # the reasons of the snapshots so far
        self.first = None  # the name of the first one
        self.oom = None  # that of an out-of-memory

    def path(self, why):
        """The first snapshot has the name as given, later ones the reason before the suffix and a
        number when it comes again; of those of an out-of-memory the newest is kept."""
        if why == "oom" and self.oom:
            return self.oom
        if not self.written:
            marks = {"%p": str(os.getpid()), "%r": self.rank(), "%%": "%"}
            return re.sub("%[pr%]", lambda mark: marks[mark.group()], self.pattern)
        number = self.written.count(why) + 1
        return self.with_reason(self.first, why + (".%d" % number if number > 1 else ""))

    def rank(self):
        rank = os.environ.get("RANK", "0")
        if re.fullmatch("[0-9]{1,9}", rank):
            return rank
        say("RANK is %s, which is no number: %%r in a name is 0" % ascii(rank[:64]))
        return "0"

    @staticmethod
    def with_reason(path, reason):
        stem, suffix = os.path.splitext(path)
        return stem + "." + reason + suffix

    def wrote(self, why, path):
        """Remembers a snapshot and names it to memtool, once."""
        if path != self.oom:
            self.tell(why, path)
        if why != "oom" and self.library is not None and not set(self.written) - {"oom"}:
            taken = self.with_reason(path, "oom").replace("%", "%%")
            self.record_allocator(self.pattern if self.written else taken, False)
        self.remember(why, path)

    def remember(self, why, path):
        self.first = self.first or path
        self.oom = path if why == "oom" else self.oom
        self.written.append(why)

    def tell(self, *words):
        """A record of the list in which memtool reads what was written and, for the case that no
        snapshot follows, how far the program came (src/live/dump/capture_list.h)."""
        record = [words[0], str(os.getpid())] + [os.path.abspath(path) for path in words[1:]]
        try:
            with open(self.list, "ab", 0) as f:
                f.write(os.fsencode("\t".join(record) + "\0"))
        except Exception:
            pass

    mark = tell

    def failed(self, text):
        self.mark("failed")
        say(text)

    def dump(self, why):
        if os.getpid() != self.pid or not self.recording:
            return
        try:
            self.notice_oom()
            path = self.path(why)
            folder, name = os.path.split(path)
            start = os.fsdecode(os.fsencode(name)[:200])  # a name has 255 bytes
            partial = os.path.join(folder, "%s.%d.partial" % (start, os.getpid()))
            try:
                self.write(partial)
                path = self.place(partial, path)
            finally:
                if os.path.exists(partial):
                    os.unlink(partial)
            self.wrote(why, path)
        except Exception as error:
            self.failed("the snapshot could not be written: %r" % error)

    def place(self, partial, path):
        """Gives the file the first free name of run.pickle, run.2.pickle ...; returns it."""
        if path == self.oom:
            os.replace(partial, path)
            return path
        stem, suffix = os.path.splitext(path)
        number = 1
        while not self.take(partial, path) and not self.replace_older(partial, path):
            number += 1
            path = "%s.%d%s" % (stem, number, suffix)
        return path

    @staticmethod
    def take(partial, path):
        try:
            os.link(partial, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            try:
                open(path, "x").close()  # no hard links here: an empty file takes the name first
            except FileExistsError:
                return False
            os.replace(partial, path)
        return True

    def replace_older(self, partial, path):
        """Over a file that was there when memtool was started with -f; as src/live/dump/whole_file.c does
        it, so that one process alone replaces it."""
        claim = None
        try:
            there = self.older(path)
            if there is None:
                return False
            name = os.path.join(os.path.dirname(path), "%x.replaced" % there.st_ino)
            open(name, "x").close()
            claim = name
            there = self.older(path)
            if there is None:
                return False
            if stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid():
                os.chmod(partial, there.st_mode & 0o777)
            os.replace(partial, path)
            return True
        except (FileExistsError, FileNotFoundError):
            return False
        finally:
            if claim:
                os.unlink(claim)

    def older(self, path):
        there = os.lstat(path)
        kind = stat.S_IFMT(there.st_mode)
        return there if kind in (stat.S_IFREG, stat.S_IFLNK) and there.st_ctime_ns < self.since else None

    def write(self, path):
        if self.library is not None:
            if self.library.memtool_dump(os.fsencode(path.replace("%", "%%"))) != 0:
                raise OSError(self.library.memtool_last_error())
        else:
            sys.modules["torch"].cuda.memory._dump_snapshot(path)

    # ---- what is switched on ----

    def start(self):
        """Called by torch when it starts CUDA in this process."""
        try:
            if os.getpid() != self.pid:
                self.forked()
            if self.recording:
                return
            torch = sys.modules["torch"]
            if self.library is None:
                self.record(torch)
                torch._C._cuda_attach_out_of_memory_observer(lambda *numbers: self.dump("oom"))
                self.label_modules(torch)
            self.recording = True
            self.mark("cuda")
            self.at_end()
        except Exception as error:
            self.failed("recording could not be switched on: %r" % error)

    def label_modules(self, torch):
        """capture --modules; the hooks stand in a file of their own beside this one."""
        if os.environ.get("MEMTOOL_CAPTURE_MODULES") != "1":
            return
        try:
            self.load("memtool_modules").use(torch)
        except Exception as error:
            say("allocations get no module names: %s" % error)

    @staticmethod
    def load(name):
        spec = importlib.util.spec_from_file_location(
            name, os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def record(self, torch):
        try:
            torch.cuda.memory._record_memory_history(max_entries=self.max_entries, stacks=self.stacks)
        except TypeError:  # PyTorch 2.0
            torch.cuda.memory._record_memory_history(
                True, trace_alloc_max_entries=self.max_entries, trace_alloc_record_context=True)

    def at_end(self):
        import atexit
        import signal
        import threading

        atexit.register(self.dump, "exit")
        if threading.current_thread() is not threading.main_thread():
            return
        self.chain(signal, signal.SIGUSR2, "signal", False)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self.chain(signal, signal.SIGTERM, "term", True)

    def chain(self, signal, number, why, dies):
        before = signal.getsignal(number)

        def handler(which, frame):
            self.dump(why)
            if callable(before):
                before(which, frame)
            elif dies:
                signal.signal(which, signal.SIG_DFL)
                os.kill(os.getpid(), which)

        signal.signal(number, handler)

    def use_allocator(self, torch):
        """Mode allocator: memtool's own allocator serves the program, and records."""
        import ctypes

        self.library = self.load("memtool_torch").use(os.environ["MEMTOOL_CAPTURE_LIBRARY"])
        self.library.memtool_last_error.restype = ctypes.c_char_p
        self.record_allocator(self.pattern, True)

    def record_allocator(self, pattern, at_fault):
        """The allocator itself writes the snapshots of an out-of-memory and of a fault, the latter while
        Python has written none. The one of the end is Python's: its exit comes before tensors go."""
        settings = "max_entries:%d,on_oom:True,at_exit:%r,dump:%s" % (
            self.max_entries, at_fault, pattern.replace(",", "%,"))
        if self.library.memtool_record(os.fsencode(settings)) != 0:
            raise OSError(self.library.memtool_last_error())

    def notice_oom(self):
        """The allocator writes the snapshot of an out-of-memory by itself, and names it to memtool."""
        if self.library is None or self.oom:
            return
        start = b"oom\t%d\t" % os.getpid()
        with open(self.list, "rb") as f:
            for record in f.read().split(b"\0"):
                if record.startswith(start):
                    self.remember("oom", os.fsdecode(record[len(start):]))
                    return

    def torch_is_there(self):
        torch = sys.modules.get("torch")
        self.mark("torch")
        try:
            if self.mode == "allocator":
                self.use_allocator(torch)
            torch.cuda._lazy_call(self.start)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self.forked)
        except Exception as error:
            self.failed("torch %s cannot be recorded: %r" % (getattr(torch, "__version__", "?"), error))

    def forked(self):
        """A forked worker has no CUDA of its own until it starts it; then it records for itself."""
        self.pid = os.getpid()
        self.recording = False
        self.written = []
        self.first = self.oom = None


class WaitForTorch:
    """A finder that lets everybody else find torch, and acts once it is imported."""

    def __init__(self, capture):
        self.capture = capture

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            self.capture.torch_is_there()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            self.capture.failed("torch's loader cannot be watched: nothing is recorded")
        return spec


try:
    # a capture within a capture: the outer one's copy of this file, which comes second, stays out
    if "MEMTOOL_CAPTURE_OUTPUT" in os.environ and not hasattr(sys, "_memtool_captures"):
        sys._memtool_captures = True
        capture = Capture()
        capture.mark("python")
        sys.meta_path.insert(0, WaitForTorch(capture))
except Exception as error:
    say("capture is off: %r" % error)
user_sitecustomize()
