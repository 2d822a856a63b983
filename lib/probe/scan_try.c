/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Handshakes, some at a time. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/probe/scan_int.h"

#define ALERT_USER_CANCELED 90 /* RFC 8446, 6.1 */

/* One at work. */
struct attempt {
	struct wave *wave;
	struct scan_try *t;
	struct line *line;
	struct sock sock;
	struct loop_watch *watch;
	struct loop_timer *deadline;
	struct tls_config *tls;
	struct session *session;
	struct session_peer peer;
	uint16_t suites[OFFER_MAX];
	uint64_t began;
};

struct wave {
	struct scanner *s;
	struct scan_try *v;
	size_t n, next, over;
	struct attempt *attempts; /* places; t NULL: free */
	struct loop_task task; /* fills up */
};

/* --- the end of one ------------------------------------------------------------------------ */

static void clear(struct attempt *a)
{
	loop_watch_free(a->watch);
	session_free(a->session);
	line_free(a->line);
	sock_close(&a->sock, false);
	loop_timer_free(a->deadline);
	config_unref(a->tls);
	*a = (struct attempt){ .wave = a->wave, .sock = { .fd = -1 } };
}

static void end(struct attempt *a)
{
	struct wave *w = a->wave;

	clear(a);
	w->over++;
	loop_defer(w->s->loop, &w->task);
}

static void fail(struct attempt *a, const char *text)
{
	snprintf(a->t->reason, sizeof(a->t->reason), "%s", text);
	end(a);
}

/* GnuTLS tells the suite's name only when the handshake is over. */
static const char *name_of(const struct scan_try *t, const struct session_info *info)
{
	for (size_t i = 0; t->exact && i < t->n; i++)
		if (offer_suite(t->names[i]) == info->suite)
			return t->names[i];
	return info->ciphersuite;
}

/* What the server chose. Also of a handshake that failed later: in TLS 1.2 one that wants
 * a client's certificate does. */
static void note_pick(struct attempt *a)
{
	struct session_info i;

	session_agreed(a->session, &i);
	a->t->taken = CHECK_YES;
	a->t->pick = a->t->kind == OFFER_SUITE ? name_of(a->t, &i) : a->t->kind == OFFER_GROUP ? i.group : i.signature;
}

/* A server may have gone on with something else: with a Diffie-Hellman group of its own
 * (RFC 7919, 4), for one. */
static void judge_pick(struct attempt *a)
{
	struct scan_try *t = a->t;

	if ((t->n != 1 && !t->first) || (t->pick && strcmp(t->pick, t->names[0]) == 0))
		return;
	t->taken = CHECK_NO;
	snprintf(t->reason, sizeof(t->reason), "it went on with %s", t->pick ? t->pick : "one of its own");
}

/* A hello that was narrowed brings no further than here. */
static int judge(void *arg, struct session *s, struct err *e)
{
	struct attempt *a = arg;

	(void)s;
	note_pick(a);
	if (!a->t->exact)
		return 0;
	err_set(e, ERR_HANDSHAKE, "the scan has seen enough");
	return ALERT_USER_CANCELED;
}

/* --- the handshake --------------------------------------------------------------------------- */

static void refused(struct attempt *a, const struct err *e)
{
	struct session_story s;

	session_story(a->session, &s);
	if (a->t->taken == CHECK_YES) { /* the judge saw its choice */
		end(a);
		return;
	}
	a->t->refused = s.alert_received;
	a->t->taken = CHECK_NO;
	if (s.alert_received)
		snprintf(a->t->reason, sizeof(a->t->reason), "%s (%d)", s.alert_name, s.alert);
	else
		snprintf(a->t->reason, sizeof(a->t->reason), "%.*s", (int)sizeof(a->t->reason) - 1, e->msg);
	end(a);
}

static void done(struct attempt *a)
{
	double ms = (double)(clock_mono_ns() - a->began) / 1e6;
	struct err ignored;

	note_pick(a);
	judge_pick(a);
	if (session_close_notify(a->session, &ignored) == 0)
		session_flush(a->session, &ignored);
	if (!(a->wave->s->quickest_ms <= ms))
		a->wave->s->quickest_ms = ms;
	end(a);
}

static void shake(struct attempt *a)
{
	struct err e = { 0 }, ignored;
	int r = session_handshake(a->session, &e);

	if (r == SOCK_BLOCKED)
		return;
	if (r == 0) {
		done(a);
		return;
	}
	session_flush(a->session, &ignored);
	refused(a, &e);
}

static void on_ready(void *arg, unsigned ready)
{
	struct attempt *a = arg;

	a->sock.readable |= (ready & LOOP_READ) != 0;
	a->sock.writable |= (ready & LOOP_WRITE) != 0;
	shake(a);
}

