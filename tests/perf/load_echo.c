/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "load.h"

/* --- the server: what comes goes back ---------------------------------------------- */

/* Room is taken only for what the peer does not take at once, so that ten
 * thousand idle connections cost nothing here. */
struct echo {
	struct watch watch;
	char *rest;
	size_t rest_at, rest_len;
};

static char buffer[256 * 1024];
static int echoes;
static uint64_t echoed;
static struct watch listener;

static void echo_gone(struct echo *e)
{
	loop_close(&e->watch);
	free(e->rest);
	free(e);
	echoes--;
}

/* Bytes taken, 0 for none now, -1 when the connection is lost. */
static ssize_t put(int fd, const char *p, size_t n)
{
	ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

	return sent >= 0 ? sent : net_again() ? 0 : -1;
}

static void echo_keep(struct echo *e, const char *p, size_t n)
{
	e->rest = must_alloc(1, n);
	memcpy(e->rest, p, n);
	e->rest_at = 0;
	e->rest_len = n;
	loop_watch(&e->watch, EPOLLOUT);
}

static void echo_flush(struct echo *e)
{
	ssize_t n = put(e->watch.fd, e->rest + e->rest_at, e->rest_len - e->rest_at);

	if (n < 0) {
		echo_gone(e);
		return;
	}
	e->rest_at += (size_t)n;
	if (e->rest_at < e->rest_len)
		return;
	free(e->rest);
	e->rest = NULL;
	loop_watch(&e->watch, EPOLLIN);
}

static void echo_ready(struct watch *w, uint32_t events)
{
	struct echo *e = (struct echo *)w;
	ssize_t n, sent;

	(void)events;
	if (e->rest) {
		echo_flush(e);
		return;
	}
	n = recv(w->fd, buffer, sizeof(buffer), 0);
	if (n < 0 && net_again())
		return;
	sent = n > 0 ? put(w->fd, buffer, (size_t)n) : -1;
	if (sent < 0) {
		echo_gone(e);
		return;
	}
	echoed += (uint64_t)n;
	if (sent < n)
		echo_keep(e, buffer + sent, (size_t)(n - sent));
}

static void echo_accept(struct watch *w, uint32_t events)
{
	int fd;

	(void)events;
	for (int i = 0; i < 64 && (fd = net_accept(w->fd)) >= 0; i++) {
		struct echo *e = must_alloc(1, sizeof(*e));

		e->watch.fd = fd;
		e->watch.ready = echo_ready;
		echoes++;
		loop_watch(&e->watch, EPOLLIN);
	}
}

static void server_start(const struct load_opts *o)
{
	if (o->listen_port < 0)
		die("echo-server takes --listen");
	listener.fd = net_listen(o->listen_port);
	listener.ready = echo_accept;
	loop_watch(&listener, EPOLLIN);
}

static void server_command(const char *line)
{
	if (strcmp(line, "mark") != 0)
		die("unknown command \"%s\"", line);
	printf("{\"seconds\":%.9f,\"bytes\":%llu,\"open\":%d}\n", interval_s(), (unsigned long long)echoed, echoes);
	echoed = 0;
}

const struct load_role load_echo_server = {
	.name = "echo-server", .help = "sends back what it reads", .start = server_start, .command = server_command,
};

/* --- the client: a closed loop, window messages under way ---------------------------- */

struct caller {
	struct watch watch;
	uint64_t sent_no, back_no; /* messages ever sent, ever back */
	uint64_t *sent_ns; /* when, of message number i at i % window */
	char *out; /* window messages at most; out_at to out_len are to be sent */
	size_t out_at, out_len;
	char *in; /* the message that is coming in, in_len bytes of it */
	size_t in_len;
};

static size_t size, window;
static int callers;
static struct hist latency;

/* The number in front tells a lost, doubled or swapped message. */
static void caller_compose(struct caller *c, size_t n)
{
	uint64_t now = now_ns();

	memmove(c->out, c->out + c->out_at, c->out_len - c->out_at);
	c->out_len -= c->out_at;
	c->out_at = 0;
	for (; n > 0; n--) {
		c->sent_ns[c->sent_no % window] = now;
		memcpy(c->out + c->out_len, &c->sent_no, sizeof(c->sent_no));
		c->sent_no++;
		c->out_len += size;
	}
}

static void caller_send(struct caller *c)
{
	ssize_t n = put(c->watch.fd, c->out + c->out_at, c->out_len - c->out_at);

	if (n < 0)
		die("echo: the connection is lost: %s", strerror(errno));
	c->out_at += (size_t)n;
	loop_watch(&c->watch, c->out_at < c->out_len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* How many whole messages were in it. */
static size_t caller_take(struct caller *c, const char *p, size_t n)
{
	uint64_t now = now_ns(), number;
	size_t whole = 0;

	while (n > 0) {
		size_t k = size - c->in_len < n ? size - c->in_len : n;

		memcpy(c->in + c->in_len, p, k);
		p += k;
		n -= k;
		c->in_len += k;
		if (c->in_len < size)
			break;
		memcpy(&number, c->in, sizeof(number));
		if (number != c->back_no)
			die("echo: message %llu came back in the place of %llu", (unsigned long long)number,
				(unsigned long long)c->back_no);
		hist_add(&latency, now - c->sent_ns[number % window]);
		c->back_no++;
		c->in_len = 0;
		whole++;
	}
	return whole;
}

static void caller_ready(struct watch *w, uint32_t events)
{
	struct caller *c = (struct caller *)w;
	ssize_t n;
	size_t whole;

	if (events & EPOLLOUT)
		caller_send(c);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = recv(w->fd, buffer, sizeof(buffer), 0);
	if (n < 0 && net_again())
		return;
	if (n <= 0)
		die("echo: the connection ended: %s", n == 0 ? "by the other side" : strerror(errno));
	whole = caller_take(c, buffer, (size_t)n);
	if (whole > 0) {
		caller_compose(c, whole);
		caller_send(c);
	}
}

static void client_start(const struct load_opts *o)
{
	if (o->connect_port < 0)
		die("echo-client takes --connect");
	size = o->size_bytes;
	window = (size_t)o->window;
	callers = o->conns;
	for (int i = 0; i < callers; i++) {
		struct caller *c = must_alloc(1, sizeof(*c));

		c->sent_ns = must_alloc(window, sizeof(*c->sent_ns));
		c->out = must_alloc(window, size);
		c->in = must_alloc(1, size);
		c->watch.fd = net_connect(o->connect_port, o->sources);
		c->watch.ready = caller_ready;
		if (c->watch.fd < 0)
			die("cannot connect: %s", strerror(errno));
		caller_compose(c, window);
		loop_watch(&c->watch, EPOLLIN | EPOLLOUT);
	}
}

static void client_command(const char *line)
{
	if (strcmp(line, "mark") != 0)
		die("unknown command \"%s\"", line);
	printf("{\"seconds\":%.9f,\"round_trips\":%llu,\"p50_ns\":%llu,\"p90_ns\":%llu,\"p99_ns\":%llu,\"p999_ns\":%llu,"
	       "\"max_ns\":%llu,\"open\":%d}\n", interval_s(), (unsigned long long)latency.count,
		(unsigned long long)hist_quantile(&latency, 0.5), (unsigned long long)hist_quantile(&latency, 0.9),
		(unsigned long long)hist_quantile(&latency, 0.99), (unsigned long long)hist_quantile(&latency, 0.999),
		(unsigned long long)latency.max, callers);
	hist_clear(&latency);
}

const struct load_role load_echo_client = {
	.name = "echo-client", .help = "round trips, each timed", .start = client_start, .command = client_command,
};
