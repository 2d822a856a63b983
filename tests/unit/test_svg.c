/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/report_int.h"
#include "tests/unit/timeout.h"

TestSuite(svg, .timeout = TEST_TIMEOUT);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- documents ---------------------------------------------------------------------- */

static struct row *add_row(struct doc *d, const char *kind, const char *title, const char *unit, double median)
{
	char id[32];
	struct row *r;

	snprintf(id, sizeof(id), "row-%zu", d->n_rows);
	r = row_new(id, kind, title, unit);
	cr_assert_not_null(r);
	r->stats = (struct stats){ .n = 11, .median = median, .min = median * 0.97, .max = median * 1.02 };
	cr_assert_eq(doc_add_row(d, r), 0);
	return r;
}

static void sized(struct row *r, const char *engine, const char *op, double size, double threads)
{
	if (engine)
		row_param_text(r, "engine", engine);
	if (op)
		row_param_text(r, "op", op);
	if (size > 0)
		row_param_number(r, "size_bytes", size);
	if (threads > 0)
		row_param_number(r, "threads", threads);
}

/* The picture; frees the document. */
static char *draw(struct doc *d)
{
	struct report_style style = { .unit = REPORT_UNIT_AUTO };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cr_assert_not_null(f);
	cr_assert_eq(report_svg(f, d, &style, &e), 0, "%s", e.msg);
	cr_assert_eq(fclose(f), 0);
	cr_assert_eq(strlen(text), size);
	doc_free(d);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static void expect_has(const char *svg, const char *what)
{
	cr_expect(strstr(svg, what), "no \"%s\" in\n%s", what, svg);
}

static void expect_without(const char *svg, const char *what)
{
	cr_expect(!strstr(svg, what), "\"%s\" in\n%s", what, svg);
}

/* --- XML: strict, as much of it as a picture needs ------------------------------------- */

static const char *fault; /* why it is not well-formed */

static const char *reference(const char *p)
{
	static const char *const names[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&#10;" };

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strncmp(p, names[i], strlen(names[i])) == 0)
			return p + strlen(names[i]);
	}
	fault = "a bare &";
	return NULL;
}

static const char *name_end(const char *p)
{
	while (isalnum((unsigned char)*p) || *p == '-' || *p == ':')
		p++;
	return p;
}

static const char *attribute(const char *p)
{
	const char *start;

	p = name_end(p);
	if (p[0] != '=' || p[1] != '"') {
		fault = "an attribute without a quoted value";
		return NULL;
	}
	start = p += 2;
	while (p && *p != '"' && *p != '<' && *p != '\0')
		p = *p == '&' ? reference(p) : p + 1;
	if (!p || *p != '"') {
		fault = fault ? fault : "an attribute's value that does not end";
		return NULL;
	}
	for (const char *q = start; q < p; q++) {
		if (strncasecmp(q, "nan", 3) == 0 || strncasecmp(q, "inf", 3) == 0)
			fault = "a number that is none";
	}
	return fault ? NULL : p + 1;
}

/* Returns what follows the tag; NULL with fault. */
static const char *tag(const char *p, char stack[16][32], unsigned *depth)
{
	bool closing = p[1] == '/';
	const char *name = p + 1 + closing, *end = name_end(name);
	size_t n = (size_t)(end - name);

	fault = n == 0 || n >= 32 ? "a tag without a name" : NULL;
	if (!fault && closing)
		fault = *depth == 0 || strlen(stack[*depth - 1]) != n || strncmp(stack[*depth - 1], name, n) != 0 || *end != '>'
			? "an end tag that fits no start tag" : NULL;
	if (fault)
		return NULL;
	if (closing) {
		--*depth;
		return end + 1;
	}
	for (p = end; p && *p == ' ';)
		p = attribute(p + 1);
	if (!p)
		return NULL;
	if (strncmp(p, "/>", 2) == 0)
		return p + 2;
	if (*p != '>' || *depth == 16) {
		fault = "a tag that does not end, or too many in each other";
		return NULL;
	}
	snprintf(stack[(*depth)++], 32, "%.*s", (int)n, name);
	return p + 1;
}

