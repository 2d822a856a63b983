/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The second look at sockets that gave less than was asked for. Nearly always that
 * was all, and the next bytes come with an edge; what does not is found here. */

#include "lib/relay/relay_int.h"

#define LOOK_MS 10 /* how late a reset may be seen that came together with data */

static void put(struct relay *r)
{
	struct relay_group *g = r->group;

	r->look_next = g->unsure;
	r->look_prev = &g->unsure;
	if (r->look_next)
		r->look_next->look_prev = &r->look_next;
	g->unsure = r;
}

static void take_out(struct relay *r)
{
	if (!r->look_prev)
		return;
	*r->look_prev = r->look_next;
	if (r->look_next)
		r->look_next->look_prev = r->look_prev;
	r->look_prev = NULL;
}

static void look(struct relay *r)
{
	bool front = sock_look_again(&r->front.sock), back = sock_look_again(&r->back.sock);

	if (front || back)
		relay_on_ready(r);
}

static void on_look(void *arg)
{
	struct relay_group *g = arg;
	struct relay *now = g->unsure, *r;

	g->unsure = NULL; /* who comes back waits for the next time */
	if (now)
		now->look_prev = &now;
	while ((r = now) != NULL) {
		take_out(r);
		look(r);
	}
}

void relay_look_start(struct relay *r)
{
	struct relay_group *g = r->group;

	if (!g->look)
		g->look = loop_timer_new(g->loop, on_look, g);
	r->front.sock.sparing = r->back.sock.sparing = g->look && loop_tells_end(g->loop);
}

void relay_look_later(struct relay *r)
{
	if (r->look_prev || (!r->front.sock.unsure && !r->back.sock.unsure))
		return;
	if (!r->group->unsure)
		loop_timer_set(r->group->look, LOOK_MS);
	put(r);
}

void relay_look_stop(struct relay *r)
{
	take_out(r);
	r->front.sock.sparing = r->back.sock.sparing = false;
	sock_look_again(&r->front.sock);
	sock_look_again(&r->back.sock);
}

void relay_group_free(struct relay_group *g)
{
	loop_timer_free(g->look);
	g->look = NULL;
}
