/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/json_int.h"
#include "lib/report/report_int.h"

/* A row of docs/schema/bench.json. What follows from its samples is computed again. */

#define MOST_SAMPLES 100000 /* of a row */
#define MOST_PARAMS  256 /* different ones of all rows: each is a column */

/* --- parts ----------------------------------------------------------------------------------- */

static int read_negotiated(struct report_reader *r, json_t *o, struct row *row)
{
	struct row_negotiated *n = calloc(1, sizeof(*n));
	int64_t bits = -1;

	row->negotiated = n;
	if (!n)
		return report_no_memory(r->e);
	n->cert_bits = n->resumed = -1;
	if (report_get_text(r, o, "version", &n->version) < 0 || report_get_text(r, o, "suite", &n->suite) < 0 ||
		report_get_text(r, o, "group", &n->group) < 0 || report_get_text(r, o, "signature", &n->signature) < 0 ||
		report_get_text(r, o, "dataplane", &n->dataplane) < 0 || report_get_integer(r, o, "cert_bits", 1 << 20, &bits) < 0 ||
		report_get_bool(r, o, "resumed", &n->resumed) < 0)
		return -1;
	n->cert_bits = (long)bits;
	return 0;
}

/* Latencies are there together: none of them is unknown alone. */
static int need_integer(struct report_reader *r, const json_t *o, const char *key, uint64_t *out)
{
	int64_t v = -1;

	if (report_get_integer(r, o, key, INT64_MAX, &v) < 0)
		return -1;
	if (v < 0)
		return report_wrong(r, key, "is missing");
	*out = (uint64_t)v;
	return 0;
}

static int read_latency(struct report_reader *r, json_t *o, struct row *row)
{
	struct row_latency *l = calloc(1, sizeof(*l));

	row->latency = l;
	if (!l)
		return report_no_memory(r->e);
	l->mean = NAN;
	return need_integer(r, o, "count", &l->count) < 0 || need_integer(r, o, "min_ns", &l->min) < 0 ||
		need_integer(r, o, "p50_ns", &l->p50) < 0 || need_integer(r, o, "p90_ns", &l->p90) < 0 ||
		need_integer(r, o, "p99_ns", &l->p99) < 0 || need_integer(r, o, "p999_ns", &l->p999) < 0 ||
		need_integer(r, o, "max_ns", &l->max) < 0 || report_get_number(r, o, "mean_ns", 0, &l->mean) < 0 ? -1 : 0;
}

static int read_mem(struct report_reader *r, json_t *o, struct row *row)
{
	row->mem = calloc(1, sizeof(*row->mem));
	if (!row->mem)
		return report_no_memory(r->e);
	*row->mem = (struct row_mem){ -1, -1 };
	return report_get_integer(r, o, "client_bytes", INT64_MAX, &row->mem->client_bytes) < 0 ||
		report_get_integer(r, o, "server_bytes", INT64_MAX, &row->mem->server_bytes) < 0 ? -1 : 0;
}

static int read_env(struct report_reader *r, json_t *o, struct row *row)
{
	struct row_env *v = &row->env;

	return report_get_number(r, o, "freq_before_hz", 0, &v->freq_before_hz) < 0 ||
		report_get_number(r, o, "freq_after_hz", 0, &v->freq_after_hz) < 0 ||
		report_get_number(r, o, "temp_before_c", -274, &v->temp_before_c) < 0 ||
		report_get_number(r, o, "temp_after_c", -274, &v->temp_after_c) < 0 ||
		report_get_number(r, o, "steal_s", 0, &v->steal_s) < 0 ? -1 : 0;
}

static int read_params(struct report_reader *r, json_t *o, struct row *row)
{
	const char *name;
	json_t *v;

	json_object_foreach(o, name, v) {
		double number = NAN;
		int added;

		if (!*name)
			return report_wrong(r, "", "has a param without a name");
		if (!json_is_string(v) && report_get_number(r, o, name, -REPORT_LARGEST, &number) < 0)
			return -1;
		added = json_is_string(v) ? row_param_text(row, name, json_string_value(v))
			: row_param_number(row, name, number);
		if (added < 0 || json_object_set_new(r->params, name, json_null()) < 0)
			return report_no_memory(r->e);
	}
	if (json_object_size(r->params) > MOST_PARAMS)
		return report_wrong(r, "", "has a param too many: all rows together have more than %d different ones", MOST_PARAMS);
	return 0;
}

