/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_RESOLVE_H
#define TLSKIT_NET_RESOLVE_H

#include <sys/socket.h>

#include "lib/base/err.h"
#include "lib/net/addr.h"
#include "lib/net/loop.h"

/* Names to socket addresses, off the event loop: getaddrinfo runs on up to
 * four threads that the first use starts and all loops share. */

#define RESOLVE_MAX 16

struct resolved {
	int n; /* addresses, families alternating, IPv6 first when it came first (RFC 8305, 4) */
	struct {
		struct sockaddr_storage sa;
		socklen_t len;
	} at[RESOLVE_MAX];
};

enum resolve_family { RESOLVE_ANY, RESOLVE_V4, RESOLVE_V6 };

/* What needs no look-up: literals, loopback (no host given, "localhost" and
 * what ends in ".localhost": RFC 6761, 6.3), unix paths. Loopback gives
 * 127.0.0.1 first, which is where most local servers listen. 1: done, with no
 * address at all when the literal is of the other family or its interface is
 * unknown; 0: a look-up is needed. */
int resolve_now(const struct addr *a, enum resolve_family family, struct resolved *out);

/* Blocking, for start-up. 0 and at least one address, or -1 (ERR_RESOLVE). */
int resolve_wait(const struct addr *a, enum resolve_family family, struct resolved *out, struct err *e);

/* Whether it is one of the loopback names, or no host was given. */
bool resolve_is_loopback(const struct addr *a);

/* What to say of a result without addresses. Returns -1. */
int resolve_none(const struct addr *a, enum resolve_family family, struct err *e);

struct resolve_request;

/* result is NULL when it failed, then e says why. Both are borrowed for the
 * call. The request is freed after the callback; do not cancel it there. */
typedef void resolve_fn(void *arg, const struct resolved *result, const struct err *e);

/* Looks a TCP address up and calls fn on l's thread, never from in here. NULL
 * with e without memory or threads. a is copied. */
struct resolve_request *resolve_start(struct loop *l, const struct addr *a, enum resolve_family family,
	resolve_fn *fn, void *arg, struct err *e);

/* fn will not be called any more. The look-up itself ends by itself; the loop
 * may be freed at once. NULL is fine. */
void resolve_cancel(struct resolve_request *r);

#endif
