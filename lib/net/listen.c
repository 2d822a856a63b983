/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/net/listen.h"
#include "lib/net/resolve.h"
#include "lib/net/service.h"
#include "lib/net/sock.h"

/* How often a free port is asked for before it is free in every family. */
#define PORT_TRIES 50

static int cannot_listen(struct err *e, const struct addr *a, int eno)
{
	char text[ADDR_TEXT_SIZE];

	addr_format(a, text);
	switch (eno) {
	case EADDRINUSE:
		return err_set(e, ERR_CONFIG, "cannot listen on %s: in use by another process", text);
	case EACCES:
		if (a->kind == ADDR_TCP && a->port < 1024)
			return err_set(e, ERR_CONFIG,
				"cannot listen on %s: ports below 1024 need root or CAP_NET_BIND_SERVICE", text);
		break;
	case EADDRNOTAVAIL:
		return err_set(e, ERR_CONFIG,
			"cannot listen on %s: no interface of this machine has that address", text);
	default:
		break;
	}
	return err_sys(e, ERR_CONFIG, eno, "cannot listen on %s", text);
}

/* --- TCP ------------------------------------------------------------------ */

static void set_port(struct sockaddr_storage *ss, in_port_t port)
{
	if (ss->ss_family == AF_INET)
		((struct sockaddr_in *)ss)->sin_port = port;
	else
		((struct sockaddr_in6 *)ss)->sin6_port = port;
}

static in_port_t bound_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
		return 0;
	if (ss.ss_family == AF_INET)
		return ((struct sockaddr_in *)&ss)->sin_port;
	return ((struct sockaddr_in6 *)&ss)->sin6_port;
}

/* A bound and listening socket, or -1 with errno. v6only: for IPv6. The
 * options of sock_new pass on to the connections (see sock_accept). */
static int open_tcp(const struct sockaddr_storage *ss, socklen_t len, int v6only, int backlog)
{
	const int on = 1;
	int fd = sock_new(ss->ss_family);
	int eno;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (ss->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	if (bind(fd, (const struct sockaddr *)ss, len) == 0 && listen(fd, backlog) == 0)
		return fd;
	eno = errno;
	close(fd);
	errno = eno;
	return -1;
}

/* One IPv6 socket that takes IPv4 as well. A machine without IPv6 fails to make
 * it or to bind it. */
static int open_any(struct listener *out, const struct addr *a, int backlog, struct err *e)
{
	struct sockaddr_storage ss = { .ss_family = AF_INET6 }; /* all zeros: any address */
	int fd;

	set_port(&ss, htons(a->port));
	fd = open_tcp(&ss, sizeof(struct sockaddr_in6), 0, backlog);
	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
		memset(&ss, 0, sizeof(ss));
		ss.ss_family = AF_INET;
		set_port(&ss, htons(a->port));
		fd = open_tcp(&ss, sizeof(struct sockaddr_in), 0, backlog);
	}
	if (fd < 0)
		return cannot_listen(e, a, errno);
	out->fd[out->n++] = fd;
	return 0;
}

static bool lacks_family(int eno)
{
	return eno == EAFNOSUPPORT || eno == EADDRNOTAVAIL || eno == EPROTONOSUPPORT;
}

/* Opens each address, on the port that the first one got when port is 0. 0, or
 * an errno; then some may be open. */
static int open_each(struct listener *out, struct resolved *r, const struct addr *a, int backlog)
{
	in_port_t port = htons(a->port);
	int last = 0;

	for (int i = 0; i < r->n && out->n < LISTEN_MAX; i++) {
		int fd;

		set_port(&r->at[i].sa, port);
		fd = open_tcp(&r->at[i].sa, r->at[i].len, 1, backlog);
		if (fd < 0) {
			last = errno;
			/* localhost is both families, where both are there */
			if (resolve_is_loopback(a) && lacks_family(last))
				continue;
			return last;
		}
		out->fd[out->n++] = fd;
		if (port == 0)
			port = bound_port(fd);
	}
	return out->n > 0 ? 0 : last;
}

static int open_host(struct listener *out, const struct addr *a, int backlog, struct err *e)
{
	struct resolved r;
	int eno = EADDRINUSE;

	if (resolve_wait(a, RESOLVE_ANY, &r, e) != 0) {
		char text[ADDR_TEXT_SIZE];

		e->kind = ERR_CONFIG;
		return err_prefix(e, "cannot listen on %s", addr_format(a, text));
	}
	/* The port that is free for one address may be taken for the next. */
	for (int i = 0; i < (a->port == 0 ? PORT_TRIES : 1) && eno == EADDRINUSE; i++) {
		listen_close(out);
		eno = open_each(out, &r, a, backlog);
	}
	return eno == 0 ? 0 : cannot_listen(e, a, eno);
}

