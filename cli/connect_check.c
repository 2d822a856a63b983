/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* `tlskit connect --check`: targets in, reports out. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect.h"
#include "cli/help.h"
#include "lib/base/clock.h"
#include "lib/net/limit.h"
#include "lib/probe/batch.h"

#define PROGRESS_NS (100 * NS_PER_MS)
#define FILES_KEPT  32 /* descriptors of the loop, of look-ups, and what was inherited */
#define FILES_A_JOB 4 /* two addresses at a time, an OCSP responder's two */

struct run {
	const struct connect_plan *p;
	size_t at; /* the next operand */
	struct connect_targets targets;
	struct check **kept; /* for Prometheus, which wants them together, and Nagios, which wants the worst first */
	size_t n_kept;
	bool many;
	bool progress, progress_shown;
	uint64_t progress_ns;
	size_t done, failed;
	int code, nagios; /* the worst so far */
	bool write_failed, save_failed;
};

/* --- out --------------------------------------------------------------------------------- */

static void clear_progress(struct run *r)
{
	if (r->progress_shown)
		fputs("\r\033[K", stderr);
	r->progress_shown = false;
}

static void show_progress(struct run *r)
{
	uint64_t now = clock_mono_ns();

	if (!r->progress || now - r->progress_ns < PROGRESS_NS)
		return;
	r->progress_ns = now;
	r->progress_shown = true;
	fprintf(stderr, "\r\033[K%zu checked, %zu of them with faults", r->done, r->failed);
	fflush(stderr);
}

int connect_save_chain(const struct chain *chain, const char *path)
{
	FILE *out = fopen(path, "w");
	gnutls_datum_t pem;
	int wrong = 0;

	if (!out) {
		connect_complain("--save-chain %s: %s", path, strerror(errno));
		return -1;
	}
	for (size_t i = 0; chain && i < chain->n_sent; i++) {
		if (chain_pem(&chain->certs[i], &pem) < 0)
			continue;
		wrong |= fwrite(pem.data, 1, pem.size, out) != pem.size;
		cert_wipe_datum(&pem);
	}
	wrong |= fclose(out) != 0;
	if (wrong)
		connect_complain("--save-chain %s: cannot write", path);
	return wrong ? -1 : 0;
}

static int print_pin(const struct check *c)
{
	char pin[CERT_PIN_TEXT];

	for (size_t i = 0; i < c->n_faults; i++)
		connect_complain("%s", c->faults[i].message ? c->faults[i].message : "failed");
	if (!c->chain || !c->chain->certs[0].crt)
		return 0;
	return printf("%s\n", cert_pin_format(c->chain->certs[0].pin, pin)) < 0 || fflush(stdout) ? -1 : 0;
}

static int write_check(struct run *r, const struct check *c)
{
	const struct connect_options *o = r->p->o;
	struct check_style style = { .width = (int)help_width(STDOUT_FILENO), .colour = connect_colour(STDOUT_FILENO),
		.show_chain = o->show_chain, .brief = r->many && !o->show_chain };

	if (o->json)
		return check_write_json(stdout, c);
	if (o->nagios)
		return check_write_nagios(stdout, c);
	if (o->print_pin)
		return print_pin(c);
	return check_write_text(stdout, c, &style);
}

/* Of a write's result. */
static void note_write(struct run *r, int result)
{
	if (result == 0 || r->write_failed)
		return;
	connect_cannot_write();
	r->write_failed = true;
}

static void keep(struct run *r, struct check *c)
{
	struct check **all = realloc(r->kept, (r->n_kept + 1) * sizeof(*all));

	if (!all) {
		check_free(c);
		note_write(r, -1);
		return;
	}
	r->kept = all;
	r->kept[r->n_kept++] = c;
}

/* Of Nagios's states: unknown is less than critical. */
static int weight(int state)
{
	static const int weights[] = { 0, 1, 3, 2 };

	return weights[state];
}

/* Nagios shows the first line, which so is of what decides the exit code. */
static int write_nagios(const struct run *r)
{
	const struct check **sorted = calloc(r->n_kept + 1, sizeof(const struct check *));
	size_t n = 0;
	int wrong;

	if (!sorted)
		return -1;
	for (int w = 3; w >= 0; w--)
		for (size_t i = 0; i < r->n_kept; i++)
			if (weight(check_nagios_state(r->kept[i])) == w)
				sorted[n++] = r->kept[i];
	wrong = check_write_nagios_all(stdout, sorted, n, r->p->o->all_addresses);
	free(sorted);
	return wrong;
}

static int write_kept(const struct run *r)
{
	if (r->p->o->prometheus)
		return check_write_prometheus(stdout, (const struct check *const *)r->kept, r->n_kept);
	return r->n_kept ? write_nagios(r) : 0;
}

