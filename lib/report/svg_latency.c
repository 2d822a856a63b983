/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/report/svg_int.h"

/* Percentiles on a logarithmic axis: a strip for each row, a shape for each
 * percentile, three of them as figures at the right. */

enum { STRIP = 20, STRIP_GAP = 6, LABEL_MAX = 250, LABEL_LINES = 3, FIGURE = 66 };

/* Around 0 0. */
static const struct {
	const char *name, *shape;
} percentiles[] = {
	{ "p50", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z" },
	{ "p90", "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z" },
	{ "p99", "M0 -5L5 0L0 5L-5 0z" },
	{ "p99.9", "M-4 4L0 -4L4 4z" },
	{ "max", "M-1 -6h2v12h-2z" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double value(const struct row *r, size_t i)
{
	const struct row_latency *l = r->latency;
	const uint64_t values[] = { l->p50, l->p90, l->p99, l->p999, l->max };

	return (double)values[i];
}

static void shape(struct svg *s, size_t i, size_t colour, double x, double y)
{
	fprintf(s->out, "<path class=\"dot c%zu\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/>\n", colour, x, y,
		percentiles[i].shape);
}

static void key(struct svg *s)
{
	double x = SVG_MARGIN + 6;

	s->y += 20;
	for (size_t i = 0; i < COUNT(percentiles); i++) {
		shape(s, i, 0, x, s->y - 4);
		svg_put(s, "text", x + 10, s->y, "", percentiles[i].name);
		x += 10 + svg_width(percentiles[i].name, SVG_FONT, false) + 24;
	}
}

static void figures(struct svg *s, const struct row *r, double y)
{
	static const size_t shown[] = { 0, 2, 4 };
	char text[32];

	for (size_t i = 0; i < COUNT(shown); i++)
		svg_put(s, "text", SVG_RIGHT - (double)(COUNT(shown) - 1 - i) * FIGURE, y, "text-anchor=\"end\"",
			svg_ns(value(r, shown[i]), text, sizeof(text)));
}

static void strip(struct svg *s, const struct svg_panel *p, const struct row *r, const struct svg_axis *a, double y)
{
	size_t colour = svg_panel_colour(s, p, r);

	fputs("<g>", s->out);
	svg_head_tip(s, r);
	fprintf(s->out, "<path class=\"line thin c%zu\" d=\"M%.1f %.1fH%.1f\"/>\n", colour, svg_axis_at(a, value(r, 0)), y,
		svg_axis_at(a, value(r, COUNT(percentiles) - 1)));
	for (size_t i = COUNT(percentiles); i-- > 0;)
		shape(s, i, colour, svg_axis_at(a, value(r, i)), y);
	figures(s, r, y + 4);
	fputs("</g>\n", s->out);
}

/* The label that tells everything but the colour. */
static double wrap(const struct svg_panel *p, const struct row *r, struct svg_lines *lines)
{
	char text[SVG_TEXT];

	svg_set_label(&p->latency, r, (const char *const[]){ p->colour, NULL }, text);
	return svg_wrap(lines, text, LABEL_LINES, LABEL_MAX, SVG_FONT, false);
}

static void axis_of(const struct svg_panel *p, struct svg_axis *a, double *tall)
{
	double least = INFINITY, most = 0, label = 60;

	*tall = STRIP_GAP;
	for (size_t i = 0; i < p->latency.n; i++) {
		const struct row *r = p->latency.rows[i];
		struct svg_lines lines;

		label = fmax(label, wrap(p, r, &lines));
		*tall += fmax(lines.n * SVG_LINE, STRIP) + STRIP_GAP;
		for (size_t k = 0; k < COUNT(percentiles); k++) {
			least = fmin(least, value(r, k));
			most = fmax(most, value(r, k));
		}
	}
	svg_axis_ns(a, least, most);
	a->start = SVG_MARGIN + ceil(label) + 16;
	a->end = SVG_RIGHT - 3 * FIGURE - 14;
}

void svg_latency(struct svg *s, const struct svg_panel *p)
{
	static const char *const heads[] = { "p50", "p99", "max" };
	struct svg_axis a;
	double tall, top;

	if (p->latency.n == 0)
		return;
	svg_head(s, p, &p->latency, "latency", "Percentiles, logarithmic; less is better.", false);
	key(s);
	axis_of(p, &a, &tall);
	s->y += 26;
	top = s->y;
	svg_axis_x(s, &a, top, top + tall, tall > 400);
	for (size_t i = 0; i < COUNT(heads); i++)
		svg_put(s, "muted", SVG_RIGHT - (double)(COUNT(heads) - 1 - i) * FIGURE, top - 5, "text-anchor=\"end\"", heads[i]);
	s->y += STRIP_GAP;
	for (size_t i = 0; i < p->latency.n; i++) {
		const struct row *r = p->latency.rows[i];
		struct svg_lines lines;
		double high, y;

		wrap(p, r, &lines);
		high = fmax(lines.n * SVG_LINE, STRIP);
		y = s->y + (high - lines.n * SVG_LINE) / 2 + 11.5;
		for (unsigned k = 0; k < lines.n; k++)
			svg_put(s, "text label", a.start - 14, y + k * SVG_LINE, "text-anchor=\"end\"", lines.text[k]);
		strip(s, p, r, &a, s->y + high / 2);
		s->y += high + STRIP_GAP;
	}
	s->y = top + tall + 22;
}
