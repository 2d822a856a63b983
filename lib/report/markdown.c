/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/report/report_int.h"

/* Markdown as GitHub reads it. */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the character at text[i] would do something there. "_" within a word does
 * not: suites stay as they are. */
static bool acts(const char *text, size_t i)
{
	if (text[i] == '_')
		return i == 0 || !is_word(text[i - 1]) || !is_word(text[i + 1]);
	return strchr("\\`*[]<>|~&#", text[i]) != NULL;
}

void report_markdown_text(FILE *out, const char *text)
{
	for (size_t i = 0; text[i]; i++) {
		if (acts(text, i))
			putc('\\', out);
		putc(text[i], out);
	}
}

static void put_fact(void *arg, const char *label, const char *text)
{
	FILE *out = arg;

	fprintf(out, "- %s: ", label);
	report_markdown_text(out, text);
	putc('\n', out);
}

/* What may come from a file. */
static int put_clean(FILE *out, const char *before, const char *text, const char *behind)
{
	char *clean = report_clean(text);

	if (!clean)
		return -1;
	fputs(before, out);
	report_markdown_text(out, clean);
	fputs(behind, out);
	free(clean);
	return 0;
}

static int put_group(FILE *out, const struct report_group *g, const struct report_style *s)
{
	struct report_table t = { 0 };
	char *heading = report_group_table(g, s, &t);

	if (heading) {
		fputs("\n## ", out);
		report_markdown_text(out, heading);
		fputs("\n\n", out);
		report_table_markdown(&t, out);
	}
	report_table_free(&t);
	free(heading);
	return heading ? 0 : -1;
}

static void legend(FILE *out, const struct doc *d)
{
	unsigned flags = report_flags_of(d);

	if (flags)
		putc('\n', out);
	for (unsigned flag = 1; flag && flag <= flags; flag <<= 1) {
		char letter[REPORT_MARKS_SIZE];

		if ((flags & flag) && report_mark_meaning(flag))
			fprintf(out, "- %s: %s\n", report_marks(flag, letter), report_mark_meaning(flag));
	}
}

static int put_all(FILE *out, const struct doc *d, const struct report_groups *g, const struct report_style *s)
{
	if (put_clean(out, "# ", d->command, "\n\n") < 0 || (d->tool && put_clean(out, "- tool: ", d->tool, "\n") < 0) ||
		report_facts(d, put_fact, out) < 0)
		return -1;
	for (size_t i = 0; i < g->n; i++) {
		if (put_group(out, &g->groups[i], s) < 0)
			return -1;
	}
	legend(out, d);
	if (d->interrupted)
		fputs("\nInterrupted: what was finished by then.\n", out);
	for (size_t i = 0; i < d->n_advice; i++) {
		if (put_clean(out, "\n", d->advice[i], "\n") < 0)
			return -1;
	}
	return 0;
}

int report_markdown(FILE *out, const struct doc *d, const struct report_style *s, struct err *e)
{
	struct report_groups g;
	int r;

	if (report_groups_of(d, &g) < 0)
		return report_no_memory(e);
	r = put_all(out, d, &g, s);
	report_groups_free(&g);
	return r < 0 ? report_no_memory(e) : 0;
}
