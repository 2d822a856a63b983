/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Where the way to a server may fail, or come to a stop, or be given up. */

#include "tests/unit/fake_dns.h"
#include "tests/unit/line_run.h"

TestSuite(probe_line_fails, .timeout = TEST_TIMEOUT);

/* --- look-up and connect ----------------------------------------------------------------- */

Test(probe_line_fails, no_such_name)
{
	struct outcome o = { .frees = true };

	run(&o, "again.fake.test:1");
	must_fail(&o, CHECK_AT_DNS, ERR_RESOLVE, "again.fake.test");
	cr_assert(o.story.dns_ms >= 0 && isnan(o.story.connect_ms) && o.story.address[0] == '\0');
	end(&o);
}

Test(probe_line_fails, nobody_listens)
{
	struct outcome o = { .frees = true };
	char target[64];

	snprintf(target, sizeof(target), "127.0.0.1:%u", peer_nobody());
	run(&o, target);
	must_fail(&o, CHECK_AT_CONNECT, ERR_CONNECT, target);
	cr_assert(isnan(o.story.connect_ms));
	end(&o);
}

Test(probe_line_fails, no_unix_socket)
{
	struct outcome o = { .frees = true };

	run(&o, "unix:/nonexistent/sock");
	must_fail(&o, CHECK_AT_CONNECT, ERR_CONNECT, "unix:/nonexistent/sock");
	end(&o);
}

Test(probe_line_fails, proxy_that_does_not_listen)
{
	struct peer nobody = { .port = peer_nobody() };
	struct outcome o = { .frees = true };

	use_proxy(&o, "http", &nobody);
	run(&o, "192.0.2.1");
	must_fail(&o, CHECK_AT_PROXY, ERR_CONNECT, "127.0.0.1");
	end(&o);
}

/* Its name is no concern of the target's. */
Test(probe_line_fails, proxy_without_a_name)
{
	struct outcome o = { .frees = true };
	struct err e;

	cr_assert_eq(proxy_parse("http://again.fake.test:1", &o.proxy, &e), 0, "%s", e.msg);
	o.o.proxy = &o.proxy;
	run(&o, "192.0.2.1");
	must_fail(&o, CHECK_AT_PROXY, ERR_RESOLVE, "again.fake.test");
	end(&o);
}

Test(probe_line_fails, name_that_is_to_be_resolved_for_a_proxy)
{
	struct peer nobody = { .port = peer_nobody() };
	struct outcome o = { .frees = true };

	use_proxy(&o, "socks5", &nobody);
	run(&o, "again.fake.test");
	must_fail(&o, CHECK_AT_DNS, ERR_RESOLVE, "again.fake.test");
	end(&o);
}

Test(probe_line_fails, literal_of_the_wrong_family_for_a_proxy)
{
	struct peer nobody = { .port = peer_nobody() };
	struct outcome o = { .frees = true, .o = { .family = RESOLVE_V6 } };

	use_proxy(&o, "socks5", &nobody);
	run(&o, "192.0.2.1");
	must_fail(&o, CHECK_AT_DNS, ERR_RESOLVE, "192.0.2.1");
	end(&o);
}

/* --- conversations --------------------------------------------------------------------------------- */

static struct outcome converse(const char *proxy, const char *starttls, const struct peer_line *script)
{
	struct outcome o = { .frees = true, .o = { .starttls = starttls } };
	struct peer p;

	peer_start(&p, script ? peer_talk : peer_close, (void *)script);
	if (proxy)
		use_proxy(&o, proxy, &p);
	run(&o, proxy ? "192.0.2.1" : peer_target(&p, "127.0.0.1"));
	end(&o);
	peer_end(&p);
	return o;
}

Test(probe_line_fails, proxy_says_no)
{
	static const struct peer_line script[] = {
		PEER_LINE("CONNECT ", "HTTP/1.1 502 Bad Gateway\r\n\r\n"),
		{ .hears = NULL },
	};
	struct outcome o = converse("http", "smtp", script);

	must_fail(&o, CHECK_AT_PROXY, ERR_CONNECT, "502 Bad Gateway");
	cr_assert(o.story.connect_ms >= 0 && isnan(o.story.proxy_ms) && o.story.address[0] != '\0');
}

