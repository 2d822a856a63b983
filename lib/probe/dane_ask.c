/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/dane_ask.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* An ask has two holders, the one who asked and the thread. The lock decides who of
 * them ends it: an ask that was cancelled while the thread works is freed by that
 * thread, which then does not touch the loop. It is one lock for all asks, since the
 * thread still holds it when the loop frees the ask. */

#define NO_TIMEOUT_MS (24 * 3600 * 1000u) /* libunbound gives up long before */

enum state { RUNNING, CANCELLED, DONE };

struct dane_ask {
	enum state state;
	struct loop *loop;
	struct loop_task task; /* posted when DONE */
	unsigned port;
	uint64_t timeout_ms;
	dane_ask_fn *fn;
	void *arg;
	int r;
	struct tlsa_answer answer;
	struct err err;
	char host[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ask_free(struct dane_ask *a)
{
	tlsa_list_free(&a->answer.list);
	free(a);
}

/* --- on the thread ------------------------------------------------------------------- */

static void *thread_main(void *arg)
{
	struct dane_ask *a = arg;

	a->r = tlsa_lookup(a->host, a->port, "tcp", a->timeout_ms, &a->answer, &a->err);
	pthread_mutex_lock(&lock);
	if (a->state == CANCELLED) {
		ask_free(a);
	} else {
		a->state = DONE;
		/* Under the lock: the loop may be freed as soon as a cancel got it. */
		loop_post(a->loop, &a->task);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Signals are for the threads that have a loop. */
static int start_thread(struct dane_ask *a)
{
	sigset_t all, old;
	pthread_t t;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t, NULL, thread_main, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_detach(t);
	return r;
}

/* --- on the loop's thread ------------------------------------------------------------ */

static void deliver(void *arg)
{
	struct dane_ask *a = arg;

	a->fn(a->arg, a->r == 0 ? &a->answer : NULL, a->r == 0 ? NULL : &a->err);
	ask_free(a);
}

static struct dane_ask *ask_new(const char *host, struct err *e)
{
	size_t size = strlen(host) + 1;
	struct dane_ask *a = calloc(1, sizeof(*a) + size);

	if (a == NULL)
		err_set(e, ERR_RUNTIME, "TLSA records of %.80s: no memory", host);
	else
		memcpy(a->host, host, size);
	return a;
}

struct dane_ask *dane_ask_start(struct loop *l, const char *host, unsigned port, uint64_t timeout_ms, dane_ask_fn *fn,
	void *arg, struct err *e)
{
	struct tlsa_answer none;
	struct dane_ask *a;
	int eno;

	if (!tlsa_can_lookup()) {
		tlsa_lookup(host, port, "tcp", 0, &none, e); /* says so at once */
		return NULL;
	}
	a = ask_new(host, e);
	if (a == NULL)
		return NULL;
	a->loop = l;
	a->task = (struct loop_task){ .fn = deliver, .arg = a };
	a->port = port;
	a->timeout_ms = timeout_ms > 0 ? timeout_ms : NO_TIMEOUT_MS;
	a->fn = fn;
	a->arg = arg;
	eno = start_thread(a);
	if (eno == 0)
		return a;
	err_sys(e, ERR_RUNTIME, eno, "cannot start a thread for TLSA records");
	ask_free(a);
	return NULL;
}

void dane_ask_cancel(struct dane_ask *a)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&lock);
	if (a->state == RUNNING) {
		a->state = CANCELLED;
	} else { /* DONE: a cancelled one is its owner's no more */
		loop_post_cancel(a->loop, &a->task);
		ask_free(a);
	}
	pthread_mutex_unlock(&lock);
}
