/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <memtool/version.h>

int main(void)
{
    puts("memtool " MT_VERSION);
    return 0;
}