static bool well_formed(const char *p)
{
	char stack[16][32];
	unsigned depth = 0, roots = 0;

	fault = NULL;
	while (p && *p != '\0') {
		if (*p == '<') {
			roots += depth == 0;
			p = tag(p, stack, &depth);
		} else if (*p == '&') {
			p = reference(p);
		} else if ((unsigned char)*p < 0x20 && *p != '\n') {
			fault = "a control character";
			p = NULL;
		} else {
			p++;
		}
	}
	if (p && (depth != 0 || roots != 1))
		fault = "not one whole element";
	return !fault;
}

/* The check itself must be able to fail. */
Test(svg, the_check_of_xml)
{
	static const char *const bad[] = { "", "<a>", "</a>", "<a></b>", "<a b></a>", "<a b=c></a>", "<a b=\"<\"></a>",
		"<a>&</a>", "<a>&nbsp;</a>", "<a>\x1b</a>", "<a x=\"nan\"/>", "<a x=\"-inf\"/>", "<a/><b/>", "<a b=\"&\"/>", "<" };

	cr_expect(well_formed("<a b=\"1\">x &lt;<c d=\"&amp;\"/> y</a>\n"));
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect(!well_formed(bad[i]), "%s", bad[i]);
}

/* --- where the texts are ------------------------------------------------------------------ */

struct box {
	double left, right, top, bottom;
	bool label;
	char text[512];
};

static double number(const char *tag_text, const char *name)
{
	char key[32];
	const char *end = strchr(tag_text, '>'), *p;

	snprintf(key, sizeof(key), " %s=\"", name);
	p = strstr(tag_text, key);
	return p && p < end ? strtod(p + strlen(key), NULL) : NAN;
}

/* Characters of an element's text, without tags inside of it; their copy in out. */
static size_t characters(const char *p, char *out, size_t size)
{
	size_t n = 0, used = 0;

	while (strncmp(p, "</text>", 7) != 0) {
		if (*p == '<') {
			p = strchr(p, '>') + 1;
			continue;
		}
		if (*p == '&')
			p = strchr(p, ';');
		n += ((unsigned char)*p & 0xc0) != 0x80;
		if (used + 1 < size)
			out[used++] = *p;
		p++;
	}
	out[used] = '\0';
	return n;
}

static double font_of(const char *tag_text)
{
	static const struct {
		const char *start;
		double px;
	} fonts[] = { { "<text class=\"title\"", 21 }, { "<text class=\"heading\"", 15 }, { "<text class=\"axis\"", 11 },
		{ "<text class=\"mark\"", 10 }, { "<text class=\"muted small\"", 11 } };

	for (size_t i = 0; i < COUNT(fonts); i++) {
		if (strncmp(tag_text, fonts[i].start, strlen(fonts[i].start)) == 0)
			return fonts[i].px;
	}
	return 12;
}

/* Boxes of all texts, as wide as with a common font (0.56 of its size a character). */
static size_t find_boxes(const char *svg, struct box **out)
{
	unsigned n = count(svg, "<text "), i = 0;
	struct box *boxes = calloc(n + 1, sizeof(*boxes));

	cr_assert_not_null(boxes);
	for (const char *p = svg; (p = strstr(p, "<text ")); p++, i++) {
		double px = font_of(p), x = number(p, "x"), y = number(p, "y");
		const char *end = strchr(p, '>');
		const char *anchor = strstr(p, "text-anchor=\"");
		double width = (double)characters(end + 1, boxes[i].text, sizeof(boxes[i].text)) * px * 0.56;

		boxes[i].label = strncmp(p, "<text class=\"text label\"", 24) == 0;
		anchor = anchor && anchor < end ? anchor + 13 : "start";
		boxes[i].left = strncmp(anchor, "end", 3) == 0 ? x - width : strncmp(anchor, "middle", 6) == 0 ? x - width / 2 : x;
		boxes[i].right = boxes[i].left + width;
		boxes[i].top = y - 0.75 * px;
		boxes[i].bottom = y + 0.2 * px;
	}
	*out = boxes;
	return n;
}

static double first_bar(const char *svg)
{
	double least = INFINITY;

	for (const char *p = svg; (p = strstr(p, "<rect class=\"bar")); p++) {
		if (!isnan(number(p, "data-row")))
			least = fmin(least, number(p, "x"));
	}
	return least;
}

