/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/report/svg_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- how it looks ------------------------------------------------------------------------------ */

/* Okabe and Ito's colours, which differ for every kind of colour vision; lighter
 * ones on the dark ground. All rules are below one class: the picture may stand
 * inside of a page. No variables, which not all programs know that show SVG. */
static const char css[] =
	".tlskit{color-scheme:light dark;font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,"
	"'Noto Sans','DejaVu Sans',sans-serif;font-size:12px;font-variant-numeric:tabular-nums}\n"
	".tlskit .ground{fill:#fff}\n"
	".tlskit .title{font-size:21px;font-weight:700;fill:#1f2328}\n"
	".tlskit .heading{font-size:15px;font-weight:600;fill:#1f2328}\n"
	".tlskit .text{fill:#1f2328}\n"
	".tlskit .cell{font-weight:600}\n"
	".tlskit .muted{fill:#59636e}\n"
	".tlskit .small{font-size:11px}\n"
	".tlskit .bad{fill:#b3261e}\n"
	".tlskit .axis{font-size:11px;fill:#59636e}\n"
	".tlskit .mark{font-size:10px;font-weight:700;fill:#a04000}\n"
	".tlskit .grid{fill:none;stroke:#e4e7eb}\n"
	".tlskit .base{fill:none;stroke:#8c959f}\n"
	".tlskit .ideal{fill:none;stroke:#8c959f;stroke-width:1.5;stroke-dasharray:1.5 4;stroke-linecap:round}\n"
	".tlskit .leader{fill:none;stroke:#b6bdc5}\n"
	".tlskit .whisker{fill:none;stroke:#1f2328;stroke-width:1.2}\n"
	".tlskit .hatch{fill:none;stroke:#fff;stroke-width:2;stroke-opacity:.6}\n"
	".tlskit .c0{fill:#0072b2;stroke:#0072b2}.tlskit .c1{fill:#e08a00;stroke:#e08a00}"
	".tlskit .c2{fill:#009e73;stroke:#009e73}.tlskit .c3{fill:#cc5f9c;stroke:#cc5f9c}\n"
	".tlskit .c4{fill:#4fb0e4;stroke:#4fb0e4}.tlskit .c5{fill:#d55e00;stroke:#d55e00}"
	".tlskit .c6{fill:#6b4fa0;stroke:#6b4fa0}.tlskit .c7{fill:#6e7781;stroke:#6e7781}\n"
	".tlskit .grey{fill:#6e7781;stroke:#6e7781}\n"
	".tlskit .bar{stroke-width:1}.tlskit .light{fill-opacity:.3}\n"
	".tlskit path.line{fill:none;stroke-width:2;stroke-linejoin:round}.tlskit .thin{stroke-opacity:.45}"
	".tlskit .dash{stroke-dasharray:5 3}\n"
	".tlskit path.dot,.tlskit circle.dot{stroke:#fff;stroke-width:1}"
	".tlskit circle.hollow{fill:#fff;stroke-width:1.8}\n"
	"@media (prefers-color-scheme:dark){\n"
	".tlskit .ground{fill:#0d1117}\n"
	".tlskit .title,.tlskit .heading,.tlskit .text{fill:#e6edf3}\n"
	".tlskit .muted,.tlskit .axis{fill:#9aa4af}\n"
	".tlskit .bad{fill:#ff8a80}\n"
	".tlskit .mark{fill:#f0b072}\n"
	".tlskit .grid{stroke:#252c35}.tlskit .base,.tlskit .ideal{stroke:#6e7681}.tlskit .leader{stroke:#484f58}\n"
	".tlskit .whisker{stroke:#e6edf3}.tlskit .hatch{stroke:#0d1117}\n"
	".tlskit .c0{fill:#3f9fdc;stroke:#3f9fdc}.tlskit .c1{fill:#f2b13c;stroke:#f2b13c}"
	".tlskit .c2{fill:#2bbd93;stroke:#2bbd93}.tlskit .c3{fill:#e391c0;stroke:#e391c0}\n"
	".tlskit .c4{fill:#9bd3f5;stroke:#9bd3f5}.tlskit .c5{fill:#f08042;stroke:#f08042}"
	".tlskit .c6{fill:#ab93dd;stroke:#ab93dd}.tlskit .c7,.tlskit .grey{fill:#9aa4af;stroke:#9aa4af}\n"
	".tlskit path.dot,.tlskit circle.dot{stroke:#0d1117}.tlskit circle.hollow{fill:#0d1117}"
	".tlskit .light{fill-opacity:.42}\n"
	"}\n";

