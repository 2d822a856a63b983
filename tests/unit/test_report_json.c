/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/report/report_int.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(report_json, .timeout = TEST_TIMEOUT);

static struct doc *parsed(const char *text, const char *command)
{
	struct err e = { 0 };
	struct doc *d = report_parse("x.json", text, strlen(text), command, &e);

	cr_assert_not_null(d, "%s", e.msg);
	return d;
}

/* --- what was written reads back ----------------------------------------------------- */

static void check_again(const struct doc *d)
{
	char *text = sample_written(d, REPORT_JSON, 0), *again;
	struct doc *copy = parsed(text, d->command);

	again = sample_written(copy, REPORT_JSON, 0);
	sample_same(again, text);
	doc_free(copy);
	free(again);
	free(text);
}

Test(report_json, again)
{
	struct doc *d = sample_doc(), *empty = doc_new("bench-kx");

	check_again(d);
	check_again(empty);
	doc_free(d);
	doc_free(empty);
}

/* Every member of the structs, so that none is lost on both ways alike. */
Test(report_json, members)
{
	struct doc *d = sample_doc(), *copy;
	char *text = sample_written(d, REPORT_JSON, 0);
	const struct row *r;

	copy = parsed(text, "bench-tls");
	cr_assert_str_eq(copy->tool, "tlskit 0.1.0");
	cr_assert_str_eq(copy->arguments, "tlskit bench-tls mem");
	cr_assert_eq(copy->started_ms, 1796064572624);
	cr_assert(copy->duration_s == 65.25 && copy->sample_s == 0.5 && isnan(copy->clock_overhead_ns));
	cr_assert_eq(copy->n_samples, 5u);
	cr_assert(copy->n_libraries == 1 && strcmp(copy->libraries[0].version, "3.7.9") == 0);
	cr_assert_str_eq(copy->host->board, "Raspberry Pi 4 Model B Rev 1.4");
	cr_assert(copy->host->cores_usable == 4 && copy->host->memory_bytes == -1 && !copy->host->governor);
	cr_assert(copy->host->temp_after_c == 63 && copy->n_advice == 1 && copy->n_rows == 6);
	r = copy->rows[0];
	cr_assert_eq(r->flags, (unsigned)(ROW_NOISY | ROW_FREQUENCY));
	cr_assert(strcmp(row_text(r, "engine"), "gnutls") == 0 && row_number(r, "size_bytes") == 16384);
	cr_assert(r->n_samples == 5 && r->stats.median == 1.25e9 && r->cpu_s == 2.5 && !r->negotiated && !r->mem);
	r = copy->rows[3];
	cr_assert(r->status == ROW_ERROR && strncmp(r->reason, "decryption gave", 15) == 0 && r->n_samples == 0);
	r = doc_find(copy, "echo/16");
	cr_assert_str_eq(r->negotiated->suite, "TLS_AES_128_GCM_SHA256");
	cr_assert(r->negotiated->cert_bits == 256 && r->negotiated->resumed == 1);
	cr_assert(r->latency->p999 == 1400000 && r->latency->max == 1750000 && r->latency->mean == 525000);
	cr_assert(r->mem->client_bytes == 40960 && r->mem->server_bytes == -1);
	cr_assert(r->env.freq_before_hz == 1.5e9 && isnan(r->env.steal_s));
	doc_free(copy);
	doc_free(d);
	free(text);
}

Test(report_json, numbers)
{
	static const double hard[] = { 0.1, 1.0 / 3, 5e-324, 123456789.123456789, 9007199254740993.0, 1e17, 0, 65.2 };
	struct doc *d = doc_new("bench-kx"), *copy;
	struct row *r = row_new("a", "k", "t", "bytes/s");
	char *text;

	for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
		row_add_sample(r, hard[i]);
	row_finish(r, 1);
	doc_add_row(d, r);
	text = sample_written(d, REPORT_JSON, 0);
	copy = parsed(text, "bench-kx");
	for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
		cr_assert(copy->rows[0]->samples[i] == hard[i], "%.17g became %.17g", hard[i], copy->rows[0]->samples[i]);
	free(text);
	doc_free(copy);
	doc_free(d);
}

