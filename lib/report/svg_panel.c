/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/svg_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SIZE    "size_bytes"
#define THREADS "threads"
#define VALUES  64 /* sizes or thread counts that are told apart */

/* --- which param is told how ---------------------------------------------------------------- */

/* The different texts of a param, in order of appearance; max + 1: more than that. */
static size_t texts(const struct svg_set *s, const char *name, const char **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const char *v = row_text(s->rows[i], name);
		size_t k = 0;

		while (v && k < n && strcmp(out[k], v) != 0)
			k++;
		if (!v || k < n)
			continue;
		if (n == max)
			return max + 1;
		out[n++] = v;
	}
	return n;
}

static bool varies(const struct svg_set *s, const char *name)
{
	for (size_t i = 0; i < s->n_params; i++) {
		if (strcmp(s->params[i].name, name) == 0)
			return s->params[i].varies;
	}
	return false;
}

static void choose_params(struct svg_panel *p)
{
	static const char *const light[] = { "op", "direction", "side" };
	static const char *const colour[] = { "engine", "peer", "dataplane", "plane", "accel", "io", "version" };
	const char *values[SVG_COLOURS];

	for (size_t i = 0; i < COUNT(light) && !p->tint; i++) {
		if (varies(&p->all, light[i]) && texts(&p->all, light[i], p->tints, 2) == 2)
			p->tint = light[i];
	}
	for (size_t i = 0; i < COUNT(colour) && !p->colour; i++) {
		size_t n = varies(&p->all, colour[i]) ? texts(&p->all, colour[i], values, SVG_COLOURS) : 0;

		if (n >= 2 && n <= SVG_COLOURS)
			p->colour = colour[i];
	}
}

/* --- which row goes into which chart ----------------------------------------------------------- */

/* Whether a row belongs to a line with at least `least` points: rows that differ in
 * `name` alone. They are counted among `set`, which has one value of the other. */
static bool in_line(const struct svg_set *set, const struct row *r, const char *name, size_t least)
{
	double seen[8];
	size_t n = 0;

	for (size_t i = 0; i < set->n && n < least; i++) {
		const struct row *other = set->rows[i];
		double v = row_number(other, name);
		bool alike = strcmp(other->title, r->title) == 0 && isfinite(v);
		size_t k = 0;

		for (size_t j = 0; alike && j < set->n_params; j++) {
			char a[64], b[64];
			const char *param = set->params[j].name, *x, *y;

			if (!set->params[j].varies || strcmp(param, name) == 0)
				continue;
			x = svg_set_value(r, param, a, sizeof(a));
			y = svg_set_value(other, param, b, sizeof(b));
			alike = x && y ? strcmp(x, y) == 0 : x == y;
		}
		while (k < n && seen[k] != v)
			k++;
		if (alike && k == n)
			seen[n++] = v;
	}
	return n >= least;
}

/* Rows whose `other` param is value or missing. */
static int slice(struct svg_set *out, const struct svg_set *all, const char *other, double value)
{
	for (size_t i = 0; i < all->n; i++) {
		double v = row_number(all->rows[i], other);

		if ((isnan(v) || isnan(value) || v == value) && svg_set_add(out, all->rows[i]) < 0)
			return -1;
	}
	svg_set_sort_out(out);
	return 0;
}

/* Those of a slice that form lines. */
static int lines_of(struct svg_set *out, const struct svg_set *all, const char *name, size_t least, const char *other,
	double value)
{
	struct svg_set some = { 0 };
	int rc = slice(&some, all, other, value);

	for (size_t i = 0; i < some.n && rc == 0; i++) {
		if (isfinite(row_number(some.rows[i], name)) && in_line(&some, some.rows[i], name, least))
			rc = svg_set_add(out, some.rows[i]);
	}
	svg_set_free(&some);
	svg_set_sort_out(out);
	return rc;
}

static bool has(const struct svg_set *s, const struct row *r)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->rows[i] == r)
			return true;
	}
	return false;
}

/* 16 KiB, a full record, is the size that stands for all; else the largest. */
static double typical_size(const double *sizes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (sizes[i] == 16384)
			return sizes[i];
	}
	return n > 0 ? sizes[n - 1] : NAN;
}

