/* SPDX-License-Identifier: MIT */
/*
 * The window: what is left is moved to its front, then it is filled up. A single item larger than
 * the window (a long string) makes it grow, by doubling and only as bytes really arrive, so that a
 * length field of 2^60 costs nothing. Also the two plainest sources: descriptor and memory.
 */
#include "snapshot/read/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/mem.h"

enum mt_status mt_input_init(struct mt_input *in, struct mt_byte_source *source, uint64_t max,
                             struct mt_error *err)
{
    *in = (struct mt_input){.source = source, .cap = MT_INPUT_WINDOW, .max = max};
    in->window = mt_mem_zalloc(1, MT_INPUT_WINDOW + MT_INPUT_PAD);
    if (!in->window) {
        source->close(source);
        in->source = NULL;
        return mt_fail_nomem(err);
    }
    in->at = in->end = in->window;
    return MT_OK;
}

void mt_input_release(struct mt_input *in)
{
    if (in->source) {
        in->source->close(in->source);
    }
    mt_mem_free(in->window);
    *in = (struct mt_input){0};
}

/* Moves the unread bytes to the front of the window. */
static void compact(struct mt_input *in)
{
    size_t left = mt_input_left(in);
    in->base += (uint64_t)(in->at - in->window);
    if (left) {
        memmove(in->window, in->at, left);
    }
    in->at = in->window;
    in->end = in->window + left;
}

/* The window is full and more is asked for: twice as large. */
static bool widen(struct mt_input *in)
{
    size_t left = mt_input_left(in);
    if (in->cap >= MT_INPUT_ITEM) {
        mt_fail(&in->failure, MT_LIMIT, mt_input_offset(in),
                "a string of more than %d MiB at byte %llu; no snapshot has one",
                MT_INPUT_ITEM >> 20, (unsigned long long)mt_input_offset(in));
        return false;
    }
    uint8_t *bigger = mt_mem_realloc(in->window, 1, in->cap * 2 + MT_INPUT_PAD);
    if (!bigger) {
        mt_fail_nomem(&in->failure);
        return false;
    }
    in->window = bigger;
    in->cap *= 2;
    in->at = bigger;
    in->end = bigger + left;
    return true;
}

static bool read_more(struct mt_input *in)
{
    size_t left = mt_input_left(in);
    size_t got = 0;
    if (in->source->read(in->source, in->window + left, in->cap - left, &got, &in->failure) !=
        MT_OK) {
        return false;
    }
    in->at_end = got == 0;
    in->end += got;
    memset(in->window + left + got, 0, MT_INPUT_PAD);
    uint64_t total = in->base + left + got;
    if (in->max && total > in->max) {
        mt_fail(&in->failure, MT_LIMIT, in->max, "the input is longer than %llu bytes",
                (unsigned long long)in->max);
        mt_hint(&in->failure, "raise the limit with --max-input SIZE");
        return false;
    }
    if (in->progress) {
        in->progress(in->progress_ctx, total);
    }
    return true;
}

bool mt_input_fill(struct mt_input *in, size_t n)
{
    if (in->failure.code != MT_OK) {
        return false;
    }
    compact(in);
    while (mt_input_left(in) < n && !in->at_end) {
        if (mt_input_left(in) == in->cap && !widen(in)) {
            return false;
        }
        if (!read_more(in)) {
            return false;
        }
    }
    return mt_input_left(in) >= n;
}

/* ---- a descriptor ---- */

struct fd_source {
    struct mt_byte_source face;
    int fd;
    bool owned;
    uint64_t *position;
};

static enum mt_status fd_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                              struct mt_error *err)
{
    struct fd_source *s = (struct fd_source *)self;
    ssize_t r;
    do {
        r = read(s->fd, p, n);
    } while (r < 0 && errno == EINTR);
    if (r < 0) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot read: %s", strerror(errno));
    }
    *got = (size_t)r;
    *s->position += (uint64_t)r;
    return MT_OK;
}

static void fd_close(struct mt_byte_source *self)
{
    struct fd_source *s = (struct fd_source *)self;
    if (s->owned) {
        close(s->fd);
    }
    mt_mem_free(s);
}

struct mt_byte_source *mt_source_fd(int fd, bool owned, uint64_t *position)
{
    struct fd_source *s = mt_mem_alloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (struct fd_source){{fd_read, fd_close, NULL}, fd, owned, position};
    return &s->face;
}

/* ---- memory ---- */

struct memory_source {
    struct mt_byte_source face;
    const uint8_t *p;
    size_t left;
    size_t chunk;
};

static enum mt_status memory_read(struct mt_byte_source *self, uint8_t *p, size_t n, size_t *got,
                                  struct mt_error *err)
{
    (void)err;
    struct memory_source *s = (struct memory_source *)self;
    size_t take = s->left < n ? s->left : n;
    if (s->chunk && take > s->chunk) {
        take = s->chunk;
    }
    if (take) {
        memcpy(p, s->p, take);
    }
    s->p += take;
    s->left -= take;
    *got = take;
    return MT_OK;
}

static void memory_close(struct mt_byte_source *self)
{
    mt_mem_free(self);
}

struct mt_byte_source *mt_source_memory(const void *p, size_t n, size_t chunk)
{
    struct memory_source *s = mt_mem_alloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    *s = (struct memory_source){{memory_read, memory_close, NULL}, p, n, chunk};
    return &s->face;
}
