# SPDX-License-Identifier: MIT
# memtool-viewer.html: memtool as WebAssembly in one page that opens any file. Needs clang, lld, wasi-libc and
# libclang-rt-dev-wasm32 (Debian's names), and Python.

WASM_CC ?= clang
WASM := build/wasm
# what a browser has no use for: cairo, CUDA, other processes and threads, files that get their names at the end
WASM_NOT := src/draw/paint/cairo_draw.c $(wildcard src/allocator/device/*cuda*.c) \
  src/cli/process.c src/cli/output/interrupt.c src/cli/output/unfinished.c $(filter src/live/% src/verbs/capture/% src/verbs/top/%,$(SOURCES))
WASM_SOURCES := $(filter-out $(WASM_NOT),$(SOURCES)) scripts/viewer/process.c scripts/viewer/zlib.c scripts/viewer/sort.c
WASM_GENERATED := $(addprefix $(BUILD)/generated/,viewer.c glossary.c architectures.c)
WASM_OBJECTS := $(WASM_SOURCES:%.c=$(WASM)/%.o) $(WASM_GENERATED:$(BUILD)/generated/%.c=$(WASM)/generated/%.o)
WASM_FLAGS := --target=wasm32-wasi -O3 -msimd128 -std=c17 -Iinclude -Isrc -I$(BUILD)/generated -isystem scripts/viewer/compat -isystem $(WASM)/include \
  -D_POSIX_C_SOURCE=200809L -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -w

# headers of libraries that are for this machine too, but no others of it
$(WASM)/include/zlib.h:
	@mkdir -p $(WASM)/include/cjson
	$(Q)cp $$(echo '#include <zlib.h>' | $(CC) $(DEPS_CFLAGS) -M -xc - | tr ' ' '\n' | grep -E '/(zlib|zconf)\.h$$') $(WASM)/include/
	$(Q)cp $$(echo '#include <cjson/cJSON.h>' | $(CC) $(DEPS_CFLAGS) -M -xc - | tr ' ' '\n' | grep -E '/cJSON\.h$$') $(WASM)/include/cjson/

$(WASM)/%.o: %.c $(WASM)/include/zlib.h scripts/make/viewer.mk
	@mkdir -p $(@D)
	@echo "  WASM $<"
	$(Q)$(WASM_CC) $(WASM_FLAGS) -MMD -MP -c $< -o $@

$(WASM)/generated/%.o: $(BUILD)/generated/%.c $(WASM)/include/zlib.h
	@mkdir -p $(@D)
	$(Q)$(WASM_CC) $(WASM_FLAGS) -MMD -MP -c $< -o $@

$(WASM)/memtool.wasm: $(WASM_OBJECTS)
	@echo "  LD   $@"
	$(Q)$(WASM_CC) --target=wasm32-wasi -O3 $^ -o $@ -Wl,--allow-undefined,--gc-sections,--strip-all,-z,stack-size=1048576 \
	  -lwasi-emulated-mman -lwasi-emulated-signal -lwasi-emulated-process-clocks -lm

$(WASM)/memtool-viewer.html: $(WASM)/memtool.wasm $(BUILD)/generated/viewer.c $(wildcard scripts/viewer/*.js scripts/viewer/*.css scripts/viewer/*.html) scripts/viewer/build
	@echo "  GEN  $@"
	$(Q)scripts/viewer/build scripts/viewer $< $(BUILD)/generated/viewer.c $@

.PHONY: viewer check-viewer
viewer: $(WASM)/memtool-viewer.html ## memtool-viewer.html: opens any file in a browser, needs no server

check-viewer: $(WASM)/memtool-viewer.html $(BUILD)/memtool ## drop files on the viewer in headless Chromium
	$(Q)VIEWER=$< MEMTOOL=$(BUILD)/memtool TESTDATA=$(CURDIR)/testdata node tests/browser/viewer_tests.mjs

-include $(WASM_OBJECTS:.o=.d)
