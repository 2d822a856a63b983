/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <math.h>

#include "lib/base/clock.h"
#include "lib/bench/bench.h"
#include "tests/unit/fake_bench.h"
#include "tests/unit/timeout.h"

/* What of the machine's state is held against a row. */

TestSuite(bench_state, .init = fake_set_up, .fini = fake_tear_down, .timeout = TEST_TIMEOUT);

/* A sample of 10 iterations steals so much; a touch of 1, with what is untimed. */
static double steal_of_sample, steal_of_rest;

static void steal(unsigned call)
{
	bool timed = call > FAKE_WARM_UP && fake.calls[fake.n_calls - 1].n == 10;

	fake.state.steal_s += timed ? steal_of_sample : steal_of_rest;
}

/* 4 samples of 30 ms: 1 % is 1.2 ms, 0.3 ms each. */
Test(bench_state, steal_counts_in_samples_alone)
{
	fake_add("a")->in_run = steal;
	fake.state.steal_s = 1000;
	steal_of_sample = 0.00029;
	steal_of_rest = 5;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	cr_expect(fabs(fake.doc->rows[0]->env.steal_s - 4 * 0.00029) < 1e-9);
}

Test(bench_state, steal_beyond_one_percent_is_told)
{
	fake_add("a")->in_run = steal;
	fake_add("b");
	fake.state.steal_s = 1000;
	steal_of_sample = 0.00031;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, ROW_STEAL);
	fake_expect_row(1, ROW_OK, NULL, 4, 0);
	cr_expect_eq(fake.doc->rows[1]->env.steal_s, 0, "known to be none");
}

Test(bench_state, steal_that_steps_back_is_none)
{
	fake_add("a")->in_run = steal;
	fake.state.steal_s = 1000;
	steal_of_sample = -100;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	cr_expect_eq(fake.doc->rows[0]->env.steal_s, 0);
}

static double freq_step_hz;

static void change_frequency(unsigned call)
{
	fake.state.freq_hz += freq_step_hz;
	fake.state.temp_c = 40 + call;
}

/* 10 runs, of which the 4th is the first sample and the 10th the last one. */
Test(bench_state, state_around_the_samples)
{
	fake_add("a")->in_run = change_frequency;
	fake.state.freq_hz = 1e9;
	freq_step_hz = 0.007e9; /* 1.021 before, 1.070 after: 4.6 % of the latter */
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	fake_expect_near(fake.doc->rows[0]->env.freq_before_hz, 1.021e9);
	fake_expect_near(fake.doc->rows[0]->env.freq_after_hz, 1.070e9);
	cr_expect_eq(fake.doc->rows[0]->env.temp_before_c, 43);
	cr_expect_eq(fake.doc->rows[0]->env.temp_after_c, 50);
	cr_expect_eq(fake.moments, 2 * 4, "before and after each sample, never in it");
	cr_expect(isnan(fake.doc->rows[0]->env.steal_s), "unknown stays unknown");
}

Test(bench_state, frequency_that_moves_is_told)
{
	fake_add("a")->in_run = change_frequency;
	fake.state.freq_hz = 1e9;
	freq_step_hz = -0.008e9; /* 0.976 before, 0.920 after: 5.7 % */
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, ROW_FREQUENCY);
}

/* Down in the second sample and up again by the last: seen all the same. */
static void dip(unsigned call)
{
	fake.state.freq_hz = call == FAKE_WARM_UP + 3 ? 0.6e9 : 1e9;
}

Test(bench_state, frequency_that_comes_back_is_told)
{
	fake_add("a")->in_run = dip;
	fake.state.freq_hz = 1e9;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, ROW_FREQUENCY);
	fake_expect_near(fake.doc->rows[0]->env.freq_after_hz, 1e9);
}

static unsigned throttle_call, throttle_bits;

/* At one call; until the next one, but for what has happened since boot. */
static void throttle(unsigned call)
{
	fake.state.throttled &= ~0u << HOST_HAPPENED_SHIFT;
	if (call == throttle_call)
		fake.state.throttled |= throttle_bits;
}

static void expect_throttled(const char *what, unsigned before, unsigned call, unsigned bits, bool known,
			     unsigned flags)
{
	fake_add(what)->in_run = throttle;
	fake.state.throttled = before;
	fake.state.throttle_known = known;
	throttle_call = call;
	throttle_bits = bits;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, flags);
}

#define SINCE_BOOT(bit) ((unsigned)(bit) << HOST_HAPPENED_SHIFT)

Test(bench_state, throttled_now)
{
	expect_throttled("now", 0, FAKE_WARM_UP + 1, HOST_FREQUENCY_CAPPED, true, ROW_THROTTLED);
}

Test(bench_state, throttled_in_the_warm_up_alone_is_no_matter)
{
	expect_throttled("early", 0, 1, HOST_FREQUENCY_CAPPED, true, 0);
}

Test(bench_state, throttled_during_a_sample)
{
	expect_throttled("meanwhile", 0, FAKE_WARM_UP + 3, SINCE_BOOT(HOST_THROTTLED), true, ROW_THROTTLED);
}

Test(bench_state, throttled_once_since_boot_is_no_matter)
{
	expect_throttled("before", SINCE_BOOT(HOST_UNDER_VOLTAGE), 0, 0, true, 0);
}

Test(bench_state, throttled_between_samples_is_no_matter)
{
	expect_throttled("warm-up", 0, FAKE_WARM_UP, SINCE_BOOT(HOST_THROTTLED), true, 0);
}

Test(bench_state, throttling_that_is_not_known)
{
	expect_throttled("unknown", 0, FAKE_WARM_UP + 1, HOST_THROTTLED, false, 0);
}

Test(bench_state, the_host_is_brought_up_to_date)
{
	char words[256];

	fake_add_host(4);
	fake.state.temp_c = 61;
	expect_throttled("a", SINCE_BOOT(HOST_UNDER_VOLTAGE), FAKE_WARM_UP + 1, HOST_THROTTLED, true, ROW_THROTTLED);
	cr_expect_eq(fake.doc->host->temp_after_c, 61);
	cr_expect_str_eq(fake.doc->host->throttled,
			 host_throttle_text(SINCE_BOOT(HOST_UNDER_VOLTAGE) | HOST_THROTTLED, words, sizeof(words)));
}

Test(bench_state, a_host_that_does_not_tell_keeps_what_it_had)
{
	struct host *h = fake_add_host(-1);

	cr_assert_eq(doc_set(&h->throttled, "no"), 0);
	fake_add("a");
	fake_run();
	cr_expect_str_eq(h->throttled, "no");
	cr_expect(isnan(h->temp_after_c));
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
}
