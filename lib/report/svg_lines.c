/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/svg_int.h"

/* Lines over payload or threads: all in one plot with their names at the right, or,
 * where those would be too many, a small plot for each name. */

enum {
	ONE_LINES = 16, /* in the one plot, at most */
	ONE_HEIGHT = 300,
	NAMES_MAX = 240, /* width of the names to its right */
	COLUMNS = 3, /* of small plots */
	GAP = 20,
	CELL_HEIGHT = 120,
	VALUES = 64,
};

struct point {
	const struct row *row;
	double x, y, least, most;
};

struct line {
	char name[SVG_TEXT]; /* of its cell: without colour and tint */
	char full[SVG_TEXT];
	size_t cell, colour, first, n; /* points from first on */
	bool light;
};

struct chart {
	const char *param;
	struct line *lines;
	struct point *points;
	size_t n_lines, n_cells;
	double values[VALUES]; /* of the param */
	size_t n_values;
	double greatest; /* rate of all plots, which share a unit */
	bool speedup; /* y: times the rate at values[0] */
	bool one; /* plot for all */
};

/* --- rows to lines ------------------------------------------------------------------------------ */

static void full_name(const struct svg_panel *p, const struct row *r, struct line *l)
{
	const char *colour = p->colour ? row_text(r, p->colour) : NULL;
	const char *tint = p->tint ? row_text(r, p->tint) : NULL;

	memcpy(l->full, l->name, sizeof(l->full));
	if (colour)
		svg_append(l->full, ", ", colour);
	if (tint)
		svg_append(l->full, ", ", tint);
}

static void add_lines(struct svg *s, const struct svg_panel *p, const struct svg_set *set, struct chart *c, size_t *line_of)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct row *r = set->rows[i];
		struct line l = { .colour = svg_panel_colour(s, p, r), .light = svg_panel_light(p, r), .cell = c->n_cells };
		size_t k;

		svg_panel_label(p, set, r, c->param, l.name);
		for (k = 0; k < c->n_lines; k++) {
			if (strcmp(c->lines[k].name, l.name) != 0)
				continue;
			l.cell = c->lines[k].cell;
			if (c->lines[k].colour == l.colour && c->lines[k].light == l.light)
				break;
		}
		if (k == c->n_lines) {
			full_name(p, r, &l);
			c->n_cells += l.cell == c->n_cells;
			c->lines[c->n_lines++] = l;
		}
		line_of[i] = k;
	}
}

static int by_x(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	/* rows of the same x: as they came, which the id tells */
	return p->x < q->x ? -1 : p->x > q->x ? 1 : strcmp(p->row->id, q->row->id);
}

/* Against the rate at the fewest threads; without that there is no line. */
static void to_speedup(struct line *l, struct point *points, double fewest)
{
	double base = l->n > 0 && points[0].x == fewest ? points[0].y : 0;

	if (!(base > 0))
		l->n = 0;
	for (size_t i = 0; i < l->n; i++) {
		points[i].y /= base;
		points[i].least /= base;
		points[i].most /= base;
	}
}

static void add_points(const struct svg_set *set, struct chart *c, const size_t *line_of)
{
	size_t n = 0;

	for (size_t k = 0; k < c->n_lines; k++) {
		struct line *l = &c->lines[k];

		l->first = n;
		for (size_t i = 0; i < set->n; i++) {
			const struct row *r = set->rows[i];

			if (line_of[i] == k && svg_panel_has_figure(r))
				c->points[n++] = (struct point){ r, row_number(r, c->param), r->stats.median, r->stats.min, r->stats.max };
		}
		l->n = n - l->first;
		qsort(c->points + l->first, l->n, sizeof(*c->points), by_x);
		if (c->speedup)
			to_speedup(l, c->points + l->first, c->values[0]);
		for (size_t i = 0; i < l->n; i++)
			c->greatest = fmax(c->greatest, c->points[l->first + i].most);
		/* without a param for colours each name has its own */
		if (c->one && c->n_cells > 1)
			l->colour = l->cell % SVG_COLOURS;
	}
}