static unsigned overlaps(const char *svg, bool tell)
{
	double wide = number(strstr(svg, "<svg "), "width"), tall = number(strstr(svg, "<svg "), "height");
	struct box *b;
	size_t n = find_boxes(svg, &b);
	unsigned faults = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(b[i].left >= 0 && b[i].right <= wide && b[i].top >= 0 && b[i].bottom <= tall)) {
			faults++;
			cr_expect(!tell, "outside of the picture: \"%s\"", b[i].text);
		}
		for (size_t k = 0; k < i; k++) {
			if (b[i].left < b[k].right && b[k].left < b[i].right && b[i].top < b[k].bottom && b[k].top < b[i].bottom) {
				faults++;
				cr_expect(!tell, "\"%s\" lies over \"%s\"", b[i].text, b[k].text);
			}
		}
	}
	free(b);
	return faults;
}

Test(svg, the_check_of_overlaps)
{
	const char *head = "<svg width=\"100\" height=\"100\">";
	const char *first = "<text class=\"text\" x=\"1\" y=\"20\"", *second = "<text class=\"text\" x=\"40\" y=\"20\"";
	char svg[512];

	snprintf(svg, sizeof(svg), "%s%s>abc</text>%s>abc</text>", head, first, second);
	cr_expect_eq(overlaps(svg, false), 0u);
	snprintf(svg, sizeof(svg), "%s%s>abcdefgh</text>%s>a</text>", head, first, second);
	cr_expect_eq(overlaps(svg, false), 1u);
	snprintf(svg, sizeof(svg), "%s<text class=\"text\" x=\"9\" y=\"20\" text-anchor=\"end\">abcdefgh</text>", head);
	cr_expect_eq(overlaps(svg, false), 1u);
}

/* What holds for every picture. */
static void check(const char *svg)
{
	cr_expect(well_formed(svg), "%s in\n%s", fault, svg);
	cr_expect_eq(overlaps(svg, true), 0u);
	expect_without(svg, "<script");
	expect_without(svg, "href");
	expect_without(svg, "@import");
	cr_expect_eq(count(svg, "http"), 1u, "the name space alone");
	expect_has(svg, "role=\"img\"");
	expect_has(svg, "<desc id=");
	expect_has(svg, "prefers-color-scheme:dark");
}

/* --- bars ----------------------------------------------------------------------------------- */

Test(svg, nothing_to_draw)
{
	struct doc *d = doc_new("bench-ciphers");
	char *svg = draw(d);

	check(svg);
	expect_has(svg, "There are no rows.");
	free(svg);
	d = doc_new("bench-ciphers");
	cr_assert_eq(row_fail(add_row(d, "aead", "AES-128-CCM", "bytes/s", 0), ROW_ERROR, "tag <mismatch>"), 0);
	svg = draw(d);
	check(svg);
	expect_has(svg, "None of the rows has a figure.");
	expect_has(svg, "error: tag &lt;mismatch&gt;");
	free(svg);
}

static double bar_width(const char *svg, unsigned i)
{
	char key[32];
	const char *p = svg;

	snprintf(key, sizeof(key), "data-row=\"%u\"", i);
	while ((p = strstr(p, "<rect "))) {
		const char *found = strstr(p, key);

		if (found && found < strchr(p, '>'))
			return number(p, "width");
		p++;
	}
	return NAN;
}

Test(svg, bars_are_as_long_as_their_medians)
{
	static const double medians[] = { 5e9, 2.5e9, 1e9, 5e8 };
	struct doc *d = doc_new("bench-ciphers");
	char *svg;

	for (unsigned i = 0; i < 4; i++) {
		char title[16];

		snprintf(title, sizeof(title), "cipher %u", i);
		add_row(d, "aead", title, "bytes/s", medians[i]);
	}
	svg = draw(d);
	check(svg);
	for (unsigned i = 0; i < 4; i++) {
		double want = bar_width(svg, 0) * medians[i] / medians[0];

		cr_expect(fabs(bar_width(svg, i) - want) < 0.11, "%u: %g, not %g", i, bar_width(svg, i), want);
	}
	cr_expect_eq(count(svg, "<path class=\"whisker\""), 4u);
	free(svg);
}

