/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_CHECK_INT_H
#define TLSKIT_REPORT_CHECK_INT_H

#include "lib/base/clock.h"
#include "lib/report/check.h"
#include "lib/report/report_int.h"

/* What the files that tell a check share. Texts of a check may hold anything a peer
 * sent: what is written goes through report_clean or a page, which does the same. */

/* --- facts (check.c, check_facts.c) ---------------------------------------------- */

const char *check_message(const struct check_fault *f); /* never NULL */

/* Where in the order of causes a code stands: the least decides. */
int check_rank(int code);
/* The fault that the exit code is of; NULL: there is none. */
const struct check_fault *check_deciding(const struct check *c);

bool check_has_tls(const struct check *c); /* the handshake came to an agreement */

/* When the path's first certificate expires. False: unknown. */
bool check_expiry(const struct check *c, int64_t *epoch_s);
/* Whole days from the moment of the check on, rounded down. False: unknown. */
bool check_days_until(const struct check *c, int64_t epoch_s, int64_t *days);

/* "example.com:443", "[::1]:443"; what was typed where there is no host. Owned;
 * NULL: no memory. */
char *check_name(const struct check *c);

/* "dns:www.example" without what everybody knows. */
const char *check_bare_name(const char *name);

/* The next of the faults' bits that has a name; 0 after the last. Starts with 0. */
unsigned check_next_fault(unsigned faults, unsigned last);

/* "2027-02-19T12:00:00Z", "2027-02-19". -1, which is how an unknown time is written,
 * is "unknown". Return out. */
char *check_time(int64_t epoch_s, char out[CLOCK_RFC3339_SIZE]);
char *check_date(int64_t epoch_s, char out[CLOCK_RFC3339_SIZE]);

#define CHECK_DECIMAL_SIZE 32
/* So many decimals, up to 9, and a point in any locale. "unknown" when it is not
 * finite. Returns out. */
char *check_decimal(double v, int decimals, char out[CHECK_DECIMAL_SIZE]);

/* --- pages of text (check_page.c) --------------------------------------------------- */

/* Lines of words that are wrapped, with marks in colour. Memory that ran out shows in
 * `failed` alone. */
struct check_page {
	FILE *out;
	bool colour;
	bool whole; /* nothing is cut */
	bool failed;
	int width;
	int indent; /* of the lines on which text goes on */
	int column; /* where the line is */
	int pad; /* blanks before it that were not written yet */
	bool fresh; /* no word stands on it yet */
	bool gap; /* an empty line is due before the next */
	FILE *list; /* items that wait for check_page_items */
	char *list_text;
	size_t list_size;
};

#define CHECK_PAGE_LABEL 12 /* the column behind labels */

struct check_page check_page_start(FILE *out, const struct check_style *s);
int check_page_finish(struct check_page *p); /* -1: no memory, or it could not be written */

void check_page_gap(struct check_page *p); /* an empty line, if anything follows */
/* A line: its first column, and that of the lines that follow on it. */
void check_page_line(struct check_page *p, int first, int indent);
void check_page_label(struct check_page *p, const char *label); /* a line behind a label */
/* A line that begins with a label, and its text behind that at the indent. */
void check_page_row(struct check_page *p, int first, int indent, const char *label);
void check_page_mark(struct check_page *p, enum report_tint tint);
void check_page_words(struct check_page *p, const char *text);
void check_page_printf(struct check_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Words that must not take another line: what does not fit is left out. */
void check_page_cut(struct check_page *p, const char *text);
void check_page_end(struct check_page *p);

/* Items are collected, and put with commas between. */
void check_page_item(struct check_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_page_items(struct check_page *p);
void check_page_items_cut(struct check_page *p);

/* --- parts (check_chain.c, check_json_chain.c) ------------------------------------------ */

void check_chain_text(struct check_page *p, const struct check *c, bool full);

#endif
