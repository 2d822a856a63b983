/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Bytes through the kernel's pipes, between plain sockets: what is moved there is the
 * same with the kernel's TLS at an end (tests/interop/ktls_qemu). */

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/relay/splice.h"
#include "tests/unit/net_util.h"

#ifdef __linux__

static struct kpipe_pool *pool;
static struct end from, to;
static struct pipe p;
static struct err err;
static int source, sink; /* the other ends, of the test */
static unsigned asked;

static void open_ends(bool tcp, int buffer)
{
	int a[2], b[2];

	signal(SIGPIPE, SIG_IGN);
	stream_pair(tcp, a);
	stream_pair(tcp, b);
	make_nonblocking(a[0]);
	make_nonblocking(a[1]);
	make_nonblocking(b[0]);
	make_nonblocking(b[1]);
	if (buffer) {
		cr_assert_eq(setsockopt(b[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)), 0);
		cr_assert_eq(setsockopt(b[1], SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)), 0);
	}
	source = a[0];
	sink = b[1];
	end_init(&from, a[1]);
	end_init(&to, b[0]);
	pool = kpipe_pool_new();
	cr_assert_not_null(pool);
	p = (struct pipe){ .from = &from, .to = &to, .kpipes = pool };
	err = (struct err){ 0 };
	asked = 0;
}

static void close_ends(void)
{
	splice_release(&p);
	splice_release(&p);
	end_free(&from);
	end_free(&to);
	if (source >= 0)
		close(source);
	close(sink);
	kpipe_pool_free(pool);
}

static void look(void)
{
	struct pollfd f[2] = { { .fd = from.sock.fd, .events = POLLIN }, { .fd = to.sock.fd, .events = POLLOUT } };

	poll(f, 2, 0);
	from.sock.readable |= f[0].revents != 0;
	to.sock.writable |= f[1].revents != 0;
}

/* Until it waits, fails, or asks for a read of the other kind. */
static enum pipe_status run(void)
{
	enum pipe_status r;
	int i;

	for (i = 0; i < 100000; i++) {
		look();
		if (!splice_may(&p)) {
			asked += from.sock.readable || from.sock.eof;
			return PIPE_WAIT;
		}
		r = splice_step(&p, &err);
		if (r != PIPE_MORE)
			return r;
	}
	cr_assert(0, "it does not come to rest");
	return PIPE_WAIT;
}

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i ^ (i >> 8) ^ (i >> 16) * 31);
}

static size_t give(size_t at, size_t n)
{
	unsigned char data[65536];
	size_t i;
	ssize_t r;

	if (n > sizeof(data))
		n = sizeof(data);
	for (i = 0; i < n; i++)
		data[i] = pattern(at + i);
	r = send(source, data, n, 0);
	return r < 0 ? 0 : (size_t)r;
}

static size_t take(size_t at, size_t max)
{
	unsigned char data[65536];
	ssize_t r = recv(sink, data, max < sizeof(data) ? max : sizeof(data), 0), i;

	for (i = 0; i < r; i++)
		cr_assert(data[i] == pattern(at + (size_t)i), "byte %zu", at + (size_t)i);
	return r < 0 ? 0 : (size_t)r;
}

static void carry(size_t n, size_t piece, size_t step)
{
	size_t sent = 0, got = 0, now;
	int idle = 0;

	while (got < n) {
		if (sent < n)
			sent += give(sent, n - sent < piece ? n - sent : piece);
		cr_assert_eq(run(), PIPE_WAIT);
		now = take(got, step);
		got += now;
		idle = now ? 0 : idle + 1;
		cr_assert_lt(idle, 10000, "%zu of %zu bytes", got, n);
		if (!now)
			usleep(100);
	}
	cr_assert_eq(p.bytes, n);
	cr_assert_eq(recv(sink, &now, 1, 0), -1, "no byte more");
}

Test(splice, carries_bytes)
{
	static const size_t sizes[][3] = { { 10000, 1, 10000 }, { 300000, 1400, 65536 }, { 4 << 20, 65536, 65536 },
		{ 2 << 20, 65536, 999 }, { 1 << 20, 3, 65536 } };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		open_ends(i & 1, 0);
		carry(sizes[i][0] / (sizes[i][1] < 10 ? 100 : 1), sizes[i][1], sizes[i][2]);
		close_ends();
		open_ends(!(i & 1), 0);
		carry(sizes[i][0] / (sizes[i][1] < 10 ? 100 : 1), sizes[i][1], sizes[i][2]);
		close_ends();
	}
}

/* What has left the source and not reached the sink waits in the pipe, and the source
 * is left alone. */
