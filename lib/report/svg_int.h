/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_SVG_INT_H
#define TLSKIT_REPORT_SVG_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/report/report_int.h"

/* A picture is panels below each other, all of one width. Each is drawn from what
 * svg_panel.c sorted out of the rows: those of one kind and unit. Lengths are in
 * pixels of the picture. */

enum {
	SVG_WIDTH = 900,
	SVG_MARGIN = 24,
	SVG_RIGHT = SVG_WIDTH - SVG_MARGIN,
	SVG_FONT = 12, /* of nearly everything */
	SVG_LINE = 15, /* from one line of text to the next */
	SVG_ROWS = 2000, /* that are drawn; nobody looks at more */
	SVG_COLOURS = 8, /* then they start over */
	SVG_TEXT = 256,
};

struct svg {
	FILE *out;
	double y; /* where the next thing goes */
	const struct report_style *style;
	bool failed; /* no memory: what follows draws nothing */
	unsigned flags; /* of the rows drawn so far */
	/* colours stand for the same in all panels */
	const char *colours[SVG_COLOURS];
	size_t n_colours;
};

/* --- svg_text.c ------------------------------------------------------------------------ */

/* As XML: <, >, &, quotes; what XML forbids, is not UTF-8 or a terminal would act
 * on becomes '?'. */
void svg_escape(FILE *out, const char *text);

/* How wide a text gets at most, in any of the fonts that it may meet. */
double svg_width(const char *text, double px, bool bold);

struct svg_lines {
	char text[4][SVG_TEXT];
	unsigned n;
};

/* Breaks a text into at most max (4) lines no wider than room, at blanks and
 * after hyphens where there are any; what is left over becomes an ellipsis.
 * Returns the widest line's width. */
double svg_wrap(struct svg_lines *out, const char *text, unsigned max, double room, double px, bool bold);

/* <text class=... x= y=>, escaped. attributes: more of them, trusted; may be "". */
void svg_put(struct svg *s, const char *class, double x, double y, const char *attributes, const char *text);
/* The same, wrapped from s->y on, at the left margin; moves s->y behind it. */
void svg_paragraph(struct svg *s, const char *class, double px, bool bold, unsigned max, const char *text);

/* Adds to a text of SVG_TEXT bytes, with between in front unless it is the first;
 * what does not fit is cut. */
void svg_append(char text[SVG_TEXT], const char *between, const char *more);

/* --- svg_axis.c -------------------------------------------------------------------------- */

enum { SVG_TICKS = 24 };

struct svg_axis {
	bool log;
	double from, to; /* of values */
	double start, end; /* of pixels */
	double ticks[SVG_TICKS];
	char labels[SVG_TICKS][32]; /* "": a line alone */
	unsigned n;
	const char *unit; /* of the labels */
};

/* From 0 to a round number above most, with a rate's labels in one unit: that of
 * the greatest rate in a row of axes. Nothing above 0 gives an axis without ticks
 * but that at 0. */
void svg_axis_rate(struct svg_axis *a, double most, double greatest, const char *unit, enum report_unit u,
	unsigned ticks);
/* From 0 to a round number above most, labels with an "x" behind. */
void svg_axis_times(struct svg_axis *a, double most);
/* Logarithmic, for nanoseconds; from a round number to another. */
void svg_axis_ns(struct svg_axis *a, double least, double most);
/* The values themselves are the ticks: sizes in bytes (logarithmic) or threads. */
void svg_axis_values(struct svg_axis *a, const double *values, size_t n, bool bytes);

double svg_axis_at(const struct svg_axis *a, double value);
/* Grid lines and labels between two pixels of the other direction. A label that
 * would touch the one before it is left out. above: labels on both sides. */
void svg_axis_x(struct svg *s, const struct svg_axis *a, double top, double bottom, bool above);
void svg_axis_y(struct svg *s, const struct svg_axis *a, double left, double right);