/* --- unix and systemd ----------------------------------------------------- */

/* Whether the socket file is left over from a process that is gone: 1, or 0
 * with errno saying what it is instead. */
static int is_stale(const struct sockaddr_storage *ss, socklen_t len)
{
	int fd = sock_new(AF_UNIX);
	int r, eno;

	if (fd < 0)
		return 0;
	r = connect(fd, (const struct sockaddr *)ss, len);
	eno = errno;
	close(fd);
	if (r != 0 && eno == ECONNREFUSED)
		return 1;
	/* EAGAIN: its backlog is full; EPROTOTYPE: not a stream socket */
	errno = r == 0 || eno == EAGAIN || eno == EPROTOTYPE ? EADDRINUSE : eno;
	return 0;
}

static int open_unix(struct listener *out, const struct addr *a, int backlog, struct err *e)
{
	bool file = a->path[0] != '@';
	struct sockaddr_storage ss;
	socklen_t len = addr_unix_sockaddr(a, &ss);
	struct stat st;
	int fd;

	if (file && lstat(a->path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return err_set(e, ERR_CONFIG,
				"cannot listen on unix:%s: a file that is not a socket is there", a->path);
		if (!is_stale(&ss, len) || unlink(a->path) != 0)
			return cannot_listen(e, a, errno);
	}
	fd = sock_new(AF_UNIX);
	if (fd < 0)
		return cannot_listen(e, a, errno);
	out->fd[out->n++] = fd;
	if (bind(fd, (const struct sockaddr *)&ss, len) != 0)
		return cannot_listen(e, a, errno);
	if (file && lstat(a->path, &st) == 0) {
		memcpy(out->unlink_path, a->path, sizeof(out->unlink_path));
		out->unlink_dev = st.st_dev;
		out->unlink_ino = st.st_ino;
	}
	if (listen(fd, backlog) != 0)
		return cannot_listen(e, a, errno);
	return 0;
}

static int open_systemd(struct listener *out, const struct addr *a, struct err *e)
{
	int fds[LISTEN_MAX + 1];
	int n = service_listen_fds(a->path, fds, LISTEN_MAX + 1);

	if (n == 0)
		return err_set(e, ERR_CONFIG,
			"cannot listen on systemd:%s: no socket of that name (FileDescriptorName=) was passed in",
			a->path);
	if (n > LISTEN_MAX)
		return err_set(e, ERR_CONFIG, "cannot listen on systemd:%s: more than %d sockets of that name",
			a->path, LISTEN_MAX);
	for (int i = 0; i < n; i++) {
		int listening = 0, type = 0;
		socklen_t len = sizeof(int);

		getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &listening, &len);
		len = sizeof(int);
		getsockopt(fds[i], SOL_SOCKET, SO_TYPE, &type, &len);
		if (!listening || type != SOCK_STREAM)
			return err_set(e, ERR_CONFIG,
				"cannot listen on systemd:%s: descriptor %d is no listening stream socket",
				a->path, fds[i]);
		sock_tune(fds[i]);
	}
	memcpy(out->fd, fds, (size_t)n * sizeof(fds[0]));
	out->n = n;
	return 0;
}

/* --- the interface -------------------------------------------------------- */

int listen_open(struct listener *out, const struct addr *a, int backlog, struct err *e)
{
	int r = -1;

	memset(out, 0, sizeof(*out));
	switch (a->kind) {
	case ADDR_TCP:
		r = a->any ? open_any(out, a, backlog, e) : open_host(out, a, backlog, e);
		break;
	case ADDR_UNIX:
		r = open_unix(out, a, backlog, e);
		break;
	case ADDR_SYSTEMD:
		r = open_systemd(out, a, e);
		break;
	case ADDR_STDIO:
		err_set(e, ERR_CONFIG, "cannot listen on -: it is standard input and output");
		break;
	}
	if (r != 0)
		listen_close(out);
	return r;
}

char *listen_name(const struct listener *l, int i, char out[ADDR_TEXT_SIZE])
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);

	if (getsockname(l->fd[i], (struct sockaddr *)&ss, &len) != 0)
		len = 0;
	return addr_format_sockaddr((const struct sockaddr *)&ss, len, out);
}

void listen_close(struct listener *l)
{
	struct stat st;

	/* The file goes first: while we listen nobody else takes its place. */
	if (l->unlink_path[0] != '\0' && lstat(l->unlink_path, &st) == 0 && st.st_dev == l->unlink_dev
	    && st.st_ino == l->unlink_ino)
		unlink(l->unlink_path);
	l->unlink_path[0] = '\0';
	while (l->n > 0)
		close(l->fd[--l->n]);
}
