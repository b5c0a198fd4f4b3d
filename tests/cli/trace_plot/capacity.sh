# SPDX-License-Identifier: MIT
# The line of what there is: given, the sum that the refusal tells, or a limit of the process, which
# no file names and which the picture calls inferred; off the scale it is told in words.
try() {
    echo "$*: $("$MEMTOOL" trace_plot "$@" -o - | tr '<>' '\n\n' | grep 'capacity\|free at the OOM\|process limit' | sed 's/.* · //')"
}
cp "$TESTDATA/good/frag_oom.pickle" "$TESTDATA/good/true_oom.pickle" "$TESTDATA/good/graphs.pickle" .
try frag_oom.pickle
try true_oom.pickle
try graphs.pickle
try frag_oom.pickle --capacity 2GiB
try frag_oom.pickle --capacity 80GiB
try true_oom.pickle --capacity 140GiB
try frag_oom.pickle --width 500 --height 400
try --side-by-side frag_oom.pickle true_oom.pickle
try frag_oom.pickle true_oom.pickle --capacity 140GiB
