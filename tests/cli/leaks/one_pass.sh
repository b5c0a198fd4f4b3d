# 32 layers of one forward pass, and the state that an optimizer makes parameter by parameter, are no steps
cd "$TESTDATA/good" && "$MEMTOOL" leaks one_forward_32_layers.pickle && "$MEMTOOL" leaks custom_adam_state.pickle
