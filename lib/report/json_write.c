/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/report/json_int.h"
#include "lib/report/report_int.h"

/* docs/schema/bench.json. A member of the document or a row a line, so that
 * line-wise tools can tell two runs apart. */

/* --- values: each returns NULL when memory ran out ------------------------------------- */

static json_t *text(const char *t)
{
	return report_json_text(t);
}

static json_t *number(double v)
{
	return report_json_number(v);
}

/* Negative is unknown. */
static json_t *count(int64_t v)
{
	return v < 0 ? json_null() : json_integer(v);
}

static json_t *nanoseconds(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

/* --- the document ---------------------------------------------------------------------- */

static json_t *schema(const struct doc *d)
{
	char *clean = report_clean(d->command);
	json_t *v = clean ? json_sprintf("tlskit/%s/1", clean) : NULL;

	free(clean);
	return v;
}

static json_t *tool(const struct doc *d)
{
	return text(d->tool);
}

static json_t *arguments(const struct doc *d)
{
	return text(d->arguments);
}

static json_t *started(const struct doc *d)
{
	char when[CLOCK_RFC3339_SIZE];

	return d->started_ms > 0 ? json_string(clock_rfc3339(d->started_ms, when)) : json_null();
}

static json_t *started_epoch(const struct doc *d)
{
	return d->started_ms > 0 ? json_integer(d->started_ms / 1000) : json_null();
}

static json_t *duration(const struct doc *d)
{
	return number(d->duration_s);
}

static json_t *interrupted(const struct doc *d)
{
	return json_boolean(d->interrupted);
}

/* Takes the value over. */
static int set(json_t *object, const char *key, json_t *value)
{
	char *clean = report_clean(key);
	int r = clean ? json_object_set_new(object, clean, value) : -1;

	if (!clean)
		json_decref(value);
	free(clean);
	return r;
}

static json_t *libraries(const struct doc *d)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < d->n_libraries; i++) {
		if (set(o, d->libraries[i].name, text(d->libraries[i].version)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *host(const struct doc *d)
{
	const struct host *h = d->host;

	if (!h)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"cpu", text(h->cpu), "board", text(h->board), "architecture", text(h->architecture),
		"features", text(h->features), "cores_online", count(h->cores_online),
		"cores_usable", count(h->cores_usable), "governor", text(h->governor),
		"freq_max_hz", number(h->freq_max_hz), "kernel", text(h->kernel), "os", text(h->os),
		"memory_bytes", count(h->memory_bytes), "virtualization", text(h->virtualization),
		"temp_before_c", number(h->temp_before_c), "temp_after_c", number(h->temp_after_c),
		"throttled", text(h->throttled), "acceleration", text(h->acceleration));
}

static json_t *clock_member(const struct doc *d)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "resolution_ns", number(d->clock_resolution_ns),
		"overhead_ns", number(d->clock_overhead_ns), "sample_s", number(d->sample_s),
		"samples", d->n_samples ? json_integer(d->n_samples) : json_null());
}

/* --- rows -------------------------------------------------------------------------------- */

static json_t *params(const struct row *r)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < r->n_params; i++) {
		const struct row_param *p = &r->params[i];

		if (set(o, p->name, p->text ? text(p->text) : number(p->number)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *negotiated(const struct row_negotiated *n)
{
	if (!n)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", text(n->version), "suite", text(n->suite),
		"group", text(n->group), "signature", text(n->signature), "cert_bits", count(n->cert_bits),
		"resumed", n->resumed < 0 ? json_null() : json_boolean(n->resumed), "dataplane", text(n->dataplane));
}

static json_t *samples(const struct row *r)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < r->n_samples; i++) {
		if (json_array_append_new(a, number(r->samples[i])) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *latency(const struct row_latency *l)
{
	if (!l)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", nanoseconds(l->count),
		"min_ns", nanoseconds(l->min), "mean_ns", number(l->mean), "p50_ns", nanoseconds(l->p50),
		"p90_ns", nanoseconds(l->p90), "p99_ns", nanoseconds(l->p99), "p999_ns", nanoseconds(l->p999),
		"max_ns", nanoseconds(l->max));
}

static json_t *mem(const struct row_mem *m)
{
	if (!m)
		return json_null();
	return json_pack("{s:o, s:o}", "client_bytes", count(m->client_bytes), "server_bytes", count(m->server_bytes));
}

static json_t *env(const struct row_env *v)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "freq_before_hz", number(v->freq_before_hz),
		"freq_after_hz", number(v->freq_after_hz), "temp_before_c", number(v->temp_before_c),
		"temp_after_c", number(v->temp_after_c), "steal_s", number(v->steal_s));
}

static json_t *flags(unsigned bits)
{
	json_t *a = json_array();

	for (unsigned flag = 1; a && flag && flag <= bits; flag <<= 1) {
		const char *name = bits & flag ? row_flag_name(flag) : NULL;

		if (name && json_array_append_new(a, json_string(name)) < 0) {
			json_decref(a);
			return NULL;
		}
	}
	return a;
}

