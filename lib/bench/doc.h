/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_DOC_H
#define TLSKIT_BENCH_DOC_H

#include "lib/bench/host.h"
#include "lib/bench/row.h"

/* A run: who measured, on what, and the rows. Filled by a bench, or read back by
 * lib/report. */

struct doc_library {
	char *name, *version; /* "GnuTLS", "3.8.9" */
};

struct doc {
	char *command; /* "bench-ciphers"; the schema is tlskit/<command>/1 */
	char *tool; /* "tlskit 0.1.0" */
	char *arguments; /* the command line, to run it again */
	int64_t started_ms; /* epoch */
	double duration_s;
	bool interrupted;
	struct doc_library *libraries;
	size_t n_libraries;
	struct host *host; /* NULL: unknown */
	/* clock{}: how it was timed */
	double clock_resolution_ns; /* smallest step of the monotonic clock that was seen */
	double clock_overhead_ns; /* of one reading of the thread's processor time */
	double sample_s; /* aimed at */
	unsigned n_samples; /* a row */
	struct row **rows;
	size_t n_rows;
	char **advice; /* lines for people, at the end */
	size_t n_advice;
};

struct doc *doc_new(const char *command); /* NULL: no memory */
void doc_free(struct doc *d); /* with its rows; NULL is fine */

int doc_add_library(struct doc *d, const char *name, const char *version); /* -1: no memory */
int doc_add_row(struct doc *d, struct row *r); /* takes it over, on failure too */
int doc_add_advice(struct doc *d, const char *text);
const struct row *doc_find(const struct doc *d, const char *id);

/* Copies text into an owned string, replacing the one there. -1: no memory. */
int doc_set(char **place, const char *text);

#endif
