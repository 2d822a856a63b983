/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/benchopt.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/units.h"

#define AT(field) .offset = offsetof(struct benchopt, field)

#define WARMUP_S      0.3
#define QUICK_SAMPLES 3
#define QUICK_TURNS   (QUICK_SAMPLES + 1) /* the warm-up is as long as a sample */
#define OVERHEAD      1.12 /* what opening, checking and changing over adds to a short plan */

const struct opt benchopt_method[] = {
	{ .name = "time", .type = OPT_DURATION, .arg = "TIME", AT(time_ms), .def = "500ms", .min = 1, .max = 600000,
		.help = "How long a sample lasts." },
	{ .name = "samples", .type = OPT_UINT, .arg = "N", AT(samples), .def = "11", .min = 1, .max = 10000,
		.help = "Samples of a row. The median is reported; from 6 on with a 95 % interval." },
	{ .name = "quick", .letter = 'q', .type = OPT_FLAG, AT(quick),
		.help = "A look: few, short samples. --time and --samples have no say." },
	{ .name = NULL },
};

const struct opt benchopt_output[] = {
	{ .name = "json", .type = OPT_FLAG, AT(json), .help = "Write everything as one JSON document." },
	{ .name = "csv", .type = OPT_FLAG, AT(csv), .help = "Write every sample as a line of CSV." },
	{ .name = "markdown", .type = OPT_FLAG, AT(markdown), .help = "Write tables in Markdown." },
	{ .name = "svg", .type = OPT_STRING, .arg = "FILE", AT(svg), .complete = OPT_COMPLETE_FILE,
		.help = "Draw a picture into FILE as well." },
	{ .name = "output", .letter = 'o', .type = OPT_STRING, .arg = "FILE", AT(output), .def_text = "standard output",
		.complete = OPT_COMPLETE_FILE, .help = "Where to write." },
	{ .name = "unit", .type = OPT_ENUM, .arg = "UNIT", AT(unit), .choices = "auto|MB|MiB|Gbit", .def = "auto",
		.help = "Unit of rates in text, Markdown and pictures; JSON and CSV have bytes a second." },
	{ .name = "from", .type = OPT_STRING, .arg = "FILE", AT(from), .complete = OPT_COMPLETE_FILE,
		.help = "Measure nothing; print a run that was stored with --json again. -: standard input." },
	{ .name = "compare", .type = OPT_STRING, .arg = "FILE", AT(compare), .complete = OPT_COMPLETE_FILE,
		.help = "Show how each row changed against a run that was stored with --json. Exit code 1 when one got worse." },
	{ .name = "threshold", .type = OPT_STRING, .arg = "PERCENT", AT(threshold), .def = "5%",
		.help = "With --compare: changes up to this are none." },
	{ .name = NULL },
};

/* --- before the run ------------------------------------------------------------ */

static int parse_threshold(struct benchopt *v, struct err *e)
{
	char *end;
	double percent = strtod(v->threshold, &end);

	if (end != v->threshold && *end == '%')
		end++;
	if (end == v->threshold || *end != '\0' || !isfinite(percent) || percent < 0 || percent > 100)
		return err_set(e, ERR_CONFIG, "--threshold: \"%s\" is not a percentage (as in 5%%)", v->threshold);
	v->threshold_share = percent / 100;
	return 0;
}

static FILE *open_output(const char *option, const char *path, struct err *e)
{
	FILE *f = fopen(path, "w");

	if (f == NULL)
		err_sys(e, ERR_CONFIG, errno, "--%s: cannot write %s", option, path);
	return f;
}

int benchopt_open(struct benchopt *v, const char *command, struct err *e)
{
	if (v->json + v->csv + v->markdown > 1)
		return err_set(e, ERR_CONFIG, "--json, --csv and --markdown: choose one");
	if (parse_threshold(v, e) < 0)
		return -1;
	if (v->from != NULL) {
		v->stored = report_read(v->from, command, e);
		if (v->stored == NULL)
			return err_prefix(e, "--from");
	}
	if (v->compare != NULL) {
		v->base = report_read(v->compare, command, e);
		if (v->base == NULL)
			return err_prefix(e, "--compare");
	}
	v->out = stdout;
	if (v->output != NULL && (v->out = open_output("output", v->output, e)) == NULL)
		return -1;
	if (v->svg != NULL && (v->svg_out = open_output("svg", v->svg, e)) == NULL)
		return -1;
	return 0;
}

void benchopt_close(struct benchopt *v)
{
	if (v->out != NULL && v->out != stdout)
		fclose(v->out);
	if (v->svg_out != NULL)
		fclose(v->svg_out);
	doc_free(v->stored);
	doc_free(v->base);
	v->out = v->svg_out = NULL;
	v->stored = v->base = NULL;
}

static char *join(int argc, char **argv)
{
	size_t n = sizeof("tlskit");
	char *text;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]) + 1;
	text = malloc(n);
	if (text == NULL)
		return NULL;
	strcpy(text, "tlskit");
	for (int i = 0; i < argc; i++)
		strcat(strcat(text, " "), argv[i]);
	return text;
}

struct doc *benchopt_doc(const char *command, int argc, char **argv)
{
	struct doc *d = doc_new(command);