/* Unknown is null: there is no NaN in JSON. */
Test(report_json, unknown)
{
	struct doc *d = doc_new("bench-kx"), *copy;
	struct row *r = row_new("a", "k", "t", "bytes/s");
	char *text;

	row_param_number(r, "nothing", NAN);
	row_param_number(r, "endless", INFINITY);
	r->cpu_s = NAN;
	doc_add_row(d, r);
	text = sample_written(d, REPORT_JSON, 0);
	cr_assert_null(strcasestr(text, "nan"));
	cr_assert_null(strcasestr(text, "inf\""));
	cr_assert_not_null(strstr(text, "\"params\": {\"nothing\": null, \"endless\": null}"), "%s", text);
	cr_assert_not_null(strstr(text, "\"median\": null, \"mad\": null, \"min\": null, \"max\": null, \"ci95\": null"));
	copy = parsed(text, "bench-kx");
	cr_assert(copy->rows[0]->n_params == 2 && isnan(copy->rows[0]->params[1].number));
	free(text);
	doc_free(copy);
	/* a sample must not be unknown: the reader says so */
	row_add_sample(r, NAN);
	text = sample_written(d, REPORT_JSON, 0);
	cr_assert_not_null(strstr(text, "\"samples\": [null]"), "%s", text);
	free(text);
	doc_free(d);
}

Test(report_json, not_utf8)
{
	struct doc *d = doc_new("bench-kx");
	char *text;

	doc_set(&d->arguments, "a\xff" "b\xc3");
	text = sample_written(d, REPORT_JSON, 0);
	cr_assert_not_null(strstr(text, "\"arguments\": \"a\xef\xbf\xbd" "b\xef\xbf\xbd\","), "%s", text);
	check_again(d);
	free(text);
	doc_free(d);
}

/* What follows from the samples is not taken from the file. */
Test(report_json, computed)
{
	struct doc *d = parsed("{\"schema\":\"tlskit/bench-kx/1\",\"rows\":[{\"id\":\"a\",\"kind\":\"k\",\"title\":\"t\","
		"\"status\":\"ok\",\"unit\":\"bytes/s\",\"samples\":[1,2,9],\"median\":7,\"max\":1}],\"later\":{}}", "bench-kx");

	cr_assert(d->rows[0]->stats.median == 2 && d->rows[0]->stats.max == 9 && isnan(d->rows[0]->cpu_s));
	cr_assert(d->started_ms == 0 && !d->tool && !d->host && isnan(d->duration_s));
	doc_free(d);
}

/* --- what is wrong with a file -------------------------------------------------------- */

