/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "load.h"

#define BITS 7
#define STEPS (1u << BITS)

static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < STEPS)
		return (unsigned)v;
	shift = 63u - (unsigned)__builtin_clzll(v) - BITS;
	return (shift + 1) * STEPS + (unsigned)((v >> shift) - STEPS);
}

/* The middle of the values that fall into it. */
static uint64_t value_of(unsigned bucket)
{
	unsigned shift;

	if (bucket < STEPS)
		return bucket;
	shift = bucket / STEPS - 1;
	return ((uint64_t)(bucket % STEPS + STEPS) << shift) + ((1ull << shift) >> 1);
}

void hist_add(struct hist *h, uint64_t value)
{
	h->buckets[bucket_of(value)]++;
	h->count++;
	if (value > h->max)
		h->max = value;
}

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t wanted = (uint64_t)(q * (double)h->count);
	uint64_t seen = 0;

	for (unsigned i = 0; i < sizeof(h->buckets) / sizeof(h->buckets[0]); i++) {
		seen += h->buckets[i];
		if (seen > wanted)
			return value_of(i) < h->max ? value_of(i) : h->max;
	}
	return h->max;
}
