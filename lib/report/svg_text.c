/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdint.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/svg_int.h"

static const char ellipsis[] = "\xe2\x80\xa6";

void svg_escape(FILE *out, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t cp = 0;
		size_t n = utf8_decode(text, left, &cp);

		if (n == 0 || utf8_is_control(cp) || cp == 0xfffe || cp == 0xffff)
			fputc(cp == '\n' || cp == '\t' ? ' ' : '?', out);
		else if (cp == '<')
			fputs("&lt;", out);
		else if (cp == '>')
			fputs("&gt;", out);
		else if (cp == '&')
			fputs("&amp;", out);
		else if (cp == '"')
			fputs("&quot;", out);
		else if (cp == '\'')
			fputs("&#39;", out);
		else
			fwrite(text, 1, n, out);
		n = n > 0 ? n : 1;
		text += n;
		left -= n;
	}
}

/* Advance widths from ' ' to '~' in hundredths of the size, of DejaVu Sans: with
 * Verdana the widest of the fonts that systems have for sans-serif. */
static const uint8_t widths[] = {
	32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
	84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69,
	62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64,
	60, 82, 60, 60, 53, 64, 34, 64, 84,
};

static double em(uint32_t cp)
{
	if (cp >= ' ' && cp - ' ' < sizeof(widths))
		return widths[cp - ' '] / 100.0;
	if (cp == 0x2026)
		return 1;
	if (cp < 0x250)
		return 0.8;
	return cp < 0x1100 ? 1.1 : cp < 0x10000 ? 1.05 : 1.4;
}

/* The first n bytes' width. */
static double width_of(const char *text, size_t n, double px, bool bold)
{
	double sum = 0;

	while (n > 0) {
		uint32_t cp = '?';
		size_t len = utf8_decode(text, n, &cp);

		sum += em(cp);
		len = len > 0 ? len : 1;
		text += len;
		n -= len;
	}
	return sum * px * (bold ? 1.14 : 1);
}

double svg_width(const char *text, double px, bool bold)
{
	return width_of(text, strlen(text), px, bold);
}

/* How many bytes of a text go into room; at least one character. A break is
 * where a word ends, if any does in the second half. */
/* Before text[n]: at a blank, or behind a sign that joins; not within "--option". */
static bool breaks(const char *text, size_t n)
{
	if (text[n] == ' ')
		return true;
	if (text[n - 1] == '-' && (text[n] == '-' || n < 2 || text[n - 2] == ' ' || text[n - 2] == '-'))
		return false;
	return strchr("-/_,:+", text[n - 1]) != NULL;
}

static size_t line_length(const char *text, double room, double px, bool bold)
{
	size_t all = strlen(text), n = 0, at_break = 0;
	double used = 0;

	if (width_of(text, all, px, bold) <= room && all < SVG_TEXT)
		return all;
	while (n < all) {
		size_t len = utf8_fit(text + n, all - n, 1);

		used += width_of(text + n, len, px, bold);
		if (n > 0 && (used > room || n + len >= SVG_TEXT - sizeof(ellipsis)))
			break;
		n += len;
		if (breaks(text, n))
			at_break = n;
	}
	return n < all && 2 * at_break >= n ? at_break : n;
}

/* Makes room for the ellipsis at the end of a line, and puts it there. */
static void cut(char *line, double room, double px, bool bold)
{
	size_t n = strlen(line);
	double mark = svg_width(ellipsis, px, bold);

	while (n > 1 && width_of(line, n, px, bold) + mark > room) {
		do
			n--;
		while (n > 1 && ((unsigned char)line[n] & 0xc0) == 0x80);
	}
	memcpy(line + n, ellipsis, sizeof(ellipsis));
}

double svg_wrap(struct svg_lines *out, const char *text, unsigned max, double room, double px, bool bold)
{
	double widest = 0;

	out->n = 0;
	do {
		size_t n = line_length(text, room, px, bold);
		char *line = out->text[out->n++];
		double width;

		memcpy(line, text, n);
		line[n] = '\0';
		text += n;
		text += strspn(text, " ");
		if (*text != '\0' && out->n == max)
			cut(line, room, px, bold);
		width = svg_width(line, px, bold);
		if (width > widest)
			widest = width;
	} while (*text != '\0' && out->n < max);
	return widest;
}

void svg_put(struct svg *s, const char *class, double x, double y, const char *attributes, const char *text)
{
	fprintf(s->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s%s>", class, x, y, attributes[0] ? " " : "", attributes);
	svg_escape(s->out, text);
	fputs("</text>\n", s->out);
}

void svg_paragraph(struct svg *s, const char *class, double px, bool bold, unsigned max, const char *text)
{
	struct svg_lines lines;

	svg_wrap(&lines, text, max, SVG_RIGHT - SVG_MARGIN, px, bold);
	for (unsigned i = 0; i < lines.n; i++) {
		s->y += px * 1.35;
		svg_put(s, class, SVG_MARGIN, s->y, "", lines.text[i]);
	}
}

void svg_append(char text[SVG_TEXT], const char *between, const char *more)
{
	size_t used = strlen(text);

	if (used > 0 && more[0] != '\0')
		used += (size_t)snprintf(text + used, SVG_TEXT - used, "%s", between);
	if (used < SVG_TEXT)
		snprintf(text + used, SVG_TEXT - used, "%s", more);
}
