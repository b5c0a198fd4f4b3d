# SPDX-License-Identifier: MIT
# The live allocator: libmemtool_alloc.so, its fake driver and its tests. Needs a C compiler and
# libc, none of the libraries of the command line.

LIVE_SOURCES := $(sort $(shell find src/live src/allocator src/torch src/support -name '*.c'))
# the preload takes names of libc and CUDA: it stays out of the unit tests
LIVE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/live/preload/%,$(LIVE_SOURCES)))
FAKE_CUDA := $(BUILD)/tests/fake_cuda/libcuda.so.1

# cuda.h, where there is one: in CUDA_HOME, beside nvcc, or where pkg-config says. memtool's own
# declarations of the driver are then held to it (cuda_toolkit.c).
CUDA_HOME ?= $(firstword $(wildcard $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v nvcc 2>/dev/null))) \
  /usr/local/cuda))
CUDA_INCLUDE := $(firstword $(wildcard $(addsuffix /cuda.h,$(CUDA_HOME)/include \
  $(patsubst -I%,%,$(shell pkg-config --cflags-only-I cuda 2>/dev/null)))))
CUDA_CPPFLAGS := $(if $(CUDA_INCLUDE),-isystem $(patsubst %/cuda.h,%,$(CUDA_INCLUDE)) -DMT_HAVE_CUDA_H)

$(BUILD)/%/allocator/device/cuda_toolkit.o: ALL_CPPFLAGS += $(CUDA_CPPFLAGS)

# The library has objects of its own: with -O3 in a release, which inlines what a request goes
# through, and so that a C++ exception of PyTorch's can pass through. Neighbouring fields are not
# handled as vectors: a vector waits for the single stores before it, which took more than half of
# the time of a pair. No link-time optimisation: it gains 2 %, and not every machine that has gcc can
# link it.
LIVE_CFLAGS := -fexceptions $(if $(filter release,$(VARIANT)),-O3 -fno-tree-slp-vectorize) \
  $(if $(filter asan tsan,$(VARIANT)),-DMT_PRELOAD_NO_DLSYM)
# The program's threads bring the stack, and that may be the 8 KiB of a signal handler.
LIVE_CFLAGS += $(if $(filter release,$(VARIANT)),-Wframe-larger-than=2656)
LIBRARY_OBJECTS := $(LIVE_SOURCES:%.c=$(BUILD)/library/%.o)
$(BUILD)/library/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $< (library)"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(LIVE_CFLAGS) -MMD -MP -c $< -o $@
-include $(LIBRARY_OBJECTS:.o=.d)

$(BUILD)/libmemtool_alloc.so: $(LIBRARY_OBJECTS)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LIVE_CFLAGS) $(ALL_LDFLAGS) \
	  -shared -Wl,-soname,libmemtool_alloc.so \
	  -Wl,-z,nodelete -Wl,--gc-sections $^ -lm -lpthread -ldl $(LDLIBS) -o $@

.PHONY: libmemtool_alloc
libmemtool_alloc: $(BUILD)/libmemtool_alloc.so ## build the live CUDA allocator, build/release/libmemtool_alloc.so

all: libmemtool_alloc

$(BUILD)/tests/fake_cuda/%.o: ALL_CPPFLAGS += -Itests/fake_cuda
# as the real ones, they call themselves by their own functions, not by a preload's
$(FAKE_CUDA): $(BUILD)/tests/fake_cuda/fake_cuda.o $(BUILD)/tests/fake_cuda/fake_lookup.o
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 $^ \
	  -lpthread -o $@
FAKE_CUDART := $(BUILD)/tests/fake_cuda/libcudart.so.13
$(FAKE_CUDART): $(BUILD)/tests/fake_cuda/fake_cudart.o
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-soname,libcudart.so.13 $^ \
	  -ldl -o $@
# for the size of a context
FAKE_NVML := $(BUILD)/tests/fake_cuda/libnvidia-ml.so.1
$(FAKE_NVML): $(BUILD)/tests/fake_cuda/fake_nvml.o
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 $^ -ldl -o $@

# Unit tests test_live_*: over the fake driver, which they find by dlopen as a program would.
TEST_DEVICE := $(BUILD)/tests/device/device_conformance.o
$(BUILD)/tests/unit/test_live_%.o: ALL_CPPFLAGS += -Itests
$(BUILD)/tests/device/%.o: ALL_CPPFLAGS += -Itests/device
LIVE_TESTS := $(filter $(BUILD)/tests/unit/test_live_%,$(UNIT_TESTS))
# those that read snapshots back need the rest of memtool; the others only what the library holds
READING_TESTS := $(filter %_record,$(LIVE_TESTS))
CORE_TESTS := $(filter-out $(READING_TESTS),$(LIVE_TESTS))
$(READING_TESTS): $(BUILD)/libmemtool.a
$(CORE_TESTS): $(LIVE_OBJECTS)
$(LIVE_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_DEVICE) $(FAKE_CUDA)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(FAKE_CUDA) \
	  -Wl,-rpath,$(CURDIR)/$(dir $(FAKE_CUDA)) $(ALL_LDLIBS) $(CHECK_LIBS) -o $@

# The doors: programs that link the library as a user's would. The C++ ones need a C++ compiler.
CXX ?= c++
DOOR_PROGRAMS := $(BUILD)/tests/live/door_program $(BUILD)/tests/live/hostile_program \
  $(BUILD)/tests/live/alloc_example
