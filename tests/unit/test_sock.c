/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>

#include "lib/net/loop.h"
#include "lib/net/sock.h"
#include "tests/unit/net_util.h"

TestSuite(sock, .timeout = TEST_TIMEOUT);

/* A socket as a connection has it: with a watch that sets its flags. */
struct end {
	struct sock sock;
	struct loop_watch *watch;
	struct loop *loop;
	long bytes;
	bool failed;
};

static void on_ready(void *arg, unsigned ready)
{
	struct end *n = arg;

	if (ready & LOOP_READ)
		n->sock.readable = true;
	if (ready & LOOP_WRITE)
		n->sock.writable = true;
	if (ready & LOOP_END)
		n->sock.ending = true;
}

static void end_open(struct end *n, struct loop *l, int fd)
{
	struct err e;

	*n = (struct end){ .loop = l };
	sock_tune(fd);
	sock_init(&n->sock, fd);
	n->watch = loop_watch_new(l, fd, on_ready, n, &e);
	cr_assert_not_null(n->watch, "%s", e.msg);
}

static void end_close(struct end *n)
{
	loop_watch_free(n->watch);
	sock_close(&n->sock, true);
}

static void turn(struct loop *l)
{
	loop_stop(l);
	must_run(l);
}

static void read_once(struct end *n)
{
	char data[256];
	long r = sock_read(&n->sock, data, sizeof(data));

	if (r > 0)
		n->bytes += r;
	n->failed |= r == SOCK_FAILED;
}

static bool over(const struct end *n)
{
	return n->sock.eof || n->failed;
}

/* --- edges ----------------------------------------------------------------- */

/* Ways for a peer to end with something behind its data, and what they do. */
enum ending { SHUT, CLOSE, RESET, UNREAD, URGENT, PASSED, ENDINGS };

struct peer {
	int fd;
	enum ending ending;
	bool tcp;
	int step;
};

#define PIECE 10
#define STEPS 3 /* data, data with what the ending is about, the end */

static void pass_descriptor(int fd, const char *data, size_t size)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	cr_assert_eq(sendmsg(fd, &m, MSG_NOSIGNAL), (ssize_t)size);
}

static void peer_data(struct peer *p)
{
	const char data[PIECE + 1] = "0123456789";

	if (p->step == 1 && p->ending == URGENT) /* out of band: no part of the stream */
		cr_assert_eq(send(p->fd, "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
	if (p->step == 1 && p->ending == PASSED)
		pass_descriptor(p->fd, data, PIECE);
	else
		cr_assert_eq(send(p->fd, data, PIECE, MSG_NOSIGNAL), PIECE);
}

static void peer_end(struct peer *p)
{
	struct linger now = { .l_onoff = 1 };

	if (p->ending == SHUT) {
		cr_assert_eq(shutdown(p->fd, SHUT_WR), 0);
		return;
	}
	if (p->ending == RESET)
		setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(p->fd);
	p->fd = -1;
}

static void peer_step(struct peer *p)
{
	if (p->step < STEPS - 1)
		peer_data(p);
	else if (p->step == STEPS - 1)
		peer_end(p);
	p->step++;
}

/* Endings that the loop tells of in any case; the others may take a second look. */
static bool always_told(enum ending ending)
{
	return ending == SHUT || ending == CLOSE;
}

/* Runs one schedule: in each place the peer takes its next step, or the loop
 * has a turn, or we read once. After that all goes on until the end. */
static void run_schedule(bool tcp, enum ending ending, const char *schedule, bool sparing)
{
	struct peer p = { .ending = ending, .tcp = tcp };
	struct loop *l = must_loop();
	uint64_t limit;
	struct end n;
	int fd[2];

	stream_pair(tcp, fd);
	p.fd = fd[1];
	end_open(&n, l, fd[0]);
	n.sock.sparing = sparing && loop_tells_end(l);
	if (ending == UNREAD)
		cr_assert_eq(sock_write(&n.sock, "x", 1), 1);
	for (const char *s = schedule; *s != '\0'; s++) {
		if (*s == 'p')
			peer_step(&p);
		else if (*s == 't')
			turn(l);
		else
			read_once(&n);
	}
	while (p.step < STEPS)
		peer_step(&p);
	limit = clock_mono_ns() + 2 * NS_PER_S;
	while (!over(&n) && clock_mono_ns() < limit) {
		while (n.sock.readable && !over(&n))
			read_once(&n);
		turn(l);
		if (!always_told(ending))
			sock_look_again(&n.sock);
	}
	cr_assert(over(&n), "tcp %d ending %d: stuck after %s", tcp, ending, schedule);
	cr_assert(n.failed || n.bytes == (STEPS - 1) * PIECE, "tcp %d ending %d: %ld bytes after %s", tcp, ending,
		n.bytes, schedule);
	if (ending == SHUT)
		cr_assert_not(n.failed, "a clean end");
	if (ending == RESET && tcp)
		cr_assert(n.failed, "never a clean end");
	end_close(&n);
	if (p.fd >= 0)
		close(p.fd);
	loop_free(l);
}

#define PLACES 6

static void run_all_schedules(bool tcp, enum ending ending)
{
	char schedule[PLACES + 1] = "";
	int n = 1;

	for (int i = 0; i < PLACES; i++)
		n *= 3;
	for (int code = 0; code < n; code++) {
		for (int i = 0, rest = code; i < PLACES; i++, rest /= 3)
			schedule[i] = "ptr"[rest % 3];
		run_schedule(tcp, ending, schedule, false);
		run_schedule(tcp, ending, schedule, true);
	}
}

Test(sock, no_schedule_loses_the_end_tcp)
{
	for (enum ending ending = 0; ending < ENDINGS; ending++) {
		if (ending != PASSED)
			run_all_schedules(true, ending);
	}
}

Test(sock, no_schedule_loses_the_end_unix)
{
	for (enum ending ending = 0; ending < ENDINGS; ending++) {
		if (ending != URGENT && ending != RESET)
			run_all_schedules(false, ending);
	}
}

/* What sparing is for, and the second look that it takes. */
Test(sock, a_short_read_is_believed)
{
	struct loop *l = must_loop();
	struct peer p = { .ending = RESET };
	struct end n;
	int fd[2];

	if (!loop_tells_end(l)) {
		loop_free(l);
		cr_skip_test("this system's loop does not tell of a FIN");
	}
	stream_pair(true, fd);
	p.fd = fd[1];
	end_open(&n, l, fd[0]);
	n.sock.sparing = true;
	peer_data(&p);
	turn(l);
	read_once(&n);
	cr_assert(n.bytes == PIECE && !n.sock.readable && n.sock.unsure);
	cr_assert(sock_look_again(&n.sock) && n.sock.readable);
	read_once(&n);
	cr_assert_not(n.sock.readable || n.sock.unsure || sock_look_again(&n.sock));
	peer_data(&p);
	peer_end(&p); /* data and reset in one edge */
	turn(l);
	read_once(&n);
	turn(l);
	cr_assert_not(n.sock.readable || over(&n));
	cr_assert(sock_look_again(&n.sock));
	read_once(&n);
	cr_assert(n.failed);
	end_close(&n);
	loop_free(l);
}

/* --- bulk ------------------------------------------------------------------ */

#define BULK (16 * 1024 * 1024)

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 31 + (i >> 11));
}

