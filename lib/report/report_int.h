/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_REPORT_INT_H
#define TLSKIT_REPORT_REPORT_INT_H

#include "lib/report/report.h"

/* What the files of lib/report share. */

/* --- a format each: 0, or -1 with e when memory ran out; report_flush tells what the
 * stream did ----------------------------------------------------------------------- */

int report_text(FILE *out, const struct doc *d, const struct report_style *s, struct err *e);
int report_json(FILE *out, const struct doc *d, struct err *e);
int report_csv(FILE *out, const struct doc *d, struct err *e);
int report_markdown(FILE *out, const struct doc *d, const struct report_style *s, struct err *e);
int report_svg(FILE *out, const struct doc *d, const struct report_style *s, struct err *e);

int report_no_memory(struct err *e); /* -1 */
int report_flush(FILE *out, struct err *e); /* -1: something could not be written; errno was 0 at the start */

/* --- words and numbers ------------------------------------------------------------ */

/* A copy for terminals: what they would act on and what is not UTF-8 becomes '?'
 * (files may come from anywhere). NULL gives "". NULL: no memory. */
char *report_clean(const char *text);

#define REPORT_NUMBER_SIZE 32
/* The shortest decimal that reads back as the same number; "" when it is not
 * finite. Returns out. */
char *report_number(double v, char out[REPORT_NUMBER_SIZE]);

/* Clean text from column on, lines of width (0: any) that go on at indent, and a
 * newline. A word is never broken. */
void report_wrap(FILE *out, int width, int indent, int column, const char *text);

/* One unit for many values: they are divided by it and printed with as many
 * decimals as the least of them needs for three digits. */
struct report_scale {
	const char *name; /* "MB/s" */
	double divisor;
	int decimals;
	char space[48]; /* room for a name that had to be made */
};

/* middle: a value that should read well; least: the smallest that is not 0. */
void report_scale_rate(struct report_scale *s, const char *unit, enum report_unit u, double middle, double least);
void report_scale_ns(struct report_scale *s, double middle, double least);
void report_scale_bytes(struct report_scale *s, double middle, double least);

#define REPORT_VALUE_SIZE 64
/* A param for people: "16 KiB" for size_bytes, "500 ms" for pause_ms. The text
 * itself, or out; NULL: an unknown number. */
const char *report_param_value(const struct row_param *p, char out[REPORT_VALUE_SIZE]);
/* And its name without the unit: "size". Returns out. */
char *report_param_label(const char *name, char out[REPORT_VALUE_SIZE]);

/* The facts of the run for people, in a fixed order, the unknown ones left out.
 * -1: no memory. */
int report_facts(const struct doc *d, void (*each)(void *arg, const char *label, const char *text), void *arg);

/* The marks of flags: a letter each, in out. */
#define REPORT_MARKS_SIZE 16
char *report_marks(unsigned flags, char out[REPORT_MARKS_SIZE]);
const char *report_mark_meaning(unsigned flag);
unsigned report_flags_of(const struct doc *d); /* of all rows that are ok */

/* --- tables ------------------------------------------------------------------------ */

/* What stays when room is short: columns with the least go first, those with the
 * same together. */
enum report_keep {
	REPORT_KEEP_DETAIL = 10,
	REPORT_KEEP_RANGE = 20,
	REPORT_KEEP_LATENCY = 40,
	REPORT_KEEP_AGREED = 50,
	REPORT_KEEP_SPREAD = 60,
	REPORT_KEEP_PARAM = 70, /* these and above stay until names are cut */
	REPORT_KEEP_ALWAYS = 100,
};

enum report_tint { REPORT_PLAIN, REPORT_GOOD, REPORT_BAD, REPORT_DOUBTFUL };

struct report_column {
	char *head;
	bool right; /* aligned to it */
	int keep;
	int width; /* of the text; -1: left out */
};

struct report_line {
	char **cells; /* NULL: empty */
	char *rest; /* instead of the cells from rest_from on: "error: ..." */
	size_t rest_from;
	enum report_tint tint; /* of the rest, or else of the last cell */
};

/* Columns first, then lines. Memory that ran out shows in `failed` alone: what
 * follows does nothing. Starts as zeros. */
struct report_table {
	struct report_column *columns;
	size_t n_columns;
	struct report_line *lines;
	size_t n_lines;
	bool failed;
};

size_t report_table_column(struct report_table *t, const char *head, bool right, int keep); /* its number */
void report_table_line(struct report_table *t, enum report_tint tint);
/* In the last line; the text is cleaned. */
void report_table_cell(struct report_table *t, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void report_table_rest(struct report_table *t, size_t from, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void report_table_text(struct report_table *t, FILE *out, const struct report_style *s);
void report_table_markdown(const struct report_table *t, FILE *out);
void report_table_free(struct report_table *t);

/* Text in Markdown: clean, and nothing in it acts. */
void report_markdown_text(FILE *out, const char *text);
/* A field of CSV, quoted where RFC 4180 asks for it. */
void report_csv_field(FILE *out, const char *text);

/* --- rows of one kind and unit -------------------------------------------------------- */

struct report_group {
	const struct row **rows;
	size_t n;
};

struct report_groups {
	const struct row **rows; /* of all groups */
	struct report_group *groups; /* in the order of the document, as their rows are */
	size_t n;
};

/* A param of rows, or something that they agreed on. */
struct report_trait {
	const char *name;
	size_t agreed; /* which, from 1; 0: a param */
	bool numbers; /* all values are */
	size_t column; /* of the table; 0: none */
};

struct report_traits {
	struct report_trait *all;
	size_t n;
};

/* All of the group's, `all` owned. -1: no memory. */
int report_traits_of(const struct report_group *g, struct report_traits *out);
/* A row's, in space or the row's own. NULL: it has none. */
const char *report_trait_value(const struct report_trait *t, const struct row *r, char space[REPORT_VALUE_SIZE]);
/* The value that all rows share; NULL when they do not. */
const char *report_trait_common(const struct report_trait *t, const struct report_group *g,
	char space[REPORT_VALUE_SIZE]);

int report_groups_of(const struct doc *d, struct report_groups *out); /* -1: no memory */
void report_groups_free(struct report_groups *g);
/* The group's table, and its kind with what all rows have in common: "aead: size
 * 16 KiB, threads 1"; owned. NULL: no memory, also for the table. */
char *report_group_table(const struct report_group *g, const struct report_style *s, struct report_table *t);

/* report_read, of bytes in memory; name is for messages. */
struct doc *report_parse(const char *name, const char *data, size_t size, const char *command, struct err *e);
/* "2026-11-30T18:49:32.624Z" to epoch milliseconds; -1: not of that form. */
int64_t report_time_parse(const char *text);

/* --- comparisons ------------------------------------------------------------------------- */

/* "same", "better", ... */
const char *report_verdict_name(enum report_verdict v);
/* Why there is no verdict; NULL: there is one. */
const char *report_change_reason(const struct report_change *c);
int report_comparison_json(FILE *out, const struct report_comparison *c, struct err *e); /* -1: no memory */

#endif
