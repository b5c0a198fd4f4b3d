# SPDX-License-Identifier: MIT
"""Runs inside a process that memtool capture --pid has reached, and leaves it as it was.

memtool writes SETTINGS in front of this text; `page` is the memory in which the line lay that began
it, if any. What came of it is told in the files of a folder that memtool made and removes; when the
folder goes, whatever still runs here ends. Nothing here may raise into the program, import a module
that it has not got, or keep a reference to anything of it.
"""


def main(settings, page):
    import os
    import sys
    import time

    folder = settings["folder"]

    def tell(name, text):
        try:
            path = os.path.join(folder, name)
            with open(path + ".part", "w") as f:
                f.write(text)
            os.rename(path + ".part", path)
        except Exception:
            pass  # memtool is gone

    def give_page_back():
        ctypes = sys.modules.get("ctypes")
        if page and ctypes:
            unmap = ctypes.CDLL(None).munmap
            unmap(ctypes.c_void_p(page), ctypes.c_size_t(4096))

    def torch_of():
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "cuda"):
            raise Refusal("no-torch")
        begun = getattr(torch.cuda, "is_initialized", None)
        if begun is not None and not begun():
            raise Refusal("no-cuda")
        return torch

    class Refusal(Exception):
        pass

    def recording(torch, snapshot=None):
        """Whether PyTorch records already; it says so itself, or by the events that it has."""
        ask = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        if ask is not None:
            return bool(ask())
        if snapshot is None:
            snapshot = torch.cuda.memory._snapshot()
        return any(snapshot.get("device_traces") or [])

    def switch_on(torch):
        """Annotations of all threads: those of one thread could not be switched off from another."""
        record = torch.cuda.memory._record_memory_history
        now = {"max_entries": settings["entries"], "stacks": settings["stacks"]}
        for words in (dict(now, global_record_annotations=True), now):
            try:
                return record(**words)
            except TypeError:
                pass  # an older PyTorch
        record(True, trace_alloc_max_entries=settings["entries"], trace_alloc_record_context=True)

    def switch_off(torch):
        try:
            torch.cuda.memory._record_memory_history(enabled=None)
        except TypeError:
            torch.cuda.memory._record_memory_history(False)

    def dump(torch, before=None):
        """The snapshot in the folder; with the tensors, which live on until it is made."""
        import pickle

        began = time.perf_counter()
        found = kept = None
        switch = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)  # tensors and blocks are of one moment
        try:
            if settings["tensors"]:
                found, kept = live_tensors(torch)
            snapshot = torch.cuda.memory._snapshot()
        finally:
            kept = None
            sys.setswitchinterval(switch)
        if before is not None:
            before()
        if found is not None:
            snapshot["memtool_tensors"] = found
        stopped = time.perf_counter() - began
        with open(os.path.join(folder, "snapshot.pickle"), "wb") as f:
            pickle.dump(snapshot, f, 4)
        return "tensors %d\nstopped_ms %.1f\n" % (len(found or []), 1000 * stopped)

    def now():
        torch = torch_of()
        tell("result", "ok\nrecording %d\n%s" % (recording(torch), dump(torch)))

    def for_a_while():
        import threading

        torch = torch_of()
        was_on = recording(torch)
        enough = threading.Event()
        steps = Steps(enough) if settings["steps"] else None
        if not was_on:
            switch_on(torch)
        tell("recording", "%d" % was_on)

        def off():
            if steps is not None:
                steps.end()
            if not was_on:
                switch_off(torch)

        def watch():
            done = False
            try:
                end = time.monotonic() + settings["seconds"]
                if steps is not None:
                    steps.begin()
                while time.monotonic() < end and os.path.isdir(folder) and not enough.wait(0.05):
                    pass
                text = ""
                if os.path.isdir(folder):
                    done = True
                    text = dump(torch, off)
                    tell("result", "ok\nrecording %d\nsteps %d\n%s" % (was_on, steps.n if steps else 0, text))
            except Exception as error:
                tell("result", "failed\n%r" % error)
            finally:
                if not done:
                    off()

        threading.Thread(target=watch, name="memtool-attach", daemon=True).start()

    class Steps:
        """Counts the optimizers' steps."""

        def __init__(self, enough):
            # torch.optim deletes its own name of this module
            self.module = sys.modules.get("torch.optim.optimizer")
            self.enough, self.n, self.hook = enough, 0, None
            if not hasattr(self.module, "register_optimizer_step_post_hook"):
                raise Refusal("no-steps")

        def begin(self):
            self.hook = self.between_steps(
                lambda: self.module.register_optimizer_step_post_hook(self.after_step))

        def end(self):
            if self.hook is not None:
                self.between_steps(self.hook.remove)

        def after_step(self, *ignored):
            self.n += 1
            if self.n >= settings["steps"]:
                self.enough.set()

        def between_steps(self, act):
            """If one comes in two seconds: PyTorch fails where its hooks change while it calls them."""
            switch = sys.getswitchinterval()
            for tries in range(1000):
                sys.setswitchinterval(1000.0)  # nobody else runs from the look to the act
                try:
                    if tries == 999 or not self.in_a_step():
                        return act()
                finally:
                    sys.setswitchinterval(switch)
                time.sleep(0.002)

        def in_a_step(self):
            code = getattr(self.module, "__file__", None)
            for frame in list(sys._current_frames().values()):
                while frame is not None:
                    if frame.f_code.co_filename == code:
                        return True
                    frame = frame.f_back
            return False

    # ---- tensors ----

    def live_tensors(torch):
        """A dictionary a storage on the card, and the tensors themselves."""
        import gc

        Tensor = getattr(torch, "Tensor")
        objects = gc.get_objects()
        tensors = [o for o in objects if issubclass(type(o), Tensor) and on_card(o)]
        storages = {}
        for t in tensors:
            place = place_of(t)
            if place:
                storages.setdefault(place, []).append(t)
        names = Names(torch, objects)
        keepers = Keepers(objects, [t for t in tensors if id(t) not in names.of], gc)
        graphs = graph_storages(torch, objects, storages, keepers)
        out = [describe(place, group, names, keepers) for place, group in storages.items()]
        out.extend(graphs)
        return out, tensors

    def on_card(t):
        try:
            return bool(t.is_cuda)
        except Exception:
            return False

    def place_of(t):
        """(device, address, bytes) of the storage."""
        try:
            storage = t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage()
            address = storage.data_ptr()
            return (t.device.index or 0, address, storage.nbytes()) if address else None
        except Exception:
            return None  # a fake or functional tensor has no memory

    def describe(place, group, names, keepers):
        known = [t for t in group if id(t) in names.of]
        t = known[0] if known else max(group, key=lambda x: x.numel())
        kind, name = names.of.get(id(t), ("tensor", None))
        row = {"device": place[0], "address": place[1], "bytes": place[2], "kind": kind,
               "shape": str(list(t.shape)), "dtype": str(t.dtype).replace("torch.", "")}
        if name is None:
            name = keepers.name(t, [x for x in group if x is not t])
        row["name"] = name or "a tensor %s %s" % (row["shape"], row["dtype"])
        return row

    class Names:
        """Parameters, buffers, gradients and the optimizer's state, by id: (kind, name)."""

        def __init__(self, torch, objects):
            self.of = {}
            Module = getattr(getattr(torch, "nn", None), "Module", None)
            Optimizer = getattr(getattr(torch, "optim", None), "Optimizer", None)
            modules = [o for o in objects if Module and issubclass(type(o), Module)]
            inner = set()
            for m in modules:
                for child in (m.__dict__.get("_modules") or {}).values():
                    inner.add(id(child))
            for m in modules:
                if id(m) not in inner:
                    self.walk(m)
            for o in objects:
                if Optimizer and issubclass(type(o), Optimizer):
                    self.optimizer(o)

        def walk(self, root):
            todo, seen = [("", root)], set()
            while todo:
                prefix, m = todo.pop()
                if m is None or id(m) in seen:
                    continue
                seen.add(id(m))
                state = m.__dict__
                for key, t in list((state.get("_parameters") or {}).items()):
                    self.parameter(prefix + key, t)
                for key, t in list((state.get("_buffers") or {}).items()):
                    self.put(t, "buffer", prefix + key)
                for key, child in list((state.get("_modules") or {}).items()):
                    todo.append((prefix + key + ".", child))

        def put(self, t, kind, name):
            if t is not None:
                self.of.setdefault(id(t), (kind, name))
                part = getattr(t, "_local_tensor", None)  # of a DTensor
                if part is not None:
                    self.of.setdefault(id(part), (kind, name))

        def parameter(self, name, t):
            if t is None:
                return
            self.put(t, "parameter", name)
            grad = getattr(t, "grad", None) if getattr(t, "is_leaf", False) else None
            if grad is not None:
                self.put(grad, "gradient", "gradient of " + name)

        def optimizer(self, o):
            for parameter, state in list(getattr(o, "state", {}).items()):
                name = self.of.get(id(parameter), (None, "a parameter"))[1]
                for key, t in list(state.items()) if isinstance(state, dict) else []:
                    self.put(t, "optimizer", "%s %s of %s" % (type(o).__name__, key, name))

    class Keepers:
        """Who refers to what: containers, attributes, globals and the locals of running functions."""

        DEPTH = 6

        def __init__(self, objects, tensors, gc):
            self.gc = gc
            self.own = {id(objects), id(tensors)}
            self.modules = {id(m.__dict__): n for n, m in list(sys.modules.items())
                            if hasattr(m, "__dict__") and type(m) is type(sys)}
            self.frames = self.running()
            self.above = {}
            wanted = {id(t) for t in tensors}
            for _ in range(self.DEPTH):
                if not wanted:
                    break
                wanted = self.look(objects, wanted)

        def running(self):
            """The frames of all threads but memtool's own, as (frame, text)."""
            frames = []
            for frame in sys._current_frames().values():
                while frame is not None:
                    if frame.f_code.co_filename != "memtool":
                        frames.append(frame)
                    frame = frame.f_back
            return frames

        def look(self, objects, wanted):
            """Puts down who refers to those; returns the referrers that are to be asked for next."""
            more = set()
            referents = self.gc.get_referents
            for o in objects:
                if id(o) in self.own or type(o).__name__ == "frame":
                    continue
                for r in referents(o):
                    if id(r) in wanted:
                        self.put(r, o, more)
            for frame in self.frames:
                if frame.f_code.co_name == "<module>":
                    continue
                for r in referents(frame):
                    if id(r) in wanted:
                        self.above.setdefault(id(r), []).append(frame)
            return more - set(self.above)

        def put(self, r, o, more):
            known = self.above.setdefault(id(r), [])
            if len(known) < 4:
                known.append(o)
                if id(o) not in self.modules:
                    more.add(id(o))

        def name(self, t, others=()):
            """"losses[]" or "Trainer.history[]", or None."""
            best = None
            for start in (t,) + tuple(others)[:3]:
                path = self.path(start, "", 0, set())
                if path and (best is None or len(path) < len(best)):
                    best = path
            return best

        def path(self, o, behind, depth, seen):
            if depth > self.DEPTH or id(o) in seen:
                return None
            seen.add(id(o))
            found = []
            for holder in self.above.get(id(o), []):
                text = self.step(holder, o, behind, depth, seen)
                if text:
                    found.append(text)
            return min(found, key=lambda text: (text.startswith("local "), len(text))) if found else None

        def step(self, holder, o, behind, depth, seen):
            kind = type(holder)
            if kind.__name__ == "frame":
                return "local %sin %s (%s:%d)%s" % (
                    self.local(holder, o), holder.f_code.co_name,
                    os.path.basename(holder.f_code.co_filename), holder.f_lineno,
                    " " + behind if behind else "")
            if id(holder) in self.modules:
                key = self.key(holder, o)
                module = self.modules[id(holder)]
                return ("%s%s" % (key, behind) if module == "__main__" else
                        "%s.%s%s" % (module, key, behind)) if key else None
            if issubclass(kind, dict):
                owner = self.owner(holder)
                key = self.key(holder, o)
                if owner is not None and key:
                    return self.attribute(owner, "." + key + behind, depth, seen)
                text = "[%r]" % key if key and len(key) <= 24 and not key.isdigit() else "[]"
                return self.path(holder, text + behind, depth + 1, seen)
            if kind.__name__ == "cell":
                return self.path(holder, behind, depth + 1, seen)
            if issubclass(kind, (list, tuple, set, frozenset)) or kind.__name__ == "deque":
                return self.path(holder, "[]" + behind, depth + 1, seen)
            if kind.__name__ == "function":
                return "closure of %s%s" % (getattr(holder, "__qualname__", "?"), behind)
            key = self.slot(holder, o)
            return self.attribute(holder, "." + key + behind, depth, seen) if key else None

        @staticmethod
        def attribute(owner, rest, depth, seen):
            return type(owner).__name__ + rest

        @staticmethod
        def key(dictionary, o):
            for key, value in list(dictionary.items()):
                if value is o and isinstance(key, str):
                    return key
            return None

        def owner(self, dictionary):
            """The object whose __dict__ it is."""
            for holder in self.above.get(id(dictionary), []):
                if getattr(type(holder), "__dictoffset__", 0) and not issubclass(type(holder), dict):
                    try:
                        if object.__getattribute__(holder, "__dict__") is dictionary:
                            return holder
                    except Exception:
                        pass
            return None

        @staticmethod
        def slot(holder, o):
            try:
                inside = object.__getattribute__(holder, "__dict__")
            except Exception:
                inside = {}
            for key, value in list(inside.items()):
                if value is o and isinstance(key, str):
                    return key
            for base in type(holder).__mro__:
                slots = base.__dict__.get("__slots__", ())
                for key in (slots,) if isinstance(slots, str) else tuple(slots):
                    try:
                        if object.__getattribute__(holder, key) is o:
                            return key
                    except Exception:
                        pass
            return None

        @staticmethod
        def local(frame, o):
            """The name of a local variable, where Python can tell it without keeping the values."""
            if sys.version_info >= (3, 13):
                for key, value in frame.f_locals.items():
                    if value is o:
                        return key + " "
            elif sys.version_info >= (3, 12) and "ctypes" in sys.modules:
                api = sys.modules["ctypes"].pythonapi
                object_ = sys.modules["ctypes"].py_object
                get = api["PyFrame_GetVar"]
                get.restype = object_
                get.argtypes = [object_, object_]
                for key in frame.f_code.co_varnames + frame.f_code.co_cellvars:
                    try:
                        if get(frame, key) is o:
                            return key + " "
                    except Exception:
                        pass  # not set at the moment
            return ""

    def graph_storages(torch, objects, storages, keepers):
        """What autograd keeps for tensors that Python keeps: saved tensors of their graphs.

        Not where saved tensors are packed away and unpacking them would compute: checkpointing."""
        if any(type(o).__name__ in ("_CheckpointFrame", "_Holder") for o in objects
               if type(o).__module__ == "torch.utils.checkpoint"):
            return []
        out, seen, fields = [], set(), {}
        for group in list(storages.values()):
            for t in group:
                fn = getattr(t, "grad_fn", None)
                name = keepers.name(t) if fn is not None else None
                if not name or name.startswith("local "):
                    continue
                for saved in saved_below(fn, seen, fields):
                    place = place_of(saved)
                    if place and place not in storages:
                        storages_row = {"device": place[0], "address": place[1], "bytes": place[2],
                                        "kind": "graph", "shape": str(list(saved.shape)),
                                        "dtype": str(saved.dtype).replace("torch.", ""),
                                        "name": "graph of " + name}
                        out.append(storages_row)
        return unique(out)

    def unique(rows):
        return list({(r["device"], r["address"]): r for r in rows}.values())

    def saved_below(fn, seen, fields):
        todo = [fn]
        while todo and len(seen) < 200000:
            fn = todo.pop()
            if fn is None or fn in seen:
                continue
            seen.add(fn)
            todo.extend(next_ for next_, _ in fn.next_functions)
            kind = type(fn)
            if kind not in fields:
                fields[kind] = [a for a in dir(kind) if a.startswith("_saved_")]
            for field in fields[kind]:
                try:
                    value = getattr(fn, field)
                except Exception:
                    continue  # freed, or changed since
                for v in value if isinstance(value, (list, tuple)) else (value,):
                    if hasattr(v, "is_cuda") and on_card(v):
                        yield v

    tell("begun", "")
    try:
        give_page_back()
        if settings["action"] == "now":
            now()
        else:
            for_a_while()
    except Refusal as refusal:
        tell("result", "refused\n%s" % refusal)
    except BaseException as error:
        tell("result", "failed\n%r" % error)


main(SETTINGS, globals().get("page", 0))  # noqa: F821