/* --- one plot ------------------------------------------------------------------------------------- */

struct plot {
	double left, right, top, bottom;
	struct svg_axis x, y;
};

static double highest(const struct chart *c, size_t cell)
{
	double most = 0;

	for (size_t k = 0; k < c->n_lines; k++) {
		for (size_t i = 0; (c->one || c->lines[k].cell == cell) && i < c->lines[k].n; i++)
			most = fmax(most, c->points[c->lines[k].first + i].most);
	}
	return most;
}

static void axes(struct svg *s, const struct svg_panel *p, const struct chart *c, size_t cell, struct plot *t)
{
	double most = highest(c, cell);

	svg_axis_values(&t->x, c->values, c->n_values, !c->speedup);
	t->x.start = t->left;
	t->x.end = t->right;
	if (c->speedup)
		svg_axis_times(&t->y, most);
	else
		svg_axis_rate(&t->y, most, c->greatest, p->unit, s->style->unit, c->one ? 5 : 3);
	t->y.start = t->bottom;
	t->y.end = t->top;
	svg_axis_x(s, &t->x, t->top, t->bottom, false);
	svg_axis_y(s, &t->y, t->left, t->right);
	/* as many times as threads, up to where that leaves the plot */
	if (c->speedup) {
		double end = fmin(t->x.to, t->y.to * c->values[0]);

		fprintf(s->out, "<path class=\"ideal\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", t->left, t->bottom, svg_axis_at(&t->x, end),
			svg_axis_at(&t->y, end / c->values[0]));
	}
}

static void draw_line(struct svg *s, const struct plot *t, const struct line *l, const struct point *points)
{
	fprintf(s->out, "<path class=\"line c%zu%s\" d=\"", l->colour, l->light ? " dash" : "");
	for (size_t i = 0; i < l->n; i++)
		fprintf(s->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', svg_axis_at(&t->x, points[i].x),
			svg_axis_at(&t->y, points[i].y));
	fputs("\"/>\n", s->out);
	for (size_t i = 0; i < l->n; i++) {
		double x = svg_axis_at(&t->x, points[i].x), low = svg_axis_at(&t->y, points[i].least),
			high = svg_axis_at(&t->y, points[i].most);

		fputs("<g>", s->out);
		svg_head_tip(s, points[i].row);
		if (low - high >= 1)
			fprintf(s->out, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1f\"/>\n", x, low, high);
		fprintf(s->out, "<circle class=\"%s c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n</g>\n",
			points[i].row->flags ? "hollow" : "dot", l->colour, x, svg_axis_at(&t->y, points[i].y));
	}
}

static void draw_lines(struct svg *s, const struct chart *c, size_t cell, const struct plot *t)
{
	for (size_t k = 0; k < c->n_lines; k++) {
		if (c->lines[k].n > 0 && (c->one || c->lines[k].cell == cell))
			draw_line(s, t, &c->lines[k], c->points + c->lines[k].first);
	}
}

/* --- all in one --------------------------------------------------------------------------------------- */

struct name {
	const struct line *line;
	double x, at, y; /* the last point; where the name goes */
	struct svg_lines text;
};

/* The figure stands behind the name, or below it where there is no room. */
static void name_text(struct svg *s, const struct svg_panel *p, const struct chart *c, const struct line *l, struct name *n)
{
	const struct point *last = &c->points[l->first + l->n - 1];
	char rate[64], times[32], figure[SVG_TEXT] = "";
	char *end;

	report_rate(last->row->stats.median, p->unit, s->style->unit, rate, sizeof(rate));
	if (c->speedup) {
		snprintf(times, sizeof(times), "%.3g\xc3\x97", last->y);
		svg_append(figure, "", times);
	}
	svg_append(figure, ", ", rate);
	svg_wrap(&n->text, l->full, 2, NAMES_MAX, SVG_FONT, false);
	end = n->text.text[n->text.n - 1];
	if (svg_width(end, SVG_FONT, false) + svg_width(figure, SVG_FONT, false) + 8 > NAMES_MAX)
		memcpy(n->text.text[n->text.n++], figure, sizeof(figure));
	else
		svg_append(end, ": ", figure);
}

