/* SPDX-License-Identifier: MIT */
/* How a machine ends: what is open is closed, and the one value that is left is the snapshot. */
#include "snapshot/schema/machine.h"

static bool is_list(const struct mt_machine *m, mt_word w)
{
    if (mt_word_tag(w) == MT_TAG_FRESH_LIST) {
        return true;
    }
    return mt_word_tag(w) == MT_TAG_CONTAINER && mt_container_of(m, w)->kind != MT_CONTAINER_DICT &&
           !mt_container_of(m, w)->sealed;
}

/* Python writes a list of one item without a mark: what stands behind an open list at an even place
 * was about to be appended to it. */
static void fold_open_lists(struct mt_machine *m, size_t at)
{
    while (m->stack.n >= at + 3 && (m->stack.n - at) % 2 == 1 &&
           is_list(m, m->stack.v[m->stack.n - 2]) && is_list(m, m->stack.v[m->stack.n - 1])) {
        if (mt_machine_append(m, m->stack.n - 1) != MT_OK) {
            return;
        }
    }
}

/* Closes the container under the last mark with what it has; a record that is not whole goes. */
static enum mt_status close_one(struct mt_machine *m)
{
    size_t at;
    MT_TRY(mt_machine_pop_mark(m, &at));
    if (at == 0 || at > m->stack.n) {
        m->stack.n = at < m->stack.n ? at : m->stack.n;
        return MT_OK;
    }
    mt_word below = m->stack.v[at - 1];
    enum mt_tag tag = mt_word_tag(below);
    bool dict = tag == MT_TAG_FRESH_DICT ||
                (tag == MT_TAG_CONTAINER && mt_container_of(m, below)->kind == MT_CONTAINER_DICT);
    if (!dict) {
        return mt_machine_append(m, at);
    }
    fold_open_lists(m, at);
    m->stack.n -= (m->stack.n - at) % 2;
    if (at > 1) { /* only the top dictionary is worth something in pieces */
        m->stack.n = at - 1;
        return MT_OK;
    }
    return mt_machine_set(m, at, false);
}

enum mt_status mt_machine_close_all(struct mt_machine *m)
{
    while (m->marks.n) {
        size_t at = m->marks.v[m->marks.n - 1];
        if (close_one(m) != MT_OK) {
            if (m->err->code == MT_NOMEM) {
                return m->err->code;
            }
            m->stack.n = at ? at - 1 : 0; /* what cannot be closed is not whole */
        }
    }
    return MT_OK;
}

enum mt_status mt_machine_finish(struct mt_machine *m)
{
    if (m->stack.n == 0) {
        return mt_fail(m->err, MT_FORMAT, m->offset, "not a memory snapshot (no value in it)");
    }
    mt_word w = m->stack.v[0];
    enum mt_tag tag = mt_word_tag(w);
    if (tag == MT_TAG_FRESH_LIST) {
        return mt_schema_top_list(m, 0, 0);
    }
    if (tag == MT_TAG_CONTAINER) {
        const struct mt_container *c = mt_container_of(m, w);
        if (c->kind == MT_CONTAINER_DICT) {
            return mt_schema_top(m, c->items.v, c->items.n / 2);
        }
        if (c->kind == MT_CONTAINER_RANGE && c->record == MT_TAG_SEGMENT) {
            return mt_schema_top_list(m, c->first, c->n);
        }
    }
    return mt_fail(m->err, MT_FORMAT, m->offset, "not a memory snapshot (%s at the top)",
                   mt_machine_describe(m, w));
}
