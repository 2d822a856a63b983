/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <math.h>

#include "lib/base/clock.h"
#include "lib/bench/bench.h"
#include "lib/bench/bench_int.h"
#include "tests/unit/fake_bench.h"
#include "tests/unit/timeout.h"

/* What is measured when and how often, and what becomes of it when that fails. */

TestSuite(bench, .init = fake_set_up, .fini = fake_tear_down, .timeout = TEST_TIMEOUT);

/* --- calibration and rates ------------------------------------------------------ */

Test(bench, calibration_and_samples)
{
	static const uint64_t want[] = { 1, 10, 10, /* the warm-up */ 10, /* a touch of 5 ms, and a sample */ 1, 10, 1,
		10, 1, 10 };
	unsigned i;

	fake_add("a")->cpu_ns = 2970000; /* 99 % of the time */
	fake_run();
	cr_assert_eq(fake.n_calls, sizeof(want) / sizeof(*want));
	for (i = 0; i < fake.n_calls; i++)
		cr_expect_eq(fake.calls[i].n, want[i], "run %u: %ju", i, (uintmax_t)fake.calls[i].n);
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	for (i = 0; i < 4; i++)
		fake_expect_near(fake.doc->rows[0]->samples[i], 1000 * 10 / 0.03);
	fake_expect_near(fake.doc->rows[0]->wall_s, 4 * 0.03);
	fake_expect_near(fake.doc->rows[0]->cpu_s, 4 * 0.0297);
	cr_expect_eq(fake.fakes[0].opened, 4, "once a turn");
	cr_expect_not(fake.doc->interrupted);
}

Test(bench, one_iteration_may_last_longer_than_a_sample)
{
	unsigned i;

	fake_add("rsa")->wall_ns = 700 * NS_PER_MS;
	fake.plan.warmup_s = 1;
	fake_run();
	/* 0.7 s and 1.4 s of warm-up; no touch, which would double the time */
	cr_expect_eq(fake.n_calls, 2 + 4);
	for (i = 0; i < fake.n_calls; i++)
		cr_expect_eq(fake.calls[i].n, 1);
	fake_expect_near(fake.doc->rows[0]->stats.median, 1000 / 0.7);
}

Test(bench, fast_iterations_grow_tenfold_at_most)
{
	static const uint64_t want[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		/* 55.6 ms so far; 100 ms are 20 million, and four times that make it 450 */
		20000000, 20000000, 20000000, 20000000, /* the sample, of 500 ms */ 100000000 };
	unsigned i;

	fake_add("hash")->wall_ns = 5;
	fake.plan = (struct bench_plan){ .samples = 1, .sample_s = 0.5, .warmup_s = 0.45 };
	fake_run();
	cr_assert_eq(fake.n_calls, sizeof(want) / sizeof(*want), "%u runs", fake.n_calls);
	for (i = 0; i < fake.n_calls; i++)
		cr_expect_eq(fake.calls[i].n, want[i], "run %u: %ju", i, (uintmax_t)fake.calls[i].n);
	fake_expect_near(fake.doc->rows[0]->samples[0], 1000 / 5e-9);
}

/* 7 ms of 30: 4 iterations are 28 ms, too short, so 5. */
Test(bench, a_sample_lasts_as_long_as_asked_for_or_longer)
{
	fake_add("a")->wall_ns = 7 * NS_PER_MS;
	fake_run();
	cr_expect_eq(fake.calls[fake.n_calls - 1].n, 5);
	fake_expect_near(fake.doc->rows[0]->wall_s, 4 * 0.035);
}

Test(bench, no_warm_up_is_calibration_alone)
{
	fake_add("a");
	fake.plan.warmup_s = 0;
	fake.plan.samples = 1;
	fake_run();
	cr_assert_eq(fake.n_calls, 3);
	cr_expect(fake.calls[0].n == 1 && fake.calls[1].n == 10 && fake.calls[2].n == 10);
}

