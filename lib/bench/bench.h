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

/* What is measured: one row. One object a thread.
 *
 * An object lives for one turn: it is opened, a few milliseconds of iterations
 * that nobody times bring caches and clock frequency up (in the row's first turn
 * the warm-up does), a sample is taken, and it is closed. So at any time the
 * objects and threads of one case alone are in memory, however many rows there
 * are, and every sample is of something that was checked anew. What is dear to
 * make (keys, payloads) therefore belongs into `what`. */
struct bench_case {
	struct row *row; /* to be filled; the document's from bench_run on */
	unsigned threads; /* at least 1; the caller's is the first of them */
	double amount; /* what one iteration is worth in the row's unit: bytes, or 1 operation */
	const void *what; /* for open; borrowed */
	/* A thread's own object, on that thread (0, 1, ...). Checks what it can before
	 * anything is timed (known answers, one round trip). NULL with e: the row is
	 * an error row (ERR_CONFIG: unavailable) and the others go on. */
	void *(*open)(const void *what, unsigned thread, struct err *e);
	/* n iterations, on the same thread, all threads at once. Every return code
	 * inside is looked at: -1 with e makes it an error row, and the samples that
	 * were taken before are dropped. */
	int (*run)(void *object, uint64_t n, struct err *e);
	void (*close)(void *object); /* on the same thread; after a run that failed, too */
};

struct bench_plan {
	unsigned samples; /* a row, at least 1 */
	double sample_s; /* aimed at, a sample; one iteration that takes longer is one */
	double warmup_s; /* of each row, once; calibration is part of it */
	double limit_s; /* from the second round on no turn starts later than this: a row keeps
			 * the samples that it has (ROW_FEW); 0: none */
	const atomic_bool *stop; /* set by Ctrl-C: what is finished stays; NULL: none. Seen
				  * between samples, and every 0.1 s of a warm-up */
	/* Progress, on the caller's thread and at most four times a second; NULL: none.
	 * done and total are seconds by plan, total the estimate; what: the row's id.
	 * There is no last call that says done. */
	void (*progress)(void *arg, double done_s, double total_s, const char *what);
	void *progress_arg;
};

/* Seconds that a plan takes for so many cases, to be told before it starts:
 * warm-up, samples, and 10 ms a turn for what is around them. Iterations longer
 * than a sample make it longer; cases that fail, shorter. */
double bench_estimate(const struct bench_plan *p, unsigned n_cases);

/* Runs them: round after round, in each round every case once, so that a machine
 * that slows down does so for all rows alike. Rounds start at different cases and
 * go forwards and backwards in turn.
 *
 * A row whose status is not ok at the start (a preset's that cannot be had here)
 * is passed on as it is, and its case not called.
 *
 * Every row ends in d, in the order of the cases, whatever became of it; an
 * interrupted one keeps its samples (ROW_FEW), without any it is skipped. In d
 * also started_ms (if 0), duration_s, interrupted, the clock and the plan are
 * filled in. With d->host there, threads are held against its cores
 * (ROW_OVERCOMMITTED), and its temperature after and its throttling are brought
 * up to date.
 *
 * 0, or -1 with e when nothing could be run at all (no memory); the rows are no
 * longer the caller's then either. An interruption is no failure. */
int bench_run(struct bench_case *cases, unsigned n, const struct bench_plan *p, struct doc *d, struct err *e);

#endif
