/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/relay.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/net/dial.h"
#include "lib/relay/flow.h"

#define CLOSING_TICK_MS 20
#define CLOSING_MS      2000 /* without progress */

enum relay_state {
	FRONT_HANDSHAKE,
	DIALING,
	BACK_HANDSHAKE,
	FLOW,
	CLOSING, /* it is over, and the sides are being told */
};

struct relay {
	struct relay_group *group;
	struct relay *next, **prev;
	enum relay_state state;
	struct end front, back;
	struct flow flow;
	struct loop_timer *timer; /* of the state */
	struct loop_task again; /* a share of a turn was used up */
	struct dial *dial;
	struct target *target; /* the one in use or tried */
	uint64_t tried; /* bit n: target n was tried */
	bool retried; /* a target did not get on with a ticket and has its second chance */
	uint64_t started_ns, active_ns; /* active: bytes moved last */
	uint64_t seen_bytes;
	const char *stage; /* where it failed; NULL: it went well */
	bool front_authenticated;
	struct err why;
	struct session_info info;
	bool has_info;
	uint64_t closing_ns; /* progress was seen last */
	size_t unsent;
	char peer[];
};

static void dial_next(struct relay *r);

/* --- the end ------------------------------------------------------------------ */

static void report(struct relay *r)
{
	struct relay_report rep = {
		.peer = r->peer,
		.target = r->target ? r->target->name : NULL,
		.to_target_bytes = r->flow.up.bytes,
		.to_peer_bytes = r->flow.down.bytes,
		.duration_ns = clock_mono_ns() - r->started_ns,
		.info = r->has_info ? &r->info : NULL,
		.front_authenticated = r->front_authenticated,
		.stage = r->stage,
		.why = &r->why,
	};

	r->group->on_end(r->group, &rep);
}

/* The one way out. */
static void drop(struct relay *r)
{
	loop_defer_cancel(r->group->loop, &r->again);
	loop_timer_free(r->timer);
	dial_cancel(r->dial);
	end_free(&r->front);
	end_free(&r->back);
	*r->prev = r->next;
	if (r->next)
		r->next->prev = r->prev;
	report(r);
	free(r);
}

/* Takes the TLS facts down while there is a session to ask. */
static void note_info(struct relay *r)
{
	const struct session *s = r->front.tls ? r->front.tls : r->back.tls;

	if (r->has_info || !s)
		return;
	session_info(s, &r->info);
	r->has_info = r->info.version != NULL;
}

static void closing_step(struct relay *r)
{
	bool front = end_settled(&r->front), back = end_settled(&r->back);
	uint64_t now = loop_now_ns(r->group->loop);
	size_t left = end_unsent(&r->front) + end_unsent(&r->back);

	if (left < r->unsent) {
		r->unsent = left;
		r->closing_ns = now;
	}
	if (now - r->closing_ns > CLOSING_MS * NS_PER_MS)
		front = back = true;
	if (front)
		end_settle(&r->front);
	if (back)
		end_settle(&r->back);
	if (front && back)
		drop(r);
	else
		loop_timer_set(r->timer, CLOSING_TICK_MS);
}

/* Ends a relay whose sides have not both ended by themselves. r->why says how;
 * stage: where it failed. */
static void end(struct relay *r, const char *stage)
{
	r->stage = stage;
	note_info(r);
	loop_defer_cancel(r->group->loop, &r->again);
	dial_cancel(r->dial);
	r->dial = NULL;
	r->state = CLOSING;
	r->closing_ns = loop_now_ns(r->group->loop);
	r->unsent = SIZE_MAX;
	if (r->front.tls)
		session_abort(r->front.tls);
	if (r->back.tls)
		session_abort(r->back.tls);
	closing_step(r);
}

/* --- timers --------------------------------------------------------------------- */

static void arm(struct relay *r, uint64_t ms)
{
	if (ms)
		loop_timer_set(r->timer, ms);
	else
		loop_timer_cancel(r->timer);
}

static void idle_check(struct relay *r)
{
	uint64_t idle_ms = (loop_now_ns(r->group->loop) - r->active_ns) / NS_PER_MS;
	uint64_t limit = r->group->setup->idle_timeout_ms;
	char text[32];

	if (idle_ms < limit) {
		arm(r, limit - idle_ms);
		return;
	}
	err_set(&r->why, ERR_TIMEOUT, "timed out: idle for %s (--idle-timeout)", units_duration(limit, text, sizeof(text)));
	end(r, "flow");
}

