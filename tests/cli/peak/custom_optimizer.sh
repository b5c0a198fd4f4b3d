# SPDX-License-Identifier: MIT
# What a hand-written Adam keeps outlives its step: its state, not temporary. What it frees itself is.
"$MEMTOOL" peak --at end --by category "$TESTDATA/good/custom_adam_state.pickle" | sed -n '5,$p'
"$MEMTOOL" peak "$TESTDATA/good/custom_adam_state.pickle" | sed -n '5,$p'