static void note_code(struct run *r, const struct check *c)
{
	int code = check_exit_code(c), state = check_nagios_state(c);

	r->code = r->done ? check_worse(r->code, code) : code;
	if (weight(state) > weight(r->nagios))
		r->nagios = state;
	r->done++;
	r->failed += code != CHECK_OK;
}

static void on_check(void *arg, struct check *c)
{
	struct run *r = arg;

	note_code(r, c);
	if (r->p->o->save_chain && c->chain && connect_save_chain(c->chain, r->p->o->save_chain) < 0)
		r->save_failed = true;
	if (r->p->o->prometheus || (r->p->o->nagios && r->many)) {
		keep(r, c);
	} else {
		clear_progress(r);
		errno = 0;
		note_write(r, write_check(r, c));
		check_free(c);
	}
	show_progress(r);
}

/* --- in ------------------------------------------------------------------------------------ */

static void bad_line(struct run *r, const char *text, const struct err *e)
{
	struct check *c = check_new(text);

	if (!c) {
		note_write(r, -1);
		return;
	}
	check_fault_add(c, CHECK_USAGE, CHECK_AT_DNS, "%s", e->msg);
	on_check(r, c);
}

static int next_line(struct run *r, struct batch_target *out)
{
	struct err e = { 0 };
	int got;

	while (!r->write_failed && (got = connect_targets_next(&r->targets, &out->text, &e)) != 0) {
		if (got == BATCH_LATER)
			return BATCH_LATER;
		if (got < 0) {
			connect_complain("%s", e.msg);
			bad_line(r, r->targets.path, &e);
		} else if (connect_parse(r->p->o, out->text, &out->addr, &e) == 0) {
			return 1;
		} else {
			bad_line(r, out->text, &e);
		}
	}
	return 0;
}

static int next_target(void *arg, struct batch_target *out)
{
	struct run *r = arg;

	if (r->write_failed) /* nobody would get to know */
		return 0;
	if (r->at == r->p->n)
		return next_line(r, out);
	out->text = r->p->texts[r->at];
	out->addr = r->p->addrs[r->at++];
	return 1;
}

/* --- the run ---------------------------------------------------------------------------------- */

static int refuse(const struct run *r, const struct err *e)
{
	return connect_refuse((struct connect_forms){ .json = r->p->o->json, .nagios = r->p->o->nagios }, e);
}

static int end_code(struct run *r, bool interrupted)
{
	const struct connect_options *o = r->p->o;
	struct err e = { 0 };

	clear_progress(r);
	if (r->done == 0 && !interrupted && !r->write_failed) {
		err_set(&e, ERR_CONFIG, "--targets %s: no target in there", o->targets);
		return refuse(r, &e);
	}
	errno = 0;
	if (!r->write_failed) /* metrics of some would pass for all */
		note_write(r, write_kept(r));
	if (interrupted)
		connect_complain("interrupted: %zu target%s checked", r->done, r->done == 1 ? " was" : "s were");
	if (r->write_failed || r->save_failed || interrupted) {
		r->nagios = check_nagios_code(CHECK_FAILED);
		r->code = CHECK_FAILED;
	}
	return o->nagios ? r->nagios : r->code;
}

/* As many as there are descriptors for: a server that we have none left for would pass for
 * one that cannot be reached. */
static unsigned jobs_of(const struct connect_options *o)
{
	uint64_t files = limit_raise_files();
	uint64_t most = files > FILES_KEPT + FILES_A_JOB ? (files - FILES_KEPT) / FILES_A_JOB : 1;

	if (o->jobs <= most)
		return (unsigned)o->jobs;
	if (o->targets)
		connect_complain("--jobs %u: %u at a time, as no more than %u files may be open (ulimit -n)", (unsigned)o->jobs,
			(unsigned)most, (unsigned)files);
	return (unsigned)most;
}

int connect_check(const struct connect_plan *p)
{
	struct run r = { .p = p, .many = p->n > 1 || p->o->targets || p->o->all_addresses };
	struct batch_options o = { .goal = &p->goal, .jobs = jobs_of(p->o), .all_addresses = p->o->all_addresses,
		.next = next_target, .done = on_check, .arg = &r };
	struct err e = { 0 };
	bool interrupted = false;
	int code;

	if (connect_targets_open(&r.targets, p->o->targets, &e) < 0)
		return refuse(&r, &e);
	o.input = r.targets.fd;
	r.progress = r.many && isatty(STDERR_FILENO);
	if (batch_run(&o, &interrupted, &e) < 0)
		code = refuse(&r, &e);
	else
		code = end_code(&r, interrupted);
	connect_targets_close(&r.targets);
	for (size_t i = 0; i < r.n_kept; i++)
		check_free(r.kept[i]);
	free(r.kept);
	return code;
}