char *svg_bytes(double bytes, char *out, size_t size); /* "16 KiB", "1400 B" */
char *svg_ns(double ns, char *out, size_t size); /* "1.23 ms" */

/* --- svg_set.c ----------------------------------------------------------------------------- */

enum { SVG_PARAMS = 24 };

struct svg_param {
	const char *name;
	bool varies; /* among rows of one title */
	bool common; /* the same in all rows */
};

/* Rows and what tells them apart. The rows are borrowed. */
struct svg_set {
	const struct row **rows;
	size_t n;
	struct svg_param params[SVG_PARAMS];
	size_t n_params;
};

int svg_set_add(struct svg_set *s, const struct row *r); /* -1: no memory */
void svg_set_sort_out(struct svg_set *s); /* finds the params, once all rows are in */
void svg_set_free(struct svg_set *s);

/* The row's value of a param as people write it; NULL: it has none. Points into
 * the row or out. */
const char *svg_set_value(const struct row *r, const char *name, char *out, size_t size);

/* The row's title, and behind it every param that varies but those in `without`
 * (ends with NULL). */
void svg_set_label(const struct svg_set *s, const struct row *r, const char *const *without, char out[SVG_TEXT]);

/* What all rows have in common: "16 KiB, 1 thread". */
void svg_set_common(const struct svg_set *s, char out[SVG_TEXT]);

/* The different values of a numeric param, ascending, at most max. */
size_t svg_set_numbers(const struct svg_set *s, const char *name, double *out, size_t max);

/* --- svg_panel.c --------------------------------------------------------------------------- */

/* Rows of one kind and unit. */
struct svg_panel {
	const char *kind, *unit;
	struct svg_set all, bars, sizes, threads, latency; /* what each chart shows */
	const char *colour, *tint; /* params that are told by colour, by light and dark; NULL: none */
	const char *tints[2]; /* values of tint: dark, light */
	size_t hidden; /* rows in none of the charts */
};

/* Sorts the rows of that kind and unit out. -1: no memory. */
int svg_panel_fill(struct svg_panel *p, const struct row *const *rows, size_t n, const char *kind, const char *unit);
void svg_panel_free(struct svg_panel *p);

unsigned svg_panel_colour(struct svg *s, const struct svg_panel *p, const struct row *r); /* 0 to SVG_COLOURS - 1 */
bool svg_panel_light(const struct svg_panel *p, const struct row *r);
/* The label without what colour and tint say. without: one more param, or NULL. */
void svg_panel_label(const struct svg_panel *p, const struct svg_set *set, const struct row *r, const char *without,
	char out[SVG_TEXT]);
/* Whether there is a figure to draw. */
bool svg_panel_has_figure(const struct row *r);
/* What stands in its place: "error: tag mismatch". */
void svg_panel_instead(const struct row *r, char out[SVG_TEXT]);

/* --- svg_head.c ---------------------------------------------------------------------------- */

/* Heading, a line of explanation, legend of the set; moves s->y behind them.
 * bars: light ones and hatched ones need an entry. */
void svg_head(struct svg *s, const struct svg_panel *p, const struct svg_set *set, const char *what,
	const char *explanation, bool bars);

/* The letters of its flags, which s->flags then has too: "NO". */
const char *svg_head_marks(struct svg *s, const struct row *r, char out[REPORT_MARKS_SIZE]);
void svg_head_meanings(struct svg *s); /* the letters of s->flags, explained */
/* A line for each reason why rows of the set have no figure. */
void svg_head_missing(struct svg *s, const struct svg_set *set);
/* <title> of a row: all there is to say about it, for those who point at it. */
void svg_head_tip(struct svg *s, const struct row *r);

/* --- the charts: each draws its set, if there is anything in it ---------------------------- */

void svg_bars(struct svg *s, const struct svg_panel *p);
void svg_lines_sizes(struct svg *s, const struct svg_panel *p);
void svg_lines_threads(struct svg *s, const struct svg_panel *p);
void svg_latency(struct svg *s, const struct svg_panel *p);

#endif
