/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/units.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits at *p and moves it behind them. -1 without a digit or on
 * overflow. */
static int read_digits(const char **p, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	if (!is_digit(*s))
		return -1;
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return -1;
	}
	*p = s;
	*out = v;
	return 0;
}

int units_parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t v;

	if (read_digits(&text, &v) != 0 || *text != '\0' || v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

static const struct {
	const char *name;
	uint64_t ms;
} time_units[] = {
	{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 }, { "", 1000 },
};

static uint64_t time_unit(const char *name)
{
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++) {
		if (strcmp(name, time_units[i].name) == 0)
			return time_units[i].ms;
	}
	return 0;
}

#define FRACTION 1000000000ULL

/* Reads ".5" at *p as billionths; *more tells that digits behind the ninth are
 * not all zero. Nothing there is 0. */
static int read_fraction(const char **p, uint64_t *billionths, bool *more)
{
	const char *s = *p;
	uint64_t unit = FRACTION / 10;

	*billionths = 0;
	*more = false;
	if (*s != '.')
		return 0;
	s++;
	if (!is_digit(*s))
		return -1;
	for (; is_digit(*s); s++) {
		*billionths += unit * (uint64_t)(*s - '0');
		*more |= unit == 0 && *s != '0';
		unit /= 10;
	}
	*p = s;
	return 0;
}

int units_parse_duration(const char *text, uint64_t *ms)
{
	uint64_t whole, part, unit, v;
	bool more;

	if (read_digits(&text, &whole) != 0 || read_fraction(&text, &part, &more) != 0)
		return -1;
	unit = time_unit(text);
	if (unit == 0)
		return -1;
	/* rounded up: a time that someone set never becomes 0, which means none */
	part *= unit;
	part = part / FRACTION + (part % FRACTION != 0 || more);
	if (__builtin_mul_overflow(whole, unit, &v) || __builtin_add_overflow(v, part, &v))
		return -1;
	*ms = v;
	return 0;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGTkmgt";
	uint64_t v;

	if (read_digits(&text, &v) != 0)
		return -1;
	if (*text != '\0') {
		const char *l = strchr(letters, *text);

		if (l == NULL || text[1] != '\0')
			return -1;
		if (__builtin_mul_overflow(v, UINT64_C(1) << (10 * ((l - letters) % 4 + 1)), &v))
			return -1;
	}
	*bytes = v;
	return 0;
}

char *units_duration(uint64_t ms, char *out, size_t size)
{
	size_t i = 0;

	if (ms == 0) {
		snprintf(out, size, "0");
		return out;
	}
	/* the largest unit that divides it: 90s rather than 1.5m */
	while (ms % time_units[i].ms != 0)
		i++;
	if (ms < 1000 || strcmp(time_units[i].name, "ms") != 0) {
		snprintf(out, size, "%llu%s", (unsigned long long)(ms / time_units[i].ms), time_units[i].name);
	} else {
		unsigned part = (unsigned)(ms % 1000);
		int digits = 3;

		for (; part % 10 == 0; part /= 10)
			digits--;
		snprintf(out, size, "%llu.%0*us", (unsigned long long)(ms / 1000), digits, part);
	}
	return out;
}

/* v * times / 2^shift, rounded to the nearest; times is at most 100. */
static uint64_t scaled(uint64_t v, unsigned shift, unsigned times)
{
	uint64_t rest;

	if (shift == 0)
		return v * times;
	if (shift > 50) { /* room for `times`; what falls off has no weight */
		v >>= 10;
		shift -= 10;
	}
	rest = v & ((UINT64_C(1) << shift) - 1);
	return (v >> shift) * times + ((rest * times + (UINT64_C(1) << (shift - 1))) >> shift);
}

char *units_bytes(uint64_t bytes, char *out, size_t size)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0, v;

	/* 999.5 would print as 1000, so it counts in the next unit */
	while (bytes >= 1000 && scaled(bytes, 10 * unit, 1) >= 1000)
		unit++;
	if (unit == 0) {
		snprintf(out, size, "%u B", (unsigned)bytes);
	} else if ((v = (unsigned)scaled(bytes, 10 * unit, 100)) < 1000) {
		snprintf(out, size, "%u.%02u %s", v / 100, v % 100, names[unit]);
	} else if ((v = (unsigned)scaled(bytes, 10 * unit, 10)) < 1000) {
		snprintf(out, size, "%u.%u %s", v / 10, v % 10, names[unit]);
	} else {
		snprintf(out, size, "%u %s", (unsigned)scaled(bytes, 10 * unit, 1), names[unit]);
	}
	return out;
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

long units_parse_hex(const char *text, size_t text_len, uint8_t *out, size_t size)
{
	size_t n = text_len / 2;

	if (text_len % 2 != 0 || n > size)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(text[2 * i]), lo = hex_digit(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -1;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return (long)n;
}
