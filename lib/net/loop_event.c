/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/net/loop_int.h"

struct loop_watch {
	struct event ev;
	struct loop *loop;
	loop_watch_fn *fn;
	void *arg;
	bool paused;
};

struct loop_timer {
	struct event ev;
	struct loop *loop;
	loop_fn *fn;
	void *arg;
	uint64_t due_ns;
};

/* --- watches -------------------------------------------------------------- */

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct loop_watch *w = arg;
	unsigned ready = 0;

	(void)fd;
	turn_begin(w->loop);
	if (what & EV_READ)
		ready |= LOOP_READ;
	if (what & EV_WRITE)
		ready |= LOOP_WRITE;
	if (what & EV_CLOSED) /* stands for a hang-up too, which ends writing */
		ready |= LOOP_READ | LOOP_WRITE | LOOP_END;
	w->fn(w->arg, ready);
}

static struct loop_watch *watch_new(struct loop *l, int fd, short what, loop_watch_fn *fn, void *arg,
	struct err *e)
{
	struct loop_watch *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		err_sys(e, ERR_RUNTIME, ENOMEM, "cannot watch a descriptor");
		return NULL;
	}
	w->loop = l;
	w->fn = fn;
	w->arg = arg;
	event_assign(&w->ev, l->base, fd, what, on_watch, w);
	if (event_add(&w->ev, NULL) != 0) {
		err_sys(e, ERR_RUNTIME, errno, "cannot watch descriptor %d", fd);
		free(w);
		return NULL;
	}
	return w;
}

struct loop_watch *loop_watch_new(struct loop *l, int fd, loop_watch_fn *fn, void *arg, struct err *e)
{
	short end = loop_tells_end(l) ? EV_CLOSED : 0;

	return watch_new(l, fd, (short)(EV_READ | EV_WRITE | EV_ET | EV_PERSIST | end), fn, arg, e);
}

bool loop_tells_end(const struct loop *l)
{
	return event_base_get_features(l->base) & EV_FEATURE_EARLY_CLOSE;
}

struct loop_watch *loop_watch_listen(struct loop *l, int fd, loop_watch_fn *fn, void *arg, struct err *e)
{
	return watch_new(l, fd, EV_READ | EV_PERSIST, fn, arg, e);
}

void loop_watch_pause(struct loop_watch *w, bool paused)
{
	if (w->paused == paused)
		return;
	w->paused = paused;
	if (paused)
		event_del(&w->ev);
	else
		event_add(&w->ev, NULL);
}

void loop_watch_free(struct loop_watch *w)
{
	if (w == NULL)
		return;
	/* Takes it out of the queue of active events too. */
	event_del(&w->ev);
	free(w);
}

/* --- timers --------------------------------------------------------------- */

static void timer_arm(struct loop_timer *t, uint64_t ns)
{
	uint64_t us = (ns + 999) / 1000;
	struct timeval tv = { .tv_sec = us / 1000000, .tv_usec = us % 1000000 };

	event_add(&t->ev, &tv);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;

	(void)fd;
	(void)what;
	turn_begin(t->loop);
	/* libevent goes by the coarse clock, which is up to a tick late, so it
	 * may call up to a tick early. */
	if (t->loop->now_ns < t->due_ns)
		timer_arm(t, t->due_ns - t->loop->now_ns);
	else
		t->fn(t->arg);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *arg)
{
	struct loop_timer *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->loop = l;
	t->fn = fn;
	t->arg = arg;
	event_assign(&t->ev, l->base, -1, 0, on_timer, t);
	return t;
}

void loop_timer_set(struct loop_timer *t, uint64_t ms)
{
	/* A century is as good as any longer time and cannot overflow. */
	const uint64_t longest = 100ULL * 366 * 86400 * 1000;
	uint64_t ns = (ms < longest ? ms : longest) * NS_PER_MS;

	t->due_ns = clock_mono_ns() + ns;
	timer_arm(t, ns);
}

void loop_timer_cancel(struct loop_timer *t)
{
	event_del(&t->ev);
}

void loop_timer_free(struct loop_timer *t)
{
	if (t == NULL)
		return;
	event_del(&t->ev);
	free(t);
}

/* --- signals -------------------------------------------------------------- */

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct loop_signal *s = arg;

	(void)fd;
	(void)what;
	turn_begin(s->loop);
	s->fn(s->arg);
}

int loop_signal(struct loop *l, int signo, loop_fn *fn, void *arg, struct err *e)
{
	struct loop_signal *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_sys(e, ERR_RUNTIME, ENOMEM, "cannot handle signal %d", signo);
	s->loop = l;
	s->fn = fn;
	s->arg = arg;
	event_assign(&s->ev, l->base, signo, EV_SIGNAL | EV_PERSIST, on_signal, s);
	if (event_add(&s->ev, NULL) != 0) {
		free(s);
		return err_sys(e, ERR_RUNTIME, errno, "cannot handle signal %d", signo);
	}
	s->next = l->signals;
	l->signals = s;
	return 0;
}
