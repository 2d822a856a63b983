/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/svg_int.h"

/* Horizontal bars: a group for each label, in it a bar for each row, engines next
 * to each other. The labels' column is as wide as the widest line of them. */

enum { BAR = 14, BAR_GAP = 3, GROUP_GAP = 14, LABEL_MAX = 270, LABEL_LINES = 3, PER_SECTION = 40 };

struct bar {
	const struct row *row;
	size_t group, colour;
	bool light;
};

struct group {
	char label[SVG_TEXT];
	size_t n;
};

struct layout {
	struct bar *bars;
	struct group *groups;
	size_t n_groups;
	struct svg_axis axis;
	double left; /* of the bars */
};

/* By group, then operation, then engine, then as they came. */
static int order(const void *x, const void *y)
{
	const struct bar *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->light != b->light)
		return a->light ? 1 : -1;
	return a->colour < b->colour ? -1 : a->colour > b->colour;
}

/* qsort keeps no order of equals. */
static void sort(struct bar *bars, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct bar b = bars[i];
		size_t k = i;

		for (; k > 0 && order(&bars[k - 1], &b) > 0; k--)
			bars[k] = bars[k - 1];
		bars[k] = b;
	}
}

static void fill_groups(struct svg *s, const struct svg_panel *p, struct layout *l)
{
	for (size_t i = 0; i < p->bars.n; i++) {
		const struct row *r = p->bars.rows[i];
		char label[SVG_TEXT];
		size_t g = 0;

		svg_panel_label(p, &p->bars, r, NULL, label);
		while (g < l->n_groups && strcmp(l->groups[g].label, label) != 0)
			g++;
		if (g == l->n_groups)
			memcpy(l->groups[l->n_groups++].label, label, sizeof(label));
		l->groups[g].n++;
		l->bars[i] = (struct bar){ r, g, svg_panel_colour(s, p, r), svg_panel_light(p, r) };
	}
	sort(l->bars, p->bars.n);
}

/* Widths from what is to stand there: labels to the left, figures to the right. */
static void fill_widths(struct svg *s, const struct svg_panel *p, struct layout *l)
{
	double label = 60, figure = 40, most = 0;

	for (size_t i = 0; i < l->n_groups; i++) {
		struct svg_lines lines;

		label = fmax(label, svg_wrap(&lines, l->groups[i].label, LABEL_LINES, LABEL_MAX, SVG_FONT, false));
	}
	for (size_t i = 0; i < p->bars.n; i++) {
		const struct row *r = p->bars.rows[i];
		char text[SVG_TEXT], marks[REPORT_MARKS_SIZE];

		if (!svg_panel_has_figure(r))
			continue;
		most = fmax(most, r->stats.max);
		report_rate(r->stats.median, r->unit, s->style->unit, text, sizeof(text));
		figure = fmax(figure, svg_width(text, SVG_FONT, false) + svg_width(svg_head_marks(s, r, marks), 10, true) + 6);
	}
	figure = fmin(figure, 200);
	svg_axis_rate(&l->axis, most, most, p->unit, s->style->unit, 5);
	l->left = SVG_MARGIN + ceil(label) + 10;
	l->axis.start = l->left;
	l->axis.end = SVG_RIGHT - ceil(figure) - 8;
}

static void whisker(struct svg *s, const struct layout *l, const struct row *r, double y)
{
	double from = svg_axis_at(&l->axis, r->stats.min), to = svg_axis_at(&l->axis, r->stats.max);

	if (to - from < 1)
		return;
	fprintf(s->out, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\"/>\n", from, y, to, from, y - 3,
		to, y - 3);
}

static void figure(struct svg *s, const struct row *r, size_t id, double x, double y)
{
	char text[SVG_TEXT], marks[REPORT_MARKS_SIZE];

	fprintf(s->out, "<text class=\"text\" data-row=\"%zu\" x=\"%.1f\" y=\"%.1f\">", id, x, y);
	svg_escape(s->out, report_rate(r->stats.median, r->unit, s->style->unit, text, sizeof(text)));
	if (svg_head_marks(s, r, marks)[0] != '\0')
		fprintf(s->out, " <tspan class=\"mark\">%s</tspan>", marks);
	fputs("</text>\n", s->out);
}

/* What has no colour names it: "nettle, decrypt: unavailable". */
static void instead(struct svg *s, const struct svg_panel *p, const struct layout *l, const struct row *r, double y)
{
	const char *colour = p->colour ? row_text(r, p->colour) : NULL, *tint = p->tint ? row_text(r, p->tint) : NULL;
	char text[SVG_TEXT] = "", why[SVG_TEXT];
	struct svg_lines line;

	svg_append(text, "", colour ? colour : "");
	svg_append(text, ", ", tint ? tint : "");
	svg_panel_instead(r, why);
	svg_append(text, ": ", why);
	svg_wrap(&line, text, 1, SVG_RIGHT - l->left - 8, SVG_FONT, false);
	svg_put(s, r->status == ROW_ERROR ? "bad" : "muted", l->left + 6, y, "", line.text[0]);
}