/* Bars are of one size and the fewest threads where lines show the others. */
static int fill_charts(struct svg_panel *p)
{
	double sizes[VALUES], threads[VALUES];
	size_t n_sizes = svg_set_numbers(&p->all, SIZE, sizes, VALUES);
	size_t n_threads = svg_set_numbers(&p->all, THREADS, threads, VALUES);
	double size = typical_size(sizes, n_sizes), fewest = n_threads > 0 ? threads[0] : NAN;

	if ((n_sizes >= 3 && lines_of(&p->sizes, &p->all, SIZE, 3, THREADS, fewest) < 0) ||
		(n_threads >= 2 && lines_of(&p->threads, &p->all, THREADS, 2, SIZE, size) < 0))
		return -1;
	for (size_t i = 0; i < p->all.n; i++) {
		const struct row *r = p->all.rows[i];
		double v = row_number(r, SIZE), t = row_number(r, THREADS);
		bool in_sizes = has(&p->sizes, r), in_threads = has(&p->threads, r);
		bool other = (p->sizes.n > 0 && n_sizes >= 3 && isfinite(v) && v != size) ||
			(p->threads.n > 0 && n_threads >= 3 && isfinite(t) && t != fewest);
		bool lost = other && p->sizes.n > 0 && p->threads.n > 0 && isfinite(t) && t != fewest &&
			isfinite(v) && v != size;

		if (r->latency && r->status == ROW_OK && svg_set_add(&p->latency, r) < 0)
			return -1;
		if (!in_sizes && !in_threads && lost)
			p->hidden++;
		else if (((!in_sizes && !in_threads) || !other) && svg_set_add(&p->bars, r) < 0)
			return -1;
	}
	svg_set_sort_out(&p->bars);
	svg_set_sort_out(&p->latency);
	return 0;
}

int svg_panel_fill(struct svg_panel *p, const struct row *const *rows, size_t n, const char *kind, const char *unit)
{
	*p = (struct svg_panel){ .kind = kind, .unit = unit };
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i]->kind, kind) == 0 && strcmp(rows[i]->unit, unit) == 0 && svg_set_add(&p->all, rows[i]) < 0)
			return -1;
	}
	svg_set_sort_out(&p->all);
	choose_params(p);
	return fill_charts(p);
}

void svg_panel_free(struct svg_panel *p)
{
	svg_set_free(&p->all);
	svg_set_free(&p->bars);
	svg_set_free(&p->sizes);
	svg_set_free(&p->threads);
	svg_set_free(&p->latency);
}

unsigned svg_panel_colour(struct svg *s, const struct svg_panel *p, const struct row *r)
{
	const char *value = p->colour ? row_text(r, p->colour) : NULL;
	size_t i = 0;

	if (!value)
		return 0;
	while (i < s->n_colours && strcmp(s->colours[i], value) != 0)
		i++;
	if (i < s->n_colours)
		return (unsigned)i;
	if (i == SVG_COLOURS)
		return (unsigned)(value[0] != '\0' ? (unsigned char)value[0] % SVG_COLOURS : 0);
	s->colours[i] = value;
	s->n_colours++;
	return (unsigned)i;
}

bool svg_panel_light(const struct svg_panel *p, const struct row *r)
{
	const char *value = p->tint ? row_text(r, p->tint) : NULL;

	return value && strcmp(value, p->tints[1]) == 0;
}

void svg_panel_label(const struct svg_panel *p, const struct svg_set *set, const struct row *r, const char *without,
	char out[SVG_TEXT])
{
	const char *names[4] = { NULL };
	size_t n = 0;

	if (p->colour)
		names[n++] = p->colour;
	if (p->tint)
		names[n++] = p->tint;
	names[n] = without;
	svg_set_label(set, r, names, out);
}

bool svg_panel_has_figure(const struct row *r)
{
	const struct stats *t = &r->stats;

	/* documents come from anywhere */
	return r->status == ROW_OK && t->n > 0 && isfinite(t->median) && t->median >= 0 && t->median < 1e18 &&
	       isfinite(t->min) && t->min >= 0 && t->min <= t->median && isfinite(t->max) && t->max >= t->median &&
	       t->max < 1e18;
}

void svg_panel_instead(const struct row *r, char out[SVG_TEXT])
{
	const char *name = row_status_name(r->status);

	out[0] = '\0';
	svg_append(out, "", r->status == ROW_OK ? "no figure" : name ? name : "unknown");
	if (r->reason && r->status != ROW_OK)
		svg_append(out, ": ", r->reason);
}
