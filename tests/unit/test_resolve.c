/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "lib/net/resolve.h"
#include "tests/unit/fake_dns.h"
#include "tests/unit/net_util.h"

TestSuite(resolve, .timeout = TEST_TIMEOUT);

/* "1.2.3.4:5 [::1]:5" */
static char *list(const struct resolved *r, char out[2048])
{
	char text[ADDR_TEXT_SIZE];
	size_t n = 0;

	out[0] = '\0';
	for (int i = 0; i < r->n; i++) {
		addr_format_sockaddr((const struct sockaddr *)&r->at[i].sa, r->at[i].len, text);
		n += (size_t)snprintf(out + n, 2048 - n, "%s%s", i > 0 ? " " : "", text);
	}
	return out;
}

static struct addr parsed(const char *text)
{
	struct addr a;
	struct err e;

	cr_assert_eq(addr_parse(&a, text, ADDR_TARGET, &e), 0, "%s", e.msg);
	return a;
}

/* --- without a look-up ----------------------------------------------------- */

static const struct {
	const char *text;
	const char *result[3]; /* by family: any, v4, v6; NULL: needs a look-up */
} now[] = {
	{ "5", { "127.0.0.1:5 [::1]:5", "127.0.0.1:5", "[::1]:5" } },
	{ "localhost:5", { "127.0.0.1:5 [::1]:5", "127.0.0.1:5", "[::1]:5" } },
	{ "LOCALHOST.:5", { "127.0.0.1:5 [::1]:5", "127.0.0.1:5", "[::1]:5" } },
	{ "a.b.localhost:5", { "127.0.0.1:5 [::1]:5", "127.0.0.1:5", "[::1]:5" } },
	{ "192.0.2.7:5", { "192.0.2.7:5", "192.0.2.7:5", "" } },
	{ "[2001:db8::7]:5", { "[2001:db8::7]:5", "", "[2001:db8::7]:5" } },
	{ "[fe80::1%no-such-if]:5", { "", "", "" } },
	{ "[fe80::1%lo]:5", { "[fe80::1%lo]:5", "", "[fe80::1%lo]:5" } },
	{ "unix:/x", { "unix:/x", "unix:/x", "unix:/x" } },
	{ "unix:@x", { "unix:@x", "unix:@x", "unix:@x" } },
	{ "notlocalhost:5", { NULL, NULL, NULL } },
	{ "localhost.example:5", { NULL, NULL, NULL } },
	{ "example.org:5", { NULL, NULL, NULL } },
};

Test(resolve, what_needs_no_look_up)
{
	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
		for (enum resolve_family f = RESOLVE_ANY; f <= RESOLVE_V6; f++) {
			struct addr a = parsed(now[i].text);
			const char *expected = now[i].result[f];
			struct resolved r;
			struct err e = { 0 };
			char text[2048];

			cr_assert_eq(resolve_now(&a, f, &r), expected != NULL, "%s", now[i].text);
			if (expected == NULL)
				continue;
			cr_assert_str_eq(list(&r, text), expected, "%s", now[i].text);
			cr_assert_eq(resolve_wait(&a, f, &r, &e), *expected != '\0' ? 0 : -1);
			if (*expected == '\0') {
				cr_assert_eq(e.kind, ERR_RESOLVE);
				cr_assert_not_null(strstr(e.msg, a.host), "%s", e.msg);
			}
		}
	}
}

/* --- look-ups --------------------------------------------------------------- */

#define V4A "127.0.0.1:5"
#define V6A "[::1]:5"
#define V4(n) "192.0.2." n ":5" /* 'b' is 98 */
#define V6(n) "[2001:db8::" n "]:5" /* 'b' is 62 */

static const struct {
	const char *label;
	enum resolve_family family;
	const char *result;
} orders[] = {
	{ "4a", RESOLVE_ANY, V4A },
	{ "6a", RESOLVE_ANY, V6A },
	{ "6a6b6c4a4b4c", RESOLVE_ANY, V6A " " V4A " " V6("62") " " V4("98") " " V6("63") " " V4("99") },
	{ "4a4b4c6a6b6c", RESOLVE_ANY, V4A " " V6A " " V4("98") " " V6("62") " " V4("99") " " V6("63") },
	{ "4a4b4c6a", RESOLVE_ANY, V4A " " V6A " " V4("98") " " V4("99") },
	{ "4c4b4a", RESOLVE_ANY, V4("99") " " V4("98") " " V4A },
	{ "4a4a4a6a6a", RESOLVE_ANY, V4A " " V6A },
	{ "6a4a6b4b", RESOLVE_V4, V4A " " V4("98") },
	{ "6a4a6b4b", RESOLVE_V6, V6A " " V6("62") },
	/* more than there is room for: both families are still there */
	{ "4a4b4c4d4e4f4g4h4i4j4k4l4m4n4o4p4q4r4s6a", RESOLVE_ANY,
		V4A " " V6A " " V4("98") " " V4("99") " " V4("100") " " V4("101") " " V4("102") " " V4("103") " "
		V4("104") " " V4("105") " " V4("106") " " V4("107") " " V4("108") " " V4("109") " " V4("110") " "
		V4("111") },
};

