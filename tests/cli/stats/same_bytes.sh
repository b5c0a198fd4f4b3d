# The same quantity is the same bytes in every verb, for every kind of file.
json() { "$MEMTOOL" "$@" 2>/dev/null | tr -d '\t\n '; }
number() { grep -o "\"$1\":-\{0,1\}[0-9]*" | head -n 1 | cut -d : -f 2; } # of the first KEY
check() { # WHAT A B
    [ "$2" = "$3" ] || echo "$name: $1: $2 and $3"
}
for file in "$TESTDATA"/good/*; do
    name=${file##*/}
    case $name in protocol* | plain* | torch_save* | trailing* | page*) continue ;; esac # graphs again
    stats=$(json stats --json --device 0 "$file")
    case $stats in *'"devices":[]'*) continue ;; esac
    reserved=$(echo "$stats" | number reserved_bytes)
    allocated=$(echo "$stats" | number allocated_bytes)
    active=$(echo "$stats" | number active_bytes)
    requested=$(echo "$stats" | number requested_bytes)
    largest=$(echo "$stats" | number largest_free_block_bytes)

    memory=$(json memory --json -n 0 --device 0 "$file")
    if [ "$reserved" != 0 ]; then # a device without segments is none of memory's
        check "memory, active" "$active" "$(echo "$memory" | number active_bytes)"
        check "memory, sum of stacks" "$active" "$(echo "$memory" | number shown_bytes)"
        check "memory, reserved" "$reserved" "$(echo "$memory" | number reserved_bytes)"
    fi

    segments=$(json segments --json -n 1 --device 0 "$file" | sed 's/.*\],"reserved/"reserved/')
    check "segments, reserved" "$reserved" "$(echo "$segments" | number reserved_bytes)"
    check "segments, allocated" "$allocated" "$(echo "$segments" | number allocated_bytes)"

    info=$(json info --json "$file" | sed 's/.*"device":0,//')
    check "info, reserved" "$reserved" "$(echo "$info" | number reserved_bytes)"
    check "info, allocated" "$allocated" "$(echo "$info" | number allocated_bytes)"

    check "compare" "$active" "$(json compare --at end --json -n 1 --device 0 "$file" "$file" | number after_bytes)"

    case $name in inconsistent.pickle) continue ;; esac # its events and its blocks disagree
    frag=$(json frag --json --device 0 "$file")
    check "frag, reserved" "$reserved" "$(echo "$frag" | number reserved_bytes)"
    check "frag, allocated" "$allocated" "$(echo "$frag" | number allocated_bytes)"
    check "frag, largest hole" "$largest" "$(echo "$frag" | number largest_hole_bytes)"

    trace=$("$MEMTOOL" trace --json --device 0 "$file" | tail -n 1)
    case $trace in *alive_bytes*)
        check "trace, alive at the end" "$requested" "$(echo "$trace" | number alive_bytes)"
        check "trace, reserved at the end" "$reserved" "$(echo "$trace" | number reserved_bytes)"
        ;;
    esac
    summary=$(json summary --json "$file")
    check "summary, reserved" "$reserved" "$(echo "$summary" | number 'reserved_bytes.all.current')"
    check "summary, allocated" "$allocated" "$(echo "$summary" | number 'allocated_bytes.all.current')"
    at_end=$(json peak --json --at end --device 0 "$file")
    check "peak --at end" "$requested" "$(echo "$at_end" | number peak_requested_bytes)"
done
echo "all compared"