static struct tls_config *configure(const struct attempt *a, struct err *e)
{
	const struct scan_goal *g = a->wave->s->goal;
	char *priority = offer_priority(a->t->version, a->t->kind, a->t->names, a->t->n);
	struct tls_options o = { .role = TLS_CLIENT, .min_version = 12, .max_version = 13, .insecure_no_verify = true,
		.dataplane = TLS_DATAPLANE_GNUTLS, .priority = priority, .certs = { &g->cert, g->cert != NULL },
		.keys = { &g->key, g->key != NULL } };
	struct tls_config *c = priority ? config_new(&o, e) : NULL;

	if (!priority)
		err_set(e, ERR_RUNTIME, "no memory");
	free(priority);
	return c;
}

static void on_line(void *arg, int fd, const struct err *e)
{
	struct attempt *a = arg;
	struct scanner *s = a->wave->s;
	struct err mine = { 0 };
	struct line_story story;

	line_story(a->line, &story);
	if (story.address[0] && !s->scan->address)
		check_set(&s->scan->address, story.address);
	if (fd < 0) {
		a->t->stage = story.stage;
		a->t->code = line_code(story.stage, e);
		fail(a, e->msg);
		return;
	}
	a->t->reached = true;
	sock_init(&a->sock, fd);
	a->peer = (struct session_peer){ .sni = s->scan->servername, .judge = judge, .arg = a };
	for (size_t i = 0; a->t->exact && i < a->t->n; i++)
		a->suites[i] = offer_suite(a->t->names[i]);
	if (a->t->exact) {
		a->peer.suites = a->suites;
		a->peer.n_suites = a->t->n;
	}
	a->session = session_new(a->tls, &a->sock, s->pool, &a->peer, &mine);
	if (a->session)
		a->watch = loop_watch_new(s->loop, fd, on_ready, a, &mine);
	if (a->watch)
		shake(a);
	else
		fail(a, mine.msg);
}

static void on_deadline(void *arg)
{
	struct attempt *a = arg;
	char text[64], limit[32];
	struct line_story story;

	line_story(a->line, &story);
	a->t->stage = a->t->reached ? CHECK_AT_HANDSHAKE : story.stage;
	a->t->code = CHECK_DEADLINE;
	snprintf(text, sizeof(text), "no answer within %s",
		units_duration(a->wave->s->limit_ms, limit, sizeof(limit)));
	fail(a, text);
}

/* --- a wave ------------------------------------------------------------------------------------ */

static void begin(struct attempt *a, struct scan_try *t)
{
	struct scanner *s = a->wave->s;
	struct err e = { 0 };

	a->t = t;
	a->began = clock_mono_ns();
	t->taken = CHECK_UNKNOWN;
	t->code = CHECK_FAILED;
	t->stage = CHECK_AT_HANDSHAKE;
	s->scan->handshakes++;
	a->tls = configure(a, &e);
	if (a->tls)
		a->line = line_start(s->loop, s->target, &s->goal->line, on_line, a, &e);
	if (!a->line) {
		t->code = e.kind == ERR_CONFIG ? CHECK_USAGE : CHECK_FAILED;
		fail(a, e.msg);
		return;
	}
	if (s->limit_ms && (a->deadline = loop_timer_new(s->loop, on_deadline, a)))
		loop_timer_set(a->deadline, s->limit_ms);
}

static void fill(void *arg)
{
	struct wave *w = arg;

	for (size_t i = 0; i < w->s->goal->jobs && w->next < w->n && !w->s->stopped; i++)
		if (!w->attempts[i].t)
			begin(&w->attempts[i], &w->v[w->next++]);
	if (w->over == w->n || w->s->stopped)
		loop_stop(w->s->loop);
}

int scan_wave(struct scanner *s, struct scan_try *v, size_t n, struct err *e)
{
	struct wave w = { .s = s, .v = v, .n = n, .attempts = calloc(s->goal->jobs, sizeof(*w.attempts)) };
	int r = 0;

	if (!w.attempts)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (size_t i = 0; i < s->goal->jobs; i++)
		w.attempts[i] = (struct attempt){ .wave = &w, .sock = { .fd = -1 } };
	for (size_t i = 0; i < n; i++)
		v[i].taken = CHECK_UNKNOWN;
	w.task = (struct loop_task){ .fn = fill, .arg = &w };
	s->wave = &w;
	if (n && !s->stopped) {
		loop_defer(s->loop, &w.task);
		r = loop_run(s->loop, e);
	}
	for (size_t i = 0; i < s->goal->jobs; i++)
		clear(&w.attempts[i]);
	loop_defer_cancel(s->loop, &w.task);
	s->wave = NULL;
	free(w.attempts);
	return r;
}
