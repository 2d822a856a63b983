/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/net/sock.h"
#include "lib/probe/scan_int.h"
#include "lib/tls/chain.h"

/* One handshake: a line, a session with just this offer, and what came of it. */

#define AGAIN_MS    250 /* what could not be made, or broke, is tried once more so much later: servers have limits */
#define LIMIT_TIMES 10 /* of the quickest handshake, */
#define LIMIT_MORE  1000 /* and so many ms more, is enough for any */

static void start(struct scan_ask *a);

/* --- the queue ------------------------------------------------------------------------- */

void scan_ask(struct scan_ask *a)
{
	struct scan_job *j = a->job;

	if (j->over)
		return;
	a->again = false;
	if (j->working < j->goal->jobs) {
		start(a);
		return;
	}
	a->queued = true;
	a->next = NULL;
	*j->queue_end = a;
	j->queue_end = &a->next;
}

static void start_next(struct scan_job *j)
{
	struct scan_ask *a = j->queue;

	if (!a || j->over || j->working >= j->goal->jobs)
		return; /* the one that was answered may have asked again */
	j->queue = a->next;
	if (!j->queue)
		j->queue_end = &j->queue;
	a->queued = false;
	start(a);
}

static void leave_queue(struct scan_ask *a)
{
	struct scan_job *j = a->job;

	for (struct scan_ask **at = &j->queue; *at; at = &(*at)->next) {
		if (*at != a)
			continue;
		*at = a->next;
		if (!a->next)
			j->queue_end = at;
		break;
	}
	a->queued = false;
}

/* --- the end ------------------------------------------------------------------------------ */

static void hang_up(struct scan_ask *a)
{
	loop_defer_cancel(a->job->loop, &a->task);
	loop_timer_free(a->timer);
	loop_watch_free(a->watch);
	session_free(a->session);
	config_unref(a->config);
	line_free(a->line);
	if (a->sock.fd >= 0)
		sock_close(&a->sock, false);
	a->timer = NULL;
	a->watch = NULL;
	a->session = NULL;
	a->config = NULL;
	a->line = NULL;
	a->sock.fd = -1;
	a->job->working--;
	a->started = false;
}

void scan_ask_cancel(struct scan_ask *a)
{
	if (a->queued)
		leave_queue(a);
	else if (a->started)
		hang_up(a);
}

static void answer(struct scan_ask *a, struct scan_answer *out)
{
	struct scan_job *j = a->job;

	if (a->line)
		line_story(a->line, &out->story);
	hang_up(a);
	j->silent |= out->silent;
	j->alerts += out->alert;
	a->fn(a->arg, out);
	start_next(j);
}

static void answer_failed(struct scan_ask *a, enum check_code code, enum check_stage stage, const struct err *e)
{
	struct scan_answer out = { .code = code, .stage = stage };

	memccpy(out.why, e->msg, '\0', sizeof(out.why) - 1);
	answer(a, &out);
}

/* Once. */
static void try_again(struct scan_ask *a)
{
	hang_up(a);
	a->again = true;
	start(a);
}

/* --- what came of a handshake ----------------------------------------------------------------- */

static void look_at_key(const struct session *s, struct scan_answer *out)
{
	struct chain_request r = { 0 };
	struct err ignored;
	size_t n;
	const gnutls_datum_t *list = session_chain(s, &n);
	struct chain *c = list && n ? chain_inspect(list, 1, &r, &ignored) : NULL;

	if (c) {
		memccpy(out->key, c->certs[0].key, '\0', sizeof(out->key) - 1);
		out->small_key = c->certs[0].faults & CHAIN_WEAK_KEY;
	}
	chain_free(c);
}

