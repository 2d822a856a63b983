/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* HTTP as far as OCSP needs it. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/ocsp.h"
#include "tests/unit/timeout.h"

TestSuite(ocsp_http, .timeout = TEST_TIMEOUT);

/* --- addresses ------------------------------------------------------------------------ */

Test(ocsp_http, addresses)
{
	static const struct {
		const char *url, *host, *port, *path;
	} good[] = {
		{ "http://ocsp.example", "ocsp.example", "80", "/" },
		{ "HTTP://ocsp.example/", "ocsp.example", "80", "/" },
		{ "http://ocsp.example:8080/a/b?c=d#e", "ocsp.example", "8080", "/a/b?c=d" },
		{ "http://ocsp.example?q", "ocsp.example", "80", "/?q" },
		{ "http://ocsp.example:/x", "ocsp.example", "80", "/x" },
		{ "http://192.0.2.1:080/", "192.0.2.1", "80", "/" },
		{ "http://[2001:db8::1]:81/x", "2001:db8::1", "81", "/x" },
		{ "http://[2001:db8::1]", "2001:db8::1", "80", "/" },
	};
	struct ocsp_url url;
	struct err e;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		cr_assert(ocsp_url_parse(good[i].url, &url, &e) == 0, "%s: %s", good[i].url, e.msg);
		cr_expect_str_eq(url.host, good[i].host);
		cr_expect_str_eq(url.port, good[i].port);
		cr_expect_str_eq(url.path, good[i].path);
	}
}

Test(ocsp_http, wrong_addresses)
{
	static const char *const bad[] = { "", "ocsp.example", "https://ocsp.example/", "ldap://x/", "http://", "http:///x",
		"http://:80/", "http://a:0/", "http://a:65536/", "http://a:1234567890123/", "http://a:80:80/", "http://a:8o/",
		"http://u:p@a/", "http://[::1/", "http://[::1]x/", "http://[]/", "http://a/\r\nHost: b", "http://a b/",
		"http://\xc3\xa4/", "http://a/\x7f", NULL };
	char text[2100] = "http://a/";
	struct ocsp_url url;
	struct err e;
	size_t i;

	for (i = 0; bad[i]; i++)
		cr_expect(ocsp_url_parse(bad[i], &url, &e) == -1, "%s", bad[i]);
	cr_expect(ocsp_url_parse("https://ocsp.example/", &url, &e) == -1);
	cr_expect_str_eq(e.msg, "the OCSP address \"https://ocsp.example/\" cannot be used: OCSP over https is not supported: its "
				"certificate would have to be checked first");
	memset(text + 9, 'x', 1022);
	cr_expect(ocsp_url_parse(text, &url, &e) == 0 && strlen(url.path) == 1023);
	text[9 + 1022] = 'x';
	cr_expect(ocsp_url_parse(text, &url, &e) == -1);
	memset(text + 7, 'h', 255);
	text[7 + 255] = '\0';
	cr_expect(ocsp_url_parse(text, &url, &e) == 0 && strlen(url.host) == 255);
	strcat(text, "h");
	cr_expect(ocsp_url_parse(text, &url, &e) == -1);
}

static void expect_request(const char *address, const char *expected)
{
	gnutls_datum_t body = { (unsigned char *)"\x30\x00\xff", 3 }, out;
	struct ocsp_url url;
	struct err e;

	cr_assert(ocsp_url_parse(address, &url, &e) == 0 && ocsp_http_request(&url, &body, &out, &e) == 0);
	cr_expect(out.size == strlen(expected) + 3 && memcmp(out.data, expected, strlen(expected)) == 0 &&
			  memcmp(out.data + strlen(expected), body.data, 3) == 0,
		"%.*s", (int)out.size, (char *)out.data);
	gnutls_free(out.data);
}

#define REST \
	"Content-Type: application/ocsp-request\r\nAccept: application/ocsp-response\r\nContent-Length: 3\r\n" \
	"Connection: close\r\n\r\n"

Test(ocsp_http, request)
{
	expect_request("http://ocsp.example/a?b", "POST /a?b HTTP/1.1\r\nHost: ocsp.example\r\n" REST);
	expect_request("http://[::1]:8080", "POST / HTTP/1.1\r\nHost: [::1]:8080\r\n" REST);
}

/* --- answers ----------------------------------------------------------------------------- */

static struct err err;

/* What comes of it: the body, "…" when more is to come, or "!". */
static const char *answer(const char *text, size_t n, bool ended)
{
	static char out[128];
	uint8_t *data = malloc(n ? n : 1);
	gnutls_datum_t body;
	int r;

	memcpy(data, text, n);
	r = ocsp_http_answer(data, n, ended, &body, &err);
	snprintf(out, sizeof(out), "%.*s", r > 0 ? (int)body.size : 1, r > 0 ? (char *)body.data : r < 0 ? "!" : "~");
	free(data);
	return out;
}

