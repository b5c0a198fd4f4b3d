/* SPDX-License-Identifier: MIT */
/* Cards and the processes on them, from NVML, which is loaded when asked for. */
#include <dlfcn.h>
#include <string.h>

#include "cli/frame.h"
#include "verbs/top/top.h"

enum { MOST_CARDS = 64, MOST_USERS = 256 };

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

void mt_top_cards_open(struct mt_top_cards *cards)
{
    int (*init)(void) = NULL;
    *cards = (struct mt_top_cards){0};
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
    if (!mt_vec_push(&cards->list, card)) {
        mt_cli_die_nomem();
    }
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
        struct mt_top_user user = {.pid = (pid_t)list[i].pid,
                                   .card = index,
                                   .known = list[i].used != UINT64_MAX,
                                   .used = list[i].used};
        if (!mt_vec_push(&cards->users, user)) {
            mt_cli_die_nomem();
        }
    }
}

void mt_top_cards_read(struct mt_top_cards *cards)
{
    int (*count)(unsigned *) = NULL, (*handle)(unsigned, void **) = NULL;
    unsigned n = 0;
    cards->list.n = cards->users.n = 0;
    if (cards->why[0] || !find(cards->library, "nvmlDeviceGetCount_v2", &count) ||
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

void mt_top_cards_close(struct mt_top_cards *cards)
{
    int (*shut_down)(void) = NULL;
    if (!cards->why[0] && find(cards->library, "nvmlShutdown", &shut_down)) {
        shut_down();
    }
    mt_vec_release(&cards->list);
    mt_vec_release(&cards->users);
}

#else /* a program without a dynamic linker cannot load anything */

void mt_top_cards_open(struct mt_top_cards *cards)
{
    *cards = (struct mt_top_cards){0};
    snprintf(cards->why, sizeof cards->why,
             "this memtool is linked statically and cannot load NVML");
}

void mt_top_cards_read(struct mt_top_cards *cards)
{
    (void)cards;
}

void mt_top_cards_close(struct mt_top_cards *cards)
{
    mt_vec_release(&cards->list);
    mt_vec_release(&cards->users);
}

#endif
