# Every name of the glossary is found, in any case, with blanks or hyphens; no line is too wide.
"$MEMTOOL" explain --json | grep -oE '"term":.*' | cut -d'"' -f 4 | while read -r term; do
    "$MEMTOOL" explain "$term" >out || echo "$term: exit $?"
    awk -v t="$term" 'length > 80 { print t ": " $0 }' out
    sed -n '/See also/,$p' out | sed 's/See also://' | tr ',' '\n' | while read -r other; do
        [ -z "$other" ] || "$MEMTOOL" explain "$other" >/dev/null || echo "$term sends to $other"
    done
done
for t in Reserved PENDING_FREE 'private pools' cudaMallocAsync "CUDA context" expandable_segments; do
    "$MEMTOOL" explain "$t" | head -n 1
done
"$MEMTOOL" explain pending free | head -n 1
"$MEMTOOL" explain --json fraction
"$MEMTOOL" explain resrved || echo "exit $?"
"$MEMTOOL" explain quantum || echo "exit $?"
# What reports print is explained.
for t in not_enough oversized_request no_numbers other_process non_pytorch free_exceeds_request \
    per_process_limit not_oom fragmentation leak non-releasable annotation unused pinned pins pin \
    hole hits holes hit confidence unknown fits leaks segments; do
    "$MEMTOOL" explain "$t" | head -n 1
done
"$MEMTOOL" explain odd || echo "exit $?"
