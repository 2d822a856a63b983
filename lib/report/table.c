/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"

#define INDENT 2
#define GAP    2
#define LEAST_NAME 12 /* columns that stay of a name that is cut */

/* --- building ------------------------------------------------------------------------ */

size_t report_table_column(struct report_table *t, const char *head, bool right, int keep)
{
	struct report_column *c;

	if (t->failed)
		return 0;
	c = realloc(t->columns, (t->n_columns + 1) * sizeof(*c));
	if (!c) {
		t->failed = true;
		return 0;
	}
	t->columns = c;
	c[t->n_columns] = (struct report_column){ report_clean(head), right, keep, 0 };
	t->failed = !c[t->n_columns].head;
	return t->n_columns++;
}

void report_table_line(struct report_table *t, enum report_tint tint)
{
	struct report_line *l;

	if (t->failed)
		return;
	l = realloc(t->lines, (t->n_lines + 1) * sizeof(*l));
	if (!l) {
		t->failed = true;
		return;
	}
	t->lines = l;
	l += t->n_lines++;
	*l = (struct report_line){ calloc(t->n_columns + 1, sizeof(char *)), NULL, 0, tint };
	t->failed = !l->cells;
}

__attribute__((format(printf, 1, 0))) static char *clean_format(const char *fmt, va_list args)
{
	char *raw, *clean;

	if (vasprintf(&raw, fmt, args) < 0)
		return NULL;
	clean = report_clean(raw);
	free(raw);
	return clean;
}

void report_table_cell(struct report_table *t, size_t column, const char *fmt, ...)
{
	va_list args;

	if (t->failed)
		return;
	va_start(args, fmt);
	t->lines[t->n_lines - 1].cells[column] = clean_format(fmt, args);
	va_end(args);
	t->failed = !t->lines[t->n_lines - 1].cells[column];
}

void report_table_rest(struct report_table *t, size_t from, const char *fmt, ...)
{
	struct report_line *l;
	va_list args;

	if (t->failed)
		return;
	l = &t->lines[t->n_lines - 1];
	va_start(args, fmt);
	l->rest = clean_format(fmt, args);
	va_end(args);
	l->rest_from = from;
	t->failed = !l->rest;
}

void report_table_free(struct report_table *t)
{
	for (size_t i = 0; i < t->n_lines; i++) {
		for (size_t k = 0; t->lines[i].cells && k < t->n_columns; k++)
			free(t->lines[i].cells[k]);
		free(t->lines[i].cells);
		free(t->lines[i].rest);
	}
	for (size_t k = 0; k < t->n_columns; k++)
		free(t->columns[k].head);
	free(t->lines);
	free(t->columns);
	*t = (struct report_table){ 0 };
}

/* --- widths ---------------------------------------------------------------------------- */

static int columns_of(const char *text)
{
	return (int)utf8_columns(text, strlen(text));
}

/* The cell's text; "" where there is none or the line's rest covers it. */
static const char *cell(const struct report_line *l, size_t column)
{
	if (!l->cells[column] || (l->rest && column >= l->rest_from))
		return "";
	return l->cells[column];
}

static void measure(struct report_table *t)
{
	for (size_t k = 0; k < t->n_columns; k++) {
		struct report_column *c = &t->columns[k];

		c->width = columns_of(c->head);
		for (size_t i = 0; i < t->n_lines; i++) {
			int n = columns_of(cell(&t->lines[i], k));

			c->width = n > c->width ? n : c->width;
		}
	}
}

/* Columns of the screen that the columns before `end` take, with the gap behind them. */
static int extent(const struct report_table *t, size_t end)
{
	int n = INDENT;

	for (size_t k = 0; k < end; k++)
		n += t->columns[k].width >= 0 ? t->columns[k].width + GAP : 0;
	return n;
}

static int over(const struct report_table *t, int width)
{
	return extent(t, t->n_columns) - GAP - width;
}

/* Leaves out the columns that are worth least, up to those worth `limit`. */
static void drop(struct report_table *t, int width, int limit)
{
	while (over(t, width) > 0) {
		int least = limit;

		for (size_t k = 0; k < t->n_columns; k++) {
			if (t->columns[k].width >= 0 && t->columns[k].keep < least)
				least = t->columns[k].keep;
		}
		if (least == limit)
			return;
		for (size_t k = 0; k < t->n_columns; k++) {
			if (t->columns[k].keep == least)
				t->columns[k].width = -1;
		}
	}
}

