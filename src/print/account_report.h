/* SPDX-License-Identifier: MIT */
/* The account of a card as a part of other reports. */
#ifndef MEMTOOL_PRINT_ACCOUNT_REPORT_H
#define MEMTOOL_PRINT_ACCOUNT_REPORT_H

#include "heap/sums/account.h"
#include "print/report_json.h"

/* A table with a heading, largest first, unexplained last, summing to what the card reports.
 * Nothing for NULL, and where only the allocator is known. Errors: MT_NOMEM. */
enum mt_status mt_account_text(const struct mt_report *r, const struct mt_account *a,
                               struct mt_error *err) MT_NODISCARD;

/* The key "account" of `o`; null for NULL. */
void mt_out_account(struct mt_out o, const struct mt_account *a);

/* "9.77 GiB of 80.00 GiB in use: PyTorch's caching allocator 9.00 GiB, NCCL 500.00 MiB, ..." for
 * one line; nothing where mt_account_is_whole is false. */
void mt_account_line(struct mt_buf *b, const struct mt_report *r, const struct mt_account *a);

#endif