/* In few words, for a table. */
static void explain(const struct scan_ask *a, const struct session_story *s, const struct err *e, struct scan_answer *out)
{
	static const char closed[] = "the peer closed the connection";

	if (s->alert_received)
		snprintf(out->why, sizeof(out->why), "alert %s (%d)", s->alert_name, s->alert);
	else if (a->sock.error)
		snprintf(out->why, sizeof(out->why), "the connection broke: %s", strerror(a->sock.error));
	else if (strncmp(e->msg, closed, sizeof(closed) - 1) == 0)
		memcpy(out->why, closed, sizeof(closed));
	else
		memccpy(out->why, e->msg, '\0', sizeof(out->why) - 1);
}

/* A handshake that this side gave up (a key or a prime that GnuTLS will not have) was
 * still one that the server would have had. */
static void conclude(struct scan_ask *a, bool shaken, const struct err *e)
{
	struct scan_answer out = { .reached = true };
	struct session_info chosen;
	struct session_story s;
	double ms = (double)(clock_mono_ns() - a->began) / 1e6;

	session_story(a->session, &s);
	session_agreed(a->session, &chosen);
	out.alert = s.alert_received;
	out.hello = s.server_hello && (s.server_flight || (!s.alert_received && !a->sock.eof && !a->sock.error));
	out.suite = chosen.suite;
	out.group = chosen.group;
	out.signature = chosen.signature;
	out.dh_bits = s.dh_bits;
	if (!out.hello && !out.alert && (a->sock.eof || a->sock.error) && !a->again) {
		a->job->scan->handshakes++;
		try_again(a); /* it may refuse in this way, and it may have had enough for the moment */
		return;
	}
	look_at_key(a->session, &out);
	if (!shaken)
		explain(a, &s, e, &out);
	if (out.hello && !(a->job->quickest_ms <= ms))
		a->job->quickest_ms = ms;
	answer(a, &out);
}

/* --- the handshake -------------------------------------------------------------------------------- */

static void shake(struct scan_ask *a)
{
	struct err e = { 0 }, ignored;
	int r = session_handshake(a->session, &e);

	if (r == SOCK_BLOCKED)
		return;
	if (r == 0)
		session_close_notify(a->session, &ignored);
	session_flush(a->session, &ignored);
	conclude(a, r == 0, &e);
}

static void on_ready(void *arg, unsigned ready)
{
	struct scan_ask *a = arg;

	a->sock.readable |= (ready & LOOP_READ) != 0;
	a->sock.writable |= (ready & LOOP_WRITE) != 0;
	shake(a);
}

/* GnuTLS is given what the server said before its time, behind a proxy's answer. */
static int feed(struct scan_ask *a, struct err *e)
{
	size_t n;
	const uint8_t *rest = line_rest(a->line, &n);

	return n && session_feed(a->session, rest, n) < 0 ? err_set(e, ERR_RUNTIME, "no memory") : 0;
}

static void begin_tls(struct scan_ask *a, int fd)
{
	struct err e = { 0 };

	sock_init(&a->sock, fd);
	if (!a->job->reached)
		scan_plan_reached(a);
	a->peer = (struct session_peer){ .sni = a->job->sni };
	for (size_t i = 0; a->exact && i < a->offer->n_suites; i++)
		a->suites[a->peer.n_suites++] = a->offer->suites[i]->id;
	a->peer.suites = a->suites;
	a->session = session_new(a->config, &a->sock, a->job->pool, &a->peer, &e);
	if (a->session && feed(a, &e) == 0)
		a->watch = loop_watch_new(a->job->loop, fd, on_ready, a, &e);
	if (a->watch)
		shake(a);
	else
		answer_failed(a, CHECK_FAILED, CHECK_AT_HANDSHAKE, &e);
}

/* --- the way there ------------------------------------------------------------------------------------ */

static void on_line(void *arg, int fd, const struct err *e)
{
	struct scan_ask *a = arg;
	struct line_story s;

	if (fd >= 0) {
		begin_tls(a, fd);
		return;
	}
	line_story(a->line, &s);
	a->err = *e;
	if (a->job->reached && !a->again) {
		try_again(a);
		return;
	}
	answer_failed(a, line_code(s.stage, &a->err), s.stage, &a->err);
}

