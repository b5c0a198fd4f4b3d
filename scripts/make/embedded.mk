# SPDX-License-Identifier: MIT
# Files that are part of the library: the viewer of the interactive page, Python for capture, the glossary.

VIEWER := src/verbs/plots/page/viewer
VIEWER_SCRIPT := $(addprefix $(VIEWER)/,open.js columns.js model.js layers.js annotations.js moment.js colour.js blocks.js singles.js timeline.js \
  state.js list.js flame.js map.js stack_table.js files.js panel.js steps.js search.js splitter.js main.js close.js)

$(BUILD)/embed: scripts/embed.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -O1 $< -o $@

$(BUILD)/generated/viewer.c: $(BUILD)/embed $(VIEWER)/page.html $(VIEWER)/style.css $(VIEWER_SCRIPT)
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q){ echo '#include "verbs/plots/page/page_parts.h"'; $(BUILD)/embed markup $(VIEWER)/page.html && \
	  $(BUILD)/embed style $(VIEWER)/style.css && $(BUILD)/embed script $(VIEWER_SCRIPT); } > $@

$(BUILD)/generated/viewer.o: $(BUILD)/generated/viewer.c $(FLAGS_STAMP)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

LIB_OBJECTS += $(BUILD)/generated/viewer.o

AXE := build/browser/node_modules/axe-core/axe.min.js
$(AXE): tests/browser/package.json
	@mkdir -p build/browser && cp $< build/browser/
	@npm install --prefix build/browser --no-audit --no-fund --silent && touch $@ || echo "npm has no axe-core here: its test is skipped"

.PHONY: check-browser
check-browser: $(BUILD)/memtool $(AXE) ## drive the interactive page in headless Chromium
	$(Q)AXE=$(AXE) MEMTOOL=$(BUILD)/memtool TESTDATA=$(CURDIR)/testdata node tests/browser/page_tests.mjs

.PHONY: check-page
check-page: $(BUILD)/memtool ## the page's modules without a browser: its states are those of segment_plot
	$(Q)MEMTOOL=$(BUILD)/memtool TESTDATA=$(CURDIR)/testdata node tests/page/state_tests.mjs
	$(Q)MEMTOOL=$(BUILD)/memtool TESTDATA=$(CURDIR)/testdata node tests/page/verbs_tests.mjs

# The Python files that capture gives to its child.

$(BUILD)/generated/capture_python.c: $(BUILD)/embed src/verbs/capture/python/sitecustomize.py src/verbs/capture/python/attach.py src/verbs/capture/python/modules.py scripts/memtool_torch.py
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q){ echo '#include "verbs/capture/capture.h"'; $(BUILD)/embed sitecustomize src/verbs/capture/python/sitecustomize.py && \
	  $(BUILD)/embed attach src/verbs/capture/python/attach.py && \
	  $(BUILD)/embed modules src/verbs/capture/python/modules.py && $(BUILD)/embed memtool_torch scripts/memtool_torch.py; } > $@

$(BUILD)/generated/capture_python.o: $(BUILD)/generated/capture_python.c $(FLAGS_STAMP)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

LIB_OBJECTS += $(BUILD)/generated/capture_python.o

# The script that top gives to the processes it watches.

$(BUILD)/generated/watch.c: $(BUILD)/embed src/verbs/top/python/watch.py
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q){ echo '#include "verbs/top/top.h"'; $(BUILD)/embed watch src/verbs/top/python/watch.py; } > $@

$(BUILD)/generated/watch.o: $(BUILD)/generated/watch.c $(FLAGS_STAMP)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

LIB_OBJECTS += $(BUILD)/generated/watch.o

# The topics of explain.

$(BUILD)/generated/glossary.c: scripts/glossary.awk src/verbs/explain/glossary.txt
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q)LC_ALL=C awk -f $^ > $@

$(BUILD)/generated/glossary.o: $(BUILD)/generated/glossary.c $(FLAGS_STAMP)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

LIB_OBJECTS += $(BUILD)/generated/glossary.o

# Which tensors a model has, by model_type, for estimate.

ARCHITECTURES := $(sort $(wildcard src/verbs/estimate/model/architectures/*.txt))
$(BUILD)/generated/architectures.c: $(BUILD)/embed $(ARCHITECTURES)
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q){ echo '#include "verbs/estimate/model/arch_run.h"'; $(BUILD)/embed architectures $(ARCHITECTURES); } > $@

$(BUILD)/generated/architectures.o: $(BUILD)/generated/architectures.c $(FLAGS_STAMP)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

LIB_OBJECTS += $(BUILD)/generated/architectures.o