Test(probe_line_fails, socks_proxy_says_no)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0", "\5\5\0\1\0\0\0\0\0\0"),
		{ .hears = NULL },
	};
	struct outcome o = converse("socks5", NULL, script);

	must_fail(&o, CHECK_AT_PROXY, ERR_CONNECT, "192.0.2.1:443");
}

Test(probe_line_fails, proxy_closes)
{
	struct outcome o = converse("http", NULL, NULL);

	must_fail(&o, CHECK_AT_PROXY, ERR_IO, "CONNECT 192.0.2.1:443 at the proxy");
}

Test(probe_line_fails, starttls_is_not_offered)
{
	static const struct peer_line script[] = {
		PEER_LINE("", SMTP_GREETING),
		PEER_LINE(SMTP_EHLO, "250 mx.example\r\n"),
		{ .hears = NULL },
	};
	struct outcome o = converse(NULL, "smtp", script);

	must_fail(&o, CHECK_AT_STARTTLS, ERR_HANDSHAKE, "smtp: STARTTLS is not offered");
	cr_assert(isnan(o.story.starttls_ms));
}

Test(probe_line_fails, starttls_with_injected_data)
{
	static const struct peer_line script[] = {
		PEER_LINE("", SMTP_GREETING),
		PEER_LINE(SMTP_EHLO, SMTP_OFFER),
		PEER_LINE(SMTP_ASK, SMTP_GO "250 me too\r\n"),
		{ .hears = NULL },
	};
	struct outcome o = converse(NULL, "smtp", script);

	must_fail(&o, CHECK_AT_STARTTLS, ERR_HANDSHAKE, "injected");
}

/* Together with the greeting behind the proxy's answer. */
Test(probe_line_fails, starttls_refused_behind_a_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0\1\300\0\2\1\1\273", "\5\0\0\1\0\0\0\0\0\0" "554 no\r\n"),
		{ .hears = NULL },
	};
	struct outcome o = converse("socks5", "smtp", script);

	must_fail(&o, CHECK_AT_STARTTLS, ERR_HANDSHAKE, "554");
	cr_assert_geq(o.story.proxy_ms, 0);
}

Test(probe_line_fails, starttls_closes)
{
	struct outcome o = converse(NULL, "smtp", NULL);

	must_fail(&o, CHECK_AT_STARTTLS, ERR_IO, "smtp: greeting");
}

Test(probe_line_fails, starttls_resets)
{
	struct outcome o = { .frees = true, .o = { .starttls = "postgres" } };
	struct peer p;

	peer_start(&p, peer_reset, NULL);
	run(&o, peer_target(&p, "127.0.0.1"));
	must_fail(&o, CHECK_AT_STARTTLS, ERR_IO, ": the connection broke: ");
	end(&o);
	peer_end(&p);
}

Test(probe_line_fails, protocol_that_nobody_knows)
{
	struct outcome o = { .frees = true, .o = { .starttls = "gopher" } };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	run(&o, peer_target(&p, "127.0.0.1"));
	must_fail(&o, CHECK_AT_STARTTLS, ERR_CONFIG, "gopher");
	end(&o);
	peer_end(&p);
}

/* --- silence, which ends when somebody frees the line ------------------------------------------------ */

#define SOON_MS 30

Test(probe_line_fails, silent_dns)
{
	struct outcome o = { .frees = false };
	struct line_story s = pending(&o, "held.fake.test:1", SOON_MS);

	cr_assert_eq(s.stage, CHECK_AT_DNS);
	cr_assert(isnan(s.dns_ms) && s.address[0] == '\0' && s.family == 0 && !s.step);
	drop(&o);
	fake_dns_let_go();
}

/* Its backlog is full, so that nobody answers. */
Test(probe_line_fails, silent_connect)
{
	struct sockaddr_in in;
	int fd = listen_v4(&in, 0), fill[2];
	struct outcome o = { .frees = false };
	struct line_story s;
	char target[64];

	for (int i = 0; i < 2; i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fill[i], (struct sockaddr *)&in, sizeof(in));
	}
	snprintf(target, sizeof(target), "127.0.0.1:%u", ntohs(in.sin_port));
	s = pending(&o, target, SOON_MS);
	cr_assert_eq(s.stage, CHECK_AT_CONNECT);
	cr_assert(isnan(s.connect_ms) && !s.step);
	drop(&o);
	close(fill[0]);
	close(fill[1]);
	close(fd);
}

