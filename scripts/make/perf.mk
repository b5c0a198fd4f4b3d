# SPDX-License-Identifier: MIT
# That the table of make bench is whole. Its figures are for a release build.

.PHONY: check-perf
check-perf: $(BUILD)/memtool ## make bench in small
	$(Q)PYTHON=$(PYTHON) tests/perf/run-perf $(BUILD)
ifeq ($(VARIANT),release)
CHECK_MORE += 'PYTHON=$(PYTHON) tests/perf/run-perf $(BUILD)'
endif
