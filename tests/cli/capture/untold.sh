# SPDX-License-Identifier: MIT
# A snapshot that no process could tell of (it had changed its user, say) is not denied.
export PYTHONPATH="$TESTDATA/../tests/support/fake_torch"
"$MEMTOOL" capture -o run.pickle -- sh -c 'cp "$TESTDATA/good/frag_oom.pickle" run.pickle' 2>&1 | sed 's|/[^ ]*/run|run|g; s|/[^ ]*/memtool: |memtool: |'
cut_off() { sed "s#/[^ ]*/\(run\|memtool-[0-9]\)#\1#g; s#/[^ ]*/memtool: #memtool: #; s#[0-9]\{2,\}#N#g"; }
copy() { "$MEMTOOL" capture "$@" 2>&1 | cut_off; }
echo "# with -f, over one and beside older ones"
copy -f -o run.pickle -- sh -c 'rm run.pickle; cp "$TESTDATA/good/frag_oom.pickle" run.pickle'
copy -f -o run.pickle -- true
: >run-77.pickle
echo "# by the number of the process, in another folder"
copy -- sh -c 'cp "$TESTDATA/good/frag_oom.pickle" memtool-$$.pickle; cd /'
copy -o run-%p.pickle -- sh -c 'cp "$TESTDATA/good/frag_oom.pickle" run-$$.pickle; cp run-$$.pickle run-$$.exit.pickle'
copy -o run-%p.pickle -- sh -c ': >run-9.pickle.1.partial; : >run-x.pickle'
