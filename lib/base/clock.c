/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <time.h>

#include "lib/base/clock.h"

uint64_t clock_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

int64_t clock_real_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / (long)NS_PER_MS;
}

/* RFC 3339 writes a year with four digits (5.6): what lies outside shows as
 * the first or last moment that it can write. */
#define FIRST_MS (-62167219200000LL)
#define LAST_MS  253402300799999LL

char *clock_rfc3339(int64_t real_ms, char out[CLOCK_RFC3339_SIZE])
{
	struct tm tm = { 0 };
	time_t seconds;
	int ms;

	if (real_ms < FIRST_MS)
		real_ms = FIRST_MS;
	if (real_ms > LAST_MS)
		real_ms = LAST_MS;
	ms = (int)(real_ms % 1000);
	if (ms < 0)
		ms += 1000;
	seconds = (time_t)((real_ms - ms) / 1000);
	gmtime_r(&seconds, &tm);
	snprintf(out, CLOCK_RFC3339_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (tm.tm_year + 1900) % 10000,
		 (tm.tm_mon + 1) % 100, tm.tm_mday % 100, tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100, ms);
	return out;
}
