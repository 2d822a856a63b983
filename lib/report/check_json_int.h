/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_CHECK_JSON_INT_H
#define TLSKIT_REPORT_CHECK_JSON_INT_H

#include "lib/report/check_int.h"
#include "lib/report/json_int.h"

/* What the files that write a check as JSON share. NULL: no memory. */

json_t *check_json_time(int64_t epoch_s); /* -1 is unknown */
json_t *check_json_epoch(int64_t epoch_s);
json_t *check_json_number(double v); /* with three decimals at most */

/* As one line, flushed. Takes o over; NULL: no memory. 0 or -1. */
int check_json_write(FILE *out, json_t *o);

/* Takes v over, and the array when it fails. */
json_t *check_json_append(json_t *array, json_t *v);

/* Members of the document (check_json_chain.c). */
json_t *check_json_verify(const struct check *c);
json_t *check_json_sent(const struct check *c);
json_t *check_json_chain(const struct check *c);

#endif