static void fit(struct report_table *t, int width)
{
	struct report_column *name = &t->columns[0];
	int left;

	drop(t, width, REPORT_KEEP_PARAM);
	if (over(t, width) <= 0)
		return;
	left = name->width - over(t, width);
	if (left < LEAST_NAME)
		left = name->width < LEAST_NAME ? name->width : LEAST_NAME;
	name->width = left;
	drop(t, width, REPORT_KEEP_ALWAYS);
}

/* --- text -------------------------------------------------------------------------------- */

static const char *const tints[] = { "", "\033[32m", "\033[31m", "\033[33m" };

/* Pads to the column's width. *pending: blanks that are due before the next text,
 * so that no line ends in them. */
static void put_cell(FILE *out, const struct report_column *c, const char *text, int *pending, const char *tint)
{
	int n = columns_of(text);
	size_t fits = strlen(text);

	if (n > c->width) { /* a name that was cut */
		fits = utf8_fit(text, fits, (size_t)c->width - 1);
		n = c->width;
	}
	if (c->right)
		*pending += c->width - n;
	if (n > 0) {
		fprintf(out, "%*s%s%.*s%s%s", *pending, "", tint, (int)fits, text, text[fits] ? "…" : "",
			tint[0] ? "\033[0m" : "");
		*pending = 0;
	}
	if (!c->right)
		*pending += c->width - n;
	*pending += GAP;
}

/* Behind the cells if it fits there, else below them. */
static void put_rest(FILE *out, const struct report_table *t, const struct report_line *l, int pending,
	const struct report_style *s)
{
	const char *tint = s->colour ? tints[l->tint] : "";
	int at = extent(t, l->rest_from);

	if (s->width <= 0 || at + columns_of(l->rest) <= s->width) {
		fprintf(out, "%*s", pending, "");
	} else {
		at = 2 * INDENT + GAP;
		fprintf(out, "\n%*s", at, "");
	}
	fputs(tint, out);
	report_wrap(out, s->width, at, at, l->rest);
	if (tint[0])
		fputs("\033[0m", out);
}

static void put_line(FILE *out, const struct report_table *t, const struct report_line *l,
	const struct report_style *s)
{
	int pending = INDENT;

	for (size_t k = 0; k < (l->rest ? l->rest_from : t->n_columns); k++) {
		bool last = k + 1 == t->n_columns;

		if (t->columns[k].width >= 0)
			put_cell(out, &t->columns[k], cell(l, k), &pending, last && s->colour ? tints[l->tint] : "");
	}
	if (l->rest)
		put_rest(out, t, l, pending, s);
	else
		putc('\n', out);
}

void report_table_text(struct report_table *t, FILE *out, const struct report_style *s)
{
	int pending = INDENT;

	if (t->n_columns == 0)
		return;
	measure(t);
	if (s->width > 0)
		fit(t, s->width);
	for (size_t k = 0; k < t->n_columns; k++) {
		if (t->columns[k].width >= 0)
			put_cell(out, &t->columns[k], t->columns[k].head, &pending, "");
	}
	putc('\n', out);
	for (size_t i = 0; i < t->n_lines; i++)
		put_line(out, t, &t->lines[i], s);
}

/* --- Markdown -------------------------------------------------------------------------- */

void report_table_markdown(const struct report_table *t, FILE *out)
{
	size_t k;

	for (k = 0; k < t->n_columns; k++) {
		fputs("| ", out);
		report_markdown_text(out, t->columns[k].head);
		putc(' ', out);
	}
	fputs("|\n", out);
	for (k = 0; k < t->n_columns; k++)
		fputs(t->columns[k].right ? "| --: " : "| :-- ", out);
	fputs("|\n", out);
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct report_line *l = &t->lines[i];

		for (k = 0; k < t->n_columns; k++) {
			fputs("| ", out);
			report_markdown_text(out, l->rest && k == l->rest_from ? l->rest : cell(l, k));
			putc(' ', out);
		}
		fputs("|\n", out);
	}
}
