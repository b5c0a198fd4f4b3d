# On every pair of neighbours the rows add up to the totals, and these are the peaks, or what was in use at another moment.
cd "$TESTDATA/good" && "$TESTDATA/../scripts/compare-pairs" ./*
cd "$TESTDATA/good" && BY=category "$TESTDATA/../scripts/compare-pairs" ./[a-h]*
cd "$TESTDATA/good" && AT=oom "$TESTDATA/../scripts/compare-pairs" ./*oom*
cd "$TESTDATA/ranks" && AT=step:1 "$TESTDATA/../scripts/compare-pairs" ./*
