/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/net/limit.h"

#define POOL_KEEP (4 * 1024 * 1024) /* bytes of unused buffers a worker holds on to */

static void abort_all(void *arg)
{
	struct worker *w = arg;

	relay_abort_all(&w->group);
}

int worker_init(struct worker *w, struct relay_setup *setup, struct err *e)
{
	memset(w, 0, sizeof(*w));
	w->abort_task.fn = abort_all;
	w->abort_task.arg = w;
	w->group.setup = setup;
	w->group.stdio_fd = -1;
	w->loop = w->group.loop = loop_new(e);
	if (!w->loop)
		return -1;
	w->group.pool = buf_pool_new(POOL_KEEP);
	if (setup->kernel)
		w->group.kpipes = kpipe_pool_new();
	return w->group.pool && !w->group.kpipes == !setup->kernel ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}

void worker_free(struct worker *w)
{
	if (w->loop)
		relay_group_free(&w->group);
	loop_free(w->loop);
	w->loop = NULL;
	buf_pool_free(w->group.pool);
	w->group.pool = NULL;
	kpipe_pool_free(w->group.kpipes);
	w->group.kpipes = NULL;
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct err e;

	if (w->gives_way)
		limit_give_way();
	loop_run(w->loop, &e);
	return NULL;
}

int worker_start(struct worker *w, struct err *e)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return err_sys(e, ERR_RUNTIME, r, "cannot start a worker thread (--threads)");
	w->started = true;
	return 0;
}

void worker_stop(struct worker *w)
{
	loop_stop(w->loop);
}

void worker_join(struct worker *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	w->started = false;
}

struct incoming {
	struct loop_task task;
	struct worker *worker;
	int fd;
	char peer[];
};

static void take(void *arg)
{
	struct incoming *in = arg;

	relay_start(&in->worker->group, in->fd, in->peer);
	free(in);
}

int worker_give(struct worker *w, int fd, const char *peer, bool own_thread)
{
	struct incoming *in;

	if (own_thread) {
		relay_start(&w->group, fd, peer);
		return 0;
	}
	in = calloc(1, sizeof(*in) + strlen(peer) + 1);
	if (!in)
		return -1;
	strcpy(in->peer, peer);
	in->worker = w;
	in->fd = fd;
	in->task.fn = take;
	in->task.arg = in;
	loop_post(w->loop, &in->task);
	return 0;
}

void worker_abort(struct worker *w)
{
	loop_post(w->loop, &w->abort_task);
}
