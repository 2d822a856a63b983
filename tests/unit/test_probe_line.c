/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The way to a server: look-up, connect, proxy, STARTTLS, and what leads elsewhere. */

#include <netinet/tcp.h>

#include "tests/unit/fake_dns.h"
#include "tests/unit/line_run.h"
#include "tests/unit/pki.h"

TestSuite(probe_line, .timeout = TEST_TIMEOUT);

/* --- straight ------------------------------------------------------------------------------- */

Test(probe_line, straight)
{
	struct outcome o = { .frees = false };
	int before = open_descriptors(), on = 0;
	socklen_t len = sizeof(on);
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	run(&o, peer_target(&p, "127.0.0.1"));
	must_reach(&o);
	cr_assert_eq(port_of(o.fd), p.port);
	cr_assert(fcntl(o.fd, F_GETFL) & O_NONBLOCK);
	cr_assert(getsockopt(o.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len) == 0 && on);
	cr_assert_str_eq(o.story.address, peer_target(&p, "127.0.0.1"));
	cr_assert_eq(o.story.family, 4);
	cr_assert_eq(o.story.stage, CHECK_AT_CONNECT);
	cr_assert(isnan(o.story.dns_ms), "nobody was asked");
	cr_assert(o.story.connect_ms >= 0 && isnan(o.story.proxy_ms) && isnan(o.story.starttls_ms));
	end(&o);
	peer_end(&p);
	cr_assert_eq(open_descriptors(), before);
}

Test(probe_line, a_name_is_looked_up)
{
	struct outcome o = { .frees = true };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	run(&o, peer_target(&p, "slow.fake.test"));
	must_reach(&o);
	cr_assert_geq(o.story.dns_ms, 50);
	cr_assert(o.story.connect_ms >= 0 && o.story.connect_ms < o.story.dns_ms);
	cr_assert_str_eq(fake_dns.name, "slow.fake.test");
	end(&o);
	peer_end(&p);
}

Test(probe_line, the_family_that_is_asked_for)
{
	struct outcome o = { .o = { .family = RESOLVE_V4 } }, none = { .o = { .family = RESOLVE_V6 } };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	run(&o, peer_target(&p, "6b4a.fake.test"));
	must_reach(&o);
	cr_assert_eq(fake_dns.family, AF_INET);
	cr_assert_eq(o.story.family, 4);
	end(&o);
	peer_end(&p);
	run(&none, "127.0.0.1:1");
	must_fail(&none, CHECK_AT_DNS, ERR_RESOLVE, "127.0.0.1");
	end(&none);
}

Test(probe_line, unix_socket)
{
	struct outcome o = { .frees = false };
	struct peer p;
	struct pki dir;
	char path[200], target[220];

	pki_make(&dir);
	snprintf(path, sizeof(path), "%s", pki_path(&dir, "sock"));
	snprintf(target, sizeof(target), "unix:%s", path);
	peer_start_unix(&p, path, peer_be_silent, NULL);
	run(&o, target);
	must_reach(&o);
	cr_assert_str_eq(o.story.address, target);
	cr_assert_eq(o.story.family, 0);
	cr_assert(isnan(o.story.dns_ms) && o.story.connect_ms >= 0);
	end(&o);
	peer_end(&p);
	pki_free(&dir);
}

Test(probe_line, no_unix_socket_behind_a_proxy)
{
	struct outcome o = { .called = 0 };
	struct peer p;
	struct err e;

	peer_start(&p, peer_be_silent, NULL);
	use_proxy(&o, "http", &p);
	o.loop = must_loop();
	parse(&o.target, "unix:/nowhere");
	cr_assert_null(line_start(o.loop, &o.target, &o.o, note, &o, &e));
	cr_assert_eq(e.kind, ERR_CONFIG);
	run_for(o.loop, 1);
	cr_assert_eq(o.called, 0);
	loop_free(o.loop);
	peer_end(&p);
}

/* --- --resolve and one address --------------------------------------------------------------- */

Test(probe_line, resolve_with_a_port)
{
	struct outcome o = { .frees = false };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	parse(&o.resolve, peer_target(&p, "127.0.0.1"));
	o.o.resolve = &o.resolve;
	run(&o, "held.fake.test:1");
	must_reach(&o);
	cr_assert_eq(port_of(o.fd), p.port);
	cr_assert_eq(fake_dns.asked, 0, "the target's name is not looked up");
	end(&o);
	peer_end(&p);
}

