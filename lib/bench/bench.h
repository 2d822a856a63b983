/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_BENCH_H
#define TLSKIT_BENCH_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/bench/doc.h"

/* Runs cases and makes rows of them: warm-up, calibration, samples of all cases
 * in turns, with the processor's state around each. Nothing here knows what is
 * measured. */

/* What is measured: one row. One object a thread. */
struct bench_case {
	struct row *row; /* to be filled; the runner's only once it is in the document */
	unsigned threads; /* at least 1 */
	double amount; /* what one iteration is worth in the row's unit: bytes, or 1 operation */
	const void *what; /* for open; borrowed */
	/* A thread's own object, on that thread. Checks what it can before anything
	 * is timed (known answers, one round trip). NULL with e: the row is an error
	 * row (ERR_CONFIG: unavailable) and the others go on. */
	void *(*open)(const void *what, unsigned thread, struct err *e);
	/* n iterations. Every return code inside is looked at: -1 with e ends the row. */
	int (*run)(void *object, uint64_t n, struct err *e);
	void (*close)(void *object);
};

struct bench_plan {
	unsigned samples; /* a row, at least 1 */
	double sample_s; /* aimed at, a sample */
	double warmup_s; /* of each row, once; calibration is part of it */
	const atomic_bool *stop; /* set by Ctrl-C: what is finished stays; NULL: none */
	/* Progress, every so often and at most a few times a second; NULL: none. done
	 * and total are seconds of measuring, by plan; what: the row's id. */
	void (*progress)(void *arg, double done_s, double total_s, const char *what);
	void *progress_arg;
};

/* Seconds that a plan takes for so many cases, to be told before it starts. */
double bench_estimate(const struct bench_plan *p, unsigned n_cases);

/* Runs them: round after round, in each round every case once, so that a machine
 * that slows down does so for all rows alike. Each case is opened when its first
 * turn comes and stays open (a case with `threads` > 1 has threads that wait for
 * their turns). Every row ends in d, in the order of the cases, whatever became
 * of it. 0, or -1 with e when nothing could be run at all (no memory). An
 * interruption is no failure: d->interrupted. */
int bench_run(struct bench_case *cases, unsigned n, const struct bench_plan *p, struct doc *d, struct err *e);

#endif
