/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <string.h>

#include "lib/report/svg_int.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct step {
	double divisor;
	const char *name;
};

static const struct step byte_steps[] = { { 1, "B/s" }, { 1e3, "kB/s" }, { 1e6, "MB/s" }, { 1e9, "GB/s" },
	{ 1e12, "TB/s" } };
static const struct step fixed_steps[] = { [REPORT_UNIT_MB] = { 1e6, "MB/s" }, [REPORT_UNIT_MIB] = { 1048576, "MiB/s" },
	[REPORT_UNIT_GBIT] = { 1.25e8, "Gbit/s" } };
static const struct step count_steps[] = { { 1, "/s" }, { 1e3, "k/s" }, { 1e6, "M/s" }, { 1e9, "G/s" } };
static const struct step time_steps[] = { { 1, "ns" }, { 1e3, "\xc2\xb5s" }, { 1e6, "ms" }, { 1e9, "s" } };

static const struct step *choose(const struct step *steps, size_t n, double most)
{
	size_t i = 0;

	while (i + 1 < n && most >= steps[i + 1].divisor)
		i++;
	return &steps[i];
}

/* --- ticks ------------------------------------------------------------------------------- */

/* 1, 2, 2.5 or 5 times a power of ten, so that about so many fit below most. */
static double round_step(double most, unsigned ticks)
{
	static const double nice[] = { 1, 2, 2.5, 5, 10 };
	double step = most / ticks, power = pow(10, floor(log10(step)));
	size_t i = 0;

	while (i + 1 < COUNT(nice) && nice[i] * power < step * 0.999)
		i++;
	return nice[i] * power;
}

static void linear(struct svg_axis *a, double most, double divisor, unsigned ticks, const char *behind)
{
	double step;

	*a = (struct svg_axis){ .n = 1, .to = divisor };
	snprintf(a->labels[0], sizeof(a->labels[0]), "0%s", behind);
	if (!(most > 0))
		return;
	step = round_step(most / divisor, ticks);
	for (a->n = 0; a->n < SVG_TICKS; a->n++) {
		double v = step * a->n;

		a->ticks[a->n] = v * divisor;
		snprintf(a->labels[a->n], sizeof(a->labels[0]), "%.6g%s", v, behind);
		if (v * divisor >= most * 0.999)
			break;
	}
	if (a->n == SVG_TICKS)
		a->n--;
	a->to = a->ticks[a->n++];
}

void svg_axis_rate(struct svg_axis *a, double most, double greatest, const char *unit, enum report_unit u,
	unsigned ticks)
{
	const struct step *s;

	if (strcmp(unit, "bytes/s") != 0)
		s = choose(count_steps, COUNT(count_steps), greatest);
	else if (u != REPORT_UNIT_AUTO && (size_t)u < COUNT(fixed_steps))
		s = &fixed_steps[u];
	else
		s = choose(byte_steps, COUNT(byte_steps), greatest);
	linear(a, most, s->divisor, ticks, "");
	a->unit = s->name;
}

void svg_axis_times(struct svg_axis *a, double most)
{
	linear(a, most, 1, 5, "\xc3\x97");
	a->unit = "";
}

void svg_axis_ns(struct svg_axis *a, double least, double most)
{
	static const double parts[] = { 1, 2, 5 };
	bool dense;

	*a = (struct svg_axis){ .log = true, .unit = "" };
	if (!(least >= 1))
		least = 1;
	if (!(most > least))
		most = least * 10;
	dense = most / least < 2000;
	for (int decade = (int)floor(log10(least)); a->n < SVG_TICKS; decade++) {
		for (size_t i = 0; i < COUNT(parts) && a->n < SVG_TICKS; i++) {
			double v = parts[i] * pow(10, decade);

			if (i > 0 && !dense)
				continue;
			/* the last that is not above the least is where it starts */
			if (v <= least)
				a->n = 0;
			a->ticks[a->n] = v;
			svg_ns(v, a->labels[a->n], sizeof(a->labels[0]));
			a->n++;
			if (v >= most)
				goto end;
		}
	}
end:
	a->from = a->ticks[0];
	a->to = a->ticks[a->n - 1];
}

