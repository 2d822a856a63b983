/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/bench/bench.h"
#include "tests/unit/fake_bench.h"
#include "tests/unit/timeout.h"

/* Cases of more than one thread. */

TestSuite(bench_threads, .init = fake_set_up, .fini = fake_tear_down, .timeout = TEST_TIMEOUT);

#define THREADS 3

static pthread_barrier_t meeting;
static _Atomic unsigned thread_runs[THREADS], thread_opens[THREADS], thread_closes[THREADS];
static _Atomic unsigned on_other_threads;
static unsigned failing_thread = UINT_MAX;
static enum err_kind failing_kind;
static bool failing_open;

struct object {
	unsigned thread;
	pthread_t opener;
};

static void *meet_open(const void *what, unsigned thread, struct err *e)
{
	struct object *o;

	(void)what;
	cr_assert_lt(thread, THREADS);
	if (failing_open && thread == failing_thread) {
		err_set(e, failing_kind, "thread %u has none", thread);
		return NULL;
	}
	o = malloc(sizeof(*o));
	cr_assert_not_null(o);
	*o = (struct object){ thread, pthread_self() };
	thread_opens[thread]++;
	return o;
}

/* Waits for all the others in it: nobody gets past unless all run at once. The
 * thread in the middle is the slowest, the others take no time. */
static int meet_run(void *object, uint64_t n, struct err *e)
{
	struct object *o = object;

	pthread_barrier_wait(&meeting);
	on_other_threads += !pthread_equal(o->opener, pthread_self());
	thread_runs[o->thread]++;
	if (o->thread == 1)
		fake_ahead_ns = n * 3 * NS_PER_MS;
	fake_cpu_ns += n * (o->thread + 1) * NS_PER_MS;
	return o->thread >= failing_thread ? err_set(e, ERR_IO, "thread %u: broken", o->thread) : 0;
}

static void meet_close(void *object)
{
	struct object *o = object;

	on_other_threads += !pthread_equal(o->opener, pthread_self());
	thread_closes[o->thread]++;
	free(o);
}

static void run_meeting(void)
{
	unsigned i;

	cr_assert_eq(pthread_barrier_init(&meeting, NULL, THREADS), 0);
	fake_add("meeting");
	fake.cases[0].threads = THREADS;
	fake.cases[0].open = meet_open;
	fake.cases[0].run = meet_run;
	fake.cases[0].close = meet_close;
	fake_run();
	cr_expect_eq(on_other_threads, 0, "an object stays on its thread");
	for (i = 0; i < THREADS; i++)
		cr_expect_eq(thread_opens[i], thread_closes[i], "thread %u", i);
	pthread_barrier_destroy(&meeting);
}

Test(bench_threads, threads_run_at_once)
{
	unsigned i;

	run_meeting();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	for (i = 0; i < THREADS; i++) {
		cr_expect_eq(thread_opens[i], 4, "once a turn");
		cr_expect_eq(thread_runs[i], FAKE_WARM_UP + 1 + 3 * 2, "thread %u: %u", i, thread_runs[i]);
	}
	/* 3 threads of 10 iterations in the 30 ms of the slowest; 10, 20 and 30 ms */
	fake_expect_near(fake.doc->rows[0]->samples[0], 1000 * 3 * 10 / 0.03);
	fake_expect_near(fake.doc->rows[0]->samples[3], 1000 * 3 * 10 / 0.03);
	fake_expect_near(fake.doc->rows[0]->wall_s, 4 * 0.03);
	fake_expect_near(fake.doc->rows[0]->cpu_s, 4 * 0.06);
}

Test(bench_threads, more_threads_than_cores_are_told)
{
	fake_add_host(THREADS - 1);
	run_meeting();
	fake_expect_row(0, ROW_OK, NULL, 4, ROW_OVERCOMMITTED);
}

Test(bench_threads, as_many_threads_as_cores)
{
	fake_add_host(THREADS);
	run_meeting();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
}

Test(bench_threads, one_thread_that_cannot_open_is_enough)
{
	failing_open = true;
	failing_thread = 1;
	failing_kind = ERR_CONFIG;
	run_meeting();
	fake_expect_row(0, ROW_UNAVAILABLE, "thread 1 has none", 0, 0);
	cr_expect(thread_opens[0] == 1 && thread_opens[1] == 0 && thread_opens[2] == 1);
	cr_expect_eq(thread_runs[0], 0);
}

Test(bench_threads, the_first_thread_that_fails_is_told)
{
	failing_thread = 1; /* and 2 */
	run_meeting();
	fake_expect_row(0, ROW_ERROR, "thread 1: broken", 0, 0);
	cr_expect_eq(thread_runs[2], 1);
}
