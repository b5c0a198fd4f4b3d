# SPDX-License-Identifier: MIT
# All fuzz targets in one program, which FUZZ_TARGET chooses from: scripts/fuzz-farm carries it to another machine.

FARM := $(BUILD)/farm
FARM_NAMES := $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=%)
FARM_OBJECTS := $(FARM_NAMES:%=$(FARM)/%.o)
FARM_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/support/*.c)))

$(FARM)/%.o: $(BUILD)/tests/fuzz/fuzz_%.o
	@mkdir -p $(@D)
	$(Q)objcopy --redefine-sym LLVMFuzzerTestOneInput=fuzz_$* $< $@

$(FARM)/main.c: scripts/make/farm.mk $(FUZZ_SOURCES)
	@mkdir -p $(@D)
	@echo "  GEN  $@"
	$(Q){ printf '%s\n' '#include <stdint.h>' '#include <stdio.h>' '#include <stdlib.h>' '#include <string.h>' \
	  'typedef int target(const uint8_t *data, size_t size);' '#define EACH(X) $(foreach n,$(FARM_NAMES),X($(n)))' \
	  '#define DECLARE(x) target fuzz_##x;' '#define ROW(x) {#x, fuzz_##x},' 'EACH(DECLARE)' \
	  'static const struct { const char *name; target *run; } TARGETS[] = {EACH(ROW)};' 'static target *chosen;' \
	  'int LLVMFuzzerInitialize(int *argc, char ***argv);' 'target LLVMFuzzerTestOneInput;' \
	  'int LLVMFuzzerInitialize(int *argc, char ***argv) {' '    const char *name = getenv("FUZZ_TARGET");' \
	  '    (void)argc, (void)argv;' '    for (size_t i = 0; i < sizeof TARGETS / sizeof *TARGETS; i++)' \
	  '        if (name && strcmp(name, TARGETS[i].name) == 0) chosen = TARGETS[i].run;' \
	  '    if (!chosen) { (void)fprintf(stderr, "FUZZ_TARGET names no target\n"); exit(2); }' '    return 0;' '}' \
	  'int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return chosen(data, size); }'; } > $@

$(FARM)/fuzzer: $(FARM)/main.c $(FARM_OBJECTS) $(FARM_SUPPORT) $(BUILD)/libmemtool.a
	@echo "  LD   $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(ALL_LDLIBS) $(CHECK_LIBS) -fsanitize=fuzzer -o $@