struct drain {
	int fd;
	size_t bytes;
	bool wrong;
};

/* Reads blocking, in pieces of changing size, now and then with a pause. */
static void *drain_all(void *arg)
{
	struct drain *d = arg;
	static const size_t sizes[] = { 1, 100, 4096, 100000, 7, 65536 };
	uint8_t *data = malloc(100000);
	ssize_t n;

	for (unsigned i = 0; (n = read(d->fd, data, sizes[i % 6])) > 0; i++) {
		for (ssize_t k = 0; k < n; k++)
			d->wrong |= data[k] != byte_at(d->bytes + (size_t)k);
		d->bytes += (size_t)n;
		if (i % 256 == 0)
			usleep(500);
	}
	free(data);
	return NULL;
}

static void fill(uint8_t *data, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = byte_at(from + i);
}

/* Writes while writable, in up to three pieces a call; returns when blocked or
 * all is written. */
static size_t push(struct end *n, size_t done)
{
	static uint8_t data[3][30000];

	while (done < BULK && n->sock.writable) {
		struct iovec iov[3];
		size_t total = 0;
		int k = 0;
		long r;

		for (; k < 1 + (int)(done % 3) && done + total < BULK; k++) {
			size_t size = 1 + (done * 7 + (size_t)k * 9973) % sizeof(data[0]);

			if (size > BULK - done - total)
				size = BULK - done - total;
			fill(data[k], done + total, size);
			iov[k] = (struct iovec){ data[k], size };
			total += size;
		}
		r = sock_writev(&n->sock, iov, k, total);
		cr_assert_neq(r, SOCK_FAILED, "%s", strerror(n->sock.error));
		if (r > 0)
			done += (size_t)r;
		cr_assert(r == (long)total || !n->sock.writable);
	}
	return done;
}

Test(sock, bulk_arrives_whole_and_no_edge_is_lost)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct loop *l = must_loop();
		struct drain d = { 0 };
		size_t done = 0;
		struct end n;
		pthread_t thread;
		int fd[2];

		stream_pair(tcp, fd);
		d.fd = fd[1];
		end_open(&n, l, fd[0]);
		cr_assert_eq(pthread_create(&thread, NULL, drain_all, &d), 0);
		while ((done = push(&n, done)) < BULK) {
			uint64_t start = clock_mono_ns();

			while (!n.sock.writable) {
				turn(l);
				cr_assert_lt(clock_mono_ns() - start, 5 * NS_PER_S, "stuck at %zu", done);
			}
		}
		sock_shutdown_write(&n.sock);
		pthread_join(thread, NULL);
		cr_assert_eq(d.bytes, BULK);
		cr_assert_not(d.wrong);
		end_close(&n);
		close(fd[1]);
		loop_free(l);
	}
}

/* --- single calls ---------------------------------------------------------- */

