/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A TLS front joined to a plain back, by hand: how each kind of end is carried
 * over. The test is the client behind the front and the backend. */

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/relay/flow.h"
#include "tests/unit/net_util.h"
#include "tests/unit/pair.h"

static struct buf_pool *pool;
static struct tls_config *client_config, *server_config;
static struct sock client_sock;
static struct session *client;
static struct session_peer peer;
static struct end front, back;
static struct flow flow;
static struct err why;
static int backend;

static void ready(struct sock *s)
{
	s->readable = s->writable = true; /* sock finds out */
}

static enum flow_status run(void)
{
	enum flow_status r;
	int i;

	for (i = 0; i < 1000; i++) {
		ready(&front.sock);
		ready(&back.sock);
		r = flow_run(&flow, &why);
		if (r != FLOW_MORE)
			return r;
	}
	cr_assert(0, "the flow does not come to rest");
	return r;
}

static void shake(void)
{
	struct err e;
	int a = -1, b = -1, i;

	for (i = 0; i < 50 && (a || b); i++) {
		ready(&client_sock);
		ready(&front.sock);
		a = session_handshake(client, &e);
		cr_assert(a != SOCK_FAILED, "%s", e.msg);
		b = session_handshake(front.tls, &e);
		cr_assert(b != SOCK_FAILED, "%s", e.msg);
	}
	cr_assert(a == 0 && b == 0);
}

static void open_flow_over(bool tcp, bool allow_truncation)
{
	struct tls_options so = pair_options(TLS_SERVER), co = pair_options(TLS_CLIENT);
	int fd[2];

	co.insecure_no_verify = true;
	cr_assert((server_config = config_new(&so, &why)) && (client_config = config_new(&co, &why)));
	why = (struct err){ 0 };
	pool = buf_pool_new(1 << 20);
	stream_pair(tcp, fd);
	sock_tune(fd[0]);
	sock_tune(fd[1]);
	sock_init(&client_sock, fd[0]);
	end_init(&front, fd[1]);
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	backend = fd[0];
	end_init(&back, fd[1]);
	client = session_new(client_config, &client_sock, pool, &peer, &why);
	front.tls = session_new(server_config, &front.sock, pool, NULL, &why);
	cr_assert(client && front.tls);
	shake();
	flow_init(&flow, &front, &back, allow_truncation, false);
}

static void open_flow(bool allow_truncation)
{
	open_flow_over(false, allow_truncation);
}

static void close_flow(void)
{
	session_free(client);
	sock_close(&client_sock, false);
	end_free(&front);
	end_free(&back);
	if (backend >= 0)
		close(backend);
	buf_pool_free(pool);
	config_unref(client_config);
	config_unref(server_config);
}

static void client_says(const char *text)
{
	struct iovec iov[4];
	size_t total, n = strlen(text);
	struct err e;

	ready(&client_sock);
	cr_assert(session_reserve(client, iov, 4, &total) > 0 && total >= n);
	memcpy(iov[0].iov_base, text, n);
	cr_assert(session_commit(client, n, false, &e) == 0 && session_flush(client, &e) == 0);
}

static void client_hears(const char *text)
{
	struct iovec iov[4];
	size_t total, n = strlen(text);
	struct err e = { 0 };
	long got;

	ready(&client_sock);
	got = session_fill(client, &e);
	cr_assert_eq(got, (long)n, "%ld %s", got, e.msg);
	session_peek(client, iov, 4, &total);
	cr_assert_eq(memcmp(iov[0].iov_base, text, n), 0);
	session_consume(client, n);
}

static long client_reads(struct err *e)
{
	ready(&client_sock);
	return session_fill(client, e);
}

static void client_ends(void)
{
	struct err e;

	cr_assert(session_close_notify(client, &e) == 0 && session_flush(client, &e) == 0);
}

static void backend_hears(const char *text)
{
	char got[64] = "";

	cr_assert_eq(recv(backend, got, sizeof(got), 0), (ssize_t)strlen(text), "%s", strerror(errno));
	cr_assert_str_eq(got, text);
}

static void backend_says(const char *text)
{
	cr_assert_eq(send(backend, text, strlen(text), 0), (ssize_t)strlen(text));
}

Test(flow, both_ways_and_both_ends)
{
	struct err e;
	char c;

	open_flow(false);
	client_says("ping");
	cr_assert_eq(run(), FLOW_WAIT);
	backend_hears("ping");
	backend_says("pong");
	cr_assert_eq(run(), FLOW_WAIT);
	client_hears("pong");
	client_ends();
	cr_assert_eq(run(), FLOW_WAIT);
	cr_assert_eq(recv(backend, &c, 1, 0), 0, "close_notify becomes FIN");
	backend_says("more");
	cr_assert_eq(run(), FLOW_WAIT);
	client_hears("more");
	shutdown(backend, SHUT_WR);
	cr_assert_eq(run(), FLOW_ENDED);
	cr_assert_eq(client_reads(&e), 0, "FIN becomes close_notify");
	cr_assert(flow.up.bytes == 4 && flow.down.bytes == 8);
	close_flow();
}

Test(flow, backend_ends_first)
{
	struct err e;

	open_flow(false);
	backend_says("bye");
	shutdown(backend, SHUT_WR);
	cr_assert_eq(run(), FLOW_WAIT);
	client_hears("bye");
	cr_assert_eq(client_reads(&e), 0);
	client_says("still here");
	cr_assert_eq(run(), FLOW_WAIT);
	backend_hears("still here");
	client_ends();
	cr_assert_eq(run(), FLOW_ENDED);
	close_flow();
}

