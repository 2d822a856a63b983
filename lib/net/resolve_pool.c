/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "lib/net/resolve.h"

/* A request has two holders, the one who asked and the thread that looks up.
 * pool.lock decides who of them ends it: `state` says where it is, and a
 * request that was cancelled while a thread works on it is freed by that
 * thread, which then does not touch the loop. */

#define THREADS_MAX 4

enum state { QUEUED, RUNNING, CANCELLED, DONE };

struct resolve_request {
	struct resolve_request *next; /* of the queue */
	enum state state;
	struct loop *loop;
	struct loop_task task; /* posted when DONE */
	struct addr addr;
	enum resolve_family family;
	resolve_fn *fn;
	void *arg;
	int r;
	struct resolved result;
	struct err err;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct resolve_request *head, **tail;
	unsigned queued, idle, threads;
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.tail = &pool.head,
};

static void queue_append(struct resolve_request *r)
{
	r->next = NULL;
	*pool.tail = r;
	pool.tail = &r->next;
	pool.queued++;
}

/* Takes r out, wherever it stands. */
static void queue_remove(const struct resolve_request *r)
{
	struct resolve_request **p = &pool.head;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	if (*p == NULL)
		pool.tail = p;
	pool.queued--;
}

/* --- on the threads ------------------------------------------------------- */

static void finish(struct resolve_request *r)
{
	pthread_mutex_lock(&pool.lock);
	if (r->state == CANCELLED) {
		free(r);
	} else {
		r->state = DONE;
		/* Under the lock: the loop may be freed as soon as a cancel got it. */
		loop_post(r->loop, &r->task);
	}
	pthread_mutex_unlock(&pool.lock);
}

static void *thread_main(void *arg)
{
	struct resolve_request *r;

	(void)arg;
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		while (pool.head == NULL) {
			pool.idle++;
			pthread_cond_wait(&pool.work, &pool.lock);
			pool.idle--;
		}
		r = pool.head;
		queue_remove(r);
		r->state = RUNNING;
		pthread_mutex_unlock(&pool.lock);
		r->r = resolve_wait(&r->addr, r->family, &r->result, &r->err);
		finish(r);
		pthread_mutex_lock(&pool.lock);
	}
	return NULL;
}

/* Signals are for the threads that have a loop. */
static int start_thread(void)
{
	sigset_t all, old;
	pthread_t t;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t, NULL, thread_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return r;
	pthread_detach(t);
	pool.threads++;
	return 0;
}

/* --- on the loop's thread ------------------------------------------------- */

static void deliver(void *arg)
{
	struct resolve_request *r = arg;

	r->fn(r->arg, r->r == 0 ? &r->result : NULL, r->r == 0 ? NULL : &r->err);
	free(r);
}

struct resolve_request *resolve_start(struct loop *l, const struct addr *a, enum resolve_family family,
	resolve_fn *fn, void *arg, struct err *e)
{
	struct resolve_request *r = calloc(1, sizeof(*r));
	int eno = ENOMEM;

	if (r == NULL)
		goto failed;
	r->loop = l;
	r->task = (struct loop_task){ .fn = deliver, .arg = r };
	r->addr = *a;
	r->family = family;
	r->fn = fn;
	r->arg = arg;
	pthread_mutex_lock(&pool.lock);
	if (pool.queued >= pool.idle && pool.threads < THREADS_MAX) {
		eno = start_thread();
		if (eno != 0 && pool.threads == 0) {
			pthread_mutex_unlock(&pool.lock);
			goto failed;
		}
	}
	queue_append(r);
	pthread_cond_signal(&pool.work);
	pthread_mutex_unlock(&pool.lock);
	return r;
failed:
	free(r);
	err_sys(e, ERR_RESOLVE, eno, "cannot resolve %s", a->host);
	return NULL;
}

void resolve_cancel(struct resolve_request *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&pool.lock);
	switch (r->state) {
	case QUEUED:
		queue_remove(r);
		free(r);
		break;
	case RUNNING:
		r->state = CANCELLED;
		break;
	case DONE:
		loop_post_cancel(r->loop, &r->task);
		free(r);
		break;
	case CANCELLED: /* by its owner, who no longer has it */
		break;
	}
	pthread_mutex_unlock(&pool.lock);
}
