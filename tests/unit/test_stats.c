/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "lib/bench/stats.h"
#include "tests/unit/timeout.h"

TestSuite(stats, .timeout = TEST_TIMEOUT);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIST(...)    ((const double[]){ __VA_ARGS__ }), COUNT(((const double[]){ __VA_ARGS__ }))

static void expect_near(double got, double want, const char *what)
{
	cr_expect(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)), "%s: got %.17g, not %.17g", what, got, want);
}

static struct stats of(const double *samples, size_t n)
{
	struct stats s;

	cr_assert_eq(stats_of(samples, n, &s), 0);
	cr_expect_eq(s.n, n);
	return s;
}

/* --- one set ---------------------------------------------------------------------- */

Test(stats, of_nothing_is_zeros)
{
	struct stats s = of(NULL, 0);

	cr_expect(s.median == 0 && s.min == 0 && s.max == 0 && s.mad == 0);
	cr_expect(!s.has_ci && s.ci_low == 0 && s.ci_high == 0);
}

Test(stats, of_one_is_itself)
{
	struct stats s = of(LIST(42.5));

	cr_expect(s.median == 42.5 && s.min == 42.5 && s.max == 42.5 && s.mad == 0);
	cr_expect_not(s.has_ci);
}

Test(stats, odd_number_of_samples)
{
	static const double samples[] = { 9, 1, 7, 3, 4 };
	struct stats s = of(samples, 5);

	/* In order 1 3 4 7 9: median 4. Deviations 3 1 0 3 5, in order 0 1 3 3 5. */
	cr_expect(s.median == 4 && s.min == 1 && s.max == 9);
	expect_near(s.mad, 1.4826 * 3, "MAD");
	cr_expect(samples[0] == 9 && samples[4] == 4, "the samples stay in their order");
}

Test(stats, even_number_of_samples)
{
	struct stats s = of(LIST(10, 2, 4, 20));

	/* In order 2 4 10 20: median 7. Deviations 5 3 3 13, in order 3 3 5 13: 4. */
	cr_expect(s.median == 7 && s.min == 2 && s.max == 20);
	expect_near(s.mad, 1.4826 * 4, "MAD");
}

Test(stats, large_values_do_not_overflow_to_infinity_in_the_median)
{
	struct stats s = of(LIST(DBL_MAX, DBL_MAX));

	cr_expect(s.median == DBL_MAX && s.mad == 0);
}

/* The interval is [k, n + 1 - k] with the largest k of 2 P(X <= k - 1) <= 5 %, X
 * being the heads of n fair coins:
 *   n = 5:  2 * 1/32 = 6.25 %, so even the extremes hold the median in 93.75 %: none
 *   n = 6:  2 * 1/64 = 3.13 %; k = 2: 2 * 7/64 = 21.9 %
 *   n = 8:  2 * 1/256 = 0.78 %; k = 2: 2 * 9/256 = 7.03 %
 *   n = 9:  k = 2: 2 * 10/512 = 3.91 %; k = 3: 2 * 46/512 = 18.0 %
 *   n = 11: k = 2: 2 * 12/2048 = 1.17 % (98.83 %); k = 3: 2 * 67/2048 = 6.54 %
 *   n = 12: k = 3: 2 * 79/4096 = 3.86 %; k = 4: 2 * 299/4096 = 14.6 %
 *   n = 20: k = 6: 2 * 21700/1048576 = 4.14 %, of 1 + 20 + 190 + 1140 + 4845 + 15504;
 *	     k = 7: 38760 more, 11.5 %
 *   n = 1300, approximate: 650.5 - 1.959964 * sqrt(1300) / 2 = 615.17
 *   n = 2000, approximate: 1000.5 - 1.959964 * sqrt(2000) / 2 = 956.67 */
static const struct {
	size_t n, k;
} intervals[] = { { 1, 0 },  { 2, 0 },	{ 5, 0 },  { 6, 1 },  { 7, 1 },	  { 8, 1 },
		  { 9, 2 }, { 11, 2 }, { 12, 3 }, { 20, 6 }, { 1300, 615 }, { 2000, 956 } };

