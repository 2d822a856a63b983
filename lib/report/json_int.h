/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_JSON_INT_H
#define TLSKIT_REPORT_JSON_INT_H

#include <jansson.h>

#include "lib/report/report.h"

/* What the files that write and read JSON share. */

/* --- values; NULL: no memory ---------------------------------------------------- */

/* JSON has no other bytes than UTF-8; what is none becomes U+FFFD. NULL is null. */
json_t *report_json_text(const char *text);
/* Whole numbers as such. What is not finite is null. */
json_t *report_json_number(double v);

/* --- reading ---------------------------------------------------------------------- */

#define REPORT_LARGEST 1e18 /* of numbers: more is no rate, and a page wide */

struct report_reader {
	const char *file; /* for messages */
	struct err *e;
	char where[64]; /* "rows[3].latency.": what stands before a member's name */
	json_t *ids, *params; /* names seen so far, as members */
};

/* "FILE: rows[3].KEY ...". -1, ERR_CONFIG. */
int report_wrong(struct report_reader *r, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Members of o. One that is missing or null leaves *out as it is, but for objects
 * and arrays, which are NULL then. -1 with an error that says where. */
int report_get_text(struct report_reader *r, const json_t *o, const char *key, char **out);
int report_get_number(struct report_reader *r, const json_t *o, const char *key, double least, double *out);
int report_get_integer(struct report_reader *r, const json_t *o, const char *key, int64_t most, int64_t *out);
int report_get_bool(struct report_reader *r, const json_t *o, const char *key, int *out);
int report_get_object(struct report_reader *r, const json_t *o, const char *key, json_t **out);
int report_get_array(struct report_reader *r, const json_t *o, const char *key, size_t most, json_t **out);
/* A string that must be there and say something; borrowed. */
int report_need_text(struct report_reader *r, const json_t *o, const char *key, const char **out);

/* The row, for the caller to free on failure too. */
int report_read_row(struct report_reader *r, json_t *o, struct row **out);

#endif
