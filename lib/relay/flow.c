/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/flow.h"

void flow_init(struct flow *f, struct end *front, struct end *back, bool allow_truncation, bool strict)
{
	*f = (struct flow){
		.up = { .from = front, .to = back },
		.down = { .from = back, .to = front },
		.allow_truncation = allow_truncation,
		.strict = strict,
	};
}

void flow_lend(struct flow *f, struct kpipe_pool *kpipes)
{
	f->up.kpipes = f->down.kpipes = kpipes;
}

void flow_release(struct flow *f)
{
	pipe_release(&f->up);
	pipe_release(&f->down);
}

/* The first failure is the cause; what follows from it is not. */
static void say(const struct flow *f, const struct pipe *p, bool from, const struct err *e, struct err *why)
{
	const char *who = (p == &f->up) == from ? "the peer" : "the target";

	if (why->kind == ERR_NONE)
		err_set(why, e->kind, "%s %s: %s", from ? "from" : "to", who, e->msg);
}

static enum flow_status from_failed(struct flow *f, struct pipe *p, const struct err *e, struct err *why);

static enum flow_status run(struct flow *f, struct pipe *p, struct err *why)
{
	struct err e = { 0 };

	if (p->done || p->broken)
		return FLOW_WAIT;
	p->last = p == &f->up ? f->down.done : f->up.done;
	switch (pipe_run(p, &e)) {
	case PIPE_MORE:
		return FLOW_MORE;
	case PIPE_FROM_FAILED:
		return from_failed(f, p, &e, why);
	case PIPE_TO_FAILED:
		say(f, p, false, &e, why);
		p->broken = true;
		return e.kind == ERR_IO ? FLOW_WAIT : FLOW_FAILED;
	case PIPE_WAIT:
	case PIPE_DONE:
		break;
	}
	return FLOW_WAIT;
}

static bool forgiven(const struct flow *f, const struct pipe *p)
{
	return !f->strict && p == &f->up && f->down.done && f->down.bytes && f->up.bytes == f->up_at_done;
}

static enum flow_status from_failed(struct flow *f, struct pipe *p, const struct err *e, struct err *why)
{
	if (e->kind == ERR_TRUNCATED && f->allow_truncation) {
		p->ended = true;
		return run(f, p, why);
	}
	if (e->kind == ERR_TRUNCATED && forgiven(f, p))
		return FLOW_LEFT;
	say(f, p, true, e, why);
	return FLOW_FAILED;
}

enum flow_status flow_run(struct flow *f, struct err *why)
{
	enum flow_status up = run(f, &f->up, why), down;

	if (up != FLOW_WAIT && up != FLOW_MORE)
		return up;
	if (!f->down.done)
		f->up_at_done = f->up.bytes;
	down = run(f, &f->down, why);
	if (down != FLOW_WAIT)
		return down;
	if ((!f->up.done && !f->up.broken) || (!f->down.done && !f->down.broken))
		return up;
	return f->up.broken || f->down.broken ? FLOW_FAILED : FLOW_ENDED;
}
