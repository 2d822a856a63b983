/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A probe's course: where it may stop, be given up, hurried or cancelled. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>

#include "tests/unit/fake_dns.h"
#include "tests/unit/fake_tlsa.h"
#include "tests/unit/probing.h"
#include "tests/unit/responder.h"

TestSuite(probe, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

/* --- places where it waits --------------------------------------------------------------------- */

static struct peer silent;
static struct responder responder;
static struct proxy proxy;
static struct addr elsewhere;
static int full[3] = { -1, -1, -1 }; /* a socket that listens and its backlog */

static const char *wait_for_dns(void)
{
	return "held.fake.test:1";
}

static const char *wait_for_connect(void)
{
	static char target[64];
	struct sockaddr_in in;

	full[0] = listen_v4(&in, 0);
	for (int i = 1; i < 3; i++) {
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(full[i], (struct sockaddr *)&in, sizeof(in));
	}
	snprintf(target, sizeof(target), "127.0.0.1:%u", ntohs(in.sin_port));
	return target;
}

static const char *wait_for_proxy(void)
{
	char url[64];
	struct err e;

	peer_start(&silent, peer_be_silent, NULL);
	snprintf(url, sizeof(url), "socks5h://127.0.0.1:%u", silent.port);
	cr_assert_eq(proxy_parse(url, &proxy, &e), 0, "%s", e.msg);
	probing.goal.line.proxy = &proxy;
	return "example.com:443";
}

static const char *wait_for_starttls(void)
{
	peer_start(&silent, peer_be_silent, NULL);
	probing.goal.line.starttls = "smtp";
	return peer_target(&silent, "localhost");
}

static const char *wait_for_handshake(void)
{
	peer_start(&silent, peer_be_silent, NULL);
	return peer_target(&silent, "localhost");
}

static const char *wait_for_responder(void)
{
	char url[64];

	responder_start(&responder, responder_be_silent, "", 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", responder.port);
	probing_use_leaf((struct pki_spec){ .ocsp_url = url });
	probing.goal.ocsp = true;
	return NULL;
}

static const char *wait_for_records(void)
{
	struct err e;

	if (!fake_tlsa.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_tlsa.on = true;
	cr_assert_eq(addr_parse(&elsewhere, "127.0.0.1", ADDR_CONNECT, &e), 0, "%s", e.msg);
	probing.goal.line.resolve = &elsewhere;
	probing.goal.dane = true;
	probing.host = "held.fake.test";
	return NULL;
}

static const char *wait_for_tickets(void)
{
	probing.goal.resume = true;
	probing.server.then = tls_server_be_silent;
	return NULL;
}

static void fall_silent(struct tls_server *s, int fd)
{
	if (s->peer.accepted > 1)
		peer_wait_for_end(fd);
}

static const char *wait_for_second(void)
{
	probing.goal.resume = true;
	probing.server.tickets = true;
	probing.server.before = fall_silent;
	return NULL;
}

static const struct place {
	const char *(*set_up)(void); /* gives the target */
	enum check_stage stage;
	const char *says;
	int patience_ms; /* until it is there */
} places[] = {
	{ wait_for_dns, CHECK_AT_DNS, "no answer from the DNS", 40 },
	{ wait_for_connect, CHECK_AT_CONNECT, "no connection to 127.0.0.1:", 40 },
	{ wait_for_proxy, CHECK_AT_PROXY, "no answer from 127.0.0.1:", 40 },
	{ wait_for_starttls, CHECK_AT_STARTTLS, "no answer from 127.0.0.1:", 40 },
	{ wait_for_handshake, CHECK_AT_HANDSHAKE, "the TLS handshake was not over", 40 },
	{ wait_for_responder, CHECK_AT_VERIFY, "no answer from the OCSP responder", 200 },
	{ wait_for_records, CHECK_AT_DNS, "no answer from the DNS about TLSA records", 40 },
	{ wait_for_tickets, CHECK_AT_HANDSHAKE, "no ticket came to resume with", 200 },
	{ wait_for_second, CHECK_AT_HANDSHAKE, "the handshake that resumes was not over", 400 },
};

#define N_PLACES (sizeof(places) / sizeof(*places))

static void leave(void)
{
	fake_dns_let_go();
	fake_tlsa_let_go();
	if (silent.port)
		peer_end(&silent);
	if (responder.port)
		responder_end(&responder);
	for (int i = 0; i < 3; i++)
		if (full[i] >= 0)
			close(full[i]);
}

static const struct place *go_to(size_t i, bool limited)
{
	const struct place *p = &places[i];

	probing.goal.timeout_ms = limited ? (uint64_t)p->patience_ms : 0;
	probing_start(p->set_up());
	return p;
}

ParameterizedTestParameters(probe, deadline_in_each_place)
{
	static size_t all[N_PLACES];

	for (size_t i = 0; i < N_PLACES; i++)
		all[i] = i;
	return cr_make_param_array(size_t, all, N_PLACES);
}

ParameterizedTest(size_t *i, probe, deadline_in_each_place)
{
	const struct place *p;
	char says[200];

	p = go_to(*i, true);
	probing_wait();
	snprintf(says, sizeof(says), "timed out after %dms (--timeout): %s", p->patience_ms, p->says);
	probing_must_end(CHECK_DEADLINE);
	probing_must_say(CHECK_DEADLINE, p->stage, says);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert(probing.took_ms + 1 >= (uint64_t)p->patience_ms && probing.took_ms < (uint64_t)p->patience_ms + 1000, "%d", (int)probing.took_ms);
	leave();
}

ParameterizedTestParameters(probe, hurried_in_each_place)
{
	static size_t all[N_PLACES];

	for (size_t i = 0; i < N_PLACES; i++)
		all[i] = i;
	return cr_make_param_array(size_t, all, N_PLACES);
}

ParameterizedTest(size_t *i, probe, hurried_in_each_place)
{
	const struct place *p;

	p = go_to(*i, false);
	run_for(probing.loop, (uint64_t)p->patience_ms);
	cr_assert_eq(probing.called, 0);
	probe_hurry(probing.probe);
	probe_hurry(probing.probe);
	cr_assert_eq(probing.called, 0, "not from inside");
	probing_wait();
	probing_must_end(CHECK_FAILED);
	probing_must_say(CHECK_FAILED, CHECK_AT_CLOSE, "interrupted");
	cr_assert_eq(probing.check->n_faults, 1);
	leave();
}

ParameterizedTestParameters(probe, cancelled_in_each_place)
{
	static size_t all[N_PLACES];

	for (size_t i = 0; i < N_PLACES; i++)
		all[i] = i;
	return cr_make_param_array(size_t, all, N_PLACES);
}

ParameterizedTest(size_t *i, probe, cancelled_in_each_place)
{
	const struct place *p;

	p = go_to(*i, false);
	run_for(probing.loop, (uint64_t)p->patience_ms);
	probe_hurry(probing.probe); /* which it does not live to see */
	probe_cancel(probing.probe);
	run_for(probing.loop, 2);
	cr_assert_eq(probing.called, 0);
	leave();
}

/* At any turn of the loop, from the first one on. */
Test(probe, cancelled_at_any_turn)
{
	probing_start(NULL);
	for (int turns = 0; turns < 40; turns++) {
		probe_cancel(probing.probe);
		probing_again(NULL);
		for (int i = 0; i < turns && !probing.called; i++) {
			loop_stop(probing.loop); /* a turn each */
			must_run(probing.loop);
			usleep(100);
		}
		if (probing.called)
			break;
	}
	cr_assert_eq(probing.called, 1, "it came to its end at last");
	probing_must_be_fine();
	probe_cancel(NULL);
}

/* --- ways there that fail ------------------------------------------------------------------------- */

Test(probe, no_such_name)
{
	probing_start("again.fake.test:443");
	probing_wait();
	probing_must_end(CHECK_DNS);
	probing_must_say(CHECK_DNS, CHECK_AT_DNS, "again.fake.test");
	cr_assert_str_eq(probing.check->host, "again.fake.test");
	cr_assert_eq(probing.check->port, 443);
	cr_assert(!probing.check->verified && probing.check->verify_ok == CHECK_UNKNOWN);
	cr_assert(probing.check->dns_ms >= 0 && isnan(probing.check->connect_ms) && isnan(probing.check->handshake_ms));
	cr_assert_geq(probing.check->total_ms, probing.check->dns_ms);
}

Test(probe, nobody_listens)
{
	char target[64];

	snprintf(target, sizeof(target), "localhost:%u", peer_nobody());
	probing_start(target);
	probing_wait();
	probing_must_end(CHECK_CONNECT);
	probing_must_say(CHECK_CONNECT, CHECK_AT_CONNECT, "localhost");
	cr_assert_null(probing.check->address);
}

Test(probe, proxy_refuses)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\377"),
		{ .hears = NULL },
	};
	const char *target = wait_for_proxy();
	char via[64];

	peer_end(&silent);
	peer_start(&silent, peer_talk, (void *)script);
	proxy.addr.port = (uint16_t)silent.port;
	probing_start(target);
	probing_wait();
	probing_must_end(CHECK_PROXY);
	probing_must_say(CHECK_PROXY, CHECK_AT_PROXY, "proxy");
	snprintf(via, sizeof(via), "socks5h://127.0.0.1:%u", silent.port);
	cr_assert_str_eq(probing.check->via, via);
	leave();
}

Test(probe, starttls_is_refused)
{
	static const struct peer_line script[] = { PEER_LINE("", "554 not you\r\n"), { .hears = NULL } };

	peer_start(&silent, peer_talk, (void *)script);
	probing.goal.line.starttls = "smtp";
	probing_start(peer_target(&silent, "localhost"));
	probing_wait();
	probing_must_end(CHECK_STARTTLS);
	probing_must_say(CHECK_STARTTLS, CHECK_AT_STARTTLS, "554 not you");
	cr_assert_eq(probing.check->starttls_done, CHECK_NO);
	leave();
}

static void say_go_ahead(struct tls_server *s, int fd)
{
	static const struct peer_line script[] = {
		PEER_LINE("", "220 mx\r\n"),
		PEER_LINE("EHLO tlskit.invalid\r\n", "250-mx\r\n250 STARTTLS\r\n"),
		PEER_LINE("STARTTLS\r\n", "220 go\r\n"),
	};
	char bytes[64];

	(void)s;
	for (size_t i = 0; i < 3; i++) {
		for (size_t n = 0; n < script[i].hears_n; n++)
			if (read(fd, bytes, 1) != 1)
				return;
		send(fd, script[i].says, script[i].says_n, MSG_NOSIGNAL);
	}
}

Test(probe, starttls)
{
	probing.server.before = say_go_ahead;
	probing.goal.line.starttls = "smtp";
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->starttls_done, CHECK_YES);
	cr_assert_str_eq(probing.check->starttls, "smtp");
	cr_assert(probing.check->starttls_ms >= 0 && probing.check->connect_ms >= 0 && probing.check->family == 4);
	cr_assert_str_eq(probing.check->address, peer_target(&probing.server.peer, "127.0.0.1"));
}

/* --- what is no TLS ----------------------------------------------------------------------------------- */

static void must_fail_with(peer_fn *how, const void *script, const char *part)
{
	peer_start(&silent, how, (void *)script);
	probing_start(peer_target(&silent, "localhost"));
	probing_wait();
	probing_must_end(CHECK_HANDSHAKE);
	probing_must_say(CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, part);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert(!probing.check->verified && probing.check->verify_ok == CHECK_UNKNOWN && !probing.check->version);
	leave();
}

Test(probe, http)
{
	static const struct peer_line script[] = { PEER_LINE("\26", "HTTP/1.1 400 Bad Request\r\n\r\n"), { .hears = NULL } };

	must_fail_with(peer_talk, script, "this looks like HTTP");
}

Test(probe, closed)
{
	must_fail_with(peer_close, NULL, "without a word");
}

Test(probe, reset)
{
	must_fail_with(peer_reset, NULL, "without a word");
}
