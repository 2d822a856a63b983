/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/splice.h"

static bool can(const struct pipe *p)
{
	const struct end *from = p->from, *to = p->to;

	return (!from->tls || session_kernel_opens(from->tls)) && (!to->tls || session_kernel_seals(to->tls));
}

bool splice_may(struct pipe *p)
{
	if (p->lent)
		return true;
	if (p->asks) {
		p->asks = false;
		return false;
	}
	if (!can(p) || !p->from->sock.readable || p->from->sock.eof)
		return false;
	p->lent = kpipe_borrow(p->kpipes);
	return p->lent != NULL;
}

void splice_release(struct pipe *p)
{
	if (p->lent)
		kpipe_return(p->kpipes, p->lent);
	p->lent = NULL;
}

static enum pipe_status fill(struct pipe *p)
{
	struct end *from = p->from;
	int error = 0;
	long n = from->tls ? kpipe_fill_records(p->lent, &from->sock, &error) : kpipe_fill(p->lent, &from->sock);

	if (error)
		session_kernel_failed(from->tls, error);
	if (n > 0)
		return PIPE_MORE;
	splice_release(p);
	if (n == SOCK_BLOCKED)
		return PIPE_WAIT;
	p->asks = true; /* an end, a failure, or a record that is no data */
	return PIPE_MORE;
}

static enum pipe_status drain(struct pipe *p, struct err *e)
{
	struct end *to = p->to;
	long n;

	while (kpipe_held(p->lent)) {
		n = kpipe_drain(p->lent, &to->sock);
		if (n == SOCK_BLOCKED)
			return PIPE_WAIT;
		if (n < 0) {
			err_sys(e, ERR_IO, to->sock.error, to->tls ? "cannot send to the TLS peer" : "cannot send");
			return PIPE_TO_FAILED;
		}
		p->bytes += (uint64_t)n;
		if (to->tls && session_kernel_sent(to->tls, e) < 0)
			return PIPE_TO_FAILED;
	}
	return PIPE_MORE;
}

enum pipe_status splice_step(struct pipe *p, struct err *e)
{
	enum pipe_status r = PIPE_MORE;

	if (!kpipe_held(p->lent))
		r = can(p) ? fill(p) : (splice_release(p), PIPE_MORE);
	return r == PIPE_MORE && p->lent ? drain(p, e) : r;
}
