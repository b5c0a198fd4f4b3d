# SPDX-License-Identifier: MIT
# A name that no snapshot can have is refused before the program runs.
here=$(pwd -P)
try() {
    echo "-o $1"
    "$MEMTOOL" capture -o "$@" -- sh -c 'echo it ran' 2>&1 | sed "s|$here|HERE|g"
}
try nope/x.pickle
try /nope/x-%p.pickle
try nope/run-%r/x.pickle
try -
try x.json
try x.pickle.gz
try 'x-%z.pickle'
try 'x-100%'
try ''
mkdir folder
: >file
try folder -f
try file/x.pickle
try /dev/null -f
: >'100%.pickle'
try '100%%.pickle'
try "$(printf '%01001d' 0)"
echo "of a report:"
for option in --json --csv -n5 --exact --salvage; do
    "$MEMTOOL" capture $option -- true 2>&1 | head -1
    "$MEMTOOL" completion $option bash 2>&1 | head -1
done
"$MEMTOOL" --json capture -- true
echo "exit $?"
"$MEMTOOL" capture -o nope/x.pickle -- true 2>/dev/null
echo "exit $?"
"$MEMTOOL" capture -o x.json -- true 2>/dev/null
echo "exit $?"
echo "too long, once it has all its numbers:"
long() { try "$1" 2>&1 | sed 's/0\{50,\}/0.../g' | cut -c 1-230; }
long "$(printf '%0224d' 0).pickle"
long "$(printf '%0225d' 0).pickle"
long "$(printf '%0218d' 0)%p.pickle"
long "$(printf '%0300d' 0).pickle"
folders=$(printf '%0200d' 0)
mkdir -p "$folders/$folders/$folders/$folders"
long "$folders/$folders/$folders/$folders/$(printf '%0190d' 0)" | sed 's/become [0-9]*/become N/'
