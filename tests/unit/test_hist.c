/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/hist.h"
#include "tests/unit/timeout.h"

TestSuite(hist, .timeout = TEST_TIMEOUT);

#define COUNT 20000

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next_random(void) /* xorshift64 */
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double next_share(void) /* (0, 1] */
{
	return (double)((next_random() >> 11) + 1) / 9007199254740992.0;
}

static uint64_t uniform(void)
{
	return next_random() % 5000000;
}

static uint64_t exponential(void)
{
	return (uint64_t)(-log(next_share()) * 80000);
}

static uint64_t constant(void)
{
	return 123456789;
}

static uint64_t any_size(void) /* as many of 1 bit as of 64 */
{
	return next_random() >> (next_random() % 64);
}

static uint64_t huge(void)
{
	return next_random() % 8 ? next_random() | 1ULL << 63 : UINT64_MAX;
}

static uint64_t small(void)
{
	return next_random() % 301;
}

static const struct {
	const char *name;
	uint64_t (*draw)(void);
} draws[] = {
	{ "uniform", uniform }, { "exponential", exponential }, { "constant", constant },
	{ "any size", any_size }, { "huge", huge }, { "small", small },
};

#define DRAWS (sizeof(draws) / sizeof(draws[0]))

static struct hist *new_hist(void)
{
	struct hist *h = hist_new();