$(DOOR_PROGRAMS): $(BUILD)/tests/live/%: $(BUILD)/tests/live/%.o $(BUILD)/libmemtool_alloc.so
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ -lpthread -ldl -o $@

ODD_LIBRARIES := $(BUILD)/tests/live/odd_library.so $(BUILD)/tests/live/user_library.so \
  $(BUILD)/tests/live/same_process.so
$(ODD_LIBRARIES): %.so: %.o
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared $^ -ldl -o $@

# CUDA programs that know nothing of memtool: linked to the runtime alone.
PRELOAD_PROGRAM := $(BUILD)/tests/live/preload_program $(BUILD)/tests/live/cache_program \
  $(BUILD)/tests/live/nvtx_program $(BUILD)/tests/live/end_program $(BUILD)/tests/live/odd_program
$(PRELOAD_PROGRAM): $(BUILD)/tests/live/%: $(BUILD)/tests/live/%.o $(FAKE_CUDART)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ -lpthread -ldl -o $@

# its malloc and open are to be found before the C library's
$(BUILD)/tests/live/end_program: ALL_LDFLAGS += -rdynamic

$(BUILD)/tests/gpu/capture_program: $(BUILD)/tests/gpu/capture_program.o $(FAKE_CUDART)
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ -o $@

ifneq ($(shell command -v $(CXX) 2>/dev/null),)
TORCH_PROGRAM := $(BUILD)/tests/live/torch_program
endif
$(BUILD)/tests/live/libc10.so: tests/live/fake_c10.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $@"
	$(Q)$(CXX) -O1 -g -fPIC -shared -Wl,-soname,libc10.so $< -o $@
$(BUILD)/tests/live/torch_program: tests/live/torch_program.cpp $(BUILD)/tests/live/libc10.so
	@echo "  CXX  $@"
	$(Q)$(CXX) -O1 -g $< -Wl,--no-as-needed $(BUILD)/tests/live/libc10.so \
	  -Wl,-rpath,$(CURDIR)/$(BUILD)/tests/live -ldl -o $@

# A sanitizer's library cannot be loaded into programs without it: Python, the C++ ones.
RUN_LIVE := LIVE_FOREIGN=$(if $(filter asan tsan,$(VARIANT)),0,1) PYTHON=$(PYTHON) tests/live/run-live $(BUILD)

RUN_HOSTILE := LIVE_FOREIGN=$(if $(filter asan tsan,$(VARIANT)),0,1) tests/live/run-hostile $(BUILD)

.PHONY: live-tests check-live
live-tests: $(DOOR_PROGRAMS) $(ODD_LIBRARIES) $(PRELOAD_PROGRAM) $(BUILD)/tests/gpu/capture_program $(FAKE_NVML) $(TORCH_PROGRAM) $(FAKE_CUDA) $(BUILD)/memtool
tests: live-tests
check-live: live-tests ## run the tests of the live allocator's doors
	$(Q)$(RUN_LIVE)
	$(Q)$(RUN_HOSTILE)
	$(Q)tests/live/run-preload $(BUILD)
	$(Q)tests/live/run-cache $(BUILD)
	$(Q)tests/live/run-capture $(BUILD)
	$(Q)PYTHON=$(PYTHON) tests/live/run-attach $(BUILD)
	$(Q)PYTHON=$(PYTHON) tests/live/run-top $(BUILD)
	$(Q)tests/live/run-ends $(BUILD)
	$(Q)tests/live/run-odd $(BUILD)
	$(Q)PYTHON=$(PYTHON) tests/gpu/dry-run $(BUILD)

# Threads: the allocator and the fake driver under the thread sanitizer.
.PHONY: check-tsan
check-tsan: ## run the live allocator's tests under the thread sanitizer
	+$(Q)$(MAKE) --no-print-directory VARIANT=tsan tsan-run
.PHONY: tsan-run
tsan-run: $(CORE_TESTS)
	$(Q)CK_FORK=no scripts/run-unit $(CORE_TESTS) | sed 's/^unit:/threads:/'
ifeq ($(VARIANT),release)
CHECK_MORE += 'MAKEFLAGS= $(MAKE) --no-print-directory check-tsan'
endif
CHECK_MORE += '$(RUN_LIVE)' '$(RUN_HOSTILE)'
# nor preloaded
ifeq ($(filter asan tsan,$(VARIANT)),)
CHECK_MORE += 'tests/live/run-preload $(BUILD)'
CHECK_MORE += 'tests/live/run-cache $(BUILD)'
CHECK_MORE += 'tests/live/run-capture $(BUILD)'
CHECK_MORE += 'PYTHON=$(PYTHON) tests/live/run-attach $(BUILD)'
CHECK_MORE += 'PYTHON=$(PYTHON) tests/live/run-top $(BUILD)'
CHECK_MORE += 'tests/live/run-ends $(BUILD)'
CHECK_MORE += 'tests/live/run-odd $(BUILD)'
CHECK_MORE += 'PYTHON=$(PYTHON) tests/gpu/dry-run $(BUILD)'
endif

.PHONY: check-cuda
check-cuda: $(BUILD)/memtool libmemtool_alloc ## build a program with nvcc, and run it under capture where there is a GPU
	$(Q)CUDA_HOME=$(CUDA_HOME) scripts/check-cuda $(BUILD)

.PHONY: check-gpu
check-gpu: ## test the live allocator on this machine's GPU, with PyTorch
	$(Q)PYTHON=$(PYTHON) scripts/check-gpu
