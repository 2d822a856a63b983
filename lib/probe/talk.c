/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/talk.h"

#include <errno.h>

#include "lib/net/stdio.h"
#include "lib/relay/pipe.h"

struct talk {
	struct loop *loop;
	struct sock *sock; /* of the session, which alone uses it */
	struct loop_watch *watch;
	struct stdio *stdio;
	struct end near; /* standard input and output */
	struct end peer; /* the session; a pipe needs no more of a TLS end */
	struct pipe up, down;
	struct loop_task again;
	struct talk_result *result;
	bool over;
};

/* The first reason is the one. */
static void end(struct talk *t, enum talk_end how, const struct err *e)
{
	if (t->over)
		return;
	t->over = true;
	t->result->end = how;
	if (e)
		t->result->e = *e;
	loop_stop(t->loop);
}

/* --- the two directions --------------------------------------------------------- */

/* In the middle of a record it is ERR_IO, but no call on the socket failed. */
static bool is_truncation(const struct talk *t, const struct err *e)
{
	return e->kind == ERR_TRUNCATED || (e->kind == ERR_IO && !t->sock->error);
}

/* Each returns whether there may be more to do at once. */
static bool hear(struct talk *t)
{
	struct err e = { 0 };

	switch (pipe_run(&t->down, &e)) {
	case PIPE_MORE:
		return true;
	case PIPE_WAIT:
		break;
	case PIPE_DONE:
		end(t, TALK_ENDED, NULL);
		break;
	case PIPE_FROM_FAILED:
		end(t, is_truncation(t, &e) ? TALK_TRUNCATED : TALK_FAILED, &e);
		break;
	case PIPE_TO_FAILED:
		end(t, TALK_FAILED, &e);
		break;
	}
	return false;
}

static bool say(struct talk *t)
{
	struct err e = { 0 };

	if (t->over || t->up.done || t->up.broken)
		return false;
	switch (pipe_run(&t->up, &e)) {
	case PIPE_MORE:
		return true;
	case PIPE_WAIT:
	case PIPE_DONE:
		break;
	case PIPE_FROM_FAILED:
		end(t, TALK_FAILED, &e);
		break;
	case PIPE_TO_FAILED:
		/* only of a peer that is gone an end can still be read */
		t->up.broken = e.kind == ERR_IO && (t->sock->error == EPIPE || t->sock->error == ECONNRESET);
		if (!t->up.broken)
			end(t, TALK_FAILED, &e);
		return t->up.broken;
	}
	return false;
}

/* When standard output fails, the near end's input ends as well: who looks first does
 * not tell the peer that it has had everything. */
static bool may_go_on(struct talk *t)
{
	if (stdio_failed(t->stdio))
		end(t, TALK_FAILED, NULL); /* finish says why */
	return !t->over;
}

/* The peer first: when it has ended, there is nobody to say more to; and what reading
 * has made the session answer goes out with the next that is sent. */
static void step(void *arg)
{
	struct talk *t = arg;
	bool more = may_go_on(t) && hear(t);

	if (may_go_on(t))
		more |= say(t);
	if (more && !t->over)
		loop_defer(t->loop, &t->again);
}

static void on_peer(void *arg, unsigned ready)
{
	struct talk *t = arg;

	t->sock->readable |= (ready & LOOP_READ) != 0;
	t->sock->writable |= (ready & LOOP_WRITE) != 0;
	step(t);
}

static void on_near(void *arg, unsigned ready)
{
	struct talk *t = arg;

	end_ready(&t->near, ready);
	step(t);
}

/* --- beginning and end ------------------------------------------------------------ */

static int begin(struct talk *t, int in, int out, const struct talk_options *o, struct err *e)
{
	const struct stdio_options so = { .crlf = o->crlf, .ignore_eof = o->ignore_eof };
	int fd;

	t->watch = loop_watch_new(t->loop, t->sock->fd, on_peer, t, e);
	if (!t->watch)
		return -1;
	t->stdio = stdio_open(in, out, &so, &fd, e);
	if (!t->stdio)
		return -1;
	end_init(&t->near, fd);
	if (end_watch(&t->near, t->loop, on_near, t, e) < 0)
		return -1;
	/* The session may hold data that came along with the handshake, and what the
	 * socket has may have been told to another watch: nobody tells of it again. */
	t->sock->readable = t->sock->writable = true;
	loop_defer(t->loop, &t->again);
	return 0;
}

/* The last word to the peer. */
static void part(const struct talk *t)
{
	struct err ignored;

	if (t->result->end == TALK_ENDED)
		session_close_notify(t->peer.tls, &ignored);
	else
		session_abort(t->peer.tls);
	session_flush(t->peer.tls, &ignored);
}

/* Waits for standard output. When that fails, it counts more than all else. */
static void finish(struct talk *t)
{
	struct err e;

	loop_defer_cancel(t->loop, &t->again);
	loop_watch_free(t->watch);
	end_free(&t->near);
	if (!t->stdio || stdio_finish(t->stdio, &e) == 0)
		return;
	t->result->end = TALK_FAILED;
	t->result->e = e;
	t->result->e.kind = ERR_RUNTIME; /* no connection broke */
}

int talk_run(struct loop *l, struct session *s, struct sock *sock, int in, int out,
	const struct talk_options *o, struct talk_result *result, struct err *e)
{
	struct talk t = {
		.loop = l,
		.sock = sock,
		.near = { .sock = { .fd = -1 } },
		.peer = { .sock = { .fd = -1 }, .tls = s },
		.up = { .from = &t.near, .to = &t.peer },
		.down = { .from = &t.peer, .to = &t.near },
		.again = { .fn = step, .arg = &t },
		.result = result,
	};
	int r;

	*result = (struct talk_result){ .end = TALK_FAILED };
	r = begin(&t, in, out, o, e);
	if (r == 0) {
		r = loop_run(l, e);
		if (!t.over)
			err_set(&result->e, ERR_RUNTIME, "the talk was stopped");
		part(&t);
	}
	finish(&t);
	result->sent_bytes = t.up.bytes;
	result->received_bytes = t.down.bytes;
	return r;
}
