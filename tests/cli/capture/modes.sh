# SPDX-License-Identifier: MIT
# What a mode sets up for the program, told by the program itself; nothing of it is left behind.
# (--mode record loads a library into the program: tests/live/run-preload.)
for mode in torch allocator; do
    echo "--mode $mode"
    "$MEMTOOL" capture --mode $mode --max-entries 9 -o x.pickle -- sh -c 'env | grep "^MEMTOOL_CAPTURE_[MSO]\|^MEMTOOL_.*LIBRARY"' |
        sed -e "s|$(pwd -P)|HERE|g" -e 's|=/.*/libmemtool|=LIB/libmemtool|' | sort
done
"$MEMTOOL" capture --mode peer -- true
echo "exit $?"
ls
