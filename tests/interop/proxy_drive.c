/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/net/proxy.h"

/* proxy_drive PROXY-URL TARGET [BYTES]
 * Has the proxy connect to the target, then copies stdin to it and what it says to
 * stdout, until both have ended. BYTES: at most so many at a time from the proxy.
 * Exit code 13 and a line on stderr when the proxy does not. */

#define EXIT_PROXY 13

static int fail(const struct err *e)
{
	fprintf(stderr, "%s\n", e->msg);
	return e->kind == ERR_CONFIG ? 2 : EXIT_PROXY;
}

static int write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		ssize_t r = write(fd, p, n);

		if (r <= 0)
			return -1;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

/* The first address of a that can be connected to; blocking. Its text in numeric. */
static int dial(const struct addr *a, bool connects, char numeric[NI_MAXHOST])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	char port[8];
	int fd = -1;

	snprintf(port, sizeof(port), "%u", a->port);
	if (getaddrinfo(a->host[0] != '\0' ? a->host : "localhost", port, &hints, &list) != 0)
		return -1;
	getnameinfo(list->ai_addr, list->ai_addrlen, numeric, NI_MAXHOST, NULL, 0, NI_NUMERICHOST);
	for (struct addrinfo *i = list; connects && i != NULL && fd < 0; i = i->ai_next) {
		fd = socket(i->ai_family, SOCK_STREAM, 0);
		if (fd >= 0 && connect(fd, i->ai_addr, i->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static int send_waiting(struct parley *c, int fd)
{
	size_t n;
	const uint8_t *out = parley_out(c, &n);

	if (write_all(fd, out, n) != 0)
		return -1;
	parley_sent(c, n);
	return 0;
}

/* What the target said already goes to stdout. */
static int converse(struct parley *c, int fd, size_t piece, struct err *e)
{
	uint8_t data[4096];
	size_t used;
	enum parley_status status = parley_feed(c, NULL, 0, &used, e);

	while (status == PARLEY_MORE) {
		ssize_t n;

		if (send_waiting(c, fd) != 0)
			return err_set(e, ERR_IO, "the proxy takes no more");
		n = read(fd, data, piece);
		if (n <= 0) {
			status = parley_end(c, e);
			break;
		}
		status = parley_feed(c, data, (size_t)n, &used, e);
		if (status == PARLEY_DONE)
			return write_all(STDOUT_FILENO, data + used, (size_t)n - used);
	}
	return status == PARLEY_DONE ? 0 : -1;
}

static void copy(int fd)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = fd, .events = POLLIN } };
	static char data[65536];

	while (p[1].fd >= 0 && poll(p, 2, -1) >= 0) {
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			if (p[i].fd < 0 || p[i].revents == 0)
				continue;
			n = read(p[i].fd, data, sizeof(data));
			if (n > 0 && write_all(i == 0 ? fd : STDOUT_FILENO, data, (size_t)n) == 0)
				continue;
			p[i].fd = -1;
			if (i == 0)
				shutdown(fd, SHUT_WR);
		}
	}
}

int main(int argc, char **argv)
{
	char numeric[NI_MAXHOST];
	size_t piece = argc > 3 ? 1 : 4096;
	struct proxy proxy;
	struct addr target;
	struct err e;
	struct parley *c;
	int fd, r;

	if (argc < 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (proxy_parse(argv[1], &proxy, &e) != 0 || addr_parse(&target, argv[2], ADDR_CONNECT, &e) != 0)
		return fail(&e);
	if (!proxy_resolves(&proxy)) {
		dial(&target, false, numeric);
		snprintf(target.host, sizeof(target.host), "%.255s", numeric);
		target.numeric = true;
	}
	fd = dial(&proxy.addr, true, numeric);
	if (fd < 0)
		return fputs("no connection to the proxy\n", stderr), 1;
	c = proxy_new(&proxy, &target, &e);
	proxy_wipe(&proxy);
	r = c != NULL ? converse(c, fd, piece, &e) : -1;
	parley_free(c);
	if (r != 0)
		return close(fd), fail(&e);
	copy(fd);
	close(fd);
	return 0;
}
