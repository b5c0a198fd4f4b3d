/* SPDX-License-Identifier: MIT */
/* See flame_script.h. */
#include "flame_script.h"

const char MT_FLAME_SCRIPT[] = "";
