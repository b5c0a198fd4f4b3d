/* SPDX-License-Identifier: MIT */
/*
 * The list in which the processes under memtool capture tell it what they wrote and how far they
 * came: records of WORD TAB PID, or WORD TAB PID TAB PATH, each with a NUL behind, for a path may
 * hold any other byte. sitecustomize.py writes the same.
 */
#ifndef MEMTOOL_LIVE_DUMP_CAPTURE_LIST_H
#define MEMTOOL_LIVE_DUMP_CAPTURE_LIST_H

/* Appends a record to the file `list`, which may be NULL: nothing is told then. `path` may be NULL.
 * Calls nothing but open, write and close. */
void mt_capture_list_tell(const char *list, const char *word, const char *path);

#endif
