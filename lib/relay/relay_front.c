/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A relay's beginning: who came in, and on which thread it goes on. */

#include "lib/relay/relay_int.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define SUSPICIOUS_NS (10 * NS_PER_S)

static void on_front(void *arg, unsigned ready);

/* The rest of the time for the handshake, which began elsewhere. */
static int arm_again(struct relay *r)
{
	uint64_t limit = r->group->setup->handshake_timeout_ms;
	uint64_t spent = (clock_mono_ns() - r->started_ns) / NS_PER_MS;

	if (!limit)
		return 0;
	return relay_arm(r, spent < limit ? limit - spent : 1);
}

/* On the thread of the group that it came to. */
static void arrive(void *arg)
{
	struct relay *r = arg;
	bool shaking = r->state == FRONT_HANDSHAKE;

	relay_link(r, r->group);
	if (r->group->aborted) {
		relay_abort(r);
	} else if (end_watch(&r->front, r->group->loop, on_front, r, relay_why(r)) < 0) {
		relay_end(r, "connect");
	} else if (shaking && arm_again(r) < 0) {
		err_set(relay_why(r), ERR_RUNTIME, "no memory");
		relay_end(r, "handshake");
	} else if (shaking) {
		relay_front_handshake(r);
	} else {
		relay_dial(r);
	}
}

/* Goes on on another thread. */
static void hop(struct relay *r, struct relay_group *to, enum relay_state state)
{
	relay_unlink(r);
	loop_timer_free(r->timer);
	r->timer = NULL;
	end_unwatch(&r->front);
	session_move(r->front.tls, to->pool);
	r->state = state;
	r->group = to;
	r->hop.fn = arrive;
	r->hop.arg = r;
	loop_post(to->loop, &r->hop);
}

/* The peer is authenticated: handshakes may have a thread of their own, so that
 * they do not stall what flows. */
static void place(struct relay *r)
{
	struct relay_group *g = r->group, *to = g->place ? g->place(g) : g;

	if (to == g)
		relay_dial(r);
	else
		hop(r, to, DIALING);
}

/* A ticket that is of no use costs a signature on this thread. Where they come in numbers,
 * after a restart or from somebody who means no good, it is one such signature a while. */
static void note_resumption(struct relay *r)
{
	struct relay_group *g = r->group;

	if (g->sign && session_resumes_not(r->front.tls))
		g->suspicious_ns = loop_now_ns(g->loop) + SUSPICIOUS_NS;
}

void relay_front_handshake(struct relay *r)
{
	int n = session_handshake(r->front.tls, relay_why(r));

	if (n == SESSION_SIGNS) {
		hop(r, r->group->sign(r->group), FRONT_HANDSHAKE);
		return;
	}
	note_resumption(r);
	if (n == SOCK_FAILED)
		relay_end(r, "handshake");
	else if (n == 0)
		place(r);
}

static void on_front(void *arg, unsigned ready)
{
	struct relay *r = arg;

	end_ready(&r->front, ready);
	if (r->state != BACK_HANDSHAKE)
		relay_on_ready(r);
}

static int open_front(struct relay *r, int fd)
{
	struct relay_group *g = r->group;

	end_init(&r->front, fd);
	if (end_watch(&r->front, g->loop, on_front, r, relay_why(r)) < 0)
		return -1;
	if (!g->setup->front_tls)
		return 0;
	if (relay_arm(r, g->setup->handshake_timeout_ms) < 0)
		return err_set(relay_why(r), ERR_RUNTIME, "no memory");
	r->front.tls = session_new(g->setup->front_tls, &r->front.sock, g->pool, NULL, relay_why(r));
	if (r->front.tls && g->sign)
		session_stop_to_sign(r->front.tls, loop_now_ns(g->loop) >= g->suspicious_ns);
	return r->front.tls ? 0 : -1;
}

static void refuse_start(struct relay_group *g, int fd, const char *peer)
{
	struct err e = { .kind = ERR_RUNTIME, .msg = "no memory" };
	struct relay_report rep = { .peer = peer, .stage = "handshake", .why = &e };
	struct sock s = { .fd = fd };

	sock_close(&s, true);
	g->on_end(g, &rep);
}

void relay_start(struct relay_group *g, int fd, const char *peer)
{
	size_t n = strlen(peer) + 1;
	struct relay *r = calloc(1, sizeof(*r) + n);

	if (!r) {
		refuse_start(g, fd, peer);
		return;
	}
	memcpy(r->peer, peer, n);
	r->started_ns = clock_mono_ns();
	r->again.fn = relay_run_again;
	r->again.arg = r;
	r->back.sock.fd = -1;
	relay_link(r, g);
	if (open_front(r, fd) < 0) {
		r->stage = "handshake";
		relay_drop(r);
	} else if (r->front.tls) {
		r->state = FRONT_HANDSHAKE;
	} else {
		relay_dial(r);
	}
}
