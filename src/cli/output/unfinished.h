/* SPDX-License-Identifier: MIT */
/* A file that is being written and has not got its name yet. */
#ifndef MEMTOOL_CLI_OUTPUT_UNFINISHED_H
#define MEMTOOL_CLI_OUTPUT_UNFINISHED_H

#include "cli/command.h"

/*
 * Begins o->path. Where the file system can, the file has no name at all and vanishes with the
 * process, whatever ends it; elsewhere (NFS, Lustre) it has a hidden one, which signals remove.
 * Returns its descriptor for the stream, -1 with errno when there is none.
 */
int mt_unfinished_open(struct mt_cli_output *o);

/* Gives it the name o->path, after the stream was closed; with o->force over an older file, whose
 * mode it then has if that was the user's own (a symbolic link is replaced itself). False
 * with errno, and the file is gone: EEXIST when there is one and no force. */
bool mt_unfinished_name(struct mt_cli_output *o);

/* Lets it go. */
void mt_unfinished_drop(struct mt_cli_output *o);

/* Removes `path` (borrowed until mt_interrupt_keeps) when a signal ends the process. */
void mt_interrupt_removes(const char *path);
void mt_interrupt_keeps(const char *path);

#endif
