/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/net/dial.h"
#include "lib/net/sock.h"
#include "lib/net/starttls.h"

#define CHUNK 4096

struct line {
	struct loop *loop;
	const struct line_options *o;
	const char *host; /* who the server is, however it is reached */
	struct addr target; /* what the server is, or stands for */
	struct addr hop; /* what is connected to: the server or the proxy */
	struct resolve_request *look_up;
	struct dial *dial;
	struct sock sock;
	struct loop_watch *watch;
	struct parley *parley;
	struct loop_task task; /* what must not be said from within line_start */
	enum check_stage stage;
	uint64_t since; /* when this stage began */
	double dns_ms, connect_ms, proxy_ms, starttls_ms;
	char address[ADDR_TEXT_SIZE];
	int family;
	bool proxied; /* the proxy was talked with */
	uint8_t rest[CHUNK]; /* what came behind its answer, where TLS is next */
	size_t n_rest;
	bool ended;
	struct err err;
	line_fn *fn;
	void *arg;
};

static double lap(struct line *l)
{
	uint64_t now = clock_mono_ns(), took = now - l->since;

	l->since = now;
	return (double)took / 1e6;
}

/* --- the end ------------------------------------------------------------------------ */

static void end(struct line *l, int fd, const struct err *e)
{
	loop_watch_free(l->watch);
	l->watch = NULL;
	parley_free(l->parley);
	l->parley = NULL;
	l->ended = true;
	l->fn(l->arg, fd, e);
}

static void fail(struct line *l, const struct err *e)
{
	sock_close(&l->sock, false);
	end(l, -1, e);
}

static void done(struct line *l)
{
	int fd = l->sock.fd;

	l->sock.fd = -1;
	end(l, fd, NULL);
}

/* --- conversations in the clear ------------------------------------------------------- */

static void next_conversation(struct line *l, const uint8_t *said, size_t n);

/* 0: all went out; SOCK_BLOCKED: the rest later. */
static int send_out(struct line *l, struct err *e)
{
	const uint8_t *data;
	size_t n;
	long r;

	while ((data = parley_out(l->parley, &n)) && n) {
		r = sock_write(&l->sock, data, n);
		if (r == SOCK_BLOCKED)
			return SOCK_BLOCKED;
		if (r < 0)
			return err_sys(e, ERR_IO, l->sock.error, "cannot send"), SOCK_FAILED;
		parley_sent(l->parley, (size_t)r);
	}
	return 0;
}

/* It has said its last: what stands behind that is the next one's. */
static void conversation_over(struct line *l, const uint8_t *rest, size_t n)
{
	double ms = lap(l);

	if (l->stage == CHECK_AT_PROXY)
		l->proxy_ms = ms;
	else
		l->starttls_ms = ms;
	parley_free(l->parley);
	l->parley = NULL;
	next_conversation(l, rest, n);
}

/* Whether it goes on: with what was said, or at its beginning with nothing. */
static enum parley_status hear(struct line *l, const uint8_t *data, size_t n, size_t *used)
{
	struct err e = { 0 };
	enum parley_status s = parley_feed(l->parley, data, n, used, &e);

	if (s == PARLEY_FAILED)
		fail(l, &e);
	return s;
}

/* The connection did, not what was said. */
static void fail_step(struct line *l, struct err *e)
{
	err_prefix(e, "%s", parley_step(l->parley) ? parley_step(l->parley) : "the proxy");
	fail(l, e);
}

/* Behind a proxy's answer a rest is the next conversation's, and the proxy is told
 * nothing more; behind a go-ahead for TLS it is a failure. So none waits while
 * something is still to be sent. */
static void converse(struct line *l)
{
	uint8_t said[CHUNK];
	struct err e = { 0 };
	size_t used;
	long n;
	int r;

	for (;;) {
		r = send_out(l, &e);
		if (r == SOCK_FAILED) {
			fail_step(l, &e);
			return;
		}
		if (l->parley->status == PARLEY_DONE) {
			if (r == 0)
				conversation_over(l, NULL, 0);
			return;
		}
		n = sock_read(&l->sock, said, sizeof(said));
		if (n == SOCK_BLOCKED)
			return;
		if (n == 0) {
			parley_end(l->parley, &e);
			fail(l, &e);
			return;
		}
		if (n < 0) {
			err_sys(&e, ERR_IO, l->sock.error, "the connection broke");
			fail_step(l, &e);
			return;
		}
		switch (hear(l, said, (size_t)n, &used)) {
		case PARLEY_FAILED:
			return;
		case PARLEY_MORE:
			break;
		case PARLEY_DONE:
			if (used == (size_t)n)
				break;
			conversation_over(l, said + used, (size_t)n - used);
			return;
		}
	}
}

