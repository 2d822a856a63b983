/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_BENCH_CIPHERS_H
#define TLSKIT_CLI_BENCH_CIPHERS_H

/* What the files of bench-ciphers share. */

#include "cli/benchopt.h"
#include "lib/crypto/crypto.h"

struct ciphers_options {
	struct benchopt bench;
	struct opt_list engine, kind, size, op, threads, accel;
	int preset; /* enum ciphers_preset */
	bool list;
};

enum ciphers_preset { CIPHERS_NO_PRESET, CIPHERS_GNUTLS_CLI };

/* One row to be. */
struct ciphers_choice {
	const struct crypto_engine *engine;
	const struct crypto_algorithm *algorithm;
	enum crypto_op op;
	size_t size_bytes;
	unsigned threads;
	bool accel; /* with the processor's instructions for it */
	const char *unavailable; /* why it cannot be had here; NULL: it can */
};

/* The rows that options and operands ask for, in the document's order. */
struct ciphers_rows {
	struct ciphers_choice *v; /* owned */
	size_t n;
	size_t n_here; /* the first of them are measured in this process, the others without acceleration */
};

/* bench_ciphers_rows.c. -1 with ERR_CONFIG: an unknown name (with near ones), a
 * size that is none, nothing that fits. */
int bench_ciphers_choose(const struct ciphers_options *o, const struct opt_list *names, struct ciphers_rows *out,
	struct err *e);
void bench_ciphers_rows_free(struct ciphers_rows *r);

/* A row without samples, with id and params; NULL: no memory. */
struct row *bench_ciphers_row(const struct ciphers_choice *c);

/* bench_ciphers_preset.c. An algorithm that a preset names and GnuTLS lacks is an
 * unavailable row. */
int bench_ciphers_preset_choose(const struct ciphers_options *o, struct ciphers_rows *out, struct err *e);
int bench_ciphers_preset_layout(FILE *out, const struct doc *d, struct err *e);

/* Lines of advice for this machine. bench_ciphers_advice.c; -1: no memory. */
int bench_ciphers_advise(struct doc *d);

/* Acceleration off (bench_ciphers_accel.c): the libraries look at their switches when
 * they are loaded, so it takes a process that was started with them. */
bool bench_ciphers_accel_is_off(void);
/* What GnuTLS uses of this machine's processor, in words, into d->host. -1: no
 * memory. */
int bench_ciphers_accel_note(struct doc *d);
/* Runs this program again with acceleration off and the same arguments, but for
 * --accel and output, and adds the rows behind rows->n_here to d. What that process
 * does not deliver is an error row, or skipped where it was interrupted. Between
 * benchopt_watch and benchopt_unwatch. -1: no memory. */
int bench_ciphers_accel_run(struct doc *d, const struct ciphers_options *o, const struct opt_list *names,
	const struct ciphers_rows *rows, struct err *e);

#endif