Test(bench, a_clock_that_does_not_move_is_an_error)
{
	unsigned i;

	fake_add("nothing")->wall_ns = 0;
	fake_add("b");
	fake_run();
	fake_expect_row(0, ROW_ERROR, "the clock does not move", 0, 0);
	fake_expect_row(1, ROW_OK, NULL, 4, 0);
	for (i = 0; i < fake.n_calls; i++)
		cr_expect_leq(fake.calls[i].n, 1ULL << 40);
}

static void slow_down(unsigned call)
{
	fake.fakes[0].wall_ns = fake.fakes[0].cpu_ns = (3 + call) * NS_PER_MS;
}

/* The number of iterations stays; the rates are those of the time that passed. */
Test(bench, a_machine_that_slows_down)
{
	struct fake_case *f = fake_add("a");

	f->in_run = slow_down; /* after each run: 3, 4, 5, 6 ms... */
	fake.plan.warmup_s = 0; /* 1 iteration of 3 ms, 10 of 4 ms: 7.5 and so 8 are a sample */
	fake_run();
	cr_expect_eq(fake.calls[1].n, 10);
	/* touches are runs too, but one of 5 ms where an iteration was 4 ms */
	cr_expect_eq(fake.n_calls, 2 + 4 + 3);
	fake_expect_near(fake.doc->rows[0]->samples[0], 1000 / 5e-3);
	fake_expect_near(fake.doc->rows[0]->samples[1], 1000 / 7e-3);
	fake_expect_near(fake.doc->rows[0]->samples[2], 1000 / 9e-3);
	fake_expect_near(fake.doc->rows[0]->samples[3], 1000 / 11e-3);
	fake_expect_near(fake.doc->rows[0]->wall_s, 8 * (5 + 7 + 9 + 11) * 1e-3);
	cr_expect(fake.doc->rows[0]->flags & ROW_NOISY);
}

static void disturb(unsigned call)
{
	fake.fakes[0].wall_ns = fake.fakes[0].cpu_ns = (call == FAKE_WARM_UP - 1 ? 30 : 3) * NS_PER_MS; /* the next one */
}

/* The warm-up's last batch takes ten times as long: not what a sample is made for. */
Test(bench, a_disturbed_warm_up)
{
	fake_add("a")->in_run = disturb;
	fake_run();
	cr_expect_eq(fake.calls[FAKE_WARM_UP - 1].n, 10);
	cr_expect_eq(fake.calls[FAKE_WARM_UP].n, 10);
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
}

static void speed_up(unsigned call)
{
	fake.fakes[0].wall_ns = fake.fakes[0].cpu_ns = (call < FAKE_WARM_UP ? 3 : 1) * NS_PER_MS;
}

/* From 3 ms to 1 ms: the first sample is of 10 iterations and 10 ms, the others
 * of 30 behind touches of 5. */
Test(bench, a_machine_that_gets_faster)
{
	fake_add("a")->in_run = speed_up;
	fake_run();
	cr_assert_eq(fake.n_calls, FAKE_WARM_UP + 1 + 3 * 2);
	cr_expect_eq(fake.calls[FAKE_WARM_UP].n, 10);
	cr_expect_eq(fake.calls[FAKE_WARM_UP + 1].n, 5);
	cr_expect_eq(fake.calls[FAKE_WARM_UP + 2].n, 30);
	cr_expect_eq(fake.calls[fake.n_calls - 1].n, 30);
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	fake_expect_near(fake.doc->rows[0]->samples[0], 1000 / 1e-3);
	fake_expect_near(fake.doc->rows[0]->wall_s, 0.01 + 3 * 0.03);
}

Test(bench, a_thread_off_its_processor_is_told)
{
	fake_add("a")->cpu_ns = 2900000;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, ROW_OFF_CPU);
}

/* --- order ------------------------------------------------------------------------ */

