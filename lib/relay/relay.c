/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/relay_int.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"

#define CLOSING_TICK_MS 20
#define CLOSING_MS      2000 /* without progress */
#define BROKEN_MS       5000 /* without progress, for what a side that is gone had said */


/* --- the end ------------------------------------------------------------------ */

/* While there is a session to ask. The front's TLS, else the back's. */
static void report(struct relay *r)
{
	const struct session *s = r->front.tls ? r->front.tls : r->back.tls;
	struct session_info info = { 0 };
	struct relay_report rep = {
		.peer = r->peer,
		.target = r->target ? r->target->name : NULL,
		.to_target_bytes = r->flow.up.bytes,
		.to_peer_bytes = r->flow.down.bytes,
		.duration_ns = clock_mono_ns() - r->started_ns,
		.stage = r->stage,
		.why = relay_why(r),
	};

	if (s)
		session_info(s, &info);
	rep.info = info.version ? &info : NULL;
	r->group->on_end(r->group, &rep);
}

struct err *relay_why(struct relay *r)
{
	static _Thread_local struct err no_memory;

	if (!r->why)
		r->why = calloc(1, sizeof(*r->why));
	if (r->why)
		return r->why;
	err_set(&no_memory, ERR_RUNTIME, "no memory");
	return &no_memory;
}

void relay_link(struct relay *r, struct relay_group *g)
{
	r->group = g;
	r->next = g->first;
	r->prev = &g->first;
	if (r->next)
		r->next->prev = &r->next;
	g->first = r;
}

void relay_unlink(struct relay *r)
{
	*r->prev = r->next;
	if (r->next)
		r->next->prev = r->prev;
}

/* The one way out. */
void relay_drop(struct relay *r)
{
	relay_look_stop(r);
	loop_defer_cancel(r->group->loop, &r->again);
	loop_timer_free(r->timer);
	dial_cancel(r->dial);
	flow_release(&r->flow);
	end_unwatch(&r->front);
	end_unwatch(&r->back);
	sock_close(&r->front.sock, false);
	sock_close(&r->back.sock, false);
	relay_unlink(r);
	report(r);
	end_free(&r->front);
	end_free(&r->back);
	free(r->why);
	free(r);
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
		relay_drop(r);
	else if (relay_arm(r, CLOSING_TICK_MS) < 0)
		relay_drop(r);
}

/* Ends a relay whose sides have not both ended by themselves. relay_why says how;
 * stage: where it failed. */
void relay_end(struct relay *r, const char *stage)
{
	r->stage = stage;
	relay_look_stop(r);
	loop_defer_cancel(r->group->loop, &r->again);
	dial_cancel(r->dial);
	r->dial = NULL;
	flow_release(&r->flow);
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

static void on_timer(void *arg);

int relay_arm(struct relay *r, uint64_t ms)
{
	if (!ms) {
		loop_timer_free(r->timer);
		r->timer = NULL;
		return 0;
	}
	if (!r->timer)
		r->timer = loop_timer_new(r->group->loop, on_timer, r);
	if (!r->timer)
		return -1;
	loop_timer_set(r->timer, ms);
	return 0;
}

/* One side takes no more; the other may still have what that one said before. */
static bool is_broken(const struct relay *r)
{
	return r->flow.up.broken || r->flow.down.broken;
}

static void idle_check(struct relay *r)
{
	uint64_t idle_ms = (loop_now_ns(r->group->loop) - r->active_ns) / NS_PER_MS;
	uint64_t limit = is_broken(r) ? BROKEN_MS : r->group->setup->idle_timeout_ms;
	char text[32];

	if (idle_ms < limit) {
		relay_arm(r, limit - idle_ms);
		return;
	}
	if (!is_broken(r))
		err_set(relay_why(r), ERR_TIMEOUT, "timed out: idle for %s (--idle-timeout)",
			units_duration(limit, text, sizeof(text)));
	relay_end(r, "flow");
}

static void on_timer(void *arg)
{
	struct relay *r = arg;
	bool front = r->state == FRONT_HANDSHAKE;
	char text[32];

	switch (r->state) {
	case FRONT_HANDSHAKE:
	case BACK_HANDSHAKE:
		err_set(relay_why(r), ERR_TIMEOUT, "timed out: no handshake within %s (--handshake-timeout)",
			units_duration(r->group->setup->handshake_timeout_ms, text, sizeof(text)));
		if (front)
			relay_end(r, "handshake");
		else
			relay_target_failed(r, "target-handshake");
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

/* The reason is kept when there is one. */
static enum flow_status flow_step(struct relay *r)
{
	struct err none, *why = r->why ? r->why : &none;
	enum flow_status status;

	if (why == &none)
		none.kind = ERR_NONE; /* no more of it: this is the data path */
	status = flow_run(&r->flow, why);
	if (why == &none && none.kind != ERR_NONE)
		*relay_why(r) = none;
	return status;
}

static void run_flow(struct relay *r)
{
	bool was_broken = is_broken(r);
	enum flow_status status = flow_step(r);

	if (is_broken(r) && !was_broken) {
		r->active_ns = loop_now_ns(r->group->loop);
		if (relay_arm(r, BROKEN_MS) < 0)
			status = FLOW_FAILED;
	}
	if (r->flow.up.bytes + r->flow.down.bytes != r->seen_bytes) {
		r->seen_bytes = r->flow.up.bytes + r->flow.down.bytes;
		r->active_ns = loop_now_ns(r->group->loop);
	}
	switch (status) {
	case FLOW_WAIT:
		relay_look_later(r);
		break;
	case FLOW_MORE:
		loop_defer(r->group->loop, &r->again);
		break;
	case FLOW_ENDED:
		err_set(relay_why(r), ERR_NONE, "both sides ended");
		relay_drop(r);
		break;
	case FLOW_LEFT:
		err_set(relay_why(r), ERR_NONE, "both sides ended; the last one without close_notify");
		relay_end(r, NULL);
		break;
	case FLOW_FAILED:
		relay_end(r, "flow");
		break;
	}
}

void relay_run_again(void *arg)
{
	run_flow(arg);
}

void relay_start_flow(struct relay *r)
{
	r->state = FLOW;
	flow_init(&r->flow, &r->front, &r->back, r->group->setup->allow_truncation,
		r->target->addr.kind == ADDR_STDIO);
	free(r->why);
	r->why = NULL;
	flow_lend(&r->flow, r->group->kpipes);
	relay_look_start(r);
	r->active_ns = loop_now_ns(r->group->loop);
	if (relay_arm(r, r->group->setup->idle_timeout_ms) < 0) {
		err_set(relay_why(r), ERR_RUNTIME, "no memory");
		relay_end(r, "flow");
		return;
	}
	run_flow(r);
}

/* --- dispatch -------------------------------------------------------------------- */

void relay_on_ready(struct relay *r)
{
	switch (r->state) {
	case FRONT_HANDSHAKE:
		relay_front_handshake(r);
		break;
	case BACK_HANDSHAKE:
		relay_back_handshake(r);
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

void relay_abort(struct relay *r)
{
	if (r->state != CLOSING) {
		relay_why(r)->kind = ERR_NONE;
		err_set(relay_why(r), ERR_TIMEOUT, "ended by the shutdown (--drain)");
		r->stage = "drain";
	}
	end_abort(&r->front);
	end_abort(&r->back);
	relay_drop(r);
}

void relay_abort_all(struct relay_group *g)
{
	struct relay *r, *next;

	g->aborted = true;
	for (r = g->first; r; r = next) {
		next = r->next;
		relay_abort(r);
	}
}
