/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/report_int.h"

/* A comparison as text and Markdown, which share their table, as CSV and JSON. */

static const struct row *either(const struct report_change *c)
{
	return c->now ? c->now : c->base;
}

static double median_of(const struct row *r)
{
	return r && r->status == ROW_OK && r->n_samples ? r->stats.median : NAN;
}

const char *report_change_reason(const struct report_change *c)
{
	if (c->verdict == REPORT_MISSING)
		return c->base ? "in the base alone" : "not in the base";
	return c->reason;
}

/* --- tables -------------------------------------------------------------------------------- */

enum { ID, BASE, NOW, CHANGE, P, VERDICT };

static void columns(struct report_table *t)
{
	report_table_column(t, "", false, REPORT_KEEP_ALWAYS);
	report_table_column(t, "base", true, REPORT_KEEP_RANGE);
	report_table_column(t, "now", true, REPORT_KEEP_SPREAD);
	report_table_column(t, "change", true, REPORT_KEEP_ALWAYS);
	report_table_column(t, "p", true, REPORT_KEEP_DETAIL);
	report_table_column(t, "", false, REPORT_KEEP_ALWAYS);
}

static enum report_tint tint_of(enum report_verdict v)
{
	static const enum report_tint tints[] = { [REPORT_SAME] = REPORT_PLAIN, [REPORT_BETTER] = REPORT_GOOD,
		[REPORT_WORSE] = REPORT_BAD, [REPORT_UNSURE] = REPORT_PLAIN, [REPORT_REFUSED] = REPORT_DOUBTFUL,
		[REPORT_MISSING] = REPORT_DOUBTFUL };

	return tints[v];
}

static void line(struct report_table *t, const struct report_change *c, const struct report_style *s)
{
	char rate[REPORT_VALUE_SIZE];

	report_table_line(t, tint_of(c->verdict));
	report_table_cell(t, ID, "%s", either(c)->id);
	if (report_change_reason(c)) {
		report_table_rest(t, BASE, "%s: %s", report_verdict_name(c->verdict), report_change_reason(c));
		return;
	}
	report_table_cell(t, BASE, "%s", report_rate(median_of(c->base), c->base->unit, s->unit, rate, sizeof(rate)));
	report_table_cell(t, NOW, "%s", report_rate(median_of(c->now), c->now->unit, s->unit, rate, sizeof(rate)));
	report_table_cell(t, CHANGE, "%+.1f%%", 100 * (c->ratio - 1));
	report_table_cell(t, P, "%s%.3f", c->p < 0.001 ? "<" : "", c->p < 0.001 ? 0.001 : c->p);
	report_table_cell(t, VERDICT, "%s", report_verdict_name(c->verdict));
}

/* --- closing lines --------------------------------------------------------------------------- */

static unsigned count(const struct report_comparison *c, enum report_verdict v)
{
	unsigned n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->changes[i].verdict == v;
	return n;
}

/* "12 rows: 1 worse, 11 same (beyond 5 % and p < 0.05 counts)" */
static char *summary(const struct report_comparison *c)
{
	static const enum report_verdict order[] = { REPORT_WORSE, REPORT_BETTER, REPORT_SAME, REPORT_UNSURE,
		REPORT_REFUSED, REPORT_MISSING };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int failed;

	if (!out)
		return NULL;
	fprintf(out, "%zu %s", c->n, c->n == 1 ? "row" : "rows");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		unsigned n = count(c, order[i]);

		/* that none is worse is worth a word */
		if (n > 0 || order[i] == REPORT_WORSE)
			fprintf(out, "%s %u %s%s", i ? "," : ":", n, report_verdict_name(order[i]),
				order[i] == REPORT_UNSURE ? " (too few samples to show a change)" : "");
	}
	fprintf(out, "; what counts is a change beyond %g %% with p below 0.05", 100 * c->threshold);
	failed = ferror(out);
	failed |= fclose(out);
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

/* The machine's note, clean; "" where there is none. */
static char *machine_of(const struct report_comparison *c)
{
	return report_clean(c->other_machine ? c->machine_note : "");
}

static void text_out(FILE *out, struct report_table *t, const char *machine, const char *sum,
	const struct report_style *s)
{
	report_table_text(t, out, s);
	putc('\n', out);
	if (*machine) {
		fputs("Not the same conditions: ", out);
		report_wrap(out, s->width, 2, (int)strlen("Not the same conditions: "), machine);
	}
	report_wrap(out, s->width, 2, 0, sum);
}

static void markdown_out(FILE *out, const struct report_table *t, const char *machine, const char *sum)
{
	report_table_markdown(t, out);
	if (*machine) {
		fputs("\nNot the same conditions: ", out);
		report_markdown_text(out, machine);
		putc('\n', out);
	}
	putc('\n', out);
	report_markdown_text(out, sum);
	putc('\n', out);
}

static int tables(FILE *out, const struct report_comparison *c, bool markdown, const struct report_style *s,
	struct err *e)
{
	struct report_table t = { 0 };
	char *machine = machine_of(c), *sum = summary(c);
	bool failed;

	columns(&t);
	for (size_t i = 0; i < c->n; i++)
		line(&t, &c->changes[i], s);
	failed = !machine || !sum || t.failed;
	if (!failed && markdown)
		markdown_out(out, &t, machine, sum);
	else if (!failed)
		text_out(out, &t, machine, sum, s);
	report_table_free(&t);
	free(machine);
	free(sum);
	return failed ? report_no_memory(e) : 0;
}

/* --- CSV --------------------------------------------------------------------------------------- */

static void csv_out(FILE *out, const struct report_comparison *c)
{
	fputs("id,unit,base,now,ratio,p,verdict,reason\n", out);
	for (size_t i = 0; i < c->n; i++) {
		const struct report_change *h = &c->changes[i];
		const double numbers[] = { median_of(h->base), median_of(h->now), h->ratio, h->p };

		report_csv_field(out, either(h)->id);
		putc(',', out);
		report_csv_field(out, either(h)->unit);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			char number[REPORT_NUMBER_SIZE];

			fprintf(out, ",%s", report_number(numbers[k], number));
		}
		fprintf(out, ",%s,", report_verdict_name(h->verdict));
		report_csv_field(out, report_change_reason(h));
		putc('\n', out);
	}
}

int report_comparison_write(FILE *out, const struct report_comparison *c, enum report_format f,
	const struct report_style *s, struct err *e)
{
	int r = 0;

	errno = 0;
	switch (f) {
	case REPORT_TEXT:
	case REPORT_MARKDOWN:
		r = tables(out, c, f == REPORT_MARKDOWN, s, e);
		break;
	case REPORT_CSV:
		csv_out(out, c);
		break;
	case REPORT_JSON:
		r = report_comparison_json(out, c, e);
		break;
	case REPORT_SVG:
		return err_set(e, ERR_CONFIG, "a comparison has no drawing: take text, JSON, CSV or Markdown");
	}
	return r < 0 ? -1 : report_flush(out, e);
}
