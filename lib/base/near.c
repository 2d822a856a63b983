/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/near.h"

/* Names are short; what is longer has no near one. */
#define NAME_MAX_LEN 64

/* How many slips of the finger a word of so many letters may hold. */
static unsigned slips(size_t len)
{
	if (len <= 2)
		return 0;
	if (len <= 4)
		return 1;
	return len <= 8 ? 2 : 3;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

static int same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, changes and swaps of neighbours that lead from a to
 * b (optimal string alignment); both at most NAME_MAX_LEN. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][NAME_MAX_LEN + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = before[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *free_row = before;

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[b_len];
}

/* The shortest candidate that starts with what was typed. */
static const char *prefix_match(const char *typed, size_t len, const char *const *candidates, size_t n)
{
	const char *best = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strncasecmp(candidates[i], typed, len) != 0)
			continue;
		if (best == NULL || strlen(candidates[i]) < strlen(best))
			best = candidates[i];
	}
	return best;
}

const char *near_match(const char *typed, const char *const *candidates, size_t n)
{
	size_t len = strlen(typed);
	const char *best = NULL;
	unsigned best_distance;

	/* one letter says too little */
	if (len < 2 || len > NAME_MAX_LEN)
		return NULL;
	best = prefix_match(typed, len, candidates, n);
	if (best != NULL)
		return best;
	best_distance = slips(len) + 1;
	for (size_t i = 0; i < n; i++) {
		size_t c_len = strlen(candidates[i]);
		unsigned d;

		if (c_len > NAME_MAX_LEN)
			continue;
		d = distance(typed, len, candidates[i], c_len);
		if (d < best_distance) {
			best_distance = d;
			best = candidates[i];
		}
	}
	return best;
}
