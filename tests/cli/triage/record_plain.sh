# A program without PyTorch whose every allocation was watched: no setting of PyTorch, no Python.
cp "$TESTDATA/good/record_heat.pickle" heat.pickle
"$MEMTOOL" triage heat.pickle
echo
"$MEMTOOL" triage --json heat.pickle | grep -i -E 'torch|python|"(verdict|framework|mode|name|id)"'
