/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/batch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/net/resolve.h"

#define POOL_KEEP (1024 * 1024) /* bytes of unused buffers */

/* A target at work: its look-up first, where each address is looked at, then a probe;
 * and what is left of its addresses. */
struct job {
	struct batch *b;
	struct job *next, **prev; /* of the list that it stands in */
	struct probe *probe;
	struct resolve_request *look_up;
	struct loop_timer *deadline; /* of the look-up */
	char *text;
	struct addr addr;
	struct resolved at;
	int i; /* the next address; -1: the target as it is */
};

struct batch {
	const struct batch_options *o;
	struct loop *loop;
	struct buf_pool *pool;
	struct job *working;
	unsigned n;
	bool drained; /* there is no next target */
	struct loop_watch *input; /* NULL until it is waited for */
	bool waiting; /* for it */
	struct err *e; /* of the run */
	bool failed;
	bool interrupted;
	struct loop_task task; /* fills up, outside of anybody's callback */
};

/* --- jobs ---------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	*j->prev = j->next;
	if (j->next)
		j->next->prev = j->prev;
	j->b->n--;
	loop_timer_free(j->deadline);
	resolve_cancel(j->look_up);
	probe_cancel(j->probe);
	free(j->text);
	free(j);
}

static struct job *job_new(struct batch *b, const struct batch_target *t)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j)
		j->text = strdup(t->text);
	if (!j || !j->text) {
		free(j);
		return NULL;
	}
	j->b = b;
	j->addr = t->addr;
	j->i = -1;
	j->prev = &b->working;
	j->next = b->working;
	if (j->next)
		j->next->prev = &j->next;
	b->working = j;
	b->n++;
	return j;
}

/* A check that was over before it began. */
static void report(struct batch *b, const char *text, enum check_code code, enum check_stage stage, const struct err *e)
{
	struct check *c = check_new(text);

	if (!c)
		return;
	check_fault_add(c, code, stage, "%s", e->msg);
	b->o->done(b->o->arg, c);
}

static void start(struct job *j);

static void on_done(void *arg, struct probe *p, struct check *c)
{
	struct job *j = arg;
	struct batch *b = j->b;

	(void)p;
	j->probe = NULL;
	b->o->done(b->o->arg, c);
	if (j->i >= 0 && j->i < j->at.n && !b->interrupted)
		start(j);
	else
		job_free(j);
	loop_defer(b->loop, &b->task);
}

/* The target, or the next of its addresses. */
static void start(struct job *j)
{
	struct batch *b = j->b;
	struct err e = { 0 };
	const struct sockaddr *at = j->i < 0 ? NULL : (const struct sockaddr *)&j->at.at[j->i].sa;
	socklen_t len = j->i < 0 ? 0 : j->at.at[j->i].len;

	if (j->i >= 0)
		j->i++;
	j->probe = probe_start(b->loop, b->pool, b->o->goal, j->text, &j->addr, at, len, on_done, j, &e);
	if (j->probe)
		return;
	report(b, j->text, e.kind == ERR_CONFIG ? CHECK_USAGE : CHECK_FAILED, CHECK_AT_DNS, &e);
	job_free(j);
	loop_defer(b->loop, &b->task);
}

/* --- all addresses --------------------------------------------------------------------- */

static void no_addresses(struct job *j, enum check_code code, const struct err *e)
{
	struct batch *b = j->b;

	report(b, j->text, code, CHECK_AT_DNS, e);
	job_free(j);
	loop_defer(b->loop, &b->task);
}

static void on_deadline(void *arg)
{
	struct job *j = arg;
	struct err e;
	char limit[32];

	err_set(&e, ERR_TIMEOUT, "timed out after %s (--timeout): no answer from the DNS",
		units_duration(j->b->o->goal->timeout_ms, limit, sizeof(limit)));
	no_addresses(j, CHECK_DEADLINE, &e);
}

