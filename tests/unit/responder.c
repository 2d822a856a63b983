/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/responder.h"

#include <netinet/tcp.h>

#include "tests/unit/net_util.h"

/* False: the peer went away before it was whole. */
static bool read_request(struct responder *s, int fd)
{
	const char *head, *length;
	ssize_t n;

	for (;;) {
		n = read(fd, s->request + s->request_n, sizeof(s->request) - 1 - s->request_n);
		if (n <= 0)
			return false;
		s->request_n += (size_t)n;
		head = strstr(s->request, "\r\n\r\n");
		length = strstr(s->request, "Content-Length: ");
		if (head && length && s->request_n >= (size_t)(head + 4 - s->request) + strtoul(length + 16, NULL, 10))
			return true;
	}
}

static bool say(struct responder *s, int fd, const void *data, size_t size)
{
	ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

	if (n > 0)
		s->sent += (size_t)n;
	return n == (ssize_t)size;
}

static void wait_for_end(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		continue;
}

void responder_speak(struct responder *s, int fd)
{
	if (read_request(s, fd) && say(s, fd, s->says, s->n))
		wait_for_end(fd);
}

void responder_speak_and_close(struct responder *s, int fd)
{
	if (read_request(s, fd) && s->n > 0)
		say(s, fd, s->says, s->n);
}

void responder_speak_unasked(struct responder *s, int fd)
{
	char byte;

	recv(fd, &byte, 1, MSG_PEEK); /* the request has come */
	say(s, fd, s->says, s->n);
}

void responder_speak_and_reset(struct responder *s, int fd)
{
	struct linger now = { .l_onoff = 1 };

	responder_speak_and_close(s, fd);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void responder_speak_in_bytes(struct responder *s, int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (!read_request(s, fd))
		return;
	for (size_t i = 0; i < s->n; i++)
		say(s, fd, s->says + i, 1);
	wait_for_end(fd);
}

void responder_drip(struct responder *s, int fd)
{
	if (!read_request(s, fd) || !say(s, fd, s->says, s->n))
		return;
	while (say(s, fd, "x", 1))
		usleep(2000);
}

void responder_flood(struct responder *s, int fd)
{
	static const char zeros[65536];

	if (!read_request(s, fd) || !say(s, fd, s->says, s->n))
		return;
	while (s->sent < RESPONDER_FLOOD && say(s, fd, zeros, sizeof(zeros)))
		continue;
	wait_for_end(fd);
}

void responder_be_silent(struct responder *s, int fd)
{
	(void)s;
	wait_for_end(fd);
}

static void *serve_one(void *arg)
{
	struct responder *s = arg;
	int fd = accept(s->fd, NULL, NULL);

	if (fd >= 0) {
		s->serve(s, fd);
		close(fd);
	}
	return NULL;
}

void responder_start(struct responder *s, responder_fn *how, const void *says, size_t n)
{
	struct sockaddr_in in;

	memset(s, 0, sizeof(*s));
	s->fd = listen_v4(&in, 4);
	s->port = ntohs(in.sin_port);
	s->serve = how;
	cr_assert_leq(n, sizeof(s->says));
	if (n > 0)
		memcpy(s->says, says, n);
	s->n = n;
	cr_assert_eq(pthread_create(&s->thread, NULL, serve_one, s), 0);
}

void responder_end(struct responder *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}
