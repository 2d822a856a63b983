/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_WORKER_H
#define TLSKIT_RELAY_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/relay/relay.h"

/* A thread with its loop, its buffers and its relays. Workers share nothing but
 * the setup and atomic counters. */
struct worker {
	struct relay_group group;
	struct loop *loop;
	pthread_t thread;
	bool started; /* a thread of its own runs it */
	bool gives_way; /* to the others, for the processor */
	atomic_uint active; /* relays it has or is about to get */
	struct loop_task abort_task;
	void *owner; /* the tunnel's */
};

int worker_init(struct worker *w, struct relay_setup *setup, struct err *e);
void worker_free(struct worker *w); /* its relays are gone; twice is fine */

/* Runs the loop on a new thread, signals blocked, until worker_stop. */
int worker_start(struct worker *w, struct err *e);
void worker_stop(struct worker *w); /* any thread */
void worker_join(struct worker *w);

/* Hands a connection over; own_thread: the caller is the worker's thread. 0, or
 * -1 without memory: then fd is still the caller's. */
int worker_give(struct worker *w, int fd, const char *peer, bool own_thread);

/* Has the worker abort all its relays, from any thread, once. */
void worker_abort(struct worker *w);

#endif
