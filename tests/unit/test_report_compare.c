/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(report_compare, .timeout = TEST_TIMEOUT);

/* A document with a row of n samples around middle, each so far from the last one. */
static struct row *add(struct doc *d, const char *id, int n, double middle, double step)
{
	struct row *r = row_new(id, "k", id, "bytes/s");

	for (int i = 0; i < n; i++)
		cr_assert_eq(row_add_sample(r, middle + step * (i - n / 2)), 0);
	cr_assert_eq(row_finish(r, 1), 0);
	cr_assert_eq(doc_add_row(d, r), 0);
	return r;
}

static struct row *agreed(struct row *r, const char *version, const char *suite, const char *group)
{
	r->negotiated = calloc(1, sizeof(*r->negotiated));
	*r->negotiated = (struct row_negotiated){ strdup(version), strdup(suite), strdup(group), NULL, NULL, -1, -1 };
	return r;
}

static struct report_comparison compared(const struct doc *base, const struct doc *now, double threshold)
{
	struct report_comparison c;
	struct err e = { 0 };

	cr_assert_eq(report_compare(base, now, threshold, &c, &e), 0, "%s", e.msg);
	return c;
}

static const struct {
	const char *id;
	int n_base, n_now;
	double base, now, step;
	enum report_verdict verdict;
} pairs[] = {
	{ "equal", 7, 7, 1000, 1000, 1, REPORT_SAME },
	{ "faster", 7, 7, 1000, 1100, 1, REPORT_BETTER },
	{ "slower", 7, 7, 1000, 900, 1, REPORT_WORSE },
	/* all samples differ, but by less than the threshold */
	{ "a-little-slower", 7, 7, 1000, 960, 1, REPORT_SAME },
	/* beyond the threshold, within the noise: ranges are 700 to 1300 and 640 to 1240 */
	{ "noise", 7, 7, 1000, 940, 100, REPORT_SAME },
	{ "other-counts", 5, 9, 1000, 900, 1, REPORT_WORSE },
	/* 2 of C(6, 3) = 20 orders: p cannot be below 0.1 */
	{ "three-samples", 3, 3, 1000, 500, 1, REPORT_UNSURE },
	{ "one-sample", 1, 1, 1000, 1000, 1, REPORT_UNSURE },
	/* 2 of C(8, 4) = 70: 0.029 */
	{ "four-samples", 4, 4, 1000, 500, 1, REPORT_WORSE },
};

Test(report_compare, verdicts)
{
	const size_t n = sizeof(pairs) / sizeof(pairs[0]);
	struct doc *base = doc_new("bench-kx"), *now = doc_new("bench-kx");
	struct report_comparison c;

	for (size_t i = 0; i < n; i++) {
		add(base, pairs[n - 1 - i].id, pairs[n - 1 - i].n_base, pairs[n - 1 - i].base, pairs[n - 1 - i].step);
		add(now, pairs[i].id, pairs[i].n_now, pairs[i].now, pairs[i].step);
	}
	c = compared(base, now, 0.05);
	cr_assert_eq(c.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct report_change *h = &c.changes[i];

		cr_assert(strcmp(h->base->id, pairs[i].id) == 0 && h->now == now->rows[i]);
		cr_expect_eq(h->verdict, pairs[i].verdict, "%s: verdict %d, ratio %g, p %g", h->now->id, h->verdict, h->ratio,
			h->p);
		cr_expect_null(h->reason);
	}
	cr_expect(c.changes[1].ratio > 1.0999 && c.changes[1].ratio < 1.1001);
	cr_expect(c.changes[1].p < 0.002 && c.changes[0].p > 0.9);
	cr_assert(c.worse == 3 && c.better == 1 && c.refused == 0 && !c.other_machine);
	report_comparison_free(&c);
	c = compared(base, now, 0.2); /* 10 % no longer count */
	cr_assert(c.worse == 1 && c.better == 0);
	report_comparison_free(&c);
	doc_free(base);
	doc_free(now);
}