static void on_timer(void *arg)
{
	struct relay *r = arg;
	char text[32];

	switch (r->state) {
	case FRONT_HANDSHAKE:
	case BACK_HANDSHAKE:
		err_set(&r->why, ERR_TIMEOUT, "timed out: no handshake within %s (--handshake-timeout)",
			units_duration(r->group->setup->handshake_timeout_ms, text, sizeof(text)));
		end(r, r->state == FRONT_HANDSHAKE ? "handshake" : "target-handshake");
		break;
	case FLOW:
		idle_check(r);
		break;
	case CLOSING:
		closing_step(r);
		break;
	case DIALING: /* the dial has its own */
		break;
	}
}

/* --- the flow -------------------------------------------------------------------- */

static void run_flow(struct relay *r)
{
	enum flow_status status = flow_run(&r->flow, &r->why);

	if (r->flow.up.bytes + r->flow.down.bytes != r->seen_bytes) {
		r->seen_bytes = r->flow.up.bytes + r->flow.down.bytes;
		r->active_ns = loop_now_ns(r->group->loop);
	}
	switch (status) {
	case FLOW_WAIT:
		break;
	case FLOW_MORE:
		loop_defer(r->group->loop, &r->again);
		break;
	case FLOW_ENDED:
		err_set(&r->why, ERR_NONE, "both sides ended");
		note_info(r);
		drop(r);
		break;
	case FLOW_LEFT:
		err_set(&r->why, ERR_NONE, "both sides ended; the last one without close_notify");
		end(r, NULL);
		break;
	case FLOW_FAILED:
		end(r, "flow");
		break;
	}
}

static void run_again(void *arg)
{
	run_flow(arg);
}

static void start_flow(struct relay *r)
{
	r->state = FLOW;
	note_info(r);
	flow_init(&r->flow, &r->front, &r->back, r->group->setup->allow_truncation);
	r->active_ns = loop_now_ns(r->group->loop);
	arm(r, r->group->setup->idle_timeout_ms);
	run_flow(r);
}

/* --- the back -------------------------------------------------------------------- */

static void on_ready(struct relay *r);

static void on_back(void *arg, unsigned ready)
{
	struct relay *r = arg;

	end_ready(&r->back, ready);
	on_ready(r);
}

static bool targets_left(const struct relay *r)
{
	unsigned n = r->group->setup->n_targets;

	return r->tried != (n == 64 ? ~0ULL : (1ULL << n) - 1);
}

/* A server that changed its ways (another version, another key) may fail on a
 * ticket of before, where it should just not resume. Nothing was sent yet, so
 * the target can be asked again as if it were new. */
static bool worth_a_retry(struct relay *r)
{
	if (r->retried || !r->back.tls || !session_offered_ticket(r->back.tls) || r->why.kind == ERR_TIMEOUT)
		return false;
	r->retried = true;
	tickets_clear(r->target->peer.tickets);
	r->tried &= ~(1ULL << (r->target - r->group->setup->targets));
	return true;
}

static void target_failed(struct relay *r, const char *stage)
{
	struct err ignored;

	if (worth_a_retry(r)) {
		end_free(&r->back);
		dial_next(r);
		return;
	}
	target_mark_down(r->target, loop_now_ns(r->group->loop));
	if (!targets_left(r)) {
		end(r, stage);
		return;
	}
	if (r->back.tls)
		session_flush(r->back.tls, &ignored); /* its alert, as far as it goes */
	end_free(&r->back);
	dial_next(r);
}

static void back_handshake(struct relay *r)
{
	int n = session_handshake(r->back.tls, &r->why);

	if (n == SOCK_FAILED)
		target_failed(r, "target-handshake");
	else if (n == 0)
		start_flow(r);
}

