/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/report/json_int.h"
#include "lib/report/report_int.h"

/* Reads docs/schema/bench.json. The file may come from anywhere: every type and
 * range is looked at. */

#define MOST_BYTES (16 << 20) /* jansson takes up to 32 bytes for two of these */
#define MOST_ROWS  20000
#define MOST_LINES 1000 /* of advice */
#define PIECE      65536
#define LAST_EPOCH_S 253402300799LL /* RFC 3339 knows four digits of a year */

/* --- the file ------------------------------------------------------------------------- */

/* Reads all of it; *data is owned. */
static int slurp(FILE *f, const char *name, char **data, size_t *size, struct err *e)
{
	size_t n;

	*data = NULL;
	*size = 0;
	do {
		char *more = realloc(*data, *size + PIECE);

		if (!more)
			return report_no_memory(e);
		*data = more;
		n = fread(more + *size, 1, PIECE, f);
		*size += n;
		if (*size > MOST_BYTES)
			return err_set(e, ERR_CONFIG, "%s: larger than %d MiB, so no report", name, MOST_BYTES >> 20);
	} while (n > 0);
	return ferror(f) ? err_sys(e, ERR_CONFIG, errno, "cannot read %s", name) : 0;
}

static json_t *parse(const char *name, const char *data, size_t size, struct err *e)
{
	json_error_t je;
	json_t *root = json_loadb(data, size, JSON_REJECT_DUPLICATES, &je);
	const char *text = je.text;

	if (root)
		return root;
	if (size == 0) {
		err_set(e, ERR_CONFIG, "%s: empty", name);
		return NULL;
	}
	if (json_error_code(&je) == json_error_premature_end_of_input)
		text = "the file ends in the middle";
	else if (json_error_code(&je) == json_error_null_character)
		text = "a NUL character in a string";
	else if (json_error_code(&je) == json_error_out_of_memory)
		text = "no memory for it";
	err_set(e, ERR_CONFIG, "%s: no JSON, line %d, column %d: %s", name, je.line, je.column, text);
	return NULL;
}

/* --- the document --------------------------------------------------------------------- */

static int read_schema(struct report_reader *r, const json_t *root, const char *command)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	size_t n = strlen(command);

	if (!json_is_object(root) || !schema)
		return err_set(r->e, ERR_CONFIG, "%s: no report: \"schema\" is missing (expected: tlskit/%s/1)", r->file,
			command);
	if (strncmp(schema, "tlskit/", 7) != 0 || strncmp(schema + 7, command, n) != 0 || strcmp(schema + 7 + n, "/1") != 0)
		return err_set(r->e, ERR_CONFIG, "%s: of schema \"%s\" (expected: tlskit/%s/1)", r->file, schema, command);
	return 0;
}

int64_t report_time_parse(const char *text)
{
	struct tm tm = { 0 };
	char again[CLOCK_RFC3339_SIZE];
	int ms;
	int64_t t;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		&tm.tm_sec, &ms) != 7)
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	t = (int64_t)timegm(&tm) * 1000 + ms;
	/* no other spelling, no 30th of February */
	return strcmp(clock_rfc3339(t, again), text) == 0 ? t : -1;
}

static int read_started(struct report_reader *r, const json_t *root, struct doc *d)
{
	char *text = NULL;
	int64_t epoch_s = 0;
	int failed = report_get_text(r, root, "started", &text) < 0 ||
		report_get_integer(r, root, "started_epoch_s", LAST_EPOCH_S, &epoch_s) < 0;

	if (!failed) {
		d->started_ms = text ? report_time_parse(text) : epoch_s * 1000;
		if (d->started_ms < 0)
			failed = report_wrong(r, "started", "is not like 2026-11-30T12:00:00.000Z: \"%s\"", text);
		else if (text && epoch_s && epoch_s != d->started_ms / 1000)
			failed = report_wrong(r, "started", "and started_epoch_s are not the same moment");
	}
	free(text);
	return failed ? -1 : 0;
}

static int read_libraries(struct report_reader *r, json_t *root, struct doc *d)
{
	const char *name;
	json_t *o, *v;

	if (report_get_object(r, root, "lib", &o) < 0)
		return -1;
	json_object_foreach(o, name, v) {
		if (!json_is_string(v) && !json_is_null(v))
			return report_wrong(r, "lib", "has a version that is not a string");
		if (doc_add_library(d, name, json_is_null(v) ? "" : json_string_value(v)) < 0)
			return report_no_memory(r->e);
		if (json_is_null(v)) {
			free(d->libraries[d->n_libraries - 1].version);
			d->libraries[d->n_libraries - 1].version = NULL;
		}
	}
	return 0;
}

static int read_cores(struct report_reader *r, const json_t *o, const char *key, int *out)
{
	int64_t v = -1;

	if (report_get_integer(r, o, key, 1 << 20, &v) < 0)
		return -1;
	*out = (int)v;
	return 0;
}

