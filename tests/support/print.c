/* SPDX-License-Identifier: MIT */
/* Reports into memory, by open_memstream. */
#include "print.h"

#include <stdlib.h>

void print_begin(struct print *p)
{
    *p = (struct print){0};
    p->r.out = open_memstream(&p->text, &p->n);
    if (!p->r.out) {
        abort();
    }
    p->r.stack_lines = 1;
}

void print_end(struct print *p)
{
    fclose(p->r.out);
    p->r.out = NULL;
}

void print_free(struct print *p)
{
    free(p->text);
    *p = (struct print){0};
}