static const char *const engines[] = { "gnutls", "nettle", "sodium" };

/* A row of each engine and operation, a line of the legend each, and no row is lost. */
Test(svg, engines_beside_each_other)
{
	struct doc *d = doc_new("bench-ciphers");
	const char *first, *second;
	char *svg;

	for (unsigned i = 0; i < 40; i++) {
		char title[32];

		snprintf(title, sizeof(title), "ALGORITHM-%u", i);
		for (unsigned k = 0; k < 6; k++) {
			struct row *r = add_row(d, i < 20 ? "aead" : "hash", title, "bytes/s", 1e9 + i * 1e7 + k * 1e6);

			sized(r, engines[k % 3], k < 3 ? "encrypt" : "decrypt", 16384, 1);
			if (k == 5)
				cr_assert_eq(row_fail(r, ROW_UNAVAILABLE, "not there"), 0);
		}
	}
	svg = draw(d);
	check(svg);
	cr_expect_eq(count(svg, "<title>"), 240u);
	cr_expect_eq(count(svg, "\">sodium, decrypt: unavailable: not there<"), 40u);
	cr_expect_eq(count(svg, " label\""), 40u, "a label for each algorithm");
	for (size_t i = 0; i < COUNT(engines); i++) {
		char entry[32];

		snprintf(entry, sizeof(entry), ">%s</text>", engines[i]);
		cr_expect_eq(count(svg, entry), 2u, "one entry in the legend of each panel");
	}
	first = strstr(svg, ">AEAD ciphers: throughput<");
	second = strstr(svg, ">Hashes: throughput<");
	cr_expect(first && second && first < second);
	expect_has(svg, "class=\"bar c1 light\"");
	free(svg);
}

#define JAPANESE "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"

Test(svg, long_names)
{
	static const char *const names[] = {
		"TLS 1.3 TLS_CHACHA20_POLY1305_SHA256 X25519MLKEM768 RSA-PSS!",
		"TLS1.2-ECDHE-ECDSA-WITH-CAMELLIA-256-GCM-SHA384-SECP521R1-XY",
		"averyveryveryverylongnamewithoutanyplacetobreakitforsixtychr",
		"WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
		"<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'<&\"'",
		(JAPANESE JAPANESE JAPANESE JAPANESE JAPANESE),
		"x",
	};
	struct doc *d = doc_new("bench-tls");
	char *svg, name[1024];
	struct box *b;
	size_t n;

	for (size_t i = 0; i < COUNT(names); i++)
		add_row(d, "tunnel", names[i], "bytes/s", 1e9);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	add_row(d, "tunnel", name, "bytes/s", 1e9);
	svg = draw(d);
	check(svg);
	n = find_boxes(svg, &b);
	for (size_t i = 0; i < n; i++) {
		if (b[i].label)
			cr_expect(b[i].left >= 0 && b[i].right < first_bar(svg), "%s", b[i].text);
	}
	expect_has(svg, ">TLS 1.3 TLS_CHACHA20_POLY1305_SHA256<");
	expect_has(svg, ">X25519MLKEM768 RSA-PSS!<");
	expect_has(svg, "nnn\xe2\x80\xa6<"); /* what is too long for all lines ends so */
	free(b);
	free(svg);
}

Test(svg, names_are_escaped)
{
	struct doc *d = doc_new("bench-<&\">");
	struct row *r = add_row(d, "<k>&\"", "<b>&amp;\"'\x1b[2J\xff\xe2\x80\xae", "<u>/s", 5);
	char *svg;

	sized(r, "<e>", "<o>", 0, 0);
	sized(add_row(d, "<k>&\"", "<b>&amp;\"'\x1b[2J\xff\xe2\x80\xae", "<u>/s", 5), "&e", "\"o", 0, 0);
	doc_add_library(d, "<l>", "&1");
	doc_add_advice(d, "<advice> & \"more\"");
	doc_set(&d->tool, "<tool>");
	doc_set(&d->arguments, "<arguments> --x='&'");
	cr_assert_not_null(d->host = calloc(1, sizeof(*d->host)));
	doc_set(&d->host->cpu, "<cpu>\n&");
	svg = draw(d);
	check(svg);
	expect_has(svg, "&lt;b&gt;&amp;amp;&quot;&#39;?[2J??");
	expect_has(svg, "&lt;advice&gt; &amp; &quot;more&quot;");
	expect_has(svg, "&lt;cpu&gt; &amp;");
	free(svg);
}