static int read_host(struct report_reader *r, json_t *root, struct doc *d)
{
	struct host *h;
	json_t *o;

	if (report_get_object(r, root, "host", &o) < 0)
		return -1;
	if (!o)
		return 0;
	h = d->host = calloc(1, sizeof(*h));
	if (!h)
		return report_no_memory(r->e);
	h->memory_bytes = -1;
	h->freq_max_hz = h->temp_before_c = h->temp_after_c = NAN;
	strcpy(r->where, "host.");
	if (report_get_text(r, o, "cpu", &h->cpu) < 0 || report_get_text(r, o, "board", &h->board) < 0 ||
		report_get_text(r, o, "architecture", &h->architecture) < 0 ||
		report_get_text(r, o, "features", &h->features) < 0 ||
		read_cores(r, o, "cores_online", &h->cores_online) < 0 ||
		read_cores(r, o, "cores_usable", &h->cores_usable) < 0 ||
		report_get_text(r, o, "governor", &h->governor) < 0 ||
		report_get_number(r, o, "freq_max_hz", 0, &h->freq_max_hz) < 0 ||
		report_get_text(r, o, "kernel", &h->kernel) < 0 || report_get_text(r, o, "os", &h->os) < 0 ||
		report_get_integer(r, o, "memory_bytes", INT64_MAX, &h->memory_bytes) < 0 ||
		report_get_text(r, o, "virtualization", &h->virtualization) < 0 ||
		report_get_number(r, o, "temp_before_c", -274, &h->temp_before_c) < 0 ||
		report_get_number(r, o, "temp_after_c", -274, &h->temp_after_c) < 0 ||
		report_get_text(r, o, "throttled", &h->throttled) < 0 ||
		report_get_text(r, o, "acceleration", &h->acceleration) < 0)
		return -1;
	r->where[0] = '\0';
	return 0;
}

static int read_clock(struct report_reader *r, json_t *root, struct doc *d)
{
	int64_t samples = 0;
	json_t *o;

	if (report_get_object(r, root, "clock", &o) < 0)
		return -1;
	if (!o)
		return 0;
	strcpy(r->where, "clock.");
	if (report_get_number(r, o, "resolution_ns", 0, &d->clock_resolution_ns) < 0 ||
		report_get_number(r, o, "overhead_ns", 0, &d->clock_overhead_ns) < 0 ||
		report_get_number(r, o, "sample_s", 0, &d->sample_s) < 0 ||
		report_get_integer(r, o, "samples", INT32_MAX, &samples) < 0)
		return -1;
	d->n_samples = (unsigned)samples;
	r->where[0] = '\0';
	return 0;
}

static int read_rows(struct report_reader *r, json_t *root, struct doc *d)
{
	json_t *a;

	if (!json_object_get(root, "rows"))
		return report_wrong(r, "rows", "is missing");
	if (report_get_array(r, root, "rows", MOST_ROWS, &a) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(a); i++) {
		json_t *o = json_array_get(a, i);
		struct row *row = NULL;

		snprintf(r->where, sizeof(r->where), "rows[%zu].", i);
		if (!json_is_object(o))
			return report_wrong(r, "", "is not an object");
		if (report_read_row(r, o, &row) < 0) {
			row_free(row);
			return -1;
		}
		if (doc_add_row(d, row) < 0)
			return report_no_memory(r->e);
	}
	r->where[0] = '\0';
	return 0;
}

static int read_advice(struct report_reader *r, json_t *root, struct doc *d)
{
	json_t *a;

	if (report_get_array(r, root, "advice", MOST_LINES, &a) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(a); i++) {
		const char *text = json_string_value(json_array_get(a, i));

		if (!text)
			return report_wrong(r, "advice", "has something else than strings in it");
		if (doc_add_advice(d, text) < 0)
			return report_no_memory(r->e);
	}
	return 0;
}

static int read_all(struct report_reader *r, json_t *root, struct doc *d)
{
	int interrupted = 0;

	if (report_get_text(r, root, "tool", &d->tool) < 0 || report_get_text(r, root, "arguments", &d->arguments) < 0 ||
		read_started(r, root, d) < 0 || report_get_number(r, root, "duration_s", 0, &d->duration_s) < 0 ||
		report_get_bool(r, root, "interrupted", &interrupted) < 0 || read_libraries(r, root, d) < 0 ||
		read_host(r, root, d) < 0 || read_clock(r, root, d) < 0 || read_rows(r, root, d) < 0)
		return -1;
	d->interrupted = interrupted;
	return read_advice(r, root, d);
}

struct doc *report_parse(const char *name, const char *data, size_t size, const char *command, struct err *e)
{
	struct report_reader r = { .file = name, .e = e };
	json_t *root = parse(name, data, size, e);
	struct doc *d = NULL;
	int failed = -1;

	if (root && read_schema(&r, root, command) == 0) {
		d = doc_new(command);
		r.ids = json_object();
		r.params = json_object();
		if (!d || !r.ids || !r.params)
			report_no_memory(e);
		else
			failed = read_all(&r, root, d);
	}
	if (failed) {
		doc_free(d);
		d = NULL;
	}
	json_decref(r.ids);
	json_decref(r.params);
	json_decref(root);
	return d;
}

struct doc *report_read(const char *path, const char *command, struct err *e)
{
	bool own = strcmp(path, "-") != 0;
	const char *name = own ? path : "standard input";
	FILE *f = own ? fopen(path, "rb") : stdin;
	char *data = NULL;
	struct doc *d = NULL;
	size_t size;

	if (!f) {
		err_sys(e, ERR_CONFIG, errno, "cannot open %s", name);
		return NULL;
	}
	if (slurp(f, name, &data, &size, e) == 0)
		d = report_parse(name, data, size, command, e);
	free(data);
	if (own)
		fclose(f);
	return d;
}
