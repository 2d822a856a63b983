/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/check_int.h"

/* Lines of words. They are UTF-8, in any locale, as what certificates hold is. */

#define WIDTH_MIN 40 /* narrower text is no text */
#define LEAST     2 /* columns for a blank and a character */

struct check_page check_page_start(FILE *out, const struct check_style *s)
{
	int width = s->width <= 0 ? INT_MAX : s->width < WIDTH_MIN ? WIDTH_MIN : s->width;

	return (struct check_page){ .out = out, .colour = s->colour, .whole = s->show_chain, .width = width,
		.fresh = true };
}

int check_page_finish(struct check_page *p)
{
	return fflush(p->out) != 0 || ferror(p->out) || p->failed ? -1 : 0;
}

/* Cleans as report_clean does. Blanks are written when something follows, so that no
 * line ends in them. */
static void put(struct check_page *p, const char *s, size_t n)
{
	if (n == 0)
		return;
	fprintf(p->out, "%*s", p->pad, "");
	p->pad = 0;
	p->column += (int)utf8_columns(s, n);
	p->fresh = false;
	while (n > 0) {
		uint32_t cp;
		size_t len = utf8_decode(s, n, &cp);

		if (len == 0 || utf8_is_control(cp))
			putc('?', p->out);
		else
			fwrite(s, 1, len, p->out);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
}

/* What follows begins at the column. */
static void pad_to(struct check_page *p, int column)
{
	if (p->column < column)
		p->pad += column - p->column;
	p->column = column > p->column ? column : p->column;
	p->fresh = true;
}

/* --- lines ------------------------------------------------------------------------------ */

void check_page_gap(struct check_page *p)
{
	p->gap = true;
}

void check_page_line(struct check_page *p, int first, int indent)
{
	if (p->gap)
		putc('\n', p->out);
	p->gap = false;
	p->column = p->pad = first;
	p->indent = indent;
	p->fresh = true;
}

void check_page_row(struct check_page *p, int first, int indent, const char *label)
{
	check_page_line(p, first, indent);
	put(p, label, strlen(label));
	pad_to(p, indent);
}

void check_page_label(struct check_page *p, const char *label)
{
	check_page_row(p, 2, CHECK_PAGE_LABEL, label);
}

void check_page_end(struct check_page *p)
{
	putc('\n', p->out);
	p->column = p->pad = 0;
	p->fresh = true;
}

void check_page_mark(struct check_page *p, enum report_tint tint)
{
	static const struct {
		const char *mark, *colour;
	} marks[] = {
		[REPORT_PLAIN] = { "→", "" },
		[REPORT_GOOD] = { "✓", "\033[32m" },
		[REPORT_BAD] = { "✗", "\033[31m" },
		[REPORT_DOUBTFUL] = { "!", "\033[33m" },
	};
	const char *before = p->colour ? marks[tint].colour : "";

	fprintf(p->out, "%*s%s%s%s", p->pad, "", before, marks[tint].mark, before[0] ? "\033[0m" : "");
	p->pad = 0;
	p->column++;
	p->fresh = false;
}

/* --- words ------------------------------------------------------------------------------- */

static void next_line(struct check_page *p)
{
	putc('\n', p->out);
	p->column = p->pad = p->indent;
	p->fresh = true;
}

/* A word, broken only when it is longer than a line; then it begins where the text is. */
static void put_word(struct check_page *p, const char *s, size_t n)
{
	size_t columns = utf8_columns(s, n), room = (size_t)(p->width - p->column);
	bool broken = columns > (size_t)(p->width - p->indent);

	if (!p->fresh) {
		if (room < LEAST || (!broken && columns + 1 > room))
			next_line(p);
		else
			put(p, " ", 1);
	}
	while (columns > (size_t)(p->width - p->column)) {
		size_t len = utf8_fit(s, n, (size_t)(p->width - p->column));

		put(p, s, len);
		next_line(p);
		s += len;
		n -= len;
		columns = utf8_columns(s, n);
	}
	put(p, s, n);
}

void check_page_words(struct check_page *p, const char *text)
{
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " ");

		put_word(p, text, n);
		text += n;
	}
}

void check_page_printf(struct check_page *p, const char *fmt, ...)
{
	va_list args;
	char *text;
	int r;

	va_start(args, fmt);
	r = vasprintf(&text, fmt, args);
	va_end(args);
	if (r < 0) {
		p->failed = true;
		return;
	}
	check_page_words(p, text);
	free(text);
}

void check_page_cut(struct check_page *p, const char *text)
{
	size_t n, room;

	if (p->whole) {
		check_page_words(p, text);
		return;
	}
	text += strspn(text, " ");
	n = strlen(text);
	while (n > 0 && text[n - 1] == ' ')
		n--;
	if (n == 0)
		return;
	if (!p->fresh)
		put(p, " ", 1);
	room = p->column < p->width ? (size_t)(p->width - p->column) : 1;
	if (utf8_columns(text, n) <= room) {
		put(p, text, n);
	} else {
		put(p, text, utf8_fit(text, n, room - 1));
		put(p, "…", strlen("…"));
	}
}

/* --- lists ---------------------------------------------------------------------------------- */

void check_page_item(struct check_page *p, const char *fmt, ...)
{
	va_list args;

	if (p->list)
		fputs(", ", p->list);
	else
		p->list = open_memstream(&p->list_text, &p->list_size);
	if (!p->list) {
		p->failed = true;
		return;
	}
	va_start(args, fmt);
	vfprintf(p->list, fmt, args);
	va_end(args);
}

static void flush_items(struct check_page *p, void (*how)(struct check_page *p, const char *text))
{
	bool wrong;

	if (!p->list)
		return;
	wrong = ferror(p->list);
	if (fclose(p->list) != 0 || wrong)
		p->failed = true;
	else
		how(p, p->list_text);
	free(p->list_text);
	p->list = NULL;
	p->list_text = NULL;
}

void check_page_items(struct check_page *p)
{
	flush_items(p, check_page_words);
}

void check_page_items_cut(struct check_page *p)
{
	flush_items(p, check_page_cut);
}
