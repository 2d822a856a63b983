/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <pthread.h>

#include "lib/net/loop.h"
#include "tests/unit/net_util.h"

/* What the loop calls, and when: tasks, other threads, and what was ended. */

TestSuite(tasks, .timeout = TEST_TIMEOUT);

/* --- ends ------------------------------------------------------------------ */

#define VICTIMS 8

/* Watches, timers and tasks that are all due in the same turn. Whichever comes
 * first ends all of its own kind, itself too, and one of the other kinds. */
struct victims {
	struct loop *loop;
	struct loop_watch *watch[VICTIMS];
	struct loop_timer *timer[VICTIMS];
	struct loop_task deferred[VICTIMS], posted[VICTIMS];
	int called;
};

static void end_them(struct victims *v)
{
	v->called++;
	for (int i = 0; i < VICTIMS; i++) {
		loop_watch_free(v->watch[i]);
		loop_timer_free(v->timer[i]);
		loop_defer_cancel(v->loop, &v->deferred[i]);
		loop_post_cancel(v->loop, &v->posted[i]);
		v->watch[i] = NULL;
		v->timer[i] = NULL;
	}
}

static void end_from_watch(void *arg, unsigned ready)
{
	(void)ready;
	end_them(arg);
}

static void end_from_task(void *arg)
{
	end_them(arg);
}

Test(tasks, what_is_ended_is_never_called)
{
	/* which kinds there are: every set of the four but the empty one */
	for (unsigned kinds = 1; kinds < 16; kinds++) {
		struct victims v = { .loop = must_loop() };
		int fd[VICTIMS][2];
		struct err e;

		for (int i = 0; i < VICTIMS; i++) {
			stream_pair(false, fd[i]);
			if (kinds & 1)
				v.watch[i] = loop_watch_new(v.loop, fd[i][0], end_from_watch, &v, &e);
			if (kinds & 2) {
				v.timer[i] = loop_timer_new(v.loop, end_from_task, &v);
				loop_timer_set(v.timer[i], 0);
			}
			v.deferred[i] = (struct loop_task){ .fn = end_from_task, .arg = &v };
			v.posted[i] = v.deferred[i];
			if (kinds & 4)
				loop_defer(v.loop, &v.deferred[i]);
			if (kinds & 8)
				loop_post(v.loop, &v.posted[i]);
		}
		run_for(v.loop, 10);
		cr_assert_eq(v.called, 1, "kinds %u: called %d times", kinds, v.called);
		for (int i = 0; i < VICTIMS; i++) {
			close(fd[i][0]);
			close(fd[i][1]);
		}
		loop_free(v.loop);
	}
}

struct slot {
	int *clock, at; /* at: as how manieth it ran, 0: not */
};

static void note_order(void *arg)
{
	struct slot *s = arg;

	s->at = ++*s->clock;
}

static void queue(struct loop *l, struct loop_task *t, bool post)
{
	if (post)
		loop_post(l, t);
	else
		loop_defer(l, t);
}

static void cancel(struct loop *l, struct loop_task *t, bool post)
{
	if (post)
		loop_post_cancel(l, t);
	else
		loop_defer_cancel(l, t);
}

/* Cancels each subset of a queue, and each subset of that is queued again: then
 * it stands at the end. */
static void cancel_and_queue_again(bool post, unsigned cancelled, unsigned again)
{
	enum { N = 4 };
	struct loop *l = must_loop();
	struct loop_task t[N];
	struct slot s[N];
	int clock = 0, expected = 0;

	for (int i = 0; i < N; i++) {
		s[i] = (struct slot){ .clock = &clock };
		t[i] = (struct loop_task){ .fn = note_order, .arg = &s[i] };
		queue(l, &t[i], post);
	}
	for (int i = 0; i < N; i++) {
		if (cancelled & 1u << i)
			cancel(l, &t[i], post);
	}
	for (int i = 0; i < N; i++) {
		if (again & 1u << i)
			queue(l, &t[i], post);
	}
	loop_stop(l);
	must_run(l);
	for (int i = 0; i < N; i++) {
		if (!(cancelled & 1u << i))
			cr_assert_eq(s[i].at, ++expected, "cancelled %u again %u: task %d", cancelled, again, i);
	}
	for (int i = 0; i < N; i++) {
		if (cancelled & 1u << i)
			cr_assert_eq(s[i].at, again & 1u << i ? ++expected : 0, "cancelled %u again %u: task %d",
				cancelled, again, i);
	}
	loop_free(l);
}

Test(tasks, cancelled_tasks_leave_the_rest_in_order)
{
	for (unsigned cancelled = 0; cancelled < 16; cancelled++) {
		for (unsigned again = 0; again < 16; again++) {
			if (again & ~cancelled)
				continue;
			cancel_and_queue_again(false, cancelled, again);
			cancel_and_queue_again(true, cancelled, again);
		}
	}
}

/* --- deferred tasks -------------------------------------------------------- */

struct again {
	struct loop *loop;
	struct loop_task task;
	int fd; /* read from when it has something */
	int turns, read_at;
};

static void run_again(void *arg)
{
	struct again *a = arg;

	a->turns++;
	if (a->turns == 1)
		cr_assert_eq(write(a->fd, "x", 1), 1);
	if (a->turns < 100)
		loop_defer(a->loop, &a->task);
	else
		loop_stop(a->loop);
}

static void note_turn(void *arg, unsigned ready)
{
	struct again *a = arg;

	if ((ready & LOOP_READ) && a->read_at == 0)
		a->read_at = a->turns;
}

