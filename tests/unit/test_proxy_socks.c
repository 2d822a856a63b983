/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/proxy_talk.h"

TestSuite(proxy_socks, .timeout = TEST_TIMEOUT);

/* --- SOCKS5 --------------------------------------------------------------------- */

#define HELLO "\x05\x01\x00"
#define HELLO_LOGIN "\x05\x02\x00\x02"
#define LOGIN "\x01\x01u\x06secret"
#define TO_V4 "\x05\x01\x00\x01\xc0\x00\x02\x01\x01\xbb"
#define TO_V6 "\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb"
#define TO_NAME "\x05\x01\x00\x03\x0a" "db.example" "\x15\x38"

#define FINE_V4 "\x05\x00\x00\x01\x7f\x00\x00\x01\x04\x38"
#define FINE_V6 "\x05\x00\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x04\x38"
#define FINE_NAME "\x05\x00\x00\x03\x05" "p.lan" "\x04\x38"
#define FINE_NO_NAME "\x05\x00\x00\x03\x00\x04\x38"

static const struct {
	const char *url, *target;
	const char *sent;
	size_t sent_n;
	const char *heard;
	size_t heard_n;
} socks[] = {
	{ "socks5://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00" FINE_V4) },
	{ "socks5://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00" FINE_V6) },
	{ "socks5://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00" FINE_NAME) },
	{ "socks5://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00" FINE_NO_NAME) },
	{ "socks5://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00\x05\x00\xff\x01\0\0\0\0\0\0") },
	{ "socks5://p", "[2001:db8::1]:443", BYTES(HELLO TO_V6), BYTES("\x05\x00" FINE_V4) },
	{ "socks5h://p", "[2001:db8::1]:443", BYTES(HELLO TO_V6), BYTES("\x05\x00" FINE_V4) },
	{ "socks5h://p", "192.0.2.1:443", BYTES(HELLO TO_V4), BYTES("\x05\x00" FINE_V4) },
	{ "socks5h://p", "db.example.:5432", BYTES(HELLO TO_NAME), BYTES("\x05\x00" FINE_V4) },
	{ "socks5h://u:secret@p", "db.example:5432", BYTES(HELLO_LOGIN LOGIN TO_NAME), BYTES("\x05\x02\x01\x00" FINE_V4) },
	{ "socks5h://u:secret@p", "db.example:5432", BYTES(HELLO_LOGIN LOGIN TO_NAME), BYTES("\x05\x02\x05\x00" FINE_V4) },
	{ "socks5h://u:secret@p", "db.example:5432", BYTES(HELLO_LOGIN TO_NAME), BYTES("\x05\x00" FINE_V6) },
	{ "socks5://u@p", "192.0.2.1:443", BYTES(HELLO_LOGIN "\x01\x01u\x00" TO_V4), BYTES("\x05\x02\x01\x00" FINE_V4) },
	{ "socks5://p", "443", BYTES(HELLO "\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb"), BYTES("\x05\x00" FINE_V4) },
	{ "socks5h://p", "443", BYTES(HELLO "\x05\x01\x00\x03\x09localhost\x01\xbb"), BYTES("\x05\x00" FINE_V4) },
};

Test(proxy_socks, tunnels)
{
	for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
		struct outcome o = talk_all_ways(socks[i].url, socks[i].target, socks[i].heard, socks[i].heard_n);
		char more[600];

		cr_assert_eq(o.status, PARLEY_DONE, "%zu: %s", i, o.e.msg);
		cr_assert_eq(o.used, socks[i].heard_n);
		must_send(&o, socks[i].sent, socks[i].sent_n);
		end_at_each_byte(socks[i].url, socks[i].target, socks[i].heard, socks[i].heard_n, socks[i].heard_n);
		memcpy(more, socks[i].heard, socks[i].heard_n);
		memcpy(more + socks[i].heard_n, "220 hello\r\n", 11);
		o = talk_all_ways(socks[i].url, socks[i].target, more, socks[i].heard_n + 11);
		cr_assert_eq(o.status, PARLEY_DONE);
		cr_assert_eq(o.used, socks[i].heard_n);
	}
}

/* Nothing is sent before the proxy has agreed to what came before it. */
Test(proxy_socks, in_turns)
{
	struct parley *c = must_start("socks5h://u:secret@p", "db.example:5432");
	struct outcome o = { .status = PARLEY_MORE };

	give(c, NULL, 0, 0, &o);
	must_send(&o, BYTES(HELLO_LOGIN));
	o.out_n = 0;
	give(c, (const uint8_t *)"\x05\x02", 0, 2, &o);
	must_send(&o, BYTES(LOGIN));
	o.out_n = 0;
	give(c, (const uint8_t *)"\x01\x00", 0, 2, &o);
	must_send(&o, BYTES(TO_NAME));
	parley_free(c);
}

