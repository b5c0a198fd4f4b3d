/* SPDX-License-Identifier: MIT */
/* Private to capture: capture --pid from the question to the file. */
#ifndef MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_SESSION_H
#define MEMTOOL_VERBS_CAPTURE_ATTACH_ATTACH_SESSION_H

#include "cli/command.h"
#include "verbs/capture/attach/attach.h"

struct mt_attach_request {
    pid_t pid;
    bool record;       /* switch the recording on and wait; else what is there, at once */
    int64_t record_us; /* how long, at most */
    int64_t steps;     /* of an optimizer, 0: by time alone */
    int64_t begin_us;  /* how long the process may take to come to a safe point */
    bool tensors;
    int64_t max_entries;
    const char *stacks;
    const char *output; /* -o as given, NULL: not */
    bool force;
    enum mt_attach_way way;
};

/* Does it; says what came of it. Returns the exit code. */
int mt_attach_session(struct mt_cli *cli, const struct mt_common *common,
                      const struct mt_attach_request *request);

/* What the script told in the file `result`. */
struct mt_attach_result {
    bool ok, was_recording;
    uint64_t steps, tensors;
    double stopped_ms;
    char refusal[24]; /* "no-torch", "no-cuda", "no-steps" */
    char failure[200];
};
void mt_attach_result_read(struct mt_attach_result *out, const char *text);

#endif
