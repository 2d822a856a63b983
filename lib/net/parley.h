/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_PARLEY_H
#define TLSKIT_NET_PARLEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* A conversation in the clear before TLS begins: with a proxy (proxy.h), or of a
 * protocol that asks for TLS (starttls.h). It moves no bytes itself: what came in
 * is fed to it, and it says what is to be sent. So it needs no socket, cannot
 * block, and the caller's deadline covers it. Bytes may come in any pieces; the
 * outcome is the same. */

struct parley;

enum parley_status {
	PARLEY_MORE, /* not done: send what is to be sent, feed what comes */
	PARLEY_DONE, /* what comes next is TLS, or the next conversation's */
	PARLEY_FAILED, /* e says which step failed and what the other side said */
};

/* How it is implemented: one static table a protocol. */
struct parley_ops {
	/* Called with n = 0 once at the start, so that a side that speaks first can;
	 * then with what came. *used (0 before) says how much it took: at least one byte
	 * while it wants more, and it is called again with the rest. Whoever must see a
	 * message whole keeps its beginning. */
	enum parley_status (*feed)(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e);
	void (*free)(struct parley *p); /* with what it embeds p in */
	/* May be NULL. Which step it is at ("smtp: EHLO"), or failed at: stands before
	 * each failure of parley_feed and parley_end, those of feed above included. */
	const char *(*step)(const struct parley *p);
	bool tls_next; /* TLS follows: bytes behind the end are injected, a failure */
};

#define PARLEY_OUT_MAX  4096
#define PARLEY_LINE_MAX 65536 /* of what the other side may say in all: more is a failure */

/* The common beginning of every conversation: zeroes and ops. */
struct parley {
	const struct parley_ops *ops;
	uint8_t out[PARLEY_OUT_MAX];
	size_t out_n; /* bytes that wait to be sent */
	size_t heard; /* bytes that came in and were taken so far */
	enum parley_status status;
	bool started;
};

/* Feeds n bytes (0: the start; later it changes nothing). While it wants more,
 * everything was taken. After PARLEY_DONE, *used < n means that the other side said
 * more than it should have at this point: with STARTTLS that is injected data, a
 * failure that this function reports itself; behind a proxy's answer the bytes
 * belong to what follows. After a failure *used says nothing. Once it has ended
 * either way, it takes nothing more and answers the same. */
enum parley_status parley_feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e);

/* The other side ended the connection: fails (ERR_IO), unless it was done. */
enum parley_status parley_end(struct parley *p, struct err *e);

/* Which step it is at, for the message when a deadline passes; NULL where the
 * protocol names none. Valid until the next call. */
const char *parley_step(const struct parley *p);

/* What is to be sent now, and that n bytes of it went. There may be something to
 * send after PARLEY_DONE as well: it goes before TLS does. */
const uint8_t *parley_out(const struct parley *p, size_t *n);
void parley_sent(struct parley *p, size_t n);

void parley_free(struct parley *p); /* NULL is fine; wipes what was to be sent (passwords) */

/* For implementations: queues bytes or a line (printf-like, "\r\n" added). -1: they
 * do not fit, and nothing was queued. */
int parley_put(struct parley *p, const void *data, size_t n);
int parley_putf(struct parley *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
