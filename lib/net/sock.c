/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

#include "lib/net/sock.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: SO_NOSIGPIPE, set in sock_tune */
#endif
#ifndef MSG_MORE
#define MSG_MORE 0 /* Linux alone */
#endif

void sock_init(struct sock *s, int fd)
{
	*s = (struct sock){ .fd = fd, .readable = true, .writable = true };
}

long sock_read_result(struct sock *s, ssize_t r)
{
	if (r > 0)
		return r;
	if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		s->readable = s->unsure = false;
		return SOCK_BLOCKED;
	}
	if (r < 0) {
		s->error = errno;
		return SOCK_FAILED;
	}
	/* The end, or what a reset looks like once its error has been told, be
	 * it to a write. EPIPE is told when the FIN had come before. */
	if (s->error != 0 && s->error != EPIPE)
		return SOCK_FAILED;
	s->eof = true;
	return 0;
}

static long read_result(struct sock *s, ssize_t r, size_t total)
{
	if (r <= 0)
		return sock_read_result(s, r);
	if ((size_t)r < total && s->sparing && !s->ending) {
		s->readable = false;
		s->unsure = true;
	}
	return r;
}

bool sock_look_again(struct sock *s)
{
	if (!s->unsure || s->fd < 0)
		return false;
	s->unsure = false;
	s->readable = true;
	return true;
}

long sock_readv(struct sock *s, const struct iovec *iov, int n, size_t total)
{
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	ssize_t r;

	if (n == 1)
		return sock_read(s, iov->iov_base, iov->iov_len);
	if (s->eof)
		return 0;
	if (!s->readable || total == 0)
		return SOCK_BLOCKED;
	do {
		r = recvmsg(s->fd, &m, 0);
	} while (r < 0 && errno == EINTR);
	return read_result(s, r, total);
}

long sock_read(struct sock *s, void *data, size_t size)
{
	ssize_t r;

	if (s->eof)
		return 0;
	if (!s->readable || size == 0)
		return SOCK_BLOCKED;
	do {
		r = recv(s->fd, data, size, 0);
	} while (r < 0 && errno == EINTR);
	return read_result(s, r, size);
}

long sock_write_result(struct sock *s, ssize_t r, size_t total)
{
	if (r >= 0) {
		/* The kernel noted that we lack room, as it does with EAGAIN. */
		if ((size_t)r < total)
			s->writable = false;
		return r;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK) {
		s->writable = false;
		return SOCK_BLOCKED;
	}
	s->error = errno;
	return SOCK_FAILED;
}

static int write_flags(const struct sock *s)
{
	return MSG_NOSIGNAL | (s->last ? MSG_MORE : 0);
}

long sock_writev(struct sock *s, const struct iovec *iov, int n, size_t total)
{
	struct msghdr m = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	ssize_t r;

	if (n == 1)
		return sock_write(s, iov->iov_base, iov->iov_len);
	if (!s->writable)
		return SOCK_BLOCKED;
	do {
		r = sendmsg(s->fd, &m, write_flags(s));
	} while (r < 0 && errno == EINTR);
	return sock_write_result(s, r, total);
}

long sock_write(struct sock *s, const void *data, size_t size)
{
	ssize_t r;

	if (!s->writable)
		return SOCK_BLOCKED;
	do {
		r = send(s->fd, data, size, write_flags(s));
	} while (r < 0 && errno == EINTR);
	return sock_write_result(s, r, size);
}

void sock_shutdown_write(struct sock *s)
{
	if (s->fd >= 0)
		shutdown(s->fd, SHUT_WR);
}

void sock_close(struct sock *s, bool reset)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (s->fd < 0)
		return;
	if (reset)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(s->fd);
	s->fd = -1;
	s->readable = s->writable = false;
}

static void tune_tcp(int fd)
{
	const int on = 1;

#ifdef SO_NOSIGPIPE
	setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
	/* Fails where there is no TCP, which is how we tell. */
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0)
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void sock_tune(int fd)
{
	int on = 1;

	ioctl(fd, FIONBIO, &on);
	ioctl(fd, FIOCLEX);
	tune_tcp(fd);
}

int sock_new(int family)
{
#if defined(SOCK_NONBLOCK) && defined(SOCK_CLOEXEC)
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		tune_tcp(fd);
#else
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd >= 0)
		sock_tune(fd);
#endif
	return fd;
}

size_t sock_unsent(const struct sock *s)
{
	int n = 0;

#ifdef SIOCOUTQ
	int domain = 0;
	socklen_t len = sizeof(domain);

	/* a unix socket's bytes outlive its close */
	if (s->fd < 0 || getsockopt(s->fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain == AF_UNIX ||
		ioctl(s->fd, SIOCOUTQ, &n) < 0)
		return 0;
#else
	(void)s;
#endif
	return n > 0 ? (size_t)n : 0;
}

int sock_accept(int listen_fd, struct sockaddr *sa, socklen_t *len)
{
#ifdef __linux__
	return accept4(listen_fd, sa, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
	int fd = accept(listen_fd, sa, len);

	if (fd >= 0)
		sock_tune(fd);
	return fd;
#endif
}
