# SPDX-License-Identifier: MIT
# What the examples of a short help use stands among its options.
"$MEMTOOL" --help | sed -n 's/^  \([a-z][a-z_]*\)  .*/\1/p' >verbs
[ "$(wc -l <verbs)" -gt 15 ] || echo "too few verbs"
while read -r verb; do
    "$MEMTOOL" "$verb" -h >help || continue
    sed '/^Examples:/,$d' help >options
    sed -n '/^Examples:/,$p' help | grep -oE -- "memtool $verb .*" | grep -oE -- ' --?[a-z][a-z-]*' | sort -u |
        while read -r option; do
            [ "$option" != --nproc-per-node ] || continue # of the program that capture starts
            grep -qE -- "(^|[ ,])$option([ ,]|\$)" options || echo "$verb: $option"
        done
done <verbs
echo "all verbs"
