# SPDX-License-Identifier: MIT
# Names that count moments are no ranks: numbered as they come, with a note.
cp "$TESTDATA"/series/*.json .
"$MEMTOOL" ranks it*.json
