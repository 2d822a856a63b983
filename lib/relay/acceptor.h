/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_ACCEPTOR_H
#define TLSKIT_RELAY_ACCEPTOR_H

#include <stdbool.h>

#include "lib/net/addr.h"
#include "lib/net/listen.h"
#include "lib/net/loop.h"

/* Listening sockets on a loop, and when not to accept from them: connections
 * wait in the backlog while the owner wants none, and for a moment after
 * descriptors ran out, without a busy loop. */
struct acceptor {
	struct listener listener;
	struct loop_watch *watches[LISTEN_MAX];
	struct loop_timer *timer;
	bool held; /* by the owner */
	bool backing_off; /* descriptors ran out */
	bool (*may)(void *arg); /* whether the owner takes one more now */
	void (*take)(void *arg, int fd, const char *peer); /* fd is the owner's */
	void *arg;
};

/* Binds and listens; nothing is accepted before the loop runs. a is zeroed but
 * for may, take and arg. */
int acceptor_open(struct acceptor *a, struct loop *l, const struct addr *at, struct err *e);

/* Stops accepting, or goes on. */
void acceptor_hold(struct acceptor *a, bool held);

void acceptor_close(struct acceptor *a); /* twice is fine; before the loop goes */

#endif