/* Then the target's own counts, not the one that connect implies. */
Test(probe_line, resolve_without_a_port)
{
	struct outcome o = { .frees = false };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	parse(&o.resolve, "127.0.0.1");
	o.o.resolve = &o.resolve;
	run(&o, peer_target(&p, "held.fake.test"));
	must_reach(&o);
	cr_assert_eq(port_of(o.fd), p.port);
	cr_assert_eq(o.resolve.port, 443, "the caller's is as it was");
	end(&o);
	peer_end(&p);
}

Test(probe_line, resolve_to_a_name)
{
	struct outcome o = { .frees = false };
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	parse(&o.resolve, "4a.fake.test");
	o.o.resolve = &o.resolve;
	run(&o, peer_target(&p, "held.fake.test"));
	must_reach(&o);
	cr_assert_str_eq(fake_dns.name, "4a.fake.test");
	cr_assert(o.story.dns_ms >= 0);
	end(&o);
	peer_end(&p);
}

static struct sockaddr_in loopback(unsigned port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return in;
}

Test(probe_line, at_one_address)
{
	struct outcome o = { .frees = false };
	struct sockaddr_in in;
	struct peer p;

	peer_start(&p, peer_be_silent, NULL);
	in = loopback(p.port);
	o.o.at = (struct sockaddr *)&in;
	o.o.at_len = sizeof(in);
	run(&o, "held.fake.test:1");
	must_reach(&o);
	cr_assert_eq(port_of(o.fd), p.port);
	cr_assert_eq(fake_dns.asked, 0);
	cr_assert(isnan(o.story.dns_ms));
	end(&o);
	peer_end(&p);
}

/* A proxy is sent to that address, and connected to itself. */
Test(probe_line, at_one_address_behind_a_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("CONNECT 192.0.2.7:5671 HTTP/1.1\r\n", ""),
		PEER_LINE("Host: 192.0.2.7:5671\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
		{ .hears = NULL },
	};
	struct outcome o = { .frees = false };
	struct sockaddr_in in = loopback(5671);
	struct peer p;

	in.sin_addr.s_addr = htonl(0xc0000207);
	peer_start(&p, peer_talk, (void *)script);
	use_proxy(&o, "http", &p);
	o.o.at = (struct sockaddr *)&in;
	o.o.at_len = sizeof(in);
	run(&o, "held.fake.test:5671");
	must_reach(&o);
	cr_assert_eq(fake_dns.asked, 0);
	end(&o);
	peer_end(&p);
}

/* --- STARTTLS ---------------------------------------------------------------------------------- */

/* What the server says next is left in the socket. */
Test(probe_line, starttls)
{
	static const struct peer_line script[] = {
		PEER_LINE("", SMTP_GREETING),
		PEER_LINE(SMTP_EHLO, SMTP_OFFER),
		PEER_LINE(SMTP_ASK, SMTP_GO),
		PEER_LINE("hello", "answer"),
		{ .hears = NULL },
	};
	struct outcome o = { .o = { .starttls = "smtp" } };
	char bytes[16];
	struct peer p;

	peer_start(&p, peer_talk, (void *)script);
	run(&o, peer_target(&p, "127.0.0.1"));
	must_reach(&o);
	cr_assert_eq(o.story.stage, CHECK_AT_STARTTLS);
	cr_assert(o.story.starttls_ms >= 0 && isnan(o.story.proxy_ms));
	cr_assert_eq(fcntl(o.fd, F_SETFL, 0), 0);
	cr_assert_eq(send(o.fd, "hello", 5, 0), 5);
	cr_assert_eq(recv(o.fd, bytes, 6, MSG_WAITALL), 6);
	cr_assert_eq(memcmp(bytes, "answer", 6), 0);
	end(&o);
	peer_end(&p);
}

/* --- who the server is, to a protocol that says so ------------------------------------------- */

static void hear_host(struct peer *p, int fd)
{
	char text[1024];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	*(bool *)p->arg = strstr(text, "to='4a.fake.test'") != NULL;
}

static void must_say_host(struct outcome *o, struct peer *p, const bool *said)
{
	o->o.starttls = "xmpp";
	run(o, peer_target(p, "4a.fake.test"));
	must_fail(o, CHECK_AT_STARTTLS, ERR_IO, "xmpp");
	end(o);
	peer_end(p);
	cr_assert(*said);
}

Test(probe_line, host_that_was_asked_for)
{
	struct outcome o = { .frees = false };
	bool said = false;
	struct peer p;

	peer_start(&p, hear_host, &said);
	must_say_host(&o, &p, &said);
}