Test(stats, interval_ranks)
{
	static double samples[2000];
	size_t i, k;

	for (i = 0; i < COUNT(intervals); i++) {
		size_t n = intervals[i].n;
		struct stats s;

		for (k = 0; k < n; k++) /* 1 to n, from behind */
			samples[k] = (double)(n - k);
		s = of(samples, n);
		cr_expect_eq(s.has_ci, intervals[i].k > 0, "n = %zu", n);
		if (intervals[i].k == 0)
			continue;
		cr_expect_eq(s.ci_low, (double)intervals[i].k, "n = %zu: from %g", n, s.ci_low);
		cr_expect_eq(s.ci_high, (double)(n + 1 - intervals[i].k), "n = %zu: to %g", n, s.ci_high);
	}
}

/* 2 P(X <= k - 1) by logarithms, another way than the one under test. */
static double outside(size_t n, size_t k)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < k; i++)
		sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) -
			   (double)n * log(2));
	return 2 * sum;
}

Test(stats, interval_is_the_narrowest_of_95_percent_for_every_n)
{
	static double samples[1000];
	size_t n;

	for (n = 1; n <= 1000; n++) {
		struct stats s;

		samples[n - 1] = (double)n;
		s = of(samples, n);
		if (n < 6) {
			cr_expect_not(s.has_ci, "n = %zu", n);
			continue;
		}
		cr_assert(s.has_ci, "n = %zu", n);
		cr_expect_leq(outside(n, (size_t)s.ci_low), 0.05, "n = %zu: %g", n, s.ci_low);
		cr_expect_gt(outside(n, (size_t)s.ci_low + 1), 0.05, "n = %zu: %g", n, s.ci_low);
		cr_expect_eq(s.ci_high, (double)n + 1 - s.ci_low, "n = %zu", n);
	}
}

Test(stats, outliers)
{
	/* Median 10, deviations 1 1 0 1 40 in order 0 1 1 1 40: three MADs are 4.4478 */
	struct stats s = of(LIST(9, 11, 10, 9, 50)), same = of(LIST(5, 5, 5, 5.001));

	cr_expect_eq(s.median, 10);
	cr_expect(stats_is_outlier(&s, 50));
	cr_expect(stats_is_outlier(&s, 14.4479));
	cr_expect(stats_is_outlier(&s, 5.5521));
	cr_expect_not(stats_is_outlier(&s, 14.4477));
	cr_expect_not(stats_is_outlier(&s, 5.5523));
	cr_expect_eq(same.mad, 0);
	cr_expect_not(stats_is_outlier(&same, 5));
	cr_expect(stats_is_outlier(&same, 5.001));
}

/* --- two sets --------------------------------------------------------------------- */

/* The values behind each other, the first `na` of them the set a. By hand: U is
 * the number of pairs in which the value of a is the larger one, a pair of equals
 * is half; p is twice the share of the divisions with a U as small, or as large. */
