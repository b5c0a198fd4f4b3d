/* SPDX-License-Identifier: MIT */
/* Writing in a thread of the program: what cannot be written is no reason to end the program. */
#ifndef MEMTOOL_LIVE_CORE_QUIET_WRITE_H
#define MEMTOOL_LIVE_CORE_QUIET_WRITE_H

#include <signal.h>
#include <stddef.h>
#include <sys/uio.h>

/* Between both, the calling thread gets no SIGXFSZ (a file that may grow no further) and no SIGPIPE
 * (nobody reads any more) for what it writes; one that the program waits with itself stays. */
struct mt_quiet {
    sigset_t before, pending;
};
void mt_quiet_begin(struct mt_quiet *q);
void mt_quiet_end(const struct mt_quiet *q);

/* One writev between both. What could not be written is lost. Async-signal-safe. */
void mt_quiet_write(int fd, const struct iovec *parts, int n);

#endif
