/* SPDX-License-Identifier: MIT */
/*
 * Dictionaries that were told apart, as records in the builder: n pairs (key, value, key, value
 * ...) in, the record's word out. Errors: MT_FORMAT (a value of the wrong type or out of range),
 * MT_LIMIT, MT_NOMEM.
 */
#ifndef MEMTOOL_SNAPSHOT_SCHEMA_RECORDS_H
#define MEMTOOL_SNAPSHOT_SCHEMA_RECORDS_H

#include "snapshot/schema/machine.h"

typedef enum mt_status mt_record_make(struct mt_machine *m, const mt_word *pairs, size_t n,
                                      mt_word *out);

/* Of a trace: event_record.c. */
mt_record_make mt_record_event;

/* The index of a set of event keys (bits 1 << enum mt_event_key); that of the last event is asked
 * first. Errors: MT_LIMIT, MT_NOMEM. */
enum mt_status mt_record_shape(struct mt_machine *m, uint32_t present, uint32_t action_name,
                               uint8_t *index) MT_NODISCARD;

/* Of the allocator's state, and what both refer to: records.c. A segment stays in the schema until
 * the top level tells device from host. */
mt_record_make mt_record_segment, mt_record_block, mt_record_history;
mt_record_make mt_record_frame, mt_record_annotation;

#endif
