# memtool - one Makefile, out-of-tree builds in build/<variant>/.
#   make              build/release/memtool, and the link ./memtool
#   make help         what else there is
# User variables CC CFLAGS CPPFLAGS LDFLAGS LDLIBS PREFIX DESTDIR are respected.

VARIANT ?= release
CC ?= cc
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config
PYTHON ?= python3

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

BUILD := build/$(VARIANT)
ifeq ($(V),1)
Q :=
else
Q := @
endif

# ---- dependencies -------------------------------------------------------------------------------

DEPS := libcjson zlib cairo
# these build the live allocator or nothing: they do without
ifneq ($(filter-out clean help libmemtool_alloc check-gpu,$(or $(MAKECMDGOALS),all)),)
MISSING := $(foreach p,$(DEPS),$(shell $(PKG_CONFIG) --exists $(p) || echo $(p)))
ifneq ($(strip $(MISSING)),)
$(error pkg-config does not find: $(MISSING). Run scripts/install-deps)
endif
endif
DEPS_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(DEPS) 2>/dev/null)
DEPS_LIBS := $(shell $(PKG_CONFIG) $(if $(filter static,$(VARIANT)),--static) --libs $(DEPS) 2>/dev/null)
CHECK_CFLAGS := $(shell $(PKG_CONFIG) --cflags check 2>/dev/null)
CHECK_LIBS := $(shell $(PKG_CONFIG) --libs check 2>/dev/null)

# ---- flags --------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
  -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wcast-qual \
  -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough -Wdouble-promotion -fno-common
ifeq ($(WERROR),1)
WARN += -Werror
endif

OPT_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
OPT_debug := -O0 -g3 -DMT_EXPENSIVE=1
OPT_asan := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DMT_EXPENSIVE=1
OPT_static := $(OPT_release) -DMT_STATIC
OPT_tsan := -O1 -g1 -fsanitize=thread
OPT_cov := -O0 -g --coverage
# clang's: signed numbers that overflow, numbers that a conversion changes. Unsigned ones may wrap: hashes, words of
# several bytes and `i-- > 0` do so on purpose.
INT_CHECKS := -fsanitize=undefined,integer,implicit-conversion,float-cast-overflow \
  -fno-sanitize=unsigned-integer-overflow,unsigned-shift-base -fno-sanitize-recover=all
OPT_int := -O0 -g $(INT_CHECKS)
OPT_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all -DMT_EXPENSIVE=1
LINK_release := -Wl,-z,relro,-z,now
LINK_static := -static
LINK_asan := -fsanitize=address,undefined
LINK_tsan := -fsanitize=thread
LINK_cov := --coverage
LINK_int := $(INT_CHECKS)
LINK_fuzz := -fsanitize=address,undefined

ALL_CPPFLAGS := -Iinclude -Isrc -I$(BUILD)/generated -D_POSIX_C_SOURCE=200809L $(DEPS_CFLAGS) $(CPPFLAGS)
ALL_CFLAGS := -std=c17 -fPIC -fvisibility=hidden $(OPT_$(VARIANT)) $(WARN) $(CFLAGS)
ALL_LDFLAGS := $(LINK_$(VARIANT)) $(LDFLAGS)
ALL_LDLIBS := $(DEPS_LIBS) -lm -lpthread -ldl $(LDLIBS)

# ---- files --------------------------------------------------------------------------------------

SOURCES := $(sort $(shell find src -name '*.c'))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
MAIN_OBJECT := $(BUILD)/src/cli/main.o
# the preload takes the names of dlsym and CUDA: it is a part of libmemtool_alloc.so alone
LIB_OBJECTS := $(filter-out $(MAIN_OBJECT) $(BUILD)/src/live/preload/%,$(OBJECTS))
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZERS := $(FUZZ_SOURCES:tests/fuzz/%.c=$(BUILD)/tests/fuzz/%)

.PHONY: all
all: $(BUILD)/memtool ## build memtool (default)
ifeq ($(VARIANT),release)
	$(Q)ln -sf $(BUILD)/memtool memtool
endif

