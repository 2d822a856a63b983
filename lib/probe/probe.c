/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/probe/probe_int.h"
#include "lib/tls/tickets.h"

#define TICKETS_MAX 8

void probe_set(struct probe *p, char **place, const char *text)
{
	if (check_set(place, text) < 0)
		check_fault_add(p->check, CHECK_FAILED, CHECK_AT_VERIFY, "no memory");
}

/* --- connections -------------------------------------------------------------------------- */

void probe_conn_free(struct probe_conn *c)
{
	if (!c)
		return;
	session_free(c->session);
	sock_close(&c->sock, false);
	free(c);
}

void probe_hang_up(struct probe *p)
{
	loop_watch_free(p->watch);
	p->watch = NULL;
	probe_conn_free(p->conn);
	p->conn = NULL;
	line_free(p->line);
	p->line = NULL;
	p->lingering = false;
	if (p->linger)
		loop_timer_cancel(p->linger);
}

/* --- the end -------------------------------------------------------------------------------- */

static void probe_free(struct probe *p)
{
	probe_hang_up(p);
	ocsp_ask_cancel(p->ocsp);
	dane_ask_cancel(p->dane);
	tlsa_list_free(&p->records);
	if (p->fd >= 0)
		sock_close(&(struct sock){ .fd = p->fd }, false);
	loop_defer_cancel(p->loop, &p->task);
	loop_timer_free(p->deadline);
	loop_timer_free(p->linger);
	tickets_free(p->tickets);
	check_free(p->check);
	free(p);
}

static void finish(struct probe *p)
{
	struct check *c = p->check;

	if (c->n_faults)
		probe_hang_up(p); /* even one that was found last */
	p->check = NULL;
	c->total_ms = (double)(clock_mono_ns() - p->started) / 1e6;
	p->fn(p->arg, p, c);
	probe_free(p);
}

static bool waits_elsewhere(const struct probe *p)
{
	return p->ocsp || p->dane;
}

/* The connections are done with; what others were asked may still come. */
void probe_conclude(struct probe *p)
{
	p->over = true;
	if (!p->goal->keep || p->check->n_faults)
		probe_hang_up(p);
	if (waits_elsewhere(p))
		return;
	probe_judge_rest(p);
	finish(p);
}

struct probe_conn *probe_take(struct probe *p)
{
	struct probe_conn *c = p->conn;

	if (!c)
		return NULL;
	loop_watch_free(p->watch);
	p->watch = NULL;
	p->conn = NULL;
	c->peer.judge = NULL;
	c->peer.arg = NULL;
	c->peer.tickets = NULL;
	return c;
}

/* --- the handshake ---------------------------------------------------------------------------- */

static void shake(struct probe *p)
{
	struct err e = { 0 }, ignored;
	int r = session_handshake(p->conn->session, &e);

	if (r == SOCK_BLOCKED)
		return;
	if (!p->second)
		p->check->handshake_ms = (double)(clock_mono_ns() - p->connected) / 1e6;
	if (r == 0) {
		probe_shaken(p);
		return;
	}
	session_flush(p->conn->session, &ignored);
	probe_note_failure(p, &e);
	probe_conclude(p);
}

static void on_ready(void *arg, unsigned ready)
{
	struct probe *p = arg;

	p->conn->sock.readable |= (ready & LOOP_READ) != 0;
	p->conn->sock.writable |= (ready & LOOP_WRITE) != 0;
	if (p->over)
		return;
	if (p->lingering)
		probe_linger(p);
	else
		shake(p);
}

/* What the server said behind a proxy's answer. */
static int feed_rest(const struct probe *p, struct session *session, struct err *e)
{
	size_t n;
	const uint8_t *rest = line_rest(p->line, &n);

	return n && session_feed(session, rest, n) < 0 ? err_set(e, ERR_RUNTIME, "no memory") : 0;
}

static struct probe_conn *new_conn(struct probe *p, int fd, struct err *e)
{
	struct probe_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		sock_close(&(struct sock){ .fd = fd }, false);
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	sock_init(&c->sock, fd);
	c->peer = (struct session_peer){ .sni = p->check->servername, .name = p->check->chain_request.name,
		.tickets = p->tickets, .judge = probe_judge, .arg = p };
	if (p->second) {
		c->peer.early = p->goal->early;
		c->peer.early_size = p->goal->early_size;
	}
	c->session = session_new(p->goal->tls, &c->sock, p->pool, &c->peer, e);
	if (c->session && feed_rest(p, c->session, e) == 0)
		return c;
	probe_conn_free(c);
	return NULL;
}

