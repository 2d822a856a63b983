/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "lib/base/utf8.h"
#include "lib/net/addr.h"
#include "tests/unit/timeout.h"

TestSuite(addr, .timeout = TEST_TIMEOUT);

#define L 1u /* listen */
#define T 2u /* target */
#define C 4u /* connect */
#define ALL (L | T | C)

static const enum addr_use uses[] = { ADDR_LISTEN, ADDR_TARGET, ADDR_CONNECT };

#define TEN "aaaaaaaaaa"
#define LABEL_63 TEN TEN TEN TEN TEN TEN "aaa"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." TEN TEN TEN TEN TEN TEN "a"
#define PATH_107 "/" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "aaaaaa"

/* --- what is an address ---------------------------------------------------- */

enum { TLS = 1, LOOPBACK = 2, ANY = 4, NUMERIC = 8, ABSOLUTE = 16 };

static const struct {
	const char *text;
	unsigned use;
	enum addr_kind kind;
	unsigned flags;
	const char *host; /* or path */
	unsigned port;
	const char *printed; /* NULL: as typed */
} good[] = {
	{ "8443", ALL, ADDR_TCP, LOOPBACK, "", 8443, NULL },
	{ "0", L, ADDR_TCP, LOOPBACK, "", 0, NULL },
	{ "65535", ALL, ADDR_TCP, LOOPBACK, "", 65535, NULL },
	{ "0443", ALL, ADDR_TCP, LOOPBACK, "", 443, "443" },
	{ ":8443", L, ADDR_TCP, ANY, "", 8443, NULL },
	{ ":0", L, ADDR_TCP, ANY, "", 0, NULL },
	{ ":8443", T | C, ADDR_TCP, LOOPBACK, "", 8443, "8443" },
	{ ":https", L, ADDR_TCP, ANY, "", 443, ":443" },
	{ "tls:8443", ALL, ADDR_TCP, TLS | LOOPBACK, "", 8443, "8443" },
	{ "TLS:db:5432", ALL, ADDR_TCP, TLS, "db", 5432, "db:5432" },
	{ "db.example:5432", ALL, ADDR_TCP, 0, "db.example", 5432, NULL },
	{ "DB.Example:5432", ALL, ADDR_TCP, 0, "db.example", 5432, "db.example:5432" },
	{ "db.example.:5432", ALL, ADDR_TCP, ABSOLUTE, "db.example", 5432, NULL },
	{ "my_service-1:80", ALL, ADDR_TCP, 0, "my_service-1", 80, NULL },
	{ "0xg.example:80", ALL, ADDR_TCP, 0, "0xg.example", 80, NULL },
	{ "1.2.3.4.example:80", ALL, ADDR_TCP, 0, "1.2.3.4.example", 80, NULL },
	{ "localhost:https", ALL, ADDR_TCP, 0, "localhost", 443, "localhost:443" },
	{ "host:0", L, ADDR_TCP, 0, "host", 0, NULL },
	{ "1.2.3.4:80", ALL, ADDR_TCP, NUMERIC, "1.2.3.4", 80, NULL },
	{ "1.2.3.4.:80", ALL, ADDR_TCP, NUMERIC, "1.2.3.4", 80, "1.2.3.4:80" },
	{ "0.0.0.0:80", ALL, ADDR_TCP, NUMERIC, "0.0.0.0", 80, NULL },
	{ "[::1]:443", ALL, ADDR_TCP, NUMERIC, "::1", 443, NULL },
	{ "[::]:443", ALL, ADDR_TCP, NUMERIC, "::", 443, NULL },
	{ "[0:0:0:0:0:0:0:1]:443", ALL, ADDR_TCP, NUMERIC, "::1", 443, "[::1]:443" },
	{ "[2001:DB8::A]:imaps", ALL, ADDR_TCP, NUMERIC, "2001:db8::a", 993, "[2001:db8::a]:993" },
	{ "[fe80::1%eth0]:443", ALL, ADDR_TCP, NUMERIC, "fe80::1%eth0", 443, NULL },
	{ "[::ffff:1.2.3.4]:1", ALL, ADDR_TCP, NUMERIC, "::ffff:1.2.3.4", 1, NULL },
	{ "bücher.example:443", ALL, ADDR_TCP, 0, "xn--bcher-kva.example", 443, "xn--bcher-kva.example:443" },
	{ "BÜCHER.example.:443", ALL, ADDR_TCP, ABSOLUTE, "xn--bcher-kva.example", 443, "xn--bcher-kva.example.:443" },
	{ "faß.example:443", ALL, ADDR_TCP, 0, "xn--fa-hia.example", 443, "xn--fa-hia.example:443" },
	{ "例え。テスト:443", ALL, ADDR_TCP, 0, "xn--r8jz45g.xn--zckzah", 443, "xn--r8jz45g.xn--zckzah:443" },
	{ "１２７.0.0.1:443", ALL, ADDR_TCP, NUMERIC, "127.0.0.1", 443, "127.0.0.1:443" },
	{ LABEL_63 ":1", ALL, ADDR_TCP, 0, LABEL_63, 1, NULL },
	{ NAME_253 ":1", ALL, ADDR_TCP, 0, NAME_253, 1, NULL },
	{ NAME_253 ".:1", ALL, ADDR_TCP, ABSOLUTE, NAME_253, 1, NULL },
	{ "host", C, ADDR_TCP, 0, "host", 443, "host:443" },
	{ "host.example.", C, ADDR_TCP, ABSOLUTE, "host.example", 443, "host.example.:443" },
	{ "1.2.3.4", C, ADDR_TCP, NUMERIC, "1.2.3.4", 443, "1.2.3.4:443" },
	{ "[::1]", C, ADDR_TCP, NUMERIC, "::1", 443, "[::1]:443" },
	{ "tls:host", C, ADDR_TCP, TLS, "host", 443, "host:443" },
	{ "https://host.example", C, ADDR_TCP, TLS, "host.example", 443, "host.example:443" },
	{ "HTTPS://Host.Example:8443/a:b@c?d#e", C, ADDR_TCP, TLS, "host.example", 8443, "host.example:8443" },
	{ "https://host?q=http://x:1", C, ADDR_TCP, TLS, "host", 443, "host:443" },
	{ "https://[fe80::1%25eth0]:8443/", C, ADDR_TCP, TLS | NUMERIC, "fe80::1%eth0", 8443, "[fe80::1%eth0]:8443" },
	{ "https://[::1]/", C, ADDR_TCP, TLS | NUMERIC, "::1", 443, "[::1]:443" },
	{ "unix.", C, ADDR_TCP, ABSOLUTE, "unix", 443, "unix.:443" },
	{ "tls:tls.:443", ALL, ADDR_TCP, TLS | ABSOLUTE, "tls", 443, "tls.:443" },
	{ "unix:/run/x.sock", ALL, ADDR_UNIX, 0, "/run/x.sock", 0, NULL },
	{ "unix:x:1 y", ALL, ADDR_UNIX, 0, "x:1 y", 0, NULL },
	{ "unix:@name", ALL, ADDR_UNIX, 0, "@name", 0, NULL },
	{ "tls:unix:/x", ALL, ADDR_UNIX, TLS, "/x", 0, "unix:/x" },
	{ "unix:" PATH_107, ALL, ADDR_UNIX, 0, PATH_107, 0, NULL },
	{ "systemd:web", L, ADDR_SYSTEMD, 0, "web", 0, NULL },
	{ "tls:systemd:a.socket", L, ADDR_SYSTEMD, TLS, "a.socket", 0, "systemd:a.socket" },
	{ "-", ALL, ADDR_STDIO, 0, "", 0, NULL },
	{ "tls:-", ALL, ADDR_STDIO, TLS, "", 0, "-" },
};