static void bar(struct svg *s, const struct svg_panel *p, const struct layout *l, const struct bar *b, size_t id, double y)
{
	const struct row *r = b->row;
	double width;

	fputs("<g>", s->out);
	svg_head_tip(s, r);
	if (svg_panel_has_figure(r)) {
		width = fmax(svg_axis_at(&l->axis, r->stats.median) - l->left, 0.5);
		fprintf(s->out,
			"<rect class=\"bar c%zu%s\" data-row=\"%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
			b->colour, b->light ? " light" : "", id, l->left, y, width, BAR);
		if (r->flags & ROW_NOISY)
			fprintf(s->out, "<rect fill=\"url(#tlskit-hatch)\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
				l->left, y, width, BAR);
		whisker(s, l, r, y + BAR / 2.0);
		figure(s, r, id, fmax(svg_axis_at(&l->axis, r->stats.max), l->left + width) + 6, y + BAR - 3);
	} else {
		instead(s, p, l, r, y + BAR - 3);
	}
	fputs("</g>\n", s->out);
}

/* The label to the left, in the middle of its bars; returns the group's height. */
static double label(struct svg *s, const struct layout *l, size_t g)
{
	struct svg_lines lines;
	double bars = (double)l->groups[g].n * (BAR + BAR_GAP) - BAR_GAP, text, y;

	svg_wrap(&lines, l->groups[g].label, LABEL_LINES, LABEL_MAX, SVG_FONT, false);
	text = lines.n * SVG_LINE;
	y = s->y + fmax(bars - text, 0) / 2 + 11.5;
	for (unsigned i = 0; i < lines.n; i++)
		svg_put(s, "text label", l->left - 8, y + i * SVG_LINE, "text-anchor=\"end\"", lines.text[i]);
	return fmax(bars, text);
}

static double height(const struct layout *l, size_t g)
{
	struct svg_lines lines;

	svg_wrap(&lines, l->groups[g].label, LABEL_LINES, LABEL_MAX, SVG_FONT, false);
	return fmax((double)l->groups[g].n * (BAR + BAR_GAP) - BAR_GAP, lines.n * SVG_LINE) + GROUP_GAP;
}

/* Groups from *first on, and the bars from *b on, with an axis of their own. */
static void section(struct svg *s, const struct svg_panel *p, const struct layout *l, size_t from, size_t to, size_t *b)
{
	double top, bottom, tall = GROUP_GAP;

	for (size_t g = from; g < to; g++)
		tall += height(l, g);
	s->y += tall > 400 ? 26 : 12;
	top = s->y;
	bottom = top + tall;
	svg_axis_x(s, &l->axis, top, bottom, tall > 400);
	s->y += GROUP_GAP;
	for (size_t g = from; g < to; g++) {
		double text = label(s, l, g), bars = (double)l->groups[g].n * (BAR + BAR_GAP) - BAR_GAP;
		double y = s->y + (text - bars) / 2;

		for (size_t i = 0; i < l->groups[g].n; i++, y += BAR + BAR_GAP, (*b)++)
			bar(s, p, l, &l->bars[*b], *b, y);
		s->y += text + GROUP_GAP;
	}
	s->y = bottom + 22;
}

static const char *what_of(const char *unit)
{
	if (strcmp(unit, "bytes/s") == 0)
		return "throughput";
	return strcmp(unit, "operations/s") == 0 ? "operations per second" : unit;
}

void svg_bars(struct svg *s, const struct svg_panel *p)
{
	struct layout l = { 0 };
	size_t b = 0;

	if (p->bars.n == 0)
		return;
	l.bars = calloc(p->bars.n, sizeof(*l.bars));
	l.groups = calloc(p->bars.n, sizeof(*l.groups));
	if (l.bars && l.groups) {
		fill_groups(s, p, &l);
		fill_widths(s, p, &l);
		svg_head(s, p, &p->bars, what_of(p->unit),
			"Medians, more is better; whiskers reach from the slowest to the fastest sample.", true);
		for (size_t from = 0; from < l.n_groups; from += PER_SECTION)
			section(s, p, &l, from, from + PER_SECTION < l.n_groups ? from + PER_SECTION : l.n_groups, &b);
	} else {
		s->failed = true;
	}
	free(l.bars);
	free(l.groups);
}
