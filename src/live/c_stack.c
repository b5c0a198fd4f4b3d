/* SPDX-License-Identifier: MIT */
/* C frames: glibc's backtrace to catch them, dladdr to name them. No symbol tables are read, so a
 * static function has its object and offset for a name; addr2line turns those into lines. */
#define _GNU_SOURCE 1 /* dladdr */
#include "c_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

#include <memtool/compiler.h>
#include <memtool/mem.h>

void mt_c_stack_prepare(void)
{
    void *ignored[2];
    (void)backtrace(ignored, 2);
}

void mt_c_stack_capture(struct mt_raw_stack *out, uint32_t max)
{
    void *addresses[MT_RAW_FRAMES_MAX];
    if (out->n >= max) {
        return;
    }
    int n = backtrace(addresses, (int)(max - out->n));
    for (int i = 0; i < n; i++) {
        mt_raw_stack_push(out, (uintptr_t)addresses[i], MT_RAW_C_FRAME);
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
    snprintf(out, size, "%s", text ? text : symbol);
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
        snprintf(scratch->name, sizeof scratch->name, "+%#llx",
                 (unsigned long long)(f->code - base));
    }
    snprintf(scratch->filename, sizeof scratch->filename, "%s",
             found && info.dli_fname ? info.dli_fname : "??");
    out->name = mt_str_from(scratch->name);
    out->filename = mt_str_from(scratch->filename);
    out->line = 0;
}
