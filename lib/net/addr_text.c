/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "lib/net/addr.h"

static void format_tcp(const struct addr *a, char *out)
{
	if (a->any)
		snprintf(out, ADDR_TEXT_SIZE, ":%u", a->port);
	else if (a->loopback)
		snprintf(out, ADDR_TEXT_SIZE, "%u", a->port);
	else if (strchr(a->host, ':') != NULL)
		snprintf(out, ADDR_TEXT_SIZE, "[%s]:%u", a->host, a->port);
	else
		snprintf(out, ADDR_TEXT_SIZE, "%s%s:%u", a->host, a->absolute ? "." : "", a->port);
}

char *addr_format(const struct addr *a, char out[ADDR_TEXT_SIZE])
{
	switch (a->kind) {
	case ADDR_TCP:
		format_tcp(a, out);
		break;
	case ADDR_UNIX:
		snprintf(out, ADDR_TEXT_SIZE, "unix:%s", a->path);
		break;
	case ADDR_SYSTEMD:
		snprintf(out, ADDR_TEXT_SIZE, "systemd:%s", a->path);
		break;
	case ADDR_STDIO:
		snprintf(out, ADDR_TEXT_SIZE, "-");
		break;
	}
	return out;
}

static void format_in(const struct sockaddr *sa, char *out)
{
	struct sockaddr_in in;
	char host[INET_ADDRSTRLEN];

	memcpy(&in, sa, sizeof(in));
	inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
	snprintf(out, ADDR_TEXT_SIZE, "%s:%u", host, ntohs(in.sin_port));
}

static void format_in6(const struct sockaddr *sa, char *out)
{
	struct sockaddr_in6 in6;
	char host[INET6_ADDRSTRLEN];
	char scope[IF_NAMESIZE + 1] = "";

	memcpy(&in6, sa, sizeof(in6));
	if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr)) {
		inet_ntop(AF_INET, &in6.sin6_addr.s6_addr[12], host, sizeof(host));
		snprintf(out, ADDR_TEXT_SIZE, "%s:%u", host, ntohs(in6.sin6_port));
		return;
	}
	inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
	if (in6.sin6_scope_id != 0) {
		scope[0] = '%';
		if (if_indextoname(in6.sin6_scope_id, scope + 1) == NULL)
			snprintf(scope + 1, sizeof(scope) - 1, "%u", in6.sin6_scope_id);
	}
	snprintf(out, ADDR_TEXT_SIZE, "[%s%s]:%u", host, scope, ntohs(in6.sin6_port));
}

/* An abstract name has no NUL at its end and may have some inside, which show
 * as '@'. A path may fill sun_path to its last byte. */
static void format_un(const struct sockaddr *sa, socklen_t len, char *out)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t n = len > head ? len - head : 0;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	if (n >= sizeof(path))
		n = sizeof(path) - 1;
	memcpy(path, (const char *)sa + head, n);
	path[n] = '\0';
	if (n > 0 && path[0] == '\0') {
		for (size_t i = 0; i < n; i++) {
			if (path[i] == '\0')
				path[i] = '@';
		}
	}
	snprintf(out, ADDR_TEXT_SIZE, "unix:%s", path);
}

char *addr_format_sockaddr(const struct sockaddr *sa, socklen_t len, char out[ADDR_TEXT_SIZE])
{
	sa_family_t family = len >= offsetof(struct sockaddr, sa_data) ? sa->sa_family : AF_UNSPEC;

	if (family == AF_INET && len >= sizeof(struct sockaddr_in))
		format_in(sa, out);
	else if (family == AF_INET6 && len >= sizeof(struct sockaddr_in6))
		format_in6(sa, out);
	else if (family == AF_UNIX)
		format_un(sa, len, out);
	else
		snprintf(out, ADDR_TEXT_SIZE, "unknown");
	return out;
}

const char *addr_sni(const struct addr *a)
{
	if (a->kind != ADDR_TCP || a->numeric || a->host[0] == '\0')
		return NULL;
	return a->host;
}

socklen_t addr_unix_sockaddr(const struct addr *a, struct sockaddr_storage *ss)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = strlen(a->path);

	memcpy(un.sun_path, a->path, len);
	memset(ss, 0, sizeof(*ss));
	if (a->path[0] == '@')
		un.sun_path[0] = '\0'; /* abstract: the length ends the name */
	else
		len++;
	memcpy(ss, &un, sizeof(un));
	return (socklen_t)(head + len);
}
