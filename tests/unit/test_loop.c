/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <signal.h>
#include <stdio.h>

#include "lib/net/loop.h"
#include "tests/unit/net_util.h"

TestSuite(loop, .timeout = TEST_TIMEOUT);

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

/* Ends of a peer that has not read what was sent: nothing can be written any more. */
enum leaving { RESETS, CLOSES, HANGS_UP, LEAVINGS };

static void leave(int fd, enum leaving how)
{
	struct linger now = { .l_onoff = 1 };

	if (how == HANGS_UP) {
		cr_assert_eq(shutdown(fd, SHUT_RDWR), 0);
		return;
	}
	if (how == RESETS)
		cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

static void check_leaving(bool tcp, enum leaving how)
{
	struct loop *l = must_loop();
	struct seen s = { 0 };
	struct loop_watch *w;
	char junk[4096] = { 0 };
	struct err e;
	int fd[2];

	/* Not writable, so that only the end can say LOOP_WRITE. */
	stream_pair(tcp, fd);
	make_nonblocking(fd[0]);
	while (write(fd[0], junk, sizeof(junk)) > 0)
		continue;
	w = loop_watch_new(l, fd[0], note_ready, &s, &e);
	cr_assert_not_null(w);
	cr_assert_eq(look(l, &s).calls, 0);
	leave(fd[1], how);
	cr_assert_eq(look(l, &s).ready & ~LOOP_END, LOOP_READ | LOOP_WRITE, "tcp %d, leaving %d", tcp, how);
	loop_watch_free(w);
	close(fd[0]);
	if (how == HANGS_UP)
		close(fd[1]);
	loop_free(l);
}

Test(loop, an_end_is_both_directions)
{
	for (int tcp = 0; tcp < 2; tcp++)
		for (enum leaving how = 0; how < LEAVINGS; how++)
			check_leaving(tcp, how);
}

Test(loop, a_fin_is_told_from_data)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct loop *l = must_loop();
		struct seen s = { 0 };
		struct loop_watch *w;
		struct err e;
		int fd[2];

		stream_pair(tcp, fd);
		w = loop_watch_new(l, fd[0], note_ready, &s, &e);
		cr_assert_not_null(w);
		cr_assert_eq(write(fd[1], "x", 1), 1);
		cr_assert_eq(look(l, &s).ready & LOOP_END, 0);
		cr_assert_eq(write(fd[1], "x", 1), 1);
		shutdown(fd[1], SHUT_WR);
		cr_assert_eq(look(l, &s).ready & LOOP_END, loop_tells_end(l) ? LOOP_END : 0);
		loop_watch_free(w);
		close(fd[0]);
		close(fd[1]);
		loop_free(l);
	}
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
	struct loop_timer *t = loop_timer_new(l, count_call, &called);
	const uint64_t far[] = { UINT64_MAX, UINT64_MAX / 1000000, INT64_MAX, 1ULL << 32 };

	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		loop_timer_set(t, far[i]);
		run_for(l, 5);
	}
	cr_assert_eq(called, 0);
	loop_timer_free(t);
	loop_free(l);
}

struct turns {
	struct loop *loop;
	struct loop_task task;
	int n;
	uint64_t now;
};

static void spend_time(void *arg)
{
	struct turns *a = arg;
	uint64_t before = loop_now_ns(a->loop), until = clock_mono_ns() + 3 * NS_PER_MS;

	cr_assert_gt(before, a->now, "a later turn is later");
	while (clock_mono_ns() < until)
		continue;
	cr_assert_eq(loop_now_ns(a->loop), before, "one time in a turn");
	a->now = before;
	if (++a->n < 4)
		loop_defer(a->loop, &a->task);
	else
		loop_stop(a->loop);
}

Test(loop, time_stands_still_within_a_turn)
{
	struct turns a = { .loop = must_loop(), .task = { .fn = spend_time, .arg = &a } };
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

	cr_assert_eq(loop_signal(l, SIGHUP, count_call, &hup, &e), 0);
	cr_assert_eq(loop_signal(l, SIGUSR1, count_call, &usr, &e), 0);
	raise(SIGHUP);
	run_for(l, 10);
	cr_assert_eq(hup, 1);
	cr_assert_eq(usr, 0);
	raise(SIGUSR1);
	raise(SIGHUP);
	run_for(l, 10);
	cr_assert_eq(hup, 2);
	cr_assert_eq(usr, 1);
	cr_assert_neq(loop_signal(l, 4096, count_call, &hup, &e), 0, "no such signal");
	loop_free(l);
}