#define N_GOOD (sizeof(good) / sizeof(good[0]))

static unsigned flags_of(const struct addr *a)
{
	return a->tls * TLS | a->loopback * LOOPBACK | a->any * ANY | a->numeric * NUMERIC | a->absolute * ABSOLUTE;
}

Test(addr, what_is_an_address)
{
	for (size_t i = 0; i < N_GOOD; i++) {
		for (unsigned u = 0; u < 3; u++) {
			const char *text = good[i].text;
			struct err e = { 0 };
			struct addr a;

			if (!(good[i].use & 1u << u))
				continue;
			cr_assert_eq(addr_parse(&a, text, uses[u], &e), 0, "%s: %s", text, e.msg);
			cr_assert_eq(a.kind, good[i].kind, "%s", text);
			cr_assert_eq(flags_of(&a), good[i].flags, "%s: %x", text, flags_of(&a));
			cr_assert_eq(a.port, good[i].port, "%s: %u", text, a.port);
			cr_assert_str_eq(a.kind == ADDR_TCP ? a.host : a.path, good[i].host, "%s", text);
		}
	}
}

/* What is printed can be typed: it gives the same address, but for "tls:" and for a port
 * that was not typed before. */
Test(addr, printed_as_typed)
{
	char text[ADDR_TEXT_SIZE], again[ADDR_TEXT_SIZE];
	struct addr a, b;
	struct err e;

	for (size_t i = 0; i < N_GOOD; i++) {
		for (unsigned u = 0; u < 3; u++) {
			if (!(good[i].use & 1u << u))
				continue;
			cr_assert_eq(addr_parse(&a, good[i].text, uses[u], &e), 0);
			cr_assert_eq(addr_format(&a, text), text);
			cr_assert_str_eq(text, good[i].printed != NULL ? good[i].printed : good[i].text);
			cr_assert_eq(addr_parse(&b, text, uses[u], &e), 0, "%s: %s", text, e.msg);
			cr_assert_str_eq(addr_format(&b, again), text);
			b.tls = a.tls;
			b.port_implied = a.port_implied;
			cr_assert_eq(memcmp(&a, &b, sizeof(a)), 0, "%s", text);
		}
	}
}