static void on_ready(void *arg, unsigned ready)
{
	struct line *l = arg;

	l->sock.readable |= (ready & LOOP_READ) != 0;
	l->sock.writable |= (ready & LOOP_WRITE) != 0;
	converse(l);
}

/* p begins, with what the other side has said already. */
static void begin(struct line *l, struct parley *p, enum check_stage stage, const uint8_t *said, size_t n)
{
	struct err e = { 0 };
	size_t used;

	l->parley = p;
	l->stage = stage;
	if (!l->watch)
		l->watch = loop_watch_new(l->loop, l->sock.fd, on_ready, l, &e);
	if (!l->watch) {
		fail(l, &e);
		return;
	}
	if (hear(l, NULL, 0, &used) == PARLEY_FAILED)
		return;
	if (n && hear(l, said, n, &used) == PARLEY_FAILED)
		return;
	converse(l);
}

static void next_conversation(struct line *l, const uint8_t *said, size_t n)
{
	struct parley *p = NULL;
	struct err e = { 0 };

	if (l->o->proxy && !l->proxied) {
		p = proxy_new(l->o->proxy, &l->target, &e);
		l->stage = CHECK_AT_PROXY;
		l->proxied = true;
	} else if (l->o->starttls && l->stage < CHECK_AT_STARTTLS) {
		p = starttls_new(l->o->starttls, l->host, l->o->starttls_name, &e);
		l->stage = CHECK_AT_STARTTLS;
	} else {
		if (n)
			memcpy(l->rest, said, n);
		l->n_rest = n;
		done(l);
		return;
	}
	if (p)
		begin(l, p, l->stage, said, n);
	else
		fail(l, &e);
}

/* --- look-up and connect ---------------------------------------------------------------- */

static void on_dialed(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e)
{
	struct line *l = arg;

	l->dial = NULL;
	if (fd < 0) {
		if (e->kind == ERR_RESOLVE && !l->o->proxy)
			l->stage = CHECK_AT_DNS;
		fail(l, e);
		return;
	}
	l->connect_ms = lap(l);
	sock_init(&l->sock, fd);
	addr_format_sockaddr(sa, len, l->address);
	l->family = sa->sa_family == AF_INET ? 4 : sa->sa_family == AF_INET6 ? 6 : 0;
	next_conversation(l, NULL, 0);
}

static int dial(struct line *l, const struct resolved *r, struct err *e)
{
	struct dial_options o = { .family = l->o->family };

	l->stage = l->o->proxy ? CHECK_AT_PROXY : CHECK_AT_CONNECT;
	l->dial = r ? dial_start_resolved(l->loop, &l->hop, r, &o, on_dialed, l, e)
		    : dial_start(l->loop, &l->hop, &o, on_dialed, l, e);
	return l->dial ? 0 : -1;
}

static void on_hop(void *arg, const struct resolved *r, const struct err *e)
{
	struct line *l = arg;
	struct err mine = { 0 };

	l->look_up = NULL;
	l->dns_ms = (isnan(l->dns_ms) ? 0 : l->dns_ms) + lap(l);
	if (!r)
		fail(l, e);
	else if (dial(l, r, &mine) < 0)
		fail(l, &mine);
}

/* The server's, or the proxy's. What fails on the way to a proxy is the proxy's fault. */
static int reach_hop(struct line *l, struct err *e)
{
	struct resolved r;

	if (l->o->proxy)
		l->stage = CHECK_AT_PROXY;
	if (l->hop.kind != ADDR_TCP)
		return dial(l, NULL, e);
	if (l->o->at && !l->o->proxy) {
		r.n = 1;
		memcpy(&r.at[0].sa, l->o->at, l->o->at_len);
		r.at[0].len = l->o->at_len;
		return dial(l, &r, e);
	}
	if (resolve_now(&l->hop, l->o->family, &r) == 1)
		return dial(l, &r, e);
	l->look_up = resolve_start(l->loop, &l->hop, l->o->family, on_hop, l, e);
	return l->look_up ? 0 : -1;
}

static int as_literal(struct addr *a, const struct sockaddr *sa, socklen_t len, struct err *e)
{
	char text[ADDR_TEXT_SIZE];

	return addr_parse(a, addr_format_sockaddr(sa, len, text), ADDR_TARGET, e);
}

