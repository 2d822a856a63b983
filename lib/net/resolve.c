/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/net/resolve.h"

static bool wanted(enum resolve_family family, int af)
{
	return family == RESOLVE_ANY || (family == RESOLVE_V4) == (af == AF_INET);
}

static void add(struct resolved *out, const void *sa, socklen_t len)
{
	if (out->n == RESOLVE_MAX || len > sizeof(out->at[0].sa))
		return;
	memset(&out->at[out->n].sa, 0, sizeof(out->at[0].sa));
	memcpy(&out->at[out->n].sa, sa, len);
	out->at[out->n++].len = len;
}

/* --- without a look-up ---------------------------------------------------- */

static void add_v4(struct resolved *out, struct in_addr ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = ip };

	add(out, &in, sizeof(in));
}

static void add_loopback(struct resolved *out, uint16_t port, enum resolve_family family)
{
	struct in_addr v4 = { .s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };

	if (wanted(family, AF_INET))
		add_v4(out, v4, port);
	if (wanted(family, AF_INET6))
		add(out, &in6, sizeof(in6));
}

static void add_literal(struct resolved *out, const struct addr *a, enum resolve_family family)
{
	struct addrinfo hints = { .ai_family = AF_INET6, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *ai;
	struct in_addr v4;
	char port[8];

	if (inet_pton(AF_INET, a->host, &v4) == 1) {
		if (wanted(family, AF_INET))
			add_v4(out, v4, a->port);
		return;
	}
	if (!wanted(family, AF_INET6))
		return;
	/* It knows how to make an interface's number out of a scope. */
	snprintf(port, sizeof(port), "%u", a->port);
	if (getaddrinfo(a->host, port, &hints, &ai) != 0)
		return;
	add(out, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
}

bool resolve_is_loopback(const struct addr *a)
{
	const char *name = "localhost";
	size_t n = strlen(a->host), tail = strlen(name);

	if (a->loopback)
		return true;
	if (n < tail || strcmp(a->host + n - tail, name) != 0)
		return false;
	return n == tail || a->host[n - tail - 1] == '.';
}

int resolve_now(const struct addr *a, enum resolve_family family, struct resolved *out)
{
	struct sockaddr_storage un;

	out->n = 0;
	if (a->kind == ADDR_UNIX) {
		socklen_t len = addr_unix_sockaddr(a, &un);

		add(out, &un, len);
		return 1;
	}
	if (a->kind != ADDR_TCP)
		return 1;
	if (resolve_is_loopback(a)) {
		add_loopback(out, a->port, family);
		return 1;
	}
	if (a->numeric) {
		add_literal(out, a, family);
		return 1;
	}
	return 0;
}

int resolve_none(const struct addr *a, enum resolve_family family, struct err *e)
{
	const char *v = family == RESOLVE_V4 ? "IPv4" : "IPv6";

	if (strchr(a->host, '%') != NULL && wanted(family, AF_INET6))
		return err_set(e, ERR_RESOLVE, "cannot resolve %s: no such network interface", a->host);
	if (family != RESOLVE_ANY)
		return err_set(e, ERR_RESOLVE, "cannot resolve %s: it has no %s address", a->host, v);
	return err_set(e, ERR_RESOLVE, "cannot resolve %s: it has no address", a->host);
}

/* --- getaddrinfo ---------------------------------------------------------- */

static bool seen(const struct resolved *out, const struct addrinfo *ai)
{
	for (int i = 0; i < out->n; i++) {
		if (out->at[i].len == ai->ai_addrlen && memcmp(&out->at[i].sa, ai->ai_addr, ai->ai_addrlen) == 0)
			return true;
	}
	return false;
}

/* The next one of that family (any when 0) that is not taken yet. */
static const struct addrinfo *next_of(const struct addrinfo *ai, int family, const struct resolved *out)
{
	for (; ai != NULL; ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		if ((family == 0 || ai->ai_family == family) && !seen(out, ai))
			return ai;
	}
	return NULL;
}

/* The system's order within a family; the families take turns, so that one
 * that is broken costs one stagger and not one for each of its addresses
 * (RFC 8305, 4). */
static void interleave(struct resolved *out, const struct addrinfo *list)
{
	int family = 0;

	while (out->n < RESOLVE_MAX) {
		const struct addrinfo *ai = next_of(list, family, out);

		if (ai == NULL)
			ai = next_of(list, 0, out);
		if (ai == NULL)
			break;
		add(out, ai->ai_addr, ai->ai_addrlen);
		family = ai->ai_family == AF_INET ? AF_INET6 : AF_INET;
	}
}

static int look_up(const struct addr *a, enum resolve_family family, struct resolved *out, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV };
	char name[ADDR_HOST_MAX + 2], port[8];
	struct addrinfo *list;
	int r;

	if (family != RESOLVE_ANY)
		hints.ai_family = family == RESOLVE_V4 ? AF_INET : AF_INET6;
	snprintf(name, sizeof(name), "%s%s", a->host, a->absolute ? "." : "");
	snprintf(port, sizeof(port), "%u", a->port);
	r = getaddrinfo(name, port, &hints, &list);
	if (r == EAI_SYSTEM)
		return err_sys(e, ERR_RESOLVE, errno, "cannot resolve %s", a->host);
	if (r != 0)
		return err_set(e, ERR_RESOLVE, "cannot resolve %s: %s", a->host, gai_strerror(r));
	out->n = 0;
	interleave(out, list);
	freeaddrinfo(list);
	return out->n > 0 ? 0 : resolve_none(a, family, e);
}

int resolve_wait(const struct addr *a, enum resolve_family family, struct resolved *out, struct err *e)
{
	if (resolve_now(a, family, out))
		return out->n > 0 ? 0 : resolve_none(a, family, e);
	return look_up(a, family, out, e);
}