void svg_axis_values(struct svg_axis *a, const double *values, size_t n, bool bytes)
{
	*a = (struct svg_axis){ .log = bytes, .unit = "", .n = n < SVG_TICKS ? (unsigned)n : SVG_TICKS };
	for (unsigned i = 0; i < a->n; i++) {
		/* of too many, some */
		double v = values[n <= SVG_TICKS ? i : i * (n - 1) / (SVG_TICKS - 1)];

		a->ticks[i] = v;
		if (bytes)
			svg_bytes(v, a->labels[i], sizeof(a->labels[0]));
		else
			snprintf(a->labels[i], sizeof(a->labels[0]), "%.6g", v);
	}
	a->from = bytes ? values[0] : 0;
	a->to = values[n - 1];
}

double svg_axis_at(const struct svg_axis *a, double value)
{
	double span, part;

	if (a->log) {
		span = log(a->to) - log(a->from);
		part = value > a->from && span > 0 ? (log(value) - log(a->from)) / span : 0;
	} else {
		span = a->to - a->from;
		part = span > 0 ? (value - a->from) / span : 0;
	}
	part = part > 1 ? 1 : part > 0 ? part : 0;
	return a->start + part * (a->end - a->start);
}

/* --- drawing -------------------------------------------------------------------------------- */

static void label_x(struct svg *s, const struct svg_axis *a, double y)
{
	double free_from = -1;

	/* without figures there is nothing to measure */
	for (unsigned i = 0; i < a->n && a->n > 1; i++) {
		double x = svg_axis_at(a, a->ticks[i]), half = svg_width(a->labels[i], 11, false) / 2;
		char text[64];

		if (a->labels[i][0] == '\0' || x - half < free_from)
			continue;
		/* the unit stands once, behind the last */
		if (i + 1 == a->n && a->unit[0] != '\0') {
			snprintf(text, sizeof(text), "%s %s", a->labels[i], a->unit);
			svg_put(s, "axis", x - half, y, "", text);
		} else {
			svg_put(s, "axis", x, y, "text-anchor=\"middle\"", a->labels[i]);
		}
		free_from = x + half + 6;
	}
}

void svg_axis_x(struct svg *s, const struct svg_axis *a, double top, double bottom, bool above)
{
	for (unsigned i = 0; i < a->n; i++) {
		double x = svg_axis_at(a, a->ticks[i]);

		fprintf(s->out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", x == a->start ? "base" : "grid", x, top, bottom);
	}
	if (above)
		label_x(s, a, top - 5);
	label_x(s, a, bottom + 16);
}

void svg_axis_y(struct svg *s, const struct svg_axis *a, double left, double right)
{
	for (unsigned i = 0; i < a->n; i++) {
		double y = svg_axis_at(a, a->ticks[i]);

		fprintf(s->out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n", i == 0 ? "base" : "grid", left, y, right);
		svg_put(s, "axis", left - 6, y + 4, "text-anchor=\"end\"", a->labels[i]);
	}
	if (a->unit[0] != '\0')
		svg_put(s, "axis", left, a->end - 7, "", a->unit);
}

/* --- numbers ----------------------------------------------------------------------------------- */

char *svg_bytes(double bytes, char *out, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	size_t i = 0;

	/* exact ones alone: 1400 B */
	while (i + 1 < COUNT(units) && bytes >= 1024 && fmod(bytes, 1024) == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, size, "%.10g %s", bytes, units[i]);
	return out;
}

char *svg_ns(double ns, char *out, size_t size)
{
	const struct step *s = choose(time_steps, COUNT(time_steps), ns * 1.0005);
	double v = ns / s->divisor;

	snprintf(out, size, v < 999.5 ? "%.3g %s" : "%.0f %s", v, s->name);
	return out;
}
