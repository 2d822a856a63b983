/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/net/loop_int.h"

/* --- turns ---------------------------------------------------------------- */

uint64_t loop_now_ns(const struct loop *l)
{
	return l->in_turn ? l->now_ns : clock_mono_ns();
}

static void run_posted(struct loop *l)
{
	struct loop_task *t;

	pthread_mutex_lock(&l->lock);
	tasks_move(&l->taken, &l->posted);
	while ((t = tasks_pop(&l->taken)) != NULL) {
		pthread_mutex_unlock(&l->lock);
		t->fn(t->arg);
		pthread_mutex_lock(&l->lock);
	}
	pthread_mutex_unlock(&l->lock);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	(void)fd;
	(void)what;
	turn_begin(l);
	/* Before the list is taken: who finds it empty after that wakes again. */
	wake_clear(&l->wake);
	run_posted(l);
}

static int turn(struct loop *l)
{
	struct loop_task *t;
	int r;

	/* What is deferred from here on belongs to the next turn. */
	tasks_move(&l->due, &l->deferred);
	l->in_turn = false;
	/* NONBLOCK alone would poll again for as long as it finds something. */
	r = event_base_loop(l->base, EVLOOP_ONCE | (l->due.head != NULL ? EVLOOP_NONBLOCK : 0));
	if (l->due.head != NULL)
		turn_begin(l);
	while ((t = tasks_pop(&l->due)) != NULL)
		t->fn(t->arg);
	l->in_turn = false;
	return r;
}

int loop_run(struct loop *l, struct err *e)
{
	int r;

	/* One turn at least: tasks that were posted before an early loop_stop run. */
	do {
		r = turn(l);
	} while (r >= 0 && !atomic_load_explicit(&l->stop, memory_order_acquire));
	atomic_store(&l->stop, false);
	if (r < 0)
		return err_sys(e, ERR_RUNTIME, errno, "waiting for events failed");
	return 0;
}

void loop_stop(struct loop *l)
{
	/* Under the lock, so that the loop cannot be freed between the two. */
	pthread_mutex_lock(&l->lock);
	atomic_store_explicit(&l->stop, true, memory_order_release);
	wake_up(&l->wake);
	pthread_mutex_unlock(&l->lock);
}

/* --- a loop's life -------------------------------------------------------- */

/* libevent would write to stderr what its calls return as errors anyway. */
static void on_event_log(int severity, const char *text)
{
	(void)severity;
	log_msg(LOG_DEBUG, "libevent: %s", text);
}

static void set_event_log(void)
{
	event_set_log_callback(on_event_log);
}

static struct event_base *new_base(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg == NULL)
		return NULL;
	pthread_once(&once, set_event_log);
	if (event_config_require_features(cfg, EV_FEATURE_ET) == 0
	    && event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK) == 0)
		base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	return base;
}

struct loop *loop_new(struct err *e)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		err_sys(e, ERR_RUNTIME, ENOMEM, "cannot make an event loop");
		return NULL;
	}
	tasks_init(&l->deferred);
	tasks_init(&l->due);
	tasks_init(&l->posted);
	tasks_init(&l->taken);
	pthread_mutex_init(&l->lock, NULL);
	wake_init(&l->wake);
	l->base = new_base();
	if (l->base == NULL || wake_open(&l->wake) != 0)
		goto failed;
	event_assign(&l->wake_ev, l->base, l->wake.read_fd, EV_READ | EV_PERSIST, on_wake, l);
	if (event_add(&l->wake_ev, NULL) != 0)
		goto failed;
	return l;
failed:
	err_sys(e, ERR_RUNTIME, errno, "cannot make an event loop");
	loop_free(l);
	return NULL;
}

void loop_free(struct loop *l)
{
	struct loop_signal *s;

	if (l == NULL)
		return;
	/* Who posted or stopped last may still hold the lock for a moment. */
	pthread_mutex_lock(&l->lock);
	pthread_mutex_unlock(&l->lock);
	while ((s = l->signals) != NULL) {
		l->signals = s->next;
		event_del(&s->ev);
		free(s);
	}
	if (event_initialized(&l->wake_ev))
		event_del(&l->wake_ev);
	if (l->base != NULL)
		event_base_free(l->base);
	wake_close(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* --- tasks ---------------------------------------------------------------- */

void loop_defer(struct loop *l, struct loop_task *t)
{
	if (!t->queued)
		tasks_append(&l->deferred, t);
}

void loop_defer_cancel(struct loop *l, struct loop_task *t)
{
	if (t->queued)
		tasks_remove_from(&l->due, &l->deferred, t);
}

void loop_post(struct loop *l, struct loop_task *t)
{
	pthread_mutex_lock(&l->lock);
	if (!t->queued) {
		bool first = l->posted.head == NULL;

		tasks_append(&l->posted, t);
		/* One wake-up serves all that come before the loop takes the list. */
		if (first)
			wake_up(&l->wake);
	}
	pthread_mutex_unlock(&l->lock);
}

void loop_post_cancel(struct loop *l, struct loop_task *t)
{
	pthread_mutex_lock(&l->lock);
	if (t->queued)
		tasks_remove_from(&l->taken, &l->posted, t);
	pthread_mutex_unlock(&l->lock);
}
