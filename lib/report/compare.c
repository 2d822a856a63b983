/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"

#define SIGNIFICANT 0.05 /* p below it */

const char *report_verdict_name(enum report_verdict v)
{
	static const char *const names[] = {
		[REPORT_SAME] = "same", [REPORT_BETTER] = "better", [REPORT_WORSE] = "worse", [REPORT_UNSURE] = "unsure",
		[REPORT_REFUSED] = "refused", [REPORT_MISSING] = "missing",
	};

	return names[v];
}

/* --- two rows --------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A number below 0 is unknown and differs from none. */
static bool same_number(long a, long b)
{
	return a < 0 || b < 0 || a == b;
}

/* Why what was agreed on cannot be compared, or NULL. */
static const char *other_agreement(const struct row *base, const struct row *now)
{
	static const struct row_negotiated none = { .cert_bits = -1, .resumed = -1 };
	const struct row_negotiated *a = base->negotiated ? base->negotiated : &none;
	const struct row_negotiated *b = now->negotiated ? now->negotiated : &none;

	if (!same_text(a->version, b->version))
		return "other version";
	if (!same_text(a->suite, b->suite))
		return "other suite";
	if (!same_text(a->group, b->group))
		return "other group";
	if (!same_text(a->signature, b->signature))
		return "other signature";
	if (!same_number(a->cert_bits, b->cert_bits))
		return "other size of the certificate's key";
	if (!same_number(a->resumed, b->resumed))
		return "resumed on one side alone";
	return NULL;
}

static const char *not_ok(const struct row *base, const struct row *now)
{
	static const char *const names[][3] = {
		[ROW_ERROR] = { "error in the base", "error now", "error in both" },
		[ROW_UNAVAILABLE] = { "unavailable in the base", "unavailable now", "unavailable in both" },
		[ROW_SKIPPED] = { "skipped in the base", "skipped now", "skipped in both" },
	};

	if (base->status == now->status)
		return now->status == ROW_OK ? NULL : names[now->status][2];
	return now->status == ROW_OK ? names[base->status][0] : names[now->status][1];
}

static const char *refusal(const struct row *base, const struct row *now)
{
	const char *why = not_ok(base, now);

	if (why)
		return why;
	if (strcmp(base->unit, now->unit) != 0)
		return "other unit";
	why = other_agreement(base, now);
	if (why)
		return why;
	if (base->n_samples == 0 || now->n_samples == 0)
		return "no samples";
	return isfinite(now->stats.median / base->stats.median) ? NULL : "the base's median is 0";
}

static enum report_verdict judge(const struct report_change *c, double threshold)
{
	if (stats_p_floor(c->base->n_samples, c->now->n_samples) >= SIGNIFICANT)
		return REPORT_UNSURE;
	if (c->p >= SIGNIFICANT || fabs(c->ratio - 1) <= threshold)
		return REPORT_SAME;
	return c->ratio > 1 ? REPORT_BETTER : REPORT_WORSE;
}

/* -1: no memory. */
static int compare_rows(struct report_change *c, const struct row *base, const struct row *now, double threshold)
{
	*c = (struct report_change){ base, now, NAN, NAN, REPORT_MISSING, NULL };
	if (!base || !now)
		return 0;
	c->verdict = REPORT_REFUSED;
	c->reason = refusal(base, now);
	if (c->reason)
		return 0;
	c->ratio = now->stats.median / base->stats.median;
	c->p = stats_p_value(base->samples, base->n_samples, now->samples, now->n_samples);
	if (c->p < 0)
		return -1;
	c->verdict = judge(c, threshold);
	return 0;
}

/* --- two machines ------------------------------------------------------------------------ */

/* Adds to the note; what has no room ends it with an ellipsis. */
__attribute__((format(printf, 2, 3))) static void note(struct report_comparison *c, const char *fmt, ...)
{
	static const char more[] = "…";
	char text[sizeof(c->machine_note)];
	size_t len = strlen(c->machine_note), room = sizeof(c->machine_note) - len;
	bool full = len >= sizeof(more) && strcmp(c->machine_note + len + 1 - sizeof(more), more) == 0;
	bool cut;
	va_list args;

	c->other_machine = true;
	if (full)
		return;
	va_start(args, fmt);
	cut = vsnprintf(text, sizeof(text), fmt, args) >= (int)sizeof(text);
	va_end(args);
	cut |= snprintf(c->machine_note + len, room, "%s%s", len ? "; " : "", text) >= (int)room;
	if (cut) {
		char *end = c->machine_note + sizeof(c->machine_note) - sizeof(more);

		while (((unsigned char)*end & 0xc0) == 0x80) /* not within a character */
			end--;
		strcpy(end, more);
	}
}

