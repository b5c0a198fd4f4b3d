# What must be refused costs next to nothing: every file of testdata/bad by every verb that reads
# one, with 10 s of processor time and 300 MB of addresses (but for the address sanitizer). Prints
# the exit codes, and what the dearest run took.
command -v python3 >/dev/null || { cat "$0.stdout.glob" && exit; }
python3 - "$MEMTOOL" "$TESTDATA/bad" <<'PYTHON'
import collections, os, resource, sys
tool, folder = sys.argv[1:]
VERBS = """info; info -v --json; stats; peak; leaks; frag; simulate; trace; segments; memory; summary
triage; triage -v --json; ranks; check --max-peak 1GiB; convert -o out.json; convert -o out.pb.gz
trace_plot -o out.svg; trace_plot -o out.html; trace_plot --ascii; segment_plot -o out.svg
stats --salvage; peak --salvage; trace_plot --salvage -o out.svg; triage --salvage; info --salvage
leaks --salvage; frag --salvage; simulate --salvage; trace --salvage; segments --salvage
memory --salvage; summary --salvage; ranks --salvage; segment_plot --salvage
check --salvage --max-peak 1GiB; convert --salvage -o out.pickle""".replace("\n", "; ").split("; ")
codes, worst_s, worst_kib = collections.defaultdict(collections.Counter), (0, ""), (0, "")


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    if not os.environ.get("ASAN_OPTIONS"):
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))


def run(words):
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in 0, 1, 2:
            os.dup2(null, fd)
        limit()
        os.execv(tool, [tool] + words)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


for name in sorted(os.listdir(folder)):
    for verb in VERBS:
        code, seconds, kib = run(verb.split() + ["-f", os.path.join(folder, name)])
        what = f"{verb} {name}"
        codes[name][code] += 1
        worst_s, worst_kib = max(worst_s, (seconds, what)), max(worst_kib, (kib, what))
        if code not in (3, 4) or (code == 4 and "--salvage" not in verb):
            print(f"exit {code}: {what}")
    print(name + ":", ", ".join(f"{n} runs end with {c}" for c, n in sorted(codes[name].items())))
print("left behind:", ", ".join(sorted(os.listdir("."))) or "nothing")
print(f"the longest: {worst_s[0]:.3f} s, {worst_s[1]}")
print(f"the largest: {worst_kib[0] / 1024:.1f} MiB, {worst_kib[1]}")
PYTHON