/* The row of id "x" of both; the caller spoils one of them. */
static const char *refusal(void (*spoil)(struct row *r), bool both)
{
	static const char *reason;
	struct doc *base = doc_new("bench-kx"), *now = doc_new("bench-kx");
	struct report_comparison c;

	agreed(add(base, "x", 7, 1000, 1), "TLS1.3", "AES", "X25519");
	spoil(agreed(add(now, "x", 7, 1000, 1), "TLS1.3", "AES", "X25519"));
	if (both)
		spoil(base->rows[0]);
	c = compared(base, now, 0.05);
	cr_assert_eq(c.n, 1u);
	cr_assert_eq(c.refused, c.changes[0].verdict == REPORT_REFUSED);
	reason = c.changes[0].verdict == REPORT_REFUSED ? c.changes[0].reason : "none";
	report_comparison_free(&c);
	doc_free(base);
	doc_free(now);
	return reason;
}

static void no_change(struct row *r) { (void)r; }
static void other_version(struct row *r) { doc_set(&r->negotiated->version, "TLS1.2"); }
static void other_suite(struct row *r) { doc_set(&r->negotiated->suite, "CHACHA"); }
static void other_group(struct row *r) { doc_set(&r->negotiated->group, "P-256"); }
static void other_signature(struct row *r) { doc_set(&r->negotiated->signature, "ed25519"); }
static void other_plane(struct row *r) { doc_set(&r->negotiated->dataplane, "direct"); }
static void other_unit(struct row *r) { doc_set(&r->unit, "operations/s"); }
static void failed(struct row *r) { row_fail(r, ROW_ERROR, "it broke"); }
static void unavailable(struct row *r) { row_fail(r, ROW_UNAVAILABLE, "not here"); }
static void zero(struct row *r) { r->stats.median = 0; }

static void no_samples(struct row *r)
{
	r->n_samples = 0;
	row_finish(r, 1);
}

static void no_agreement(struct row *r)
{
	struct row *empty = row_new("", "", "", "");

	empty->negotiated = r->negotiated;
	r->negotiated = NULL;
	row_free(empty);
}

