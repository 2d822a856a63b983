/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/pipe.h"

#include <errno.h>
#include <string.h>

#include "lib/relay/splice.h"

#define PIPE_SHARE (1024 * 1024) /* bytes in one turn, so that other connections have theirs */
#define PIPE_RUNS  64 /* as many as a plane opens ahead: small records go out in one call */

/* Steps return PIPE_MORE when they moved something. */

static enum pipe_status flush_to(struct pipe *p, struct err *e)
{
	int r = p->to->tls ? session_flush(p->to->tls, e) : 0;

	if (r == 0)
		return PIPE_MORE;
	return r == SOCK_BLOCKED ? PIPE_WAIT : PIPE_TO_FAILED;
}

static enum pipe_status source_said(struct pipe *p, long n, struct err *e)
{
	if (n == SOCK_BLOCKED)
		return PIPE_WAIT;
	if (n == SOCK_FAILED) {
		if (!p->from->tls)
			err_sys(e, ERR_IO, p->from->sock.error, "the connection broke");
		return PIPE_FROM_FAILED;
	}
	p->ended = true;
	return PIPE_MORE;
}

/* Plain to TLS: read where it is sealed. */
static enum pipe_status seal_step(struct pipe *p, struct err *e)
{
	struct iovec iov[PIPE_RUNS];
	size_t total = 0;
	long n;
	int runs;

	if (!p->from->sock.readable && !p->from->sock.eof)
		return PIPE_WAIT;
	runs = session_reserve(p->to->tls, iov, PIPE_RUNS, &total);
	if (runs < 0) {
		err_set(e, ERR_RUNTIME, "no memory");
		return PIPE_TO_FAILED;
	}
	if (runs == 0)
		return PIPE_WAIT;
	n = sock_readv(&p->from->sock, iov, runs, total);
	if (session_commit(p->to->tls, n > 0 ? (size_t)n : 0, n == (long)total, e) < 0)
		return PIPE_TO_FAILED;
	if (n <= 0)
		return source_said(p, n, e);
	p->bytes += (uint64_t)n;
	return flush_to(p, e);
}

/* TLS to plain: write from where it was opened. */
static enum pipe_status open_step(struct pipe *p, struct err *e)
{
	struct iovec iov[PIPE_RUNS];
	size_t total;
	long n;
	int runs;

	if (!p->to->sock.writable)
		return PIPE_WAIT;
	n = session_fill(p->from->tls, e);
	if (n <= 0)
		return source_said(p, n, e);
	runs = session_peek(p->from->tls, iov, PIPE_RUNS, &total);
	n = sock_writev(&p->to->sock, iov, runs, total);
	if (n == SOCK_BLOCKED)
		return PIPE_WAIT;
	if (n < 0) {
		err_sys(e, ERR_IO, p->to->sock.error, "cannot send");
		return PIPE_TO_FAILED;
	}
	session_consume(p->from->tls, (size_t)n);
	p->bytes += (uint64_t)n;
	return PIPE_MORE;
}

static size_t copy_runs(const struct iovec *to, int n_to, const struct iovec *from, int n_from)
{
	size_t done = 0, to_off = 0, from_off = 0, n;
	int i = 0, k = 0;

	while (i < n_to && k < n_from) {
		n = to[i].iov_len - to_off;
		if (n > from[k].iov_len - from_off)
			n = from[k].iov_len - from_off;
		memcpy((char *)to[i].iov_base + to_off, (const char *)from[k].iov_base + from_off, n);
		done += n;
		to_off += n;
		from_off += n;
		if (to_off == to[i].iov_len)
			i++, to_off = 0;
		if (from_off == from[k].iov_len)
			k++, from_off = 0;
	}
	return done;
}

/* TLS to TLS: the one copy. */
static enum pipe_status reseal_step(struct pipe *p, struct err *e)
{
	struct iovec from[PIPE_RUNS], to[PIPE_RUNS];
	size_t have, room = 0, moved;
	int n_from, n_to;
	long n = session_fill(p->from->tls, e);

	if (n <= 0)
		return source_said(p, n, e);
	n_from = session_peek(p->from->tls, from, PIPE_RUNS, &have);
	n_to = session_reserve(p->to->tls, to, PIPE_RUNS, &room);
	if (n_to < 0) {
		err_set(e, ERR_RUNTIME, "no memory");
		return PIPE_TO_FAILED;
	}
	if (n_to == 0)
		return PIPE_WAIT;
	moved = copy_runs(to, n_to, from, n_from);
	session_consume(p->from->tls, moved);
	if (session_commit(p->to->tls, moved, moved == room, e) < 0)
		return PIPE_TO_FAILED;
	p->bytes += moved;
	return flush_to(p, e);
}

/* Tells `to` that nothing more comes. */
static enum pipe_status finish(struct pipe *p, struct err *e)
{
	enum pipe_status r = PIPE_MORE;

	if (p->to->tls) {
		/* what is unread makes the close a reset, which would overtake it */
		p->to->sock.last = p->last && !p->to->sock.readable;
		if (session_close_notify(p->to->tls, e) < 0)
			return PIPE_TO_FAILED;
		r = flush_to(p, e);
	} else {
		sock_shutdown_write(&p->to->sock);
	}
	if (r != PIPE_MORE)
		return r;
	p->done = true;
	return PIPE_DONE;
}

void pipe_release(struct pipe *p)
{
	splice_release(p);
}

enum pipe_status pipe_run(struct pipe *p, struct err *e)
{
	uint64_t stop = p->bytes + PIPE_SHARE;
	enum pipe_status r;

	do {
		r = flush_to(p, e);
		if (r != PIPE_MORE)
			return r;
		if (p->ended)
			return finish(p, e);
		if (p->kpipes && splice_may(p))
			r = splice_step(p, e);
		else if (!p->from->tls)
			r = seal_step(p, e);
		else if (!p->to->tls)
			r = open_step(p, e);
		else
			r = reseal_step(p, e);
	} while (r == PIPE_MORE && p->bytes < stop);
	return r;
}
