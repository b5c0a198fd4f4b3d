/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over files, without libFuzzer: replay FILE... or replay @LIST (a file with one
 * name a line). Ends with 0 when none of them crashed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    if (!f) {
        perror(path);
        return 1;
    }
    fprintf(stderr, "%s\n", path);
    for (;;) {
        if (size == room) {
            room = room ? room * 2 : 65536;
            data = realloc(data, room);
            if (!data) {
                abort();
            }
        }
        size_t n = fread(data + size, 1, room - size, f);
        if (n == 0) {
            break;
        }
        size += n;
    }
    fclose(f);
    /* exactly the bytes, so that the sanitizer sees a read beyond them */
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) {
        abort();
    }
    memcpy(exact, data, size);
    free(data);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

static int run_list(const char *list)
{
    char path[4096];
    int bad = 0;
    FILE *f = fopen(list, "r");
    if (!f) {
        perror(list);
        return 1;
    }
    while (fgets(path, sizeof path, f)) {
        path[strcspn(path, "\n")] = '\0';
        bad |= run(path);
    }
    fclose(f);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        bad |= argv[i][0] == '@' ? run_list(argv[i] + 1) : run(argv[i]);
    }
    return bad;
}