Test(probe_line_fails, silent_http_proxy)
{
	struct outcome o = { .frees = false };
	struct line_story s;
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	use_proxy(&o, "http", &p);
	s = pending(&o, "[2001:db8::1]:443", SOON_MS);
	cr_assert_eq(s.stage, CHECK_AT_PROXY);
	cr_assert(s.connect_ms >= 0 && isnan(s.proxy_ms));
	cr_assert_not_null(strstr(o.step, "[2001:db8::1]:443"), "%s", o.step);
	drop(&o);
	peer_end(&p);
}

/* Until it answers with half of what it should. */
Test(probe_line_fails, silent_socks_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0", "\5\0"),
		{ .hears = NULL },
	};
	struct outcome o = { .frees = false };
	struct line_story s;
	struct peer p;

	peer_start(&p, peer_talk, (void *)script);
	use_proxy(&o, "socks5h", &p);
	s = pending(&o, "mail.example:25", SOON_MS);
	cr_assert_eq(s.stage, CHECK_AT_PROXY);
	cr_assert_not_null(strstr(o.step, "connect to mail.example:25"), "%s", o.step);
	drop(&o);
	peer_end(&p);
}

Test(probe_line_fails, silent_name_for_a_proxy)
{
	struct outcome o = { .frees = false };
	struct line_story s;
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	use_proxy(&o, "socks5", &p);
	s = pending(&o, "held.fake.test", SOON_MS);
	cr_assert_eq(s.stage, CHECK_AT_DNS);
	drop(&o);
	fake_dns_let_go();
	peer_end(&p);
	cr_assert_eq(p.accepted, 0);
}

static void must_stop_at(const struct peer_line *script, const char *step)
{
	struct outcome o = { .o = { .starttls = "smtp" } };
	struct line_story s;
	struct peer p;

	peer_start(&p, peer_talk, (void *)script);
	s = pending(&o, peer_target(&p, "127.0.0.1"), SOON_MS);
	cr_assert_eq(s.stage, CHECK_AT_STARTTLS);
	cr_assert_str_eq(o.step, step);
	cr_assert(isnan(s.starttls_ms));
	drop(&o);
	peer_end(&p);
}

Test(probe_line_fails, silence_in_each_step)
{
	static const struct peer_line script[] = {
		PEER_LINE("", SMTP_GREETING),
		PEER_LINE(SMTP_EHLO, SMTP_OFFER),
		{ .hears = NULL },
	};
	static const struct peer_line half[] = {
		PEER_LINE("", SMTP_GREETING),
		PEER_LINE(SMTP_EHLO, "250-mx.example\r\n250-ST"),
		{ .hears = NULL },
	};

	must_stop_at(&script[2], "smtp: greeting");
	must_stop_at(half, "smtp: EHLO");
	must_stop_at(script, "smtp: STARTTLS");
}

/* --- given up before anything happened ---------------------------------------------------------------- */

/* At whatever point the loop has come to. */
static void free_at_any_turn(struct outcome *o, const char *target)
{
	int before = open_descriptors();

	for (uint64_t ms = 0; ms < 4; ms++) {
		start(o, target);
		if (ms)
			run_for(o->loop, ms - 1);
		line_free(o->line);
		if (o->fd >= 0)
			close(o->fd);
		o->called = 0;
		run_for(o->loop, 1);
		cr_assert_eq(o->called, 0);
		loop_free(o->loop);
	}
	cr_assert_eq(open_descriptors(), before);
}

Test(probe_line_fails, freed_at_once)
{
	struct outcome literal = { .fd = -1 }, name = { .fd = -1 }, none = { .o = { .family = RESOLVE_V6 } };
	struct outcome mail = { .o = { .starttls = "smtp" } };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	free_at_any_turn(&literal, peer_target(&p, "127.0.0.1"));
	free_at_any_turn(&name, peer_target(&p, "4a.fake.test"));
	free_at_any_turn(&mail, peer_target(&p, "127.0.0.1"));
	free_at_any_turn(&none, "127.0.0.1:1"); /* which has failed already */
	peer_end(&p);
	line_free(NULL);
}
