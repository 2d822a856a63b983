/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_PARLEY_H
#define TLSKIT_NET_PARLEY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* A conversation in the clear before TLS begins: with a proxy (proxy.h), or of a
 * protocol that asks for TLS (starttls.h). It moves no bytes itself: what came in
 * is fed to it, and it says what is to be sent. So it needs no socket, cannot
 * block, and the caller's deadline covers it. Bytes may come in any pieces. */

struct parley;

enum parley_status {
	PARLEY_MORE, /* not done: send what is to be sent, feed what comes */
	PARLEY_DONE, /* what comes next is TLS, or the next conversation's */
	PARLEY_FAILED, /* e says which step failed and what the other side said */
};

/* How it is implemented: one static table a protocol. */
struct parley_ops {
	/* Takes what is there; *used says how much. Called with n = 0 once at the
	 * start, so that a side that speaks first can. */
	enum parley_status (*feed)(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e);
	void (*free)(struct parley *p); /* with what it embeds p in */
};

#define PARLEY_OUT_MAX  4096
#define PARLEY_LINE_MAX 65536 /* of what the other side may say in all: more is a failure */

/* The common beginning of every conversation. */
struct parley {
	const struct parley_ops *ops;
	uint8_t out[PARLEY_OUT_MAX];
	size_t out_n; /* bytes that wait to be sent */
	size_t heard; /* bytes that came in so far */
	enum parley_status status;
};

/* Feeds n bytes (0: the start). After PARLEY_DONE, *used < n means that the other
 * side said more than it should have at this point: with STARTTLS that is injected
 * data, a failure that this function reports itself; behind a proxy's answer the
 * bytes belong to what follows. */
enum parley_status parley_feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e);

/* The other side ended the connection: fails, unless it was done. */
enum parley_status parley_end(struct parley *p, struct err *e);

/* What is to be sent now, and that n bytes of it went. */
const uint8_t *parley_out(const struct parley *p, size_t *n);
void parley_sent(struct parley *p, size_t n);

void parley_free(struct parley *p); /* NULL is fine; wipes what was to be sent (passwords) */

/* For implementations: queues bytes or a line (printf-like, "\r\n" added). -1: they
 * do not fit. */
int parley_put(struct parley *p, const void *data, size_t n);
int parley_putf(struct parley *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
