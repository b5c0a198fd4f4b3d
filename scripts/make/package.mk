# SPDX-License-Identifier: MIT
# The tarball, the installation and the packages.

.PHONY: check-package
check-package: $(BUILD)/memtool $(BUILD)/libmemtool_alloc.so ## look at what users are handed
	$(Q)PYTHON=$(PYTHON) tests/package/run-package
ifeq ($(VARIANT),release)
CHECK_MORE += 'PYTHON=$(PYTHON) tests/package/run-package'
endif
