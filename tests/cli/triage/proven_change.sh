# SPDX-License-Identifier: MIT
# A change of the program that serves the request when the recording is replayed with it is a step, once.
cd "$TESTDATA/simulate" || exit
"$MEMTOOL" -q triage -v lm_oom.pickle.gz | grep -A 3 'these changes\|Change the program'
"$MEMTOOL" triage --json lm_oom.pickle.gz | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["snapshots"][0]["changes"])
print([a["id"] for a in d["advice"] if a["applies"]].count("proven_change"))'
# what the last step keeps goes with its calls, but for the call that the refused request is in
"$MEMTOOL" -q simulate --no-what-if --recompute 'progs.py:33 forward' lm_oom.pickle.gz | grep -A 3 "VERDICT\|recompute"