#define HEAD "{\"schema\":\"tlskit/bench-kx/1\","
#define ROW_HEAD "{\"id\":\"a\",\"kind\":\"k\",\"title\":\"t\",\"status\":\"ok\",\"unit\":\"bytes/s\""
#define ROW(more) HEAD "\"rows\":[" ROW_HEAD "," more "}]}"
#define IN_ROW "x.json: rows[0]"

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", "x.json: empty" },
	{ "[1,\n2", "x.json: no JSON, line 2, column 1: the file ends in the middle" },
	{ HEAD "\"rows\":[" ROW_HEAD, "x.json: no JSON, line 1, column 101: the file ends in the middle" },
	{ "hello", "x.json: no JSON, line 1, column 5: '[' or '{' expected near 'hello'" },
	{ HEAD "\"rows\":[]} x", "x.json: no JSON, line 1, column 42: end of file expected near 'x'" },
	{ HEAD "\"tool\":\"a\\u0000b\"}", "x.json: no JSON, line 1, column 47: a NUL character in a string" },
	{ HEAD "\"tool\":\"\xff\"}", "x.json: no JSON, line 1, column 38: unable to decode byte 0xff near '\"'" },
	{ HEAD "\"rows\":[],\"rows\":[]}", "x.json: no JSON, line 1, column 46: duplicate object key near '\"rows\"'" },
	{ ROW("\"samples\":[1e999]"), "x.json: no JSON, line 1, column 118: real number overflow near '1e999'" },
	{ ROW("\"samples\":[NaN]"), "x.json: no JSON, line 1, column 116: invalid token near 'NaN'" },
	{ "[]", "x.json: no report: \"schema\" is missing (expected: tlskit/bench-kx/1)" },
	{ "{\"schema\":1}", "x.json: no report: \"schema\" is missing (expected: tlskit/bench-kx/1)" },
	{ "{\"schema\":\"tlskit/bench-tls/1\"}", "x.json: of schema \"tlskit/bench-tls/1\" (expected: tlskit/bench-kx/1)" },
	{ "{\"schema\":\"tlskit/bench-kx/2\"}", "x.json: of schema \"tlskit/bench-kx/2\" (expected: tlskit/bench-kx/1)" },
	{ "{\"schema\":\"tlskit/bench-kx-compare/1\"}",
	  "x.json: of schema \"tlskit/bench-kx-compare/1\" (expected: tlskit/bench-kx/1)" },
	{ HEAD "\"tool\":7}", "x.json: tool is not a string" },
	{ HEAD "\"interrupted\":0}", "x.json: interrupted is neither true nor false" },
	{ HEAD "\"duration_s\":-1}", "x.json: duration_s is -1, out of range" },
	{ HEAD "\"duration_s\":1e19}", "x.json: duration_s is 1e+19, out of range" },
	{ HEAD "\"started\":\"yesterday\"}", "x.json: started is not like 2026-11-30T12:00:00.000Z: \"yesterday\"" },
	{ HEAD "\"started\":\"2026-02-30T12:00:00.000Z\"}",
	  "x.json: started is not like 2026-11-30T12:00:00.000Z: \"2026-02-30T12:00:00.000Z\"" },
	{ HEAD "\"started\":\"2026-11-30T12:00:00.000Z\",\"started_epoch_s\":5}",
	  "x.json: started and started_epoch_s are not the same moment" },
	{ HEAD "\"lib\":[]}", "x.json: lib is not an object" },
	{ HEAD "\"lib\":{\"a\":1}}", "x.json: lib has a version that is not a string" },
	{ HEAD "\"host\":{\"cpu\":[]}}", "x.json: host.cpu is not a string" },
	{ HEAD "\"host\":{\"cores_online\":1.5}}", "x.json: host.cores_online is not a whole number" },
	{ HEAD "\"host\":{\"cores_online\":9999999}}", "x.json: host.cores_online is 9999999, out of range" },
	{ HEAD "\"host\":{\"temp_after_c\":-300}}", "x.json: host.temp_after_c is -300, out of range" },
	{ HEAD "\"clock\":{\"samples\":-5}}", "x.json: clock.samples is -5, out of range" },
	{ HEAD "\"host\":{}}", "x.json: rows is missing" },
	{ HEAD "\"rows\":{}}", "x.json: rows is not an array" },
	{ HEAD "\"rows\":[[]]}", IN_ROW " is not an object" },
	{ HEAD "\"rows\":[{}]}", IN_ROW ".id is missing" },
	{ HEAD "\"rows\":[{\"id\":\"\"}]}", IN_ROW ".id is not a string that says something" },
	{ HEAD "\"rows\":[{\"id\":\"a\",\"kind\":null}]}", IN_ROW ".kind is not a string that says something" },
	{ HEAD "\"rows\":[" ROW_HEAD "}," ROW_HEAD "}]}", "x.json: rows[1].id is there twice: \"a\"" },
	{ HEAD "\"rows\":[{\"id\":\"a\",\"kind\":\"k\",\"title\":\"t\",\"unit\":\"u\",\"status\":\"fine\"}]}",
	  IN_ROW ".status is unknown: \"fine\"" },
	{ HEAD "\"rows\":[{\"id\":\"a\",\"kind\":\"k\",\"title\":\"t\",\"unit\":\"u\"}]}", IN_ROW ".status is missing" },
	{ ROW("\"samples\":7"), IN_ROW ".samples is not an array" },
	{ ROW("\"samples\":[1,\"2\"]"), IN_ROW ".samples[1] is not a number" },
	{ ROW("\"samples\":[null]"), IN_ROW ".samples[0] is not a number" },
	{ ROW("\"samples\":[1,2,-3]"), IN_ROW ".samples[2] is -3, out of range" },
	{ ROW("\"samples\":[1e200]"), IN_ROW ".samples[0] is 1e+200, out of range" },
	{ ROW("\"reason\":{}"), IN_ROW ".reason is not a string" },
	{ ROW("\"wall_s\":\"1\""), IN_ROW ".wall_s is not a number" },
	{ ROW("\"flags\":[1]"), IN_ROW ".flags has something else than strings in it" },
	{ ROW("\"flags\":[\"loud\"]"), IN_ROW ".flags has an unknown flag, \"loud\"" },
	{ ROW("\"params\":[]"), IN_ROW ".params is not an object" },
	{ ROW("\"params\":{\"a\":true}"), IN_ROW ".params.a is not a number" },
	{ ROW("\"params\":{\"\":1}"), IN_ROW ".params has a param without a name" },
	{ ROW("\"negotiated\":7"), IN_ROW ".negotiated is not an object" },
	{ ROW("\"negotiated\":{\"group\":1}"), IN_ROW ".negotiated.group is not a string" },
	{ ROW("\"negotiated\":{\"resumed\":1}"), IN_ROW ".negotiated.resumed is neither true nor false" },
	{ ROW("\"latency\":{}"), IN_ROW ".latency.count is missing" },
	{ ROW("\"latency\":{\"count\":-1}"), IN_ROW ".latency.count is -1, out of range" },
	{ ROW("\"mem\":{\"client_bytes\":0.5}"), IN_ROW ".mem.client_bytes is not a whole number" },
	{ ROW("\"env\":{\"steal_s\":-0.5}"), IN_ROW ".env.steal_s is -0.5, out of range" },
	{ HEAD "\"rows\":[],\"advice\":[0]}", "x.json: advice has something else than strings in it" },
	{ HEAD "\"rows\":[],\"advice\":\"no\"}", "x.json: advice is not an array" },
	/* a name from the file that a terminal would act on */
	{ ROW("\"flags\":[\"\\u001b[2J\"]"), IN_ROW ".flags has an unknown flag, \"?[2J\"" },
};

