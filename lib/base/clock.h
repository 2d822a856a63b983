/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_CLOCK_H
#define TLSKIT_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_mono_ns(void);

/* CLOCK_REALTIME in milliseconds since the epoch. */
int64_t clock_real_ms(void);

/* Room for "2026-11-30T12:00:00.123Z" and its NUL. */
#define CLOCK_RFC3339_SIZE 32

/* Writes epoch milliseconds as RFC 3339 UTC with milliseconds; locale and TZ
 * have no say. Returns out. */
char *clock_rfc3339(int64_t real_ms, char out[CLOCK_RFC3339_SIZE]);

#endif
