/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Many probes on one loop. */

#include "lib/probe/batch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "tests/unit/fake_dns.h"
#include "tests/unit/probing.h"

TestSuite(probe_batch, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

#define MOST 400

struct run {
	struct batch_options o;
	const char *texts[MOST]; /* in turn */
	size_t n, given, n_checks, most; /* most: at work at once */
	struct check *checks[MOST];
	bool interrupted;
	int signal; /* when the last one is given; 0: none */
};

static int next(void *arg, struct batch_target *out)
{
	struct run *r = arg;
	struct err e;

	if (r->given == r->n)
		return 0;
	out->text = r->texts[r->given++];
	cr_assert_eq(addr_parse(&out->addr, out->text, ADDR_CONNECT, &e), 0, "%s", e.msg);
	if (r->most < r->given - r->n_checks)
		r->most = r->given - r->n_checks;
	if (r->given == r->n && r->signal)
		raise(r->signal);
	return 1;
}

static void done(void *arg, struct check *c)
{
	struct run *r = arg;

	cr_assert_lt(r->n_checks, MOST);
	r->checks[r->n_checks++] = c;
}

static void add(struct run *r, const char *text)
{
	r->texts[r->n++] = text;
}

static void run(struct run *r, unsigned jobs)
{
	int before = open_descriptors();
	struct err e = { 0 };

	r->o.goal = &probing.goal;
	r->o.jobs = jobs;
	r->o.next = next;
	r->o.done = done;
	r->o.arg = r;
	cr_assert_eq(batch_run(&r->o, &r->interrupted, &e), 0, "%s", e.msg);
	cr_assert_eq(r->interrupted, r->signal != 0);
	cr_assert_leq(open_descriptors(), before + 8, "but for the resolver's");
}

static void drop(struct run *r)
{
	for (size_t i = 0; i < r->n_checks; i++)
		check_free(r->checks[i]);
}

static const char *nobody(void)
{
	static char text[4][64];
	static unsigned n;
	char *out = text[n++ % 4];

	snprintf(out, sizeof(text[0]), "127.0.0.1:%u", peer_nobody());
	return out;
}

static void must_be(const struct run *r, size_t i, const char *target, int code)
{
	const struct check *c = r->checks[i];

	cr_assert_lt(i, r->n_checks);
	cr_assert_str_eq(c->target, target, "%zu", i);
	cr_assert_eq(check_exit_code(c), code, "%zu: %d: %s", i, check_exit_code(c),
		c->n_faults ? c->faults[0].message : "fine");
}

/* --- how many, and in which order ------------------------------------------------------------- */

Test(probe_batch, none)
{
	struct run r = { .n = 0 };

	probing_open();
	run(&r, 3);
	cr_assert_eq(r.n_checks, 0);
}

/* A listener that lets one go only when it holds as many as there may be, and no more
 * come for a while. */
struct holder {
	int fd;
	unsigned port;
	size_t jobs, all, held, accepted;
	bool exceeded, short_of; /* short_of: fewer came than could */
	pthread_t thread;
};

static void *hold(void *arg)
{
	struct holder *h = arg;
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	int fds[MOST];

	while (h->accepted < h->all) {
		while (h->held < h->jobs && h->accepted < h->all) {
			h->short_of |= poll(&p, 1, 3000) != 1;
			if (h->short_of)
				return NULL;
			fds[h->held++] = accept(h->fd, NULL, NULL);
			h->accepted++;
		}
		h->exceeded |= poll(&p, 1, 10) == 1;
		close(fds[--h->held]);
	}
	while (h->held > 0)
		close(fds[--h->held]);
	return NULL;
}

Test(probe_batch, never_more_than_jobs)
{
	struct holder h = { .jobs = 4, .all = 15 };
	struct run r = { .n = 0 };
	struct sockaddr_in in;
	char target[64];

	h.fd = listen_v4(&in, 64);
	snprintf(target, sizeof(target), "localhost:%u", ntohs(in.sin_port));
	cr_assert_eq(pthread_create(&h.thread, NULL, hold, &h), 0);
	for (size_t i = 0; i < h.all; i++)
		add(&r, target);
	probing_open();
	run(&r, 4);
	pthread_join(h.thread, NULL);
	close(h.fd);
	cr_assert_not(h.exceeded);
	cr_assert_not(h.short_of, "fewer than could");
	cr_assert_eq(r.most, 4);
	cr_assert_eq(r.n_checks, 15);
	for (size_t i = 0; i < 15; i++)
		must_be(&r, i, target, CHECK_HANDSHAKE);
	drop(&r);
}

/* A check is there when it ends, whatever its place. */
Test(probe_batch, order_is_that_of_ending)
{
	const char *refused = nobody(), *slow, *fine;
	struct run r = { .n = 0 };

	probing_open();
	slow = peer_target(&probing.server.peer, "slow.fake.test");
	fine = peer_target(&probing.server.peer, "localhost");
	add(&r, slow);
	add(&r, refused);
	add(&r, fine);
	run(&r, 3);
	cr_assert_eq(r.n_checks, 3);
	must_be(&r, 0, refused, CHECK_CONNECT);
	must_be(&r, 1, fine, CHECK_OK);
	must_be(&r, 2, slow, CHECK_NAME);
	drop(&r);
}

/* One at a time keeps the order of the list. */
Test(probe_batch, one_job)
{
	const char *refused = nobody(), *slow, *fine;
	struct run r = { .n = 0 };

	probing_open();
	slow = peer_target(&probing.server.peer, "slow.fake.test");
	fine = peer_target(&probing.server.peer, "localhost");
	add(&r, slow);
	add(&r, refused);
	add(&r, fine);
	run(&r, 1);
	cr_assert_eq(r.most, 1);
	must_be(&r, 0, slow, CHECK_NAME);
	must_be(&r, 1, refused, CHECK_CONNECT);
	must_be(&r, 2, fine, CHECK_OK);
	drop(&r);
}

/* No probe can be started: its check is there all the same, and the next ones' too. */
Test(probe_batch, one_that_cannot_begin)
{
	struct run r = { .n = 0 };
	const char *fine;

	probing_open();
	fine = peer_target(&probing.server.peer, "localhost");
	for (int i = 0; i < 3; i++) {
		add(&r, "unix:/nowhere");
		add(&r, fine);
	}
	run(&r, 1);
	cr_assert_eq(r.n_checks, 6);
	for (size_t i = 0; i < 6; i++)
		must_be(&r, i, i % 2 ? fine : "unix:/nowhere", i % 2 ? CHECK_OK : CHECK_USAGE);
	drop(&r);
}

Test(probe_batch, three_hundred)
{
	struct run r = { .n = 0 };
	const char *fine;

	probing_open();
	fine = peer_target(&probing.server.peer, "localhost");
	for (int i = 0; i < 300; i++)
		add(&r, fine);
	run(&r, 16);
	cr_assert_eq(r.n_checks, 300);
	cr_assert_eq(r.most, 16);
	for (size_t i = 0; i < 300; i++)
		must_be(&r, i, fine, CHECK_OK);
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 300);
	drop(&r);
}