Test(report_json, wrong)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = { 0 };

		cr_assert_null(report_parse("x.json", bad[i].text, strlen(bad[i].text), "bench-kx", &e), "%s", bad[i].text);
		cr_expect_str_eq(e.msg, bad[i].message, "of %s:\n  %s\nnot\n  %s", bad[i].text, e.msg, bad[i].message);
		cr_expect_eq(e.kind, ERR_CONFIG);
	}
}

/* Every beginning of a good file is refused and says where it ends. */
Test(report_json, cut)
{
	struct doc *d = sample_doc();
	char *text = sample_written(d, REPORT_JSON, 0);
	size_t end = strlen(text) - 2; /* the last brace and its newline */

	for (size_t n = 1; n <= end; n++) {
		struct err e = { 0 };

		cr_assert_null(report_parse("x.json", text, n, "bench-tls", &e), "%zu bytes", n);
		cr_assert_eq(strncmp(e.msg, "x.json: no JSON, line ", 22), 0, "%s", e.msg);
		cr_assert_eq(e.kind, ERR_CONFIG);
	}
	free(text);
	doc_free(d);
}

Test(report_json, too_much)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct err e = { 0 };

	fputs(ROW("\"params\":{"), out);
	fseek(out, -3, SEEK_CUR); /* "}]}" */
	for (int i = 0; i < 257; i++)
		fprintf(out, "%s\"p%d\":1", i ? "," : "", i);
	fputs("}}]}", out);
	fclose(out);
	cr_assert_null(report_parse("x.json", text, size, "bench-kx", &e));
	cr_assert_str_eq(e.msg, "x.json: rows[0].params has a param too many: all rows together have more than 256 different "
		"ones");
	free(text);
	text = calloc(1, 3000);
	memset(text, '[', 2999);
	cr_assert_null(report_parse("x.json", text, 2999, "bench-kx", &e));
	cr_assert_str_eq(e.msg, "x.json: no JSON, line 1, column 2049: maximum parsing depth reached near '['");
	free(text);
}

/* --- files --------------------------------------------------------------------------- */

