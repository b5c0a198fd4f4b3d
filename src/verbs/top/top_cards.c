/* SPDX-License-Identifier: MIT */
/* Cards and the processes on them, from NVML, which is loaded when asked for, else from nvidia-smi.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame.h"
#include "support/units.h"
#include "verbs/top/top.h"

enum { MOST_CARDS = 64, MOST_USERS = 256 };

static void push_card(struct mt_top_cards *cards, struct mt_top_card card)
{
    if (!mt_vec_push(&cards->list, card)) {
        mt_cli_die_nomem();
    }
}

static void push_user(struct mt_top_cards *cards, struct mt_top_user user)
{
    if (!mt_vec_push(&cards->users, user)) {
        mt_cli_die_nomem();
    }
}

/* ---- NVML ---- */

#ifndef MT_STATIC

struct nvml_memory { /* nvmlMemory_t */
    unsigned long long total, free, used;
};
struct nvml_process { /* nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3 */
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute_instance;
};

static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void nvml_open(struct mt_top_cards *cards)
{
    int (*init)(void) = NULL;
    cards->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!cards->library) {
        snprintf(cards->why, sizeof cards->why,
                 "there is no libnvidia-ml.so.1, which comes with NVIDIA's driver");
    } else if (!find(cards->library, "nvmlInit_v2", &init) || init() != 0) {
        snprintf(cards->why, sizeof cards->why,
                 "NVML does not start: nvidia-smi says why the driver does not answer");
    }
}

static void read_card(struct mt_top_cards *cards, unsigned index, void *device)
{
    struct mt_top_card card = {.index = index, .name = "?"};
    struct nvml_memory m = {0};
    int (*name)(void *, char *, unsigned) = NULL, (*uuid)(void *, char *, unsigned) = NULL;
    int (*memory)(void *, struct nvml_memory *) = NULL;
    if (find(cards->library, "nvmlDeviceGetName", &name)) {
        name(device, card.name, sizeof card.name);
    }
    if (find(cards->library, "nvmlDeviceGetUUID", &uuid)) {
        uuid(device, card.uuid, sizeof card.uuid);
    }
    if (find(cards->library, "nvmlDeviceGetMemoryInfo", &memory) && memory(device, &m) == 0) {
        card.total = m.total;
        card.used = m.used;
        card.free = m.free;
    }
    push_card(cards, card);
}

static void read_users(struct mt_top_cards *cards, unsigned index, void *device)
{
    struct nvml_process list[MOST_USERS];
    unsigned n = MOST_USERS;
    int (*running)(void *, unsigned *, struct nvml_process *) = NULL;
    if (!find(cards->library, "nvmlDeviceGetComputeRunningProcesses_v3", &running) ||
        running(device, &n, list) != 0) {
        return;
    }
    for (unsigned i = 0; i < n && i < MOST_USERS; i++) {
        push_user(cards, (struct mt_top_user){.pid = (pid_t)list[i].pid,
                                              .card = index,
                                              .known = list[i].used != UINT64_MAX,
                                              .used = list[i].used});
    }
}

static void nvml_read(struct mt_top_cards *cards)
{
    int (*count)(unsigned *) = NULL, (*handle)(unsigned, void **) = NULL;
    unsigned n = 0;
    if (!find(cards->library, "nvmlDeviceGetCount_v2", &count) ||
        !find(cards->library, "nvmlDeviceGetHandleByIndex_v2", &handle) || count(&n) != 0) {
        return;
    }
    for (unsigned i = 0; i < n && i < MOST_CARDS; i++) {
        void *device = NULL;
        if (handle(i, &device) == 0) {
            read_card(cards, i, device);
            read_users(cards, i, device);
        }
    }
}

static void nvml_close(struct mt_top_cards *cards)
{
    int (*shut_down)(void) = NULL;
    if (find(cards->library, "nvmlShutdown", &shut_down)) {
        shut_down();
    }
}

#else /* a program without a dynamic linker cannot load anything */

static void nvml_open(struct mt_top_cards *cards)
{
    snprintf(cards->why, sizeof cards->why,
             "this memtool is linked statically and cannot load NVML; nvidia-smi does not answer");
}

static void nvml_read(struct mt_top_cards *cards)
{
    (void)cards;
}

static void nvml_close(struct mt_top_cards *cards)
{
    (void)cards;
}

#endif

/* ---- nvidia-smi ---- */

static void smi_card(struct mt_top_cards *cards, const char *line)
{
    struct mt_top_card card = {0};
    unsigned long long total, used, free_mib;
    if (sscanf(line, "%u, %95[^,], %llu, %llu, %llu, %95[^\n]", &card.index, card.uuid, &total,
               &used, &free_mib, card.name) == 6) {
        card.total = MT_MIB * total;
        card.used = MT_MIB * used;
        card.free = MT_MIB * free_mib;
    } else if (sscanf(line, "%u, %95[^,], %*[^,], %*[^,], %*[^,], %95[^\n]", &card.index, card.uuid,
                      card.name) != 3) {
        return;
    }
    push_card(cards, card);
}

static void smi_user(struct mt_top_cards *cards, const char *line)
{
    long pid;
    char uuid[96];
    unsigned long long used = 0;
    int n = sscanf(line, "%ld, %95[^,], %llu", &pid, uuid, &used);
    for (size_t i = 0; n >= 2 && i < cards->list.n; i++) {
        if (strcmp(cards->list.v[i].uuid, uuid) == 0) {
            push_user(cards, (struct mt_top_user){.pid = (pid_t)pid,
                                                  .card = cards->list.v[i].index,
                                                  .known = n == 3,
                                                  .used = MT_MIB * used});
        }
    }
}

static void smi_ask(struct mt_top_cards *cards, const char *query,
                    void (*take)(struct mt_top_cards *cards, const char *line))
{
    const char *const argv[] = {"nvidia-smi", query, "--format=csv,noheader,nounits", NULL};
    struct mt_buf said = {0};
    if (mt_attach_helper(argv, &said) == 0 && !said.failed) {
        for (char *line = said.p, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            take(cards, line);
        }
    }
    mt_buf_release(&said);
}

static void smi_read(struct mt_top_cards *cards)
{
    smi_ask(cards, "--query-gpu=index,uuid,memory.total,memory.used,memory.free,name", smi_card);
    if (cards->list.n > 0) {
        smi_ask(cards, "--query-compute-apps=pid,gpu_uuid,used_memory", smi_user);
    }
}

/* ---- either ---- */

void mt_top_cards_open(struct mt_top_cards *cards)
{
    *cards = (struct mt_top_cards){0};
    nvml_open(cards);
    if (cards->why[0]) {
        smi_read(cards);
        cards->by_smi = cards->list.n > 0;
    }
    if (cards->by_smi) {
        cards->why[0] = '\0';
    }
}

void mt_top_cards_read(struct mt_top_cards *cards)
{
    cards->list.n = cards->users.n = 0;
    if (cards->by_smi) {
        smi_read(cards);
    } else if (!cards->why[0]) {
        nvml_read(cards);
    }
}

void mt_top_cards_close(struct mt_top_cards *cards)
{
    if (!cards->why[0] && !cards->by_smi) {
        nvml_close(cards);
    }
    mt_vec_release(&cards->list);
    mt_vec_release(&cards->users);
}