	if (d == NULL)
		return NULL;
	d->started_ms = clock_real_ms();
	d->arguments = join(argc, argv);
	d->host = host_read("");
	if (doc_set(&d->tool, PACKAGE_NAME " " PACKAGE_VERSION) == 0 && d->arguments != NULL && d->host != NULL)
		return d;
	doc_free(d);
	return NULL;
}

/* --- the run -------------------------------------------------------------------- */

static char *clock_text(double seconds, char *out, size_t size)
{
	long s = lround(seconds);

	if (s < 60)
		snprintf(out, size, "%ld s", s);
	else
		snprintf(out, size, "%ld min %02ld s", s / 60, s % 60);
	return out;
}

void benchopt_plan(const struct benchopt *v, unsigned n_rows, double quick_s, struct bench_plan *p)
{
	char text[32];

	p->samples = v->quick ? QUICK_SAMPLES : (unsigned)v->samples;
	p->sample_s = (double)v->time_ms / 1000;
	p->warmup_s = WARMUP_S;
	if (v->quick)
		p->limit_s = quick_s;
	if (v->quick && n_rows > 0)
		p->sample_s = p->warmup_s = quick_s / OVERHEAD / n_rows / QUICK_TURNS;
	fprintf(stderr, "tlskit: %u row%s, about %s%s\n", n_rows, n_rows == 1 ? "" : "s",
		clock_text(bench_estimate(p, n_rows), text, sizeof(text)),
		v->quick ? "" : "; Ctrl-C prints what is done by then, --quick takes a short look");
}

static atomic_bool interrupted;

static void on_interrupt(int signo)
{
	atomic_store(&interrupted, true);
	signal(signo, SIG_DFL);
}

/* \r and "clear to the end of the line" */
static void show_progress(void *arg, double done_s, double total_s, const char *what)
{
	char left[32];

	(void)arg;
	fprintf(stderr, "\r%3.0f %%, %s left: %.48s\033[K", total_s > 0 ? 100 * done_s / total_s : 0,
		clock_text(total_s > done_s ? total_s - done_s : 0, left, sizeof(left)), what);
	fflush(stderr);
}

void benchopt_watch(struct bench_plan *p)
{
	struct sigaction sa = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };

	p->stop = &interrupted;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (isatty(STDERR_FILENO))
		p->progress = show_progress;
}

void benchopt_unwatch(const struct bench_plan *p)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (p->progress != NULL)
		fputs("\r\033[K", stderr);
}

/* --- after the run ---------------------------------------------------------------- */

static enum report_format format_of(const struct benchopt *v)
{
	if (v->json)
		return REPORT_JSON;
	if (v->csv)
		return REPORT_CSV;
	return v->markdown ? REPORT_MARKDOWN : REPORT_TEXT;
}

static int write_comparison(struct benchopt *v, const struct doc *d, const struct report_style *s, struct err *e)
{
	struct report_comparison c;
	int r;

	if (report_compare(v->base, d, v->threshold_share, &c, e) < 0)
		return -1;
	if (c.other_machine)
		log_msg(LOG_WARN, "--compare: another machine or software: %s", c.machine_note);
	r = report_comparison_write(v->out, &c, format_of(v), s, e);
	if (r == 0)
		r = c.worse > 0;
	report_comparison_free(&c);
	return r;
}

static int close_file(FILE **f, const char *path, struct err *e)
{
	int bad = ferror(*f) | fflush(*f);

	if (*f != stdout)
		bad |= fclose(*f);
	*f = NULL;
	return bad ? err_sys(e, ERR_RUNTIME, errno, "cannot write %s", path) : 0;
}

/* 0, 1 for a regression, or -1. */
static int write_all(struct benchopt *v, const struct doc *d, benchopt_layout *layout, struct err *e)
{
	struct report_style s = { .unit = (enum report_unit)v->unit };
	enum report_format f = format_of(v);
	int worse = 0;

	if (v->out == stdout)
		s.width = help_width(STDOUT_FILENO);
	if (v->base == NULL || f == REPORT_TEXT || f == REPORT_MARKDOWN) {
		if ((layout != NULL && f == REPORT_TEXT ? layout(v->out, d, e) : report_write(v->out, d, f, &s, e)) < 0)
			return -1;
	}
	if (v->base != NULL && (worse = write_comparison(v, d, &s, e)) < 0)
		return -1;
	if (v->svg_out != NULL) {
		if (report_write(v->svg_out, d, REPORT_SVG, &s, e) < 0 || close_file(&v->svg_out, v->svg, e) < 0)
			return -1;
	}
	if (v->out != stdout && close_file(&v->out, v->output, e) < 0)
		return -1;
	return worse;
}

int benchopt_finish(struct benchopt *v, const struct doc *d, benchopt_layout *layout)
{
	struct err e;
	int r = write_all(v, d, layout, &e);
	size_t i;

	if (r < 0) {
		log_msg(LOG_ERROR, "%s", e.msg);
		return err_exit_code(&e);
	}
	for (i = 0; i < d->n_rows; i++) {
		if (d->rows[i]->status == ROW_ERROR)
			r = 1;
	}
	if (d->interrupted && v->from == NULL) {
		log_msg(LOG_WARN, "interrupted: rows that were not measured are left out of account");
		r = 1;
	}
	return r;
}