/* --- all addresses --------------------------------------------------------------------------------- */

static size_t count(const struct run *r, const char *address, int code)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_checks; i++)
		n += check_exit_code(r->checks[i]) == code && (!address || (r->checks[i]->address &&
										    strcmp(r->checks[i]->address, address) == 0));
	return n;
}

/* On ::1 nobody listens, or this machine has none. */
Test(probe_batch, every_address_of_a_name)
{
	struct run r = { .o = { .all_addresses = true } };
	const char *name;

	probing_use_leaf((struct pki_spec){ .names = { "dns:4a6a.fake.test" } });
	probing_open();
	name = peer_target(&probing.server.peer, "4a6a.fake.test");
	add(&r, name);
	run(&r, 3);
	cr_assert_eq(r.n_checks, 2);
	for (size_t i = 0; i < 2; i++) {
		cr_assert_str_eq(r.checks[i]->target, name);
		cr_assert_str_eq(r.checks[i]->servername, "4a6a.fake.test", "an address is not who it is");
	}
	cr_assert_eq(count(&r, peer_target(&probing.server.peer, "127.0.0.1"), CHECK_OK), 1);
	cr_assert_eq(count(&r, NULL, CHECK_CONNECT), 1);
	cr_assert_eq(fake_dns.asked, 1);
	drop(&r);
}

/* One after the other: a name is one job. */
Test(probe_batch, every_address_is_within_jobs)
{
	struct run r = { .o = { .all_addresses = true } };
	const char *one, *two;

	probing_use_leaf((struct pki_spec){ .names = { "dns:6a4a.fake.test", "dns:localhost" } });
	probing_open();
	one = peer_target(&probing.server.peer, "6a4a.fake.test");
	two = peer_target(&probing.server.peer, "localhost");
	add(&r, one);
	add(&r, two);
	run(&r, 1);
	cr_assert_eq(r.n_checks, 4);
	must_be(&r, 0, one, CHECK_CONNECT);
	must_be(&r, 1, one, CHECK_OK);
	must_be(&r, 2, two, CHECK_OK);
	must_be(&r, 3, two, CHECK_CONNECT);
	drop(&r);
}