/* The proxy gets an address, since names are resolved here (socks5). */
static void on_target(void *arg, const struct resolved *r, const struct err *e)
{
	struct line *l = arg;
	struct err mine = { 0 };

	l->look_up = NULL;
	l->dns_ms = lap(l);
	if (!r)
		fail(l, e);
	else if (as_literal(&l->target, (const struct sockaddr *)&r->at[0].sa, r->at[0].len, &mine) < 0 ||
		 reach_hop(l, &mine) < 0)
		fail(l, &mine);
}

static int look_up_target(struct line *l, struct err *e)
{
	struct resolved r;

	if (resolve_now(&l->target, l->o->family, &r) == 1) {
		if (r.n == 0)
			return resolve_none(&l->target, l->o->family, e);
		if (as_literal(&l->target, (const struct sockaddr *)&r.at[0].sa, r.at[0].len, e) < 0)
			return -1;
		return reach_hop(l, e);
	}
	l->look_up = resolve_start(l->loop, &l->target, l->o->family, on_target, l, e);
	return l->look_up ? 0 : -1;
}

/* --- beginning and end ------------------------------------------------------------------- */

static void fail_later(void *arg)
{
	struct line *l = arg;

	fail(l, &l->err);
}

/* What line_options make of the target. */
static int choose(struct line *l, const struct addr *target, struct err *e)
{
	const struct line_options *o = l->o;

	l->host = o->host ? o->host : target->host;
	l->target = o->resolve ? *o->resolve : *target;
	if (o->resolve && o->resolve->kind == ADDR_TCP && o->resolve->port_implied)
		l->target.port = target->port;
	if (o->at && as_literal(&l->target, o->at, o->at_len, e) < 0)
		return -1;
	if (o->proxy && l->target.kind != ADDR_TCP)
		return err_set(e, ERR_CONFIG, "a unix socket cannot be reached through a proxy");
	l->hop = o->proxy ? o->proxy->addr : l->target;
	return 0;
}

struct line *line_start(struct loop *loop, const struct addr *target, const struct line_options *o, line_fn *fn, void *arg,
	struct err *e)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	*l = (struct line){ .loop = loop, .o = o, .sock = { .fd = -1 }, .stage = CHECK_AT_DNS, .since = clock_mono_ns(),
		.dns_ms = NAN, .connect_ms = NAN, .proxy_ms = NAN, .starttls_ms = NAN, .fn = fn, .arg = arg,
		.task = { .fn = fail_later, .arg = l } };
	if (choose(l, target, e) < 0) {
		free(l);
		return NULL;
	}
	if ((o->proxy && !proxy_resolves(o->proxy) ? look_up_target(l, &l->err) : reach_hop(l, &l->err)) < 0)
		loop_defer(loop, &l->task);
	return l;
}

void line_story(const struct line *l, struct line_story *out)
{
	*out = (struct line_story){ .stage = l->stage, .dns_ms = l->dns_ms, .connect_ms = l->connect_ms,
		.proxy_ms = l->proxy_ms, .starttls_ms = l->starttls_ms, .family = l->family,
		.step = l->parley ? parley_step(l->parley) : NULL };
	memcpy(out->address, l->address, sizeof(out->address));
	addr_format(&l->hop, out->hop);
}

const uint8_t *line_rest(const struct line *l, size_t *n)
{
	*n = l->n_rest;
	return l->rest;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	loop_defer_cancel(l->loop, &l->task);
	resolve_cancel(l->look_up);
	dial_cancel(l->dial);
	loop_watch_free(l->watch);
	parley_free(l->parley);
	sock_close(&l->sock, false);
	free(l);
}

enum check_code line_code(enum check_stage stage, const struct err *e)
{
	if (e->kind == ERR_CONFIG)
		return CHECK_USAGE;
	switch (stage) {
	case CHECK_AT_DNS:
		return CHECK_DNS;
	case CHECK_AT_PROXY:
		return CHECK_PROXY;
	case CHECK_AT_STARTTLS:
		return CHECK_STARTTLS;
	default:
		return CHECK_CONNECT;
	}
}

char *line_via(const struct proxy *x, char out[LINE_VIA_SIZE])
{
	static const char *const schemes[] = { "http", "socks5", "socks5h" };
	char text[ADDR_TEXT_SIZE];

	snprintf(out, LINE_VIA_SIZE, "%s://%s", schemes[x->kind], addr_format(&x->addr, text));
	return out;
}
