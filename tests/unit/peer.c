/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/peer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/un.h>

#include "tests/unit/net_util.h"

#define PATIENCE_S 5
#define BACKLOG    128

static void *run(void *arg)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct peer *p = arg;
	int fd;

	while ((fd = accept(p->fd, NULL, NULL)) >= 0) {
		p->accepted++;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		p->serve(p, fd);
		close(fd);
	}
	return NULL;
}

static void start(struct peer *p, int fd, unsigned port, peer_fn *serve, void *arg)
{
	*p = (struct peer){ .serve = serve, .arg = arg, .port = port, .fd = fd };
	cr_assert_eq(pthread_create(&p->thread, NULL, run, p), 0);
}

void peer_start(struct peer *p, peer_fn *serve, void *arg)
{
	struct sockaddr_in in;
	int fd = listen_v4(&in, BACKLOG);

	start(p, fd, ntohs(in.sin_port), serve, arg);
}

void peer_start_unix(struct peer *p, const char *path, peer_fn *serve, void *arg)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	cr_assert_eq(listen(fd, BACKLOG), 0);
	start(p, fd, 0, serve, arg);
}

void peer_end(struct peer *p)
{
	if (!p || p->fd < 0)
		return;
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
	p->fd = -1;
	cr_assert_not(p->late, "the server waited in vain");
}

const char *peer_target(const struct peer *p, const char *host)
{
	static char text[8][300];
	static unsigned next;
	char *out = text[next++ % 8];

	snprintf(out, sizeof(text[0]), "%s:%u", host, p->port);
	return out;
}

unsigned peer_nobody(void)
{
	struct sockaddr_in in;

	close(listen_v4(&in, 1));
	return ntohs(in.sin_port);
}

/* --- what it does ------------------------------------------------------------------------ */

void peer_wait_for_end(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
}

void peer_be_silent(struct peer *p, int fd)
{
	(void)p;
	peer_wait_for_end(fd);
}

void peer_close(struct peer *p, int fd)
{
	(void)p;
	(void)fd;
}

void peer_reset(struct peer *p, int fd)
{
	struct linger now = { .l_onoff = 1 };
	char byte;

	(void)p;
	recv(fd, &byte, 1, MSG_PEEK); /* else it may come before the connect is seen to be over */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* False: it ended, or said something else. */
static bool hear(struct peer *p, int fd, const struct peer_line *line)
{
	char bytes[1024];
	size_t have = 0;
	ssize_t n;

	while (have < line->hears_n) {
		n = read(fd, bytes + have, line->hears_n - have);
		p->late |= n < 0 && errno == EAGAIN;
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	if (memcmp(bytes, line->hears, have) == 0)
		return true;
	fprintf(stderr, "heard \"%.*s\" in place of \"%s\"\n", (int)have, bytes, line->hears);
	return false;
}

void peer_talk(struct peer *p, int fd)
{
	for (const struct peer_line *line = p->arg; line->hears; line++)
		if (!hear(p, fd, line) || send(fd, line->says, line->says_n, MSG_NOSIGNAL) != (ssize_t)line->says_n)
			break;
	peer_wait_for_end(fd);
}