Test(addr, sni)
{
	struct addr a;
	struct err e;

	for (size_t i = 0; i < N_GOOD; i++) {
		bool name = good[i].kind == ADDR_TCP && !(good[i].flags & NUMERIC) && good[i].host[0] != '\0';

		for (unsigned u = 0; u < 3; u++) {
			if (!(good[i].use & 1u << u))
				continue;
			cr_assert_eq(addr_parse(&a, good[i].text, uses[u], &e), 0);
			cr_assert_eq(addr_sni(&a), name ? a.host : NULL, "%s", good[i].text);
		}
	}
}

/* --- what is not ----------------------------------------------------------- */

static const struct {
	const char *text;
	unsigned use;
	const char *says; /* in the message */
} bad[] = {
	{ "", ALL, "empty" },
	{ "tls:", ALL, "empty" },
	{ "tls:tls:1", ALL, "twice" },
	{ ":", ALL, "no port" },
	{ "host:", ALL, "no port" },
	{ "host", L | T, "expected PORT" },
	{ "https", L | T, "no port" },
	{ "1.2.3.4", L | T, "no port" },
	{ "host:99999", ALL, "65535" },
	{ "host:65536", ALL, "65535" },
	{ "99999999999999999999999", ALL, "65535" },
	{ "host:0", T | C, "port 0" },
	{ "0", T | C, "port 0" },
	{ ":0", T | C, "port 0" },
	{ "host:+80", ALL, "neither a port nor a known service" },
	{ "host: 80", ALL, "neither a port" },
	{ "host:80 ", ALL, "neither a port" },
	{ "host:-1", ALL, "neither a port" },
	{ "host:0x50", ALL, "neither a port" },
	{ "host:8o", ALL, "neither a port" },
	{ "host:no-such-service", ALL, "no-such-service" },
	{ "host:/", ALL, "neither a port" },
	{ "[::1]", L | T, "no port" },
	{ "[::1]x:1", ALL, "may follow the ']'" },
	{ "[::1]443", ALL, "may follow the ']'" },
	{ "[::1:443", ALL, "no ']'" },
	{ "[]:443", ALL, "not an IPv6 address" },
	{ "[1.2.3.4]:5", ALL, "not an IPv6 address" },
	{ "[host]:5", ALL, "not an IPv6 address" },
	{ "[::1%]:5", ALL, "scope" },
	{ "[::1%a/b]:5", ALL, "scope" },
	{ "[fe80::1%an-interface-name-that-is-long]:5", ALL, "scope" },
	{ "::1:80", ALL, "needs brackets: [::1:80]:PORT" },
	{ "::1", ALL, "needs brackets" },
	{ "::", ALL, "needs brackets" },
	{ "2001:db8::1", ALL, "needs brackets" },
	{ "fe80::1%eth0:80", ALL, "needs brackets" },
	{ "ssl:host:443", ALL, "more than one colon" },
	{ "host:80:90", ALL, "more than one colon" },
	{ "1.2.3:80", ALL, "not an IPv4 address" },
	{ "127.1:80", ALL, "not an IPv4 address" },
	{ "010.0.0.1:80", ALL, "not an IPv4 address" },
	{ "1.2.3.256:80", ALL, "not an IPv4 address" },
	{ "1.2.3.4.5:80", ALL, "not an IPv4 address" },
	{ "0x7f000001:80", ALL, "not an IPv4 address" },
	{ "2130706433:80", ALL, "not an IPv4 address" },
	{ "host.0x7f.:80", ALL, "not an IPv4 address" },
	{ "１２７.１:80", ALL, "not an IPv4 address" },
	{ LABEL_63 "a:1", ALL, "longer than 63" },
	{ NAME_253 "a:1", ALL, "longer than 253" },
	{ NAME_253 "." NAME_253 "." NAME_253 "." NAME_253 "." NAME_253 ":1", ALL, "longer than 253" },
	{ "a..b:1", ALL, "empty label" },
	{ ".a:1", ALL, "empty label" },
	{ "a..:1", ALL, "empty label" },
	{ ".:1", ALL, "empty label" },
	{ "a.-b:1", ALL, "starts with '-'" },
	{ "-host:1", ALL, "does not start with '-'" },
	{ "--", ALL, "does not start with '-'" },
	{ "-1", ALL, "does not start with '-'" },
	{ " host:1", ALL, "blank" },
	{ "ho st:1", ALL, "blank" },
	{ "ho\tst:1", ALL, "blank" },
	{ "ho\nst:1", ALL, "control character" },
	{ "ho\x1b[2Jst:1", ALL, "control character" },
	{ "ho\x7fst:1", ALL, "control character" },
	{ "a\xff:1", ALL, "international" },
	{ "a\xc2\x9b" "b:1", ALL, "international" },
	{ "a\xe2\x80\xae" "b:1", ALL, "international" },
	{ "user@host:1", ALL, "'@'" },
	{ "host/path:1", ALL, "'/'" },
	{ "*:443", ALL, "\":PORT\"" },
	{ "http://host", ALL, "http:// is not TLS" },
	{ "https://host", L | T, "tls:HOST:PORT" },
	{ "ftp://host", ALL, "URL" },
	{ "https://", C, "no host" },
	{ "https:///path", C, "no host" },
	{ "https://:443/", C, "no host" },
	{ "https://host:/", C, "no port" },
	{ "https://user@host", C, "user name" },
	{ "https://user:pw@host:443/", C, "user name" },
	{ "https://host:99999", C, "65535" },
	{ "unix", C, "written \"unix.\"" },
	{ "TLS", C, "written \"tls.\"" },
	{ "https://systemd:1/", C, "written \"systemd.\"" },
	{ "https://443", C, "not an IPv4 address" },
	{ "https://::1/", C, "needs brackets" },
	{ "unix:", ALL, "no path" },
	{ "unix:@", ALL, "no path" },
	{ "unix:" PATH_107 "a", ALL, "too long" },
	{ "unix:@" PATH_107, ALL, "too long" },
	{ "unix:/a\nb", ALL, "control character" },
	{ "systemd:", L, "no name" },
	{ "systemd:a", T | C, "not be connected to" },
	{ "systemd:a:b", L, "character" },
	{ "systemd:a b", L, "character" },
	{ "systemd:" PATH_107 "a", L, "too long" },
};