Test(svg, flags)
{
	struct doc *d = doc_new("bench-ciphers");
	char *svg;

	add_row(d, "aead", "calm", "bytes/s", 1e9);
	add_row(d, "aead", "noisy", "bytes/s", 1e9)->flags = ROW_NOISY | ROW_STEAL;
	svg = draw(d);
	check(svg);
	cr_expect_eq(count(svg, "fill=\"url(#tlskit-hatch)\""), 2u, "the bar and the legend");
	expect_has(svg, "<tspan class=\"mark\">NS</tspan>");
	expect_has(svg, ">the hypervisor took time away meanwhile<");
	expect_without(svg, "throttled");
	free(svg);
}

/* --- lines ------------------------------------------------------------------------------------- */

static char *draw_sizes(const double *sizes, size_t n_sizes, unsigned titles, unsigned n_engines)
{
	struct doc *d = doc_new("bench-ciphers");

	for (unsigned t = 0; t < titles; t++) {
		char title[32];

		snprintf(title, sizeof(title), "TITLE-%u", t);
		for (unsigned k = 0; k < n_engines * n_sizes; k++)
			sized(add_row(d, "aead", title, "bytes/s", 1e9 * (t + 1) * sizes[k % n_sizes] / (sizes[k % n_sizes] + 900)),
				engines[k / n_sizes], "encrypt", sizes[k % n_sizes], 1);
	}
	return draw(d);
}

Test(svg, throughput_over_payload)
{
	static const double sizes[] = { 64, 1400, 16384, 65536 };
	char *svg = draw_sizes(sizes, 4, 3, 1);

	/* bars at 16 KiB, one plot with all lines */
	check(svg);
	expect_has(svg, ">AEAD ciphers: throughput over payload<");
	expect_has(svg, ">gnutls, encrypt, 16 KiB, 1 thread. ");
	cr_expect_eq(count(svg, "<rect class=\"bar"), 3u);
	cr_expect_eq(count(svg, "<circle "), 12u);
	cr_expect_eq(count(svg, "<path class=\"line"), 3u);
	free(svg);
	/* two sizes are bars */
	svg = draw_sizes(sizes + 1, 2, 3, 1);
	check(svg);
	expect_without(svg, "over payload");
	expect_has(svg, ">TITLE-0, 1400 B<");
	expect_has(svg, ">TITLE-0, 16 KiB<");
	cr_expect_eq(count(svg, "data-row=\"5\"/>") + count(svg, "<rect class=\"bar"), 6u);
	free(svg);
	/* many names: a plot each */
	svg = draw_sizes(sizes, 4, 7, 3);
	check(svg);
	cr_expect_eq(count(svg, "class=\"text cell\""), 7u);
	cr_expect_eq(count(svg, "<path class=\"line"), 21u);
	free(svg);
}

Test(svg, payload_without_a_figure)
{
	struct doc *d = doc_new("bench-ciphers");
	char *svg;

	for (unsigned i = 0; i < 4; i++) {
		struct row *r = add_row(d, "aead", "AES-128-CCM", "bytes/s", 1e9);

		sized(r, NULL, NULL, 1024 << i, 0);
		if (i < 2)
			cr_assert_eq(row_fail(r, ROW_ERROR, "tag mismatch"), 0);
	}
	svg = draw(d);
	check(svg);
	expect_has(svg, ">AES-128-CCM, 1 KiB and 1 more: error: tag mismatch<");
	cr_expect_eq(count(svg, "<circle "), 2u);
	free(svg);
}

Test(svg, scaling_over_threads)
{
	struct doc *d = doc_new("bench-kx");
	char *svg;

	for (unsigned t = 1; t <= 8; t *= 2) {
		sized(add_row(d, "handshake", "X25519 / Ed25519", "operations/s", 7000.0 * t), NULL, NULL, 0, t);
		sized(add_row(d, "handshake", "FFDHE3072 / RSA-PSS", "operations/s", 300 * sqrt(t)), NULL, NULL, 0, t);
	}
	svg = draw(d);
	check(svg);
	expect_has(svg, ">Handshakes: scaling over threads<");
	expect_has(svg, "8\xc3\x97, "); /* eight times as fast with eight threads */
	expect_has(svg, "2.83\xc3\x97, ");
	cr_expect_eq(count(svg, "<rect class=\"bar"), 2u, "bars with one thread alone");
	cr_expect_eq(count(svg, "<circle "), 8u);
	free(svg);
}