static void reach(struct scan_ask *a)
{
	struct err e = { 0 };

	a->line = line_start(a->job->loop, a->job->target, &a->job->goal->line, on_line, a, &e);
	if (!a->line)
		answer_failed(a, e.kind == ERR_CONFIG ? CHECK_USAGE : CHECK_FAILED, CHECK_AT_CONNECT, &e);
}

static void on_timeout(void *arg)
{
	struct scan_ask *a = arg;
	struct scan_answer out = { .silent = true, .reached = a->session != NULL, .code = CHECK_DEADLINE,
		.stage = CHECK_AT_HANDSHAKE };
	struct line_story s = { 0 };
	char limit[32];

	if (!a->line && !a->session) { /* the pause before it is tried again is over */
		if (a->limit_ms)
			loop_timer_set(a->timer, a->limit_ms);
		reach(a);
		return;
	}
	if (!a->session) {
		line_story(a->line, &s);
		out.stage = s.stage;
	}
	snprintf(out.why, sizeof(out.why), "no answer within %s%s%s",
		units_duration(a->limit_ms, limit, sizeof(limit)), a->session ? "" : " on the way to TLS: ",
		a->session ? "" : s.step ? s.step : check_stage_name(s.stage));
	answer(a, &out);
}

/* --- the beginning ------------------------------------------------------------------------------------------ */

static struct tls_config *configure(const struct scan_ask *a, struct err *e)
{
	const struct scan_goal *g = a->job->goal;
	char *priority = offer_priority(a->offer);
	struct tls_options o = { .role = TLS_CLIENT, .insecure_no_verify = true, .insecure_anon = true, .min_version = 12,
		.max_version = 13, .priority = priority, .dataplane = TLS_DATAPLANE_GNUTLS };
	struct tls_config *c;

	if (!priority) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	if (g->cert)
		o.certs = (struct names_list){ &g->cert, 1 };
	if (g->key)
		o.keys = (struct names_list){ &g->key, 1 };
	c = config_new(&o, e);
	free(priority);
	return c;
}

static void on_failed(void *arg)
{
	struct scan_ask *a = arg;

	answer_failed(a, CHECK_FAILED, CHECK_AT_HANDSHAKE, &a->err);
}

/* Once one has succeeded it is known how long they take: servers that are silent about
 * what they do not like must not keep everybody waiting. */
static uint64_t limit_of(const struct scan_job *j)
{
	uint64_t limit = j->goal->handshake_ms, enough;

	if (isnan(j->quickest_ms))
		return limit;
	enough = ((uint64_t)(LIMIT_TIMES * j->quickest_ms) + LIMIT_MORE + 99) / 100 * 100;
	return !limit || enough < limit ? enough : limit;
}

/* What fails here is told from the loop. */
static void start(struct scan_ask *a)
{
	a->limit_ms = limit_of(a->job);
	a->began = clock_mono_ns();
	a->job->working++;
	a->job->scan->handshakes += !a->again;
	a->started = true;
	a->sock.fd = -1;
	a->task = (struct loop_task){ .fn = on_failed, .arg = a };
	a->config = configure(a, &a->err);
	a->timer = loop_timer_new(a->job->loop, on_timeout, a);
	if (!a->timer)
		err_set(&a->err, ERR_RUNTIME, "no memory");
	if (a->config && a->timer && !a->again)
		a->line = line_start(a->job->loop, a->job->target, &a->job->goal->line, on_line, a, &a->err);
	if (!a->config || !a->timer || (!a->line && !a->again))
		loop_defer(a->job->loop, &a->task);
	else if (a->again || a->limit_ms)
		loop_timer_set(a->timer, a->again ? AGAIN_MS : a->limit_ms);
}
