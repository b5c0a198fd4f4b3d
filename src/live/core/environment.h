/* SPDX-License-Identifier: MIT */
/* The library's settings, which are its environment. */
#ifndef MEMTOOL_LIVE_CORE_ENVIRONMENT_H
#define MEMTOOL_LIVE_CORE_ENVIRONMENT_H

/* A variable's value now; where the program has removed it since (clearenv), what it was when the
 * library was loaded. NULL when it is not set. `name` is one of environment.c's list. Do not free.
 */
const char *mt_live_env(const char *name);

#endif
