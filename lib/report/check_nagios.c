/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/check_int.h"

#define MOST  1000 /* columns of what stands before the figures: Nagios and its kin cut lines of some KiB */
#define LABEL 100 /* columns of a target in the label of a figure */

/* --- what it says -------------------------------------------------------------------------- */

static void put_validity(FILE *out, const struct check *c)
{
	double left = floor(c->days_left);
	char date[CLOCK_RFC3339_SIZE], days[CHECK_DECIMAL_SIZE];
	int64_t until;
	bool known = check_expiry(c, &until);

	if (known)
		check_date(until, date);
	if (left < 0 && known)
		fprintf(out, ", certificate expired on %s", date);
	else if (left < 0)
		fputs(", certificate expired", out);
	else if (isfinite(left))
		fprintf(out, ", certificate valid for %s day%s", check_decimal(left, 0, days), left == 1 ? "" : "s");
	if (left >= 0 && known)
		fprintf(out, " (until %s)", date);
}

/* The fault that decides, then the others. */
static void put_faults(FILE *out, const struct check *c)
{
	const struct check_fault *first = check_deciding(c);

	fprintf(out, ": %s", check_message(first));
	for (size_t i = 0; i < c->n_faults; i++) {
		if (&c->faults[i] != first)
			fprintf(out, "; %s", check_message(&c->faults[i]));
	}
}

/* Owned; NULL: no memory. */
static char *summary(const struct check *c)
{
	char *name = check_name(c), *text = NULL;
	size_t size;
	FILE *out = name ? open_memstream(&text, &size) : NULL;
	bool wrong;

	if (!out) {
		free(name);
		return NULL;
	}
	fputs(name, out);
	free(name);
	if (c->n_faults) {
		put_faults(out, c);
	} else {
		if (c->version)
			fprintf(out, " %s", c->version);
		if (!c->verified)
			fputs(", not verified", out);
		put_validity(out, c);
	}
	wrong = ferror(out);
	if (fclose(out) == 0 && !wrong)
		return text;
	free(text);
	return NULL;
}

/* --- the line -------------------------------------------------------------------------------- */

/* '|' would begin the figures, and a newline end the line. */
static int put_summary(FILE *out, const struct check *c)
{
	char *raw = summary(c), *clean = raw ? report_clean(raw) : NULL;
	size_t n, fits;

	free(raw);
	if (!clean)
		return -1;
	for (char *p = clean; (p = strchr(p, '|')) != NULL;)
		*p = '?';
	n = strlen(clean);
	fits = utf8_fit(clean, n, MOST);
	fprintf(out, "%.*s%s", (int)fits, clean, fits < n ? "…" : "");
	free(clean);
	return 0;
}

/* A range without an end: what is below alerts ("30" alone would mean what is above). */
static void put_limit(FILE *out, double days)
{
	char number[CHECK_DECIMAL_SIZE];

	putc(';', out);
	if (isfinite(days))
		fprintf(out, "%s:", check_decimal(days, days == floor(days) ? 0 : 2, number));
}

static int put_line(FILE *out, const struct check *c)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	fprintf(out, "TLS %s - ", words[check_nagios_state(c)]);
	return put_summary(out, c);
}

/* Rounded down, as people count days: what expired a moment ago is below 0. */
static void put_days(FILE *out, const struct check *c)
{
	char number[CHECK_DECIMAL_SIZE];

	/* U: not known, as in the guidelines for plugins */
	fputs(isfinite(c->days_left) ? check_decimal(floor(c->days_left * 100) / 100, 2, number) : "U", out);
	put_limit(out, c->warn_days);
	put_limit(out, c->crit_days);
}

static void put_time(FILE *out, const struct check *c)
{
	char number[CHECK_DECIMAL_SIZE];

	if (isfinite(c->total_ms))
		fprintf(out, "%ss;;;0", check_decimal(c->total_ms / 1000, 3, number));
	else
		fputs("U;;;0", out);
}

int check_write_nagios(FILE *out, const struct check *c)
{
	int r = put_line(out, c);

	fputs(" | days_left=", out);
	put_days(out, c);
	fputs(" time=", out);
	put_time(out, c);
	putc('\n', out);
	return fflush(out) != 0 || ferror(out) ? -1 : r;
}

/* --- several ----------------------------------------------------------------------------------- */

/* What a label is of. It stands in quotes, and ends at them or at an equals sign. */
static int put_of(FILE *out, const struct check *c, bool address)
{
	char *clean = report_clean(c->target);

	if (!clean)
		return -1;
	for (char *p = clean; (p = strpbrk(p, "'=|")) != NULL;)
		*p = '?';
	fprintf(out, "%.*s", (int)utf8_fit(clean, strlen(clean), LABEL), clean);
	if (address && c->address)
		fprintf(out, " %s", c->address);
	free(clean);
	return 0;
}

static int put_figures(FILE *out, const struct check *c, bool address)
{
	int r;

	putc('\'', out);
	r = put_of(out, c, address);
	fputs(" days_left'=", out);
	put_days(out, c);
	fputs(" '", out);
	r |= put_of(out, c, address);
	fputs(" time'=", out);
	put_time(out, c);
	return r;
}

int check_write_nagios_all(FILE *out, const struct check *const *checks, size_t n, bool addresses)
{
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		r |= put_line(out, checks[i]);
		if (i == 0) {
			fputs(" | ", out);
			r |= put_figures(out, checks[i], addresses);
		}
		fputs(i > 0 && i + 1 == n ? " | " : "\n", out);
	}
	for (size_t i = 1; i < n; i++) {
		r |= put_figures(out, checks[i], addresses);
		putc('\n', out);
	}
	return fflush(out) != 0 || ferror(out) ? -1 : r;
}
