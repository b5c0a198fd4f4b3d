/* SPDX-License-Identifier: MIT */
/*
 * Makes C of files, at build time: embed NAME FILE [FILE...] writes an array with the
 * files one behind the other, and the SHA-256 of it in base64, for the page's
 * Content-Security-Policy (FIPS 180-4).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    unsigned char *p;
    size_t n;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void add_file(struct text *t, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        die(path);
    }
    for (;;) {
        t->p = realloc(t->p, t->n + 65536);
        if (!t->p) {
            die("memory");
        }
        size_t got = fread(t->p + t->n, 1, 65536, f);
        t->n += got;
        if (got == 0) {
            break;
        }
    }
    fclose(f);
}

/* ---- SHA-256 ---- */

/* The fractional parts of the roots of the first primes, as the standard defines its constants. */
static uint32_t root_bits(double (*root)(unsigned), unsigned prime)
{
    double x = root(prime);
    return (uint32_t)((x - (double)(uint64_t)x) * 4294967296.0);
}

/* Newton's method: exact to the 32 bits that are needed. */
static double square_root(unsigned n)
{
    double x = n;
    for (int i = 0; i < 60; i++) {
        x = (x + n / x) / 2;
    }
    return x;
}

static double cube_root(unsigned n)
{
    double x = n;
    for (int i = 0; i < 90; i++) {
        x = (2 * x + n / (x * x)) / 3;
    }
    return x;
}

static uint32_t turn(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static void schedule(const unsigned char *block, uint32_t w[64])
{
    for (unsigned i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

static void compress(uint32_t state[8], const uint32_t k[64], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t v[8];
    schedule(block, w);
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t t1 = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                      ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t t2 = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

static void constants(uint32_t state[8], uint32_t k[64])
{
    unsigned found = 0;
    for (unsigned n = 2; found < 64; n++) {
        unsigned d = 2;
        while (d * d <= n && n % d) {
            d++;
        }
        if (d * d <= n) {
            continue;
        }
        if (found < 8) {
            state[found] = root_bits(square_root, n);
        }
        k[found++] = root_bits(cube_root, n);
    }
}

static void sha256(struct text t, unsigned char digest[32])
{
    uint32_t state[8];
    uint32_t k[64];
    unsigned char last[128] = {0};
    constants(state, k);
    size_t whole = t.n / 64 * 64;
    for (size_t i = 0; i < whole; i += 64) {
        compress(state, k, t.p + i);
    }
    size_t rest = t.n - whole;
    memcpy(last, t.p + whole, rest);
    last[rest] = 0x80;
    size_t size = rest < 56 ? 64 : 128;
    for (unsigned i = 0; i < 8; i++) {
        last[size - 1 - i] = (unsigned char)((uint64_t)t.n * 8 >> (8 * i));
    }
    for (size_t i = 0; i < size; i += 64) {
        compress(state, k, last + i);
    }
    for (unsigned i = 0; i < 32; i++) {
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

static void print_base64(const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0u) |
                        (i + 2 < n ? p[i + 2] : 0u);
        for (size_t j = 0; j < 4; j++) {
            putchar(i + j > n ? '=' : digits[bits >> (18 - 6 * j) & 63]);
        }
    }
}

int main(int argc, char **argv)
{
    struct text t = {0};
    unsigned char digest[32];
    if (argc < 3) {
        fputs("usage: embed NAME FILE...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        add_file(&t, argv[i]);
    }
    sha256(t, digest);
    printf("const char mt_embedded_%s_sha256[] = \"sha256-", argv[1]);
    print_base64(digest, sizeof digest);
    printf("\";\nconst unsigned char mt_embedded_%s[] = {", argv[1]);
    for (size_t i = 0; i < t.n; i++) {
        printf("%s%u,", i % 24 ? "" : "\n", t.p[i]);
    }
    printf("\n};\nconst size_t mt_embedded_%s_n = sizeof mt_embedded_%s;\n", argv[1], argv[1]);
    free(t.p);
    return 0;
}
