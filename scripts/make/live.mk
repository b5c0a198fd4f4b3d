# SPDX-License-Identifier: MIT
# The live allocator: libmemtool_alloc.so, its fake driver and its tests. Needs a C compiler and
# libc, none of the libraries of the command line.

LIVE_SOURCES := $(sort $(wildcard src/live/*.c src/allocator/*.c src/support/*.c))
LIVE_OBJECTS := $(LIVE_SOURCES:%.c=$(BUILD)/%.o)
FAKE_CUDA := $(BUILD)/tests/fake_cuda/libcuda.so.1

# cuda.h, where there is one, only to compare its layouts with memtool's own
CUDA_HOME ?= /usr/local/cuda
CUDA_CPPFLAGS := $(if $(wildcard $(CUDA_HOME)/include/cuda.h),-isystem $(CUDA_HOME)/include)

# a C++ exception of PyTorch's passes through these frames
$(BUILD)/src/live/shim.o: ALL_CFLAGS += -fexceptions

$(BUILD)/libmemtool_alloc.so: $(LIVE_OBJECTS)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libmemtool_alloc.so -Wl,-z,nodelete \
	  -Wl,--gc-sections $^ -lm -lpthread -ldl $(LDLIBS) -o $@

.PHONY: libmemtool_alloc
libmemtool_alloc: $(BUILD)/libmemtool_alloc.so ## build the live CUDA allocator, build/release/libmemtool_alloc.so

all: libmemtool_alloc

$(BUILD)/tests/fake_cuda/%.o: ALL_CPPFLAGS += -Itests/fake_cuda
$(FAKE_CUDA): $(BUILD)/tests/fake_cuda/fake_cuda.o
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 $< -lpthread -o $@

# Unit tests test_live_*: over the fake driver, which they find by dlopen as a program would.
TEST_DEVICE := $(BUILD)/tests/device/device_conformance.o
$(BUILD)/tests/unit/test_live_%.o: ALL_CPPFLAGS += -Itests $(CUDA_CPPFLAGS)
$(BUILD)/tests/device/%.o: ALL_CPPFLAGS += -Itests/device
LIVE_TESTS := $(filter $(BUILD)/tests/unit/test_live_%,$(UNIT_TESTS))
$(LIVE_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_DEVICE) $(BUILD)/libmemtool.a $(FAKE_CUDA)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ -Wl,-rpath,$(CURDIR)/$(dir $(FAKE_CUDA)) \
	  $(ALL_LDLIBS) $(CHECK_LIBS) -o $@
