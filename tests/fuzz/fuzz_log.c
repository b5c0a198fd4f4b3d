/* SPDX-License-Identifier: MIT */
/* The log reader: any bytes in pieces of any size give a verdict, the same as in one piece. */
#include <stdlib.h>

#include "triage/triage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds the bytes in pieces and returns the verdict; -1 when they are refused as binary. */
static int verdict(const uint8_t *data, size_t size, size_t chunk)
{
    struct mt_triage_options options = {0};
    struct mt_triage_result result;
    struct mt_error err;
    struct mt_triage *t = mt_triage_new(&options);
    if (!t) {
        return -1;
    }
    enum mt_status status = MT_OK;
    for (size_t at = 0; at < size && status == MT_OK; at += chunk) {
        size_t n = chunk < size - at ? chunk : size - at;
        status = mt_triage_feed(t, data + at, n, &err);
    }
    if (status == MT_OK) {
        status = mt_triage_end(t, &err);
    }
    if (status == MT_OK) {
        status = mt_triage_decide(t, &result, &err);
    }
    int v = status == MT_OK ? (int)result.verdict : -1;
    mt_triage_free(t);
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The first piece decides whether the input is binary, so it is the same in both. */
    int whole = verdict(data, size, size ? size : 1);
    int pieces = verdict(data, size, 8192 + (size ? data[0] : 0u));
    if (whole != pieces) {
        abort();
    }
    return 0;
}
