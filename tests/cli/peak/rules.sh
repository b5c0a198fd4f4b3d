# Rules of the user go before the shipped ones.
printf "%s\n" "# mine" "input  name streams" >rules
"$MEMTOOL" peak --rules rules -n 2 "$TESTDATA/good/streams.pickle"
printf "%s\n" "weights  name streams" >wrong
"$MEMTOOL" peak --rules wrong "$TESTDATA/good/streams.pickle"