static const char hatch[] =
	"<defs><pattern id=\"tlskit-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
	"patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M3 0V6\"/></pattern></defs>\n";

/* --- above and below the charts ------------------------------------------------------------------ */

static const char *title_of(const struct doc *d)
{
	static const struct {
		const char *command, *title;
	} titles[] = {
		{ "bench-ciphers", "Cipher benchmark" },
		{ "bench-kx", "Handshake benchmark" },
		{ "bench-tls", "TLS benchmark" },
	};

	for (size_t i = 0; i < COUNT(titles); i++) {
		if (d->command && strcmp(d->command, titles[i].command) == 0)
			return titles[i].title;
	}
	return d->command ? d->command : "Benchmark";
}

static void machine_line(struct svg *s, const struct host *h)
{
	char text[SVG_TEXT] = "", number[64];

	if (!h)
		return;
	if (h->board)
		svg_append(text, "", h->board);
	if (h->cpu)
		svg_append(text, ", ", h->cpu);
	if (h->cores_usable > 0) {
		snprintf(number, sizeof(number), "%d processor%s", h->cores_usable, h->cores_usable == 1 ? "" : "s");
		svg_append(text, ", ", number);
	}
	if (h->virtualization && strcmp(h->virtualization, "none") != 0)
		svg_append(text, ", ", h->virtualization);
	if (h->governor)
		svg_append(text, ", governor ", h->governor);
	if (h->throttled && strcmp(h->throttled, "no") != 0)
		svg_append(text, ", throttled: ", h->throttled);
	if (text[0] != '\0')
		svg_paragraph(s, "muted", SVG_FONT, false, 2, text);
}

static void software_line(struct svg *s, const struct doc *d)
{
	char text[SVG_TEXT] = "";

	for (size_t i = 0; i < d->n_libraries; i++) {
		svg_append(text, ", ", d->libraries[i].name);
		svg_append(text, " ", d->libraries[i].version);
	}
	if (d->host && d->host->os)
		svg_append(text, ", ", d->host->os);
	if (d->host && d->host->kernel)
		svg_append(text, ", ", d->host->kernel);
	if (text[0] != '\0')
		svg_paragraph(s, "muted", SVG_FONT, false, 2, text);
}

static void run_line(struct svg *s, const struct doc *d)
{
	char text[SVG_TEXT] = "", date[64] = "";
	time_t t = (time_t)(d->started_ms / 1000);
	struct tm tm;

	if (d->started_ms > 0 && gmtime_r(&t, &tm) && tm.tm_year < 8000)
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	svg_append(text, "", date);
	if (d->tool)
		svg_append(text, ", ", d->tool);
	if (d->arguments && d->arguments[0] != '\0')
		svg_append(text, ": ", d->arguments);
	if (d->interrupted)
		svg_append(text, ", ", "interrupted");
	if (text[0] != '\0')
		svg_paragraph(s, "muted", SVG_FONT, false, 2, text);
}

static void head(struct svg *s, const struct doc *d)
{
	s->y = 16;
	svg_paragraph(s, "title", 21, true, 2, title_of(d));
	s->y += 3;
	machine_line(s, d->host);
	software_line(s, d);
	run_line(s, d);
}

