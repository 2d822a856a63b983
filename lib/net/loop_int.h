/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_LOOP_INT_H
#define TLSKIT_NET_LOOP_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "lib/base/clock.h"
#include "lib/net/loop.h"
#include "lib/net/tasks.h"
#include "lib/net/wake.h"

/* What loop.c (turns and tasks) and loop_event.c (descriptors, timers, signals)
 * share. No other file includes this. */

struct loop_signal {
	struct event ev;
	struct loop *loop;
	struct loop_signal *next;
	loop_fn *fn;
	void *arg;
};

struct loop {
	struct event_base *base;
	struct event wake_ev;
	struct wake wake;
	struct loop_signal *signals;
	uint64_t now_ns;
	bool in_turn; /* now_ns is this turn's */
	atomic_bool stop;

	struct task_list deferred; /* for the next turn */
	struct task_list due; /* of this turn */

	pthread_mutex_t lock; /* over both lists of posted tasks */
	struct task_list posted;
	struct task_list taken; /* those that this turn runs */
};

/* A turn is one poll, the callbacks of what it found, and the tasks that were
 * deferred before it. libevent 2.1 has no hook between the poll and the first
 * callback, so each callback goes through this, which reads the clock when it
 * is the first of its turn. */
static inline void turn_begin(struct loop *l)
{
	if (!l->in_turn) {
		l->in_turn = true;
		l->now_ns = clock_mono_ns();
	}
}

#endif