#define N_BAD (sizeof(bad) / sizeof(bad[0]))

/* A message is one line without anything a terminal would act on. */
static void check_message(const char *msg)
{
	size_t left = strlen(msg);

	cr_assert_lt(left, sizeof(((struct err *)0)->msg));
	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(msg, left, &cp);

		cr_assert(n > 0 && !utf8_is_control(cp), "%s", msg);
		msg += n;
		left -= n;
	}
}

Test(addr, what_is_not_an_address)
{
	for (size_t i = 0; i < N_BAD; i++) {
		for (unsigned u = 0; u < 3; u++) {
			struct err e = { 0 };
			struct addr a;
			char quoted[32];

			if (!(bad[i].use & 1u << u))
				continue;
			cr_assert_eq(addr_parse(&a, bad[i].text, uses[u], &e), -1, "%s", bad[i].text);
			cr_assert_eq(e.kind, ERR_CONFIG);
			cr_assert_not_null(strstr(e.msg, bad[i].says), "%s: %s", bad[i].text, e.msg);
			check_message(e.msg);
			snprintf(quoted, sizeof(quoted), "\"%.4s", bad[i].text);
			if (strpbrk(quoted, "\t\n\x1b\x7f\xff\xc2\xe2") == NULL)
				cr_assert_not_null(strstr(e.msg, quoted), "quoted: %s", e.msg);
		}
	}
}

