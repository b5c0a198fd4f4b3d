/* SPDX-License-Identifier: MIT */
/* The processes that are watched: a thread in each writes its figures where memtool reads them. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame.h"
#include "support/mem.h"
#include "verbs/top/top.h"

void mt_top_name(pid_t pid, char *out, size_t room)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    FILE *f = fopen(path, "re");
    snprintf(out, room, "?");
    if (f && fgets(out, (int)room, f)) {
        out[strcspn(out, "\n")] = '\0';
    }
    if (f) {
        fclose(f);
    }
}

static enum mt_status begin(struct mt_top_watched *w, int64_t interval_us, struct mt_error *err)
{
    enum mt_attach_way used;
    struct mt_buf settings = {0};
    MT_TRY(mt_attach_look(w->pid, &w->target, err));
    MT_TRY(mt_attach_folder_make(&w->folder, &w->target, err));
    mt_buf_printf(&settings, "'interval': %.3f", (double)interval_us / 1e6);
    enum mt_status status =
        mt_attach_folder_script(&w->folder, &settings, mt_embedded_watch, mt_embedded_watch_n, err);
    mt_buf_release(&settings);
    return status == MT_OK ? mt_attach_folder_run(&w->folder, &w->target, MT_ATTACH_ANY, &used, err)
                           : status;
}

static void cannot(struct mt_top_watched *w, const struct mt_error *err)
{
    snprintf(w->why, sizeof w->why, "%s%s%s", err->text, err->hint[0] ? "; " : "", err->hint);
    mt_attach_folder_remove(&w->folder);
}

void mt_top_watch(struct mt_top *top, pid_t pid, int64_t interval_us)
{
    struct mt_top_watched w = {.pid = pid};
    struct mt_error err;
    mt_top_name(pid, w.name, sizeof w.name);
    if (begin(&w, interval_us, &err) != MT_OK) {
        cannot(&w, &err);
    }
    if (!mt_vec_push(&top->watched, w)) {
        mt_cli_die_nomem();
    }
}

static struct mt_top_row *row_of(struct mt_top *top, pid_t pid, int device)
{
    for (size_t i = 0; i < top->rows.n; i++) {
        if (top->rows.v[i].pid == pid && top->rows.v[i].last.device == device) {
            return &top->rows.v[i];
        }
    }
    struct mt_top_row fresh = {.pid = pid};
    if (!mt_vec_push(&top->rows, fresh)) {
        mt_cli_die_nomem();
    }
    return &top->rows.v[top->rows.n - 1];
}

static void read_stats(struct mt_top *top, const struct mt_top_watched *w, char *text)
{
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        struct mt_top_sample s;
        if (end) {
            *end = '\0';
        }
        if (mt_top_sample_parse(line, &s)) {
            mt_top_row_put(row_of(top, w->pid, s.device), &s);
        }
        line = end ? end + 1 : NULL;
    }
}

static void read_result(struct mt_top_watched *w, const char *text)
{
    struct mt_error err;
    if (strncmp(text, "refused\n", 8) == 0) {
        (void)mt_attach_folder_refused(text + 8, w->pid, &err);
    } else {
        (void)mt_fail(&err, MT_IO, MT_NO_OFFSET, "it cannot be watched: %.150s",
                      strchr(text, '\n') ? strchr(text, '\n') + 1 : text);
    }
    cannot(w, &err);
}

static void read_one(struct mt_top *top, struct mt_top_watched *w)
{
    struct mt_buf text = {0};
    mt_attach_folder_read(&w->folder, "result", &text);
    if (text.p[0]) {
        read_result(w, text.p);
    } else {
        mt_attach_folder_read(&w->folder, "stats", &text);
        read_stats(top, w, text.p);
    }
    mt_buf_release(&text);
    struct mt_attach_target now;
    struct mt_error err;
    if (!w->why[0] && mt_attach_look(w->pid, &now, &err) != MT_OK && err.code == MT_NOT_FOUND) {
        w->ended = true;
        cannot(w, &err);
    }
}

void mt_top_read(struct mt_top *top)
{
    for (size_t i = 0; i < top->watched.n; i++) {
        if (!top->watched.v[i].why[0]) {
            read_one(top, &top->watched.v[i]);
        }
    }
    mt_top_cards_read(&top->cards);
}

void mt_top_release(struct mt_top *top)
{
    for (size_t i = 0; i < top->watched.n; i++) {
        mt_attach_folder_remove(&top->watched.v[i].folder);
    }
    mt_vec_release(&top->watched);
    mt_vec_release(&top->rows);
    mt_top_cards_close(&top->cards);
}

const struct mt_top_watched *mt_top_watched_of(const struct mt_top *top, pid_t pid)
{
    for (size_t i = 0; i < top->watched.n; i++) {
        if (top->watched.v[i].pid == pid) {
            return &top->watched.v[i];
        }
    }
    return NULL;
}

/* By its UUID, which PyTorch tells without the "GPU-" in front. */
const struct mt_top_card *mt_top_card_of(const struct mt_top *top, const struct mt_top_row *row)
{
    for (size_t i = 0; i < top->cards.list.n; i++) {
        const struct mt_top_card *card = &top->cards.list.v[i];
        if (row->last.uuid[0] != '-' && strstr(card->uuid, row->last.uuid)) {
            return card;
        }
    }
    return NULL;
}
