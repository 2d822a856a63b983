/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What becomes of a run: report, comparison and picture. */

#include "cli/benchopt.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "cli/help.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

/* Pipes and devices have nothing to cut. */
static void start_output(FILE *f)
{
	if (f != stdout && ftruncate(fileno(f), 0) < 0)
		errno = 0;
}

static enum report_format format_of(const struct benchopt *v)
{
	if (v->json)
		return REPORT_JSON;
	if (v->csv)
		return REPORT_CSV;
	return v->markdown ? REPORT_MARKDOWN : REPORT_TEXT;
}

/* Between a report and its comparison. */
static void write_heading(FILE *out, const struct doc *base, enum report_format f)
{
	char when[CLOCK_RFC3339_SIZE];

	fputs(f == REPORT_MARKDOWN ? "\n## Compared with the run of " : "\ncompared with the run of ", out);
	if (base->started_ms > 0)
		fprintf(out, "%.10s %.8s UTC\n", clock_rfc3339(base->started_ms, when), when + 11);
	else
		fputs("an unknown time\n", out);
	if (f == REPORT_MARKDOWN)
		putc('\n', out);
}

static int write_comparison(struct benchopt *v, const struct doc *d, const struct report_style *s, struct err *e)
{
	enum report_format f = format_of(v);
	struct report_comparison c;
	int r;

	if (report_compare(v->base, d, v->threshold_share, &c, e) < 0)
		return -1;
	if (c.other_machine)
		log_msg(LOG_WARN, "--compare: another machine or software: %s", c.machine_note);
	if (f == REPORT_TEXT || f == REPORT_MARKDOWN)
		write_heading(v->out, v->base, f);
	r = report_comparison_write(v->out, &c, f, s, e);
	if (r == 0)
		r = c.worse > 0;
	report_comparison_free(&c);
	return r;
}

static int close_file(FILE **f, struct err *e)
{
	int bad = ferror(*f) | fflush(*f) | fclose(*f);

	*f = NULL;
	return bad ? err_sys(e, ERR_RUNTIME, errno, "cannot write") : 0;
}

/* 0, 1 for a regression, or -1. */
static int write_report(struct benchopt *v, const struct doc *d, benchopt_layout *layout, struct err *e)
{
	struct report_style s = { .unit = (enum report_unit)v->unit };
	enum report_format f = format_of(v);
	int r = 0;

	if (v->out == stdout)
		s.width = help_width(STDOUT_FILENO);
	start_output(v->out);
	if (v->base == NULL || f == REPORT_TEXT || f == REPORT_MARKDOWN)
		r = layout != NULL && f == REPORT_TEXT ? layout(v->out, d, e) : report_write(v->out, d, f, &s, e);
	if (r == 0 && v->base != NULL)
		r = write_comparison(v, d, &s, e);
	if (r >= 0 && v->out != stdout && close_file(&v->out, e) < 0)
		r = -1;
	return r < 0 && v->output != NULL ? err_prefix(e, "--output %s", v->output) : r;
}

static int write_picture(struct benchopt *v, const struct doc *d, struct err *e)
{
	struct report_style s = { .unit = (enum report_unit)v->unit };

	if (v->svg_out == NULL)
		return 0;
	start_output(v->svg_out);
	if (report_write(v->svg_out, d, REPORT_SVG, &s, e) < 0 || close_file(&v->svg_out, e) < 0)
		return err_prefix(e, "--svg %s", v->svg);
	return 0;
}

/* Who reads the pipe had enough (`… | head -1`), and is told nothing. */
static bool reader_is_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* The picture, too, when the rest could not be written: the run was long. */
static int write_all(struct benchopt *v, const struct doc *d, benchopt_layout *layout)
{
	struct err e, picture_e;
	int r = write_report(v, d, layout, &e), picture_r = write_picture(v, d, &picture_e);

	if (r < 0) {
		if (v->out != stdout || !reader_is_gone())
			log_msg(LOG_ERROR, "%s", e.msg);
		clearerr(stdout); /* it is told */
		r = err_exit_code(&e);
	}
	if (picture_r < 0) {
		log_msg(LOG_ERROR, "%s", picture_e.msg);
		r = err_exit_code(&picture_e);
	}
	return r;
}

int benchopt_finish(struct benchopt *v, const struct doc *d, benchopt_layout *layout)
{
	int code = write_all(v, d, layout);

	for (size_t i = 0; code == 0 && i < d->n_rows; i++)
		code = d->rows[i]->status == ROW_ERROR;
	if (d->interrupted && v->from == NULL) {
		log_msg(LOG_WARN, "interrupted: rows that were not measured are left out of account");
		code = code ? code : 1;
	}
	return code;
}
