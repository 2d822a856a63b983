/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "lib/net/limit.h"
#include "lib/net/stdio.h"
#include "tests/unit/net_util.h"

TestSuite(net, .timeout = TEST_TIMEOUT);

/* --- stdin and stdout --------------------------------------------------------- */

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 13 + (i >> 9));
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 5000) == 1;
}

static bool writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 5000) == 1;
}

struct copy {
	int fd;
	size_t bytes;
	bool wrong;
};

/* Reads to the end, whether fd blocks or not. */
static void *check_all(void *arg)
{
	struct copy *c = arg;
	uint8_t data[5000];
	ssize_t n;

	while ((n = read(c->fd, data, sizeof(data))) != 0) {
		if (n < 0 && errno == EAGAIN && readable(c->fd))
			continue;
		if (n < 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			c->wrong |= data[i] != byte_at(c->bytes + (size_t)i);
		c->bytes += (size_t)n;
	}
	return NULL;
}

static void *write_some(void *arg)
{
	struct copy *c = arg;
	uint8_t data[3333];

	for (size_t done = 0; done < c->bytes;) {
		size_t n = c->bytes - done < sizeof(data) ? c->bytes - done : sizeof(data);
		ssize_t r;

		for (size_t i = 0; i < n; i++)
			data[i] = byte_at(done + i);
		r = write(c->fd, data, n);
		if (r > 0)
			done += (size_t)r;
		else if (r == 0 || errno != EAGAIN || !writable(c->fd))
			break;
	}
	return NULL;
}

enum kind { PIPE, FILES, SOCKETS, NONBLOCKING, KINDS };

#define BULK 3000000

/* in[0] and out[1] are for stdio, in[1] and out[0] for the test. */
static void make_ends(enum kind kind, int in[2], int out[2])
{
	char name[] = "/tmp/tlskit-net-XXXXXX", name2[] = "/tmp/tlskit-net-XXXXXX";

	if (kind == FILES) {
		struct copy c = { .bytes = BULK };

		in[0] = mkstemp(name);
		in[1] = open(name, O_WRONLY);
		out[1] = mkstemp(name2);
		out[0] = open(name2, O_RDONLY);
		unlink(name);
		unlink(name2);
		c.fd = in[1];
		write_some(&c);
		return;
	}
	if (kind == SOCKETS) {
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
		return;
	}
	cr_assert_eq(pipe(in), 0);
	cr_assert_eq(pipe(out), 0);
	if (kind == NONBLOCKING) {
		fcntl(in[0], F_SETFL, O_NONBLOCK);
		fcntl(out[1], F_SETFL, O_NONBLOCK);
	}
}

static void carry(enum kind kind)
{
	int in[2], out[2], fd, in_flags, out_flags;
	struct copy source, sink = { 0 }, back, there = { 0 };
	pthread_t t[4];
	struct stdio *s;
	struct err e;

	make_ends(kind, in, out);
	in_flags = fcntl(in[0], F_GETFL);
	out_flags = fcntl(out[1], F_GETFL);
	s = stdio_open(in[0], out[1], NULL, &fd, &e);
	cr_assert_not_null(s, "%s", e.msg);
	cr_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_assert_eq(fcntl(in[0], F_GETFL), in_flags, "flags that others share stay as they are");
	cr_assert_eq(fcntl(out[1], F_GETFL), out_flags);
	source = (struct copy){ .fd = in[1], .bytes = BULK };
	sink.fd = fd;
	back = (struct copy){ .fd = fd, .bytes = BULK };
	there.fd = out[0];
	if (kind != FILES)
		pthread_create(&t[0], NULL, write_some, &source);
	pthread_create(&t[1], NULL, check_all, &sink);
	pthread_create(&t[2], NULL, write_some, &back);
	if (kind != FILES) {
		pthread_create(&t[3], NULL, check_all, &there);
		pthread_join(t[0], NULL);
	}
	close(in[1]); /* the end of stdin is the end for the near end */
	pthread_join(t[1], NULL);
	pthread_join(t[2], NULL);
	shutdown(fd, SHUT_WR); /* and this is the end of stdout */
	if (kind != FILES)
		pthread_join(t[3], NULL);
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), 0, "%s", e.msg);
	if (kind == FILES)
		check_all(&there);
	else
		cr_assert_neq(fcntl(out[1], F_GETFL), -1, "the number is still taken");
	cr_assert(sink.bytes == BULK && there.bytes == BULK, "kind %d: %zu in, %zu out", kind,
		sink.bytes, there.bytes);
	cr_assert_not(sink.wrong || there.wrong);
	close(in[0]);
	close(out[0]);
	close(out[1]);
}