static void begin_tls(struct probe *p, int fd)
{
	struct err e = { 0 };

	p->connected = clock_mono_ns();
	if (!p->second)
		probe_note_dane(p);
	p->conn = new_conn(p, fd, &e);
	if (p->conn)
		p->watch = loop_watch_new(p->loop, fd, on_ready, p, &e);
	if (p->watch) {
		shake(p);
		return;
	}
	check_fault_add(p->check, CHECK_FAILED, CHECK_AT_HANDSHAKE, "%s", e.msg);
	probe_conclude(p);
}

/* --- the way there -------------------------------------------------------------------------------- */

static void note_line(struct probe *p)
{
	struct check *c = p->check;
	struct line_story s;

	if (p->second || !p->line)
		return;
	line_story(p->line, &s);
	c->dns_ms = s.dns_ms;
	c->connect_ms = s.connect_ms;
	c->proxy_ms = s.proxy_ms;
	c->starttls_ms = s.starttls_ms;
	c->family = s.family;
	if (s.address[0])
		probe_set(p, &c->address, s.address);
	if (c->starttls && s.stage == CHECK_AT_STARTTLS)
		c->starttls_done = isfinite(s.starttls_ms) ? CHECK_YES : CHECK_NO;
}

static void line_failed(struct probe *p, const struct err *e)
{
	struct line_story s;

	line_story(p->line, &s);
	if (p->second)
		check_fault_add(p->check, CHECK_EXPECT, CHECK_AT_EXPECT, "the second connection, to resume: %s", e->msg);
	else
		check_fault_add(p->check, line_code(s.stage, e), s.stage, "%s", e->msg);
	dane_ask_cancel(p->dane); /* there is nothing to hold records against */
	p->dane = NULL;
	probe_conclude(p);
}

static void on_line(void *arg, int fd, const struct err *e)
{
	struct probe *p = arg;

	note_line(p);
	if (fd < 0) {
		line_failed(p, e);
	} else if (p->dane) {
		p->line_up = true;
		p->fd = fd;
	} else {
		begin_tls(p, fd);
	}
}

void probe_go_on(struct probe *p)
{
	int fd = p->fd;

	if (p->over && !waits_elsewhere(p)) {
		probe_judge_rest(p);
		finish(p);
	} else if (!p->over && p->judging) {
		p->connected += clock_mono_ns() - p->paused; /* it was not the server that took so long */
		shake(p);
	} else if (p->line_up && !p->dane) {
		p->line_up = false;
		p->fd = -1;
		begin_tls(p, fd);
	}
}

static void begin_line(struct probe *p, struct err *e)
{
	p->line = line_start(p->loop, &p->target, &p->line_options, on_line, p, e);
}

void probe_begin_second(struct probe *p)
{
	struct err e = { 0 };

	probe_hang_up(p);
	p->second = true;
	begin_line(p, &e);
	if (p->line)
		return;
	check_fault_add(p->check, CHECK_FAILED, CHECK_AT_EXPECT, "%s", e.msg);
	probe_conclude(p);
}

/* --- deadlines and signals ---------------------------------------------------------------------------- */

/* The way to the server, as far as it went. */
static enum check_stage waited_on_line(const struct probe *p, char *out, size_t size)
{
	struct line_story s;

	line_story(p->line, &s);
	if (s.step)
		snprintf(out, size, "no answer from %s, at %s", s.address, s.step);
	else if (s.stage == CHECK_AT_DNS)
		snprintf(out, size, "no answer from the DNS about %s", s.hop);
	else
		snprintf(out, size, "no connection to %s%s", s.stage == CHECK_AT_PROXY ? "the proxy " : "", s.hop);
	return s.stage;
}

/* What was waited for, in words, and where that belongs. */
static enum check_stage waited_for(const struct probe *p, char *out, size_t size)
{
	const char *what = "the TLS handshake was not over";
	enum check_stage stage = CHECK_AT_HANDSHAKE;

	if (p->over || p->judging || (p->line_up && p->dane)) {
		stage = p->line_up ? CHECK_AT_DNS : CHECK_AT_VERIFY;
		what = p->ocsp ? "no answer from the OCSP responder" : "no answer from the DNS about TLSA records";
	} else if (p->lingering) {
		what = "no ticket came to resume with";
	} else if (p->conn && p->second) {
		what = "the handshake that resumes was not over";
	} else if (!p->conn) {
		return waited_on_line(p, out, size);
	}
	snprintf(out, size, "%s", what);
	return stage;
}