/* Names go where their lines end, pushed apart where those are close. */
static double spread(struct name *names, size_t n, double top)
{
	double free_from = top;

	for (size_t i = 1; i < n; i++) {
		struct name x = names[i];
		size_t k = i;

		for (; k > 0 && names[k - 1].at > x.at; k--)
			names[k] = names[k - 1];
		names[k] = x;
	}
	for (size_t i = 0; i < n; i++) {
		names[i].y = fmax(names[i].at - names[i].text.n * SVG_LINE / 2.0, free_from);
		free_from = names[i].y + names[i].text.n * SVG_LINE + 1;
	}
	return free_from;
}

/* Up again, from the last, so that none lies below the plot. */
static void lift(struct name *names, size_t n, double bottom)
{
	for (size_t i = n; i-- > 0;) {
		double tall = names[i].text.n * SVG_LINE;

		names[i].y = fmin(names[i].y, bottom - tall);
		bottom = names[i].y - 1;
	}
}

static void draw_names(struct svg *s, const struct name *names, size_t n, double x)
{
	for (size_t i = 0; i < n; i++) {
		double middle = names[i].y + names[i].text.n * SVG_LINE / 2.0;

		fprintf(s->out, "<path class=\"leader\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/>\n", names[i].x + 5, names[i].at,
			fmax(x - 12, names[i].x + 5), names[i].at, x - 3, middle);
		for (unsigned k = 0; k < names[i].text.n; k++)
			svg_put(s, "text name", x, names[i].y + 11 + k * SVG_LINE, "", names[i].text.text[k]);
	}
}

static void one_plot(struct svg *s, const struct svg_panel *p, const struct chart *c)
{
	struct name names[ONE_LINES];
	double widest = 0, tall = 0;
	struct plot t = { .left = SVG_MARGIN + 46, .top = s->y + 26 };
	size_t n = 0;

	for (size_t k = 0; k < c->n_lines && n < ONE_LINES; k++) {
		if (c->lines[k].n == 0)
			continue;
		names[n].line = &c->lines[k];
		name_text(s, p, c, &c->lines[k], &names[n]);
		for (unsigned i = 0; i < names[n].text.n; i++)
			widest = fmax(widest, svg_width(names[n].text.text[i], SVG_FONT, false));
		tall += names[n].text.n * SVG_LINE + 1;
		n++;
	}
	t.right = SVG_RIGHT - ceil(widest) - 20;
	t.bottom = t.top + fmax(ONE_HEIGHT, tall);
	axes(s, p, c, 0, &t);
	draw_lines(s, c, 0, &t);
	for (size_t i = 0; i < n; i++) {
		const struct point *last = &c->points[names[i].line->first + names[i].line->n - 1];

		names[i].x = svg_axis_at(&t.x, last->x);
		names[i].at = svg_axis_at(&t.y, last->y);
	}
	if (spread(names, n, t.top - 6) > t.bottom + 6)
		lift(names, n, t.bottom + 6);
	draw_names(s, names, n, t.right + 20);
	s->y = t.bottom + 24;
}

/* --- a small plot each ------------------------------------------------------------------------------------ */

static const char *cell_name(const struct chart *c, size_t cell)
{
	for (size_t k = 0; k < c->n_lines; k++) {
		if (c->lines[k].cell == cell)
			return c->lines[k].name;
	}
	return "";
}

/* Lines that the names of the plots beside each other take. */
static unsigned name_lines(const struct chart *c, size_t cell, double width)
{
	unsigned most = 1;

	for (size_t i = cell; i < cell + COLUMNS && i < c->n_cells; i++) {
		struct svg_lines name;

		svg_wrap(&name, cell_name(c, i), 2, width, SVG_FONT, true);
		if (name.n > most)
			most = name.n;
	}
	return most;
}