Test(net, stdio_carries_every_kind_both_ways)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		carry(kind);
}

/* All that was written before the near end closed arrives, also when stdin never
 * ends and was not read to its end. */
Test(net, stdio_finish_waits_for_the_output_only)
{
	int in[2], out[2], fd;
	struct copy back, there = { 0 };
	struct stdio *s;
	pthread_t t;
	struct err e;

	cr_assert_eq(pipe(in), 0);
	cr_assert_eq(pipe(out), 0);
	s = stdio_open(in[0], out[1], NULL, &fd, &e);
	cr_assert_eq(write(in[1], "unread", 6), 6);
	cr_assert(readable(fd));
	there.fd = out[0];
	back = (struct copy){ .fd = fd, .bytes = BULK };
	pthread_create(&t, NULL, check_all, &there);
	write_some(&back);
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), 0, "%s", e.msg);
	pthread_join(t, NULL);
	cr_assert_eq(there.bytes, BULK);
	cr_assert_not(there.wrong);
}

/* A reader of stdout that went away, a full disk: an error and no SIGPIPE, and
 * the near end finds out. */
Test(net, stdio_output_that_fails)
{
	for (int full = 0; full < 2; full++) {
		int in[2], out[2], fd;
		struct stdio *s;
		struct err e = { 0 };

		cr_assert_eq(pipe(in), 0);
		if (full) {
			out[1] = open("/dev/full", O_WRONLY);
			cr_assert_geq(out[1], 0);
		} else {
			cr_assert_eq(pipe(out), 0);
			close(out[0]);
		}
		s = stdio_open(in[0], out[1], NULL, &fd, &e);
		cr_assert_not(stdio_failed(s));
		cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), 1);
		for (int i = 0; i < 2000 && send(fd, "x", 1, MSG_NOSIGNAL) == 1; i++)
			usleep(100);
		errno = 0;
		cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
		cr_assert_eq(errno, EPIPE);
		cr_assert(stdio_failed(s));
		close(fd);
		cr_assert_eq(stdio_finish(s, &e), -1);
		cr_assert_eq(e.kind, ERR_IO);
		cr_assert_not_null(strstr(e.msg, full ? "No space left" : "Broken pipe"), "%s", e.msg);
		close(in[1]);
	}
}

/* What the near end reads when the pieces are read from stdin one by one. */
static size_t through_crlf(const char *const *pieces, const size_t *sizes, size_t n, char *got, size_t size)
{
	const struct stdio_options o = { .crlf = true };
	int in[2], out[2], fd, left;
	struct stdio *s;
	struct err e;
	size_t at = 0;
	ssize_t r;

	cr_assert(pipe(in) == 0 && pipe(out) == 0);
	s = stdio_open(in[0], out[1], &o, &fd, &e);
	cr_assert_not_null(s, "%s", e.msg);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(write(in[1], pieces[i], sizes[i]), (ssize_t)sizes[i]);
		do { /* until it was read, so that the next one is a read of its own */
			sched_yield();
			cr_assert_eq(ioctl(in[0], FIONREAD, &left), 0);
		} while (left > 0);
	}
	close(in[1]);
	while (at < size && readable(fd) && (r = read(fd, got + at, size - at)) > 0)
		at += (size_t)r;
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), 0, "%s", e.msg);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	return at;
}

static const struct {
	const char *in, *out;
	size_t in_size, out_size;
} lines[] = {
#define LINES(from, to) { from, to, sizeof(from) - 1, sizeof(to) - 1 }
	LINES("", ""),
	LINES("\n", "\r\n"),
	LINES("a\nb\n", "a\r\nb\r\n"),
	LINES("a\r\nb", "a\r\nb"),
	LINES("\n\n\r\n\n", "\r\n\r\n\r\n\r\n"),
	LINES("\r", "\r"),
	LINES("\r\r\n\r", "\r\r\n\r"),
	LINES("\n\r", "\r\n\r"),
	LINES("R\nK\nQ\n", "R\r\nK\r\nQ\r\n"),
	LINES("\0\n\0\r\0\n\xff\x80\x1a\x04", "\0\r\n\0\r\0\r\n\xff\x80\x1a\x04"),
#undef LINES
};