Test(sock, flags_and_returns)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		char a[3], b[8];
		struct iovec iov[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
		struct sock s;
		int fd[2];

		stream_pair(tcp, fd);
		sock_tune(fd[0]);
		sock_init(&s, fd[0]);
		cr_assert_eq(sock_readv(&s, iov, 2, 11), SOCK_BLOCKED);
		cr_assert_not(s.readable);
		cr_assert_eq(write(fd[1], "hello", 5), 5);
		cr_assert_eq(sock_readv(&s, iov, 2, 11), SOCK_BLOCKED, "until the loop tells");
		s.readable = true;
		cr_assert_eq(sock_read(&s, a, 0), SOCK_BLOCKED, "no room is no end");
		cr_assert_eq(sock_readv(&s, iov, 0, 0), SOCK_BLOCKED);
		cr_assert_eq(sock_readv(&s, iov, 2, 11), 5);
		cr_assert(memcmp(a, "hel", 3) == 0 && memcmp(b, "lo", 2) == 0);
		cr_assert(s.readable, "a short read proves nothing");
		cr_assert_eq(sock_readv(&s, iov, 1, 3), SOCK_BLOCKED);
		close(fd[1]);
		s.readable = true;
		for (int i = 0; i < 3; i++)
			cr_assert_eq(i == 1 ? sock_readv(&s, iov, 2, 11) : sock_read(&s, a, 3), 0);
		cr_assert(s.eof);
		cr_assert_eq(s.error, 0);
		sock_close(&s, false);
		cr_assert_eq(s.fd, -1);
		sock_close(&s, true);
		sock_shutdown_write(&s);
	}
}

/* What had arrived is read, and then a reset is a failure for good. */
static void reset_is_never_an_end(bool write_first)
{
	struct loop *l = must_loop();
	struct sock peer;
	char data[64];
	struct end n;
	int fd[2];

	stream_pair(true, fd);
	end_open(&n, l, fd[0]);
	sock_init(&peer, fd[1]);
	cr_assert_eq(write(fd[1], "last words", 10), 10);
	sock_close(&peer, true);
	for (int i = 0; i < 3; i++)
		turn(l);
	if (write_first) {
		cr_assert_eq(sock_write(&n.sock, "x", 1), SOCK_FAILED);
		cr_assert_eq(n.sock.error, ECONNRESET);
	}
	cr_assert_eq(sock_read(&n.sock, data, sizeof(data)), 10);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(sock_read(&n.sock, data, sizeof(data)), SOCK_FAILED);
		cr_assert_eq(n.sock.error, ECONNRESET);
		cr_assert_not(n.sock.eof);
	}
	end_close(&n);
	loop_free(l);
}

Test(sock, reset_stays_a_failure)
{
	reset_is_never_an_end(false);
	reset_is_never_an_end(true);
}

/* A peer that sent all it had and went: no SIGPIPE, and its end is an end. */
Test(sock, write_to_a_peer_that_closed)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		char data[64];
		struct sock s;
		long r = 0;
		int fd[2];

		stream_pair(tcp, fd);
		sock_tune(fd[0]);
		sock_init(&s, fd[0]);
		cr_assert_eq(write(fd[1], "bye", 3), 3);
		close(fd[1]);
		for (int i = 0; i < 10 && r != SOCK_FAILED; i++)
			r = sock_write(&s, "x", 1);
		cr_assert_eq(r, SOCK_FAILED);
		cr_assert_eq(s.error, EPIPE);
		cr_assert_eq(sock_read(&s, data, sizeof(data)), 3);
		cr_assert_eq(sock_read(&s, data, sizeof(data)), 0);
		sock_close(&s, false);
	}
}

Test(sock, close_resets_or_ends)
{
	for (int reset = 0; reset < 2; reset++) {
		struct sock s;
		char c;
		int fd[2];

		stream_pair(true, fd);
		sock_init(&s, fd[0]);
		sock_close(&s, reset);
		errno = 0;
		cr_assert_eq(read(fd[1], &c, 1), reset ? -1 : 0);
		cr_assert_eq(errno, reset ? ECONNRESET : 0);
		close(fd[1]);
	}
}

static bool is_tuned(int fd, bool tcp)
{
	int nodelay = 0, keepalive = 0;
	socklen_t len = sizeof(int);

	if (!(fcntl(fd, F_GETFL) & O_NONBLOCK) || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		return false;
	if (!tcp)
		return true;
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len);
	getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &len);
	return nodelay && keepalive;
}

Test(sock, tuned)
{
	const int families[] = { AF_INET, AF_INET6, AF_UNIX };

	for (int i = 0; i < 3; i++) {
		bool tcp = families[i] != AF_UNIX;
		int fd = socket(families[i], SOCK_STREAM, 0);

		if (fd < 0)
			continue; /* no IPv6 here */
		sock_tune(fd);
		cr_assert(is_tuned(fd, tcp));
		close(fd);
		fd = sock_new(families[i]);
		cr_assert(is_tuned(fd, tcp));
		close(fd);
	}
	cr_assert_eq(sock_new(-1), -1);
}