Test(probe_batch, every_address_that_resolve_gives)
{
	struct run r = { .o = { .all_addresses = true } };
	struct addr elsewhere;
	const char *name;
	struct err e;

	probing_use_leaf((struct pki_spec){ .names = { "dns:held.fake.test" } });
	cr_assert_eq(addr_parse(&elsewhere, "6a4a.fake.test", ADDR_CONNECT, &e), 0);
	probing.goal.line.resolve = &elsewhere;
	probing_open();
	name = peer_target(&probing.server.peer, "held.fake.test");
	add(&r, name);
	run(&r, 2);
	cr_assert_eq(r.n_checks, 2);
	must_be(&r, 0, name, CHECK_CONNECT);
	must_be(&r, 1, name, CHECK_OK);
	drop(&r);
}

Test(probe_batch, what_has_no_addresses)
{
	struct run r = { .o = { .all_addresses = true } };

	probing.tls.verify_name = "x.example";
	probing.goal.line.family = RESOLVE_V6;
	probing_open();
	add(&r, "unix:/nonexistent/sock");
	add(&r, "127.0.0.1:1");
	add(&r, "again.fake.test:1");
	run(&r, 1);
	cr_assert_eq(r.n_checks, 3);
	must_be(&r, 0, "unix:/nonexistent/sock", CHECK_CONNECT);
	must_be(&r, 1, "127.0.0.1:1", CHECK_DNS);
	must_be(&r, 2, "again.fake.test:1", CHECK_DNS);
	drop(&r);
}

Test(probe_batch, a_look_up_that_never_ends)
{
	struct run r = { .o = { .all_addresses = true } };
	const char *fine;

	probing.goal.timeout_ms = 300;
	probing_open();
	fine = peer_target(&probing.server.peer, "localhost");
	add(&r, "held.fake.test:1");
	add(&r, fine);
	run(&r, 2);
	cr_assert_eq(r.n_checks, 3);
	must_be(&r, 2, "held.fake.test:1", CHECK_DEADLINE);
	cr_assert_not_null(strstr(r.checks[2]->faults[0].message, "no answer from the DNS"));
	cr_assert_eq(r.checks[2]->faults[0].stage, CHECK_AT_DNS);
	drop(&r);
	fake_dns_let_go();
}

/* --- signals ------------------------------------------------------------------------------------------ */

static void must_end_by(int signo)
{
	struct run r = { .signal = signo };
	struct peer silent;
	const char *target;

	peer_start(&silent, peer_be_silent, NULL);
	probing.goal.timeout_ms = 0;
	probing_open();
	target = peer_target(&silent, "localhost");
	for (int i = 0; i < 3; i++)
		add(&r, target);
	run(&r, 3);
	cr_assert_eq(r.n_checks, 3);
	for (size_t i = 0; i < 3; i++) {
		must_be(&r, i, target, CHECK_FAILED);
		cr_assert_str_eq(r.checks[i]->faults[0].message, "interrupted");
	}
	drop(&r);
	peer_end(&silent);
}

Test(probe_batch, interrupted)
{
	must_end_by(SIGINT);
}

Test(probe_batch, terminated)
{
	must_end_by(SIGTERM);
}

/* No new one begins, neither of the list nor of a name's addresses. */
static int next_that_signals(void *arg, struct batch_target *out)
{
	struct run *r = arg;

	if (r->given == 0)
		raise(SIGINT);
	return next(arg, out);
}

Test(probe_batch, interrupted_before_the_last)
{
	struct run r = { .o = { .all_addresses = true } };
	struct peer silent;
	const char *target;
	struct err e;

	peer_start(&silent, peer_be_silent, NULL);
	probing.goal.timeout_ms = 0;
	probing_open();
	target = peer_target(&silent, "localhost");
	for (int i = 0; i < 5; i++)
		add(&r, target);
	r.o = (struct batch_options){ .goal = &probing.goal, .jobs = 2, .next = next_that_signals, .done = done, .arg = &r,
		.all_addresses = true };
	cr_assert_eq(batch_run(&r.o, &r.interrupted, &e), 0, "%s", e.msg);
	cr_assert(r.interrupted);
	cr_assert_eq(r.given, 2);
	cr_assert_eq(r.n_checks, 2);
	cr_assert_eq(count(&r, NULL, CHECK_FAILED), 2);
	drop(&r);
	peer_end(&silent);
}

/* A look-up has found out nothing. */
Test(probe_batch, interrupted_look_up)
{
	struct run r = { .o = { .all_addresses = true }, .signal = SIGINT };

	probing.goal.timeout_ms = 0;
	probing_open();
	add(&r, "held.fake.test:1");
	run(&r, 1);
	cr_assert_eq(r.n_checks, 0);
	fake_dns_let_go();
}
