/* SPDX-License-Identifier: MIT */
/* The only file that uses compiler extensions: attributes, branch hints, assertions. */
#ifndef MEMTOOL_SUPPORT_COMPILER_H
#define MEMTOOL_SUPPORT_COMPILER_H

#define MT_NODISCARD __attribute__((warn_unused_result))
#define MT_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#define MT_NORETURN __attribute__((noreturn))
#define MT_LIKELY(x) __builtin_expect(!!(x), 1)
#define MT_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For a function on a hot way that has several callers: the compiler would not by itself. */
#define MT_INLINE static inline __attribute__((always_inline))
/* Hot functions of a library stand side by side in it. */
#define MT_HOT __attribute__((hot))
#define MT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The part of an array that begins at `first`. An empty array is NULL, to which C lets nothing be
 * added, not even 0. */
#define MT_PART(array, first) ((array) ? (array) + (first) : NULL)

/* Says where on stderr and aborts. For what only a bug in memtool can bring about, never for input.
 */
MT_NORETURN void mt_bug(const char *file, int line, const char *what);

/* Kept in every build: cheap checks of memtool's own promises. */
#define MT_ASSERT(x) (MT_LIKELY(x) ? (void)0 : mt_bug(__FILE__, __LINE__, #x))

#endif