Test(splice, a_sink_without_room)
{
	int tcp;

	for (tcp = 0; tcp < 2; tcp++) {
		size_t sent = 0, got = 0, n, before;

		open_ends(tcp, 8192);
		do {
			n = give(sent, 65536);
			sent += n;
			cr_assert_eq(run(), PIPE_WAIT);
			if (tcp)
				usleep(1000);
		} while (n);
		cr_assert_not_null(p.lent);
		cr_assert_gt(kpipe_held(p.lent), 0);
		cr_assert_lt(p.bytes, sent);
		before = kpipe_held(p.lent);
		cr_assert_eq(run(), PIPE_WAIT);
		cr_assert_leq(kpipe_held(p.lent), before, "nothing is read meanwhile");
		while (got < sent) {
			got += take(got, 1000);
			cr_assert_eq(run(), PIPE_WAIT);
		}
		cr_assert_eq(p.bytes, sent);
		cr_assert_null(p.lent);
		close_ends();
	}
}

Test(splice, an_end_is_left_to_a_read)
{
	char byte;
	int tcp;

	for (tcp = 0; tcp < 2; tcp++) {
		open_ends(tcp, 0);
		cr_assert_eq(give(0, 5000), 5000);
		shutdown(source, SHUT_WR);
		while (!asked)
			cr_assert_eq(run(), PIPE_WAIT);
		cr_assert_null(p.lent);
		cr_assert_eq(p.bytes, 5000);
		cr_assert_eq(take(0, 65536), 5000);
		cr_assert_eq(sock_read(&from.sock, &byte, 1), 0);
		close_ends();
	}
}

Test(splice, a_reset_of_the_source_is_left_to_a_read)
{
	struct linger now = { .l_onoff = 1 };
	char byte;
	int i;

	open_ends(true, 0);
	cr_assert_eq(give(0, 5000), 5000);
	cr_assert_eq(run(), PIPE_WAIT);
	cr_assert_eq(take(0, 65536), 5000);
	setsockopt(source, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(source);
	source = -1;
	for (i = 0; i < 1000 && !asked; i++) {
		cr_assert_eq(run(), PIPE_WAIT);
		usleep(1000);
	}
	cr_assert_eq(sock_read(&from.sock, &byte, 1), SOCK_FAILED);
	cr_assert_neq(from.sock.error, 0);
	cr_assert_null(p.lent);
	close_ends();
}

Test(splice, a_sink_that_is_gone)
{
	enum pipe_status r = PIPE_WAIT;
	int i;

	open_ends(false, 0);
	close(sink);
	sink = open("/dev/null", O_RDONLY);
	for (i = 0; i < 100 && r == PIPE_WAIT; i++) {
		give(0, 5000);
		r = run();
	}
	cr_assert_eq(r, PIPE_TO_FAILED);
	cr_assert_eq(err.kind, ERR_IO);
	cr_assert(strstr(err.msg, "cannot send"), "%s", err.msg);
	close_ends();
}

Test(splice, an_idle_pipe_holds_none)
{
	int before, i;

	open_ends(true, 0);
	before = open_descriptors();
	for (i = 0; i < 50; i++) {
		give(0, 1000);
		while (p.bytes < (uint64_t)(i + 1) * 1000)
			cr_assert_eq(run(), PIPE_WAIT);
		cr_assert_eq(run(), PIPE_WAIT);
		cr_assert_null(p.lent);
		cr_assert_eq(take(0, 65536), 1000);
	}
	cr_assert_eq(open_descriptors(), before + 2, "the pool keeps the one that was used");
	close_ends();
}

/* Bytes of one connection never come out at another one. */
Test(splice, what_is_given_back_full_is_not_lent_again)
{
	struct kpipe *k;

	open_ends(false, 0);
	give(0, 1000);
	look();
	k = kpipe_borrow(pool);
	cr_assert_eq(kpipe_fill(k, &from.sock), 1000);
	kpipe_return(pool, k);
	k = kpipe_borrow(pool);
	cr_assert_eq(kpipe_held(k), 0);
	give(0, 10);
	look();
	cr_assert_eq(kpipe_fill(k, &from.sock), 10);
	cr_assert_eq(kpipe_drain(k, &to.sock), 10);
	cr_assert_eq(take(0, 65536), 10, "and not what it held before");
	kpipe_return(pool, k);
	close_ends();
}

Test(splice, without_a_pipe_bytes_go_the_other_way)
{
	struct rlimit limit, none;

	open_ends(false, 0);
	give(0, 1000);
	look();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 3, limit.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	cr_assert(!splice_may(&p));
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert(splice_may(&p));
	close_ends();
}

#endif
