/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_REPORT_H
#define TLSKIT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/bench/doc.h"

/* A document as text, JSON, CSV, Markdown or SVG; read back from JSON; compared
 * with an older one. Rates are stored as they are (bytes/s, operations/s); the
 * unit is for display alone. */

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_MARKDOWN, REPORT_SVG };
enum report_unit { REPORT_UNIT_AUTO, REPORT_UNIT_MB, REPORT_UNIT_MIB, REPORT_UNIT_GBIT };

struct report_style {
	enum report_unit unit;
	int width; /* of the text, in columns; 0: as wide as it gets */
	bool colour; /* text: terminal colours; never in files */
};

/* Writes the whole document. 0, or -1 with e (no memory, write error).
 *
 * CSV is in the long form: a line of names, then a record a sample; a row without
 * samples has one record with "sample" and "value" empty. RFC 4180, but for lines
 * that end in LF. The columns: id, kind, title, status, reason; every param that a
 * row has, by its name in the JSON (param_NAME where a column here is called so);
 * negotiated_version, _suite, _group, _signature, _cert_bits, _resumed (true,
 * false), _dataplane; cpu_s, wall_s; latency_count, latency_min_ns, _mean_ns, _p50_ns,
 * _p90_ns, _p99_ns, _p999_ns, _max_ns; mem_client_bytes, mem_server_bytes; flags
 * with blanks between them; unit; sample (from 0), value. Unknown is empty. */
int report_write(FILE *out, const struct doc *d, enum report_format f, const struct report_style *s, struct err *e);

/* The header (machine, libraries, clock) and the closing lines (marks, advice) as
 * text, for commands with a layout of their own. */
int report_header(FILE *out, const struct doc *d, const struct report_style *s, struct err *e);
int report_footer(FILE *out, const struct doc *d, const struct report_style *s, struct err *e);

/* Reads a document that report_write stored as JSON. command: the one that asks;
 * another's document is refused. NULL with ERR_CONFIG: what is wrong, where, and
 * in which file ("-": standard input). Fields that are not known are ignored;
 * those missing are unknown, but for a row's id, kind, title, status and unit.
 * Everything is checked, at most 16 MiB of it: the file may come from anywhere. */
struct doc *report_read(const char *path, const char *command, struct err *e);

enum report_verdict { REPORT_SAME, REPORT_BETTER, REPORT_WORSE, REPORT_UNSURE, REPORT_REFUSED, REPORT_MISSING };

struct report_change {
	const struct row *base, *now; /* NULL: missing there */
	double ratio; /* now / base, of medians */
	double p; /* of chance */
	enum report_verdict verdict; /* better/worse: significant and beyond the threshold */
	const char *reason; /* of a refusal: "other suite", "error row", ...; static */
};

struct report_comparison {
	const struct doc *base, *now; /* borrowed */
	double threshold;
	struct report_change *changes; /* of now's rows in their order, then those only in base */
	size_t n;
	unsigned worse, better, refused;
	bool other_machine; /* to be warned of */
	char machine_note[256]; /* what differs */
};

/* Rows match by id. Refused are those that failed on a side, have another unit, or
 * agreed on something else: all of struct row_negotiated but the data plane, which
 * is what a newer version may change for itself. threshold: share of the median that
 * a change must exceed to count (0.05); p must be below 0.05. Unsure: with so few
 * samples no difference could be shown. 0 or -1 with e. */
int report_compare(const struct doc *base, const struct doc *now, double threshold, struct report_comparison *out,
	struct err *e);
void report_comparison_free(struct report_comparison *c);
/* As text, JSON (schema tlskit/<command>-compare/1), Markdown or CSV. */
int report_comparison_write(FILE *out, const struct report_comparison *c, enum report_format f,
	const struct report_style *s, struct err *e);

/* A rate for people: "1.23 GB/s", "812 MiB/s", "9.8 Gbit/s", "12.3 k/s"; three
 * significant digits. Returns out. */
char *report_rate(double rate, const char *unit, enum report_unit u, char *out, size_t size);

#endif
