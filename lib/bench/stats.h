/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BENCH_STATS_H
#define TLSKIT_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Statistics that assume no distribution. Samples are rates (bytes/s,
 * operations/s) in the order in which they were taken, finite and not negative;
 * the arrays are not changed. */

struct stats {
	size_t n;
	double median, min, max;
	double mad; /* 1.4826 * median of |sample - median|: like a standard deviation */
	/* Interval of the median from order statistics: the narrowest pair of samples,
	 * as far from either end, that holds it with 95 % or more (binomial; exact up to
	 * n = 1000, by the normal approximation beyond). With fewer than 6 samples no
	 * two of them reach 95 %: then has_ci is false. */
	bool has_ci;
	double ci_low, ci_high;
};

/* n = 0 gives all zeros. 0, or -1 without memory. */
int stats_of(const double *samples, size_t n, struct stats *out);

/* Whether a sample lies beyond three deviations (1.4826 * MAD) of the median.
 * Outliers are shown and kept. With a MAD of 0 every other value is one. */
bool stats_is_outlier(const struct stats *s, double sample);

/* How likely two sets of samples differ by chance as much as these do: the
 * two-sided p value (twice the smaller tail) of the Mann-Whitney U test. While
 * na * nb <= 400 it is exact, by enumeration of all ways to divide these values
 * between the sets, equal ones (mean ranks) included; beyond that the normal
 * approximation with correction for ties and continuity. 1 when either set is
 * empty or all values are equal. Negative without memory. */
double stats_p_value(const double *a, size_t na, const double *b, size_t nb);

/* The smallest p that sets of these sizes can give, no two values being equal:
 * whether a test with them can show anything at all. */
double stats_p_floor(size_t na, size_t nb);

#endif
