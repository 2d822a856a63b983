/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/end.h"

#define SINK_READS 64 /* in one step */

void end_init(struct end *e, int fd)
{
	*e = (struct end){ 0 };
	sock_init(&e->sock, fd);
	e->sock.readable = false; /* the watch tells, and saves a call that finds nothing */
}

int end_watch(struct end *e, struct loop *l, loop_watch_fn *fn, void *arg, struct err *err)
{
	e->watch = loop_watch_new(l, e->sock.fd, fn, arg, err);
	return e->watch ? 0 : -1;
}

void end_ready(struct end *e, unsigned ready)
{
	e->sock.readable |= (ready & LOOP_READ) != 0;
	e->sock.writable |= (ready & LOOP_WRITE) != 0;
	e->sock.ending |= (ready & LOOP_END) != 0;
}

void end_unwatch(struct end *e)
{
	loop_watch_free(e->watch);
	e->watch = NULL;
}

void end_free(struct end *e)
{
	end_unwatch(e);
	session_free(e->tls);
	e->tls = NULL;
	sock_close(&e->sock, false);
}

bool end_settled(struct end *e)
{
	struct err ignored;
	long n = 1;
	int i;

	if (e->sock.fd < 0 || e->sock.error)
		return true;
	if (!e->tls)
		return sock_unsent(&e->sock) == 0;
	if (session_flush(e->tls, &ignored) == SOCK_BLOCKED)
		return false;
	if (e->sock.error)
		return true;
	if (!e->fin_sent) {
		e->fin_sent = true;
		sock_shutdown_write(&e->sock);
	}
	for (i = 0; i < SINK_READS && n > 0; i++)
		n = session_discard(e->tls);
	return n == 0 || n == SOCK_FAILED;
}

void end_settle(struct end *e)
{
	if (e->sock.fd < 0)
		return;
	end_unwatch(e);
	sock_close(&e->sock, !e->tls);
}

void end_abort(struct end *e)
{
	struct err ignored;

	end_unwatch(e);
	if (e->tls) {
		session_abort(e->tls);
		session_flush(e->tls, &ignored);
	} else {
		sock_close(&e->sock, true);
	}
}

size_t end_unsent(const struct end *e)
{
	return sock_unsent(&e->sock) + (e->tls ? session_unsent(e->tls) : 0);
}