static void on_addresses(void *arg, const struct resolved *r, const struct err *e)
{
	struct job *j = arg;

	j->look_up = NULL;
	loop_timer_free(j->deadline);
	j->deadline = NULL;
	if (!r) {
		no_addresses(j, CHECK_DNS, e);
		return;
	}
	j->at = *r;
	j->i = 0;
	start(j);
}

static void expand(struct job *j)
{
	const struct probe_goal *g = j->b->o->goal;
	struct addr a = g->line.resolve ? *g->line.resolve : j->addr;
	struct err e = { 0 };

	if (a.kind != ADDR_TCP) {
		start(j);
		return;
	}
	if (a.port_implied)
		a.port = j->addr.port;
	if (resolve_now(&a, g->line.family, &j->at) == 1) {
		if (j->at.n == 0) {
			resolve_none(&a, g->line.family, &e);
			no_addresses(j, CHECK_DNS, &e);
			return;
		}
		j->i = 0;
		start(j);
		return;
	}
	if (g->timeout_ms && (j->deadline = loop_timer_new(j->b->loop, on_deadline, j)))
		loop_timer_set(j->deadline, g->timeout_ms);
	j->look_up = resolve_start(j->b->loop, &a, g->line.family, on_addresses, j, &e);
	if (!j->look_up)
		no_addresses(j, CHECK_FAILED, &e);
}

/* --- the batch ----------------------------------------------------------------------------- */

static void begin(struct batch *b, const struct batch_target *t)
{
	struct err e = { ERR_RUNTIME, "no memory" };
	struct job *j = job_new(b, t);

	if (!j)
		report(b, t->text, CHECK_FAILED, CHECK_AT_DNS, &e);
	else if (b->o->all_addresses)
		expand(j);
	else
		start(j);
}

static void on_input(void *arg, unsigned ready)
{
	struct batch *b = arg;

	(void)ready;
	loop_watch_pause(b->input, true);
	b->waiting = false;
	loop_defer(b->loop, &b->task);
}

static void await_input(struct batch *b)
{
	if (b->input)
		loop_watch_pause(b->input, false);
	else
		b->input = loop_watch_listen(b->loop, b->o->input, on_input, b, b->e);
	b->waiting = b->input != NULL;
	b->failed = b->drained = !b->waiting;
}

static void fill(void *arg)
{
	struct batch *b = arg;
	struct batch_target t;

	while (!b->drained && !b->interrupted && !b->waiting && b->n < b->o->jobs) {
		int got = b->o->next(b->o->arg, &t);

		if (got == 0)
			b->drained = true;
		else if (got == BATCH_LATER)
			await_input(b);
		else
			begin(b, &t);
	}
	if (b->n == 0 && (b->drained || b->interrupted))
		loop_stop(b->loop);
}

/* A look-up that was not over has nothing to tell. */
static void on_signal(void *arg)
{
	struct batch *b = arg;
	struct job *j, *next;

	b->interrupted = true;
	for (j = b->working; j; j = next) {
		next = j->next;
		if (j->probe)
			probe_hurry(j->probe);
		else
			job_free(j);
	}
	loop_defer(b->loop, &b->task);
}

static int run(struct batch *b, struct err *e)
{
	b->loop = loop_new(e);
	if (!b->loop)
		return -1;
	b->pool = buf_pool_new(POOL_KEEP);
	if (!b->pool)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (loop_signal(b->loop, SIGINT, on_signal, b, e) < 0 || loop_signal(b->loop, SIGTERM, on_signal, b, e) < 0)
		return -1;
	b->task = (struct loop_task){ .fn = fill, .arg = b };
	loop_defer(b->loop, &b->task);
	return loop_run(b->loop, e) < 0 || b->failed ? -1 : 0;
}

int batch_run(const struct batch_options *o, bool *interrupted, struct err *e)
{
	struct batch b = { .o = o, .e = e };
	int r = run(&b, e);

	while (b.working)
		job_free(b.working);
	loop_watch_free(b.input);
	if (b.loop)
		loop_defer_cancel(b.loop, &b.task);
	buf_pool_free(b.pool);
	loop_free(b.loop);
	*interrupted = b.interrupted;
	return r;
}
