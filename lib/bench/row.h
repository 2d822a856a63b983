/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_ROW_H
#define TLSKIT_BENCH_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bench/stats.h"

/* What a benchmark found: rows, in the words of the JSON document (schema
 * tlskit/bench-NAME/1). All three benches make them, lib/report prints, stores and
 * compares them. Unknown is NULL or NAN here and null there, never 0.
 *
 * Strings of a row and of a document are owned (row_set_* and doc_* copy). */

enum row_status { ROW_OK, ROW_ERROR, ROW_UNAVAILABLE, ROW_SKIPPED }; /* skipped: interrupted before it */

enum row_flag {
	ROW_NOISY = 1 << 0, /* MAD above 2 % of the median */
	ROW_OFF_CPU = 1 << 1, /* one thread had the processor for less than 98 % of the time */
	ROW_STEAL = 1 << 2, /* the hypervisor took time away meanwhile */
	ROW_FREQUENCY = 1 << 3, /* the clock frequency moved meanwhile */
	ROW_THROTTLED = 1 << 4, /* the processor was throttled meanwhile (heat, voltage) */
	ROW_OUTLIERS = 1 << 5, /* samples beyond three deviations */
	ROW_OVERCOMMITTED = 1 << 6, /* more threads than processors */
	ROW_FEW = 1 << 7, /* fewer samples than asked for: interrupted */
};

/* What was measured, by name: params of the JSON, in the order of the table. */
struct row_param {
	char *name; /* "size_bytes" */
	char *text; /* NULL: a number */
	double number; /* whole numbers are printed as such */
};

/* What a TLS connection agreed on; NULL members: not known or not there. */
struct row_negotiated {
	char *version, *suite, *group, *signature, *dataplane;
	long cert_bits; /* -1: unknown */
	int resumed; /* 0, 1, -1 unknown */
};

/* Nanoseconds. */
struct row_latency {
	uint64_t count, min, p50, p90, p99, p999, max;
	double mean;
};

/* Bytes a connection; -1: unknown. */
struct row_mem {
	int64_t client_bytes, server_bytes;
};

/* The processor around this row; NAN: unknown. */
struct row_env {
	double freq_before_hz, freq_after_hz;
	double temp_before_c, temp_after_c;
	double steal_s; /* of all processors, meanwhile */
};

struct row {
	char *id; /* unique in a document, the same for the same thing measured */
	char *kind; /* "aead", "record", "handshake", ... */
	char *title; /* of the row, for people: "AES-128-GCM" */
	enum row_status status;
	char *reason; /* of a status that is not ok */
	struct row_param *params;
	size_t n_params;
	struct row_negotiated *negotiated; /* NULL: none */
	char *unit; /* "bytes/s", "operations/s": more is better */
	double *samples;
	size_t n_samples;
	struct stats stats; /* of the samples */
	double cpu_s, wall_s; /* of all samples together */
	struct row_latency *latency;
	struct row_mem *mem;
	struct row_env env;
	unsigned flags;
};

/* A row without samples, status ok. NULL: no memory. */
struct row *row_new(const char *id, const char *kind, const char *title, const char *unit);
void row_free(struct row *r); /* NULL is fine */

int row_param_text(struct row *r, const char *name, const char *text); /* -1: no memory, like the next ones */
int row_param_number(struct row *r, const char *name, double number);
int row_fail(struct row *r, enum row_status status, const char *reason);
int row_add_sample(struct row *r, double rate);

/* Computes stats and the flags that follow from samples and times alone (noisy,
 * outliers, off-cpu when `threads` is 1); other flags stay. */
int row_finish(struct row *r, unsigned threads);

/* A param's text or number by name; NULL, NAN: not there or not of that type. */
const char *row_text(const struct row *r, const char *name);
double row_number(const struct row *r, const char *name);

/* "noisy", ... for one flag; NULL: no such flag. And back, 0: unknown. */
const char *row_flag_name(unsigned flag);
unsigned row_flag_of(const char *name);
const char *row_status_name(enum row_status status); /* "ok", "error", "unavailable", "skipped" */
int row_status_of(const char *name); /* -1: unknown */

#endif
