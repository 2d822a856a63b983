/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/net/proxy.h"
#include "tests/unit/timeout.h"

TestSuite(proxy_url, .timeout = TEST_TIMEOUT);

#define X16  "xxxxxxxxxxxxxxxx"
#define X256 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16

static const struct {
	const char *url;
	enum proxy_kind kind;
	const char *addr, *user, *password;
} good[] = {
	{ "http://proxy.example", PROXY_HTTP, "proxy.example:8080", "", "" },
	{ "http://proxy.example/", PROXY_HTTP, "proxy.example:8080", "", "" },
	{ "HTTP://Proxy.Example:3128", PROXY_HTTP, "proxy.example:3128", "", "" },
	{ "socks5://10.0.0.1", PROXY_SOCKS5, "10.0.0.1:1080", "", "" },
	{ "socks5h://h:9050", PROXY_SOCKS5H, "h:9050", "", "" },
	{ "socks5://[::1]", PROXY_SOCKS5, "[::1]:1080", "", "" },
	{ "socks5://[0:0::1]:1081/", PROXY_SOCKS5, "[::1]:1081", "", "" },
	{ "http://[fe80::1%25eth0]:1", PROXY_HTTP, "[fe80::1%eth0]:1", "", "" },
	{ "http://b\xc3\xbc"
	  "cher.example:1",
	  PROXY_HTTP, "xn--bcher-kva.example:1", "", "" },
	{ "http://user:secret@h:1", PROXY_HTTP, "h:1", "user", "secret" },
	{ "http://user@h:1", PROXY_HTTP, "h:1", "user", "" },
	{ "http://user:@h", PROXY_HTTP, "h:8080", "user", "" },
	{ "http://:token@h", PROXY_HTTP, "h:8080", "", "token" },
	{ "http://@h:1", PROXY_HTTP, "h:1", "", "" },
	{ "socks5://u:a:b@[::1]:1", PROXY_SOCKS5, "[::1]:1", "u", "a:b" },
	{ "socks5://a%3ab:%2F%3f%23%40%25@h:1", PROXY_SOCKS5, "h:1", "a:b", "/?#@%" },
	{ "socks5://u:p@ss@h:1", PROXY_SOCKS5, "h:1", "u", "p@ss" },
	{ "http://%C3%BC:\xc3\xbc@h:1", PROXY_HTTP, "h:1", "\xc3\xbc", "\xc3\xbc" },
	{ "http://u:" X16 "%20" X16 "@h", PROXY_HTTP, "h:8080", "u", X16 " " X16 },
};

Test(proxy_url, good)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct proxy p;
		struct err e = { 0 };
		char text[ADDR_TEXT_SIZE];

		cr_assert_eq(proxy_parse(good[i].url, &p, &e), 0, "%s: %s", good[i].url, e.msg);
		cr_expect_eq(p.kind, good[i].kind, "%s", good[i].url);
		cr_expect_str_eq(addr_format(&p.addr, text), good[i].addr);
		cr_expect_str_eq(p.user, good[i].user);
		cr_expect_str_eq(p.password, good[i].password);
		cr_expect_eq(p.addr.kind, ADDR_TCP);
		cr_expect_eq(proxy_resolves(&p), good[i].kind != PROXY_SOCKS5);
	}
}

Test(proxy_url, user_and_password_of_255_bytes)
{
	struct proxy p;
	struct err e;
	char url[1200];

	snprintf(url, sizeof(url), "socks5://%.255s:%.255s@h", X256, X256);
	cr_assert_eq(proxy_parse(url, &p, &e), 0);
	cr_expect_eq(strlen(p.user), 255);
	cr_expect_eq(strlen(p.password), 255);
	snprintf(url, sizeof(url), "socks5://%s:x@h", X256);
	cr_assert_eq(proxy_parse(url, &p, &e), -1);
	cr_expect(strstr(e.msg, "the user is longer than 255 bytes"), "%s", e.msg);
	snprintf(url, sizeof(url), "socks5://x:%s@h", X256);
	cr_assert_eq(proxy_parse(url, &p, &e), -1);
	cr_expect(strstr(e.msg, "the password is longer than 255 bytes"), "%s", e.msg);
}