	cr_assert_not_null(h);
	return h;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The sample number ceil(q * count) of `per_mille`, without floating point. */
static uint64_t exact(const uint64_t *sorted, size_t n, unsigned per_mille)
{
	return sorted[(per_mille * n + 999) / 1000 - 1];
}

/* Half a part of 128. */
static void expect_near(const char *name, unsigned per_mille, uint64_t got, uint64_t want)
{
	uint64_t off = got > want ? got - want : want - got;

	cr_expect_leq(off, want / 256, "%s, %u/1000: got %ju, not %ju", name, per_mille, (uintmax_t)got,
		      (uintmax_t)want);
	if (want < 256)
		cr_expect_eq(off, 0, "%s, %u/1000: got %ju, not exactly %ju", name, per_mille, (uintmax_t)got,
			     (uintmax_t)want);
}

Test(hist, quantiles_are_within_half_a_percent_of_the_sorted_samples)
{
	static uint64_t values[COUNT];
	struct hist *h = new_hist();
	size_t d, i;
	unsigned q;

	for (d = 0; d < DRAWS; d++) {
		hist_reset(h);
		for (i = 0; i < COUNT; i++) {
			values[i] = draws[d].draw();
			hist_add(h, values[i]);
		}
		qsort(values, COUNT, sizeof(*values), by_value);
		for (q = 1; q <= 1000; q++)
			expect_near(draws[d].name, q, hist_quantile(h, q / 1000.0), exact(values, COUNT, q));
		cr_expect_eq(hist_count(h), COUNT);
		cr_expect_eq(hist_min(h), values[0]);
		cr_expect_eq(hist_max(h), values[COUNT - 1]);
		cr_expect_eq(hist_quantile(h, 1), values[COUNT - 1]);
	}
	hist_free(h);
}

/* Of three equal samples the second is neither the first nor the last, so it is
 * read back from its slot; the neighbours keep the extremes from helping. */
Test(hist, each_power_of_two_and_its_neighbours_come_back)
{
	struct hist *h = new_hist();
	unsigned bit, k;

	for (bit = 0; bit < 64; bit++) {
		for (k = 0; k < 3; k++) {
			uint64_t value = (1ULL << bit) + k - 1;

			hist_reset(h);
			hist_add(h, 0);
			hist_add(h, value);
			hist_add(h, UINT64_MAX);
			expect_near("power", bit, hist_quantile(h, 0.5), value);
		}
	}
	hist_free(h);
}

Test(hist, the_rank_is_not_rounded_up_twice)
{
	struct hist *h = new_hist();
	unsigned i;

	for (i = 1; i <= 100; i++)
		hist_add(h, i);
	/* i/100 of 100 samples is sample i; in floating point 0.07 * 100 is above 7 */
	for (i = 1; i <= 100; i++)
		cr_expect_eq(hist_quantile(h, i / 100.0), i, "%u", i);
	/* a little more is the next one */
	for (i = 1; i < 100; i++)
		cr_expect_eq(hist_quantile(h, i / 100.0 + 0.001), i + 1, "%u", i);
	hist_free(h);
}

/* All in one part, whose middle lies beyond them. */
Test(hist, nothing_lies_beyond_the_extremes)
{
	static const uint64_t ends[] = { 1ULL << 20, (1ULL << 20) + (1ULL << 13) - 1 };
	struct hist *h = new_hist();
	unsigned i, k;

	for (i = 0; i < 2; i++) {
		hist_reset(h);
		for (k = 0; k < 3; k++)
			hist_add(h, ends[i]);
		cr_expect_eq(hist_quantile(h, 0.5), ends[i]);
	}
	hist_free(h);
}

Test(hist, one_sample_is_every_quantile)
{
	struct hist *h = new_hist();

	hist_add(h, 1000003);
	cr_expect_eq(hist_quantile(h, 0.001), 1000003);
	cr_expect_eq(hist_quantile(h, 0.5), 1000003);
	cr_expect_eq(hist_quantile(h, 1), 1000003);
	cr_expect_eq(hist_mean(h), 1000003);
	hist_free(h);
}

Test(hist, the_mean_is_exact_beyond_64_bits)
{
	struct hist *h = new_hist();
	unsigned i;

	/* 5 * (2^64 - 1) + 5 = 5 * 2^64: with 10 samples 2^63. A sum of 64 bits is 0. */
	for (i = 0; i < 5; i++) {
		hist_add(h, UINT64_MAX);
		hist_add(h, 1);
	}
	cr_expect_eq(hist_mean(h), 9223372036854775808.0);
	hist_reset(h);
	hist_add(h, 1);
	hist_add(h, 2);
	hist_add(h, 1000000);
	hist_add(h, 1000001);
	cr_expect_eq(hist_mean(h), 500001);
	hist_free(h);
}

static void expect_same(const struct hist *a, const struct hist *b)
{
	unsigned q;

	cr_expect_eq(hist_count(a), hist_count(b));
	cr_expect_eq(hist_min(a), hist_min(b));
	cr_expect_eq(hist_max(a), hist_max(b));
	cr_expect_eq(hist_mean(a), hist_mean(b));
	for (q = 1; q <= 1000; q++)
		cr_expect_eq(hist_quantile(a, q / 1000.0), hist_quantile(b, q / 1000.0), "%u", q);
}

Test(hist, merging_equals_adding_all)
{
	struct hist *parts[DRAWS], *all = new_hist(), *merged = new_hist();
	size_t d, i;

	for (d = 0; d < DRAWS; d++) {
		parts[d] = new_hist();
		for (i = 0; i < COUNT; i++) {
			uint64_t value = draws[d].draw();

			hist_add(parts[d], value);
			hist_add(all, value);
		}
	}
	for (d = 0; d < DRAWS; d++) {
		hist_merge(merged, parts[d]);
		hist_free(parts[d]);
	}
	expect_same(merged, all);
	hist_free(all);
	hist_free(merged);
}

Test(hist, empty_is_all_zeros_and_merges_as_nothing)
{
	struct hist *h = new_hist(), *other = new_hist();

	cr_expect_eq(hist_count(h), 0);
	cr_expect_eq(hist_min(h), 0);
	cr_expect_eq(hist_max(h), 0);
	cr_expect_eq(hist_mean(h), 0);
	cr_expect_eq(hist_quantile(h, 0.5), 0);
	hist_merge(h, other);
	cr_expect_eq(hist_min(h), 0);
	hist_add(h, 7);
	hist_merge(h, other);
	cr_expect_eq(hist_min(h), 7);
	cr_expect_eq(hist_max(h), 7);
	hist_merge(other, h);
	expect_same(other, h);
	hist_reset(h);
	cr_expect_eq(hist_count(h), 0);
	cr_expect_eq(hist_max(h), 0);
	cr_expect_eq(hist_mean(h), 0);
	cr_expect_eq(hist_quantile(h, 1), 0);
	hist_free(h);
	hist_free(other);
	hist_free(NULL);
}
