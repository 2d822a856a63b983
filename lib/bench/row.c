/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/bench/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bench/doc.h"

#define NOISY_MAD   0.02 /* of the median */
#define ON_CPU_LEAST 0.98 /* processor time over wall time of one thread */

struct row *row_new(const char *id, const char *kind, const char *title, const char *unit)
{
	struct row *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->env = (struct row_env){ NAN, NAN, NAN, NAN, NAN };
	if (doc_set(&r->id, id) < 0 || doc_set(&r->kind, kind) < 0 || doc_set(&r->title, title) < 0 ||
		doc_set(&r->unit, unit) < 0) {
		row_free(r);
		return NULL;
	}
	return r;
}

static void free_negotiated(struct row_negotiated *n)
{
	if (!n)
		return;
	free(n->version);
	free(n->suite);
	free(n->group);
	free(n->signature);
	free(n->dataplane);
	free(n);
}

void row_free(struct row *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->n_params; i++) {
		free(r->params[i].name);
		free(r->params[i].text);
	}
	free(r->params);
	free_negotiated(r->negotiated);
	free(r->id);
	free(r->kind);
	free(r->title);
	free(r->reason);
	free(r->unit);
	free(r->samples);
	free(r->latency);
	free(r->mem);
	free(r);
}

static struct row_param *new_param(struct row *r, const char *name)
{
	struct row_param *p = realloc(r->params, (r->n_params + 1) * sizeof(*p));

	if (!p)
		return NULL;
	r->params = p;
	p += r->n_params;
	*p = (struct row_param){ 0 };
	if (doc_set(&p->name, name) < 0)
		return NULL;
	r->n_params++;
	return p;
}

int row_param_text(struct row *r, const char *name, const char *text)
{
	struct row_param *p = new_param(r, name);

	return p ? doc_set(&p->text, text) : -1;
}

int row_param_number(struct row *r, const char *name, double number)
{
	struct row_param *p = new_param(r, name);

	if (!p)
		return -1;
	p->number = number;
	return 0;
}

int row_fail(struct row *r, enum row_status status, const char *reason)
{
	r->status = status;
	return doc_set(&r->reason, reason);
}

int row_add_sample(struct row *r, double rate)
{
	double *s = realloc(r->samples, (r->n_samples + 1) * sizeof(*s));

	if (!s)
		return -1;
	r->samples = s;
	s[r->n_samples++] = rate;
	return 0;
}

int row_finish(struct row *r, unsigned threads)
{
	size_t i;

	if (stats_of(r->samples, r->n_samples, &r->stats) < 0)
		return -1;
	if (r->stats.mad > NOISY_MAD * r->stats.median)
		r->flags |= ROW_NOISY;
	if (threads == 1 && r->wall_s > 0 && r->cpu_s < ON_CPU_LEAST * r->wall_s)
		r->flags |= ROW_OFF_CPU;
	for (i = 0; i < r->n_samples; i++) {
		if (stats_is_outlier(&r->stats, r->samples[i]))
			r->flags |= ROW_OUTLIERS;
	}
	return 0;
}

static const struct row_param *find_param(const struct row *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->n_params; i++) {
		if (strcmp(r->params[i].name, name) == 0)
			return &r->params[i];
	}
	return NULL;
}

const char *row_text(const struct row *r, const char *name)
{
	const struct row_param *p = find_param(r, name);

	return p ? p->text : NULL;
}

double row_number(const struct row *r, const char *name)
{
	const struct row_param *p = find_param(r, name);

	return p && !p->text ? p->number : NAN;
}

/* --- names ---------------------------------------------------------------------- */

static const char *const flag_names[] = { "noisy", "off-cpu", "steal", "frequency-moved", "throttled", "outliers",
	"overcommitted", "few-samples" };
static const char *const status_names[] = { "ok", "error", "unavailable", "skipped" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *row_flag_name(unsigned flag)
{
	size_t i;

	for (i = 0; i < COUNT(flag_names); i++) {
		if (flag == 1u << i)
			return flag_names[i];
	}
	return NULL;
}

unsigned row_flag_of(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(flag_names); i++) {
		if (strcmp(name, flag_names[i]) == 0)
			return 1u << i;
	}
	return 0;
}

const char *row_status_name(enum row_status status)
{
	return (size_t)status < COUNT(status_names) ? status_names[status] : NULL;
}

int row_status_of(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(status_names); i++) {
		if (strcmp(name, status_names[i]) == 0)
			return (int)i;
	}
	return -1;
}
