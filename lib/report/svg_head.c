/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <string.h>

#include "lib/report/svg_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- what stands above a chart ---------------------------------------------------------------- */

static const struct {
	const char *kind, *title;
} kinds[] = {
	{ "aead", "AEAD ciphers" },
	{ "record", "TLS records" },
	{ "pair", "Cipher and MAC pairs" },
	{ "mac", "MACs" },
	{ "hash", "Hashes" },
	{ "cipher", "Raw ciphers" },
	{ "handshake", "Handshakes" },
	{ "mem", "Records in memory" },
	{ "tunnel", "Tunnel" },
	{ "echo", "Echo round trips" },
	{ "hold", "Idle connections" },
	{ "churn", "Connections opened and closed" },
	{ "budget", "Where the time goes" },
};

static const char *kind_title(const char *kind)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].title;
	}
	return kind[0] != '\0' ? kind : "Rows";
}

/* One entry at *x, or at the start of the next line. */
static void entry(struct svg *s, double *x, const char *class, const char *text)
{
	struct svg_lines line;
	double width = svg_wrap(&line, text, 1, 300, SVG_FONT, false);

	if (*x > SVG_MARGIN && *x + 18 + width > SVG_RIGHT) {
		*x = SVG_MARGIN;
		s->y += 18;
	}
	fprintf(s->out, "<rect class=\"bar %s\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"/>\n", class, *x,
		s->y - 10);
	if (strstr(class, "noisy"))
		fprintf(s->out, "<rect fill=\"url(#tlskit-hatch)\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\"/>\n", *x,
			s->y - 10);
	svg_put(s, "text", *x + 17, s->y, "", line.text[0]);
	*x += 17 + width + 20;
}

static void legend(struct svg *s, const struct svg_panel *p, const struct svg_set *set, bool bars)
{
	bool used[SVG_COLOURS] = { false }, noisy = false, light = false;
	double x = SVG_MARGIN;
	char class[24];

	for (size_t i = 0; i < set->n; i++) {
		used[svg_panel_colour(s, p, set->rows[i])] = true;
		noisy |= svg_panel_has_figure(set->rows[i]) && (set->rows[i]->flags & ROW_NOISY);
		light |= svg_panel_light(p, set->rows[i]);
	}
	noisy &= bars;
	light &= bars;
	if (!p->colour && !light && !noisy)
		return;
	s->y += 22;
	for (size_t i = 0; p->colour && i < s->n_colours; i++) {
		snprintf(class, sizeof(class), "c%u", (unsigned)(i % SVG_COLOURS)); /* one digit or two */
		if (used[i])
			entry(s, &x, class, s->colours[i]);
	}
	snprintf(class, sizeof(class), p->colour ? "grey" : "c0");
	if (light) {
		entry(s, &x, class, p->tints[0]);
		entry(s, &x, p->colour ? "grey light" : "c0 light", p->tints[1]);
	}
	if (noisy)
		entry(s, &x, p->colour ? "grey noisy" : "c0 noisy", "noisy");
	s->y += 4;
}

void svg_head(struct svg *s, const struct svg_panel *p, const struct svg_set *set, const char *what,
	const char *explanation, bool bars)
{
	char text[SVG_TEXT] = "", common[SVG_TEXT];

	s->y += 26;
	svg_append(text, "", kind_title(p->kind));
	svg_append(text, ": ", what);
	svg_paragraph(s, "heading", 15, true, 2, text);
	svg_set_common(set, common);
	text[0] = '\0';
	if (common[0] != '\0') {
		svg_append(text, "", common);
		svg_append(text, "", ". ");
	}
	svg_append(text, "", explanation);
	svg_paragraph(s, "muted", SVG_FONT, false, 3, text);
	legend(s, p, set, bars);
}

/* --- flags -------------------------------------------------------------------------------------- */

const char *svg_head_marks(struct svg *s, const struct row *r, char out[REPORT_MARKS_SIZE])
{
	s->flags |= r->flags;
	return report_marks(r->flags, out);
}

/* One line under the picture for each flag that is in it. */
void svg_head_meanings(struct svg *s)
{
	char letter[REPORT_MARKS_SIZE];

	for (unsigned flag = 1; flag != 0 && flag <= s->flags; flag <<= 1) {
		if (!(s->flags & flag) || report_mark_meaning(flag) == NULL)
			continue;
		s->y += SVG_LINE;
		svg_put(s, "mark", SVG_MARGIN, s->y, "", report_marks(flag, letter));
		svg_put(s, "muted small", SVG_MARGIN + 14, s->y, "", report_mark_meaning(flag));
	}
}

/* "AES-128-CCM, 64 B and 3 more: error: ...", for this row's reason. */
static void missing(struct svg *s, const struct svg_set *set, const struct row *first, const char *why)
{
	char text[SVG_TEXT], other[SVG_TEXT], more[32];
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++) {
		svg_panel_instead(set->rows[i], other);
		n += !svg_panel_has_figure(set->rows[i]) && strcmp(other, why) == 0;
	}
	svg_set_label(set, first, (const char *const[]){ NULL }, text);
	if (n > 1) {
		snprintf(more, sizeof(more), "and %zu more", n - 1);
		svg_append(text, " ", more);
	}
	svg_append(text, ": ", why);
	svg_paragraph(s, first->status == ROW_ERROR ? "bad" : "muted", SVG_FONT, false, 2, text);
}

void svg_head_missing(struct svg *s, const struct svg_set *set)
{
	enum { MOST = 8 };
	char reasons[MOST][SVG_TEXT];
	size_t n = 0;

	for (size_t i = 0; i < set->n && n < MOST; i++) {
		size_t k = 0;

		if (svg_panel_has_figure(set->rows[i]))
			continue;
		svg_panel_instead(set->rows[i], reasons[n]);
		while (strcmp(reasons[k], reasons[n]) != 0)
			k++;
		if (k == n)
			missing(s, set, set->rows[i], reasons[n++]);
	}
}

/* --- for those who point at it -------------------------------------------------------------------- */

static void tip_line(struct svg *s, const char *name, const char *value)
{
	fputs("&#10;", s->out);
	svg_escape(s->out, name);
	fputs(": ", s->out);
	svg_escape(s->out, value);
}

void svg_head_tip(struct svg *s, const struct row *r)
{
	const struct stats *t = &r->stats;
	char text[SVG_TEXT];

	fputs("<title>", s->out);
	svg_escape(s->out, r->title);
	for (size_t i = 0; i < r->n_params && i < SVG_PARAMS; i++) {
		const char *v = svg_set_value(r, r->params[i].name, text, sizeof(text));

		if (v)
			tip_line(s, r->params[i].name, v);
	}
	if (!svg_panel_has_figure(r)) {
		svg_panel_instead(r, text);
		tip_line(s, "status", text);
	} else {
		tip_line(s, "median", report_rate(t->median, r->unit, s->style->unit, text, sizeof(text)));
		tip_line(s, "min", report_rate(t->min, r->unit, s->style->unit, text, sizeof(text)));
		tip_line(s, "max", report_rate(t->max, r->unit, s->style->unit, text, sizeof(text)));
		snprintf(text, sizeof(text), "%zu", t->n);
		tip_line(s, "samples", text);
	}
	for (unsigned flag = 1; flag != 0 && flag <= r->flags; flag <<= 1) {
		if (r->flags & flag && row_flag_name(flag) != NULL)
			tip_line(s, "flag", row_flag_name(flag));
	}
	fputs("</title>\n", s->out);
}
