/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/report/report_int.h"

/* Rates, times and sizes in units that people read. */

struct step {
	const char *name;
	double divisor;
	double from; /* the middle value at which it begins to read well */
};

static const struct step byte_rates[] = {
	{ "B/s", 1, 0 }, { "kB/s", 1e3, 1e3 }, { "MB/s", 1e6, 1e6 }, { "GB/s", 1e9, 1e9 }, { "TB/s", 1e12, 1e12 },
};
/* one step for each of the fixed units */
static const struct step fixed_rates[] = {
	[REPORT_UNIT_MB] = { "MB/s", 1e6, 0 },
	[REPORT_UNIT_MIB] = { "MiB/s", 1048576, 0 },
	[REPORT_UNIT_GBIT] = { "Gbit/s", 1e9 / 8, 0 },
};
/* operations compare best as plain numbers, so prefixes begin late */
static const struct step count_rates[] = { { "", 1, 0 }, { "k", 1e3, 1e5 }, { "M", 1e6, 1e8 }, { "G", 1e9, 1e11 } };
static const struct step times[] = { { "ns", 1, 0 }, { "µs", 1e3, 1e3 }, { "ms", 1e6, 1e6 }, { "s", 1e9, 1e9 } };
static const struct step sizes[] = {
	{ "B", 1, 0 }, { "KiB", 0x1p10, 0x1p10 }, { "MiB", 0x1p20, 0x1p20 }, { "GiB", 0x1p30, 0x1p30 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_DECIMALS 4

static bool is_bytes(const char *unit)
{
	return strcmp(unit, "bytes/s") == 0;
}

/* Decimals that show three digits of v. */
static int decimals_of(double v, int most)
{
	int d = v > 0 ? 2 - (int)floor(log10(v)) : 0;

	return d < 0 ? 0 : d > most ? most : d;
}

static void choose(struct report_scale *s, const struct step *steps, size_t n, double middle, double least)
{
	size_t i = n - 1;

	while (i > 0 && !(middle >= steps[i].from))
		i--;
	/* what would read 0.012 reads 12.3 one unit below */
	while (i > 0 && least > 0 && least < 0.1 * steps[i].divisor)
		i--;
	s->name = steps[i].name;
	s->divisor = steps[i].divisor;
	s->decimals = decimals_of(least / s->divisor, MOST_DECIMALS);
}

void report_scale_rate(struct report_scale *s, const char *unit, enum report_unit u, double middle, double least)
{
	if (is_bytes(unit)) {
		if (u == REPORT_UNIT_AUTO)
			choose(s, byte_rates, COUNT(byte_rates), middle, least);
		else
			choose(s, &fixed_rates[u], 1, middle, least);
		return;
	}
	choose(s, count_rates, COUNT(count_rates), middle, least);
	if (strcmp(unit, "operations/s") == 0)
		unit = "op/s";
	snprintf(s->space, sizeof(s->space), "%s%s%s", s->name, s->name[0] ? " " : "", unit);
	s->name = s->space;
}

void report_scale_ns(struct report_scale *s, double middle, double least)
{
	choose(s, times, COUNT(times), middle, least);
	if (s->divisor == 1)
		s->decimals = 0;
}

void report_scale_bytes(struct report_scale *s, double middle, double least)
{
	choose(s, sizes, COUNT(sizes), middle, least);
	if (s->divisor == 1)
		s->decimals = 0;
}

/* The largest step in which v is at least 1, as three digits show it. */
static const struct step *step_of(const struct step *steps, size_t n, double v)
{
	size_t i = 0;

	while (i + 1 < n && v >= 0.9995 * steps[i + 1].divisor)
		i++;
	return &steps[i];
}

/* "1.23" or "812"; what rounds up to 10.0 has one decimal less. */
static void three_digits(double v, char *out, size_t size)
{
	int d = decimals_of(v, 9);

	if (d > 0 && v * pow(10, d) >= 999.5)
		d--;
	snprintf(out, size, "%.*f", d, v);
}

char *report_rate(double rate, const char *unit, enum report_unit u, char *out, size_t size)
{
	const struct step *s;
	char number[REPORT_VALUE_SIZE];

	if (!isfinite(rate)) {
		snprintf(out, size, "unknown");
		return out;
	}
	if (is_bytes(unit)) {
		s = u == REPORT_UNIT_AUTO ? step_of(byte_rates, COUNT(byte_rates), rate) : &fixed_rates[u];
		three_digits(rate / s->divisor, number, sizeof(number));
		snprintf(out, size, "%s %s", number, s->name);
		return out;
	}
	s = step_of(count_rates, COUNT(count_rates), rate);
	three_digits(rate / s->divisor, number, sizeof(number));
	if (strcmp(unit, "operations/s") == 0)
		snprintf(out, size, "%s%s%s/s", number, s->name[0] ? " " : "", s->name);
	else
		snprintf(out, size, "%s %s%s%s", number, s->name, s->name[0] ? " " : "", unit);
	return out;
}

/* --- params ------------------------------------------------------------------------ */

/* The ends of names, and how such values are written. Bytes are apart. */
static const struct {
	const char *end, *unit;
} ends[] = {
	{ "_bytes", " B" }, { "_bits", " bits" }, { "_ns", " ns" }, { "_ms", " ms" }, { "_s", " s" }, { "_hz", " Hz" },
	{ "_percent", " %" },
};

/* The row of `ends` for a name; COUNT(ends): none. */
static size_t end_of(const char *name)
{
	size_t i, n = strlen(name);

	for (i = 0; i < COUNT(ends); i++) {
		size_t len = strlen(ends[i].end);

		if (n > len && strcmp(name + n - len, ends[i].end) == 0)
			break;
	}
	return i;
}

/* In the largest unit that divides it, so that nothing is rounded: 1400 B, 16 KiB. */
static void exact_bytes(double v, char out[REPORT_VALUE_SIZE])
{
	uint64_t n = (uint64_t)v;
	size_t i = 0;

	while (i + 1 < COUNT(sizes) && n >= 1024 && n % 1024 == 0) {
		n /= 1024;
		i++;
	}
	snprintf(out, REPORT_VALUE_SIZE, "%" PRIu64 " %s", n, sizes[i].name);
}

const char *report_param_value(const struct row_param *p, char out[REPORT_VALUE_SIZE])
{
	size_t i = end_of(p->name);
	char number[REPORT_NUMBER_SIZE];

	if (p->text)
		return p->text;
	if (!isfinite(p->number))
		return NULL;
	if (i == 0 && p->number >= 0 && p->number < 0x1p63 && p->number == floor(p->number)) {
		exact_bytes(p->number, out);
		return out;
	}
	snprintf(out, REPORT_VALUE_SIZE, "%s%s", report_number(p->number, number), i < COUNT(ends) ? ends[i].unit : "");
	return out;
}

char *report_param_label(const char *name, char out[REPORT_VALUE_SIZE])
{
	size_t i = end_of(name), n = strlen(name) - (i < COUNT(ends) ? strlen(ends[i].end) : 0);

	snprintf(out, REPORT_VALUE_SIZE, "%.*s", (int)(n < REPORT_VALUE_SIZE ? n : REPORT_VALUE_SIZE - 1), name);
	for (char *c = out; *c; c++) {
		if (*c == '_')
			*c = ' ';
	}
	return out;
}