static void ask_no_more(struct probe *p)
{
	ocsp_ask_cancel(p->ocsp);
	dane_ask_cancel(p->dane);
	p->ocsp = NULL;
	p->dane = NULL;
}

static void give_up(struct probe *p)
{
	char what[2 * ADDR_TEXT_SIZE + 200], limit[32];
	enum check_stage stage = waited_for(p, what, sizeof(what));

	note_line(p);
	check_fault_add(p->check, CHECK_DEADLINE, stage, "timed out after %s (--timeout): %s",
		units_duration(p->goal->timeout_ms, limit, sizeof(limit)), what);
	ask_no_more(p);
	probe_conclude(p);
}

/* To linger was our own wish, but for tickets: who is silent then has done his part. That is
 * so of the server, not of those who are asked elsewhere. */
static void on_deadline(void *arg)
{
	struct probe *p = arg;
	bool wish = p->lingering && (!p->goal->resume || p->second);

	if (wish && !waits_elsewhere(p)) {
		probe_on_linger(p);
		return;
	}
	p->over |= wish;
	give_up(p);
}

static void on_task(void *arg)
{
	struct probe *p = arg;

	note_line(p);
	check_fault_add(p->check, CHECK_FAILED, CHECK_AT_CLOSE, "interrupted");
	ask_no_more(p);
	probe_conclude(p);
}

void probe_hurry(struct probe *p)
{
	loop_defer(p->loop, &p->task);
}

void probe_cancel(struct probe *p)
{
	if (p)
		probe_free(p);
}

/* --- the beginning --------------------------------------------------------------------------------------- */

/* What is asked for, so that a check that fails at once has it too. */
static void describe(struct probe *p)
{
	const struct probe_goal *g = p->goal;
	struct check *c = p->check;
	const char *name = config_servername(g->tls);
	char via[LINE_VIA_SIZE];

	c->started_ms = clock_real_ms();
	if (p->target.kind == ADDR_TCP) {
		probe_set(p, &c->host, p->target.loopback ? "localhost" : p->target.host);
		c->port = p->target.port;
	}
	probe_set(p, &c->servername, name ? name : addr_sni(&p->target));
	if (config_verify_name(g->tls))
		name = config_verify_name(g->tls);
	c->chain_request = (struct chain_request){ .trust = config_trust_list(g->tls), .name = name ? name : c->host,
		.now = c->started_ms / 1000, .have_crls = config_has_crl(g->tls) };
	if (g->line.proxy)
		probe_set(p, &c->via, line_via(g->line.proxy, via));
	if (g->line.starttls)
		probe_set(p, &c->starttls, g->line.starttls);
}

static int check_name_there(const struct probe *p, struct err *e)
{
	enum config_trust t = config_trust(p->goal->tls);

	if (p->check->chain_request.name || p->goal->no_verify || (t != CONFIG_TRUST_CHAIN && t != CONFIG_TRUST_CHAIN_AND_PIN))
		return 0;
	return err_set(e, ERR_CONFIG, "%s has no name to verify: give --verify-name", p->check->target);
}

static int set_up(struct probe *p, struct err *e)
{
	const struct probe_goal *g = p->goal;

	describe(p);
	if (check_name_there(p, e) < 0)
		return -1;
	p->deadline = loop_timer_new(p->loop, on_deadline, p);
	p->linger = loop_timer_new(p->loop, probe_on_linger, p);
	if (g->resume)
		p->tickets = tickets_new(TICKETS_MAX);
	if (!p->deadline || !p->linger || (g->resume && !p->tickets))
		return err_set(e, ERR_RUNTIME, "no memory");
	begin_line(p, e);
	if (!p->line)
		return -1;
	if (g->dane)
		probe_ask_dane(p);
	if (g->timeout_ms)
		loop_timer_set(p->deadline, g->timeout_ms);
	return 0;
}

struct probe *probe_start(struct loop *l, struct buf_pool *pool, const struct probe_goal *g, const char *text,
	const struct addr *target, const struct sockaddr *at, socklen_t at_len, probe_fn *fn, void *arg, struct err *e)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct probe){ .loop = l, .pool = pool, .goal = g, .target = *target, .check = check_new(text),
			.line_options = g->line, .started = clock_mono_ns(), .fd = -1, .fn = fn, .arg = arg,
			.task = { .fn = on_task, .arg = p } };
	if (!p || !p->check) {
		free(p);
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	if (at) {
		memcpy(&p->at, at, at_len);
		p->line_options.at = (const struct sockaddr *)&p->at;
		p->line_options.at_len = at_len;
	}
	if (set_up(p, e) < 0) {
		probe_free(p);
		return NULL;
	}
	return p;
}