static int read_samples(struct report_reader *r, json_t *o, struct row *row)
{
	json_t *a;

	if (report_get_array(r, o, "samples", MOST_SAMPLES, &a) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *v = json_array_get(a, i);
		double rate = json_number_value(v);
		char key[40];

		snprintf(key, sizeof(key), "samples[%zu]", i);
		if (!json_is_number(v))
			return report_wrong(r, key, "is not a number");
		if (rate < 0 || rate > REPORT_LARGEST)
			return report_wrong(r, key, "is %g, out of range", rate);
		if (row_add_sample(row, rate) < 0)
			return report_no_memory(r->e);
	}
	return stats_of(row->samples, row->n_samples, &row->stats) < 0 ? report_no_memory(r->e) : 0;
}

static int read_flags(struct report_reader *r, json_t *o, struct row *row)
{
	json_t *a;

	if (report_get_array(r, o, "flags", 64, &a) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(a); i++) {
		const char *name = json_string_value(json_array_get(a, i));

		if (!name)
			return report_wrong(r, "flags", "has something else than strings in it");
		if (!row_flag_of(name))
			return report_wrong(r, "flags", "has an unknown flag, \"%s\"", name);
		row->flags |= row_flag_of(name);
	}
	return 0;
}

static int read_status(struct report_reader *r, json_t *o, struct row *row)
{
	const char *name;
	int status;

	if (report_need_text(r, o, "status", &name) < 0)
		return -1;
	status = row_status_of(name);
	if (status < 0)
		return report_wrong(r, "status", "is unknown: \"%s\"", name);
	row->status = (enum row_status)status;
	return 0;
}

/* Members that are objects or null. */
static const struct {
	const char *key;
	int (*read)(struct report_reader *r, json_t *o, struct row *row);
} parts[] = {
	{ "params", read_params },
	{ "negotiated", read_negotiated },
	{ "latency", read_latency },
	{ "mem", read_mem },
	{ "env", read_env },
};

static int read_parts(struct report_reader *r, json_t *o, struct row *row)
{
	size_t len = strlen(r->where);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_t *part;

		if (report_get_object(r, o, parts[i].key, &part) < 0)
			return -1;
		snprintf(r->where + len, sizeof(r->where) - len, "%s.", parts[i].key);
		if (part && parts[i].read(r, part, row) < 0)
			return -1;
		r->where[len] = '\0';
	}
	return 0;
}

/* --- the whole ------------------------------------------------------------------------------ */

static int read_members(struct report_reader *r, json_t *o, struct row *row)
{
	row->cpu_s = row->wall_s = NAN;
	if (read_status(r, o, row) < 0 || report_get_text(r, o, "reason", &row->reason) < 0 ||
		read_samples(r, o, row) < 0 || report_get_number(r, o, "cpu_s", 0, &row->cpu_s) < 0 ||
		report_get_number(r, o, "wall_s", 0, &row->wall_s) < 0 || read_flags(r, o, row) < 0)
		return -1;
	return read_parts(r, o, row);
}

int report_read_row(struct report_reader *r, json_t *o, struct row **out)
{
	const char *id, *kind, *title, *unit;

	if (report_need_text(r, o, "id", &id) < 0 || report_need_text(r, o, "kind", &kind) < 0 ||
		report_need_text(r, o, "title", &title) < 0 || report_need_text(r, o, "unit", &unit) < 0)
		return -1;
	if (json_object_get(r->ids, id))
		return report_wrong(r, "id", "is there twice: \"%s\"", id);
	*out = row_new(id, kind, title, unit);
	if (!*out || json_object_set_new(r->ids, id, json_null()) < 0)
		return report_no_memory(r->e);
	return read_members(r, o, *out);
}