static json_t *statistic(const struct row *r, double v)
{
	return number(r->n_samples ? v : NAN);
}

static json_t *interval(const struct row *r)
{
	if (!r->n_samples || !r->stats.has_ci)
		return json_null();
	return json_pack("[o, o]", number(r->stats.ci_low), number(r->stats.ci_high));
}

static json_t *row(const struct row *r)
{
	const struct stats *s = &r->stats;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o}",
		"id", text(r->id), "kind", text(r->kind), "title", text(r->title),
		"status", text(row_status_name(r->status)), "reason", text(r->reason), "params", params(r),
		"negotiated", negotiated(r->negotiated), "unit", text(r->unit), "samples", samples(r),
		"median", statistic(r, s->median), "mad", statistic(r, s->mad), "min", statistic(r, s->min),
		"max", statistic(r, s->max), "ci95", interval(r), "cpu_s", statistic(r, r->cpu_s),
		"wall_s", statistic(r, r->wall_s), "latency", latency(r->latency), "mem", mem(r->mem),
		"env", env(&r->env), "flags", flags(r->flags));
}

/* --- writing ------------------------------------------------------------------------------ */

/* Takes the value over. -1: no memory. */
static int dump(FILE *out, const char *before, json_t *v)
{
	int r = -1;
	char *t = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;

	if (t) {
		fprintf(out, "%s%s", before, t);
		r = 0;
	}
	free(t);
	json_decref(v);
	return r;
}

static const struct {
	const char *before;
	json_t *(*make)(const struct doc *d);
} members[] = {
	{ "{\n\"schema\": ", schema },
	{ ",\n\"tool\": ", tool },
	{ ",\n\"arguments\": ", arguments },
	{ ",\n\"started\": ", started },
	{ ",\n\"started_epoch_s\": ", started_epoch },
	{ ",\n\"duration_s\": ", duration },
	{ ",\n\"interrupted\": ", interrupted },
	{ ",\n\"lib\": ", libraries },
	{ ",\n\"host\": ", host },
	{ ",\n\"clock\": ", clock_member },
};

int report_json(FILE *out, const struct doc *d, struct err *e)
{
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (dump(out, members[i].before, members[i].make(d)) < 0)
			return report_no_memory(e);
	}
	fputs(",\n\"rows\": [", out);
	for (i = 0; i < d->n_rows; i++) {
		if (dump(out, i ? ",\n" : "\n", row(d->rows[i])) < 0)
			return report_no_memory(e);
	}
	fputs(i ? "\n],\n\"advice\": [" : "],\n\"advice\": [", out);
	for (i = 0; i < d->n_advice; i++) {
		if (dump(out, i ? ",\n" : "\n", text(d->advice[i])) < 0)
			return report_no_memory(e);
	}
	fputs(i ? "\n]\n}\n" : "]\n}\n", out);
	return 0;
}

/* --- a comparison --------------------------------------------------------------------------- */

static json_t *median(const struct row *r)
{
	return number(r && r->n_samples ? r->stats.median : NAN);
}

static json_t *change(const struct report_change *c)
{
	const struct row *r = c->now ? c->now : c->base;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", text(r->id), "unit", text(r->unit),
		"base", median(c->base), "now", median(c->now), "ratio", number(c->ratio), "p", number(c->p),
		"verdict", text(report_verdict_name(c->verdict)), "reason", text(report_change_reason(c)));
}

static json_t *run(const struct doc *d)
{
	return json_pack("{s:o, s:o, s:o}", "tool", tool(d), "started", started(d), "started_epoch_s", started_epoch(d));
}

int report_comparison_json(FILE *out, const struct report_comparison *c, struct err *e)
{
	char *command = report_clean(c->now->command);
	json_t *head = !command ? NULL : json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}",
		"schema", json_sprintf("tlskit/%s-compare/1", command), "base", run(c->base), "now", run(c->now),
		"threshold", number(c->threshold), "other_machine", json_boolean(c->other_machine),
		"machine_note", text(c->other_machine ? c->machine_note : NULL),
		"worse", (int)c->worse, "better", (int)c->better, "refused", (int)c->refused);
	const char *key;
	json_t *v;
	int failed = 0;
	size_t i;

	free(command);
	if (!head)
		return report_no_memory(e);
	json_object_foreach(head, key, v) {
		fprintf(out, "%s\n\"%s\": ", strcmp(key, "schema") ? "," : "{", key);
		failed |= dump(out, "", json_incref(v));
	}
	json_decref(head);
	if (failed)
		return report_no_memory(e);
	fputs(",\n\"changes\": [", out);
	for (i = 0; i < c->n; i++) {
		if (dump(out, i ? ",\n" : "\n", change(&c->changes[i])) < 0)
			return report_no_memory(e);
	}
	fputs(i ? "\n]\n}\n" : "]\n}\n", out);
	return 0;
}
