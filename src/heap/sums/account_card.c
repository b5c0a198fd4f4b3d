/* SPDX-License-Identifier: MIT */
/*
 * What the card itself reports, and who else is on it. One row more or less than the card reports
 * is not hidden: the figures are taken at different moments, and a wrong one should be seen.
 */
#include "heap/sums/account_finder.h"
#include "heap/sums/own_key.h"
#include "support/checked.h"
#include "support/units.h"

void mt_account_figures_find(struct mt_account_finder *f, const struct mt_account_figures *given)
{
    struct mt_account *a = f->a;
    uint64_t total, left;
    if (mt_own_key_bytes(f->s, f->own, "total_bytes", &total) && total > 0) {
        a->total_known = true;
        a->total = total;
        if (given->after == 0 && mt_own_key_bytes(f->s, f->own, "free_dump_bytes", &left) &&
            left <= total) {
            a->used_known = true;
            a->used = total - left;
            a->source = "the snapshot";
        }
    }
    const struct mt_smi_gpu *gpu = given->smi ? mt_smi_gpu_find(given->smi, a->device) : NULL;
    if (gpu && gpu->total_known && gpu->total > 0) {
        a->total_known = true;
        a->total = gpu->total;
    }
    if (given->total_known) {
        a->total_known = true;
        a->total = given->total;
    }
    if (given->free_known && a->total_known && given->free <= a->total) {
        a->used_known = true;
        a->used = a->total - given->free;
        a->source = "the snapshot";
    } else if (given->used_known || (gpu && gpu->used_known)) {
        uint64_t used = given->used_known ? given->used : gpu->used;
        if (a->total_known && used > a->total) {
            a->beyond = used;
            return;
        }
        a->used_known = true;
        a->used = used;
        a->source = given->source;
    }
}

static bool is_here(const struct mt_account *a, const struct mt_smi *smi,
                    const struct mt_smi_process *p)
{
    const struct mt_smi_gpu *gpu = mt_smi_gpu_find(smi, a->device);
    return smi->gpus.n <= 1 || p->index < 0 || (gpu && gpu->index == p->index);
}

/*
 * The snapshot does not know its process id, and in a container nvidia-smi has another for it: the
 * process that holds at least what was seen, and least beyond it, is ours (nvidia-smi rounds to
 * MiB). NULL: none does.
 */
static const struct mt_smi_process *own_process(const struct mt_account *a,
                                                const struct mt_smi *smi)
{
    const struct mt_smi_process *best = NULL;
    for (size_t i = 0; i < smi->processes.n; i++) {
        const struct mt_smi_process *p = &smi->processes.v[i];
        bool enough = mt_add_sat(p->bytes, MT_MIB) >= a->process;
        if (is_here(a, smi, p) && enough && (!best || p->bytes < best->bytes)) {
            best = p;
        }
    }
    return best;
}

static bool add_process(struct mt_account_finder *f, const struct mt_smi_process *p)
{
    struct mt_buf b = {0};
    mt_buf_printf(&b, "process %lld", (long long)p->pid);
    if (p->name.n > 0) {
        mt_buf_text(&b, ", ");
        mt_buf_str(&b, p->name);
    }
    bool fine =
        !b.failed && mt_account_add_sum(f, MT_OWNER_OTHER_PROCESS, mt_buf_view(&b), p->bytes);
    mt_buf_release(&b);
    return fine;
}

bool mt_account_processes(struct mt_account_finder *f, const struct mt_smi *smi, bool *any)
{
    struct mt_account *a = f->a;
    const struct mt_smi_process *own = smi && a->process > 0 ? own_process(a, smi) : NULL;
    bool fine = true;
    for (size_t i = 0; smi && fine && i < smi->processes.n; i++) {
        const struct mt_smi_process *p = &smi->processes.v[i];
        if (is_here(a, smi, p)) {
            *any = true;
            fine = p == own || add_process(f, p);
        }
    }
    a->own_is_missing = *any && !own && a->process > 0;
    if (own) {
        a->own_is_inferred = true;
        uint64_t rest = mt_sub_sat(own->bytes, a->process);
        a->process = mt_add_sat(a->process, rest);
        bool context = mt_account_sum(a, MT_OWNER_CONTEXT) > 0;
        fine = fine &&
               mt_account_add_sum(f, MT_OWNER_OUTSIDE,
                                  context ? MT_STR("this process, not seen: code of kernels, "
                                                   "libraries")
                                  : a->recorded.watched
                                      ? MT_STR("this process, not seen: context, code of kernels")
                                      : MT_STR("this process, outside the allocator: context, "
                                               "libraries"),
                                  rest);
    }
    return fine;
}

/* ---- the rest ---- */

/* What may be in it depends on what was told apart before. */
static struct mt_str name_of_rest(const struct mt_account_finder *f, bool processes)
{
    uint64_t start;
    if (f->a->over) {
        return MT_STR("seen beyond what the card reports");
    }
    if (processes) {
        return MT_STR("in no process of the list");
    }
    if (f->a->recorded.watched) {
        return mt_own_key_bytes(f->s, f->own, "free_start_bytes", &start)
                   ? MT_STR("since the recording began")
                   : MT_STR("context, code of kernels, other processes");
    }
    return f->a->recorded.plain || f->a->recorded.cached
               ? MT_STR("outside the allocator: context, libraries, other "
                        "processes")
               : MT_STR("outside PyTorch's allocator: context, libraries, other "
                        "processes");
}

bool mt_account_rest(struct mt_account_finder *f, bool processes)
{
    struct mt_account *a = f->a;
    if (!a->used_known) {
        return true;
    }
    a->over = a->seen > a->used;
    const struct mt_owner rest = {.kind = MT_OWNER_UNEXPLAINED,
                                  .name = name_of_rest(f, processes),
                                  .bytes = a->over ? a->seen - a->used : a->used - a->seen};
    return rest.bytes == 0 || mt_vec_push(&a->rows, rest);
}
