/* SPDX-License-Identifier: MIT */
/* A symbol of an ELF file. The file is the process's own, but no length in it is believed. */
#include "verbs/capture/attach/attach.h"

#ifdef __linux__
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf {
    const unsigned char *p;
    size_t n;
    Elf64_Ehdr head;
};

/* A copy of `size` bytes at `at`, for what is in the file may not be aligned. */
static bool take(const struct elf *e, uint64_t at, void *out, size_t size)
{
    if (at > e->n || size > e->n - at) {
        return false;
    }
    memcpy(out, e->p + at, size);
    return true;
}

static bool section(const struct elf *e, uint32_t i, Elf64_Shdr *out)
{
    return i < e->head.e_shnum && e->head.e_shentsize == sizeof *out && e->head.e_shoff <= e->n &&
           take(e, e->head.e_shoff + i * sizeof *out, out, sizeof *out);
}

static bool is_named(const struct elf *e, const Elf64_Shdr *strings, uint32_t at, const char *name)
{
    size_t n = strlen(name) + 1;
    uint64_t offset = strings->sh_offset;
    return at < strings->sh_size && offset <= e->n && at <= e->n - offset &&
           n <= e->n - offset - at && memcmp(e->p + offset + at, name, n) == 0;
}

static uint64_t find_in(const struct elf *e, const Elf64_Shdr *table, const char *name)
{
    Elf64_Shdr strings;
    Elf64_Sym symbol;
    if (!section(e, table->sh_link, &strings) || table->sh_offset > e->n) {
        return 0;
    }
    uint64_t n = table->sh_size / sizeof symbol;
    for (uint64_t i = 0; i < n; i++) {
        if (!take(e, table->sh_offset + i * sizeof symbol, &symbol, sizeof symbol)) {
            return 0;
        }
        if (symbol.st_shndx != SHN_UNDEF && is_named(e, &strings, symbol.st_name, name)) {
            return symbol.st_value;
        }
    }
    return 0;
}

/* Of the first part that is loaded, from the beginning of its page. */
static uint64_t first_address(const struct elf *e)
{
    Elf64_Phdr part;
    for (uint32_t i = 0; i < e->head.e_phnum; i++) {
        if (e->head.e_phoff <= e->n &&
            take(e, e->head.e_phoff + i * sizeof part, &part, sizeof part) &&
            part.p_type == PT_LOAD) {
            return part.p_vaddr & ~UINT64_C(4095);
        }
    }
    return 0;
}

static uint64_t look_up(struct elf *e, const char *name, uint64_t *first)
{
    static const uint32_t KINDS[] = {SHT_DYNSYM, SHT_SYMTAB};
    uint64_t found = 0;
    if (!take(e, 0, &e->head, sizeof e->head) || memcmp(e->p, ELFMAG, SELFMAG) != 0 ||
        e->p[EI_CLASS] != ELFCLASS64) {
        return 0;
    }
    *first = first_address(e);
    for (size_t k = 0; k < sizeof KINDS / sizeof KINDS[0]; k++) {
        Elf64_Shdr s;
        for (uint32_t i = 0; found == 0 && section(e, i, &s); i++) {
            found = s.sh_type == KINDS[k] ? find_in(e, &s, name) : 0;
        }
    }
    return found;
}

uint64_t mt_attach_symbol(const char *path, const char *name, uint64_t *first)
{
    struct stat st;
    uint64_t found = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *first = 0;
    if (fd < 0) {
        return 0;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        struct elf e = {.p = p, .n = (size_t)st.st_size};
        if (p != MAP_FAILED) {
            found = look_up(&e, name, first);
            munmap(p, e.n);
        }
    }
    close(fd);
    return found;
}

#else

uint64_t mt_attach_symbol(const char *path, const char *name, uint64_t *first)
{
    (void)path;
    (void)name;
    *first = 0;
    return 0;
}

#endif