/* The client has said all, and the backend's end is what remains. */
static void say_all_but_the_end(void)
{
	open_flow_over(true, false);
	client_says("ping");
	client_ends();
	cr_assert_eq(run(), FLOW_WAIT);
	backend_hears("ping");
	shutdown(backend, SHUT_WR);
}

/* In one segment: nothing goes before the close. */
Test(flow, the_last_close_notify_waits_for_the_fin)
{
	struct err e;

	say_all_but_the_end();
	ready(&back.sock);
	front.sock.readable = false; /* all was read */
	cr_assert_eq(flow_run(&flow, &why), FLOW_ENDED);
#ifdef MSG_MORE
	cr_assert_eq(client_reads(&e), SOCK_BLOCKED);
#endif
	sock_close(&front.sock, false);
	cr_assert_eq(client_reads(&e), 0);
	close_flow();
}

/* A close with something unread is a reset, which leaves what waits behind. */
Test(flow, the_last_close_notify_goes_before_a_reset)
{
	struct err e;

	say_all_but_the_end();
	cr_assert_eq(write(client_sock.fd, "?", 1), 1);
	cr_assert_eq(run(), FLOW_ENDED); /* which tells the front that something is there */
	cr_assert_eq(client_reads(&e), 0);
	sock_close(&front.sock, false);
	close_flow();
}

/* While the other side may go on for hours. */
Test(flow, a_first_close_notify_does_not_wait)
{
	struct err e;

	open_flow_over(true, false);
	shutdown(backend, SHUT_WR);
	ready(&back.sock);
	front.sock.readable = false;
	cr_assert_eq(flow_run(&flow, &why), FLOW_WAIT);
	cr_assert_eq(client_reads(&e), 0);
	close_flow();
}

Test(flow, truncation_fails_after_the_data)
{
	open_flow(false);
	client_says("half a mes");
	shutdown(client_sock.fd, SHUT_WR);
	cr_assert_eq(run(), FLOW_FAILED);
	backend_hears("half a mes");
	cr_assert_eq(why.kind, ERR_TRUNCATED);
	cr_assert(strstr(why.msg, "from the peer: truncated"), "%s", why.msg);
	close_flow();
}

Test(flow, truncation_that_is_allowed)
{
	char c;

	open_flow(true);
	client_says("all");
	shutdown(client_sock.fd, SHUT_WR);
	cr_assert_eq(run(), FLOW_WAIT);
	backend_hears("all");
	cr_assert_eq(recv(backend, &c, 1, 0), 0);
	shutdown(backend, SHUT_WR);
	cr_assert_eq(run(), FLOW_ENDED);
	close_flow();
}

/* A client that had its answer and our close_notify and just closes is no
 * failure; in any other case the end may have been somebody else's work. */
static enum flow_status leave(const char *answer, const char *rest, bool strict)
{
	enum flow_status r;

	open_flow(false);
	flow.strict = strict;
	if (*answer)
		backend_says(answer);
	shutdown(backend, SHUT_WR);
	cr_assert_eq(run(), FLOW_WAIT);
	if (*rest)
		client_says(rest);
	run();
	shutdown(client_sock.fd, SHUT_WR);
	r = run();
	cr_assert_eq(why.kind, r == FLOW_LEFT ? ERR_NONE : ERR_TRUNCATED);
	close_flow();
	return r;
}

Test(flow, leaving_after_us)
{
	cr_assert_eq(leave("answer", "", false), FLOW_LEFT);
	cr_assert_eq(leave("answer", "", true), FLOW_FAILED);
	cr_assert_eq(leave("", "", false), FLOW_FAILED);
	cr_assert_eq(leave("answer", "half of an upl", false), FLOW_FAILED);
}

/* A server that cuts its reply after our half has ended. */
Test(flow, a_cut_reply_to_a_client_that_ended)
{
	struct end *f = &front, *b = &back;

	open_flow(false);
	flow_init(&flow, b, f, false, false); /* the TLS side is the target now */
	shutdown(backend, SHUT_WR);
	cr_assert_eq(run(), FLOW_WAIT);
	client_says("half a rep");
	shutdown(client_sock.fd, SHUT_WR);
	cr_assert_eq(run(), FLOW_FAILED);
	cr_assert_eq(why.kind, ERR_TRUNCATED);
	close_flow();
}

/* A backend that refuses the rest of a request but has answered it. */
Test(flow, the_answer_of_a_side_that_takes_no_more)
{
	struct err e;

	open_flow(false);
	backend_says("413");
	close(backend);
	backend = -1;
	client_says("a long request");
	cr_assert_eq(run(), FLOW_FAILED);
	client_hears("413");
	cr_assert(strstr(why.msg, "to the target"), "%s", why.msg);
	cr_assert_eq(client_reads(&e), 0);
	close_flow();
}

/* Nothing is read from a source while its sink is full, and nothing is lost. */
Test(flow, back_pressure)
{
	static char big[65536];
	size_t sent = 0, got = 0;
	struct iovec iov[16];
	struct err e;
	size_t total;
	ssize_t n;
	int stuck = 0;

	open_flow(false);
	while (stuck < 3) { /* the client does not read */
		n = send(backend, big, sizeof(big), 0);
		stuck = n > 0 ? 0 : stuck + 1;
		sent += n > 0 ? (size_t)n : 0;
		cr_assert_eq(run(), FLOW_WAIT);
		cr_assert(sent < (16u << 20), "the flow swallows without end");
	}
	shutdown(backend, SHUT_WR);
	while (got < sent) {
		ready(&client_sock);
		if (session_fill(client, &e) > 0) {
			session_peek(client, iov, 16, &total);
			session_consume(client, total);
			got += total;
		}
		run();
	}
	cr_assert_eq(got, sent);
	cr_assert_eq(client_reads(&e), 0);
	cr_assert_not(session_holds_memory(front.tls));
	close_flow();
}
