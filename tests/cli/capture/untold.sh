# SPDX-License-Identifier: MIT
# A snapshot that no process could tell of (it had changed its user, say) is not denied.
export PYTHONPATH="$TESTDATA/../tests/support/fake_torch"
"$MEMTOOL" capture -o run.pickle -- sh -c 'cp "$TESTDATA/good/frag_oom.pickle" run.pickle' 2>&1 | sed 's|/[^ ]*/run|run|g; s|/[^ ]*/memtool: |memtool: |'
