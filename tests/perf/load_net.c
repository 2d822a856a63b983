/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

static struct sockaddr_in loopback(uint32_t host, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons((in_port_t)port) };

	sin.sin_addr.s_addr = htonl(host);
	return sin;
}

static int on(int fd, int level, int option)
{
	const int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one));
}

int net_listen(int port)
{
	struct sockaddr_in sin = loopback(INADDR_LOOPBACK, port);
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket: %s", strerror(errno));
	on(fd, SOL_SOCKET, SO_REUSEADDR);
	if (bind(fd, (struct sockaddr *)&sin, len) != 0 || listen(fd, 4096) != 0)
		die("cannot listen on port %d: %s", port, strerror(errno));
	getsockname(fd, (struct sockaddr *)&sin, &len);
	printf("{\"listening\":%u}\n", ntohs(sin.sin_port));
	return fd;
}

int net_accept(int fd)
{
	int c = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (c < 0 && !net_again() && errno != ECONNABORTED)
		die("accept: %s", strerror(errno));
	if (c >= 0)
		on(c, IPPROTO_TCP, TCP_NODELAY);
	return c;
}

/* A port of one source address stays taken for a minute after each connection,
 * and there are 28,000 of them. */
static int bind_source(int fd, int sources)
{
	static unsigned turn;
	struct sockaddr_in sin = loopback(0x7f000101u + turn++ % (unsigned)sources, 0);

	on(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
	return bind(fd, (struct sockaddr *)&sin, sizeof(sin));
}

int net_connect(int port, int sources)
{
	struct sockaddr_in sin = loopback(INADDR_LOOPBACK, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int eno;

	if (fd < 0)
		return -1;
	on(fd, IPPROTO_TCP, TCP_NODELAY);
	if ((sources == 0 || bind_source(fd, sources) == 0)
	    && (connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0 || errno == EINPROGRESS))
		return fd;
	eno = errno;
	close(fd);
	errno = eno;
	return -1;
}

int net_error(int fd)
{
	int eno = 0;
	socklen_t len = sizeof(eno);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &eno, &len) == 0 ? eno : errno;
}

bool net_again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}