static void back_connected(struct relay *r, int fd)
{
	struct relay_group *g = r->group;

	end_init(&r->back, fd);
	if (end_watch(&r->back, g->loop, on_back, r, &r->why) < 0) {
		end(r, "connect");
		return;
	}
	if (!g->setup->back_tls) {
		start_flow(r);
		return;
	}
	r->back.tls = session_new(g->setup->back_tls, &r->back.sock, g->pool, &r->target->peer, &r->why);
	if (!r->back.tls) {
		end(r, "target-handshake");
		return;
	}
	r->state = BACK_HANDSHAKE;
	arm(r, g->setup->handshake_timeout_ms);
	back_handshake(r);
}

static void on_dialed(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e)
{
	struct relay *r = arg;

	(void)sa, (void)len;
	r->dial = NULL;
	if (fd < 0) {
		r->why = *e;
		target_failed(r, "connect");
		return;
	}
	target_mark_up(r->target);
	back_connected(r, fd);
}

static void dial_next(struct relay *r)
{
	struct relay_group *g = r->group;
	struct dial_options o = { .timeout_ms = g->setup->connect_timeout_ms };
	unsigned start = 0, k;
	int fd;

	r->state = DIALING;
	r->why.kind = ERR_NONE;
	loop_timer_cancel(r->timer);
	if (g->setup->balance == RELAY_ROUNDROBIN)
		start = atomic_fetch_add_explicit(&g->setup->turn, 1, memory_order_relaxed) % g->setup->n_targets;
	k = target_choose(g->setup->targets, g->setup->n_targets, start, r->tried, loop_now_ns(g->loop));
	r->tried |= 1ULL << k;
	r->target = &g->setup->targets[k];
	if (r->target->addr.kind == ADDR_STDIO) {
		fd = g->stdio_fd;
		g->stdio_fd = -1;
		back_connected(r, fd);
		return;
	}
	r->dial = dial_start(g->loop, &r->target->addr, &o, on_dialed, r, &r->why);
	if (!r->dial)
		end(r, "connect");
}

/* --- the front --------------------------------------------------------------------- */

static void front_handshake(struct relay *r)
{
	int n = session_handshake(r->front.tls, &r->why);

	if (n == SOCK_FAILED) {
		end(r, "handshake");
	} else if (n == 0) {
		r->front_authenticated = true;
		dial_next(r);
	}
}

static void on_ready(struct relay *r)
{
	switch (r->state) {
	case FRONT_HANDSHAKE:
		front_handshake(r);
		break;
	case BACK_HANDSHAKE:
		back_handshake(r);
		break;
	case FLOW:
		run_flow(r);
		break;
	case CLOSING:
		closing_step(r);
		break;
	case DIALING: /* kept for the flow */
		break;
	}
}

static void on_front(void *arg, unsigned ready)
{
	struct relay *r = arg;

	end_ready(&r->front, ready);
	if (r->state != BACK_HANDSHAKE)
		on_ready(r);
}

static int open_front(struct relay *r, int fd)
{
	struct relay_group *g = r->group;

	end_init(&r->front, fd);
	r->timer = loop_timer_new(g->loop, on_timer, r);
	if (!r->timer)
		return err_set(&r->why, ERR_RUNTIME, "no memory");
	if (end_watch(&r->front, g->loop, on_front, r, &r->why) < 0)
		return -1;
	if (!g->setup->front_tls)
		return 0;
	r->front.tls = session_new(g->setup->front_tls, &r->front.sock, g->pool, NULL, &r->why);
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
	r->group = g;
	r->started_ns = clock_mono_ns();
	r->again.fn = run_again;
	r->again.arg = r;
	r->back.sock.fd = -1;
	r->next = g->first;
	r->prev = &g->first;
	if (r->next)
		r->next->prev = &r->next;
	g->first = r;
	if (open_front(r, fd) < 0) {
		r->stage = "handshake";
		drop(r);
	} else if (r->front.tls) {
		r->state = FRONT_HANDSHAKE;
		arm(r, g->setup->handshake_timeout_ms);
	} else {
		dial_next(r);
	}
}

void relay_abort_all(struct relay_group *g)
{
	struct relay *r, *next;

	for (r = g->first; r; r = next) {
		next = r->next;
		if (r->state != CLOSING) {
			r->why.kind = ERR_NONE;
			err_set(&r->why, ERR_TIMEOUT, "ended by the shutdown (--drain)");
			r->stage = "drain";
			note_info(r);
		}
		end_abort(&r->front);
		end_abort(&r->back);
		drop(r);
	}
}