static const struct {
	const char *url;
	const char *heard;
	size_t heard_n;
	const char *message;
} socks_refusals[] = {
	{ "socks5h://p", BYTES("\x04"), "SOCKS5 greeting at the proxy p:1080: the proxy does not speak SOCKS5" },
	{ "socks5h://p", BYTES("\x00\x5b"), "does not speak SOCKS5" },
	{ "socks5h://p", BYTES("HTTP/1.1 400 Bad Request\r\n"), "it looks like an HTTP proxy: http://" },
	{ "socks5h://p", BYTES("\x05\xff"), "without a login: give user:password@ in --proxy" },
	{ "socks5h://u:secret@p", BYTES("\x05\xff"), "takes neither" },
	{ "socks5h://p", BYTES("\x05\x02"), "not offered" },
	{ "socks5h://u:secret@p", BYTES("\x05\x01"), "not offered" },
	{ "socks5h://u:secret@p", BYTES("\x05\x02\x01\x01"),
	  "SOCKS5 login at the proxy p:1080: the proxy does not accept the user and password in --proxy" },
	{ "socks5h://u:secret@p", BYTES("\x05\x02\x01\xff"), "does not accept" },
	{ "socks5h://u:secret@p", BYTES("\x05\x02H\x00"), "does not speak SOCKS5" },
	{ "socks5h://p", BYTES("\x05\x00\x04"), "does not speak SOCKS5" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x00\x00\x02"), "unknown kind of address" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x00\x00\x00\x01\x01"), "unknown kind of address" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x01"), "general failure" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x02\x00\x01"), "not allowed by its rules" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x03\x00\x01\0\0\0\0\0\0"), "network unreachable" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x04\x00\x01\0\0\0\0\0\0"),
	  "SOCKS5 connect to db.example:5432 at the proxy p:1080: the proxy says 4, host unreachable" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x05\x00\x01\0\0\0\0\0\0"), "connection refused" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x06\x00\x01\0\0\0\0\0\0"), "TTL expired" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x07\x00\x01\0\0\0\0\0\0"), "does not know this command" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x08\x00\x01\0\0\0\0\0\0"), "does not know this kind of address" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\x09\x00\x01\0\0\0\0\0\0"), "9, a code that" },
	{ "socks5h://p", BYTES("\x05\x00" "\x05\xff\x00\x01\0\0\0\0\0\0"), "255, a code that" },
};

Test(proxy_socks, refusals)
{
	for (size_t i = 0; i < sizeof(socks_refusals) / sizeof(socks_refusals[0]); i++) {
		const char *heard = socks_refusals[i].heard;
		struct outcome o = talk_all_ways(socks_refusals[i].url, "db.example:5432", heard, socks_refusals[i].heard_n);

		cr_assert_eq(o.status, PARLEY_FAILED, "%zu", i);
		cr_expect_eq(o.e.kind, ERR_CONNECT);
		cr_expect(strstr(o.e.msg, socks_refusals[i].message), "%zu: %s", i, o.e.msg);
		end_at_each_byte(socks_refusals[i].url, "db.example:5432", heard, socks_refusals[i].heard_n,
			socks_refusals[i].heard_n + 1);
	}
}

/* --- what is not begun ------------------------------------------------------------ */

static void must_refuse(const char *url, const struct addr *target, const char *reason)
{
	struct proxy p;
	struct err e = { 0 };

	cr_assert_eq(proxy_parse(url, &p, &e), 0);
	cr_assert_null(proxy_new(&p, target, &e));
	cr_expect_eq(e.kind, ERR_CONFIG);
	cr_expect(strstr(e.msg, reason), "%s", e.msg);
}

static struct addr host(const char *name)
{
	struct addr a = { .kind = ADDR_TCP, .port = 443 };

	strcpy(a.host, name);
	return a;
}

Test(proxy_socks, targets_that_are_refused)
{
	static const char *const urls[] = { "http://p", "socks5h://p" };
	struct addr a;
	struct err e;

	for (size_t i = 0; i < 2; i++) {
		a = host("a\r\nX: y");
		must_refuse(urls[i], &a, "not a host");
		a = host("a b");
		must_refuse(urls[i], &a, "not a host");
		a = host("");
		must_refuse(urls[i], &a, "not a host");
		a = host("h");
		a.port = 0;
		must_refuse(urls[i], &a, "with a port");
		memset(a.host, 'a', sizeof(a.host));
		a.port = 443;
		must_refuse(urls[i], &a, "longer than 255");
		cr_assert_eq(addr_parse(&a, "unix:/x", ADDR_CONNECT, &e), 0);
		must_refuse(urls[i], &a, "with a port");
		cr_assert_eq(addr_parse(&a, "[fe80::1%eth0]:1", ADDR_CONNECT, &e), 0);
		must_refuse(urls[i], &a, "scope");
	}
	a = host("name.example");
	must_refuse("socks5://p", &a, "socks5h://");
}

Test(proxy_socks, logins_that_are_refused)
{
	struct addr a = host("h");
	struct proxy p;
	struct err e;

	cr_assert_eq(proxy_parse("socks5h://p", &p, &e), 0);
	strcpy(p.user, "u\r\n");
	cr_assert_null(proxy_new(&p, &a, &e));
	strcpy(p.user, "");
	strcpy(p.password, "secret");
	cr_assert_null(proxy_new(&p, &a, &e));
	cr_expect(strstr(e.msg, "without a user"), "%s", e.msg);
	strcpy(p.password, "a\n");
	p.kind = PROXY_HTTP;
	cr_assert_null(proxy_new(&p, &a, &e));
	memset(p.user, 'u', sizeof(p.user));
	strcpy(p.password, "");
	cr_assert_null(proxy_new(&p, &a, &e));
}

Test(proxy_socks, a_name_of_255_bytes)
{
	struct addr a = { .kind = ADDR_TCP, .port = 443 };
	struct proxy p;
	struct err e;
	struct parley *c;
	struct outcome o = { .status = PARLEY_MORE };

	memset(a.host, 'a', 255);
	cr_assert_eq(proxy_parse("socks5h://p", &p, &e), 0);
	c = proxy_new(&p, &a, &e);
	cr_assert_not_null(c);
	give(c, (const uint8_t *)"\x05\x00", 0, 2, &o);
	cr_assert_eq(o.out_n, 3 + 5 + 255 + 2);
	cr_assert_eq(o.out[3 + 4], 255);
	cr_assert_eq(memcmp(o.out + 3 + 5 + 255, "\x01\xbb", 2), 0);
	parley_free(c);
}
