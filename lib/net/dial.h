/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_DIAL_H
#define TLSKIT_NET_DIAL_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/addr.h"
#include "lib/net/loop.h"
#include "lib/net/resolve.h"

/* An asynchronous connect to one address of the user: look-up, then the
 * addresses raced as RFC 8305 describes (the next one starts when the one
 * before failed, or after 250 ms), all under one deadline. */

#define DIAL_STAGGER_MS 250

struct dial;

/* fd is a connected, tuned socket (sock_tune) that now belongs to the callee,
 * and sa is where it went (borrowed); or -1, and e says why: ERR_RESOLVE,
 * ERR_CONNECT (it names each address and its reason, as far as they fit) or
 * ERR_TIMEOUT. The dial is freed after the callback. Never called from inside
 * dial_start. */
typedef void dial_fn(void *arg, int fd, const struct sockaddr *sa, socklen_t len, const struct err *e);

struct dial_options {
	uint64_t timeout_ms; /* 0: none */
	enum resolve_family family;
};

/* ADDR_TCP and ADDR_UNIX. NULL with e when nothing could be started at all.
 * a is copied. A unix socket whose backlog is full is tried again until the
 * deadline. */
struct dial *dial_start(struct loop *l, const struct addr *a, const struct dial_options *o, dial_fn *fn,
	void *arg, struct err *e);

/* The same with addresses that are known already: the look-up is left out. a
 * is what messages name; r is copied and may be empty (ERR_RESOLVE then). */
struct dial *dial_start_resolved(struct loop *l, const struct addr *a, const struct resolved *r,
	const struct dial_options *o, dial_fn *fn, void *arg, struct err *e);

/* Ends it; fn is not called. NULL is fine. In the callback it does nothing. */
void dial_cancel(struct dial *d);

#endif
