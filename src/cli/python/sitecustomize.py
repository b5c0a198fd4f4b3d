# SPDX-License-Identifier: MIT
"""Switches PyTorch's memory recording on in a program that memtool capture runs.

Python imports this module by itself, because its folder stands first on PYTHONPATH. It gets out of
the way again (the user's own sitecustomize is imported next), waits until the program imports torch,
and queues what is to be done for the moment when torch starts CUDA: a program that never touches a
GPU is not changed. Everything comes from the environment, MEMTOOL_CAPTURE_*; nothing here may ever
raise into the program.
"""
import importlib
import importlib.util
import os
import re
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
        self.recording = False
        self.written = []  # the reasons of the snapshots so far

    def path(self, why):
        """The first snapshot has the name as given, later ones the reason before the suffix and a
        number when it comes again; of those of an out-of-memory the newest is kept."""
        marks = {"%p": str(os.getpid()), "%r": os.environ.get("RANK", "0"), "%%": "%"}
        path = re.sub("%[pr%]", lambda mark: marks[mark.group()], self.pattern)
        if not self.written or (why == "oom" and self.written[0] == "oom"):
            return path
        number = self.written.count(why) + 1
        return self.with_reason(path, why + (".%d" % number if number > 1 and why != "oom" else ""))

    @staticmethod
    def with_reason(path, reason):
        stem, suffix = os.path.splitext(path)
        return stem + "." + reason + suffix

    def wrote(self, why, path):
        """Remembers a snapshot and names it to memtool, once."""
        if why != "oom" or "oom" not in self.written:
            self.tell(why, path)
        if not self.written and why != "oom" and self.library is not None:
            self.record_allocator(self.with_reason(self.pattern, "oom"))  # the name is taken
        self.written.append(why)

    def tell(self, why, path):
        with open(self.list, "a") as f:
            f.write("%s\t%s\n" % (why, os.path.abspath(path)))

    def mark(self, word):
        """Tells memtool how far the program came, for the case that no snapshot follows."""
        try:
            with open(self.list, "a") as f:
                f.write(word + "\n")
        except Exception:
            pass

    def failed(self, text):
        self.mark("failed")
        say(text)

    def dump(self, why):
        if os.getpid() != self.pid or not self.recording:
            return
        try:
            self.notice_oom()
            path = self.path(why)
            partial = "%s.%d.partial" % (path, os.getpid())
            try:
                self.write(partial)
                os.replace(partial, path)
            finally:
                if os.path.exists(partial):
                    os.unlink(partial)
            self.wrote(why, path)
        except Exception as error:
            self.failed("the snapshot could not be written: %r" % error)

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
            self.recording = True
            self.mark("cuda")
            self.at_end()
        except Exception as error:
            self.failed("recording could not be switched on: %r" % error)

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
        spec = importlib.util.spec_from_file_location(
            "memtool_torch", os.path.join(os.path.dirname(os.path.abspath(__file__)), "memtool_torch.py"))
        helper = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(helper)
        import ctypes

        self.library = helper.use(os.environ["MEMTOOL_CAPTURE_LIBRARY"])
        self.library.memtool_last_error.restype = ctypes.c_char_p
        self.record_allocator(self.pattern)

    def record_allocator(self, pattern):
        settings = "max_entries:%d,on_oom:True,dump:%s" % (self.max_entries, pattern.replace(",", "%,"))
        if self.library.memtool_record(os.fsencode(settings)) != 0:
            raise OSError(self.library.memtool_last_error())

    def notice_oom(self):
        """The allocator writes the snapshot of an out-of-memory by itself."""
        if self.library is None or "oom" in self.written:
            return
        import ctypes

        ooms, device = ctypes.c_int64(), 0
        while self.library.memtool_stat(device, b"num_ooms", ctypes.byref(ooms)) == 0:
            if ooms.value > 0 and os.path.exists(self.path("oom")):
                self.wrote("oom", self.path("oom"))
                return
            device += 1

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
    if "MEMTOOL_CAPTURE_OUTPUT" in os.environ:
        capture = Capture()
        capture.mark("python")
        sys.meta_path.insert(0, WaitForTorch(capture))
except Exception as error:
    say("capture is off: %r" % error)
user_sitecustomize()
