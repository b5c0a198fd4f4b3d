# One set of numbers: every verb prints the same bytes for the same quantity, on every file.
# Prints how many comparisons were made, and each that failed.
python3 - "$MEMTOOL" "$TESTDATA" <<'PYTHON'
import glob, json, os, re, subprocess, sys
tool, testdata = sys.argv[1:]
made, failed = 0, []


def run(*args):
    return subprocess.run([tool, *args], capture_output=True, text=True, check=True).stdout


def devices(verb, *args):
    return {d["device"]: d for d in json.loads(run(verb, "--json", *args))["devices"]}


def same(file, what, **values):
    """Every value that is known must be the same."""
    global made
    # Made by hand: traces, segments and their sums contradict each other.
    if re.search("/(inconsistent|shared_)", file) and re.search("requested|lost|at the peak|segment_plot", what):
        return
    if "/shared_trace" in file and "device 1 reserved" in what:
        return  # the trace of device 0 a second time, beside no segments
    known = {k: v for k, v in values.items() if v is not None}
    made += len(known) - 1
    if len(set(known.values())) > 1:
        failed.append(f"{os.path.basename(file)}: {what}: {known}")


def first_size(text, pattern):
    found = re.search(pattern, text)
    return found and found.group(1)


for file in sorted(glob.glob(testdata + "/good/*") + glob.glob(testdata + "/demo/*.pickle.gz")):
    stats, frag, summary = devices("stats", file), devices("frag", "-n", "0", file), devices("summary", file)
    peak, end = devices("peak", "-n", "0", file), devices("peak", "--at", "end", "-n", "0", file)
    at_peak = devices("frag", "--at", "peak", file)
    last = {}
    for line in run("trace", "--json", "-n", "0", file).splitlines():
        event = json.loads(line)
        if "alive_bytes" in event:
            last[event["device"]] = event
    stats.pop(-1, None)  # pinned host memory is not the device's
    same(file, "devices", stats=tuple(stats), frag=tuple(frag), summary=tuple(summary), peak=tuple(peak))
    for d, s in stats.items():
        f, c, p, e, t = frag[d], summary[d]["counters"], peak[d], end[d], last.get(d)
        name = f"device {d} "
        same(file, name + "allocated", stats=s["allocated_bytes"], frag=f["allocated_bytes"],
             summary=c["allocated_bytes.all.current"])
        same(file, name + "reserved", stats=s["reserved_bytes"], frag=f["reserved_bytes"], peak=e["reserved_bytes"],
             summary=c["reserved_bytes.all.current"], trace=t and t["reserved_bytes"])
        same(file, name + "requested", stats=s["requested_bytes"], peak=e["peak_requested_bytes"],
             summary=c["requested_bytes.all.current"], trace=t and t["alive_bytes"],
             rows=sum(x["bytes"] for x in e["stacks"]))
        same(file, name + "active", stats=s["active_bytes"], summary=c["active_bytes.all.current"],
             frag=f["allocated_bytes"] + f["causes"]["pending_bytes"])
        same(file, name + "split", stats=s["inactive_split_bytes"], frag=f["inactive_split_bytes"],
             summary=c["inactive_split_bytes.all.current"])
        same(file, name + "hole", stats=s["largest_free_block_bytes"], frag=f["largest_hole_bytes"])
        same(file, name + "fragmentation", stats=s["fragmentation"], frag=f["fragmentation"])
        same(file, name + "lost", frag=sum(v for k, v in f["causes"].items() if k != "rounding_bytes"),
             stats=s["reserved_bytes"] - s["allocated_bytes"])
        same(file, name + "peak", peak=p["peak_requested_bytes"], summary=c["requested_bytes.all.peak"],
             rows=sum(x["bytes"] for x in p["stacks"]), categories=sum(p["categories"].values()))
        same(file, name + "peak event", peak=p["peak_event"], frag=at_peak[d]["at_event"])
        same(file, name + "reserved at the peak", peak=p["reserved_bytes"], frag=at_peak[d]["reserved_bytes"])
        same(file, name + "ooms", stats=s["counters"]["num_ooms"], summary=c["num_ooms"])
        same(file, name + "retries", stats=s["counters"]["num_alloc_retries"], summary=c["num_alloc_retries"])
    if len(stats) == 1:
        run("trace_plot", "-f", "-o", "time.svg", file)
        run("segment_plot", "-f", "-o", "state.svg", file)
        time, state = open("time.svg").read(), open("state.svg").read()
        text = run("peak", file)
        if any(last):
            same(file, "title of trace_plot", plot=first_size(time, r">peak ([0-9.]+ \w+) "),
                 peak=first_size(text, r"Peak of device \d+: ([0-9.]+ \w+) "))
        limit = first_size(time, r"process limit \(inferred\): (at least [^<]*?)(?:, above the picture)?<")
        if limit:
            same(file, "limit", plot=limit,
                 simulate=first_size(run("simulate", file), r"limit of the process: .*\((at least [^)]*)\)") or "none")
        growth = first_size(time, r">Grows by ([0-9.]+ \w+) per step")
        if growth:
            same(file, "growth", plot=growth,
                 leaks=first_size(run("leaks", file), r"grows by ([0-9.]+ \w+) per step") or "none")
        same(file, "title of segment_plot", plot=first_size(state, r"reserved ([0-9.]+ \w+) "),
             stats=first_size(run("frag", file), r" of ([0-9.]+ \w+) reserved"))
print(f"{made if made > 500 else 'too few'} comparisons" if made <= 500 else "more than 500 comparisons")
print("\n".join(failed) if failed else "all the same")
PYTHON