Test(tasks, deferred_tasks_do_not_starve_descriptors)
{
	struct again a = { .loop = must_loop(), .task = { .fn = run_again, .arg = &a } };
	struct loop_watch *w;
	struct err e;
	int fd[2];

	stream_pair(false, fd);
	a.fd = fd[1];
	w = loop_watch_new(a.loop, fd[0], note_turn, &a, &e);
	loop_defer(a.loop, &a.task);
	loop_defer(a.loop, &a.task); /* queued once */
	must_run(a.loop);
	cr_assert_eq(a.turns, 100, "a task that defers itself runs once a turn");
	cr_assert_eq(a.read_at, 1, "descriptors are looked at before its next run");
	loop_watch_free(w);
	close(fd[0]);
	close(fd[1]);
	loop_free(a.loop);
}

struct busy {
	struct loop *loop;
	int fd, moves, ran_at;
	struct loop_task task;
};

/* There is always something to read: each byte is put back. */
static void put_back(void *arg, unsigned ready)
{
	struct busy *b = arg;
	char c;

	if ((ready & LOOP_READ) && read(b->fd, &c, 1) == 1)
		cr_assert_eq(write(b->fd, &c, 1), 1);
	if (b->moves++ == 10)
		loop_defer(b->loop, &b->task);
	if (b->moves == 1000)
		loop_stop(b->loop);
}

static void note_moves(void *arg)
{
	struct busy *b = arg;

	b->ran_at = b->moves;
	loop_stop(b->loop);
}

Test(tasks, descriptors_do_not_starve_deferred_tasks)
{
	struct busy b[2] = { 0 };
	struct loop *l = must_loop();
	struct loop_watch *w[2];
	struct err e;
	int fd[2];

	stream_pair(false, fd);
	for (int i = 0; i < 2; i++) {
		b[i] = (struct busy){ .loop = l, .fd = fd[i], .task = { .fn = note_moves, .arg = &b[i] } };
		make_nonblocking(fd[i]);
		w[i] = loop_watch_new(l, fd[i], put_back, &b[i], &e);
	}
	cr_assert_eq(write(fd[0], "x", 1), 1);
	must_run(l);
	cr_assert(b[0].ran_at + b[1].ran_at > 0, "the task had its turn");
	cr_assert(b[0].moves < 20 && b[1].moves < 20);
	for (int i = 0; i < 2; i++) {
		loop_watch_free(w[i]);
		close(fd[i]);
	}
	loop_free(l);
}

struct order {
	char text[16];
};

static void note_a(void *arg) { strcat(((struct order *)arg)->text, "a"); }
static void note_b(void *arg) { strcat(((struct order *)arg)->text, "b"); }
static void note_c(void *arg) { strcat(((struct order *)arg)->text, "c"); }

Test(tasks, tasks_run_in_order)
{
	struct loop *l = must_loop();
	struct order o = { "" };
	struct loop_task t[6] = { { .fn = note_a }, { .fn = note_b }, { .fn = note_c },
		{ .fn = note_a }, { .fn = note_b }, { .fn = note_c } };

	for (int i = 0; i < 6; i++)
		t[i].arg = &o;
	for (int i = 0; i < 3; i++)
		loop_post(l, &t[i]);
	for (int i = 3; i < 6; i++)
		loop_defer(l, &t[i]);
	loop_stop(l);
	must_run(l);
	cr_assert_str_eq(o.text, "abcabc");
	loop_free(l);
}

/* --- other threads --------------------------------------------------------- */

#define POSTERS 4
#define POSTS 5000

struct poster {
	struct loop *loop;
	struct posted {
		struct loop_task task;
		struct poster *poster;
		int number;
	} post[POSTS];
	int next; /* expected on the loop's thread */
	int *left;
};

static void run_posted_task(void *arg)
{
	struct posted *p = arg;

	cr_assert_eq(p->number, p->poster->next, "in order");
	p->poster->next++;
	if (--*p->poster->left == 0)
		loop_stop(p->poster->loop);
}

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < POSTS; i++)
		loop_post(p->loop, &p->post[i].task);
	return NULL;
}

Test(tasks, posts_from_threads_all_arrive_in_order)
{
	struct poster *p = calloc(POSTERS, sizeof(*p));
	struct loop *l = must_loop();
	int left = POSTERS * POSTS;
	pthread_t t[POSTERS];

	for (int i = 0; i < POSTERS; i++) {
		p[i].loop = l;
		p[i].left = &left;
		for (int k = 0; k < POSTS; k++)
			p[i].post[k] = (struct posted){ .task = { .fn = run_posted_task, .arg = &p[i].post[k] },
				.poster = &p[i], .number = k };
		cr_assert_eq(pthread_create(&t[i], NULL, post_all, &p[i]), 0);
	}
	must_run(l);
	cr_assert_eq(left, 0);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(t[i], NULL);
	loop_free(l);
	free(p);
}

static void *stop_later(void *arg)
{
	usleep(30000);
	loop_stop(arg);
	return NULL;
}

Test(tasks, stop_wakes_a_sleeping_loop)
{
	struct loop *l = must_loop();
	uint64_t start = clock_mono_ns();
	pthread_t t;

	cr_assert_eq(pthread_create(&t, NULL, stop_later, l), 0);
	must_run(l);
	cr_assert_geq(clock_mono_ns() - start, 25 * NS_PER_MS);
	/* the loop may go at once: the other thread is done with it */
	loop_free(l);
	pthread_join(t, NULL);
}

Test(tasks, a_stop_that_comes_early_is_not_lost)
{
	struct loop *l = must_loop();
	int ran = 0;
	struct loop_task t = { .fn = count_call, .arg = &ran };

	loop_post(l, &t);
	loop_post(l, &t); /* waits already */
	loop_stop(l);
	must_run(l);
	cr_assert_eq(ran, 1, "what was posted before runs, once");
	run_for(l, 5); /* and the next run is not stopped by it */
	loop_free(l);
}
