# An evaluation behind the training of a step, and before it: marked, and shown by phase.
cd "$TESTDATA/programs" && for name in evaluation evaluation_first; do "$MEMTOOL" steps $name.json.gz | sed -n '1p; /^STEP/,/^$/p'; done
