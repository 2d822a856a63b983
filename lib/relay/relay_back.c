/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A relay's other side: the targets in turn, and the handshake with one. */

#include "lib/relay/relay_int.h"

#include "lib/tls/tickets.h"

static void on_back(void *arg, unsigned ready)
{
	struct relay *r = arg;

	end_ready(&r->back, ready);
	relay_on_ready(r);
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
	if (r->retried || !r->back.tls || !session_offered_ticket(r->back.tls) || relay_why(r)->kind == ERR_TIMEOUT)
		return false;
	r->retried = true;
	tickets_clear(r->target->peer.tickets);
	r->tried &= ~(1ULL << (r->target - r->group->setup->targets));
	return true;
}

void relay_target_failed(struct relay *r, const char *stage)
{
	struct err ignored;

	if (worth_a_retry(r)) {
		end_free(&r->back);
		relay_dial(r);
		return;
	}
	target_mark_down(r->target, loop_now_ns(r->group->loop));
	if (!targets_left(r)) {
		relay_end(r, stage);
		return;
	}
	if (r->back.tls)
		session_flush(r->back.tls, &ignored); /* its alert, as far as it goes */
	end_free(&r->back);
	relay_dial(r);
}

void relay_back_handshake(struct relay *r)
{
	int n = session_handshake(r->back.tls, relay_why(r));

	if (n == SOCK_FAILED)
		relay_target_failed(r, "target-handshake");
	else if (n == 0)
		relay_start_flow(r);
}

static void back_connected(struct relay *r, int fd)
{
	struct relay_group *g = r->group;

	end_init(&r->back, fd);
	if (end_watch(&r->back, g->loop, on_back, r, relay_why(r)) < 0) {
		relay_end(r, "connect");
		return;
	}
	if (!g->setup->back_tls) {
		relay_start_flow(r);
		return;
	}
	r->back.tls = session_new(g->setup->back_tls, &r->back.sock, g->pool, &r->target->peer, relay_why(r));
	if (!r->back.tls) {
		relay_target_failed(r, "target-handshake");
		return;
	}
	r->state = BACK_HANDSHAKE;
	if (relay_arm(r, g->setup->handshake_timeout_ms) < 0) {
		err_set(relay_why(r), ERR_RUNTIME, "no memory");
		relay_end(r, "target-handshake");
		return;
	}
	relay_back_handshake(r);
}

static void on_dialed(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e)
{
	struct relay *r = arg;

	(void)sa, (void)len;
	r->dial = NULL;
	if (fd < 0) {
		*relay_why(r) = *e;
		relay_target_failed(r, "connect");
		return;
	}
	target_mark_up(r->target);
	back_connected(r, fd);
}

void relay_dial(struct relay *r)
{
	struct relay_group *g = r->group;
	struct dial_options o = { .timeout_ms = g->setup->connect_timeout_ms };
	unsigned start = 0, k;
	int fd;

	r->state = DIALING;
	relay_why(r)->kind = ERR_NONE;
	relay_arm(r, 0);
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
	r->dial = dial_start(g->loop, &r->target->addr, &o, on_dialed, r, relay_why(r));
	if (!r->dial)
		relay_end(r, "connect");
}
