/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/bench/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAD_SCALE      1.4826 /* a normal distribution's standard deviation over its MAD */
#define OUTLIER_MADS   3
#define TAIL	       0.025 /* either side of a 95 % interval */
#define TAIL_Z	       1.959963984540054 /* the normal distribution's quantile of 1 - TAIL */
#define EXACT_BINOMIAL 1000 /* samples; 2^-1000 is still a normal number */
#define EXACT_PRODUCT  400 /* na * nb */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* --- one set ---------------------------------------------------------------------- */

static double middle_of(const double *sorted, size_t n)
{
	double low = sorted[(n - 1) / 2], high = sorted[n / 2];

	return low + (high - low) / 2;
}

/* The largest k so that the median lies below the sample number k (from 1, in
 * order), or above the one of the same number from behind, with at most TAIL
 * each: P(X <= k - 1) for X of n fair coins. 0: there is none. */
static size_t ci_rank(size_t n)
{
	double term, tail;
	size_t k = 0;

	if (n > EXACT_BINOMIAL)
		return (size_t)((double)n / 2 + 0.5 - TAIL_Z * sqrt((double)n) / 2);
	term = tail = ldexp(1, -(int)n);
	while (tail <= TAIL) {
		term *= (double)(n - k) / (double)(k + 1);
		tail += term;
		k++;
	}
	return k;
}

int stats_of(const double *samples, size_t n, struct stats *out)
{
	double *sorted;
	size_t i, k;

	*out = (struct stats){ .n = n };
	if (n == 0)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -1;
	memcpy(sorted, samples, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	out->median = middle_of(sorted, n);
	out->min = sorted[0];
	out->max = sorted[n - 1];
	k = ci_rank(n);
	out->has_ci = k > 0;
	if (k > 0) {
		out->ci_low = sorted[k - 1];
		out->ci_high = sorted[n - k];
	}
	for (i = 0; i < n; i++)
		sorted[i] = fabs(sorted[i] - out->median);
	qsort(sorted, n, sizeof(*sorted), by_value);
	out->mad = MAD_SCALE * middle_of(sorted, n);
	free(sorted);
	return 0;
}

bool stats_is_outlier(const struct stats *s, double sample)
{
	return fabs(sample - s->median) > OUTLIER_MADS * s->mad;
}

/* --- two sets --------------------------------------------------------------------- */

/* Both sets in one order. Ranks are doubled, so that the mean rank of equal
 * values is a whole number. */
struct ranking {
	size_t n; /* of both sets */
	size_t m; /* of the set whose ranks are added up: the smaller one */
	uint32_t *rank; /* doubled, of each value in order */
	uint64_t sum; /* of the m ranks, doubled */
	double ties; /* the sum of t^3 - t over each group of t equal values */
};

struct value {
	double value;
	bool mine; /* of the set whose ranks are added up */
};

static int by_its_value(const void *a, const void *b)
{
	return by_value(&((const struct value *)a)->value, &((const struct value *)b)->value);
}

static void give_ranks(struct ranking *r, const struct value *sorted)
{
	size_t i, end;

	for (i = 0; i < r->n; i = end) {
		double t;
		size_t k;

		for (end = i + 1; end < r->n && sorted[end].value == sorted[i].value; end++)
			;
		for (k = i; k < end; k++) {
			r->rank[k] = (uint32_t)(i + 1 + end);
			if (sorted[k].mine)
				r->sum += r->rank[k];
		}
		t = (double)(end - i);
		r->ties += t * t * t - t;
	}
}

static int rank_all(struct ranking *r, const double *a, size_t na, const double *b, size_t nb)
{
	struct value *values = malloc((na + nb) * sizeof(*values));
	size_t i;

	*r = (struct ranking){ .n = na + nb, .m = na < nb ? na : nb };
	r->rank = malloc(r->n * sizeof(*r->rank));
	if (!values || !r->rank) {
		free(values);
		free(r->rank);
		return -1;
	}
	for (i = 0; i < r->n; i++)
		values[i] = (struct value){ i < na ? a[i] : b[i - na], (i < na) == (na <= nb) };
	qsort(values, r->n, sizeof(*values), by_its_value);
	give_ranks(r, values);
	free(values);
	return 0;
}

/* How many of all choices of m of these ranks have a sum up to, and from, that of
 * ours: ways[k][s], of choosing k ranks that add up to s, grown rank by rank. The
 * counts stay below 2^53, so doubles hold them exactly. */
static double exact_p(const struct ranking *r)
{
	size_t width = 0, i, k, s;
	double *ways, all = 0, below = 0, above = 0;

	for (i = r->n - r->m; i < r->n; i++)
		width += r->rank[i];
	width++; /* sums from 0 to that of the largest m ranks */
	ways = calloc((r->m + 1) * width, sizeof(*ways));
	if (!ways)
		return -1;
	ways[0] = 1;
	for (i = 0; i < r->n; i++) {
		for (k = r->m; k > 0; k--) {
			for (s = r->rank[i]; s < width; s++)
				ways[k * width + s] += ways[(k - 1) * width + s - r->rank[i]];
		}
	}
	for (s = 0; s < width; s++) {
		double here = ways[r->m * width + s];

		all += here;
		below += s <= r->sum ? here : 0;
		above += s >= r->sum ? here : 0;
	}
	free(ways);
	return fmin(1, 2 * fmin(below, above) / all);
}

/* U lies `distance` from its mean. */
static double normal_p(size_t na, size_t nb, double distance, double ties)
{
	double n = (double)(na + nb);
	double variance = (double)na * (double)nb / 12 * (n + 1 - ties / (n * (n - 1)));

	if (distance <= 0.5) /* with equal values alone it is 0, and so is the variance */
		return 1;
	return erfc((distance - 0.5) / sqrt(2 * variance));
}

/* Whether na * nb <= EXACT_PRODUCT; neither is 0. */
static bool is_exact(size_t na, size_t nb)
{
	return na <= EXACT_PRODUCT / nb;
}

double stats_p_value(const double *a, size_t na, const double *b, size_t nb)
{
	struct ranking r;
	double p;

	if (na == 0 || nb == 0)
		return 1;
	if (rank_all(&r, a, na, b, nb) < 0)
		return -1;
	if (is_exact(na, nb)) {
		p = exact_p(&r);
	} else {
		/* U is the rank sum less a constant, the rank sum's mean is m (n + 1) / 2 */
		double mean = (double)r.m * (double)(r.n + 1) / 2;

		p = normal_p(na, nb, fabs((double)r.sum / 2 - mean), r.ties);
	}
	free(r.rank);
	return p;
}

double stats_p_floor(size_t na, size_t nb)
{
	size_t m = na < nb ? na : nb, i;
	double choices = 1;

	if (m == 0)
		return 1;
	if (!is_exact(na, nb))
		return normal_p(na, nb, (double)na * (double)nb / 2, 0);
	for (i = 1; i <= m; i++) /* whole numbers all the way */
		choices = choices * (double)(na + nb - m + i) / (double)i;
	return fmin(1, 2 / choices);
}