static const struct {
	const char *url, *quoted, *reason;
} refused[] = {
	{ "", "\"\"", "no scheme" },
	{ "proxy:3128", "\"proxy:3128\"", "no scheme; expected http://, socks5:// or socks5h://" },
	{ "htpp://h", "\"htpp://h\"", "did you mean http://?" },
	{ "socks://h", "\"socks://h\"", "did you mean socks5://?" },
	{ "ftp://h", "\"ftp://h\"", "expected http://, socks5:// or socks5h://" },
	{ "https://h", "\"https://h\"", "TLS to the proxy itself" },
	{ "://h", "\"://h\"", "expected http://" },
	{ "http://", "\"http://\"", "no host" },
	{ "http://:80", "\"http://:80\"", "no host" },
	{ "http://u:secret@", "\"http://u:***@\"", "no host" },
	{ "http://u:secret@:80", "\"http://u:***@:80\"", "no host" },
	{ "http://h:", "\"http://h:\"", "no port behind the colon" },
	{ "http://h:0", "\"http://h:0\"", "from 1 to 65535" },
	{ "http://h:65536", "\"http://h:65536\"", "from 1 to 65535" },
	{ "http://h:00000000000080", "\"http://h:00000000000080\"", "from 1 to 65535" },
	{ "http://h:+80", "\"http://h:***\"", "the port is not a number" },
	{ "http://h:80/path", "\"http://h:80/path\"", "a proxy has no path" },
	{ "http://h?q", "\"http://h?q\"", "a proxy has no path" },
	{ "http://::1:80", "\"http://::1:80\"", "needs brackets" },
	{ "http://[::1", "\"http://[::1\"", "no ']'" },
	{ "http://[::1]80", "\"http://[::1]80\"", "only \":PORT\"" },
	{ "http://[::1]:", "\"http://[::1]:\"", "no port behind" },
	{ "http://[host]:80", "\"http://[host]:80\"", "not an IPv6 address" },
	{ "http://[]:80", "\"http://[]:80\"", "not an IPv6 address" },
	{ "http://1.2.3:80", "\"http://1.2.3:80\"", "not an IPv4 address" },
	{ "http://a b:80", "\"http://a b:80\"", "a blank in the host name" },
	{ "http://h\r\nX: y:80", "\"http://h  X:***\"", "colon" },
	{ "http://h\r\n:80", "\"http://h  :80\"", "a control character in the host name" },
	{ "http://u%0d%0aX:secret@h", "\"http://u%0d%0aX:***@h\"", "a control character in the user" },
	{ "http://u:secret%0a@h", "\"http://u:***@h\"", "a control character in the password" },
	{ "http://u\r\n:secret@h", "\"http://u  :***@h\"", "a control character in the user" },
	{ "socks5://u%00:secret@h", "\"socks5://u%00:***@h\"", "a control character in the user" },
	{ "socks5://u:secret%7f@h", "\"socks5://u:***@h\"", "a control character in the password" },
	{ "http://u:secret%@h", "\"http://u:***@h\"", "a '%' in the password" },
	{ "http://u:secret%4@h", "\"http://u:***@h\"", "a '%' in the password" },
	{ "http://u%zz:secret@h", "\"http://u%zz:***@h\"", "a '%' in the user" },
	{ "http://a%3Ab:secret@h", "\"http://a%3Ab:***@h\"", "cannot have a colon" },
	{ "socks5://:secret@h", "\"socks5://:***@h\"", "a password without a user" },
	/* whatever is broken, the password is not shown */
	{ "http://u:sec/ret@h:1", "\"http://u:***@h:1\"", "is written %2F" },
	{ "http://u:sec#ret@h:1", "\"http://u:***@h:1\"", "%23" },
	{ "http://u:sec?ret@h:1", "\"http://u:***@h:1\"", "%3F" },
	{ "u:secret@h:1", "\"u:***@h:1\"", "no scheme" },
	{ "http:u:secret@h:1", "\"http:***@h:1\"", "no scheme" },
	{ "http:/u:secret@h:1", "\"http:***@h:1\"", "no scheme" },
	{ "htp://u:secret@h:1", "\"htp://u:***@h:1\"", "did you mean http://?" },
	{ "http://u:secret", "\"http://u:***\"", "the port is not a number" },
	{ "http://u:secret/", "\"http://u:***\"", "the port is not a number" },
	{ "http://u:secret%40h:80", "\"http://u:***\"", "more than one colon" },
	{ "http://u:s@cret@h:x", "\"http://u:***@h:x\"", "the port is not a number" },
	{ "u:secret://x@h", "\"u:***@h\"", "expected http://" },
	{ "u:secret@http://h", "\"u:***@http://h\"", "expected http://" },
	{ "http://u:secret@h h:1", "\"http://u:***@h h:1\"", "a blank" },
};

Test(proxy_url, refused)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		static const struct proxy zero;
		struct proxy p;
		struct err e = { 0 };

		memset(&p, 0x55, sizeof(p));
		cr_assert_eq(proxy_parse(refused[i].url, &p, &e), -1, "%s", refused[i].url);
		cr_expect_eq(e.kind, ERR_CONFIG);
		cr_expect(strstr(e.msg, refused[i].quoted), "%s: %s", refused[i].url, e.msg);
		cr_expect(strstr(e.msg, refused[i].reason), "%s: %s", refused[i].url, e.msg);
		cr_expect_null(strstr(e.msg, "ret"), "%s", e.msg);
		cr_expect_eq(memcmp(p.password, zero.password, sizeof(p.password)), 0, "the password is wiped");
	}
}

Test(proxy_url, a_long_one_is_cut)
{
	struct proxy p;
	struct err e;
	char url[3000];

	snprintf(url, sizeof(url), "http://%s%s%s:secret@h:1", X256, X256, X256);
	cr_assert_eq(proxy_parse(url, &p, &e), -1);
	cr_expect(strstr(e.msg, "longer than 255"), "%s", e.msg);
	cr_expect_null(strstr(e.msg, "secret"));
	snprintf(url, sizeof(url), "http://u:secret@%s%s%s%s:1", X256, X256, X256, X256);
	cr_assert_eq(proxy_parse(url, &p, &e), -1);
	cr_expect(strstr(e.msg, "longer than"), "%s", e.msg);
	cr_expect_null(strstr(e.msg, "secret"));
}

Test(proxy_url, wipe)
{
	static const char zero[256];
	struct proxy p;
	struct err e;

	cr_assert_eq(proxy_parse("http://user:secret@h", &p, &e), 0);
	proxy_wipe(&p);
	cr_expect_eq(memcmp(p.password, zero, sizeof(zero)), 0);
	cr_expect_str_eq(p.user, "user");
}
