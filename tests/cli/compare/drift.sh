# Two runs of one program, of which one keeps 2 MiB per step: by how much they drift apart, in words, JSON and by stack.
cat >run.awk <<'END'
function event(action, addr, size) {
    printf "%s{\"action\":\"%s\",\"addr\":%d,\"size\":%d,\"stream\":0,\"frames\":[{\"name\":\"%s\",\"filename\":\"train.py\",\"line\":%d}]}", n++ ? "," : "", action, addr, size, line == 9 ? "keep" : "step", line
}
function alloc(addr, size, l) { line = l; event("alloc", addr, size) }
function release(addr, size, l) { line = l; event("free_requested", addr, size); event("free_completed", addr, size) }
BEGIN {
    m = 1048576; base = 16777216
    printf "{\"segments\":[],\"device_traces\":[["
    event("segment_alloc", base, 1024 * m)
    for (i = 0; i < 10; i++) {
        alloc(base, 64 * m, 3); alloc(base + 64 * m, 32 * m, 4)
        if (kept) alloc(base + (128 + 2 * i) * m, kept * m, 9)
        release(base + 64 * m, 32 * m, 4); release(base, 64 * m, 3)
    }
    print "]]}"
}
END
awk -f run.awk >steady.json
awk -v kept=2 -f run.awk >leaks.json
"$MEMTOOL" trace_plot --ascii steady.json leaks.json | sed -n 2,6p
"$MEMTOOL" trace_plot --json steady.json leaks.json | grep -o '"parting":.*"bands"' | sed 's/,"bands".*//'
"$MEMTOOL" compare steady.json leaks.json
