/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/report/report_int.h"

/* What a document says about itself, for people. */

/* --- marks --------------------------------------------------------------------------- */

static const struct {
	unsigned flag;
	char letter;
	const char *meaning;
} marks[] = {
	{ ROW_NOISY, 'N', "noisy: the deviation is above 2 % of the median" },
	{ ROW_OFF_CPU, 'C', "had the processor for less than 98 % of the time" },
	{ ROW_STEAL, 'S', "the hypervisor took time away meanwhile" },
	{ ROW_FREQUENCY, 'F', "the clock frequency moved meanwhile" },
	{ ROW_THROTTLED, 'T', "the processor was throttled meanwhile" },
	{ ROW_OUTLIERS, 'O', "has outliers: samples beyond three deviations" },
	{ ROW_OVERCOMMITTED, 'X', "more threads than processors" },
	{ ROW_FEW, 'I', "fewer samples than asked for: interrupted, or the time was up" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

char *report_marks(unsigned flags, char out[REPORT_MARKS_SIZE])
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT(marks); i++) {
		if (flags & marks[i].flag)
			out[n++] = marks[i].letter;
	}
	out[n] = '\0';
	return out;
}

const char *report_mark_meaning(unsigned flag)
{
	for (size_t i = 0; i < COUNT(marks); i++) {
		if (flag == marks[i].flag)
			return marks[i].meaning;
	}
	return NULL;
}

unsigned report_flags_of(const struct doc *d)
{
	unsigned flags = 0;

	for (size_t i = 0; i < d->n_rows; i++)
		flags |= d->rows[i]->status == ROW_OK ? d->rows[i]->flags : 0;
	return flags;
}

/* --- facts ----------------------------------------------------------------------------- */

/* Parts with ", " between them, in a stream over memory. */
struct list {
	FILE *out;
	bool more;
};

__attribute__((format(printf, 2, 3))) static void part(struct list *l, const char *fmt, ...)
{
	va_list args;

	if (l->more)
		fputs(", ", l->out);
	l->more = true;
	va_start(args, fmt);
	vfprintf(l->out, fmt, args);
	va_end(args);
}

static void processor(struct list *l, const struct doc *d)
{
	const struct host *h = d->host;

	if (!h) {
		part(l, "unknown");
		return;
	}
	if (h->cpu)
		part(l, "%s", h->cpu);
	if (h->architecture)
		part(l, "%s", h->architecture);
	if (h->cores_usable > 0 && h->cores_online > 0 && h->cores_usable != h->cores_online)
		part(l, "%d of %d cores usable", h->cores_usable, h->cores_online);
	else if (h->cores_usable > 0 || h->cores_online > 0)
		part(l, "cores: %d", h->cores_usable > 0 ? h->cores_usable : h->cores_online);
	if (isfinite(h->freq_max_hz))
		part(l, "up to %.2f GHz", h->freq_max_hz / 1e9);
	if (h->governor)
		part(l, "governor %s", h->governor);
}

static void board(struct list *l, const struct doc *d)
{
	if (d->host && d->host->board)
		part(l, "%s", d->host->board);
}

static void features(struct list *l, const struct doc *d)
{
	if (d->host && d->host->features)
		part(l, "%s", d->host->features);
}

static void state(struct list *l, const struct doc *d)
{
	const struct host *h = d->host;

	if (!h)
		return;
	if (isfinite(h->temp_before_c) && isfinite(h->temp_after_c))
		part(l, "%.1f °C before, %.1f °C after", h->temp_before_c, h->temp_after_c);
	else if (isfinite(h->temp_before_c) || isfinite(h->temp_after_c))
		part(l, "%.1f °C", isfinite(h->temp_before_c) ? h->temp_before_c : h->temp_after_c);
	if (h->throttled)
		part(l, "throttled: %s", h->throttled);
}

static void system_facts(struct list *l, const struct doc *d)
{
	const struct host *h = d->host;
	char text[32];

	if (!h)
		return;
	if (h->os)
		part(l, "%s", h->os);
	if (h->kernel)
		part(l, "%s", h->kernel);
	if (h->memory_bytes >= 0)
		part(l, "%s memory", units_bytes((uint64_t)h->memory_bytes, text, sizeof(text)));
	if (h->virtualization)
		part(l, "virtual: %s", strcmp(h->virtualization, "none") == 0 ? "no" : h->virtualization);
}

static void libraries(struct list *l, const struct doc *d)
{
	for (size_t i = 0; i < d->n_libraries; i++) {
		const char *version = d->libraries[i].version;

		part(l, "%s %s", d->libraries[i].name, version ? version : "of unknown version");
	}
	if (d->host && d->host->acceleration)
		part(l, "GnuTLS acceleration: %s", d->host->acceleration);
}

static void samples(struct list *l, const struct doc *d)
{
	bool timed = isfinite(d->sample_s);

	if (d->n_samples == 0)
		return;
	if (timed)
		part(l, "%u a row, %.3g s each", d->n_samples, d->sample_s);
	else
		part(l, "%u a row", d->n_samples);
	part(l, "shown as their median");
	part(l, "±%% is 1.4826 MAD of it");
}

static void clock_facts(struct list *l, const struct doc *d)
{
	if (isfinite(d->clock_resolution_ns))
		part(l, "steps of %.0f ns", d->clock_resolution_ns);
	if (isfinite(d->clock_overhead_ns))
		part(l, "%.0f ns to read a thread's time", d->clock_overhead_ns);
}

static void started(struct list *l, const struct doc *d)
{
	char when[CLOCK_RFC3339_SIZE];

	if (d->started_ms > 0)
		part(l, "%.10s %.8s UTC", clock_rfc3339(d->started_ms, when), when + 11);
	if (isfinite(d->duration_s))
		part(l, "took %.*f s", d->duration_s < 10 ? 1 : 0, d->duration_s);
}

static void command(struct list *l, const struct doc *d)
{
	if (d->arguments)
		part(l, "%s", d->arguments);
}

static const struct {
	const char *label;
	void (*text)(struct list *l, const struct doc *d);
} facts[] = {
	{ "processor", processor },
	{ "board", board },
	{ "features", features },
	{ "state", state },
	{ "system", system_facts },
	{ "libraries", libraries },
	{ "clock", clock_facts },
	{ "samples", samples },
	{ "started", started },
	{ "command", command },
};

static int one_fact(size_t i, const struct doc *d, void (*each)(void *, const char *, const char *), void *arg)
{
	char *raw = NULL, *clean = NULL;
	size_t size;
	struct list l = { open_memstream(&raw, &size), false };
	int failed;

	if (!l.out)
		return -1;
	facts[i].text(&l, d);
	failed = ferror(l.out);
	failed |= fclose(l.out);
	clean = failed ? NULL : report_clean(raw);
	free(raw);
	if (!clean)
		return -1;
	if (*clean)
		each(arg, facts[i].label, clean);
	free(clean);
	return 0;
}

int report_facts(const struct doc *d, void (*each)(void *arg, const char *label, const char *text), void *arg)
{
	for (size_t i = 0; i < COUNT(facts); i++) {
		if (one_fact(i, d, each, arg) < 0)
			return -1;
	}
	return 0;
}
