/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* TLSA records asked for off the loop, and whoever asked going away meanwhile. */

#include "lib/probe/dane_ask.h"
#include "tests/unit/fake_tlsa.h"
#include "tests/unit/net_util.h"

static void use_fake(void)
{
	if (!fake_tlsa.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_tlsa.on = true;
}

TestSuite(dane_ask, .init = use_fake, .timeout = TEST_TIMEOUT);

struct outcome {
	struct loop *loop;
	struct dane_ask *ask;
	int called;
	bool ok, keep; /* keep: the list is moved out */
	struct tlsa_answer answer;
	struct tlsa_list kept;
	struct err err;
	pthread_t thread;
};

static void note(void *arg, struct tlsa_answer *answer, const struct err *e)
{
	struct outcome *o = arg;

	o->called++;
	o->ok = answer != NULL;
	o->thread = pthread_self();
	cr_assert_neq(answer == NULL, e == NULL, "one of the two");
	if (e != NULL)
		o->err = *e;
	if (answer != NULL)
		o->answer = *answer;
	if (answer != NULL && o->keep) {
		o->kept = answer->list;
		answer->list = (struct tlsa_list){ NULL, 0 };
	}
	loop_stop(o->loop);
}

static void start(struct outcome *o, struct loop *l, const char *host)
{
	struct err e;

	*o = (struct outcome){ .loop = l, .keep = o->keep };
	o->ask = dane_ask_start(l, host, 443, 1234, note, o, &e);
	cr_assert_not_null(o->ask, "%s", e.msg);
	cr_assert_eq(o->called, 0, "not from inside");
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	cr_assert_not_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void wait_for_threads(int n)
{
	while (threads() > n)
		usleep(200);
}

static void wait_for_held(int n)
{
	while (fake_tlsa_held() < n)
		usleep(200);
}

/* --- it comes back ------------------------------------------------------------------ */

Test(dane_ask, answer)
{
	struct loop *l = must_loop();
	struct outcome o = { .keep = true };
	char host[] = "secure.fake.test";

	start(&o, l, host);
	memset(host, 'x', 6); /* it was copied */
	usleep(1000);
	cr_assert_eq(o.called, 0);
	must_run(l);
	cr_assert_eq(o.called, 1);
	cr_assert(o.ok, "%s", o.err.msg);
	cr_assert(pthread_equal(o.thread, pthread_self()), "told on the loop's thread");
	cr_assert_eq(o.answer.dnssec, TLSA_SECURE);
	cr_assert_eq(o.answer.n_found, 1);
	cr_assert_eq(o.kept.n, 1);
	cr_assert_eq(o.kept.v[0].n, 32);
	cr_assert_eq(o.kept.v[0].data[31], 0xab);
	tlsa_list_free(&o.kept);
	loop_free(l);
}

/* What the callee leaves there is freed with the ask. */
Test(dane_ask, answer_that_is_not_kept)
{
	struct loop *l = must_loop();
	struct outcome o = { 0 };

	start(&o, l, "secure.fake.test");
	must_run(l);
	cr_assert(o.ok && o.answer.list.n == 1);
	start(&o, l, "none.fake.test");
	must_run(l);
	cr_assert(o.ok && o.answer.n_found == 0 && o.answer.dnssec == TLSA_UNKNOWN);
	loop_free(l);
}

Test(dane_ask, what_is_asked)
{
	struct loop *l = must_loop();
	struct outcome o = { 0 };
	struct err e;

	start(&o, l, "secure.fake.test");
	must_run(l);
	cr_assert_eq(fake_tlsa.asked, 1);
	cr_assert_str_eq(fake_tlsa.host, "secure.fake.test");
	cr_assert_eq(fake_tlsa.port, 443);
	cr_assert_str_eq(fake_tlsa.proto, "tcp");
	cr_assert_eq(fake_tlsa.timeout_ms, 1234);
	cr_assert_not(pthread_equal(fake_tlsa.thread, pthread_self()), "off the loop");
	cr_assert_not(fake_tlsa.takes_signals, "they are for the threads with a loop");
	cr_assert_not_null(dane_ask_start(l, "none.fake.test", 25, 0, note, &o, &e));
	must_run(l);
	cr_assert_eq(fake_tlsa.port, 25);
	cr_assert_geq(fake_tlsa.timeout_ms, 3600 * 1000, "0 is no limit, and not none at all");
	loop_free(l);
}

Test(dane_ask, failure)
{
	struct loop *l = must_loop();
	struct outcome o = { 0 };

	start(&o, l, "fails.fake.test");
	must_run(l);
	cr_assert_eq(o.called, 1);
	cr_assert_not(o.ok);
	cr_assert_eq(o.err.kind, ERR_RESOLVE);
	cr_assert_str_eq(o.err.msg, "TLSA records of fails.fake.test: no luck");
	loop_free(l);
}

Test(dane_ask, not_built_in)
{
	struct loop *l = must_loop();
	struct outcome o = { .loop = l };
	int before = threads();
	struct err e = { 0 };

	fake_tlsa.missing = true;
	cr_assert_null(dane_ask_start(l, "secure.fake.test", 443, 1000, note, &o, &e));
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert_not_null(strstr(e.msg, "not built in"), "%s", e.msg);
	cr_assert_eq(threads(), before);
	run_for(l, 2);
	cr_assert_eq(o.called, 0);
	loop_free(l);
}

Test(dane_ask, slow_ones_do_not_stop_the_loop_nor_each_other)
{
	struct loop *l = must_loop();
	struct outcome o[5] = { 0 };

	for (int i = 0; i < 5; i++)
		start(&o[i], l, i < 4 ? "held.fake.test" : "secure.fake.test");
	must_run(l);
	cr_assert_eq(o[4].called, 1);
	wait_for_held(4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(o[i].called, 0);
	fake_tlsa_let_go();
	for (int i = 0; i < 4; i++)
		while (!o[i].called)
			must_run(l);
	for (int i = 0; i < 5; i++)
		cr_assert(o[i].called == 1 && o[i].ok);
	loop_free(l);
}

/* --- cancelled ----------------------------------------------------------------------- */

Test(dane_ask, cancelled_before_the_answer)
{
	struct loop *l = must_loop();
	struct outcome o = { 0 };
	int before = threads();

	start(&o, l, "held.fake.test");
	wait_for_held(1);
	run_for(l, 1);
	dane_ask_cancel(o.ask);
	fake_tlsa_let_go();
	wait_for_threads(before);
	run_for(l, 1);
	cr_assert_eq(o.called, 0);
	loop_free(l);
	dane_ask_cancel(NULL);
}

Test(dane_ask, cancelled_behind_the_answer)
{
	struct loop *l = must_loop();
	struct outcome o = { 0 };
	int before = threads();

	start(&o, l, "secure.fake.test");
	wait_for_threads(before); /* it was posted, and the loop has not looked yet */
	dane_ask_cancel(o.ask);
	run_for(l, 1);
	cr_assert_eq(o.called, 0);
	loop_free(l);
}

struct rivals {
	struct dane_ask *second;
	int called;
};

static void cancel_second(void *arg, struct tlsa_answer *answer, const struct err *e)
{
	struct rivals *r = arg;

	cr_assert(answer != NULL && e == NULL);
	r->called++;
	dane_ask_cancel(r->second);
	r->second = NULL;
}

/* Both answers wait in the same turn, and the first one's callback takes the second back. */
Test(dane_ask, cancelled_in_anothers_callback)
{
	struct loop *l = must_loop();
	struct rivals r = { 0 };
	int before = threads();
	struct err e;

	for (int i = 0; i < 2; i++) {
		r.second = dane_ask_start(l, "secure.fake.test", 443, 1000, cancel_second, &r, &e);
		cr_assert_not_null(r.second, "%s", e.msg);
		wait_for_threads(before); /* it is posted */
	}
	run_for(l, 1);
	cr_assert_eq(r.called, 1);
	loop_free(l);
}

Test(dane_ask, loop_freed_while_the_thread_runs)
{
	struct loop *l = must_loop();
	struct outcome o[3] = { 0 };
	int before = threads();

	for (int i = 0; i < 3; i++)
		start(&o[i], l, "held.fake.test");
	wait_for_held(3);
	for (int i = 0; i < 3; i++)
		dane_ask_cancel(o[i].ask);
	loop_free(l);
	fake_tlsa_let_go();
	wait_for_threads(before);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(o[i].called, 0);
}

/* At any moment, the loop being freed at once. */
Test(dane_ask, cancelled_at_any_moment)
{
	static const char *const names[] = { "slow.fake.test", "secure.fake.test", "fails.fake.test" };
	int before = threads();

	for (int round = 0; round < 60; round++) {
		enum { N = 6 };
		struct loop *l = must_loop();
		struct outcome o[N] = { 0 };
		int called = 0;

		for (int i = 0; i < N; i++)
			start(&o[i], l, names[(i + round) % 3]);
		usleep((unsigned)(round % 10) * 300);
		if (round % 2)
			run_for(l, 1);
		for (int i = 0; i < N; i++) {
			called += o[i].called;
			if (o[i].called == 0)
				dane_ask_cancel(o[i].ask);
		}
		if (round % 3 == 0)
			run_for(l, 1);
		for (int i = 0; i < N; i++)
			called -= o[i].called;
		cr_assert_eq(called, 0, "none after its cancel");
		loop_free(l);
	}
	wait_for_threads(before);
}
