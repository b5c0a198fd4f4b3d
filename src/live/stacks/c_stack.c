/* SPDX-License-Identifier: MIT */
/* C frames: glibc's backtrace to catch them, dladdr to name them. No symbol tables are read, so a
 * static function has its object and offset for a name; addr2line turns those into lines. */
#define _GNU_SOURCE 1 /* dladdr */
#include "live/stacks/c_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

#include "support/compiler.h"
#include "support/mem.h"

void mt_c_stack_prepare(void)
{
    void *ignored[2];
    (void)backtrace(ignored, 2);
}

/* Half a kilobyte of stack counts, in a handler of the program's: the addresses lie in the upper
 * half of the frames until they become frames, and are not overtaken as there are two to a frame.
 */
void mt_c_stack_capture(struct mt_raw_stack *out, uint32_t max)
{
    _Static_assert(sizeof(struct mt_raw_frame) == 2 * sizeof(void *), "two to a frame");
    struct mt_raw_frame *upper = out->frames + MT_RAW_FRAMES_MAX / 2;
    int n = backtrace((void **)upper, (int)max);
    for (int i = 0; i < n; i++) {
        uintptr_t address;
        memcpy(&address, (const char *)upper + (size_t)i * sizeof address, sizeof address);
        mt_raw_stack_push(out, address, MT_RAW_C_FRAME);
    }
}

static bool look_up(const struct mt_raw_frame *f, Dl_info *info)
{
    /* a return address may lie behind the function's end: one back is inside the call */
    return dladdr((void *)(f->code - 1), info) != 0;
}

bool mt_c_stack_is_own(const struct mt_raw_frame *f)
{
    Dl_info own, info;
    const struct mt_raw_frame here = {(uintptr_t)&mt_c_stack_is_own + 1, MT_RAW_C_FRAME};
    return look_up(&here, &own) && look_up(f, &info) && own.dli_fbase == info.dli_fbase;
}

/* Not snprintf, which takes more than a kilobyte of stack. */
static void copy(const char *text, char *out, size_t size)
{
    size_t n = strlen(text);
    n = n < size ? n : size - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* "+0x1f". */
static void offset_text(uintptr_t offset, char *out)
{
    int digits = 1;
    while (digits < 16 && offset >> (4 * digits) != 0) {
        digits++;
    }
    memcpy(out, "+0x", 3);
    for (int i = 0; i < digits; i++) {
        out[3 + i] = "0123456789abcdef"[offset >> (4 * (digits - 1 - i)) & 15];
    }
    out[3 + digits] = '\0';
}

/* The name as it stands in the source; libstdc++ knows how, if the process has it. */
static void readable_name(const char *symbol, char *out, size_t size)
{
    char *(*demangle)(const char *, char *, size_t *, int *);
    void *function = strncmp(symbol, "_Z", 2) == 0 ? dlsym(RTLD_DEFAULT, "__cxa_demangle") : NULL;
    char *text = NULL;
    if (function) {
        memcpy(&demangle, &function, sizeof function);
        text = demangle(symbol, NULL, NULL, NULL);
    }
    copy(text ? text : symbol, out, size);
    mt_mem_free(text); /* it came from malloc */
}

void mt_c_stack_resolve(const struct mt_raw_frame *f, struct mt_c_frame_scratch *scratch,
                        struct mt_frame_text *out)
{
    Dl_info info = {0};
    bool found = look_up(f, &info);
    if (found && info.dli_sname) {
        readable_name(info.dli_sname, scratch->name, sizeof scratch->name);
    } else {
        uintptr_t base = found ? (uintptr_t)info.dli_fbase : 0;
        offset_text(f->code - base, scratch->name);
    }
    copy(found && info.dli_fname ? info.dli_fname : "??", scratch->filename,
         sizeof scratch->filename);
    out->name = mt_str_from(scratch->name);
    out->filename = mt_str_from(scratch->filename);
    out->line = 0;
}
