# SPDX-License-Identifier: MIT
"""A second reader of snapshots, which shares no code with memtool: plain sums over what the file says.

It is slow and short on purpose. What memtool works out with care (steps, categories, replays) is not done
here; what any reader can count is.
"""
import gzip
import io
import json
import pickle
import zipfile

LIVE = ("active_allocated",)
BUSY = ("active_allocated", "active_pending_free", "active_awaiting_free")


class _Plain(pickle.Unpickler):
    """Builds lists, dicts, numbers and texts alone: a snapshot holds nothing else."""

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(path):
    """The object in the file, or None where it is not a pickle, gzip, zip or JSON of a snapshot."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        if data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(data)) as z:
                data = z.read(next(n for n in z.namelist() if n.endswith("data.pkl")))
        if data.lstrip()[:1] in (b"{", b"["):
            found = json.loads(data)
        else:
            found = _Plain(io.BytesIO(data)).load()
    except Exception:  # a damaged file, or another kind: nothing to compare with
        return None
    if isinstance(found, list):
        found = {"segments": found, "device_traces": []}
    whole = isinstance(found, dict) and isinstance(found.get("segments"), list) \
        and isinstance(found.get("device_traces", []), list)
    return found if whole and _plain(found) else None


def _plain(found):
    """Is everything that is added up here a number or a list where one belongs? Odd files are others' tests."""
    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < 2**63
    for s in found["segments"]:
        if not (isinstance(s, dict) and count(s.get("device", 0)) and count(s.get("total_size"))
                and isinstance(s.get("blocks"), list) and isinstance(s.get("segment_pool_id", ()), (list, tuple))):
            return False
        if not all(isinstance(b, dict) and count(b.get("size")) and count(b.get("requested_size", 0))
                   and b.get("state") in BUSY + ("inactive",) for b in s["blocks"]):
            return False
    return all(isinstance(t, list) and all(isinstance(e, dict) and isinstance(e.get("action"), str)
                                           and count(e.get("size", 0)) for e in t)
               for t in found.get("device_traces") or [])


class Device:
    """One device of a file: sums of its segments and blocks, and its trace."""

    def __init__(self, number, segments, trace):
        self.number, self.segments, self.trace = number, segments, trace
        blocks = [b for s in segments for b in s["blocks"]]
        self.reserved = sum(s["total_size"] for s in segments)
        self.allocated = sum(b["size"] for b in blocks if b["state"] in LIVE)
        self.active = sum(b["size"] for b in blocks if b["state"] in BUSY)
        self.requested = sum(b.get("requested_size", b["size"]) for b in blocks if b["state"] in LIVE)
        self.in_use = sum(b["state"] in LIVE for b in blocks)
        self.busy = sum(b["state"] in BUSY for b in blocks)
        self.pending = sum(b.get("requested_size", b["size"]) for b in blocks if b["state"] in BUSY)
        self.free = sum(b["size"] for b in blocks if b["state"] not in BUSY)
        self.largest_free = max((b["size"] for b in blocks if b["state"] not in BUSY), default=0)
        # a segment whose blocks are all free goes back to the driver; the free part of any other does not, nor
        # does what a private pool holds
        self.releasable = sum(s["total_size"] for s in segments if all(b["state"] not in BUSY for b in s["blocks"])
                              and not any(s.get("segment_pool_id", ())))
        self.actions = {}
        for e in trace:
            self.actions[e["action"]] = self.actions.get(e["action"], 0) + 1

    def count(self, *actions):
        return sum(self.actions.get(a, 0) for a in actions)

    def at_oom(self):
        return [e for e in self.trace if e["action"] == "oom"]

    def agrees(self):
        """Is each allocation of the trace that was not freed a block in use at the end?"""
        alive = {}
        for e in self.trace:
            if e["action"] == "alloc":
                alive[e["addr"]] = e["size"]
            elif e["action"] == "free_completed":
                alive.pop(e["addr"], None)
        used = {b.get("address") for s in self.segments for b in s["blocks"] if b["state"] in BUSY}
        return None in used or alive.keys() <= used

    def peak(self):
        """(bytes, allocations) at the fullest moment of the trace, walked from its end backwards; None where
        the trace and the blocks at the end contradict each other."""
        if not self.trace or not self.agrees():
            return None
        blocks = [b for s in self.segments for b in s["blocks"] if b["state"] in BUSY]
        size = sum(b.get("requested_size", b["size"]) for b in blocks)
        count = len(blocks)
        best = (size, count)
        for e in reversed(self.trace):
            if e["action"] == "alloc":
                size, count = size - e["size"], count - 1
            elif e["action"] == "free_completed":
                size, count = size + e["size"], count + 1
            if size < 0 or count < 0:
                return None
            best = max(best, (size, count))
        return best

    def reserved_peak(self):
        size = best = self.reserved
        for e in reversed(self.trace):
            if e["action"] in ("segment_alloc", "segment_map"):
                size -= e["size"]
            elif e["action"] in ("segment_free", "segment_unmap"):
                size += e["size"]
            best = max(best, size)
        return best


def devices(found):
    """The devices of a file that hold a segment or an event, by number."""
    traces = found.get("device_traces") or []
    numbers = {s.get("device", 0) for s in found["segments"]} | {i for i, t in enumerate(traces) if t}
    return {n: Device(n, [s for s in found["segments"] if s.get("device", 0) == n],
                      traces[n] if isinstance(n, int) and 0 <= n < len(traces) else [])
            for n in sorted(numbers)}