static void small_plots(struct svg *s, const struct svg_panel *p, const struct chart *c)
{
	const double width = (SVG_RIGHT - SVG_MARGIN - (COLUMNS - 1) * GAP) / (double)COLUMNS;
	unsigned names = 1;

	for (size_t cell = 0; cell < c->n_cells; cell++) {
		double left = SVG_MARGIN + (double)(cell % COLUMNS) * (width + GAP);
		struct plot t = { .left = left + 40, .right = left + width - 12 };
		struct svg_lines name;

		if (cell % COLUMNS == 0)
			names = name_lines(c, cell, width);
		t.top = s->y + 22 + names * SVG_LINE + (c->speedup ? 0 : 12);
		t.bottom = t.top + CELL_HEIGHT;
		svg_wrap(&name, cell_name(c, cell), 2, width, SVG_FONT, true);
		for (unsigned i = 0; i < name.n; i++)
			svg_put(s, "text cell", left, s->y + 22 + i * SVG_LINE, "", name.text[i]);
		axes(s, p, c, cell, &t);
		draw_lines(s, c, cell, &t);
		if (cell % COLUMNS == COLUMNS - 1 || cell + 1 == c->n_cells)
			s->y = t.bottom + 22;
	}
}

/* --- the charts --------------------------------------------------------------------------------------------- */

/* What else there is to explain: dashes, and points of rows with flags. */
static void explain(const struct svg_panel *p, const struct svg_set *set, char text[SVG_TEXT])
{
	const char *between = " Hollow points: ";
	unsigned flags = 0;

	if (p->tint) {
		svg_append(text, " Dashed: ", p->tints[1]);
		svg_append(text, "", ".");
	}
	for (size_t i = 0; i < set->n; i++)
		flags |= svg_panel_has_figure(set->rows[i]) ? set->rows[i]->flags : 0;
	for (unsigned f = 1; f <= flags && f != 0; f <<= 1) {
		const char *name = flags & f ? row_flag_name(f) : NULL;

		if (!name)
			continue;
		svg_append(text, between, name);
		between = ", ";
	}
	if (between[0] == ',')
		svg_append(text, "", ".");
}

static void draw(struct svg *s, const struct svg_panel *p, const struct svg_set *set, struct chart *c, const char *what,
	const char *explanation)
{
	size_t *line_of = calloc(set->n, sizeof(*line_of));
	char text[SVG_TEXT] = "";

	c->lines = calloc(set->n, sizeof(*c->lines));
	c->points = calloc(set->n, sizeof(*c->points));
	c->n_values = svg_set_numbers(set, c->param, c->values, VALUES);
	if (line_of && c->lines && c->points) {
		add_lines(s, p, set, c, line_of);
		c->one = c->n_lines <= ONE_LINES && (c->n_cells == 1 || (!p->colour && c->n_cells <= SVG_COLOURS));
		add_points(set, c, line_of);
		svg_append(text, "", explanation);
		explain(p, set, text);
		svg_head(s, p, set, what, text, false);
		if (c->one)
			one_plot(s, p, c);
		else
			small_plots(s, p, c);
		svg_head_missing(s, set);
	} else {
		s->failed = true;
	}
	free(line_of);
	free(c->lines);
	free(c->points);
}

void svg_lines_sizes(struct svg *s, const struct svg_panel *p)
{
	struct chart c = { .param = "size_bytes" };

	if (p->sizes.n > 0)
		draw(s, p, &p->sizes, &c, "throughput over payload",
			"Medians; upright lines reach from the slowest to the fastest sample.");
}

void svg_lines_threads(struct svg *s, const struct svg_panel *p)
{
	struct chart c = { .param = "threads", .speedup = true };

	if (p->threads.n > 0)
		draw(s, p, &p->threads, &c, "scaling over threads",
			"Times the rate with the fewest threads; dotted: as many times as threads.");
}