/* Round r of 4 with 3 cases starts at r * 3 / 4 and goes backwards when r is odd. */
Test(bench, rounds_are_interleaved)
{
	static const unsigned want[] = { 0, 1, 2, /**/ 0, 2, 1, /**/ 1, 2, 0, /**/ 2, 1, 0 };
	unsigned i;

	fake_add("a");
	fake_add("b");
	fake_add("c");
	fake_run();
	cr_assert_eq(fake.n_turns, 12);
	for (i = 0; i < fake.n_turns; i++)
		cr_expect_eq(fake.turns[i], want[i], "turn %u is case %u's", i, fake.turns[i]);
	for (i = 0; i < 3; i++)
		fake_expect_row(i, ROW_OK, NULL, 4, 0);
}

/* Over all rounds the places of each case have the same mean. */
Test(bench, effects_of_the_order_even_out)
{
	static const char *const ids[] = { "a", "b", "c", "d" };
	unsigned places[4] = { 0 }, i;

	for (i = 0; i < 4; i++)
		fake_add(ids[i]);
	fake.plan.samples = 8;
	fake_run();
	cr_assert_eq(fake.n_turns, 8 * 4);
	for (i = 0; i < fake.n_turns; i++)
		places[fake.turns[i]] += i % 4;
	for (i = 0; i < 4; i++)
		cr_expect_eq(places[i], 8 * (0 + 1 + 2 + 3) / 4, "%s: %u", ids[i], places[i]);
}

/* --- failures --------------------------------------------------------------------- */

Test(bench, a_case_that_fails_lets_the_others_go_on)
{
	fake_add("good");
	fake_add("broken")->fail_open = 1;
	fake_add("unavailable")->unavailable = 1;
	fake_add("bad tag")->fail_run = FAKE_WARM_UP + 2 * 2; /* the third sample's touch is run 6, run 7 the sample */
	fake_add("good too");
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	fake_expect_row(1, ROW_ERROR, "known answer: differs", 0, 0);
	fake_expect_row(2, ROW_UNAVAILABLE, "no such group", 0, 0);
	fake_expect_row(3, ROW_ERROR, "tag: differs", 0, 0);
	fake_expect_row(4, ROW_OK, NULL, 4, 0);
	cr_expect_eq(fake.fakes[1].runs, 0);
	cr_expect_eq(fake.fakes[3].runs, FAKE_WARM_UP + 2 * 2, "nothing more after the error");
	cr_expect_eq(fake.doc->rows[3]->wall_s, 0);
	cr_expect_eq(fake.doc->rows[3]->cpu_s, 0);
	cr_expect_not(fake.doc->interrupted, "an error is no interruption");
}

Test(bench, failing_in_the_warm_up_or_in_a_later_turn)
{
	fake_add("first run")->fail_run = 1;
	fake_add("in the warm-up")->fail_run = FAKE_WARM_UP;
	fake_add("first sample")->fail_run = FAKE_WARM_UP + 1;
	fake_add("touch")->fail_run = FAKE_WARM_UP + 2;
	fake_add("opened again")->fail_open = 3;
	fake_run();
	fake_expect_row(0, ROW_ERROR, "tag: differs", 0, 0);
	fake_expect_row(1, ROW_ERROR, "tag: differs", 0, 0);
	fake_expect_row(2, ROW_ERROR, "tag: differs", 0, 0);
	fake_expect_row(3, ROW_ERROR, "tag: differs", 0, 0);
	fake_expect_row(4, ROW_ERROR, "known answer: differs", 0, 0);
	cr_expect_eq(fake.fakes[4].runs, FAKE_WARM_UP + 1 + 2);
}

Test(bench, a_row_that_failed_before_is_passed_on)
{
	fake_add("unavailable");
	fake_add("b");
	cr_assert_eq(row_fail(fake.cases[0].row, ROW_UNAVAILABLE, "the library has no such group"), 0);
	fake.cases[0].open = NULL;
	fake.cases[0].run = NULL;
	fake_run();
	fake_expect_row(0, ROW_UNAVAILABLE, "the library has no such group", 0, 0);
	fake_expect_row(1, ROW_OK, NULL, 4, 0);
	cr_expect_not(fake.doc->interrupted);
}

Test(bench, nothing_to_do)
{
	fake_run();
	cr_expect_eq(fake.doc->n_rows, 0);
	cr_expect_not(fake.doc->interrupted);
}