/* Whole, and cut in two at each place. */
Test(net, stdio_ends_each_line_in_cr_lf)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		for (size_t cut = 0; cut <= lines[i].in_size; cut++) {
			const char *pieces[2] = { lines[i].in, lines[i].in + cut };
			size_t sizes[2] = { cut, lines[i].in_size - cut };
			char got[64];
			size_t n = through_crlf(pieces, sizes, 2, got, sizeof(got));

			cr_assert_eq(n, lines[i].out_size, "%zu cut at %zu: %zu", i, cut, n);
			cr_assert_arr_eq(got, lines[i].out, n);
		}
	}
}

/* More than one read takes, and twice as much to say. */
Test(net, stdio_ends_many_lines_in_cr_lf)
{
	enum { LINES = 150000 };
	char name[] = "/tmp/tlskit-net-XXXXXX", *got = malloc(2 * LINES + 1);
	const struct stdio_options o = { .crlf = true };
	int in = mkstemp(name), out[2], fd;
	struct stdio *s;
	struct err e;
	size_t at = 0;
	ssize_t r;

	unlink(name);
	cr_assert(got != NULL && pipe(out) == 0);
	memset(got, '\n', LINES);
	cr_assert_eq(write(in, got, LINES), LINES);
	cr_assert_eq(lseek(in, 0, SEEK_SET), 0);
	s = stdio_open(in, out[1], &o, &fd, &e);
	cr_assert_not_null(s, "%s", e.msg);
	while (readable(fd) && (r = read(fd, got + at, 2 * LINES + 1 - at)) > 0)
		at += (size_t)r;
	cr_assert_eq(at, 2 * LINES);
	for (size_t i = 0; i < at; i++)
		cr_assert_eq(got[i], i % 2 ? '\n' : '\r', "byte %zu", i);
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), 0, "%s", e.msg);
	free(got);
	close(in);
	close(out[0]);
	close(out[1]);
}

/* The end of stdin is kept from the near end; what came before it is not. */
Test(net, stdio_keeps_the_end_to_itself)
{
	const struct stdio_options o = { .ignore_eof = true };
	int in[2], out[2], fd;
	struct stdio *s;
	struct err e;
	char c;

	cr_assert(pipe(in) == 0 && pipe(out) == 0);
	s = stdio_open(in[0], out[1], &o, &fd, &e);
	cr_assert_not_null(s, "%s", e.msg);
	cr_assert_eq(write(in[1], "x", 1), 1);
	close(in[1]);
	cr_assert(readable(fd) && read(fd, &c, 1) == 1 && c == 'x');
	usleep(50000);
	cr_assert(read(fd, &c, 1) == -1 && errno == EAGAIN);
	cr_assert_eq(write(fd, "y", 1), 1);
	cr_assert(readable(out[0]) && read(out[0], &c, 1) == 1 && c == 'y');
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), 0, "%s", e.msg);
	close(in[0]);
	close(out[0]);
	close(out[1]);
}

/* A read that fails is no end of input. */
Test(net, stdio_tells_that_it_could_not_read)
{
	int in = open("/", O_RDONLY), out[2], fd;
	struct stdio *s;
	struct err e;
	char c;

	cr_assert(in >= 0 && pipe(out) == 0);
	s = stdio_open(in, out[1], NULL, &fd, &e);
	cr_assert_not_null(s, "%s", e.msg);
	cr_assert(readable(fd) && read(fd, &c, 1) == 0);
	cr_assert(stdio_failed(s));
	close(fd);
	cr_assert_eq(stdio_finish(s, &e), -1);
	cr_assert_eq(e.kind, ERR_IO);
	cr_assert_not_null(strstr(e.msg, "standard input"));
	close(in);
	close(out[0]);
	close(out[1]);
}

/* --- limits --------------------------------------------------------------------- */

Test(net, limits)
{
	struct rlimit lim, low;
	cpu_set_t all, one;
	unsigned cpus;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
	low = (struct rlimit){ .rlim_cur = 64, .rlim_max = lim.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	cr_assert_eq(limit_raise_files(), lim.rlim_max);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &low), 0);
	cr_assert_eq(low.rlim_cur, lim.rlim_max);
	cr_assert_eq(limit_raise_files(), lim.rlim_max, "again");

	cr_assert_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	cpus = limit_cpus();
	cr_assert_eq(cpus, (unsigned)CPU_COUNT(&all));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	}
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_assert_eq(limit_cpus(), 1);
}