Test(resolve, families_take_turns)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		char name[128], text[2048];
		struct resolved r;
		struct err e = { 0 };
		struct addr a;

		snprintf(name, sizeof(name), "%s.fake.test:5", orders[i].label);
		a = parsed(name);
		cr_assert_eq(resolve_wait(&a, orders[i].family, &r, &e), 0, "%s", e.msg);
		cr_assert_str_eq(list(&r, text), orders[i].result);
	}
}

Test(resolve, what_is_asked)
{
	struct addr plain = parsed("4a6a.fake.test:5"), dot = parsed("4a6a.fake.test.:5");
	struct resolved r;
	struct err e;

	cr_assert_eq(resolve_wait(&plain, RESOLVE_ANY, &r, &e), 0);
	cr_assert_str_eq(fake_dns.name, "4a6a.fake.test");
	cr_assert_eq(fake_dns.family, AF_UNSPEC);
	cr_assert(fake_dns.flags & AI_ADDRCONFIG);
	cr_assert_eq(resolve_wait(&dot, RESOLVE_V6, &r, &e), 0);
	cr_assert_str_eq(fake_dns.name, "4a6a.fake.test.", "a trailing dot keeps the search list out");
	cr_assert_eq(fake_dns.family, AF_INET6);
}

static const struct {
	const char *text;
	enum resolve_family family;
	const char *says;
} failures[] = {
	{ "again.fake.test:5", RESOLVE_ANY, "cannot resolve again.fake.test: Temporary failure" },
	{ "system.fake.test:5", RESOLVE_ANY, "cannot resolve system.fake.test: Too many open files in system" },
	{ "4a.fake.test:5", RESOLVE_V6, "cannot resolve 4a.fake.test: it has no IPv6 address" },
	{ "6a.fake.test:5", RESOLVE_V4, "cannot resolve 6a.fake.test: it has no IPv4 address" },
	{ "none.fake.test:5", RESOLVE_ANY, "cannot resolve none.fake.test: it has no address" },
	{ "192.0.2.7:5", RESOLVE_V6, "cannot resolve 192.0.2.7: it has no IPv6 address" },
	{ "[fe80::1%no-such-if]:5", RESOLVE_ANY, "cannot resolve fe80::1%no-such-if: no such network interface" },
};

struct outcome {
	struct loop *loop;
	int called;
	bool ok;
	char text[2048];
	struct err err;
	int *left; /* stops the loop at 0 */
};

static void note_result(void *arg, const struct resolved *result, const struct err *e)
{
	struct outcome *o = arg;

	o->called++;
	o->ok = result != NULL;
	cr_assert_neq(result == NULL, e == NULL, "one of the two");
	if (result != NULL)
		list(result, o->text);
	else
		o->err = *e;
	if (o->left == NULL || --*o->left == 0)
		loop_stop(o->loop);
}

Test(resolve, failures_say_why)
{
	struct loop *l = must_loop();

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct addr a = parsed(failures[i].text);
		struct outcome o = { .loop = l };
		struct resolved r;
		struct err e = { 0 };

		cr_assert_eq(resolve_wait(&a, failures[i].family, &r, &e), -1);
		cr_assert_eq(e.kind, ERR_RESOLVE);
		cr_assert_eq(strncmp(e.msg, failures[i].says, strlen(failures[i].says)), 0, "%s", e.msg);
		cr_assert_not_null(resolve_start(l, &a, failures[i].family, note_result, &o, &e));
		must_run(l);
		cr_assert_eq(o.called, 1);
		cr_assert_not(o.ok);
		cr_assert_str_eq(o.err.msg, e.msg, "the same on a thread");
	}
	loop_free(l);
}

/* --- off the loop ------------------------------------------------------------ */

