# SPDX-License-Identifier: MIT
# Who wrote it, and only what is known of that.
cd "$TESTDATA/good" || exit 1
for f in no_allocator_settings xpu_shape backward_thread48 empty; do
    "$MEMTOOL" info $f.pickle | sed -n 3p
done
"$MEMTOOL" info xpu_shape.pickle | grep settings
"$MEMTOOL" info --json no_allocator_settings.pickle | grep -e era -e capture_mode
"$MEMTOOL" stats no_allocator_settings.pickle | grep -c 'holds the card'
exit 0
