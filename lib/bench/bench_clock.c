/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* How samples are timed.
 *
 * The wall clock is CLOCK_MONOTONIC: NTP steers its second towards the true one,
 * by 0.05 % at most while it catches up, which no sample shows, so that rates of
 * two machines are of the same second. CLOCK_MONOTONIC_RAW runs with the board's
 * crystal and is a system call on older ARM kernels. */

#include "lib/bench/bench_int.h"

#include <math.h>
#include <time.h>

#include "lib/base/clock.h"

#define STEPS	    100 /* of the clock, to find the smallest among */
#define MAX_READS   100000 /* with a clock of milliseconds those take too long to wait for */
#define BATCHES	    5
#define BATCH_READS 1000

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

struct bench_source bench_source = { clock_mono_ns, thread_cpu_ns, host_moment_read };

static double smallest_step(void)
{
	uint64_t before = bench_source.wall_ns(), now;
	double smallest = NAN;
	unsigned reads, steps = 0;

	for (reads = 0; reads < MAX_READS && steps < STEPS; reads++, before = now) {
		now = bench_source.wall_ns();
		if (now <= before)
			continue;
		smallest = fmin(smallest, (double)(now - before));
		steps++;
	}
	return smallest;
}

/* The least of a few batches: what interrupts one of them is not the clock's. */
static double cpu_read_cost(void)
{
	double least = NAN;
	unsigned batch, i;

	for (batch = 0; batch < BATCHES; batch++) {
		uint64_t start = bench_source.wall_ns(), end;

		for (i = 0; i < BATCH_READS; i++)
			bench_source.cpu_ns();
		end = bench_source.wall_ns();
		if (end > start)
			least = fmin(least, (double)(end - start) / BATCH_READS);
	}
	return least;
}

void bench_clock_facts(struct doc *d)
{
	d->clock_resolution_ns = smallest_step();
	d->clock_overhead_ns = cpu_read_cost();
}