-include $(sort $(wildcard scripts/make/*.mk))

# Objects are rebuilt when the compiler or a flag changes.
FLAGS_STAMP := $(BUILD)/flags
# -Werror changes no object, so that switching it rebuilds nothing.
FLAGS_TEXT := $(filter-out -Werror,$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS))
$(FLAGS_STAMP): FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(FLAGS_TEXT)' | cmp -s - $@ || echo '$(FLAGS_TEXT)' > $@
.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c $(FLAGS_STAMP)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libmemtool.a: $(LIB_OBJECTS)
	@echo "  AR   $@"
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^ # q: two files of one name are two members

$(BUILD)/memtool: $(MAIN_OBJECT) $(BUILD)/libmemtool.a
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(ALL_LDLIBS) -o $@

# ---- tests --------------------------------------------------------------------------------------

TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/support/*.c)))
$(BUILD)/tests/%.o: ALL_CPPFLAGS += $(CHECK_CFLAGS) -Itests/support

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_SUPPORT) $(BUILD)/libmemtool.a
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(filter %.o %.a,$^) $(ALL_LDLIBS) $(CHECK_LIBS) -o $@

# The fuzz targets with a main that replays files; the VARIANT fuzz links libFuzzer's instead.
FUZZ_MAIN := $(if $(filter fuzz,$(VARIANT)),,$(BUILD)/tests/fuzz/replay_main.o)
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_MAIN) $(TEST_SUPPORT) $(BUILD)/libmemtool.a
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(filter %.o %.a,$^) $(ALL_LDLIBS) $(CHECK_LIBS) \
	  $(if $(FUZZ_MAIN),,-fsanitize=fuzzer) -o $@

.PHONY: tests
tests: $(BUILD)/memtool $(UNIT_TESTS) $(FUZZERS) ## build the tests and nothing else

.PHONY: check
check: tests ## run all tests: unit, command line, fuzz corpora
	$(Q)TESTDATA=$(CURDIR)/testdata MEMTOOL=$(BUILD)/memtool scripts/sum-tests \
	  'scripts/run-unit $(UNIT_TESTS)' scripts/run-cli scripts/run-docs 'scripts/run-corpora $(FUZZERS)' \
	  $(CHECK_MORE)

.PHONY: check-unit check-cli
check-unit: $(UNIT_TESTS) ## run the unit tests
	$(Q)TESTDATA=$(CURDIR)/testdata scripts/run-unit $(UNIT_TESTS)
check-cli: $(BUILD)/memtool ## run the golden tests of the command line
	$(Q)MEMTOOL=$(BUILD)/memtool scripts/run-cli

# Slow under a sanitizer, and the same sentences.
.PHONY: check-sentences
check-sentences: $(BUILD)/memtool ## check what the verbs print about testdata by a second reader, in Python
	$(Q)PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/sentences/sentences --memtool $(BUILD)/memtool testdata
ifeq ($(VARIANT),release)
CHECK_MORE += 'PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/sentences/sentences --memtool $(BUILD)/memtool testdata'
endif

.PHONY: check-asan
check-asan: ## run all tests under the address and undefined-behaviour sanitizers
	+$(Q)CK_FORK=no ASAN_OPTIONS=allocator_may_return_null=1 CLI_TIMEOUT=900 \
	  LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/lsan.supp:print_suppressions=0 \
	  $(MAKE) --no-print-directory VARIANT=asan check

# Every allocation of whole runs fails once: tests/fault/README.md.
$(BUILD)/fail_malloc.so: tests/fault/fail_malloc.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -O1 -g -fPIC -shared $< -ldl -o $@

.PHONY: check-fault
check-fault: $(BUILD)/memtool $(BUILD)/fail_malloc.so ## fail each allocation in turn
	$(Q)MEMTOOL=$(CURDIR)/$(BUILD)/memtool tests/fault/run-fault $(CURDIR)/$(BUILD)/fail_malloc.so

# Reading and writing that goes wrong; a sanitizer's library cannot be preloaded beside it.
$(BUILD)/fail_io.so: tests/fault/fail_io.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -O1 -g -fPIC -shared $< -ldl -o $@
RUN_IO := MEMTOOL=$(BUILD)/memtool tests/fault/run-io $(BUILD)/fail_io.so
ifeq ($(filter asan tsan,$(VARIANT)),)
tests: $(BUILD)/fail_io.so
CHECK_MORE += '$(RUN_IO)'
endif
.PHONY: check-io
check-io: $(BUILD)/memtool $(BUILD)/fail_io.so ## fail reads, writes, closes and renames
	$(Q)$(RUN_IO)

.PHONY: coverage coverage-run
coverage: ## lines of src/ that the tests reach, and those that none reaches (needs lcov)
	+$(Q)$(MAKE) --no-print-directory VARIANT=cov coverage-run
coverage-run: tests
	$(Q)find $(BUILD) -name '*.gcda' -delete
	-+$(Q)$(MAKE) --no-print-directory check
	$(Q)scripts/coverage $(BUILD)

# Says how good the tests are: N changes of FOLDER at random places, the same for the same SEED.
N ?= 20
SEED ?= 1
FOLDER ?= src
.PHONY: mutate
mutate: ## changes of src/ that no test notices; N=20 SEED=1 FOLDER=src
	+$(Q)MAKE_ARGS="CC='$(CC)'" $(PYTHON) scripts/mutate -n $(N) --seed $(SEED) --folder $(FOLDER)

.PHONY: analyze
analyze: $(BUILD)/memtool ## clang-tidy, cppcheck, and the static analyzers of clang and gcc, over src/
	$(Q)scripts/analyze $(BUILD)

.PHONY: check-valgrind
check-valgrind: $(LIVE_TESTS) $(BUILD)/libmemtool_alloc.so $(FAKE_CUDA) ## the live allocator's tests under valgrind, and what a pair costs
	$(Q)for t in $(LIVE_TESTS); do CK_FORK=no CK_DEFAULT_TIMEOUT=600 TESTDATA=$(CURDIR)/testdata \
	  valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite $$t || exit 1; done
	$(Q)LIMITS="700 1900 2900" CC="$(CC)" PYTHON=$(PYTHON) tests/perf/bench-live $(BUILD)

FUZZ_SECONDS ?= 30
.PHONY: check-fuzz
check-fuzz: ## let each fuzz target run for FUZZ_SECONDS (needs clang)
	+$(Q)$(MAKE) --no-print-directory VARIANT=fuzz CC=clang fuzz-run

.PHONY: fuzz-run
fuzz-run: $(FUZZERS)
	$(Q)scripts/run-fuzzers $(FUZZ_SECONDS) $(FUZZERS)

.PHONY: check-int int-run
check-int: ## replay the fuzz corpora under clang's integer checks (needs clang)
	+$(Q)$(MAKE) --no-print-directory VARIANT=int CC=clang int-run
int-run: $(FUZZERS)
	$(Q)scripts/run-corpora $(FUZZERS)

# ---- the look of the code -----------------------------------------------------------------------

$(BUILD)/man_options: $(BUILD)/scripts/man_options.o $(BUILD)/libmemtool.a
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(ALL_LDLIBS) -o $@

.PHONY: lint
lint: $(BUILD)/memtool $(BUILD)/man_options ## check format, layers, symbols, scripts, man pages
	$(Q)scripts/lint $(BUILD)

.PHONY: man
man: $(BUILD)/man_options ## write the option tables into the man pages
	$(Q)scripts/update-man $(BUILD)/man_options

.PHONY: metrics
metrics: ## sizes of files and functions
	$(Q)scripts/metrics

.PHONY: bench
bench: $(BUILD)/memtool ## measure speed and memory; BENCH_EVENTS=numbers BENCH_FILE=a-snapshot PEER=_memory_viz.py
	$(Q)MEMTOOL=$(BUILD)/memtool PYTHON=$(PYTHON) tests/perf/bench $(BENCH_FILE)

.PHONY: bench-live
bench-live: $(BUILD)/libmemtool_alloc.so $(FAKE_CUDA) ## what an allocate and free costs; BENCH_OLD=the folder of another build
	$(Q)CC="$(CC)" PYTHON=$(PYTHON) tests/perf/bench-live $(BENCH_OLD) $(BUILD)

# ---- installing and packing ---------------------------------------------------------------------

VERSION := $(shell sed -n 's/^\#define MT_VERSION "\(.*\)"/\1/p' include/memtool/version.h)
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(DATADIR)/man
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_completions.d
INSTALL ?= install
HEADERS := $(patsubst include/%,%,$(sort $(wildcard include/memtool/*.h)))
MAN_PAGES := $(sort $(wildcard man/*.[1-9]))
INSTALLED = $(BINDIR)/memtool $(BASHDIR)/memtool $(ZSHDIR)/_memtool $(FISHDIR)/memtool.fish \
  $(LIBDIR)/libmemtool_alloc.so $(LIBDIR)/pkgconfig/memtool-alloc.pc $(addprefix $(INCLUDEDIR)/,$(HEADERS)) \
  $(DATADIR)/memtool/memtool_torch.py \
  $(foreach p,$(MAN_PAGES),$(MANDIR)/man$(subst .,,$(suffix $(p)))/$(notdir $(p)))

$(BUILD)/completion/%: $(BUILD)/memtool
	@mkdir -p $(@D)
	$(Q)$(BUILD)/memtool completion $* > $@

.PHONY: install
install: $(BUILD)/memtool $(BUILD)/libmemtool_alloc.so $(addprefix $(BUILD)/completion/,bash zsh fish) ## install under DESTDIR/PREFIX
	$(INSTALL) -d $(sort $(dir $(addprefix $(DESTDIR),$(INSTALLED))))
	$(INSTALL) -m 755 $(BUILD)/memtool $(DESTDIR)$(BINDIR)/memtool
	$(INSTALL) -m 644 $(BUILD)/completion/bash $(DESTDIR)$(BASHDIR)/memtool
	$(INSTALL) -m 644 $(BUILD)/completion/zsh $(DESTDIR)$(ZSHDIR)/_memtool
	$(INSTALL) -m 644 $(BUILD)/completion/fish $(DESTDIR)$(FISHDIR)/memtool.fish
	$(INSTALL) -m 755 $(BUILD)/libmemtool_alloc.so $(DESTDIR)$(LIBDIR)/libmemtool_alloc.so
	$(INSTALL) -m 644 $(addprefix include/,$(HEADERS)) $(DESTDIR)$(INCLUDEDIR)/memtool
	$(INSTALL) -m 644 scripts/memtool_torch.py $(DESTDIR)$(DATADIR)/memtool/memtool_torch.py
	sed -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	  scripts/packaging/memtool-alloc.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/memtool-alloc.pc
	for p in $(MAN_PAGES); do \
	  $(INSTALL) -m 644 $$p $(DESTDIR)$(MANDIR)/man$${p##*.}/ || exit 1; done

.PHONY: uninstall
uninstall: ## remove what install installed
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))

.PHONY: dist
dist: ## build/memtool-VERSION.tar.gz from what is committed, the same bytes every time
	@mkdir -p build
	git archive --format=tar --prefix=memtool-$(VERSION)/ HEAD | gzip -n9 > build/memtool-$(VERSION).tar.gz
	@ls -l build/memtool-$(VERSION).tar.gz

.PHONY: distcheck
distcheck: dist ## build and test the tarball on its own, and look what it holds
	+$(Q)$(MAKE) --no-print-directory check-package
	rm -rf build/distcheck && mkdir -p build/distcheck
	tar -xzf build/memtool-$(VERSION).tar.gz -C build/distcheck
	+$(MAKE) --no-print-directory -C build/distcheck/memtool-$(VERSION) check

.PHONY: deb
deb: $(BUILD)/memtool ## build/memtool_VERSION_ARCH.deb
	rm -rf build/deb
	+$(Q)$(MAKE) --no-print-directory install PREFIX=/usr DESTDIR=$(CURDIR)/build/deb >/dev/null
	scripts/packaging/make-deb build/deb $(VERSION) build

.PHONY: static
static: ## build/static/memtool, a binary that needs no library
	$(Q)scripts/packaging/static-cjson build/static/deps '$(CC)'
	+$(Q)$(MAKE) --no-print-directory VARIANT=static LDFLAGS='-s -Lbuild/static/deps $(LDFLAGS)' \
	  build/static/memtool

.PHONY: demo
demo: $(BUILD)/memtool ## build, and show what memtool says about a real job that died
	@scripts/demo $(BUILD)/memtool

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build memtool

.PHONY: help
help: ## this list
	@echo 'make [TARGET] [VARIANT=release|debug|asan|tsan|cov|fuzz|int] [WERROR=1] [V=1]'
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/  \1\t\2/p' Makefile scripts/make/*.mk | expand -t 20
