# One pass: its layers are no steps, but what it is made of
cd "$TESTDATA/good" && "$MEMTOOL" steps one_forward_32_layers.pickle && "$MEMTOOL" steps custom_adam_state.pickle