/* --- interruption ----------------------------------------------------------------- */

Test(bench, interrupted_in_the_first_round)
{
	fake_add("a");
	fake_add("b")->stop_run = FAKE_WARM_UP + 1; /* its first sample, which is finished */
	fake_add("c");
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 1, ROW_FEW);
	fake_expect_row(1, ROW_OK, NULL, 1, ROW_FEW);
	fake_expect_row(2, ROW_SKIPPED, "interrupted", 0, 0);
	cr_expect_eq(fake.fakes[2].opened, 0);
	cr_expect(fake.doc->interrupted);
	cr_expect_eq(fake.doc->n_samples, 4, "as planned");
}

Test(bench, interrupted_in_a_warm_up)
{
	fake_add("broken")->fail_open = 1;
	fake_add("a")->stop_run = 2;
	fake_add("b");
	fake_run();
	fake_expect_row(0, ROW_ERROR, "known answer: differs", 0, 0);
	fake_expect_row(1, ROW_SKIPPED, "interrupted", 0, 0);
	fake_expect_row(2, ROW_SKIPPED, "interrupted", 0, 0);
	cr_expect_eq(fake.fakes[1].runs, 2);
	cr_expect(fake.doc->interrupted);
}

Test(bench, interrupted_while_it_opens)
{
	fake_add("a");
	fake_add("b")->stop_open = 2; /* in the second round, which starts at 0 and goes 0, 1 */
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 2, ROW_FEW);
	fake_expect_row(1, ROW_OK, NULL, 1, ROW_FEW);
	cr_expect_eq(fake.fakes[1].runs, FAKE_WARM_UP + 1 + 1, "the touch, but no sample");
}

Test(bench, interrupted_before_it_begins)
{
	fake_add("a");
	fake.stop = true;
	fake_run();
	fake_expect_row(0, ROW_SKIPPED, "interrupted", 0, 0);
	cr_expect_eq(fake.fakes[0].opened, 0);
	cr_expect(fake.doc->interrupted);
}

Test(bench, interrupted_when_all_was_done)
{
	fake_add("a")->stop_run = FAKE_WARM_UP + 1 + 3 * 2; /* the last run */
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 4, 0);
	cr_expect_not(fake.doc->interrupted, "nothing is missing");
}

/* --- clock, plan, progress -------------------------------------------------------- */

Test(bench, facts_of_the_clock)
{
	fake.step_ns = 40;
	fake.cpu_read_ns = 800;
	fake_add("a");
	fake_run();
	cr_expect_eq(fake.doc->clock_resolution_ns, 40);
	/* 1000 readings, and the one of the wall clock that ends them */
	fake_expect_near(fake.doc->clock_overhead_ns, (1000 * 800 + 40) / 1000.0);
	cr_expect_eq(fake.doc->sample_s, 0.03);
	cr_expect_eq(fake.doc->n_samples, 4);
	cr_expect_gt(fake.doc->started_ms, 0);
}

Test(bench, a_clock_that_stands_still_has_no_facts)
{
	fake_add("a");
	fake_run();
	cr_expect(isnan(fake.doc->clock_resolution_ns));
	cr_expect(isnan(fake.doc->clock_overhead_ns));
	/* 63 ms of warm-up, 4 samples of 30 ms, 3 touches of 3 ms */
	fake_expect_near(fake.doc->duration_s, 0.063 + 4 * 0.03 + 3 * 0.003);
}

Test(bench, when_it_started_is_not_overwritten)
{
	fake.doc->started_ms = 1234;
	fake_add("a");
	fake_run();
	cr_expect_eq(fake.doc->started_ms, 1234);
}

