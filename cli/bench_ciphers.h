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
};

/* The rows that options and operands ask for, in the document's order. */
struct ciphers_rows {
	struct ciphers_choice *v; /* owned */
	size_t n;
	bool accel_on, accel_off; /* what --accel asks for */
};

/* bench_ciphers_rows.c. -1 with ERR_CONFIG: an unknown name (with near ones), a
 * size that is none, nothing that fits. */
int bench_ciphers_choose(const struct ciphers_options *o, const struct opt_list *names, struct ciphers_rows *out,
	struct err *e);
void bench_ciphers_rows_free(struct ciphers_rows *r);

/* An empty row with id and params; NULL: no memory. */
struct row *bench_ciphers_row(const struct ciphers_choice *c);

/* Rows of an algorithm that a preset names and no engine has go to the document as
 * unavailable. bench_ciphers_preset.c. */
int bench_ciphers_preset_choose(const struct ciphers_options *o, struct ciphers_rows *out, struct err *e);
int bench_ciphers_preset_fill(struct doc *d);
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
 * --accel and output; adds its rows to d. */
int bench_ciphers_accel_run(struct doc *d, const struct ciphers_options *o, const struct opt_list *names, struct err *e);

#endif