Test(resolve, start_never_calls_back_at_once)
{
	static const char *const texts[] = { "5", "192.0.2.7:5", "localhost:5", "4a6b.fake.test:5", "none.fake.test:5" };
	struct loop *l = must_loop();

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct addr a = parsed(texts[i]);
		struct outcome o = { .loop = l };
		struct resolved r;
		struct err e;
		char text[2048] = "";

		cr_assert_not_null(resolve_start(l, &a, RESOLVE_ANY, note_result, &o, &e));
		memset(&a.host, 'x', 8); /* it was copied */
		usleep(3000);
		cr_assert_eq(o.called, 0);
		must_run(l);
		cr_assert_eq(o.called, 1);
		a = parsed(texts[i]);
		if (resolve_wait(&a, RESOLVE_ANY, &r, &e) == 0)
			list(&r, text);
		cr_assert_str_eq(o.text, text);
	}
	loop_free(l);
}

Test(resolve, slow_names_do_not_stop_the_loop_nor_each_other)
{
	struct loop *l = must_loop();
	struct addr slow = parsed("held.fake.test:5"), fast = parsed("4a.fake.test:5");
	struct outcome o[4];
	struct err e;
	int left = 4;

	/* three of the four threads are busy */
	for (int i = 0; i < 4; i++) {
		o[i] = (struct outcome){ .loop = l, .left = &left };
		cr_assert_not_null(resolve_start(l, i < 3 ? &slow : &fast, RESOLVE_ANY, note_result, &o[i], &e));
	}
	while (o[3].called == 0)
		run_for(l, 1);
	cr_assert_eq(left, 3, "the fast one came first");
	while (fake_dns_held() < 3) /* the slow ones go side by side */
		run_for(l, 1);
	fake_dns_let_go();
	while (left > 0)
		run_for(l, 1);
	loop_free(l);
}

Test(resolve, cancelled_in_any_state_never_calls_back)
{
	static const char *const names[] = { "slow.fake.test:5", "4a.fake.test:5", "none.fake.test:5" };

	/* later rounds find the threads running, and cancel at other moments */
	for (int round = 0; round < 60; round++) {
		enum { N = 12 };
		struct loop *l = must_loop();
		struct resolve_request *r[N];
		struct outcome o[N];
		struct err e;
		int called = 0;

		for (int i = 0; i < N; i++) {
			struct addr a = parsed(names[(i + round) % 6 == 0 ? 0 : 1 + i % 2]);

			o[i] = (struct outcome){ .loop = l };
			r[i] = resolve_start(l, &a, RESOLVE_ANY, note_result, &o[i], &e);
			cr_assert_not_null(r[i]);
		}
		usleep((unsigned)(round % 10) * 50);
		if (round % 2)
			run_for(l, 1);
		for (int i = 0; i < N; i++) {
			called += o[i].called;
			if (o[i].called == 0)
				resolve_cancel(r[i]);
		}
		if (round % 3 == 0)
			run_for(l, 2);
		for (int i = 0; i < N; i++)
			called -= o[i].called;
		cr_assert_eq(called, 0, "none after its cancel");
		loop_free(l); /* at once, with look-ups still going on */
	}
	resolve_cancel(NULL);
}

#define LOOPS 4
#define EACH 300

static void *ask_and_wait(void *arg)
{
	struct loop *l = must_loop();
	struct outcome *o = calloc(EACH, sizeof(*o));
	int left = EACH, *wrong = arg;
	struct addr a = parsed("4a6b.fake.test:5");
	struct err e;

	for (int i = 0; i < EACH; i++) {
		o[i] = (struct outcome){ .loop = l, .left = &left };
		*wrong += resolve_start(l, &a, RESOLVE_ANY, note_result, &o[i], &e) == NULL;
	}
	while (left > 0)
		run_for(l, 1000);
	for (int i = 0; i < EACH; i++)
		*wrong += o[i].called != 1 || strcmp(o[i].text, "127.0.0.1:5 [2001:db8::62]:5") != 0;
	free(o);
	loop_free(l);
	return NULL;
}

Test(resolve, loops_share_the_threads)
{
	pthread_t t[LOOPS];
	int wrong[LOOPS] = { 0 };

	for (int i = 0; i < LOOPS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, ask_and_wait, &wrong[i]), 0);
	for (int i = 0; i < LOOPS; i++) {
		pthread_join(t[i], NULL);
		cr_assert_eq(wrong[i], 0);
	}
}

Test(resolve, threads_leave_signals_alone)
{
	struct loop *l = must_loop();
	struct addr a = parsed("4a.fake.test:5");
	struct outcome o = { .loop = l };
	sigset_t set, pending;
	struct err e;

	cr_assert_not_null(resolve_start(l, &a, RESOLVE_ANY, note_result, &o, &e));
	must_run(l);
	/* No thread is left that takes it: it stays pending. Its default would end
	 * us. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	cr_assert_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	kill(getpid(), SIGUSR1);
	usleep(5000);
	cr_assert_eq(sigpending(&pending), 0);
	cr_assert(sigismember(&pending, SIGUSR1));
	loop_free(l);
}
