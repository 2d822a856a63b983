/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/pair.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_options pair_options(enum tls_role role)
{
	return (struct tls_options){ .role = role, .min_version = 12, .max_version = 13, .tickets = 2 };
}

void pair_open(struct pair *p, struct tls_config *client, struct tls_config *server)
{
	int fd[2];

	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	pair_open_over(p, client, server, fd);
}

void pair_open_over(struct pair *p, struct tls_config *client, struct tls_config *server, const int fd[2])
{
	int i;

	p->pool = buf_pool_new(1 << 20);
	cr_assert(p->pool);
	for (i = 0; i < 2; i++) {
		sock_init(&p->sock[i], fd[i]);
		p->done[i] = 0;
		p->err[i] = (struct err){ 0 };
		p->s[i] = session_new(i ? server : client, &p->sock[i], p->pool, i ? NULL : &p->peer, &p->err[i]);
		cr_assert(p->s[i], "%s", p->err[i].msg);
	}
}

void pair_close(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		session_free(p->s[i]);
		sock_close(&p->sock[i], false);
	}
	buf_pool_free(p->pool);
}

void pair_poll(struct pair *p)
{
	struct pollfd f[2];
	int i;

	for (i = 0; i < 2; i++)
		f[i] = (struct pollfd){ .fd = p->sock[i].fd, .events = POLLIN | POLLOUT };
	poll(f, 2, 0);
	for (i = 0; i < 2; i++) {
		p->sock[i].readable |= (f[i].revents & (POLLIN | POLLHUP)) != 0;
		p->sock[i].writable |= (f[i].revents & POLLOUT) != 0;
	}
}

static bool may_move(const struct pair *p, int i)
{
	return p->sock[i].fd >= 0 && (p->sock[i].readable || p->sock[i].eof);
}

bool pair_shake(struct pair *p)
{
	struct err ignored;
	int i, r, round, idle = 0;

	for (round = 0; round < 100 && idle < 3; round++) {
		pair_poll(p);
		idle = may_move(p, 0) || may_move(p, 1) ? 0 : idle + 1;
		for (i = 0; i < 2; i++) {
			if (p->done[i]) {
				session_flush(p->s[i], &ignored);
				continue;
			}
			r = session_handshake(p->s[i], &p->err[i]);
			p->done[i] = r == 0 ? 1 : r == SOCK_FAILED ? SOCK_FAILED : 0;
		}
	}
	return p->done[0] == 1 && p->done[1] == 1;
}

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i ^ (i >> 8) ^ (i >> 16) * 31);
}

void pair_send(struct pair *p, int from, size_t n, size_t offset)
{
	struct iovec iov[16];
	size_t total, i, k, done = 0, used;
	int runs, r;

	cr_assert_eq(session_flush(p->s[from], &p->err[from]), 0); /* an answer to a KeyUpdate, say */
	while (done < n) {
		cr_assert((runs = session_reserve(p->s[from], iov, 16, &total)) > 0);
		for (i = 0, used = 0; i < (size_t)runs; i++)
			for (k = 0; k < iov[i].iov_len && done + used < n; k++)
				((unsigned char *)iov[i].iov_base)[k] = pattern(offset + done + used++);
		cr_assert(session_commit(p->s[from], used, used == total, &p->err[from]) == 0, "%s", p->err[from].msg);
		done += used;
		r = session_flush(p->s[from], &p->err[from]);
		cr_assert(r != SOCK_FAILED, "%s", p->err[from].msg);
		if (r == SOCK_BLOCKED)
			break;
	}
	cr_assert(done == n || session_reserve(p->s[from], iov, 16, &total) == 0);
	cr_assert(done == n, "the test's pieces fit in the socket");
}

static size_t take(struct pair *p, int to, size_t at, size_t step)
{
	struct iovec iov[16];
	size_t total, got = 0, i, k;
	long n = session_fill(p->s[to], &p->err[to]);
	int runs;

	if (n == SOCK_BLOCKED)
		return 0;
	cr_assert(n > 0, "fill: %ld %s", n, p->err[to].msg);
	runs = session_peek(p->s[to], iov, 16, &total);
	cr_assert(runs > 0 && total == (size_t)n);
	for (i = 0; i < (size_t)runs && got < step; i++)
		for (k = 0; k < iov[i].iov_len && got < step; k++, got++)
			cr_assert(((unsigned char *)iov[i].iov_base)[k] == pattern(at + got), "byte %zu", at + got);
	session_consume(p->s[to], got);
	return got;
}

void pair_carry(struct pair *p, int from, size_t n, size_t piece, size_t step)
{
	size_t sent = 0, got = 0, now, idle = 0;

	while (got < n && idle < 100) {
		if (sent < n && sent - got < 65536) {
			now = n - sent < piece ? n - sent : piece;
			pair_send(p, from, now, sent);
			sent += now;
		}
		pair_poll(p);
		now = take(p, 1 - from, got, step);
		idle = now ? 0 : idle + 1;
		got += now;
	}
	cr_assert(got == n, "%zu of %zu bytes arrived", got, n);
}
