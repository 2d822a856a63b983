/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A session's traffic, which is its plane's. */

#include "lib/tls/session.h"

#include "lib/tls/plane.h"
#include "lib/tls/tls_int.h"

long session_fill(struct session *s, struct err *e)
{
	return s->plane->fill(s, e);
}

int session_peek(const struct session *s, struct iovec *iov, int max, size_t *total)
{
	return s->plane->peek(s, iov, max, total);
}

void session_consume(struct session *s, size_t n)
{
	s->plane->consume(s, n);
}

int session_reserve(struct session *s, struct iovec *iov, int max, size_t *total)
{
	return s->plane->reserve(s, iov, max, total);
}

int session_commit(struct session *s, size_t n, bool full, struct err *e)
{
	return s->plane->commit(s, n, full, e);
}

int session_flush(struct session *s, struct err *e)
{
	return s->plane->flush ? s->plane->flush(s, e) : session_flush_out(s, e);
}

int session_flush_out(struct session *s, struct err *e)
{
	long n;

	while (buf_len(&s->out)) {
		n = sock_write(s->sock, s->out.data + s->out.start, buf_len(&s->out));
		if (n == SOCK_BLOCKED)
			return SOCK_BLOCKED;
		if (n < 0) {
			err_sys(e, ERR_IO, s->sock->error, "cannot send to the TLS peer");
			return SOCK_FAILED;
		}
		buf_consume(&s->out, (size_t)n);
	}
	if (s->out.data)
		buf_release(s->pool, &s->out);
	return 0;
}

int session_close_notify(struct session *s, struct err *e)
{
	if (s->closed || s->failed)
		return 0;
	s->closed = true;
	return s->plane->close_notify(s, e);
}

size_t session_unsent(const struct session *s)
{
	return buf_len(&s->out);
}

bool session_offered_ticket(const struct session *s)
{
	return s->offered_ticket;
}

void session_abort(struct session *s)
{
	if (s->failed || s->closed)
		return;
	s->failed = true;
	s->plane->abort(s);
}

int session_key_update(struct session *s, bool ask)
{
	return s->plane->key_update(s, ask);
}

void session_wear_out(struct session *s)
{
	if (s->plane->wear_out)
		s->plane->wear_out(s);
}

bool session_holds_memory(const struct session *s)
{
	return s->in.data || s->out.data || s->stage.data || s->held_n;
}

long session_discard(struct session *s)
{
	unsigned char sink[4096];

	return s->plane->discard ? s->plane->discard(s) : sock_read(s->sock, sink, sizeof(sink));
}

const char *session_plane(const struct session *s)
{
	return s->plane->used ? s->plane->used(s) : s->plane->name;
}

bool session_kernel_opens(const struct session *s)
{
	return s->plane->kernel_opens && s->plane->kernel_opens(s);
}

bool session_kernel_seals(const struct session *s)
{
	return s->plane->kernel_seals && s->plane->kernel_seals(s);
}

void session_kernel_failed(struct session *s, int error)
{
	if (s->plane->kernel_failed)
		s->plane->kernel_failed(s, error);
}

int session_kernel_sent(struct session *s, struct err *e)
{
	return s->plane->kernel_sent ? s->plane->kernel_sent(s, e) : 0;
}
