/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/base/hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_BITS 7
#define PARTS	  (1u << PART_BITS) /* of a power of two */
/* Values below PARTS have a slot each; then come PARTS slots for each of the
 * powers 2^PART_BITS to 2^63. */
#define SLOTS	  ((64 - PART_BITS + 1) * PARTS)

struct hist {
	uint64_t count, min, max;
	uint64_t sum_low, sum_high; /* of 128 bits, for which not every compiler has a type */
	uint64_t slots[SLOTS];
};

static unsigned slot_of(uint64_t value)
{
	unsigned shift;

	if (value < PARTS)
		return (unsigned)value;
	shift = 63 - PART_BITS - (unsigned)__builtin_clzll(value);
	return shift * PARTS + (unsigned)(value >> shift); /* the shifted value is PARTS to 2 * PARTS - 1 */
}

static uint64_t middle_of(unsigned slot)
{
	unsigned shift;

	if (slot < 2 * PARTS)
		return slot;
	shift = slot / PARTS - 1;
	return ((uint64_t)(slot - shift * PARTS) << shift) + ((1ULL << shift) - 1) / 2;
}

struct hist *hist_new(void)
{
	struct hist *h = malloc(sizeof(*h));

	if (h)
		hist_reset(h);
	return h;
}

void hist_free(struct hist *h)
{
	free(h);
}

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

static void add_sum(struct hist *h, uint64_t high, uint64_t low)
{
	h->sum_low += low;
	h->sum_high += high + (h->sum_low < low);
}

static void widen(struct hist *h, uint64_t min, uint64_t max)
{
	if (min < h->min)
		h->min = min;
	if (max > h->max)
		h->max = max;
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count++;
	h->slots[slot_of(value)]++;
	add_sum(h, 0, value);
	widen(h, value, value);
}

void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned i;

	into->count += from->count;
	for (i = 0; i < SLOTS; i++)
		into->slots[i] += from->slots[i];
	add_sum(into, from->sum_high, from->sum_low);
	widen(into, from->min, from->max);
}

uint64_t hist_count(const struct hist *h)
{
	return h->count;
}

uint64_t hist_min(const struct hist *h)
{
	return h->count ? h->min : 0;
}

uint64_t hist_max(const struct hist *h)
{
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->count ? (ldexp((double)h->sum_high, 64) + (double)h->sum_low) / (double)h->count : 0;
}

/* ceil(q * count), 1 to count. The product may come out a little above a whole
 * number (0.07 * 100 does); the quotient of the number before then tells. */
static uint64_t rank_of(double q, uint64_t count)
{
	double rank = ceil(q * (double)count);

	if (rank > 1 && (rank - 1) / (double)count >= q)
		rank -= 1;
	if (!(rank > 1))
		return 1;
	return rank < (double)count ? (uint64_t)rank : count;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t rank, middle, seen = 0;
	unsigned i;

	if (h->count == 0)
		return 0;
	rank = rank_of(q, h->count);
	if (rank == 1)
		return h->min;
	if (rank == h->count)
		return h->max;
	for (i = slot_of(h->min); (seen += h->slots[i]) < rank; i++)
		;
	middle = middle_of(i);
	if (middle < h->min)
		return h->min;
	return middle > h->max ? h->max : middle;
}
