/* SPDX-License-Identifier: MIT */
/* What the program was doing when a message came. */
#ifndef MEMTOOL_TRIAGE_LOG_LOG_PHASE_H
#define MEMTOOL_TRIAGE_LOG_LOG_PHASE_H

#include "support/str.h"
#include "triage/triage.h"

/* What the lines so far tell. Begin with zeroes; feed lines in their order. */
struct mt_phase_state {
    enum mt_phase frame; /* of the innermost frame that tells one */
    bool firm;           /* that frame is not one of the general kind ("forward") */
    enum mt_phase begun; /* by a line that says so, and not ended */
    bool cached;         /* a server's KV cache is there: its profiling run is over */
    bool frame_before;   /* the line before was a frame: its source may follow */
};

/* One squeezed line. */
void mt_phase_take(struct mt_phase_state *s, struct mt_str line);

/* The phase: that of the frames, or of what had begun. */
enum mt_phase mt_phase_of(const struct mt_phase_state *s);

#endif
