/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/net/route.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connecting a datagram socket sends nothing, but has the kernel choose the
 * source. The destination is an address for documentation (RFC 5737, RFC 3849). */
static int own_address(int family, const struct sockaddr *to, socklen_t len, struct sockaddr_storage *own)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(*own);
	int r = -1;

	if (fd < 0)
		return -1;
	if (connect(fd, to, len) == 0 && getsockname(fd, (struct sockaddr *)own, &n) == 0)
		r = 0;
	close(fd);
	return r;
}

char *route_own_address(char out[ROUTE_TEXT_SIZE])
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	struct sockaddr_storage own;
	char text[INET6_ADDRSTRLEN];

	inet_pton(AF_INET, "192.0.2.1", &v4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr);
	snprintf(out, ROUTE_TEXT_SIZE, "127.0.0.1");
	if (own_address(AF_INET, (struct sockaddr *)&v4, sizeof(v4), &own) == 0 &&
		inet_ntop(AF_INET, &((struct sockaddr_in *)&own)->sin_addr, text, sizeof(text)))
		snprintf(out, ROUTE_TEXT_SIZE, "%s", text);
	else if (own_address(AF_INET6, (struct sockaddr *)&v6, sizeof(v6), &own) == 0 &&
		 inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&own)->sin6_addr, text, sizeof(text)))
		snprintf(out, ROUTE_TEXT_SIZE, "[%s]", text);
	return out;
}
