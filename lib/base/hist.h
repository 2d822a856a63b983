/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_HIST_H
#define TLSKIT_BASE_HIST_H

#include <stddef.h>
#include <stdint.h>

/* A log-linear histogram of nanoseconds (or any other count): each power of two
 * is cut into 128 equal parts, so a value read back is off by less than 1 %.
 * Adding is a few instructions, no memory is taken after hist_new, and the sum,
 * the smallest and the largest value are exact. One thread adds; histograms of
 * several threads are merged. */
struct hist;

struct hist *hist_new(void); /* NULL: no memory */
void hist_free(struct hist *h); /* NULL is fine */
void hist_reset(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);

uint64_t hist_count(const struct hist *h);
uint64_t hist_min(const struct hist *h); /* 0 when empty, like the next ones */
uint64_t hist_max(const struct hist *h);
double hist_mean(const struct hist *h);

/* The value that a share q of all samples does not exceed (nearest rank: the
 * sample number ceil(q * count)), as the middle of its part, never beyond the
 * extremes; the first and the last sample are exact, and so are values below 256.
 * q in (0, 1]. */
uint64_t hist_quantile(const struct hist *h, double q);

#endif
