# SPDX-License-Identifier: MIT
# Every filter: what the picture's second line says under it, and that peak finds the same bytes.
# (A window keeps what is alive from before it; --live and --freed take the rest out of the curve.)
snap="$TESTDATA/good/transformer.pickle.gz"
line() { "$MEMTOOL" trace_plot --ascii "$@" "$snap" | sed -n 2p; }
bytes() { "$MEMTOOL" "$@" "$snap" | grep -o '"peak_requested_bytes":.*'; }
try() {
    printf '%-28s%s\n' "$*" "$(line "$@")"
    [ "$(bytes trace_plot --json "$@")" = "$(bytes peak --json "$@")" ] || echo "peak finds other bytes"
}
try
try --annotation "## step 3 ##"
try --frame forward
try --not-frame forward
try --stream 0
try --pool small
try --pool large
try --size 1MiB:2MiB
echo
for window in "--freed" "--live" "--events 100:200" "--time 10ms:4.61s"; do
    set -- $window
    printf '%-28s%s\n' "$window" "$(line "$@")"
done
"$MEMTOOL" trace_plot --annotation 'step 3' "$TESTDATA/good/transformer.pickle.gz" | sed -n 2p
