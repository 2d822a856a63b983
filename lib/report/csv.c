/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/report_int.h"

/* The long form that report.h describes: a record a sample. */

void report_csv_field(FILE *out, const char *text)
{
	if (!text)
		return;
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

/* --- the columns around the params; each writes its field, nothing for unknown --------- */

static void put_number(FILE *out, double v)
{
	char number[REPORT_NUMBER_SIZE];

	fputs(report_number(v, number), out);
}

static void put_id(FILE *out, const struct row *r)
{
	report_csv_field(out, r->id);
}

static void put_kind(FILE *out, const struct row *r)
{
	report_csv_field(out, r->kind);
}

static void put_title(FILE *out, const struct row *r)
{
	report_csv_field(out, r->title);
}

static void put_status(FILE *out, const struct row *r)
{
	report_csv_field(out, row_status_name(r->status));
}

static void put_reason(FILE *out, const struct row *r)
{
	report_csv_field(out, r->reason);
}

static void put_unit(FILE *out, const struct row *r)
{
	report_csv_field(out, r->unit);
}

#define AGREED(member) \
	static void put_##member(FILE *out, const struct row *r) \
	{ \
		report_csv_field(out, r->negotiated ? r->negotiated->member : NULL); \
	}
AGREED(version)
AGREED(suite)
AGREED(group)
AGREED(signature)
AGREED(dataplane)

static void put_cert_bits(FILE *out, const struct row *r)
{
	if (r->negotiated && r->negotiated->cert_bits >= 0)
		fprintf(out, "%ld", r->negotiated->cert_bits);
}

static void put_resumed(FILE *out, const struct row *r)
{
	if (r->negotiated && r->negotiated->resumed >= 0)
		fputs(r->negotiated->resumed ? "true" : "false", out);
}

static void put_cpu(FILE *out, const struct row *r)
{
	put_number(out, r->n_samples ? r->cpu_s : NAN);
}

static void put_wall(FILE *out, const struct row *r)
{
	put_number(out, r->n_samples ? r->wall_s : NAN);
}

#define LATENCY(member) \
	static void put_latency_##member(FILE *out, const struct row *r) \
	{ \
		if (r->latency) \
			fprintf(out, "%" PRIu64, r->latency->member); \
	}
LATENCY(count)
LATENCY(min)
LATENCY(p50)
LATENCY(p90)
LATENCY(p99)
LATENCY(p999)
LATENCY(max)

static void put_latency_mean(FILE *out, const struct row *r)
{
	if (r->latency)
		put_number(out, r->latency->mean);
}

static void put_client(FILE *out, const struct row *r)
{
	if (r->mem && r->mem->client_bytes >= 0)
		fprintf(out, "%" PRId64, r->mem->client_bytes);
}

static void put_server(FILE *out, const struct row *r)
{
	if (r->mem && r->mem->server_bytes >= 0)
		fprintf(out, "%" PRId64, r->mem->server_bytes);
}

static void put_flags(FILE *out, const struct row *r)
{
	const char *between = "";

	for (unsigned flag = 1; flag && flag <= r->flags; flag <<= 1) {
		if ((r->flags & flag) && row_flag_name(flag)) {
			fprintf(out, "%s%s", between, row_flag_name(flag));
			between = " ";
		}
	}
}

struct column {
	const char *name;
	void (*put)(FILE *out, const struct row *r);
};

static const struct column before[] = {
	{ "id", put_id }, { "kind", put_kind }, { "title", put_title }, { "status", put_status },
	{ "reason", put_reason },
};

static const struct column behind[] = {
	{ "negotiated_version", put_version }, { "negotiated_suite", put_suite }, { "negotiated_group", put_group },
	{ "negotiated_signature", put_signature }, { "negotiated_cert_bits", put_cert_bits },
	{ "negotiated_resumed", put_resumed }, { "negotiated_dataplane", put_dataplane },
	{ "cpu_s", put_cpu }, { "wall_s", put_wall },
	{ "latency_count", put_latency_count }, { "latency_min_ns", put_latency_min },
	{ "latency_mean_ns", put_latency_mean }, { "latency_p50_ns", put_latency_p50 },
	{ "latency_p90_ns", put_latency_p90 }, { "latency_p99_ns", put_latency_p99 },
	{ "latency_p999_ns", put_latency_p999 }, { "latency_max_ns", put_latency_max },
	{ "mem_client_bytes", put_client }, { "mem_server_bytes", put_server }, { "flags", put_flags },
	{ "unit", put_unit },
};
/* and then "sample" and "value" */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_fixed(const char *name)
{
	for (size_t i = 0; i < COUNT(before); i++) {
		if (strcmp(before[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < COUNT(behind); i++) {
		if (strcmp(behind[i].name, name) == 0)
			return true;
	}
	return strcmp(name, "sample") == 0 || strcmp(name, "value") == 0;
}

static void put_head(FILE *out, const struct report_traits *t)
{
	for (size_t i = 0; i < COUNT(before); i++)
		fprintf(out, "%s%s", i ? "," : "", before[i].name);
	for (size_t i = 0; i < t->n; i++) {
		fputs(is_fixed(t->all[i].name) ? ",param_" : ",", out);
		report_csv_field(out, t->all[i].name);
	}
	for (size_t i = 0; i < COUNT(behind); i++)
		fprintf(out, ",%s", behind[i].name);
	fputs(",sample,value\n", out);
}

static void put_param(FILE *out, const struct row *r, const char *name)
{
	const char *text = row_text(r, name);

	if (text)
		report_csv_field(out, text);
	else
		put_number(out, row_number(r, name));
}

static void put_record(FILE *out, const struct report_traits *t, const struct row *r)
{
	for (size_t i = 0; i < COUNT(before); i++) {
		if (i)
			putc(',', out);
		before[i].put(out, r);
	}
	for (size_t i = 0; i < t->n; i++) {
		putc(',', out);
		put_param(out, r, t->all[i].name);
	}
	for (size_t i = 0; i < COUNT(behind); i++) {
		putc(',', out);
		behind[i].put(out, r);
	}
}

int report_csv(FILE *out, const struct doc *d, struct err *e)
{
	const struct report_group all = { (const struct row **)d->rows, d->n_rows };
	struct report_traits t = { 0 };

	if (report_traits_of(&all, &t) < 0) {
		free(t.all);
		return report_no_memory(e);
	}
	while (t.n > 0 && t.all[t.n - 1].agreed) /* those have columns of their own */
		t.n--;
	put_head(out, &t);
	for (size_t i = 0; i < d->n_rows; i++) {
		const struct row *r = d->rows[i];

		for (size_t k = 0; k < r->n_samples; k++) {
			put_record(out, &t, r);
			fprintf(out, ",%zu,", k);
			put_number(out, r->samples[k]);
			putc('\n', out);
		}
		if (r->n_samples == 0) {
			put_record(out, &t, r);
			fputs(",,\n", out);
		}
	}
	free(t.all);
	return 0;
}
