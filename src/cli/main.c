/* SPDX-License-Identifier: MIT */
/* The process around one call: dispatch.c does what is asked, and what happened to standard output
 * becomes the exit code. */
#include "cli/frame.h"

int main(int argc, char **argv)
{
    struct mt_cli cli;
    mt_cli_init(&cli);
    return mt_cli_close(&cli, mt_cli_dispatch(&cli, argc, argv));
}
