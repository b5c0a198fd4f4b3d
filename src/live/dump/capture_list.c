/* SPDX-License-Identifier: MIT */
/* One write, so that records of several processes do not mix. */
#include "live/core/quiet_write.h"
#include "live/dump/capture_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "live/dump/whole_file.h"

void mt_capture_list_tell(const char *list, const char *word, const char *path)
{
    char record[MT_WHOLE_PATH_MAX + 64];
    int fd = list ? open(list, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) {
        return;
    }
    int n = snprintf(record, sizeof record, "%s\t%ld%s%s", word, (long)getpid(), path ? "\t" : "",
                     path ? path : "");
    if (n > 0 && (size_t)n < sizeof record) {
        mt_quiet_write(fd, &(struct iovec){record, (size_t)n + 1}, 1);
    }
    close(fd);
}
