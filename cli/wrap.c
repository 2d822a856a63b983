/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "cli/wrap.h"
#include "lib/base/utf8.h"

/* Narrower text is no text. */
#define WIDTH_MIN 20

void wrap_newline(struct wrap *w)
{
	fprintf(w->out, "\n");
	w->at = 0;
	w->fresh = true;
}

static void put(struct wrap *w, const char *s, size_t n)
{
	if (w->at < w->indent)
		fprintf(w->out, "%*s", (int)(w->indent - w->at), "");
	if (w->at < w->indent)
		w->at = w->indent;
	fwrite(s, 1, n, w->out);
	w->at += utf8_columns(s, n);
	w->fresh = false;
}

/* A word, broken only when it is longer than a line. */
static void put_word(struct wrap *w, const char *s, size_t n)
{
	size_t columns = utf8_columns(s, n);

	if (!w->fresh && w->at + 1 + columns > w->width)
		wrap_newline(w);
	if (!w->fresh)
		put(w, " ", 1);
	while (columns > w->width - w->indent) {
		size_t len = utf8_fit(s, n, w->width - w->indent);

		put(w, s, len);
		wrap_newline(w);
		s += len;
		n -= len;
		columns = utf8_columns(s, n);
	}
	put(w, s, n);
}

void wrap_words(struct wrap *w, const char *text)
{
	for (;;) {
		size_t n;

		text += strspn(text, " \t\n");
		n = strcspn(text, " \t\n");
		if (n == 0)
			return;
		put_word(w, text, n);
		text += n;
	}
}

void wrap_note(struct wrap *w, const char *label, const char *value)
{
	char note[600];
	int n = snprintf(note, sizeof(note), "(%s: %s)", label, value);

	if (n > 0 && (size_t)n < sizeof(note) && utf8_columns(note, (size_t)n) <= w->width - w->indent)
		put_word(w, note, (size_t)n);
	else
		wrap_words(w, note);
}

struct wrap wrap_start(FILE *out, size_t indent, size_t width)
{
	if (width < indent + WIDTH_MIN)
		width = indent + WIDTH_MIN;
	return (struct wrap){ .out = out, .indent = indent, .width = width, .fresh = true };
}

/* A word of a command line, blanks between quotes included. */
static size_t shell_word(const char *p)
{
	char quote = '\0';
	size_t n;

	for (n = 0; p[n] != '\0' && (quote != '\0' || p[n] != ' '); n++) {
		if (quote != '\0')
			quote = p[n] == quote ? '\0' : quote;
		else if (p[n] == '"' || p[n] == '\'')
			quote = p[n];
	}
	return n;
}

/* A word, or an option and its value: they stay together. */
static size_t shell_unit(const char *p)
{
	size_t n = shell_word(p);
	size_t gap = strspn(p + n, " ");

	if (p[0] == '-' && p[n + gap] != '\0' && p[n + gap] != '-')
		n += gap + shell_word(p + n + gap);
	return n;
}

void wrap_shell(FILE *out, const char *command, size_t indent, size_t width)
{
	size_t at = indent;
	bool first = true;

	fprintf(out, "%*s", (int)indent, "");
	for (const char *p = command; *p != '\0'; first = false) {
		size_t n = shell_unit(p);
		size_t columns = utf8_columns(p, n);

		if (!first && at + 1 + columns + 2 > width) {
			at = indent + 4;
			fprintf(out, " \\\n%*s", (int)at, "");
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		fwrite(p, 1, n, out);
		at += columns;
		p += n;
		p += strspn(p, " ");
	}
	fputc('\n', out);
}
