/* SPDX-License-Identifier: MIT */
/*
 * Every key of a snapshot that memtool knows, once. The order gives each key's bit in the `present`
 * sets of the model; the columns after the name are the type, the PyTorch release that began to
 * write it, and what it is good for: sizes and addresses are made of what is NEEDed, and a value of
 * another type there is an error; what is only SHOWn never refuses a file (mt_odd in model.h).
 * memtool-snapshot(5) prints the same table.
 */
#ifndef MEMTOOL_TORCH_KEYS_H
#define MEMTOOL_TORCH_KEYS_H

/* name, type, since, use */
#define MT_EVENT_KEYS(X)                                                                           \
    X(action, STR, "2.0", SHOW)                                                                    \
    X(addr, U64, "2.0", NEED)                                                                      \
    X(device_free, U64, "2.0", SHOW)                                                               \
    X(size, U64, "2.0", NEED)                                                                      \
    X(stream, U64, "2.0", SHOW)                                                                    \
    X(time_us, I64, "2.2", SHOW)                                                                   \
    X(compile_context, STR, "2.8", SHOW)                                                           \
    X(user_metadata, STR, "2.10", SHOW)                                                            \
    X(internal_metadata, STR, "2.14", SHOW)                                                        \
    X(pool_id, POOL, "2.12", SHOW)                                                                 \
    X(frames, STACK, "2.0", SHOW)                                                                  \
    X(category, STR, "2.1", SHOW)

#define MT_SEGMENT_KEYS(X)                                                                         \
    X(device, I64, "1.10", NEED)                                                                   \
    X(address, U64, "1.10", NEED)                                                                  \
    X(total_size, U64, "1.10", NEED)                                                               \
    X(allocated_size, U64, "1.10", SHOW)                                                           \
    X(active_size, U64, "1.10", SHOW)                                                              \
    X(requested_size, U64, "2.0", SHOW)                                                            \
    X(stream, U64, "1.10", SHOW)                                                                   \
    X(segment_type, STR, "1.10", SHOW)                                                             \
    X(segment_pool_id, POOL, "2.1", SHOW)                                                          \
    X(is_expandable, BOOL, "2.1", SHOW)                                                            \
    X(frames, STACK, "2.1", SHOW)                                                                  \
    X(blocks, BLOCKS, "1.10", NEED)

#define MT_BLOCK_KEYS(X)                                                                           \
    X(address, U64, "2.1", NEED)                                                                   \
    X(size, U64, "1.10", NEED)                                                                     \
    X(requested_size, U64, "2.0", SHOW)                                                            \
    X(state, STR, "1.10", SHOW)                                                                    \
    X(frames, STACK, "2.1", SHOW)                                                                  \
    X(history, HISTORY, "1.13", SHOW)

#define MT_HISTORY_KEYS(X)                                                                         \
    X(addr, U64, "1.13", NEED)                                                                     \
    X(real_size, U64, "1.13", NEED)                                                                \
    X(frames, STACK, "1.13", SHOW)

#define MT_FRAME_KEYS(X)                                                                           \
    X(name, STR, "1.13", SHOW)                                                                     \
    X(filename, STR, "1.13", SHOW)                                                                 \
    X(line, I64, "1.13", SHOW)

#define MT_ANNOTATION_KEYS(X)                                                                      \
    X(stage, STR, "2.5", SHOW)                                                                     \
    X(name, STR, "2.5", SHOW)                                                                      \
    X(device, I64, "2.5", SHOW)                                                                    \
    X(time_us, I64, "2.5", SHOW)

#define MT_TOP_KEYS(X)                                                                             \
    X(segments, SEGMENTS, "2.0", NEED)                                                             \
    X(device_traces, TRACES, "2.0", NEED)                                                          \
    X(allocator_settings, VALUE, "2.3", SHOW)                                                      \
    X(external_annotations, ANNOTATIONS, "2.5", SHOW)                                              \
    X(host_segments, SEGMENTS, "2.14", SHOW)                                                       \
    X(host_traces, TRACES, "2.14", SHOW)                                                           \
    X(memtool, VALUE, "memtool", SHOW)

/* What memtool capture --tensors adds at the top, and the reader finds among the unknown keys. */
#define MT_TENSORS_KEY "memtool_tensors"
/* What stands in front of the labels of memtool capture --modules. */
#define MT_MODULE_PREFIX "module "
#define MT_OPTIMIZER_PREFIX "optimizer "

#define X(name, type, since, use) MT_EVENT_KEY_##name,
enum mt_event_key { MT_EVENT_KEYS(X) MT_EVENT_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_SEGMENT_KEY_##name,
enum mt_segment_key { MT_SEGMENT_KEYS(X) MT_SEGMENT_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_BLOCK_KEY_##name,
enum mt_block_key { MT_BLOCK_KEYS(X) MT_BLOCK_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_HISTORY_KEY_##name,
enum mt_history_key { MT_HISTORY_KEYS(X) MT_HISTORY_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_FRAME_KEY_##name,
enum mt_frame_key { MT_FRAME_KEYS(X) MT_FRAME_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_ANNOTATION_KEY_##name,
enum mt_annotation_key { MT_ANNOTATION_KEYS(X) MT_ANNOTATION_KEY_COUNT };
#undef X
#define X(name, type, since, use) MT_TOP_KEY_##name,
enum mt_top_key { MT_TOP_KEYS(X) MT_TOP_KEY_COUNT };
#undef X

/* In a `present` set: the address was written as a negative number (C++ writer, addresses above
 * 2^63). */
#define MT_PRESENT_NEGATIVE_ADDR_EVENT (1u << MT_EVENT_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_SEGMENT (1u << MT_SEGMENT_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_BLOCK (1u << MT_BLOCK_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_HISTORY (1u << MT_HISTORY_KEY_COUNT)

#endif