Test(report_compare, refusals)
{
	static const struct {
		void (*spoil)(struct row *r);
		const char *now, *both;
	} cases[] = {
		{ no_change, "none", "none" },
		{ other_version, "other version", "none" },
		{ other_suite, "other suite", "none" },
		{ other_group, "other group", "none" },
		{ other_signature, "other signature", "none" },
		{ other_plane, "none", "none" },
		{ no_agreement, "other version", "none" },
		{ other_unit, "other unit", "none" },
		{ failed, "error now", "error in both" },
		{ unavailable, "unavailable now", "unavailable in both" },
		{ no_samples, "no samples", "no samples" },
		{ zero, "none", "the base's median is 0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_str_eq(refusal(cases[i].spoil, false), cases[i].now, "%zu: %s", i, refusal(cases[i].spoil, false));
		cr_expect_str_eq(refusal(cases[i].spoil, true), cases[i].both, "%zu: %s", i, refusal(cases[i].spoil, true));
	}
}

Test(report_compare, machines)
{
	struct doc *base = sample_doc(), *now = sample_doc();
	struct report_comparison c = compared(base, now, 0.05);

	cr_assert(!c.other_machine && c.machine_note[0] == '\0', "%s", c.machine_note);
	report_comparison_free(&c);
	doc_set(&now->host->cpu, "AMD EPYC 7B13");
	doc_set(&now->host->virtualization, "kvm");
	doc_set(&now->libraries[0].version, "3.8.9");
	doc_add_library(now, "nettle", "3.10");
	doc_add_library(base, "libsodium", "1.0.18");
	c = compared(base, now, 0.05);
	cr_assert(c.other_machine);
	cr_assert_str_eq(c.machine_note, "processor AMD EPYC 7B13, was ARM Cortex-A72 r0p3; virtualization kvm, was none; "
		"GnuTLS 3.8.9, was 3.7.9; nettle 3.10, was unknown; libsodium unknown, was 1.0.18");
	report_comparison_free(&c);
	doc_free(now);
	now = doc_new("bench-tls"); /* which says nothing */
	c = compared(base, now, 0.05);
	cr_assert_eq(strncmp(c.machine_note, "processor unknown, was ARM Cortex-A72 r0p3; ", 44), 0, "%s", c.machine_note);
	report_comparison_free(&c);
	doc_free(now);
	doc_free(base);
}

/* A note that has no room ends in an ellipsis and stays UTF-8, wherever it is cut. */
Test(report_compare, long_note)
{
	static const char more[] = "…";

	for (size_t length = 200; length < 280; length++) {
		struct doc *base = sample_doc(), *now = sample_doc();
		char *name = calloc(1, 2 * length + 2);
		struct report_comparison c;
		size_t n, at, step;
		uint32_t cp;

		name[0] = 'a'; /* odd and even places for the cut */
		for (size_t i = 0; i < length; i += 2)
			strcat(name, i % 3 ? "ж" : "zz");
		doc_set(&now->host->cpu, name);
		doc_set(&now->host->architecture, "mips");
		c = compared(base, now, 0.05);
		n = strlen(c.machine_note);
		for (at = 0; at < n; at += step) {
			step = utf8_decode(c.machine_note + at, n - at, &cp);
			cr_assert(step > 0, "byte %zu of %s", at, c.machine_note);
		}
		cr_assert(n > 240 && n < sizeof(c.machine_note));
		cr_assert_eq(strcmp(c.machine_note + n - strlen(more), more), 0, "%zu: %s", length, c.machine_note);
		report_comparison_free(&c);
		free(name);
		doc_free(base);
		doc_free(now);
	}
}

/* --- what is printed ------------------------------------------------------------------- */

static char *printed(const struct report_comparison *c, enum report_format f, int width)
{
	struct report_style s = { .width = width };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(report_comparison_write(out, c, f, &s, &e), 0, "%s", e.msg);
	fclose(out);
	return text;
}

static const struct {
	enum report_format format;
	int width;
	const char *text;
} prints[] = {
	{ REPORT_TEXT, 0,
	  "                                    base        now  change       p\n"
	  "  slower                       1.00 MB/s   750 kB/s  -25.0%  <0.001  worse\n"
	  "  three|samples                2.00 GB/s  2.00 GB/s   +0.0%   0.750  unsure\n"
	  "  new                          missing: not in the base\n"
	  "  broken-now-with-a-long-name  refused: error now\n"
	  "  gone, \"so\"                   missing: in the base alone\n"
	  "\n"
	  "Not the same conditions: GnuTLS 3.8.9, was unknown\n"
	  "5 rows: 1 worse, 1 unsure (too few samples to show a change), 1 refused, 2 missing; what counts is a change beyond 5 % with p below 0.05\n" },
	{ REPORT_TEXT, 40,
	  "                          change\n"
	  "  slower                  -25.0%  worse\n"
	  "  three|samples            +0.0%  unsure\n"
	  "  new\n"
	  "      missing: not in the base\n"
	  "  broken-now-with-a-lon…\n"
	  "      refused: error now\n"
	  "  gone, \"so\"\n"
	  "      missing: in the base alone\n"
	  "\n"
	  "Not the same conditions: GnuTLS 3.8.9,\n"
	  "  was unknown\n"
	  "5 rows: 1 worse, 1 unsure (too few\n"
	  "  samples to show a change), 1 refused,\n"
	  "  2 missing; what counts is a change\n"
	  "  beyond 5 % with p below 0.05\n" },
	{ REPORT_MARKDOWN, 0,
	  "|  | base | now | change | p |  |\n"
	  "| :-- | --: | --: | --: | --: | :-- |\n"
	  "| slower | 1.00 MB/s | 750 kB/s | -25.0% | \\<0.001 | worse |\n"
	  "| three\\|samples | 2.00 GB/s | 2.00 GB/s | +0.0% | 0.750 | unsure |\n"
	  "| new | missing: not in the base |  |  |  |  |\n"
	  "| broken-now-with-a-long-name | refused: error now |  |  |  |  |\n"
	  "| gone, \"so\" | missing: in the base alone |  |  |  |  |\n"
	  "\n"
	  "Not the same conditions: GnuTLS 3.8.9, was unknown\n"
	  "\n"
	  "5 rows: 1 worse, 1 unsure (too few samples to show a change), 1 refused, 2 missing; what counts is a change beyond 5 % with p below 0.05\n" },
	{ REPORT_CSV, 0,
	  "id,unit,base,now,ratio,p,verdict,reason\n"
	  "slower,bytes/s,1000000,750000,0.75,0.0005,worse,\n"
	  "three|samples,bytes/s,2000000000,2000000000,1,0.75,unsure,\n"
	  "new,bytes/s,,5,,,missing,not in the base\n"
	  "broken-now-with-a-long-name,bytes/s,5,,,,refused,error now\n"
	  "\"gone, \"\"so\"\"\",bytes/s,5,,,,missing,in the base alone\n" },
	{ REPORT_JSON, 0,
	  "{\n"
	  "\"schema\": \"tlskit/bench-kx-compare/1\",\n"
	  "\"base\": {\"tool\": null, \"started\": null, \"started_epoch_s\": null},\n"
	  "\"now\": {\"tool\": null, \"started\": null, \"started_epoch_s\": null},\n"
	  "\"threshold\": 0.050000000000000003,\n"
	  "\"other_machine\": true,\n"
	  "\"machine_note\": \"GnuTLS 3.8.9, was unknown\",\n"
	  "\"worse\": 1,\n"
	  "\"better\": 0,\n"
	  "\"refused\": 1,\n"
	  "\"changes\": [\n"
	  "{\"id\": \"slower\", \"unit\": \"bytes/s\", \"base\": 1000000, \"now\": 750000, \"ratio\": 0.75, \"p\": 0.00050000000000000001, \"verdict\": \"worse\", \"reason\": null},\n"
	  "{\"id\": \"three|samples\", \"unit\": \"bytes/s\", \"base\": 2000000000, \"now\": 2000000000, \"ratio\": 1, \"p\": 0.75, \"verdict\": \"unsure\", \"reason\": null},\n"
	  "{\"id\": \"new\", \"unit\": \"bytes/s\", \"base\": null, \"now\": 5, \"ratio\": null, \"p\": null, \"verdict\": \"missing\", \"reason\": \"not in the base\"},\n"
	  "{\"id\": \"broken-now-with-a-long-name\", \"unit\": \"bytes/s\", \"base\": 5, \"now\": null, \"ratio\": null, \"p\": null, \"verdict\": \"refused\", \"reason\": \"error now\"},\n"
	  "{\"id\": \"gone, \\\"so\\\"\", \"unit\": \"bytes/s\", \"base\": 5, \"now\": null, \"ratio\": null, \"p\": null, \"verdict\": \"missing\", \"reason\": \"in the base alone\"}\n"
	  "]\n"
	  "}\n" },
};

Test(report_compare, printed)
{
	struct doc *base = doc_new("bench-kx"), *now = doc_new("bench-kx");
	struct report_comparison c;
	struct report_style s = { 0 };
	struct err e = { 0 };

	add(base, "slower", 7, 1e6, 1);
	add(now, "slower", 7, 750e3, 1);
	add(base, "three|samples", 3, 2e9, 1);
	add(now, "three|samples", 3, 2e9, 1);
	add(base, "gone, \"so\"", 7, 5, 1);
	add(now, "new", 7, 5, 1);
	row_fail(add(now, "broken-now-with-a-long-name", 0, 0, 0), ROW_ERROR, "it broke");
	add(base, "broken-now-with-a-long-name", 7, 5, 1);
	doc_add_library(now, "GnuTLS", "3.8.9");
	c = compared(base, now, 0.05);
	c.changes[0].p = 0.0005; /* to print the same whatever computes it */
	c.changes[1].p = 0.75;
	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]); i++) {
		char *text = printed(&c, prints[i].format, prints[i].width);

		sample_same(text, prints[i].text);
		free(text);
	}
	cr_assert_eq(report_comparison_write(stdout, &c, REPORT_SVG, &s, &e), -1);
	cr_assert_eq(e.kind, ERR_CONFIG);
	report_comparison_free(&c);
	doc_free(base);
	doc_free(now);
}