static const struct {
	const char *what;
	double values[10];
	size_t na, nb;
	double p;
} exact[] = {
	/* U = 0 is one division of C(6,3) = 20, C(8,4) = 70, C(10,5) = 252 */
	{ "3 below 3", { 1, 2, 3, 4, 5, 6 }, 3, 3, 2 / 20.0 },
	{ "3 above 3", { 4, 5, 6, 1, 2, 3 }, 3, 3, 2 / 20.0 },
	{ "4 below 4", { 1, 2, 3, 4, 5, 6, 7, 8 }, 4, 4, 2 / 70.0 },
	{ "5 above 5", { 6, 7, 8, 9, 10, 1, 2, 3, 4, 5 }, 5, 5, 2 / 252.0 },
	/* 1 2 4 | 3 5 6: U = 1 (4 > 3); U = 0 and U = 1 are one division each */
	{ "3 and 3 that overlap", { 4, 2, 1, 6, 3, 5 }, 3, 3, 4 / 20.0 },
	/* 1 | 2 3 4: one of 4 */
	{ "1 below 3", { 1, 2, 3, 4 }, 1, 3, 2 / 4.0 },
	{ "1 above 3", { 9, 2, 3, 4 }, 1, 3, 2 / 4.0 },
	/* 1 4 | 2 3: U = 2 of 0 to 4, the middle: either tail is more than a half */
	{ "in the middle", { 1, 4, 2, 3 }, 2, 2, 1 },
	/* 1 1 1 | 2 2 2: the same division as without ties; the normal approximation
	 * with its correction would say 4.7 % */
	{ "3 equal below 3 equal", { 1, 1, 1, 2, 2, 2 }, 3, 3, 2 / 20.0 },
	/* 1 2 | 2 3: ranks 1 2.5 | 2.5 4, the sum is 3.5. Of the 6 divisions 1 + 2.5
	 * comes twice and nothing is smaller: 2 * 2/6 */
	{ "2 and 2 with a tie between", { 1, 2, 2, 3 }, 2, 2, 4 / 6.0 },
	/* 2 | 1 1 1: ranks 4 | 2 2 2, one of 4 */
	{ "1 above 3 equal", { 2, 1, 1, 1 }, 1, 3, 2 / 4.0 },
	{ "equal sets", { 1, 2, 3, 1, 2, 3 }, 3, 3, 1 },
	{ "all the same", { 7, 7, 7, 7, 7 }, 2, 3, 1 },
	{ "1 and 1", { 1, 2 }, 1, 1, 1 },
};

Test(stats, exact_p_values_by_hand)
{
	size_t i;

	for (i = 0; i < COUNT(exact); i++) {
		const double *a = exact[i].values, *b = a + exact[i].na;

		expect_near(stats_p_value(a, exact[i].na, b, exact[i].nb), exact[i].p, exact[i].what);
		expect_near(stats_p_value(b, exact[i].nb, a, exact[i].na), exact[i].p, exact[i].what);
	}
}

static double u_of(const double *values, unsigned n, unsigned mine)
{
	double u = 0;
	unsigned i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			if ((mine >> i & 1) && !(mine >> k & 1))
				u += values[i] > values[k] ? 1 : values[i] == values[k] ? 0.5 : 0;
		}
	}
	return u;
}

/* Every division of n values into na and n - na, by the definition of U. */
static double brute_force(const double *values, unsigned n, unsigned na)
{
	double u = u_of(values, n, (1u << na) - 1);
	unsigned set, all = 0, below = 0, above = 0;

	for (set = 0; set < 1u << n; set++) {
		if ((unsigned)__builtin_popcount(set) != na)
			continue;
		all++;
		below += u_of(values, n, set) <= u;
		above += u_of(values, n, set) >= u;
	}
	return fmin(1, 2.0 * (below < above ? below : above) / all);
}

Test(stats, exact_p_values_by_brute_force)
{
	unsigned state = 12345, n, na, turn, i;
	unsigned checked = 0;

	for (n = 2; n <= 9; n++) {
		for (na = 1; na < n; na++) {
			for (turn = 0; turn < 12; turn++) {
				double values[9];

				for (i = 0; i < n; i++) { /* of few different values, then of many */
					state = state * 1664525 + 1013904223;
					values[i] = (state >> 8) % (turn < 6 ? 4 : 100000);
				}
				expect_near(stats_p_value(values, na, values + na, n - na),
					    brute_force(values, n, na), "brute force");
				checked++;
			}
		}
	}
	cr_expect_eq(checked, (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) * 12);
}

static void count_up(double *values, size_t n, double first, double step)
{
	size_t i;

	for (i = 0; i < n; i++)
		values[i] = first + step * (double)i;
}

