# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate --conf expandable_segments:True --csv "$TESTDATA/good/two_devices.pickle"
"$MEMTOOL" simulate --no-what-if --device 1 --csv "$TESTDATA/good/two_devices.pickle"
