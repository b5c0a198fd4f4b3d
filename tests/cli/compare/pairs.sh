# On every pair of neighbours the rows add up to the totals, and these are the peaks.
cd "$TESTDATA/good" && "$TESTDATA/../scripts/compare-pairs" ./*
cd "$TESTDATA/good" && BY=category "$TESTDATA/../scripts/compare-pairs" ./[a-h]*
