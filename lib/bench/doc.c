/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/bench/doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int doc_set(char **place, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -1;
	free(*place);
	*place = copy;
	return 0;
}

struct doc *doc_new(const char *command)
{
	struct doc *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->duration_s = d->clock_resolution_ns = d->clock_overhead_ns = d->sample_s = NAN;
	if (doc_set(&d->command, command) < 0) {
		free(d);
		return NULL;
	}
	return d;
}

void doc_free(struct doc *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->n_libraries; i++) {
		free(d->libraries[i].name);
		free(d->libraries[i].version);
	}
	for (i = 0; i < d->n_rows; i++)
		row_free(d->rows[i]);
	for (i = 0; i < d->n_advice; i++)
		free(d->advice[i]);
	free(d->libraries);
	free(d->rows);
	free(d->advice);
	host_free(d->host);
	free(d->command);
	free(d->tool);
	free(d->arguments);
	free(d);
}

int doc_add_library(struct doc *d, const char *name, const char *version)
{
	struct doc_library *l = realloc(d->libraries, (d->n_libraries + 1) * sizeof(*l));

	if (!l)
		return -1;
	d->libraries = l;
	l += d->n_libraries;
	*l = (struct doc_library){ 0 };
	if (doc_set(&l->name, name) < 0 || doc_set(&l->version, version) < 0) {
		free(l->name);
		return -1;
	}
	d->n_libraries++;
	return 0;
}

int doc_add_row(struct doc *d, struct row *r)
{
	struct row **rows = realloc(d->rows, (d->n_rows + 1) * sizeof(*rows));

	if (!rows) {
		row_free(r);
		return -1;
	}
	d->rows = rows;
	rows[d->n_rows++] = r;
	return 0;
}

int doc_add_advice(struct doc *d, const char *text)
{
	char **lines = realloc(d->advice, (d->n_advice + 1) * sizeof(*lines));

	if (!lines)
		return -1;
	d->advice = lines;
	lines[d->n_advice] = NULL;
	if (doc_set(&lines[d->n_advice], text) < 0)
		return -1;
	d->n_advice++;
	return 0;
}

const struct row *doc_find(const struct doc *d, const char *id)
{
	size_t i;

	for (i = 0; i < d->n_rows; i++) {
		if (strcmp(d->rows[i]->id, id) == 0)
			return d->rows[i];
	}
	return NULL;
}
