/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "lib/net/loop.h"
#include "tests/unit/net_util.h"

TestSuite(loop, .timeout = 20);

/* --- watches -------------------------------------------------------------- */

struct seen {
	unsigned ready; /* of all calls */
	int calls;
};

static void note_ready(void *arg, unsigned ready)
{
	struct seen *s = arg;

	s->ready |= ready;
	s->calls++;
}

static struct seen look(struct loop *l, struct seen *s)
{
	struct seen now;

	run_for(l, 15);
	now = *s;
	*s = (struct seen){ 0 };
	return now;
}

static void make_nonblocking(int fd)
{
	cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

Test(loop, watch_tells_changes_once)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct loop *l = must_loop();
		struct seen s = { 0 }, now;
		struct loop_watch *w;
		struct err e;
		int fd[2];

		stream_pair(tcp, fd);
		make_nonblocking(fd[0]);
		w = loop_watch_new(l, fd[0], note_ready, &s, &e);
		cr_assert_not_null(w, "%s", e.msg);
		now = look(l, &s);
		cr_assert_eq(now.ready, LOOP_WRITE);
		cr_assert_eq(now.calls, 1);
		now = look(l, &s);
		cr_assert_eq(now.calls, 0, "nothing changed");
		cr_assert_eq(write(fd[1], "x", 1), 1);
		now = look(l, &s);
		cr_assert(now.ready & LOOP_READ);
		cr_assert_eq(now.calls, 1, "edge-triggered: not again for the same byte");
		close(fd[1]);
		now = look(l, &s);
		cr_assert(now.ready & LOOP_READ, "the end is something to read");
		loop_watch_free(w);
		close(fd[0]);
		loop_free(l);
	}
}

Test(loop, reset_is_both_directions)
{
	struct linger now = { .l_onoff = 1 };
	struct loop *l = must_loop();
	struct seen s = { 0 }, got;
	struct loop_watch *w;
	char junk[4096] = { 0 };
	struct err e;
	int fd[2];

	/* Not writable, so that only the reset can say LOOP_WRITE. */
	stream_pair(true, fd);
	make_nonblocking(fd[0]);
	while (write(fd[0], junk, sizeof(junk)) > 0)
		continue;
	w = loop_watch_new(l, fd[0], note_ready, &s, &e);
	cr_assert_not_null(w);
	cr_assert_eq(look(l, &s).calls, 0);
	cr_assert_eq(setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd[1]);
	got = look(l, &s);
	cr_assert_eq(got.ready, LOOP_READ | LOOP_WRITE);
	loop_watch_free(w);
	close(fd[0]);
	loop_free(l);
}

Test(loop, what_cannot_be_watched_is_an_error)
{
	struct loop *l = must_loop();
	struct seen s = { 0 };
	struct err e = { 0 };
	FILE *file = tmpfile();

	/* epoll takes no files */
	cr_assert_null(loop_watch_new(l, fileno(file), note_ready, &s, &e));
	cr_assert_eq(e.kind, ERR_RUNTIME);
	cr_assert_neq(e.msg[0], '\0');
	fclose(file);
	loop_free(l);
}

Test(loop, listen_watch_is_level_triggered_and_pauses)
{
	struct loop *l = must_loop();
	struct seen s = { 0 };
	struct loop_watch *w;
	struct sockaddr_in in;
	int fd = listen_v4(&in, 4), c = socket(AF_INET, SOCK_STREAM, 0);
	struct err e;

	w = loop_watch_listen(l, fd, note_ready, &s, &e);
	cr_assert_not_null(w);
	cr_assert_eq(look(l, &s).calls, 0);
	cr_assert_eq(connect(c, (struct sockaddr *)&in, sizeof(in)), 0);
	cr_assert_gt(look(l, &s).calls, 1, "as long as it is not accepted");
	loop_watch_pause(w, true);
	loop_watch_pause(w, true);
	cr_assert_eq(look(l, &s).calls, 0);
	loop_watch_pause(w, false);
	cr_assert_gt(look(l, &s).calls, 1, "what came meanwhile is told");
	close(accept(fd, NULL, NULL));
	cr_assert_eq(look(l, &s).calls, 0);
	loop_watch_pause(w, true);
	loop_watch_free(w);
	close(fd);
	close(c);
	loop_free(l);
}

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

Test(loop, what_is_ended_is_never_called)
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

