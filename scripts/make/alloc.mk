# SPDX-License-Identifier: MIT
# Tests of the allocator that need more than the library.

# the one conformance suite, over the simulated device and the wrappers
SIM_TESTS := $(BUILD)/tests/unit/test_device_sim
$(SIM_TESTS): %: %.o $(BUILD)/tests/device/device_conformance.o $(BUILD)/libmemtool.a
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(ALL_LDLIBS) $(CHECK_LIBS) -o $@
