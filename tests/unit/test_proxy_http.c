/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>

#include "tests/unit/proxy_talk.h"

TestSuite(proxy_http, .timeout = TEST_TIMEOUT);

/* --- what is asked ------------------------------------------------------- */

#define OK "HTTP/1.1 200 OK\r\n\r\n"

static const struct {
	const char *url, *target, *request;
} requests[] = {
	{ "http://p", "db.example:5432", "CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\n" },
	{ "http://p", "[2001:DB8::1]:443", "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n" },
	{ "http://p", "192.0.2.1:1", "CONNECT 192.0.2.1:1 HTTP/1.1\r\nHost: 192.0.2.1:1\r\n\r\n" },
	{ "http://p", "https://b\xc3\xbc"
		      "cher.example/x",
	  "CONNECT xn--bcher-kva.example:443 HTTP/1.1\r\nHost: xn--bcher-kva.example:443\r\n\r\n" },
	{ "http://p", "example.com.:25", "CONNECT example.com:25 HTTP/1.1\r\nHost: example.com:25\r\n\r\n" },
	{ "http://p", "8443", "CONNECT localhost:8443 HTTP/1.1\r\nHost: localhost:8443\r\n\r\n" },
	/* RFC 7617, 2 and 2.1 */
	{ "http://Aladdin:open%20sesame@p", "h:1",
	  "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n" },
	{ "http://test:123\xc2\xa3@p", "h:1",
	  "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dGVzdDoxMjPCow==\r\n\r\n" },
	{ "http://u@p", "h:1", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dTo=\r\n\r\n" },
	{ "http://:t@p", "h:1", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic OnQ=\r\n\r\n" },
	{ "http://us:er@p", "h:1", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dXM6ZXI=\r\n\r\n" },
};

Test(proxy_http, requests)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct outcome o = talk_all_ways(requests[i].url, requests[i].target, BYTES(OK));

		cr_assert_eq(o.status, PARLEY_DONE);
		cr_assert_eq(o.used, strlen(OK));
		must_send(&o, requests[i].request, strlen(requests[i].request));
	}
}

Test(proxy_http, the_longest_request)
{
	char url[1100], target[300];
	struct outcome o;

	memset(url, 'u', sizeof(url));
	memcpy(url, "http://", 7);
	url[7 + 255] = ':';
	memcpy(url + 7 + 255 + 1 + 255, "@p", 3);
	memset(target, 'a', sizeof(target));
	for (size_t i = 63; i < 253; i += 64)
		target[i] = '.';
	memcpy(target + 253, ":65535", 7);
	o = talk(url, target, BYTES(OK), 0, 1);
	cr_assert_eq(o.status, PARLEY_DONE);
	cr_assert_eq(memcmp(o.out + o.out_n - 4, "\r\n\r\n", 4), 0);
}

/* --- what is answered ----------------------------------------------------- */

static const char *const tunnels[] = {
	OK,
	"HTTP/1.0 200 Connection established\r\n\r\n",
	"HTTP/1.1 200\r\n\r\n",
	"HTTP/1.1 200 \r\n\r\n",
	"HTTP/1.1 200 OK\n\n",
	"HTTP/1.1 200 OK\r\nVia: 1.1 proxy\n\r\n",
	"HTTP/1.1 299 Whatever\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nContent-Length: 12345\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\tfolded\r\n \r\nB: \x80\xff\r\nno colon\r\n\r\n",
	"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 100 More\r\n\r\nHTTP/1.0 200 OK\r\nX: y\r\n\r\n",
};

Test(proxy_http, tunnels)
{
	for (size_t i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++) {
		size_t n = strlen(tunnels[i]);
		char with_more[512];
		struct outcome o = talk_all_ways("http://p", "h:1", tunnels[i], n);

		cr_assert_eq(o.status, PARLEY_DONE, "%s: %s", tunnels[i], o.e.msg);
		cr_assert_eq(o.used, n);
		end_at_each_byte("http://p", "h:1", tunnels[i], n, n);
		/* what the target says first comes in the same piece, and is not touched */
		snprintf(with_more, sizeof(with_more), "%s%s", tunnels[i], "\r\n220 smtp.example\r\n\r\n");
		o = talk_all_ways("http://p", "h:1", with_more, strlen(with_more));
		cr_assert_eq(o.status, PARLEY_DONE);
		cr_assert_eq(o.used, n);
	}
}

static const struct {
	const char *url, *answer, *message;
} refusals[] = {
	{ "http://p", "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n",
	  "the proxy says 407 Proxy Authentication Required (CONNECT [::1]:443 at the proxy p:8080): "
	  "give user:password@ in --proxy" },
	{ "http://p", "HTTP/1.0 407 No\n\n", "the proxy says 407 No (" },
	{ "http://u:secret@p", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n",
	  "it does not accept the user and password in --proxy" },
	{ "http://u:secret@p", "HTTP/1.1 407 No\r\nPROXY-authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n",
	  "a kind of authentication that is not known here" },
	{ "http://u:secret@p", "HTTP/1.1 407 No\r\nProxy-Authenticate:Digest realm=\"x\", basic realm=\"y\"\r\n\r\n",
	  "it does not accept" },
	{ "http://u:secret@p", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basically\r\n\r\n", "a kind of authentication" },
	{ "http://u:secret@p", "HTTP/1.1 407 No\r\nProxy-Authenticate:\r\n\r\n", "a kind of authentication" },
	{ "http://p", "HTTP/1.1 401 Unauthorized\r\n\r\n", "is it a proxy?" },
	{ "http://u:secret@p", "HTTP/1.1 401 Unauthorized\r\n\r\n", "it does not accept the user and password" },
	{ "http://p", "HTTP/1.1 403 Filtered\r\nContent-Length: 99999\r\n\r\n<html>", "does not allow" },
	{ "http://p", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy says 502 Bad Gateway (" },
	{ "http://p", "HTTP/1.1 503 Service Unavailable\r\n\r\n", "cannot reach the target, or is overloaded" },
	{ "http://p", "HTTP/1.1 504 Gateway Timeout\r\n\r\n", "waited for the target in vain" },
	{ "http://p", "HTTP/1.1 405 \r\n\r\n", "the proxy says 405 (CONNECT" },
	{ "http://p", "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", "it sends us elsewhere" },
	{ "http://p", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "the proxy says 101 Switching Protocols" },
	{ "http://p", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 418 Teapot\r\n\r\n", "the proxy says 418 Teapot (" },
	{ "http://p", "HTTP/1.1 500 a\x1b[31m\xff\x07\r\n\r\n", "the proxy says 500 a?[31m?? (" },
	{ "http://p", "\x05\xff", "does not speak HTTP; it looks like a SOCKS proxy: socks5://" },
	{ "http://p", "\x15\x03\x01", "does not speak HTTP; it looks like TLS" },
	{ "http://p", "SSH-2.0-OpenSSH\r\n", "CONNECT [::1]:443 at the proxy p:8080: the proxy does not speak HTTP" },
	{ "http://p", "\r\n", "does not speak HTTP" },
	{ "http://p", "\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1\r\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1 20\r\n\r\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1 2000\r\n\r\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1 099 Low\r\n\r\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1\t200 OK\r\n\r\n", "does not speak HTTP" },
	{ "http://p", "http/1.1 200 OK\r\n\r\n", "does not speak HTTP" },
	{ "http://p", "HTTP/1.1 100 Continue\r\n\r\nGARBAGE", "does not speak HTTP" },
	{ "http://p", "220 ftp.example ready\r\n", "does not speak HTTP" },
};

Test(proxy_http, refusals)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const char *a = refusals[i].answer;
		struct outcome o = talk_all_ways(refusals[i].url, "[::1]:443", a, strlen(a));

		cr_assert_eq(o.status, PARLEY_FAILED, "%s", a);
		cr_expect(strstr(o.e.msg, refusals[i].message), "%s: %s", a, o.e.msg);
		cr_expect_null(strstr(o.e.msg, "secret"));
		end_at_each_byte(refusals[i].url, "[::1]:443", a, strlen(a), strlen(a) + 1);
	}
}

Test(proxy_http, nul_bytes_in_the_answer)
{
	struct outcome o = talk_all_ways("http://p", "h:1", BYTES("HTTP/1.1 403 a\0b\r\n\0\r\n\r\n"));

	cr_assert_eq(o.status, PARLEY_FAILED);
	cr_expect(strstr(o.e.msg, "the proxy says 403 a?b ("), "%s", o.e.msg);
	o = talk_all_ways("http://p", "h:1", BYTES("\0\0\0\0\0"));
	cr_assert_eq(o.status, PARLEY_FAILED);
}

/* The status is told, whatever is missing behind it. */
Test(proxy_http, ends_behind_the_status_line)
{
	struct parley *c = must_start("http://p", "h:1");
	struct outcome o = { .status = PARLEY_MORE };

	give(c, (const uint8_t *)"HTTP/1.0 403 Go away\r\n", 0, 22, &o);
	cr_assert_eq(o.status, PARLEY_MORE);
	cr_assert_eq(parley_end(c, &o.e), PARLEY_FAILED);
	cr_expect(strstr(o.e.msg, "the proxy says 403 Go away"), "%s", o.e.msg);
	parley_free(c);
}

/* start, then lines of `line` until there are n bytes, then end. */
static char *block(const char *start, const char *line, size_t n, const char *end)
{
	size_t at = strlen(start), len = strlen(line);
	char *s = malloc(n + len + strlen(end) + 1);

	memcpy(s, start, at);
	while (at + len + strlen(end) <= n) {
		memcpy(s + at, line, len);
		at += len;
	}
	memset(s + at, 'z', n - at - strlen(end));
	strcpy(s + n - strlen(end), end);
	return s;
}

Test(proxy_http, up_to_64_kib)
{
	static const char *const lines[] = { "X-Header: some value of it\r\n", "a\n", "xxxxxxxxxxxxxxxx" };
	static const char *const starts[] = { "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 " };

	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 2; k++) {
			char *s = block(starts[k], lines[i], PARLEY_LINE_MAX, "\r\n\r\n");
			struct outcome o = talk("http://p", "h:1", s, PARLEY_LINE_MAX, 0, PARLEY_LINE_MAX);

			cr_assert_eq(o.status, PARLEY_DONE, "%s", o.e.msg);
			cr_assert_eq(o.used, PARLEY_LINE_MAX);
			o = talk("http://p", "h:1", s, PARLEY_LINE_MAX, 0, 1);
			cr_assert_eq(o.status, PARLEY_DONE);
			free(s);
		}
	}
}

Test(proxy_http, more_than_64_kib)
{
	static const char *const starts[] = { "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 ", "HTTP/1.1 503 Busy\r\n" };

	for (size_t i = 0; i < 3; i++) {
		char *s = block(starts[i], "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n", PARLEY_LINE_MAX + 10,
			"\r\n\r\n");
		struct outcome whole = talk("http://p", "h:1", s, PARLEY_LINE_MAX + 10, 0, PARLEY_LINE_MAX + 10);
		struct outcome o = talk("http://p", "h:1", s, PARLEY_LINE_MAX + 10, 0, 1);

		cr_assert_eq(whole.status, PARLEY_FAILED);
		cr_expect(strstr(whole.e.msg, "65536"), "%s", whole.e.msg);
		must_equal(&o, &whole, "byte by byte", i);
		if (i == 2)
			cr_expect(strstr(o.e.msg, "the proxy says 503 Busy"), "%s", o.e.msg);
		free(s);
	}
}

/* The end of the answer is what counts, not the size of the piece it came in. */
Test(proxy_http, much_behind_the_answer)
{
	char *s = block(OK, "yyyyyyyyyyy\r\n\r\n", 4 * PARLEY_LINE_MAX, "");
	struct outcome o = talk("http://p", "h:1", s, 4 * PARLEY_LINE_MAX, 0, 4 * PARLEY_LINE_MAX);

	cr_assert_eq(o.status, PARLEY_DONE);
	cr_assert_eq(o.used, strlen(OK));
	free(s);
}
