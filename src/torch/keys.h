/* SPDX-License-Identifier: MIT */
/*
 * Every key of a snapshot that memtool knows, once. The order gives each key's bit in the `present`
 * sets of the model; the columns after the name are the type and the PyTorch release that began to
 * write it. memtool-snapshot(5) prints the same table.
 */
#ifndef MEMTOOL_TORCH_KEYS_H
#define MEMTOOL_TORCH_KEYS_H

/* name, type, since */
#define MT_EVENT_KEYS(X)                                                                           \
    X(action, STR, "2.0")                                                                          \
    X(addr, U64, "2.0")                                                                            \
    X(device_free, U64, "2.0")                                                                     \
    X(size, U64, "2.0")                                                                            \
    X(stream, U64, "2.0")                                                                          \
    X(time_us, I64, "2.2")                                                                         \
    X(compile_context, STR, "2.8")                                                                 \
    X(user_metadata, STR, "2.10")                                                                  \
    X(internal_metadata, STR, "2.14")                                                              \
    X(pool_id, POOL, "2.12")                                                                       \
    X(frames, STACK, "2.0")                                                                        \
    X(category, STR, "2.1")

#define MT_SEGMENT_KEYS(X)                                                                         \
    X(device, I64, "1.10")                                                                         \
    X(address, U64, "1.10")                                                                        \
    X(total_size, U64, "1.10")                                                                     \
    X(allocated_size, U64, "1.10")                                                                 \
    X(active_size, U64, "1.10")                                                                    \
    X(requested_size, U64, "2.0")                                                                  \
    X(stream, U64, "1.10")                                                                         \
    X(segment_type, STR, "1.10")                                                                   \
    X(segment_pool_id, POOL, "2.1")                                                                \
    X(is_expandable, BOOL, "2.1")                                                                  \
    X(frames, STACK, "2.1")                                                                        \
    X(blocks, BLOCKS, "1.10")

#define MT_BLOCK_KEYS(X)                                                                           \
    X(address, U64, "2.1")                                                                         \
    X(size, U64, "1.10")                                                                           \
    X(requested_size, U64, "2.0")                                                                  \
    X(state, STR, "1.10")                                                                          \
    X(frames, STACK, "2.1")                                                                        \
    X(history, HISTORY, "1.13")

#define MT_HISTORY_KEYS(X)                                                                         \
    X(addr, U64, "1.13")                                                                           \
    X(real_size, U64, "1.13")                                                                      \
    X(frames, STACK, "1.13")

#define MT_FRAME_KEYS(X)                                                                           \
    X(name, STR, "1.13")                                                                           \
    X(filename, STR, "1.13")                                                                       \
    X(line, I64, "1.13")

#define MT_ANNOTATION_KEYS(X)                                                                      \
    X(stage, STR, "2.5")                                                                           \
    X(name, STR, "2.5")                                                                            \
    X(device, I64, "2.5")                                                                          \
    X(time_us, I64, "2.5")

#define MT_TOP_KEYS(X)                                                                             \
    X(segments, SEGMENTS, "2.0")                                                                   \
    X(device_traces, TRACES, "2.0")                                                                \
    X(allocator_settings, VALUE, "2.3")                                                            \
    X(external_annotations, ANNOTATIONS, "2.5")                                                    \
    X(host_segments, SEGMENTS, "2.14")                                                             \
    X(host_traces, TRACES, "2.14")                                                                 \
    X(memtool, VALUE, "memtool")

#define X(name, type, since) MT_EVENT_KEY_##name,
enum mt_event_key { MT_EVENT_KEYS(X) MT_EVENT_KEY_COUNT };
#undef X
#define X(name, type, since) MT_SEGMENT_KEY_##name,
enum mt_segment_key { MT_SEGMENT_KEYS(X) MT_SEGMENT_KEY_COUNT };
#undef X
#define X(name, type, since) MT_BLOCK_KEY_##name,
enum mt_block_key { MT_BLOCK_KEYS(X) MT_BLOCK_KEY_COUNT };
#undef X
#define X(name, type, since) MT_HISTORY_KEY_##name,
enum mt_history_key { MT_HISTORY_KEYS(X) MT_HISTORY_KEY_COUNT };
#undef X
#define X(name, type, since) MT_FRAME_KEY_##name,
enum mt_frame_key { MT_FRAME_KEYS(X) MT_FRAME_KEY_COUNT };
#undef X
#define X(name, type, since) MT_ANNOTATION_KEY_##name,
enum mt_annotation_key { MT_ANNOTATION_KEYS(X) MT_ANNOTATION_KEY_COUNT };
#undef X
#define X(name, type, since) MT_TOP_KEY_##name,
enum mt_top_key { MT_TOP_KEYS(X) MT_TOP_KEY_COUNT };
#undef X

/* In a `present` set: the address was written as a negative number (C++ writer, addresses above
 * 2^63). */
#define MT_PRESENT_NEGATIVE_ADDR_EVENT (1u << MT_EVENT_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_SEGMENT (1u << MT_SEGMENT_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_BLOCK (1u << MT_BLOCK_KEY_COUNT)
#define MT_PRESENT_NEGATIVE_ADDR_HISTORY (1u << MT_HISTORY_KEY_COUNT)

#endif