/* Sizes and threads at once: what neither bars nor lines show is told of. */
Test(svg, rows_that_are_not_drawn)
{
	struct doc *d = doc_new("bench-ciphers");
	char *svg;

	for (unsigned t = 1; t <= 4; t *= 2) {
		for (unsigned s = 1024; s <= 16384; s *= 4)
			sized(add_row(d, "aead", "AES", "bytes/s", 1e9 * t), NULL, NULL, s, t);
	}
	svg = draw(d);
	check(svg);
	cr_expect_eq(count(svg, "<circle "), 6u);
	expect_has(svg, ">4 rows of other sizes with more threads are not drawn.<");
	free(svg);
}

Test(svg, latency)
{
	struct doc *d = doc_new("bench-tls");
	char *svg;

	for (unsigned i = 0; i < 3; i++) {
		char title[32];
		struct row *r;

		snprintf(title, sizeof(title), "echo %u B", 64 << i);
		r = add_row(d, "echo", title, "operations/s", 20000);
		cr_assert_not_null(r->latency = calloc(1, sizeof(*r->latency)));
		*r->latency = (struct row_latency){ 1000, 5000, 20000, 30000, 48000, 130000, 4800000, 21000 };
	}
	svg = draw(d);
	check(svg);
	expect_has(svg, ">Echo round trips: latency<");
	cr_expect_eq(count(svg, ">20 \xc2\xb5s</text>"), 4u, "p50 of each row, and a tick");
	cr_expect_eq(count(svg, ">4.8 ms</text>"), 3u);
	cr_expect_eq(count(svg, "<path class=\"dot"), 20u, "five a row, and their key");
	free(svg);
}

/* --- whatever comes ------------------------------------------------------------------------------- */

Test(svg, numbers_from_anywhere)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -1, 0, 1e-300, 1e300, 1e17, 3 };
	struct doc *d = doc_new("bench-tls");
	char *svg;

	d->started_ms = INT64_MAX;
	for (size_t i = 0; i < COUNT(odd) * COUNT(odd); i++) {
		double a = odd[i % COUNT(odd)], b = odd[i / COUNT(odd)];
		struct row *r = add_row(d, "mem", i % 2 ? "one" : "two", i % 3 ? "bytes/s" : "operations/s", 1);

		r->stats = (struct stats){ .n = 3, .median = a, .min = b, .max = a };
		r->flags = ~0u;
		row_param_number(r, "size_bytes", b);
		row_param_number(r, "threads", a);
		row_param_number(r, "other", a);
		cr_assert_not_null(r->latency = calloc(1, sizeof(*r->latency)));
		*r->latency = (struct row_latency){ .p50 = i, .p90 = UINT64_MAX, .p99 = 0, .p999 = i << 20, .max = i % 4, .mean = a };
	}
	svg = draw(d);
	check(svg);
	free(svg);
}

Test(svg, more_rows_than_anybody_reads)
{
	struct doc *d = doc_new("bench-ciphers");
	char *svg;

	for (unsigned i = 0; i < 5000; i++) {
		char title[32];

		snprintf(title, sizeof(title), "TITLE-%u", i / 2);
		sized(add_row(d, "aead", title, "bytes/s", 1e9 + i), engines[i % 2], NULL, 0, 0);
	}
	svg = draw(d);
	cr_expect(well_formed(svg), "%s", fault);
	cr_expect_eq(count(svg, " label\""), 1000u);
	expect_has(svg, ">3000 more rows are not drawn.<");
	free(svg);
}

Test(svg, the_same_again)
{
	static const double sizes[] = { 64, 1400, 16384, 65536 };
	char *a = draw_sizes(sizes, 4, 5, 3), *b = draw_sizes(sizes, 4, 5, 3);

	cr_expect_str_eq(a, b);
	free(a);
	free(b);
}
