/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_FAKE_BENCH_H
#define TLSKIT_TESTS_FAKE_BENCH_H

#include "lib/bench/bench.h"
#include "lib/bench/bench_int.h"

/* Cases that only move a clock of ours, so that every count and every figure is
 * known beforehand. Criterion gives each test a process, and so a world, of its
 * own. */

#define FAKE_MAX  8
#define FAKE_RUNS 4096

struct fake_case {
	uint64_t wall_ns, cpu_ns; /* an iteration; 3 ms */
	bool spin; /* it does something indeed; for the real clocks */
	/* Which call of it, from 1, fails (for lack of something), fails, or comes
	 * along with Ctrl-C; 0: none */
	unsigned unavailable, fail_open, fail_run, stop_open, stop_run;
	void (*in_run)(unsigned call); /* at the end of each */
	_Atomic unsigned opened, runs, closed;
};

struct fake_world {
	_Atomic uint64_t wall_ns;
	uint64_t step_ns, cpu_read_ns; /* what a reading of either clock takes */
	struct host_moment state;
	unsigned moments; /* read */
	atomic_bool stop;
	/* 4 samples of 30 ms, which is 10 iterations of 3 ms. The warm-up's runs are of
	 * 1 (3 ms) and then of 10 until 50 ms are over: 3, 33, 63. */
	struct bench_plan plan;
	struct fake_case fakes[FAKE_MAX];
	struct bench_case cases[FAKE_MAX];
	unsigned n_cases;
	struct doc *doc;
	struct {
		unsigned fake;
		uint64_t n;
	} calls[FAKE_RUNS]; /* each run of one thread: whose, and how many iterations */
	unsigned n_calls;
	unsigned turns[FAKE_RUNS]; /* whose, in order of their ends */
	unsigned n_turns;
	struct bench_source real; /* what bench_source was */
};

#define FAKE_WARM_UP 3 /* runs */

extern struct fake_world fake;
extern _Thread_local uint64_t fake_cpu_ns;
extern _Thread_local uint64_t fake_ahead_ns; /* of the wall clock, where this thread sees it */

void fake_set_up(void); /* of a test suite */
void fake_tear_down(void);

/* A case of one thread whose iterations are worth 1000. */
struct fake_case *fake_add(const char *id);
struct host *fake_add_host(int cores_usable); /* to the document */
void fake_run(void); /* bench_run of all */

void fake_expect_near(double got, double want);
/* reason: NULL for none */
void fake_expect_row(unsigned i, enum row_status status, const char *reason, size_t n_samples, unsigned flags);

#endif
