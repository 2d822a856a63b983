/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/check_int.h"

#define MOST 1000 /* columns of what stands before the figures: Nagios and its kin cut lines of some KiB */

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

int check_write_nagios(FILE *out, const struct check *c)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	char number[CHECK_DECIMAL_SIZE];
	int r;

	fprintf(out, "TLS %s - ", words[check_nagios_state(c)]);
	r = put_summary(out, c);
	/* U: not known, as in the guidelines for plugins */
	fprintf(out, " | days_left=%s", isfinite(c->days_left) ? check_decimal(floor(c->days_left), 0, number) : "U");
	put_limit(out, c->warn_days);
	put_limit(out, c->crit_days);
	if (isfinite(c->total_ms))
		fprintf(out, " time=%ss;;;0\n", check_decimal(c->total_ms / 1000, 3, number));
	else
		fputs(" time=U;;;0\n", out);
	return fflush(out) != 0 || ferror(out) ? -1 : r;
}
