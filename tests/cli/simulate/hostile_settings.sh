# SPDX-License-Identifier: MIT
# Settings of the recording are text of the file: no control character of theirs reaches a terminal,
# and what a shell would run is no command to copy.
python3 - "$TESTDATA/good/frag_oom.pickle" <<'END'
import pickle, sys
s = pickle.load(open(sys.argv[1], "rb"))
s["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "\x1b[31m\u202e\x9b$(id):True"
pickle.dump(s, open("hostile.pickle", "wb"))
END
for verb in simulate "simulate -v" "simulate --color never --conf max_split_size_mb:200" \
    "simulate --search" info "info -v" conf triage "triage -v" stats peak frag summary; do
    "$MEMTOOL" $verb hostile.pickle >out 2>&1
    echo "$verb: $(LC_ALL=C grep -acP '[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' out) bad lines," \
        "$(grep -c 'export.*id' out) commands"
done
