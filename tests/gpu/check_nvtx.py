# SPDX-License-Identifier: MIT
"""The part nvtx of check_gpu.py: the ranges of a program by NVTX, its pinned memory, and what a
snapshot of mode record says of the card as a whole."""
import os
import pickle
import sys
from collections import Counter

import check_capture

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = [sys.executable, os.path.join(HERE, "nvtx_train.py")]


def ranges(check, run, snapshot, mode):
    """Every range begins and ends as often as the program says."""
    steps = run.json()["steps"]
    seen = Counter((a["stage"], a["name"]) for a in snapshot["external_annotations"])
    wanted = {"whole run": 1, "forward \u2192": steps, "backward": steps, "done": 1, "loader": 1}
    wanted.update({f"step {i}": 1 for i in range(steps)})
    wrong = {name: [seen["START", name], seen["END", name]] for name, n in wanted.items()
             if [seen["START", name], seen["END", name]] != [n, n]}
    others = len({name for _, name in seen} - set(wanted))
    check.line(not wrong, f"{mode}, ranges by NVTX",
               f"{len(wanted)} names, {others} more of libraries" + (f", wrong: {wrong}" if wrong else ""))


def pinned(check, run, snapshot):
    host = snapshot["memtool"].get("host", {})
    held = sum(s["total_size"] for s in snapshot.get("host_segments", []))
    check.line(held == host.get("seen_bytes") and host["seen_peak_bytes"] >= run.json()["pinned"],
               "record, pinned memory", f"{held >> 20} MiB, at most {host.get('seen_peak_bytes', 0) >> 20} MiB")


def card(check, snapshot):
    """Of what the device has less of than at the start, what is explained. Less than elsewhere: the
    driver gives room for the stacks of NCCL's kernels when they first run, which no call tells."""
    device = snapshot["memtool"]["devices"][0]
    if "free_dump_bytes" not in device or "free_start_bytes" not in device:
        check.line(False, "record, the card", str({k: v for k, v in device.items() if k != "libraries"}))
        return
    gone = device["free_start_bytes"] - device["free_dump_bytes"]
    pools = device.get("pool_reserved_bytes", 0) - device.get("pool_used_bytes", 0)
    explained = device["seen_bytes"] + device.get("code_bytes", 0) + pools
    share = explained / gone if gone else 0
    context = device.get("free_before_context_bytes", 0) - device["free_start_bytes"]
    libraries = ", ".join(f"{os.path.basename(x['library'])} {x['current_bytes'] >> 20}"
                          f"+{x.get('code_bytes', 0) >> 20}" for x in device["libraries"][:8])
    check.line(0.90 <= share <= 1.05, "record, the card",
               f"{explained >> 20} of {gone >> 20} MiB, {100 * share:.2f} %, context {context >> 20} MiB; "
               f"memory+code in MiB: {libraries}; doors {snapshot['memtool']['doors']}")


def all(check):
    if not check.memtool:
        check.line(False, "nvtx", "there is no memtool: MEMTOOL_BIN names it")
        return
    for mode in ("record", "cache", "allocator"):
        run = check_capture.Run(check, f"{mode}, nvtx", mode, TRAIN)
        path = run.path("snap.pickle")
        if run.code != 0 or not os.path.exists(path):
            check.line(False, f"{mode}, nvtx", f"exit {run.code}: {run.tail()}")
            continue
        with open(path, "rb") as f:
            snapshot = pickle.load(f)
        ranges(check, run, snapshot, mode)
        if mode == "record":
            pinned(check, run, snapshot)
            card(check, snapshot)