Test(report_json, files)
{
	char path[] = "/tmp/tlskit-report-XXXXXX", expected[256];
	int fd = mkstemp(path);
	struct doc *d = sample_doc(), *copy;
	char *text = sample_written(d, REPORT_JSON, 0), *again;
	struct err e = { 0 };

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	copy = report_read(path, "bench-tls", &e);
	cr_assert_not_null(copy, "%s", e.msg);
	again = sample_written(copy, REPORT_JSON, 0);
	cr_assert_str_eq(again, text);
	doc_free(copy);
	cr_assert_not_null(freopen(path, "rb", stdin));
	copy = report_read("-", "bench-tls", &e);
	cr_assert_not_null(copy, "%s", e.msg);
	doc_free(copy);
	cr_assert_null(report_read("-", "bench-tls", &e)); /* nothing is left there */
	cr_assert_str_eq(e.msg, "standard input: empty");
	cr_assert_eq(ftruncate(fd, (16 << 20) + 1), 0);
	cr_assert_null(report_read(path, "bench-tls", &e));
	snprintf(expected, sizeof(expected), "%s: larger than 16 MiB, so no report", path);
	cr_assert_str_eq(e.msg, expected);
	close(fd);
	unlink(path);
	cr_assert_null(report_read(path, "bench-tls", &e));
	snprintf(expected, sizeof(expected), "cannot open %s: No such file or directory", path);
	cr_assert_str_eq(e.msg, expected);
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert_null(report_read("/", "bench-tls", &e));
	cr_assert_str_eq(e.msg, "cannot read /: Is a directory");
	free(text);
	free(again);
	doc_free(d);
}

/* --- the schema ----------------------------------------------------------------------- */

static json_t *load_schema(void)
{
	const char *top = getenv("srcdir");
	json_error_t je;
	char path[512];
	json_t *s;

	snprintf(path, sizeof(path), "%s/docs/schema/bench.json", top ? top : ".");
	s = json_load_file(path, JSON_REJECT_DUPLICATES, &je);
	cr_assert_not_null(s, "%s: %s", path, je.text);
	return s;
}

static json_t *as_json(const struct doc *d)
{
	char *text = sample_written(d, REPORT_JSON, 0);
	json_t *v = json_loads(text, 0, NULL);

	cr_assert_not_null(v, "%s", text);
	free(text);
	return v;
}

Test(report_json, schema)
{
	struct doc *d = sample_doc(), *empty = doc_new("bench-kx");
	json_t *schema = load_schema(), *full = as_json(d), *none = as_json(empty);
	char wrong[512] = "";

	cr_assert_eq(json_schema_check(schema, full, wrong, sizeof(wrong)), 0, "%s", wrong);
	cr_assert_eq(json_schema_check(schema, none, wrong, sizeof(wrong)), 0, "%s", wrong);
	json_decref(full);
	json_decref(none);
	json_decref(schema);
	doc_free(d);
	doc_free(empty);
}

/* A wrong name or type anywhere does not pass: each object of a whole document loses
 * each of its members, gets one that is not known, and has each replaced. */
static void spoil(json_t *schema, json_t *root, json_t *object)
{
	char keys[64][64], wrong[512];
	const char *key;
	size_t n = 0;
	json_t *v;

	cr_assert(json_object_size(object) > 0);
	json_object_foreach(object, key, v)
		snprintf(keys[n++], sizeof(keys[0]), "%s", key);
	for (size_t i = 0; i < n; i++) {
		v = json_incref(json_object_get(object, keys[i]));
		json_object_del(object, keys[i]);
		cr_expect_eq(json_schema_check(schema, root, wrong, sizeof(wrong)), -1, "without %s", keys[i]);
		json_object_set_new(object, keys[i], json_pack("[{}]"));
		cr_expect_eq(json_schema_check(schema, root, wrong, sizeof(wrong)), -1, "with [{}] as %s", keys[i]);
		json_object_set_new(object, keys[i], v);
	}
	json_object_set_new(object, "other", json_null());
	cr_expect_eq(json_schema_check(schema, root, wrong, sizeof(wrong)), -1, "with a member that is not known");
	json_object_del(object, "other");
	cr_assert_eq(json_schema_check(schema, root, wrong, sizeof(wrong)), 0, "%s", wrong);
}

Test(report_json, schema_is_strict)
{
	static const char *const parts[] = { "negotiated", "latency", "mem", "env" };
	struct doc *d = sample_doc();
	json_t *schema = load_schema(), *root = as_json(d), *row = json_array_get(json_object_get(root, "rows"), 5);

	spoil(schema, root, root);
	spoil(schema, root, row);
	spoil(schema, root, json_object_get(root, "host"));
	spoil(schema, root, json_object_get(root, "clock"));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		spoil(schema, root, json_object_get(row, parts[i]));
	json_decref(root);
	json_decref(schema);
	doc_free(d);
}
