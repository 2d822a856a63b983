/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_END_H
#define TLSKIT_RELAY_END_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/loop.h"
#include "lib/net/sock.h"
#include "lib/tls/session.h"

/* One side of a relay: a socket, with TLS on it or plain, and how it is left.
 *
 * Closing a socket with unread bytes sends a reset, and a reset destroys what
 * the other side has not read yet: an alert, or the tail of the data. So after
 * a failure a TLS side gets its alert and FIN and is read until it ends; a plain
 * side is reset, so that nobody takes what it has for all there was, but once
 * all that was given to the kernel has arrived. */
struct end {
	struct sock sock;
	struct session *tls; /* NULL: plain */
	struct loop_watch *watch;
	bool fin_sent;
};

/* Takes an open descriptor over. */
void end_init(struct end *e, int fd);

/* Watches it; the callback hands `ready` to end_ready. */
int end_watch(struct end *e, struct loop *l, loop_watch_fn *fn, void *arg, struct err *err);
void end_ready(struct end *e, unsigned ready);

/* Has another loop watch it from now on: this one no longer does. */
void end_unwatch(struct end *e);

/* Lets go of everything: watch, session, socket. Twice is fine. */
void end_free(struct end *e);

/* After a failure: whether the socket may go now. Sends what is left to send,
 * and takes a share of what still comes. */
bool end_settled(struct end *e);

/* Closes the socket, a plain one with a reset. The session stays for reports. */
void end_settle(struct end *e);

/* At once, with what goes out without waiting. */
void end_abort(struct end *e);

/* Bytes that the other side has yet to take. */
size_t end_unsent(const struct end *e);

#endif
