/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_BENCH_INT_H
#define TLSKIT_BENCH_BENCH_INT_H

#include "lib/bench/bench.h"

/* Where time and the machine's state come from. Tests put a clock of their own
 * here before bench_run; nothing else writes it. */
struct bench_source {
	uint64_t (*wall_ns)(void); /* any thread */
	uint64_t (*cpu_ns)(void); /* of the calling thread */
	void (*moment)(const char *root, struct host_moment *m);
};

extern struct bench_source bench_source;

/* Measures the clocks themselves; NAN where a clock does not move. */
void bench_clock_facts(struct doc *d);

/* A case's threads with their objects, for one turn. The caller's thread is the
 * first of them. */
struct bench_team;

struct bench_lap {
	uint64_t wall_ns; /* from the common start to the end of the last thread */
	uint64_t cpu_ns; /* of all threads together, inside run */
};

/* Starts the threads and opens an object on each. NULL with e. */
struct bench_team *bench_team_open(const struct bench_case *c, struct err *e);
/* n iterations on every thread at once. -1 with e, of the first thread that failed. */
int bench_team_run(struct bench_team *t, uint64_t n, struct bench_lap *lap, struct err *e);
void bench_team_close(struct bench_team *t);

#endif
