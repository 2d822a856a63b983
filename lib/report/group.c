/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/report_int.h"

/* Rows of one kind and unit make a table. What all of them have in common stands
 * in its heading, what differs in columns. */

/* --- groups ---------------------------------------------------------------------------- */

struct place {
	const struct row *row;
	size_t at, group_at; /* in the document: this row, the first row of its group */
};

static int same_group(const struct row *a, const struct row *b)
{
	int c = strcmp(a->kind, b->kind);

	return c ? c : strcmp(a->unit, b->unit);
}

static int by_group(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = same_group(x->row, y->row);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int by_document(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->group_at != y->group_at)
		return x->group_at > y->group_at ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

static void sort(struct place *p, size_t n)
{
	qsort(p, n, sizeof(*p), by_group);
	for (size_t i = 0; i < n; i++) {
		bool first = i == 0 || same_group(p[i - 1].row, p[i].row) != 0;

		p[i].group_at = first ? p[i].at : p[i - 1].group_at;
	}
	qsort(p, n, sizeof(*p), by_document);
}

int report_groups_of(const struct doc *d, struct report_groups *out)
{
	struct place *p = calloc(d->n_rows + 1, sizeof(*p));
	size_t i;

	*out = (struct report_groups){
		calloc(d->n_rows + 1, sizeof(*out->rows)), calloc(d->n_rows + 1, sizeof(*out->groups)), 0
	};
	if (!p || !out->rows || !out->groups) {
		free(p);
		report_groups_free(out);
		return -1;
	}
	for (i = 0; i < d->n_rows; i++)
		p[i] = (struct place){ d->rows[i], i, 0 };
	sort(p, d->n_rows);
	for (i = 0; i < d->n_rows; i++) {
		out->rows[i] = p[i].row;
		if (i == 0 || p[i].group_at != p[i - 1].group_at)
			out->groups[out->n++] = (struct report_group){ &out->rows[i], 0 };
		out->groups[out->n - 1].n++;
	}
	free(p);
	return 0;
}

void report_groups_free(struct report_groups *g)
{
	free(g->rows);
	free(g->groups);
	*g = (struct report_groups){ 0 };
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- figures: what the rows' columns hold -------------------------------------------------- */

/* The columns behind the traits, in their order. A figure that no row has makes no
 * column. NAN: the row has none. */
enum scale_kind { SCALE_RATE, SCALE_SPREAD, SCALE_RATIO, SCALE_TIME, SCALE_MEMORY, SCALES };

static double median_of(const struct row *r)
{
	return r->n_samples ? r->stats.median : NAN;
}

static double spread_of(const struct row *r)
{
	return r->n_samples && r->stats.median > 0 ? 100 * r->stats.mad / r->stats.median : NAN;
}

static double min_of(const struct row *r)
{
	return r->n_samples ? r->stats.min : NAN;
}

static double max_of(const struct row *r)
{
	return r->n_samples ? r->stats.max : NAN;
}

/* Processors that were at work: 1 in one thread that had its own. */
static double ratio_of(const struct row *r)
{
	return r->n_samples && r->wall_s > 0 ? r->cpu_s / r->wall_s : NAN;
}

#define LATENCY(member) \
	static double member##_of(const struct row *r) { return r->latency ? (double)r->latency->member : NAN; }
LATENCY(p50)
LATENCY(p90)
LATENCY(p99)
LATENCY(p999)

static double longest_of(const struct row *r)
{
	return r->latency ? (double)r->latency->max : NAN;
}

static double client_of(const struct row *r)
{
	return r->mem && r->mem->client_bytes >= 0 ? (double)r->mem->client_bytes : NAN;
}

static double server_of(const struct row *r)
{
	return r->mem && r->mem->server_bytes >= 0 ? (double)r->mem->server_bytes : NAN;
}

static const struct figure {
	const char *head; /* the scale's unit follows, but for the first one, which is the unit */
	enum scale_kind scale;
	int keep;
	double (*of)(const struct row *r);
} figures[] = {
	{ "", SCALE_RATE, REPORT_KEEP_ALWAYS, median_of },
	{ "±%", SCALE_SPREAD, REPORT_KEEP_SPREAD, spread_of },
	{ "min", SCALE_RATE, REPORT_KEEP_RANGE, min_of },
	{ "max", SCALE_RATE, REPORT_KEEP_RANGE, max_of },
	{ "cpu/wall", SCALE_RATIO, REPORT_KEEP_DETAIL, ratio_of },
	{ "p50", SCALE_TIME, REPORT_KEEP_LATENCY + 5, p50_of },
	{ "p90", SCALE_TIME, REPORT_KEEP_LATENCY + 1, p90_of },
	{ "p99", SCALE_TIME, REPORT_KEEP_LATENCY + 4, p99_of },
	{ "p99.9", SCALE_TIME, REPORT_KEEP_LATENCY + 2, p999_of },
	{ "longest", SCALE_TIME, REPORT_KEEP_LATENCY, longest_of },
	{ "client", SCALE_MEMORY, REPORT_KEEP_LATENCY + 3, client_of },
	{ "server", SCALE_MEMORY, REPORT_KEEP_LATENCY + 3, server_of },
};

struct layout {
	const struct report_group *group;
	struct report_scale scales[SCALES];
	struct report_traits traits;
	size_t columns[COUNT(figures)]; /* of the table, 0: none */
	size_t marks; /* 0: none */
};

static bool fine(const struct row *r)
{
	return r->status == ROW_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Finds the middle and the least value over the rows, by which a scale is chosen.
 * NAN: there is none. -1: no memory. */
static int survey(const struct report_group *g, double (*of)(const struct row *r), double out[2])
{
	double *v = calloc(g->n, sizeof(*v));
	size_t n = 0;

	out[0] = out[1] = NAN;
	if (!v)
		return -1;
	for (size_t i = 0; i < g->n; i++) {
		double x = fine(g->rows[i]) ? of(g->rows[i]) : NAN;

		if (isfinite(x) && x > 0)
			v[n++] = x;
	}
	qsort(v, n, sizeof(*v), by_value);
	if (n > 0) {
		out[0] = v[n / 2];
		out[1] = v[0];
	}
	free(v);
	return 0;
}

static int choose_scales(struct layout *l, enum report_unit u)
{
	const struct report_group *g = l->group;
	double rate[2], ns[2], client[2], server[2];

	if (survey(g, median_of, rate) < 0 || survey(g, p50_of, ns) < 0 || survey(g, client_of, client) < 0 ||
		survey(g, server_of, server) < 0)
		return -1;
	report_scale_rate(&l->scales[SCALE_RATE], g->rows[0]->unit, u, rate[0], rate[1]);
	l->scales[SCALE_SPREAD] = (struct report_scale){ .name = "", .divisor = 1, .decimals = 1 };
	l->scales[SCALE_RATIO] = (struct report_scale){ .name = "", .divisor = 1, .decimals = 2 };
	report_scale_ns(&l->scales[SCALE_TIME], ns[0], ns[1]);
	report_scale_bytes(&l->scales[SCALE_MEMORY], fmax(client[0], server[0]), fmin(client[1], server[1]));
	return 0;
}

/* --- the table ------------------------------------------------------------------------------ */

static bool any(const struct report_group *g, const struct figure *f)
{
	for (size_t i = 0; i < g->n; i++) {
		if (fine(g->rows[i]) && isfinite(f->of(g->rows[i])))
			return true;
	}
	return false;
}

static void trait_columns(struct layout *l, struct report_table *t)
{
	for (size_t i = 0; i < l->traits.n; i++) {
		struct report_trait *trait = &l->traits.all[i];
		char space[REPORT_VALUE_SIZE];

		if (!report_trait_common(trait, l->group, space))
			trait->column = report_table_column(t, report_param_label(trait->name, space), trait->numbers,
				trait->agreed ? REPORT_KEEP_AGREED : REPORT_KEEP_PARAM);
	}
}

static void figure_columns(struct layout *l, struct report_table *t)
{
	unsigned flags = 0;

	for (size_t i = 0; i < COUNT(figures); i++) {
		const struct figure *f = &figures[i];
		const char *unit = f->scale == SCALE_RATE && i > 0 ? "" : l->scales[f->scale].name;
		char head[2 * REPORT_VALUE_SIZE];

		if (i > 0 && !any(l->group, f))
			continue;
		snprintf(head, sizeof(head), "%s%s%s", f->head, f->head[0] && unit[0] ? " " : "", unit);
		l->columns[i] = report_table_column(t, head, true, f->keep);
	}
	for (size_t i = 0; i < l->group->n; i++)
		flags |= fine(l->group->rows[i]) ? l->group->rows[i]->flags : 0;
	if (flags)
		l->marks = report_table_column(t, "", false, REPORT_KEEP_ALWAYS);
}

static void figure_cells(const struct layout *l, const struct row *r, struct report_table *t)
{
	char marks[REPORT_MARKS_SIZE];

	for (size_t i = 0; i < COUNT(figures); i++) {
		const struct report_scale *s = &l->scales[figures[i].scale];
		double v = figures[i].of(r);

		if (l->columns[i] && isfinite(v))
			report_table_cell(t, l->columns[i], "%.*f", s->decimals, v / s->divisor);
		else if (l->columns[i])
			report_table_cell(t, l->columns[i], "-");
	}
	if (l->marks)
		report_table_cell(t, l->marks, "%s", report_marks(r->flags, marks));
}

static void line(const struct layout *l, const struct row *r, struct report_table *t)
{
	report_table_line(t, !fine(r) ? REPORT_BAD : r->flags ? REPORT_DOUBTFUL : REPORT_PLAIN);
	report_table_cell(t, 0, "%s", r->title);
	for (size_t i = 0; i < l->traits.n; i++) {
		char space[REPORT_VALUE_SIZE];
		const char *v = report_trait_value(&l->traits.all[i], r, space);

		if (l->traits.all[i].column && v)
			report_table_cell(t, l->traits.all[i].column, "%s", v);
	}
	if (fine(r))
		figure_cells(l, r, t);
	else
		report_table_rest(t, l->columns[0], "%s%s%s", row_status_name(r->status), r->reason ? ": " : "",
			r->reason ? r->reason : "");
}

/* "aead: size 16 KiB, threads 1" */
static char *heading(const struct layout *l)
{
	char *raw = NULL, *clean = NULL;
	const char *between = ": ";
	size_t size;
	FILE *out = open_memstream(&raw, &size);
	int failed;

	if (!out)
		return NULL;
	fputs(l->group->rows[0]->kind, out);
	for (size_t i = 0; i < l->traits.n; i++) {
		char space[REPORT_VALUE_SIZE], label[REPORT_VALUE_SIZE];
		const char *v = report_trait_common(&l->traits.all[i], l->group, space);

		if (!v)
			continue;
		fprintf(out, "%s%s %s", between, report_param_label(l->traits.all[i].name, label), v);
		between = ", ";
	}
	failed = ferror(out);
	failed |= fclose(out);
	if (!failed)
		clean = report_clean(raw);
	free(raw);
	return clean;
}

char *report_group_table(const struct report_group *g, const struct report_style *s, struct report_table *t)
{
	struct layout l = { .group = g };
	char *head = NULL;

	if (report_traits_of(g, &l.traits) == 0 && choose_scales(&l, s->unit) == 0) {
		report_table_column(t, "", false, REPORT_KEEP_ALWAYS);
		trait_columns(&l, t);
		figure_columns(&l, t);
		for (size_t i = 0; i < g->n; i++)
			line(&l, g->rows[i], t);
		head = t->failed ? NULL : heading(&l);
	}
	free(l.traits.all);
	return head;
}
