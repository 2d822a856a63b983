/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/talk_rig.h"

#include <poll.h>
#include <signal.h>

#include "tests/unit/net_util.h"

#define PATIENCE_MS 5000

unsigned char rig_pattern(size_t i)
{
	return (unsigned char)(i * 13 + (i >> 9) + (i >> 17));
}

const struct rig rig_ways[] = {
	{ .version = 13, .plane = TLS_DATAPLANE_DIRECT },
	{ .version = 13, .plane = TLS_DATAPLANE_GNUTLS, .unix_socket = true },
	{ .version = 12, .plane = TLS_DATAPLANE_AUTO },
};
const size_t rig_ways_n = sizeof(rig_ways) / sizeof(*rig_ways);

void rig_type(struct rig *r, const char *text)
{
	r->typed = text;
	r->typed_n = strlen(text);
}

/* --- the server ----------------------------------------------------------------- */

static bool await(struct rig *r, short events)
{
	struct sock *s = &r->pair.sock[1];
	struct pollfd p = { .fd = s->fd, .events = events };

	if (poll(&p, 1, PATIENCE_MS) != 1) {
		r->late = true;
		return false;
	}
	s->readable |= (p.revents & ~POLLOUT) != 0;
	s->writable |= (p.revents & ~POLLIN) != 0;
	return true;
}

static bool flush(struct rig *r)
{
	int n;

	while ((n = session_flush(r->pair.s[1], &r->pair.err[1])) == SOCK_BLOCKED)
		if (!await(r, POLLOUT))
			return false;
	return n == 0;
}

/* data: NULL for the pattern. */
static void say(struct rig *r, const char *data, size_t n)
{
	struct session *s = r->pair.s[1];
	struct iovec iov[16];
	size_t done = 0, put, total, k;
	int i, runs;

	while (flush(r) && done < n) {
		runs = session_reserve(s, iov, 16, &total);
		for (i = 0, put = 0; i < runs; i++)
			for (k = 0; k < iov[i].iov_len && done + put < n; k++, put++)
				((char *)iov[i].iov_base)[k] = data ? data[done + put] : (char)rig_pattern(done + put);
		if (session_commit(s, put, put == total, &r->pair.err[1]) < 0)
			return;
		done += put;
	}
}

void rig_say(struct rig *r, const void *data, size_t n)
{
	say(r, data, n);
}

void rig_say_pattern(struct rig *r, size_t n)
{
	say(r, NULL, n);
}

/* Keeps up to n bytes of what waits in the session. */
static void keep(struct rig *r, size_t n)
{
	struct iovec iov[16];
	size_t total, left = n, part;
	int i, runs = session_peek(r->pair.s[1], iov, 16, &total);

	for (i = 0; i < runs && left > 0; i++, left -= part) {
		part = iov[i].iov_len < left ? iov[i].iov_len : left;
		memcpy(r->heard + r->heard_n, iov[i].iov_base, part);
		r->heard_n += part;
	}
	session_consume(r->pair.s[1], n - left);
}

void rig_hear(struct rig *r, size_t n, unsigned pause_us)
{
	long got;

	while (r->heard_n < n && r->heard_end == 1) {
		got = session_fill(r->pair.s[1], &r->heard_err);
		if (got > 0) {
			keep(r, n - r->heard_n);
			usleep(pause_us);
		} else if (got != SOCK_BLOCKED) {
			r->heard_end = got;
		} else if (!await(r, POLLIN)) {
			return;
		}
	}
}

void rig_hear_end(struct rig *r)
{
	rig_hear(r, RIG_MOST, 0);
}

void rig_end(struct rig *r)
{
	session_close_notify(r->pair.s[1], &r->pair.err[1]);
	flush(r);
}

void rig_await_read(struct rig *r, size_t n)
{
	int ms;

	for (ms = 0; ms < PATIENCE_MS && r->read_n < n; ms++)
		usleep(1000);
	r->late |= r->read_n < n;
}

static void *serve(void *arg)
{
	struct rig *r = arg;

	r->serve(r);
	if (r->pair.s[1]) /* back to the test's thread, which frees it */
		session_move(r->pair.s[1], r->pair.pool);
	return NULL;
}

/* --- who types and who reads --------------------------------------------------- */

static void *type(void *arg)
{
	struct rig *r = arg;
	size_t n = r->typed_pattern ? r->typed_pattern : r->typed_n, done = 0, k, part;
	char piece[4000];
	ssize_t put = 1;

	while (done < n && put > 0) {
		part = n - done < sizeof(piece) ? n - done : sizeof(piece);
		for (k = 0; k < part; k++)
			piece[k] = r->typed_pattern ? (char)rig_pattern(done + k) : r->typed[done + k];
		put = write(r->in[1], piece, part);
		done += put > 0 ? (size_t)put : 0;
	}
	while (r->stays && !r->over)
		usleep(1000);
	close(r->in[1]);
	return NULL;
}

