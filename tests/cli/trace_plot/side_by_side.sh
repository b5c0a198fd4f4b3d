# Two files on one scale, two devices below each other.
"$MEMTOOL" trace_plot --side-by-side "$TESTDATA/good/two_devices.pickle" "$TESTDATA/good/mlp.pickle.gz" -o a.svg
grep -o "<svg [^>]*viewBox=\"[^\"]*\"" a.svg
grep -o "two_devices.pickle · device [0-9]\|mlp.pickle.gz · device [0-9]" a.svg | sort
