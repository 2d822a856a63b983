/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"
#include "tests/fuzz/fuzz.h"

/* A document of bench-kx as JSON. What is read writes in every format, and its
 * JSON reads back as the same. */

/* Checks that a terminal shows the text as it is: UTF-8 without controls. */
static void check_plain(const char *text, size_t left, bool lines)
{
	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(text, left, &cp);

		MUST(n > 0 && (!utf8_is_control(cp) || (lines && cp == '\n')));
		text += n;
		left -= n;
	}
}

static char *written(const struct doc *d, enum report_format f, int width, size_t *size)
{
	struct report_style s = { .width = width };
	struct err e = { 0 };
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	MUST(out != NULL && report_write(out, d, f, &s, &e) == 0);
	fclose(out);
	return text;
}

static void check_again(const struct doc *d)
{
	size_t size, again_size;
	char *text = written(d, REPORT_JSON, 0, &size), *again;
	struct err e = { 0 };
	struct doc *copy = report_parse("again", text, size, "bench-kx", &e);

	MUST(copy != NULL);
	again = written(copy, REPORT_JSON, 0, &again_size);
	MUST(size == again_size && memcmp(text, again, size) == 0);
	doc_free(copy);
	free(again);
	free(text);
}

static void check_pages(const struct doc *d)
{
	static const struct {
		enum report_format format;
		int width;
		bool plain;
	} pages[] = { { REPORT_TEXT, 0, true }, { REPORT_TEXT, 40, true }, { REPORT_MARKDOWN, 0, true },
		{ REPORT_CSV, 0, false } };

	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		size_t size;
		char *text = written(d, pages[i].format, pages[i].width, &size);

		MUST(strlen(text) == size);
		if (pages[i].plain)
			check_plain(text, size, true);
		free(text);
	}
}

/* A run compared with itself is never better or worse. */
static void check_comparison(const struct doc *d)
{
	struct report_comparison c;
	struct report_style s = { .width = 80 };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	MUST(report_compare(d, d, 0, &c, &e) == 0);
	MUST(c.n == d->n_rows && c.worse == 0 && c.better == 0 && !c.other_machine);
	for (int f = REPORT_TEXT; f <= REPORT_MARKDOWN; f++)
		MUST(report_comparison_write(out, &c, (enum report_format)f, &s, &e) == 0);
	fclose(out);
	free(text);
	report_comparison_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	struct doc *d = report_parse("file", (const char *)data, size, "bench-kx", &e);

	if (d) {
		check_again(d);
		check_pages(d);
		check_comparison(d);
	} else {
		MUST(e.kind == ERR_CONFIG && e.msg[0] != '\0');
		check_plain(e.msg, strlen(e.msg), false);
	}
	doc_free(d);
	return 0;
}
