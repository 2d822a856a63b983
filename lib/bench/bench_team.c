/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Threads that do the same thing at the same time. Each has an object of its own,
 * which is opened, run and closed on its thread. */

#include "lib/bench/bench_int.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum job { OPEN, RUN, CLOSE };

struct member {
	struct bench_team *team;
	unsigned index;
	pthread_t thread; /* unless it is the first */
	void *object;
	int result; /* of the last job, like the next ones */
	uint64_t end_ns, cpu_ns;
	struct err e;
};

struct bench_team {
	const struct bench_case *c;
	pthread_mutex_t lock;
	pthread_cond_t go, done;
	unsigned started; /* threads, the caller's not counted */
	unsigned turn, pending; /* jobs given out, threads still at the last one */
	enum job job;
	uint64_t n;
	struct member members[];
};

static void do_open(struct member *m)
{
	const struct bench_case *c = m->team->c;

	m->object = c->open(c->what, m->index, &m->e);
	m->result = m->object ? 0 : -1;
}

static void do_run(struct member *m, uint64_t n)
{
	uint64_t cpu_ns = bench_source.cpu_ns();

	m->result = m->team->c->run(m->object, n, &m->e);
	m->cpu_ns = bench_source.cpu_ns() - cpu_ns;
	m->end_ns = bench_source.wall_ns();
}

static void do_job(struct member *m, enum job job, uint64_t n)
{
	switch (job) {
	case OPEN:
		do_open(m);
		break;
	case RUN:
		do_run(m, n);
		break;
	case CLOSE:
		if (m->object)
			m->team->c->close(m->object);
		m->object = NULL;
		break;
	}
}

static void *serve(void *arg)
{
	struct member *m = arg;
	struct bench_team *t = m->team;
	unsigned turn = 0;
	enum job job;

	do {
		uint64_t n;

		pthread_mutex_lock(&t->lock);
		while (t->turn == turn)
			pthread_cond_wait(&t->go, &t->lock);
		turn = t->turn;
		job = t->job;
		n = t->n;
		pthread_mutex_unlock(&t->lock);
		do_job(m, job, n);
		pthread_mutex_lock(&t->lock);
		if (--t->pending == 0)
			pthread_cond_signal(&t->done);
		pthread_mutex_unlock(&t->lock);
	} while (job != CLOSE);
	return NULL;
}

/* Every thread does the job. Returns when it was given out. */
static uint64_t all_do(struct bench_team *t, enum job job, uint64_t n)
{
	uint64_t start_ns;

	pthread_mutex_lock(&t->lock);
	t->job = job;
	t->n = n;
	t->pending = t->started;
	t->turn++;
	start_ns = bench_source.wall_ns();
	pthread_cond_broadcast(&t->go);
	pthread_mutex_unlock(&t->lock);
	do_job(&t->members[0], job, n);
	pthread_mutex_lock(&t->lock);
	while (t->pending > 0)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return start_ns;
}

/* With all signals blocked: they are for the thread that looks after `stop`. */
static int start_threads(struct bench_team *t, struct err *e)
{
	sigset_t all, before;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (t->started + 1 < t->c->threads) {
		struct member *m = &t->members[t->started + 1];

		r = pthread_create(&m->thread, NULL, serve, m);
		if (r)
			break;
		t->started++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? err_sys(e, ERR_RUNTIME, r, "cannot start thread %u of %u", t->started + 2, t->c->threads) : 0;
}

static struct bench_team *new_team(const struct bench_case *c)
{
	struct bench_team *t = calloc(1, sizeof(*t) + c->threads * sizeof(t->members[0]));
	unsigned i;

	if (!t)
		return NULL;
	t->c = c;
	for (i = 0; i < c->threads; i++) {
		t->members[i].team = t;
		t->members[i].index = i;
		err_set(&t->members[i].e, ERR_RUNTIME, "no reason given");
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->go, NULL);
	pthread_cond_init(&t->done, NULL);
	return t;
}

static int first_error(const struct bench_team *t, struct err *e)
{
	unsigned i;

	for (i = 0; i < t->c->threads; i++) {
		if (t->members[i].result < 0) {
			*e = t->members[i].e;
			return -1;
		}
	}
	return 0;
}

struct bench_team *bench_team_open(const struct bench_case *c, struct err *e)
{
	struct bench_team *t = new_team(c);

	if (!t) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	if (start_threads(t, e) == 0) {
		all_do(t, OPEN, 0);
		if (first_error(t, e) == 0)
			return t;
	}
	bench_team_close(t);
	return NULL;
}

int bench_team_run(struct bench_team *t, uint64_t n, struct bench_lap *lap, struct err *e)
{
	uint64_t start_ns = all_do(t, RUN, n), end_ns = start_ns;
	unsigned i;

	lap->cpu_ns = 0;
	for (i = 0; i < t->c->threads; i++) {
		lap->cpu_ns += t->members[i].cpu_ns;
		if (t->members[i].end_ns > end_ns)
			end_ns = t->members[i].end_ns;
	}
	lap->wall_ns = end_ns - start_ns;
	return first_error(t, e);
}

void bench_team_close(struct bench_team *t)
{
	unsigned i;

	if (!t)
		return;
	all_do(t, CLOSE, 0);
	for (i = 1; i <= t->started; i++)
		pthread_join(t->members[i].thread, NULL);
	pthread_cond_destroy(&t->done);
	pthread_cond_destroy(&t->go);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