/* However long and whatever it is made of: the reason is still there. */
Test(addr, long_texts)
{
	static const char *const pieces[] = { "a", ":", ".", "-", "/", "@", "%", "[", "]", "ü", "\xff", "\n", "0" };
	static const char *const heads[] = { "", "tls:", "unix:", "systemd:", "https://", "[", "a:" };
	static char text[70000];

	for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++) {
		for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
			size_t n = strlen(heads[h]), k = strlen(pieces[p]);

			memcpy(text, heads[h], n);
			for (; n + k < sizeof(text); n += k)
				memcpy(text + n, pieces[p], k);
			text[n] = '\0';
			for (unsigned u = 0; u < 3; u++) {
				struct err e = { 0 };
				struct addr a;

				if (addr_parse(&a, text, uses[u], &e) == 0) /* https://a/// */
					continue;
				check_message(e.msg);
				cr_assert_not_null(strstr(e.msg, "…\": "), "%s", e.msg);
			}
		}
	}
}

/* --- socket addresses ------------------------------------------------------ */

static void printed(const void *sa, size_t len, const char *expected)
{
	char text[ADDR_TEXT_SIZE];

	cr_assert_str_eq(addr_format_sockaddr(sa, (socklen_t)len, text), expected);
}

static void printed_in6(const char *ip, unsigned scope, const char *expected)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_scope_id = scope };

	cr_assert_eq(inet_pton(AF_INET6, ip, &in6.sin6_addr), 1);
	printed(&in6, sizeof(in6), expected);
}

Test(addr, sockaddr)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0x01020304) };
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char scoped[64], full[ADDR_TEXT_SIZE] = "unix:";

	printed(&in, sizeof(in), "1.2.3.4:80");
	printed(&in, sizeof(in) - 1, "unknown");
	printed(&in, 0, "unknown");
	printed_in6("2001:db8::1", 0, "[2001:db8::1]:443");
	printed_in6("::ffff:1.2.3.4", 0, "1.2.3.4:443");
	printed_in6("fe80::1", 4000000000u, "[fe80::1%4000000000]:443");
	if (if_nametoindex("lo") != 0) {
		snprintf(scoped, sizeof(scoped), "[fe80::1%%lo]:443");
		printed_in6("fe80::1", if_nametoindex("lo"), scoped);
	}
	printed(&un, head, "unix:");
	memcpy(un.sun_path, "/x", 3);
	printed(&un, head + 3, "unix:/x");
	printed(&un, sizeof(un), "unix:/x");
	memcpy(un.sun_path, "\0n\0m", 4);
	printed(&un, head + 4, "unix:@n@m");
	memset(un.sun_path, 'a', sizeof(un.sun_path)); /* no NUL anywhere */
	memset(full + 5, 'a', sizeof(un.sun_path));
	printed(&un, sizeof(un), full);
}

Test(addr, unix_sockaddr_prints_as_typed)
{
	static const char *const texts[] = { "unix:/run/x", "unix:x", "unix:@name", "unix:" PATH_107,
		"unix:@" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "aaaaaa" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sockaddr_storage ss;
		char text[ADDR_TEXT_SIZE];
		struct addr a;
		struct err e;
		socklen_t len;

		cr_assert_eq(addr_parse(&a, texts[i], ADDR_LISTEN, &e), 0, "%s", e.msg);
		len = addr_unix_sockaddr(&a, &ss);
		cr_assert_leq(len, sizeof(struct sockaddr_un));
		cr_assert_str_eq(addr_format_sockaddr((struct sockaddr *)&ss, len, text), texts[i]);
	}
}
