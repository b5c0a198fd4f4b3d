# SPDX-License-Identifier: MIT
"""Runs inside a process that memtool top watches: a thread that writes figures of PyTorch's allocator
into a folder of memtool's, and ends when the folder goes. SETTINGS and `page` as for capture --pid."""


def main(settings, page):
    import os
    import sys
    import threading
    import time

    folder, interval = settings["folder"], settings["interval"]
    SHARE = 1000  # the list of blocks is looked at for at most a thousandth of the time
    LOOKS = 8  # at what is live, in an interval

    def tell(name, text):
        path = os.path.join(folder, name)
        with open(path + ".part", "w") as f:
            f.write(text)
        os.rename(path + ".part", path)

    ctypes = sys.modules.get("ctypes")
    if page and ctypes:
        ctypes.CDLL(None).munmap(ctypes.c_void_p(page), ctypes.c_size_t(4096))
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return tell("result", "refused\nno-torch")
    cuda = torch.cuda
    if not cuda.is_initialized():
        return tell("result", "refused\nno-cuda")

    def figures(device):
        s = cuda.memory_stats_as_nested_dict(device)

        def all_of(name, what):
            return s.get(name, {}).get("all", {}).get(what, 0)

        calls = s.get("num_device_alloc", 0) + s.get("num_device_free", 0)
        if "num_device_alloc" not in s:
            calls = all_of("segment", "allocated") + all_of("segment", "freed")
        return {"live": all_of("allocated_bytes", "current"), "reserved": all_of("reserved_bytes", "current"),
                "requests": all_of("allocation", "allocated"), "calls": calls,
                "misses": s.get("num_device_alloc", all_of("segment", "allocated")),
                "retries": s.get("num_alloc_retries", 0), "ooms": s.get("num_ooms", 0)}

    def largest_holes():
        holes = {}
        for segment in cuda.memory.memory_snapshot():
            free = [b["size"] for b in segment["blocks"] if b["state"] == "inactive"]
            device = segment.get("device", 0)
            holes[device] = max([holes.get(device, 0)] + free)
        return holes

    def card(device):
        try:
            p = cuda.get_device_properties(device)
            return str(getattr(p, "uuid", "-")), p.name
        except Exception:
            return "-", "?"

    def watch():
        holes, again = {}, 0.0
        names = {}
        try:
            while os.path.isdir(folder):
                lows = {}
                for _ in range(LOOKS):
                    for d in range(cuda.device_count()):
                        f = figures(d)
                        if f["reserved"] or f["requests"]:
                            lows[d] = min(lows.get(d, f["live"]), f["live"])
                    time.sleep(interval / LOOKS)
                if time.monotonic() >= again:
                    began = time.monotonic()
                    holes = largest_holes()
                    again = time.monotonic() + SHARE * (time.monotonic() - began)
                text = ""
                for d, low in lows.items():
                    f = figures(d)
                    free, total = cuda.mem_get_info(d)
                    uuid, name = names.setdefault(d, card(d))
                    text += "%d %d %d %d %d %d %d %d %d %d %d %d %d %s %s\n" % (
                        d, time.time_ns() // 1000, f["live"], low, f["reserved"], f["requests"], f["calls"],
                        f["misses"], f["retries"], f["ooms"], holes.get(d, 0), free, total, uuid, name)
                tell("stats", text)
        except Exception as error:
            try:
                tell("result", "failed\n%r" % error)
            except Exception:
                pass

    threading.Thread(target=watch, name="memtool-top", daemon=True).start()


main(SETTINGS, globals().get("page", 0))  # noqa: F821