static void *read_all(void *arg)
{
	struct rig *r = arg;
	ssize_t n = r->goes ? 0 : 1;

	while (n > 0) {
		usleep(r->pause_us);
		n = read(r->out[0], r->read + r->read_n, RIG_MOST - r->read_n);
		if (n > 0)
			r->read_n += (size_t)n;
	}
	close(r->out[0]);
	return NULL;
}

/* --- all of it --------------------------------------------------------------------- */

static struct tls_config *configure(const struct rig *r, enum tls_role role)
{
	struct tls_options o = pair_options(role);
	struct tls_config *c;
	struct err e;

	o.min_version = o.max_version = r->version ? r->version : 13;
	o.insecure_no_verify = role == TLS_CLIENT;
	o.client_ca = role == TLS_SERVER ? r->client_ca : NULL;
	o.dataplane = r->plane;
	c = config_new(&o, &e);
	cr_assert(c, "%s", e.msg);
	return c;
}

/* With buffers that hold far less than what is sent: on loopback they grow to megabytes. */
static void tune(int fd)
{
	const int size = 65536;

	sock_tune(fd);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
}

void rig_open(struct rig *r)
{
	int fd[2];

	r->config[0] = configure(r, TLS_CLIENT);
	r->config[1] = configure(r, TLS_SERVER);
	stream_pair(!r->unix_socket, fd);
	tune(fd[0]);
	tune(fd[1]);
	pair_open_over(&r->pair, r->config[0], r->config[1], fd);
	r->loop = must_loop();
	r->pool = buf_pool_new(1 << 20);
	r->read = malloc(RIG_MOST);
	r->heard = malloc(RIG_MOST);
	cr_assert(r->pool && r->read && r->heard);
	r->heard_end = 1;
}

void rig_shake(struct rig *r)
{
	pair_shake(&r->pair);
	cr_assert_eq(r->pair.done[0], 1, "%s", r->pair.err[0].msg);
}

/* Only the talk itself is held to do without SIGPIPE. */
static pthread_t start(void *(*fn)(void *), struct rig *r)
{
	sigset_t pipe_only, before;
	pthread_t t;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	cr_assert_eq(pthread_create(&t, NULL, fn, r), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return t;
}

static void make_ends(struct rig *r)
{
	cr_assert(pipe(r->in) == 0 && pipe(r->out) == 0);
	if (r->in_fd)
		dup2(r->in_fd, r->in[0]);
	if (r->out_fd)
		dup2(r->out_fd, r->out[1]);
}

void rig_talk(struct rig *r)
{
	pthread_t server, typist, reader;
	struct err e = { 0 };

	signal(SIGPIPE, SIG_DFL);
	make_ends(r);
	session_move(r->pair.s[1], r->pool);
	reader = start(read_all, r);
	if (r->goes)
		pthread_join(reader, NULL);
	server = start(serve, r);
	typist = start(type, r);
	cr_assert_eq(talk_run(r->loop, r->pair.s[0], &r->pair.sock[0], r->in[0], r->out[1], &r->options, &r->result, &e),
		0, "%s", e.msg);
	r->over = true;
	close(r->in[0]);
	close(r->out[1]);
	pthread_join(server, NULL);
	pthread_join(typist, NULL);
	if (!r->goes)
		pthread_join(reader, NULL);
	cr_assert_not(r->late, "the server waited in vain");
	cr_assert_geq(r->pair.sock[0].fd, 0, "the socket stays open");
}

void rig_run(struct rig *r)
{
	rig_open(r);
	rig_shake(r);
	rig_talk(r);
}

void rig_close(struct rig *r)
{
	pair_close(&r->pair);
	buf_pool_free(r->pool);
	loop_free(r->loop);
	config_unref(r->config[0]);
	config_unref(r->config[1]);
	free(r->read);
	free(r->heard);
}

void rig_must_end(const struct rig *r, enum talk_end end, const char *why)
{
	cr_assert_eq(r->result.end, end, "%d: %s", r->result.end, r->result.e.msg);
	if (why)
		cr_assert(strstr(r->result.e.msg, why), "%s", r->result.e.msg);
	else
		cr_assert_eq(r->result.e.kind, ERR_NONE);
}

void rig_must_read(const struct rig *r, const void *data, size_t n)
{
	cr_assert_eq(r->read_n, n, "%zu", (size_t)r->read_n);
	cr_assert_eq(memcmp(r->read, data, n), 0);
	cr_assert_eq(r->result.received_bytes, n);
}

void rig_must_hear(const struct rig *r, const void *data, size_t n)
{
	cr_assert_eq(r->heard_n, n, "%zu", r->heard_n);
	cr_assert_eq(memcmp(r->heard, data, n), 0);
	cr_assert_eq(r->result.sent_bytes, n);
}

void rig_must_match(const char *got, size_t n, size_t expected)
{
	size_t i;

	cr_assert_eq(n, expected, "%zu", n);
	for (i = 0; i < n && (unsigned char)got[i] == rig_pattern(i); i++)
		;
	cr_assert_eq(i, n, "byte %zu", i);
}