/* Nothing is asserted of how long it takes, only that there is a time at all. */
Test(bench, the_real_clocks)
{
	fake_add("a")->spin = true;
	fake_add("b")->spin = true;
	fake.cases[1].threads = 2;
	fake.plan = (struct bench_plan){ .samples = 2, .sample_s = 0.002, .warmup_s = 0.004 };
	bench_source = fake.real;
	fake_run();
	cr_expect(fake.doc->clock_resolution_ns > 0 && fake.doc->clock_overhead_ns > 0);
	cr_expect(fake.doc->rows[0]->n_samples == 2 && fake.doc->rows[1]->n_samples == 2);
	cr_expect(fake.doc->rows[0]->cpu_s > 0 && fake.doc->rows[1]->cpu_s > 0);
	cr_expect(fake.doc->rows[0]->stats.min > 0 && isfinite(fake.doc->rows[0]->stats.max));
	cr_expect(fake.doc->rows[1]->stats.min > 0 && isfinite(fake.doc->rows[1]->stats.max));
}

Test(bench, estimate_is_of_warm_up_samples_and_turns)
{
	static const struct bench_plan p = { .samples = 11, .sample_s = 0.5, .warmup_s = 1 };

	fake_expect_near(bench_estimate(&p, 1), 1 + 11 * 0.51);
	fake_expect_near(bench_estimate(&p, 200), 200 * (1 + 11 * 0.51));
	cr_expect_eq(bench_estimate(&p, 0), 0);
}

static unsigned told;
static uint64_t told_ns;
static double told_s[8];
static const char *then_told = "first"; /* of which row, after the first time */

static void note_progress(void *arg, double done_s, double total_s, const char *what)
{
	cr_assert_lt(told, 8);
	cr_expect_eq(arg, &told);
	cr_expect_str_eq(what, told ? then_told : "first");
	cr_expect(told == 0 || fake.wall_ns - told_ns >= NS_PER_S / 4, "at most four times a second");
	fake_expect_near(total_s, fake.n_cases * (fake.plan.warmup_s + 4 * 0.04));
	told_s[told++] = done_s;
	told_ns = fake.wall_ns;
}

Test(bench, progress)
{
	fake.plan.progress = note_progress;
	fake.plan.progress_arg = &told;
	then_told = "last";
	fake_add("first");
	fake_add("broken")->fail_open = 1;
	fake_add("last");
	fake_run();
	/* The rounds begin at 0, 186, 252 and 318 ms. The third one goes 1, 2, 0: 1 is
	 * no more, 2 is the first turn that begins at 250 ms or later */
	cr_expect_eq(told, 2, "%u", told);
	cr_expect_eq(told_s[0], 0);
	/* With its failure all the time of the second case is over, 0.21 s; the others
	 * have had a warm-up of 0.05 s and two turns of 0.04 s each */
	fake_expect_near(told_s[1], 0.21 + 2 * (0.05 + 2 * 0.04));
}

Test(bench, progress_of_a_long_warm_up)
{
	fake.plan.progress = note_progress;
	fake.plan.progress_arg = &told;
	fake.plan.warmup_s = 0.55;
	fake_add("first")->wall_ns = 100 * NS_PER_MS;
	fake_run();
	/* 600 ms of warm-up in steps of 100, told at 300; samples begin at 600, the
	 * turns after that one at 700, 800 and 900, of which 700 is told */
	cr_expect_eq(told, 3, "%u", told);
	cr_expect_eq(told_s[0], 0);
	fake_expect_near(told_s[1], 0.3);
	fake_expect_near(told_s[2], 0.55 + 0.04);
}

/* --- a limit ----------------------------------------------------------------------- */

/* The first round takes 2 * (63 + 30) ms, a turn after it 3 + 30: one of them starts
 * in time. */
Test(bench, no_turn_starts_later_than_the_limit)
{
	fake_add("a");
	fake_add("b");
	fake.plan.limit_s = 0.2;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 2, ROW_FEW);
	fake_expect_row(1, ROW_OK, NULL, 1, ROW_FEW);
	cr_expect_not(fake.doc->interrupted);
}

Test(bench, each_row_has_a_sample_whatever_the_limit)
{
	fake_add("a");
	fake_add("b");
	fake.plan.limit_s = 0.001;
	fake_run();
	fake_expect_row(0, ROW_OK, NULL, 1, ROW_FEW);
	fake_expect_row(1, ROW_OK, NULL, 1, ROW_FEW);
}