static void count(void *arg)
{
	(*(int *)arg)++;
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

Test(loop, cancelled_tasks_leave_the_rest_in_order)
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
	uint64_t now;
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

Test(loop, deferred_tasks_do_not_starve_descriptors)
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

struct order {
	char text[16];
};

static void note_a(void *arg) { strcat(((struct order *)arg)->text, "a"); }
static void note_b(void *arg) { strcat(((struct order *)arg)->text, "b"); }
static void note_c(void *arg) { strcat(((struct order *)arg)->text, "c"); }

Test(loop, tasks_run_in_order)
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

Test(loop, posts_from_threads_all_arrive_in_order)
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

Test(loop, stop_wakes_a_sleeping_loop)
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

Test(loop, a_stop_that_comes_early_is_not_lost)
{
	struct loop *l = must_loop();
	int ran = 0;
	struct loop_task t = { .fn = count, .arg = &ran };

	loop_post(l, &t);
	loop_post(l, &t); /* waits already */
	loop_stop(l);
	must_run(l);
	cr_assert_eq(ran, 1, "what was posted before runs, once");
	run_for(l, 5); /* and the next run is not stopped by it */
	loop_free(l);
}

/* --- time ------------------------------------------------------------------ */

struct timed {
	struct loop *loop;
	struct loop_timer *timer;
	uint64_t due_ns;
	int called, early;
};

static void note_time(void *arg)
{
	struct timed *t = arg;

	t->called++;
	if (clock_mono_ns() < t->due_ns || loop_now_ns(t->loop) < t->due_ns)
		t->early++;
}

Test(loop, timers_are_never_early_nor_forgotten)
{
	enum { N = 60 };
	struct loop *l = must_loop();
	struct timed t[N];

	for (int i = 0; i < N; i++) {
		t[i] = (struct timed){ .loop = l };
		t[i].timer = loop_timer_new(l, note_time, &t[i]);
		if (i % 3 == 1)
			loop_timer_set(t[i].timer, 100000000); /* replaced below */
		t[i].due_ns = clock_mono_ns() + (uint64_t)i * NS_PER_MS;
		loop_timer_set(t[i].timer, (uint64_t)i);
		if (i % 3 == 2)
			loop_timer_cancel(t[i].timer);
	}
	run_for(l, 150);
	for (int i = 0; i < N; i++) {
		cr_assert_eq(t[i].called, i % 3 != 2, "timer %d", i);
		cr_assert_eq(t[i].early, 0, "timer %d", i);
		loop_timer_free(t[i].timer);
	}
	loop_free(l);
}

Test(loop, the_longest_timer_does_not_overflow)
{
	struct loop *l = must_loop();
	int called = 0;
	struct loop_timer *t = loop_timer_new(l, count, &called);
	const uint64_t far[] = { UINT64_MAX, UINT64_MAX / 1000000, INT64_MAX, 1ULL << 32 };

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		loop_timer_set(t, far[i]);
		run_for(l, 5);
	}
	cr_assert_eq(called, 0);
	loop_timer_free(t);
	loop_free(l);
}

static void spend_time(void *arg)
{
	struct again *a = arg;
	uint64_t before = loop_now_ns(a->loop), until = clock_mono_ns() + 3 * NS_PER_MS;

	cr_assert_gt(before, a->now, "a later turn is later");
	while (clock_mono_ns() < until)
		continue;
	cr_assert_eq(loop_now_ns(a->loop), before, "one time in a turn");
	a->now = before;
	if (++a->turns < 4)
		loop_defer(a->loop, &a->task);
	else
		loop_stop(a->loop);
}

Test(loop, time_stands_still_within_a_turn)
{
	struct again a = { .loop = must_loop(), .task = { .fn = spend_time, .arg = &a } };
	uint64_t first = loop_now_ns(a.loop);

	cr_assert_leq(first, clock_mono_ns());
	loop_defer(a.loop, &a.task);
	must_run(a.loop);
	cr_assert_geq(loop_now_ns(a.loop), a.now + 3 * NS_PER_MS, "outside of a turn it runs");
	loop_free(a.loop);
}

/* --- signals --------------------------------------------------------------- */

Test(loop, signals_arrive_on_the_loop)
{
	struct loop *l = must_loop();
	int hup = 0, usr = 0;
	struct err e;

	cr_assert_eq(loop_signal(l, SIGHUP, count, &hup, &e), 0);
	cr_assert_eq(loop_signal(l, SIGUSR1, count, &usr, &e), 0);
	raise(SIGHUP);
	run_for(l, 10);
	cr_assert_eq(hup, 1);
	cr_assert_eq(usr, 0);
	raise(SIGUSR1);
	raise(SIGHUP);
	run_for(l, 10);
	cr_assert_eq(hup, 2);
	cr_assert_eq(usr, 1);
	cr_assert_neq(loop_signal(l, 4096, count, &hup, &e), 0, "no such signal");
	loop_free(l);
}
