/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_LOOP_H
#define TLSKIT_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* An event loop, one a thread. The only user of libevent.
 *
 * Everything here is called from the loop's own thread but for loop_post and
 * loop_stop. Every watch and timer is freed by who made it, before the
 * descriptor is closed and before the loop is freed. Freeing a watch or timer
 * inside its own callback, or inside another's, is allowed: a freed one is
 * never called again, even when its event is already pending. */

struct loop;
struct loop_watch;
struct loop_timer;

struct loop *loop_new(struct err *e);
void loop_free(struct loop *l); /* NULL is fine */

/* Runs until loop_stop. 0, or -1 when the backend failed. */
int loop_run(struct loop *l, struct err *e);

/* Any thread. loop_run returns after the current turn; when it has not begun
 * yet, it does one turn, so that what was posted before still runs. */
void loop_stop(struct loop *l);

/* The time when this turn of the loop began, clock_mono_ns scale; outside of a
 * turn the time now. */
uint64_t loop_now_ns(const struct loop *l);

#define LOOP_READ  1u
#define LOOP_WRITE 2u
#define LOOP_END   4u /* with both of these: the peer's FIN has come (loop_tells_end) */

typedef void loop_watch_fn(void *arg, unsigned ready); /* LOOP_* */

/* Watches a descriptor, edge-triggered, for both directions at once: one
 * epoll_ctl in a connection's life. The callback tells of changes; the owner
 * keeps "readable" and "writable" itself and reads until EAGAIN (struct sock
 * does both). Errors and hang-ups arrive as READ|WRITE. NULL with e on failure. */
struct loop_watch *loop_watch_new(struct loop *l, int fd, loop_watch_fn *fn, void *arg, struct err *e);

/* Whether LOOP_END is told with each change from the FIN of a stream socket on.
 * Of a reset it is not. */
bool loop_tells_end(const struct loop *l);

/* Level-triggered READ, for listening sockets; can be paused. */
struct loop_watch *loop_watch_listen(struct loop *l, int fd, loop_watch_fn *fn, void *arg, struct err *e);
void loop_watch_pause(struct loop_watch *w, bool paused); /* listen watches only */
void loop_watch_free(struct loop_watch *w); /* NULL is fine; does not close fd */

typedef void loop_fn(void *arg);

/* One-shot timers; set again from the callback to repeat. Never early. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *arg);
void loop_timer_set(struct loop_timer *t, uint64_t ms); /* replaces what was set */
void loop_timer_cancel(struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL is fine */

/* A signal, taken on this loop's thread. Freed with the loop. */
int loop_signal(struct loop *l, int signo, loop_fn *fn, void *arg, struct err *e);

/* Work for later. The task is the caller's, zeroed before first use, and must
 * stay until it ran or was cancelled. */
struct loop_task {
	loop_fn *fn;
	void *arg;
	struct loop_task *next, **prev; /* the loop's own */
	bool queued;
};

/* Runs the task on the next turn, after the descriptors were looked at: for a
 * connection that used up its share of a turn. A queued task is not queued
 * twice. */
void loop_defer(struct loop *l, struct loop_task *t);
void loop_defer_cancel(struct loop *l, struct loop_task *t); /* fine when not queued */

/* Runs the task on the loop's thread; from any thread, in order. A task that
 * still waits is not queued twice. */
void loop_post(struct loop *l, struct loop_task *t);
void loop_post_cancel(struct loop *l, struct loop_task *t); /* loop's thread; fine when not queued */

#endif
