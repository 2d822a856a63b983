/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/net/kpipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A pipe has room for pages, or pieces of some: slots. Who has more pipes than the
 * system likes (pipe-user-pages-soft) gets small ones, which are of no use here. */
#define SLOTS        128
#define SLOTS_RECORD 20 /* of a record at most: MAX_SKB_FRAGS is 17 */
#define SLOTS_MIN    (2 * SLOTS_RECORD)
#define RECORD_ASK   65536 /* more than a record has: one comes a call */
#define FILL_MAX     524288
#define KEPT         4

struct kpipe {
	struct kpipe *next;
	int out, in;
	size_t held;
	unsigned slots;
};

struct kpipe_pool {
	struct kpipe *unused;
	unsigned n;
};

struct kpipe_pool *kpipe_pool_new(void)
{
	return calloc(1, sizeof(struct kpipe_pool));
}

static void close_pipe(struct kpipe *k)
{
	close(k->out);
	close(k->in);
	free(k);
}

void kpipe_pool_free(struct kpipe_pool *pool)
{
	struct kpipe *k;

	if (!pool)
		return;
	while ((k = pool->unused)) {
		pool->unused = k->next;
		close_pipe(k);
	}
	free(pool);
}

void kpipe_return(struct kpipe_pool *pool, struct kpipe *k)
{
	if (!k)
		return;
	if (k->held || pool->n == KEPT) {
		close_pipe(k);
		return;
	}
	k->next = pool->unused;
	pool->unused = k;
	pool->n++;
}

size_t kpipe_held(const struct kpipe *k)
{
	return k->held;
}

#ifdef __linux__

static struct kpipe *make(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct kpipe *k = calloc(1, sizeof(*k));
	int fd[2], size;

	if (!k)
		return NULL;
	if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) < 0) {
		free(k);
		return NULL;
	}
	k->out = fd[0];
	k->in = fd[1];
	size = fcntl(k->in, F_SETPIPE_SZ, (int)(SLOTS * page));
	if (size < 0)
		size = fcntl(k->in, F_GETPIPE_SZ);
	k->slots = size < 0 ? 0 : (unsigned)(size / page);
	if (k->slots >= SLOTS_MIN)
		return k;
	close_pipe(k);
	return NULL;
}

struct kpipe *kpipe_borrow(struct kpipe_pool *pool)
{
	struct kpipe *k = pool->unused;

	if (!k)
		return make();
	pool->unused = k->next;
	pool->n--;
	return k;
}

static ssize_t move(int from, int to, size_t n)
{
	ssize_t r;

	do {
		r = splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	} while (r < 0 && errno == EINTR);
	return r;
}

long kpipe_fill(struct kpipe *k, struct sock *from)
{
	long n;

	if (from->eof)
		return 0;
	if (!from->readable)
		return SOCK_BLOCKED;
	n = sock_read_result(from, move(from->fd, k->in, FILL_MAX));
	if (n > 0)
		k->held += (size_t)n;
	return n;
}

/* Linux takes a record off although the pipe had no room for all of it, and the rest
 * is lost (tls_sw_splice_read, 6.1 and 6.6 at least). So there is always room for a
 * whole one. */
long kpipe_fill_records(struct kpipe *k, struct sock *from, int *error)
{
	unsigned room;
	ssize_t r = 1;

	*error = 0;
	if (!from->readable)
		return from->eof ? 0 : SOCK_BLOCKED;
	for (room = k->slots; room >= SLOTS_RECORD && r > 0; room -= SLOTS_RECORD) {
		r = move(from->fd, k->in, RECORD_ASK);
		if (r > 0)
			k->held += (size_t)r;
	}
	if (r >= 0 || errno == EINVAL)
		return (long)k->held;
	if (errno != EAGAIN) {
		*error = errno;
		/* it stays the socket's, too, and nothing could be sent any more */
		getsockopt(from->fd, SOL_SOCKET, SO_ERROR, &(int){ 0 }, &(socklen_t){ sizeof(int) });
		return (long)k->held;
	}
	from->readable = false;
	return k->held ? (long)k->held : SOCK_BLOCKED;
}

long kpipe_drain(struct kpipe *k, struct sock *to)
{
	ssize_t r;
	long n;

	if (!to->writable)
		return SOCK_BLOCKED;
	r = move(k->out, to->fd, k->held);
	if (r == 0 && k->held) { /* never: it would go on for ever */
		errno = EIO;
		r = -1;
	}
	/* less than there is says nothing: only EAGAIN has the kernel tell of room */
	n = sock_write_result(to, r, 0);
	if (n > 0)
		k->held -= (size_t)n;
	return n;
}

#else

struct kpipe *kpipe_borrow(struct kpipe_pool *pool)
{
	(void)pool;
	return NULL;
}

long kpipe_fill(struct kpipe *k, struct sock *from)
{
	(void)k, (void)from;
	return SOCK_BLOCKED;
}

long kpipe_fill_records(struct kpipe *k, struct sock *from, int *error)
{
	(void)k, (void)from;
	*error = 0;
	return SOCK_BLOCKED;
}

long kpipe_drain(struct kpipe *k, struct sock *to)
{
	(void)k, (void)to;
	return SOCK_BLOCKED;
}

#endif
