/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/svg_int.h"

int svg_set_add(struct svg_set *s, const struct row *r)
{
	/* doubled at powers of two */
	if ((s->n & (s->n - 1)) == 0) {
		const struct row **rows = realloc(s->rows, (s->n > 0 ? 2 * s->n : 1) * sizeof(*rows));

		if (!rows)
			return -1;
		s->rows = rows;
	}
	s->rows[s->n++] = r;
	return 0;
}

void svg_set_free(struct svg_set *s)
{
	free(s->rows);
	*s = (struct svg_set){ 0 };
}

static const struct row_param *find(const struct row *r, const char *name)
{
	for (size_t i = 0; i < r->n_params; i++) {
		if (strcmp(r->params[i].name, name) == 0)
			return &r->params[i];
	}
	return NULL;
}

static bool equal(const struct row *a, const struct row *b, const char *name)
{
	const struct row_param *p = find(a, name), *q = find(b, name);

	if (!p || !q)
		return p == q;
	if (p->text || q->text)
		return p->text && q->text && strcmp(p->text, q->text) == 0;
	return p->number == q->number || (isnan(p->number) && isnan(q->number));
}

static void learn_names(struct svg_set *s, const struct row *r)
{
	for (size_t i = 0; i < r->n_params; i++) {
		size_t k = 0;

		while (k < s->n_params && strcmp(s->params[k].name, r->params[i].name) != 0)
			k++;
		if (k == s->n_params && k < SVG_PARAMS)
			s->params[s->n_params++] = (struct svg_param){ .name = r->params[i].name, .common = true };
	}
}

/* The first row with this one's title. Rows of a title mostly follow each other. */
static const struct row *namesake(const struct svg_set *s, size_t i, const struct row *last)
{
	if (last && strcmp(last->title, s->rows[i]->title) == 0)
		return last;
	for (size_t k = 0; k < i; k++) {
		if (strcmp(s->rows[k]->title, s->rows[i]->title) == 0)
			return s->rows[k];
	}
	return s->rows[i];
}

void svg_set_sort_out(struct svg_set *s)
{
	const struct row *first = NULL;

	s->n_params = 0;
	for (size_t i = 0; i < s->n; i++)
		learn_names(s, s->rows[i]);
	for (size_t i = 0; i < s->n; i++) {
		first = namesake(s, i, first);
		for (size_t k = 0; k < s->n_params; k++) {
			struct svg_param *p = &s->params[k];

			p->varies |= !equal(s->rows[i], first, p->name);
			p->common &= equal(s->rows[i], s->rows[0], p->name);
		}
	}
}

static bool ends_so(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && strcmp(name + n - m, end) == 0;
}

const char *svg_set_value(const struct row *r, const char *name, char *out, size_t size)
{
	const struct row_param *p = find(r, name);

	if (!p)
		return NULL;
	if (p->text && strcmp(name, "accel") == 0) { /* "on" says nothing by itself */
		snprintf(out, size, "acceleration %s", p->text);
		return out;
	}
	if (p->text)
		return p->text;
	if (!isfinite(p->number))
		return NULL;
	if (ends_so(name, "_bytes"))
		return svg_bytes(p->number, out, size);
	if (strcmp(name, "threads") == 0)
		snprintf(out, size, "%.10g thread%s", p->number, p->number == 1 ? "" : "s");
	else
		snprintf(out, size, "%s %.10g", name, p->number);
	return out;
}

void svg_set_label(const struct svg_set *s, const struct row *r, const char *const *without, char out[SVG_TEXT])
{
	out[0] = '\0';
	svg_append(out, "", r->title);
	for (size_t i = 0; i < s->n_params; i++) {
		char space[64];
		const char *value = s->params[i].varies ? svg_set_value(r, s->params[i].name, space, sizeof(space)) : NULL;

		for (size_t k = 0; value && without[k]; k++) {
			if (strcmp(without[k], s->params[i].name) == 0)
				value = NULL;
		}
		if (value)
			svg_append(out, ", ", value);
	}
}

void svg_set_common(const struct svg_set *s, char out[SVG_TEXT])
{
	out[0] = '\0';
	for (size_t i = 0; s->n > 1 && i < s->n_params; i++) {
		char space[64];
		const char *value = s->params[i].common ? svg_set_value(s->rows[0], s->params[i].name, space, sizeof(space)) : NULL;

		if (value && value[0] != '\0')
			svg_append(out, ", ", value);
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

size_t svg_set_numbers(const struct svg_set *s, const char *name, double *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < max; i++) {
		double v = row_number(s->rows[i], name);
		size_t k = 0;

		while (k < n && out[k] != v)
			k++;
		if (k == n && isfinite(v) && v > 0 && v < 1e15)
			out[n++] = v;
	}
	qsort(out, n, sizeof(*out), ascending);
	return n;
}