Test(stats, the_largest_exact_sets)
{
	double a[20], b[400];

	/* C(40,20) = 137846528820 */
	count_up(a, 20, 1, 1);
	count_up(b, 20, 21, 1);
	cr_expect(fabs(stats_p_value(a, 20, b, 20) * 137846528820 - 2) < 1e-9);
	/* 1 below 400: one of 401 */
	count_up(b, 400, 2, 1);
	expect_near(stats_p_value(a, 1, b, 400), 2 / 401.0, "1 and 400");
}

Test(stats, approximate_p_values_by_hand)
{
	double a[21], b[20];

	/* 20 even numbers and 21 odd ones around them: U = 210, the mean: p is 1 */
	count_up(a, 21, 1, 2);
	count_up(b, 20, 2, 2);
	cr_expect_eq(stats_p_value(a, 21, b, 20), 1);
	/* 21 below 20, U = 0: the mean is 210, the variance 420 * 42 / 12 = 1470,
	 * z = 209.5 / sqrt(1470) = 5.46417, p = erfc(z / sqrt(2)) */
	count_up(a, 21, 1, 1);
	count_up(b, 20, 22, 1);
	expect_near(stats_p_value(a, 21, b, 20), erfc(209.5 / sqrt(2 * 1470)), "no ties");
	expect_near(stats_p_value(b, 20, a, 21), erfc(209.5 / sqrt(2 * 1470)), "no ties, the other way round");
	/* 21 ones; 10 ones and 10 twos: groups of 31 and 10, 31^3 - 31 = 29760 and
	 * 990 make 30750; the variance is 35 * (42 - 30750 / (41 * 40)) = 813.75;
	 * U = 21 * 10 / 2 = 105 */
	count_up(a, 21, 1, 0);
	count_up(b, 10, 1, 0);
	count_up(b + 10, 10, 2, 0);
	expect_near(stats_p_value(a, 21, b, 20), erfc(104.5 / sqrt(2 * 813.75)), "ties");
	/* nothing but one value: no variance, and no NaN */
	count_up(b, 20, 1, 0);
	cr_expect_eq(stats_p_value(a, 21, b, 20), 1);
}

/* At the largest exact sets the approximation would say much the same. */
Test(stats, approximation_joins_the_exact_value)
{
	double a[20], b[20];

	/* 0 to 19 and 4.5 to 23.5: above 5, 6, ... 20, 20, 20, 20, 20 values of a, that
	 * is U = 280; the mean is 200, the variance 400 * 41 / 12: z = 2.1505, 3.15 % */
	count_up(a, 20, 0, 1);
	count_up(b, 20, 4.5, 1);
	cr_expect_float_eq(stats_p_value(a, 20, b, 20), erfc(79.5 / sqrt(2 * 400 * 41 / 12.0)), 0.002);
}

Test(stats, empty_sets_show_nothing)
{
	static const double a[] = { 1, 2, 3 };

	cr_expect_eq(stats_p_value(a, 3, NULL, 0), 1);
	cr_expect_eq(stats_p_value(NULL, 0, a, 3), 1);
	cr_expect_eq(stats_p_value(NULL, 0, NULL, 0), 1);
}

Test(stats, floor_is_the_p_of_sets_apart)
{
	double a[21], b[20];
	size_t na, nb;

	expect_near(stats_p_floor(3, 3), 0.1, "3 and 3");
	expect_near(stats_p_floor(4, 4), 2 / 70.0, "4 and 4");
	expect_near(stats_p_floor(5, 5), 2 / 252.0, "5 and 5");
	expect_near(stats_p_floor(1, 400), 2 / 401.0, "1 and 400");
	cr_expect_eq(stats_p_floor(1, 1), 1);
	cr_expect_eq(stats_p_floor(0, 5), 1);
	cr_expect_eq(stats_p_floor(5, 0), 1);
	for (na = 1; na <= 21; na++) {
		for (nb = 1; nb <= 20; nb++) {
			count_up(a, na, 1, 1);
			count_up(b, nb, 100, 1);
			expect_near(stats_p_floor(na, nb), stats_p_value(a, na, b, nb), "apart");
		}
	}
}
