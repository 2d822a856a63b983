/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_NET_UTIL_H
#define TLSKIT_TESTS_NET_UTIL_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/net/loop.h"
#include "tests/unit/timeout.h"

/* What the tests of lib/net share. Ports are always free ones. */

static inline struct loop *must_loop(void)
{
	struct err e;
	struct loop *l = loop_new(&e);

	cr_assert_not_null(l, "%s", e.msg);
	return l;
}

static inline void must_run(struct loop *l)
{
	struct err e;

	cr_assert_eq(loop_run(l, &e), 0, "%s", e.msg);
}

static inline void stop_loop(void *arg)
{
	loop_stop(arg);
}

/* Lets the loop go on for a while. */
static inline void run_for(struct loop *l, uint64_t ms)
{
	struct loop_timer *t = loop_timer_new(l, stop_loop, l);

	cr_assert_not_null(t);
	loop_timer_set(t, ms);
	must_run(l);
	loop_timer_free(t);
}

static inline void make_nonblocking(int fd)
{
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static inline void count_call(void *arg)
{
	(*(int *)arg)++;
}

static inline int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	cr_assert_not_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* An IPv4 loopback socket that listens on a free port, blocking. */
static inline int listen_v4(struct sockaddr_in *in, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*in);

	memset(in, 0, sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)in, sizeof(*in)), 0);
	cr_assert_eq(listen(fd, backlog), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)in, &len), 0);
	return fd;
}

/* Two blocking ends of a connection: over TCP, or a socketpair. */
static inline void stream_pair(bool tcp, int fd[2])
{
	struct sockaddr_in in;
	int l;

	if (!tcp) {
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		return;
	}
	l = listen_v4(&in, 1);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(fd[0], (struct sockaddr *)&in, sizeof(in)), 0);
	fd[1] = accept(l, NULL, NULL);
	cr_assert_geq(fd[1], 0);
	close(l);
}

#endif