/* Connecting elsewhere does not make it another server. */
Test(probe_line, host_with_resolve)
{
	struct outcome o = { .frees = false };
	bool said = false;
	struct peer p;

	peer_start(&p, hear_host, &said);
	parse(&o.resolve, peer_target(&p, "127.0.0.1"));
	o.o.resolve = &o.resolve;
	must_say_host(&o, &p, &said);
}

Test(probe_line, host_at_one_address)
{
	struct outcome o = { .frees = false };
	struct sockaddr_in in;
	bool said = false;
	struct peer p;

	peer_start(&p, hear_host, &said);
	in = loopback(p.port);
	o.o.at = (struct sockaddr *)&in;
	o.o.at_len = sizeof(in);
	must_say_host(&o, &p, &said);
}

Test(probe_line, host_of_the_options)
{
	struct outcome o = { .o = { .starttls = "xmpp", .host = "4a.fake.test" } };
	bool said = false;
	struct peer p;

	peer_start(&p, hear_host, &said);
	run(&o, peer_target(&p, "127.0.0.1"));
	end(&o);
	peer_end(&p);
	cr_assert(said);
}

/* --- behind a proxy ------------------------------------------------------------------------------ */

/* What stands behind the proxy's answer in the same segment is the server's greeting. */
#define SMTP_REST \
	PEER_LINE(SMTP_EHLO, SMTP_OFFER), PEER_LINE(SMTP_ASK, SMTP_GO), { .hears = NULL }

static void go_over_behind(const char *scheme, const char *host, const struct peer_line *script)
{
	struct outcome o = { .o = { .starttls = "smtp" } };
	char target[64];
	struct peer p;

	peer_start(&p, peer_talk, (void *)script);
	use_proxy(&o, scheme, &p);
	snprintf(target, sizeof(target), "%s:258", host);
	run(&o, target);
	must_reach(&o);
	cr_assert_eq(port_of(o.fd), p.port);
	cr_assert_str_eq(o.story.address, peer_target(&p, "127.0.0.1"), "the proxy's");
	cr_assert_eq(o.story.stage, CHECK_AT_STARTTLS);
	cr_assert(o.story.connect_ms >= 0 && o.story.proxy_ms >= 0 && o.story.starttls_ms >= 0);
	end(&o);
	peer_end(&p);
}

Test(probe_line, http_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("CONNECT held.fake.test:258 HTTP/1.1\r\nHost: held.fake.test:258\r\n\r\n",
			"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n" SMTP_GREETING),
		SMTP_REST
	};

	go_over_behind("http", "held.fake.test", script);
	cr_assert_eq(fake_dns.asked, 0, "the proxy resolves");
}

#define SOCKS_REPLY "\5\0\0\1\0\0\0\0\0\0"

Test(probe_line, socks5_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0\1\177\0\0\1\1\2", SOCKS_REPLY SMTP_GREETING),
		SMTP_REST
	};

	go_over_behind("socks5", "4a.fake.test", script);
	cr_assert_eq(fake_dns.asked, 1, "we do");
}

Test(probe_line, socks5h_proxy)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0\3\16held.fake.test\1\2", SOCKS_REPLY SMTP_GREETING),
		SMTP_REST
	};

	go_over_behind("socks5h", "held.fake.test", script);
	cr_assert_eq(fake_dns.asked, 0, "the proxy resolves");
}

Test(probe_line, proxy_and_tls_at_once)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0\1\300\0\2\1\1\273", SOCKS_REPLY),
		{ .hears = NULL },
	};
	struct outcome o = { .frees = true };
	struct peer p;

	peer_start(&p, peer_talk, (void *)script);
	use_proxy(&o, "socks5", &p);
	run(&o, "192.0.2.1");
	must_reach(&o);
	cr_assert_eq(o.story.stage, CHECK_AT_PROXY);
	cr_assert(o.story.proxy_ms >= 0 && isnan(o.story.starttls_ms));
	end(&o);
	peer_end(&p);
}

/* TLS is the client's to begin: nobody may speak before. */
Test(probe_line, bytes_behind_the_proxys_answer)
{
	static const struct peer_line script[] = {
		PEER_LINE("\5\1\0", "\5\0"),
		PEER_LINE("\5\1\0\1\300\0\2\1\1\273", SOCKS_REPLY "abc"),
		{ .hears = NULL },
	};
	struct outcome o = { .fd = -1 };
	const uint8_t *rest;
	struct peer p;
	size_t n;

	peer_start(&p, peer_talk, (void *)script);
	use_proxy(&o, "socks5", &p);
	run(&o, "192.0.2.1");
	must_reach(&o);
	rest = line_rest(o.line, &n);
	cr_assert(n == 3 && memcmp(rest, "abc", 3) == 0);
	end(&o);
	peer_end(&p);
}