static void note_text(struct report_comparison *c, const char *what, const char *base, const char *now)
{
	if (!same_text(base, now))
		note(c, "%s %s, was %s", what, now ? now : "unknown", base ? base : "unknown");
}

static const char *version_of(const struct doc *d, const char *library)
{
	for (size_t i = 0; i < d->n_libraries; i++) {
		if (strcmp(d->libraries[i].name, library) == 0)
			return d->libraries[i].version;
	}
	return NULL;
}

static void note_libraries(struct report_comparison *c, const struct doc *base, const struct doc *now)
{
	size_t i;

	for (i = 0; i < now->n_libraries; i++)
		note_text(c, now->libraries[i].name, version_of(base, now->libraries[i].name), now->libraries[i].version);
	for (i = 0; i < base->n_libraries; i++) {
		if (!version_of(now, base->libraries[i].name))
			note_text(c, base->libraries[i].name, base->libraries[i].version, NULL);
	}
}

static void compare_machines(struct report_comparison *c, const struct doc *base, const struct doc *now)
{
	static const struct host unknown;
	const struct host *a = base->host ? base->host : &unknown, *b = now->host ? now->host : &unknown;

	note_text(c, "processor", a->cpu, b->cpu);
	note_text(c, "architecture", a->architecture, b->architecture);
	note_text(c, "virtualization", a->virtualization, b->virtualization);
	note_text(c, "GnuTLS acceleration", a->acceleration, b->acceleration);
	note_libraries(c, base, now);
}

/* --- two documents ------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
	return strcmp((*(const struct row *const *)a)->id, (*(const struct row *const *)b)->id);
}

/* The rows by id, owned. */
static const struct row **sorted(const struct doc *d)
{
	const struct row **rows = calloc(d->n_rows + 1, sizeof(*rows));

	if (rows && d->n_rows) {
		memcpy(rows, d->rows, d->n_rows * sizeof(*rows));
		qsort(rows, d->n_rows, sizeof(*rows), by_id);
	}
	return rows;
}

static const struct row *find(const struct row **rows, size_t n, const struct row *like)
{
	const struct row **at = n ? bsearch(&like, rows, n, sizeof(*rows), by_id) : NULL;

	return at ? *at : NULL;
}

static void tally(struct report_comparison *c)
{
	for (size_t i = 0; i < c->n; i++) {
		c->worse += c->changes[i].verdict == REPORT_WORSE;
		c->better += c->changes[i].verdict == REPORT_BETTER;
		c->refused += c->changes[i].verdict == REPORT_REFUSED;
	}
}

int report_compare(const struct doc *base, const struct doc *now, double threshold, struct report_comparison *out,
	struct err *e)
{
	const struct row **old = sorted(base), **new = sorted(now);
	int r = 0;

	*out = (struct report_comparison){ .base = base, .now = now, .threshold = threshold };
	out->changes = calloc(now->n_rows + base->n_rows + 1, sizeof(*out->changes));
	if (!old || !new || !out->changes)
		r = -1;
	for (size_t i = 0; r == 0 && i < now->n_rows; i++)
		r = compare_rows(&out->changes[out->n++], find(old, base->n_rows, now->rows[i]), now->rows[i], threshold);
	for (size_t i = 0; r == 0 && i < base->n_rows; i++) {
		if (!find(new, now->n_rows, base->rows[i]))
			r = compare_rows(&out->changes[out->n++], base->rows[i], NULL, threshold);
	}
	free(old);
	free(new);
	if (r < 0) {
		report_comparison_free(out);
		return report_no_memory(e);
	}
	tally(out);
	compare_machines(out, base, now);
	return 0;
}

void report_comparison_free(struct report_comparison *c)
{
	free(c->changes);
	*c = (struct report_comparison){ 0 };
}
