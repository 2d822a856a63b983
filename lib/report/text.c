/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"

#define LABEL 11 /* columns of a fact's name with the blank behind it */
#define INDENT 2

struct page {
	FILE *out;
	const struct report_style *style;
};

static void bold(const struct page *p, const char *text)
{
	fputs(p->style->colour ? "\033[1m" : "", p->out);
	report_wrap(p->out, p->style->width, INDENT, 0, text);
	fputs(p->style->colour ? "\033[0m" : "", p->out);
}

static void put_fact(void *arg, const char *label, const char *text)
{
	const struct page *p = arg;

	fprintf(p->out, "%-*s", LABEL, label);
	report_wrap(p->out, p->style->width, LABEL, LABEL, text);
}

/* A line that may come from a file. */
static int put_clean(const struct page *p, int indent, const char *text)
{
	char *clean = report_clean(text);

	if (!clean)
		return -1;
	report_wrap(p->out, p->style->width, indent, 0, clean);
	free(clean);
	return 0;
}

int report_header(FILE *out, const struct doc *d, const struct report_style *s, struct err *e)
{
	struct page p = { out, s };
	char *title, *clean;

	if (asprintf(&title, "%s%s%s", d->tool ? d->tool : "", d->tool ? ", " : "", d->command) < 0)
		return report_no_memory(e);
	clean = report_clean(title);
	free(title);
	if (!clean)
		return report_no_memory(e);
	bold(&p, clean);
	free(clean);
	return report_facts(d, put_fact, &p) < 0 ? report_no_memory(e) : 0;
}

static void legend(const struct page *p, const struct doc *d)
{
	unsigned flags = report_flags_of(d);

	if (flags)
		putc('\n', p->out);
	for (unsigned flag = 1; flag && flag <= flags; flag <<= 1) {
		char letter[REPORT_MARKS_SIZE];

		if ((flags & flag) && report_mark_meaning(flag)) {
			fprintf(p->out, "%*s%s  ", INDENT, "", report_marks(flag, letter));
			report_wrap(p->out, p->style->width, INDENT + 3, INDENT + 3, report_mark_meaning(flag));
		}
	}
}

int report_footer(FILE *out, const struct doc *d, const struct report_style *s, struct err *e)
{
	struct page p = { out, s };

	legend(&p, d);
	if (d->interrupted || d->n_advice)
		putc('\n', out);
	if (d->interrupted)
		report_wrap(out, s->width, INDENT, 0, "Interrupted: what was finished by then.");
	for (size_t i = 0; i < d->n_advice; i++) {
		if (put_clean(&p, INDENT, d->advice[i]) < 0)
			return report_no_memory(e);
	}
	return 0;
}

static int put_group(const struct page *p, const struct report_group *g)
{
	struct report_table t = { 0 };
	char *heading = report_group_table(g, p->style, &t);

	if (heading) {
		putc('\n', p->out);
		bold(p, heading);
		report_table_text(&t, p->out, p->style);
	}
	report_table_free(&t);
	free(heading);
	return heading ? 0 : -1;
}

int report_text(FILE *out, const struct doc *d, const struct report_style *s, struct err *e)
{
	struct page p = { out, s };
	struct report_groups g;
	int r = 0;

	if (report_header(out, d, s, e) < 0)
		return -1;
	if (report_groups_of(d, &g) < 0)
		return report_no_memory(e);
	for (size_t i = 0; i < g.n && r == 0; i++)
		r = put_group(&p, &g.groups[i]);
	report_groups_free(&g);
	return r < 0 ? report_no_memory(e) : report_footer(out, d, s, e);
}
