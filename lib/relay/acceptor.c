/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/acceptor.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/log.h"
#include "lib/net/sock.h"

#define BACKLOG        4096 /* the kernel cuts it to its own limit */
#define ACCEPTS_A_TURN 64
#define PAUSE_MS       200 /* after descriptors ran out */

static void apply(struct acceptor *a)
{
	int i;

	for (i = 0; i < a->listener.n; i++)
		if (a->watches[i])
			loop_watch_pause(a->watches[i], a->held || a->backing_off);
}

void acceptor_hold(struct acceptor *a, bool held)
{
	if (a->held == held)
		return;
	a->held = held;
	apply(a);
}

static void on_pause_over(void *arg)
{
	struct acceptor *a = arg;

	a->backing_off = false;
	apply(a);
}

static void back_off(struct acceptor *a, int eno)
{
	if (log_limit("accept"))
		log_msg(LOG_WARN, "accepting waits: %s%s", strerror(eno),
			eno == EMFILE ? " (raise the descriptor limit, or lower --max-conns)" : "");
	a->backing_off = true;
	apply(a);
	loop_timer_set(a->timer, PAUSE_MS);
}

/* Failures of the connection at the head of the queue, which accept(2) hands on,
 * and not of ours. */
static bool is_theirs(int eno)
{
	switch (eno) {
	case EINTR:
	case ECONNABORTED:
	case EPROTO:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
	case ETIMEDOUT:
	case EPERM: /* a firewall's word */
		return true;
	default:
		return false;
	}
}

/* A descriptor, or -1 with errno; connections that failed in the queue are
 * passed over. */
static int accept_one(int fd, struct sockaddr_storage *sa, socklen_t *len)
{
	int got, n = 0;

	do {
		*len = sizeof(*sa);
		got = sock_accept(fd, (struct sockaddr *)sa, len);
	} while (got < 0 && is_theirs(errno) && ++n < ACCEPTS_A_TURN);
	return got;
}

static void accept_from(struct acceptor *a, int listening)
{
	struct sockaddr_storage sa;
	char peer[ADDR_TEXT_SIZE];
	socklen_t len;
	int n, fd;

	for (n = 0; n < ACCEPTS_A_TURN && !a->held && !a->backing_off; n++) {
		if (!a->may(a->arg)) {
			acceptor_hold(a, true);
			return;
		}
		fd = accept_one(listening, &sa, &len);
		if (fd >= 0) {
			a->take(a->arg, fd, addr_format_sockaddr((struct sockaddr *)&sa, len, peer));
			continue;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			back_off(a, errno);
		return;
	}
}

static void on_listen(void *arg, unsigned ready)
{
	struct acceptor *a = arg;
	int i;

	(void)ready;
	for (i = 0; i < a->listener.n; i++)
		accept_from(a, a->listener.fd[i]);
}

int acceptor_open(struct acceptor *a, struct loop *l, const struct addr *at, struct err *e)
{
	int i;

	a->timer = loop_timer_new(l, on_pause_over, a);
	if (!a->timer)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (listen_open(&a->listener, at, BACKLOG, e) < 0)
		return -1;
	for (i = 0; i < a->listener.n; i++) {
		a->watches[i] = loop_watch_listen(l, a->listener.fd[i], on_listen, a, e);
		if (!a->watches[i])
			return -1;
	}
	return 0;
}

void acceptor_close(struct acceptor *a)
{
	int i;

	for (i = 0; i < a->listener.n; i++) {
		loop_watch_free(a->watches[i]);
		a->watches[i] = NULL;
	}
	loop_timer_free(a->timer);
	a->timer = NULL;
	listen_close(&a->listener);
}