/* count: stands in front; 0: nothing does. */
static void note(struct svg *s, size_t count, const char *words)
{
	char text[SVG_TEXT];

	snprintf(text, sizeof(text), "%zu %s", count, words);
	s->y += 4;
	svg_paragraph(s, "muted", SVG_FONT, false, 2, count > 0 ? text : words);
}

static void foot(struct svg *s, const struct doc *d)
{
	if (d->n_advice > 0)
		s->y += 14;
	for (size_t i = 0; i < d->n_advice && i < 8; i++)
		svg_paragraph(s, "text", SVG_FONT, false, 3, d->advice[i]);
	if (s->flags)
		s->y += 14;
	svg_head_meanings(s);
	s->y += 22;
}

/* --- the panels ------------------------------------------------------------------------------------ */

static void panel(struct svg *s, const struct row *const *rows, size_t n, const struct row *first)
{
	struct svg_panel p;

	if (svg_panel_fill(&p, rows, n, first->kind, first->unit) == 0) {
		svg_bars(s, &p);
		svg_lines_sizes(s, &p);
		svg_lines_threads(s, &p);
		svg_latency(s, &p);
		if (p.hidden > 0)
			note(s, p.hidden, "rows of other sizes with more threads are not drawn.");
	} else {
		s->failed = true;
	}
	svg_panel_free(&p);
}

static size_t panels(struct svg *s, const struct doc *d)
{
	const struct row *const *rows = (const struct row *const *)d->rows;
	size_t n = d->n_rows < SVG_ROWS ? d->n_rows : SVG_ROWS, ok = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		ok += svg_panel_has_figure(rows[i]);
		while (strcmp(rows[k]->kind, rows[i]->kind) != 0 || strcmp(rows[k]->unit, rows[i]->unit) != 0)
			k++;
		if (k == i)
			panel(s, rows, n, rows[i]);
	}
	if (d->n_rows > n)
		note(s, d->n_rows - n, "more rows are not drawn.");
	return ok;
}

static void body(struct svg *s, const struct doc *d)
{
	double after;

	head(s, d);
	after = s->y;
	if (panels(s, d) == 0) {
		if (s->y == after)
			s->y += 30;
		note(s, 0, d->n_rows > 0 ? "None of the rows has a figure." : "There are no rows.");
	}
	foot(s, d);
}

static void whole(FILE *out, const struct doc *d, const char *text, double height)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tlskit\" role=\"img\" "
		"aria-labelledby=\"tlskit-title tlskit-desc\" "
		"width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n",
		SVG_WIDTH, ceil(height), SVG_WIDTH, ceil(height));
	fputs("<title id=\"tlskit-title\">", out);
	svg_escape(out, title_of(d));
	if (d->host && d->host->cpu) {
		fputs(", ", out);
		svg_escape(out, d->host->cpu);
	}
	fprintf(out, "</title>\n<desc id=\"tlskit-desc\">Charts of %zu benchmark rows", d->n_rows);
	for (size_t i = 0; i < d->n_libraries; i++) {
		fputs(i == 0 ? "; " : ", ", out);
		svg_escape(out, d->libraries[i].name);
		fputc(' ', out);
		svg_escape(out, d->libraries[i].version);
	}
	fprintf(out, "</desc>\n<style>\n%s</style>\n%s<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
		css, hatch, text);
}

int report_svg(FILE *out, const struct doc *d, const struct report_style *style, struct err *e)
{
	struct svg s = { .style = style };
	char *text = NULL;
	size_t size;
	int rc = -1;

	/* the height is known at the end only */
	s.out = open_memstream(&text, &size);
	if (s.out) {
		body(&s, d);
		s.failed |= ferror(s.out) != 0;
		s.failed |= fclose(s.out) != 0;
	}
	if (!s.out || s.failed || !text)
		err_set(e, ERR_RUNTIME, "no memory for the picture");
	else
		rc = 0;
	if (rc == 0)
		whole(out, d, text, s.y);
	free(text);
	return rc;
}