static void expect_whole(const char *text, const char *expected, bool needs_end)
{
	size_t n = strlen(text), i;
	const char *got;

	got = answer(text, n, true);
	cr_expect_str_eq(got, expected, "%s: %s", text, got);
	got = answer(text, n, false);
	cr_expect_str_eq(got, needs_end ? "~" : expected, "%s: %s", text, got);
	/* cut anywhere there is more to come, or it was cut off */
	for (i = 0; i < n; i++) {
		got = answer(text, i, false);
		cr_expect(strcmp(got, "~") == 0 || strcmp(got, expected) == 0, "%zu of %s: %s", i, text, got);
		if (strcmp(got, "~") == 0 && !needs_end)
			cr_expect_str_eq(answer(text, i, true), "!");
	}
}

#define OK "HTTP/1.1 200 OK\r\n"

Test(ocsp_http, answers)
{
	expect_whole(OK "Content-Length: 5\r\n\r\nhello", "hello", false);
	expect_whole("HTTP/1.0 200\n\nhello", "hello", true);
	expect_whole(OK "content-length:\t5 \r\nContent-Length: 5\r\n\r\nhello", "hello", false);
	expect_whole(OK "Content-Type: application/ocsp-response\r\n\r\nhello", "hello", true);
	expect_whole(OK "Content-Length: 0\r\n\r\n", "", false);
	expect_whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK
		     "Content-Length: 2\r\n\r\nhi", "hi", false);
	cr_expect_str_eq(answer(OK "Content-Length: 2\r\n\r\nhi and more", 49, false), "hi");
}

Test(ocsp_http, chunks)
{
	expect_whole(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "hello", false);
	expect_whole(OK "transfer-encoding: Chunked\r\nContent-Length: 999\r\n\r\n"
			"2;x=\"y\"\r\nhe\r\n03 \r\nllo\r\n000\r\n", "hello", false);
	expect_whole(OK "Transfer-Encoding: chunked\r\n\r\n"
			"a\r\n0123456789\r\nB\r\nabcdefghijk\r\n0\r\n", "0123456789abcdefghijk", false);
	cr_expect_str_eq(answer(OK "Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", 65, false), "");
}

static void refuse(const char *text, const char *message)
{
	cr_expect_str_eq(answer(text, strlen(text), true), "!", "%s", text);
	cr_expect(strstr(err.msg, message), "%s: %s", text, err.msg);
}

Test(ocsp_http, refused)
{
	refuse("", "cut off");
	refuse("\x30\x03\x0a\x01\x00\n", "does not speak HTTP");
	refuse("SSH-2.0-OpenSSH_9.2p1 Debian\r\n", "does not speak HTTP");
	refuse("HTTP/2.0 200 OK\r\n\r\n", "does not speak HTTP");
	refuse("HTTP/1.1 2x0 OK\r\n\r\n", "does not speak HTTP");
	refuse("HTTP/1.1 2000 OK\r\n\r\n", "does not speak HTTP");
	refuse("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answers with HTTP 404 Not Found");
	refuse("HTTP/1.1 302\r\nLocation: /\r\n\r\n", "answers with HTTP 302");
	refuse(OK "Content-Type: text/html; charset=utf-8\r\n\r\n<html>", "a page (text/html; charset=utf-8)");
	refuse(OK "Content-Length: 6\r\n\r\nhello", "cut off");
	refuse(OK "Content-Length: -1\r\n\r\nhello", "Content-Length makes no sense");
	refuse(OK "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello", "Content-Length makes no sense");
	refuse(OK "Content-Length: 5, 5\r\n\r\nhello", "Content-Length makes no sense");
	refuse(OK "Content-Length: 18446744073709551621\r\n\r\nhello", "Content-Length makes no sense");
	refuse(OK "Content-Length: 65537\r\n\r\nhello", "too long");
	refuse(OK "X: y\r\n z\r\n\r\nhello", "a line that is no header");
	refuse(OK "nonsense\r\n\r\nhello", "a line that is no header");
	refuse(OK "Transfer-Encoding: gzip, chunked\r\n\r\nhello", "transfer encoding");
	refuse(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\nhello", "transfer encoding");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloo\r\n0\r\n", "chunks are broken");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\nhello", "cut off");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\nhello\r\n", "chunks are broken");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\n\r\n", "chunks are broken");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n", "chunks are broken");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "chunks are broken");
	refuse(OK "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", "chunks are broken");
}

Test(ocsp_http, too_long)
{
	char *big = calloc(1, 70000);

	memset(big, 'x', 69999);
	memcpy(big, OK "\r\n", sizeof(OK) + 1);
	cr_expect_str_eq(answer(big, 65536, false), "~");
	cr_expect_str_eq(answer(big, 65537, false), "!");
	cr_expect(strstr(err.msg, "longer than 64 KiB"));
	free(big);
}

/* What is not whole yet stays as it was, since it is read again from its start. */
Test(ocsp_http, waiting_changes_nothing)
{
	static const char text[] = OK "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n";
	char data[sizeof(text)];
	gnutls_datum_t body;
	size_t i;

	for (i = 0; i + 2 < sizeof(text) - 1; i++) {
		memcpy(data, text, sizeof(text));
		ocsp_http_answer((uint8_t *)data, i, false, &body, &err);
		cr_expect(memcmp(data, text, sizeof(text)) == 0);
	}
}
