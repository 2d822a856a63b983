/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* OCSP responders, good and nasty ones, asked over loopback. */

#include "lib/probe/ocsp_ask.h"

#include <stdio.h>

#include "lib/base/utf8.h"
#include "tests/unit/fake_dns.h"
#include "tests/unit/net_util.h"
#include "tests/unit/ocsp_make.h"
#include "tests/unit/pki.h"
#include "tests/unit/responder.h"

#define HOUR 3600
#define DAY  86400

static struct pki_node ca, other_ca, leaf, other_leaf;
static struct ocsp_make_single single;
static struct ocsp_make make;

static void make_pki(void)
{
	pki_node(&ca, &(struct pki_spec){ .dn = "CN=ca", .ca = true, .from_days = -1000, .to_days = 2000 });
	pki_node(&other_ca, &(struct pki_spec){ .dn = "CN=other ca", .ca = true, .from_days = -1000, .to_days = 2000 });
	pki_node(&leaf, &(struct pki_spec){ .dn = "CN=leaf", .issuer = &ca, .names = { "dns:www.example" } });
	pki_node(&other_leaf, &(struct pki_spec){ .dn = "CN=other", .issuer = &ca, .names = { "dns:www.example" } });
	single = (struct ocsp_make_single){ .crt = leaf.crt, .issuer = ca.crt, .this_update = PKI_NOW - HOUR,
		.next_update = PKI_NOW + DAY };
	make = (struct ocsp_make){ .singles = &single, .n = 1, .produced = PKI_NOW - HOUR, .signer = ca.crt, .key = ca.key };
}

static void drop_pki(void)
{
	pki_node_free(&ca);
	pki_node_free(&other_ca);
	pki_node_free(&leaf);
	pki_node_free(&other_leaf);
}

TestSuite(ocsp_ask, .init = make_pki, .fini = drop_pki, .timeout = TEST_TIMEOUT);

/* --- asking ---------------------------------------------------------------------------- */

struct outcome {
	struct loop *loop;
	struct ocsp_ask *ask;
	int called;
	struct ocsp_result r;
};

static void note(void *arg, const struct ocsp_result *r)
{
	struct outcome *o = arg;

	o->called++;
	o->r = *r;
	loop_stop(o->loop);
}

static void start(struct outcome *o, struct loop *l, const char *url, uint64_t timeout_ms)
{
	struct err e;

	*o = (struct outcome){ .loop = l };
	o->ask = ocsp_ask_start(l, url, leaf.crt, ca.crt, PKI_NOW, timeout_ms, note, o, &e);
	cr_assert_not_null(o->ask, "%s", e.msg);
	cr_assert_eq(o->called, 0, "not from inside");
}

static struct ocsp_result ask(const char *host, unsigned port, uint64_t timeout_ms)
{
	struct loop *l = must_loop();
	struct outcome o;
	char url[512];

	snprintf(url, sizeof(url), "http://%s:%u/ocsp", host, port);
	start(&o, l, url, timeout_ms);
	must_run(l);
	cr_assert_eq(o.called, 1);
	loop_free(l);
	return o.r;
}

static struct ocsp_result asked(struct responder *s, responder_fn *how, const void *says, size_t n,
	uint64_t timeout_ms)
{
	int before = open_descriptors();
	struct ocsp_result r;

	responder_start(s, how, says, n);
	r = ask("127.0.0.1", s->port, timeout_ms);
	responder_end(s);
	cr_expect_eq(open_descriptors(), before);
	return r;
}

/* A failure whose text is that, behind the responder's name. */
static void expect_failure(const struct responder *s, const struct ocsp_result *r, const char *text)
{
	char expected[256];

	snprintf(expected, sizeof(expected), "127.0.0.1:%u: %s", s->port, text);
	cr_expect_str_eq(r->text, expected, "%s", r->text);
	cr_expect_eq(r->status, OCSP_ERROR);
	cr_expect(r->this_update == -1 && r->next_update == -1 && r->produced == -1 && r->revoked_at == -1);
	cr_expect_null(r->reason);
}

/* --- answers ----------------------------------------------------------------------------- */

enum framing { BY_LENGTH, BY_CHUNKS, BY_END };

/* What ocsp_make makes, as an answer of HTTP. Returns its size. */
static size_t http_answer(enum framing framing, char *out, size_t size)
{
	gnutls_datum_t der = ocsp_make(&make);
	size_t n, half = der.size / 2;
	char length[64] = "";

	cr_assert(der.data && der.size + 300 < size);
	if (framing == BY_LENGTH)
		snprintf(length, sizeof(length), "Content-Length: %u\r\n", der.size);
	n = (size_t)snprintf(out, size, "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\n%s%s\r\n", length,
		framing == BY_CHUNKS ? "Transfer-Encoding: chunked\r\n" : "");
	if (framing == BY_CHUNKS)
		n += (size_t)snprintf(out + n, size - n, "%zx\r\n", half);
	else
		half = der.size;
	memcpy(out + n, der.data, half);
	n += half;
	if (framing == BY_CHUNKS) {
		n += (size_t)snprintf(out + n, size - n, "\r\n%zx\r\n", der.size - half);
		memcpy(out + n, der.data + half, der.size - half);
		n += der.size - half;
		n += (size_t)snprintf(out + n, size - n, "\r\n0\r\n\r\n");
	}
	gnutls_free(der.data);
	return n;
}

static struct ocsp_result made(struct responder *s, responder_fn *how, enum framing framing)
{
	char text[8192];
	size_t n = http_answer(framing, text, sizeof(text));

	return asked(s, how, text, n, 20000);
}

Test(ocsp_ask, good)
{
	static const struct {
		responder_fn *how;
		enum framing framing;
	} ways[] = {
		{ responder_speak, BY_LENGTH },
		{ responder_speak, BY_CHUNKS },
		{ responder_speak_and_close, BY_LENGTH },
		{ responder_speak_and_close, BY_END },
		{ responder_speak_in_bytes, BY_LENGTH },
		{ responder_speak_in_bytes, BY_CHUNKS },
		{ responder_speak_and_reset, BY_LENGTH },
		{ responder_speak_unasked, BY_LENGTH },
	};
	static struct responder s;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct ocsp_result r = made(&s, ways[i].how, ways[i].framing);

		cr_expect_eq(r.status, OCSP_GOOD, "%zu: %s", i, r.text);
		cr_expect_str_eq(r.text, "not revoked as of 2026-01-01; good until 2026-01-02");
		cr_expect_eq(r.next_update, PKI_NOW + DAY);
	}
}

/* The body is a request about the leaf. */
static void check_request(const char *body, size_t n)
{
	gnutls_datum_t der = { (unsigned char *)(uintptr_t)body, (unsigned)n }, serial;
	uint8_t expected[128];
	size_t size = sizeof(expected);
	gnutls_ocsp_req_t req;

	cr_assert_eq(gnutls_ocsp_req_init(&req), 0);
	cr_assert_eq(gnutls_ocsp_req_import(req, &der), 0);
	cr_assert_eq(gnutls_ocsp_req_get_cert_id(req, 0, NULL, NULL, NULL, &serial), 0);
	cr_assert_eq(gnutls_x509_crt_get_serial(leaf.crt, expected, &size), 0);
	cr_expect(serial.size == size && memcmp(serial.data, expected, size) == 0);
	gnutls_free(serial.data);
	gnutls_ocsp_req_deinit(req);
}

Test(ocsp_ask, what_is_asked)
{
	static struct responder s;
	struct ocsp_result r = made(&s, responder_speak, BY_LENGTH);
	char expected[64];
	const char *body;

	cr_assert_eq(r.status, OCSP_GOOD, "%s", r.text);
	snprintf(expected, sizeof(expected), "POST /ocsp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", s.port);
	cr_expect_eq(strncmp(s.request, expected, strlen(expected)), 0, "%s", s.request);
	body = strstr(s.request, "\r\n\r\n") + 4;
	check_request(body, s.request_n - (size_t)(body - s.request));
}

#define EXPECT(expected) \
	do { \
		struct ocsp_result r_ = made(&s, responder_speak, BY_LENGTH); \
		cr_expect(r_.status == (expected), "%s: %s", ocsp_status_name(r_.status), r_.text); \
		cr_expect(r_.text[0]); \
	} while (0)

Test(ocsp_ask, what_the_answer_says)
{
	static struct responder s;

	make.error = 6; /* unauthorized */
	EXPECT(OCSP_ERROR);
	make.error = 0;
	single.status = GNUTLS_OCSP_CERT_REVOKED;
	single.revoked_at = PKI_NOW - DAY;
	EXPECT(OCSP_REVOKED);
	single.status = GNUTLS_OCSP_CERT_GOOD;
	single.next_update = PKI_NOW - 1; /* the time is the caller's */
	EXPECT(OCSP_EXPIRED);
	single.next_update = PKI_NOW + DAY;
	single.crt = other_leaf.crt;
	EXPECT(OCSP_OTHER);
	single.crt = leaf.crt;
	EXPECT(OCSP_GOOD);
}

Test(ocsp_ask, whose_answer_it_is)
{
	static struct responder s;

	make.key = other_ca.key;
	EXPECT(OCSP_BAD_SIGNATURE);
	make.signer = other_ca.crt;
	make.certs[0] = other_ca.crt;
	EXPECT(OCSP_BAD_SIGNATURE);
	make = (struct ocsp_make){ .singles = &single, .n = 1, .produced = PKI_NOW - HOUR, .signer = ca.crt, .key = ca.key,
		.no_signature = true };
	EXPECT(OCSP_BAD_SIGNATURE);
	make.no_signature = false;
	EXPECT(OCSP_GOOD);
}

/* --- what is no answer ---------------------------------------------------------------------- */

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
	responder_fn *how;
	const char *says, *text;
} bad[] = {
	{ responder_speak_and_close, "", "the OCSP responder ended the connection without an answer" },
	{ responder_speak_and_reset, "", "the connection to the OCSP responder broke: Connection reset by peer" },
	{ responder_speak_and_reset, OK, "the connection to the OCSP responder broke: Connection reset by peer" },
	{ responder_speak_and_close, OK "Content-Length: 5\r\n\r\nab", "the OCSP responder's answer is cut off" },
	{ responder_speak_and_close, OK "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
		"the OCSP responder's answer is cut off" },
	{ responder_speak_and_close, "\x15\x03\x01\x02", "the OCSP responder's answer is cut off" },
	{ responder_speak, "SSH-2.0-OpenSSH\r\n", "the OCSP responder does not speak HTTP" },
	{ responder_speak, "HTTP/1.1 503 Service Unavailable\r\n\r\n",
		"the OCSP responder answers with HTTP 503 Service Unavailable" },
	{ responder_speak_unasked, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1000\r\n\r\n",
		"the OCSP responder answers with HTTP 503 Service Unavailable" },
	{ responder_speak, "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		"the OCSP responder answers with HTTP 301 Moved" },
	{ responder_speak, OK "Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
		"the OCSP responder answers with a page (text/html), not with OCSP" },
	{ responder_speak, OK "Content-Length: 0\r\n\r\n", "the OCSP responder's answer is empty" },
	{ responder_speak_and_close, OK "\r\n", "the OCSP responder's answer is empty" },
	{ responder_flood, OK "\r\n", "the OCSP responder's answer is longer than 64 KiB" },
	{ responder_flood, OK, "the OCSP responder's answer is longer than 64 KiB" },
	{ responder_speak, OK "Content-Length: 10485760\r\n\r\n",
		"the OCSP responder's answer cannot be used: it is too long for an OCSP answer" },
};

Test(ocsp_ask, nasty_responders)
{
	static struct responder s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ocsp_result r = asked(&s, bad[i].how, bad[i].says, strlen(bad[i].says), 20000);

		expect_failure(&s, &r, bad[i].text);
		cr_expect_lt(s.sent, RESPONDER_FLOOD, "hung up long before");
	}
}

Test(ocsp_ask, garbage_for_an_answer)
{
	static const char says[] = OK "Content-Length: 4\r\n\r\n\xde\xad\xbe\xef";
	static struct responder s;
	struct ocsp_result r = asked(&s, responder_speak, says, sizeof(says) - 1, 20000);

	cr_expect_eq(r.status, OCSP_MALFORMED, "%s", r.text);
}

/* --- time ------------------------------------------------------------------------------------- */

Test(ocsp_ask, deadline)
{
	static const char says[] = OK "Content-Length: 60000\r\n\r\n";
	static struct responder s;
	struct ocsp_result r = asked(&s, responder_be_silent, NULL, 0, 30);
	char whole[64];

	expect_failure(&s, &r, "no answer within 30ms");
	r = asked(&s, responder_drip, says, sizeof(says) - 1, 30);
	cr_expect_eq(r.status, OCSP_ERROR);
	snprintf(whole, sizeof(whole), "127.0.0.1:%u: no whole answer within 30ms; ", s.port);
	cr_expect_eq(strncmp(r.text, whole, strlen(whole)), 0, "%s", r.text);
}

Test(ocsp_ask, no_deadline)
{
	static struct responder s;
	char text[8192];
	size_t n = http_answer(BY_LENGTH, text, sizeof(text));
	struct ocsp_result r = asked(&s, responder_speak, text, n, 0);

	cr_expect_eq(r.status, OCSP_GOOD, "%s", r.text);
}

static void let_go(void *arg)
{
	(void)arg;
	fake_dns_let_go();
}

/* What the look-up took is not given again: the deadline comes before a timer that would
 * come before a second one. */
Test(ocsp_ask, one_deadline_for_all)
{
	struct loop *l = must_loop();
	struct loop_timer *release = loop_timer_new(l, let_go, NULL), *late;
	static struct responder s;
	struct outcome o;
	int is_late = 0;
	char url[64];

	late = loop_timer_new(l, count_call, &is_late);
	responder_start(&s, responder_be_silent, NULL, 0);
	snprintf(url, sizeof(url), "http://held.fake.test:%u/", s.port);
	start(&o, l, url, 60);
	loop_timer_set(release, 30);
	loop_timer_set(late, 80);
	must_run(l);
	cr_expect_eq(o.called, 1);
	cr_expect_eq(o.r.status, OCSP_ERROR);
	cr_expect_not_null(strstr(o.r.text, "no answer within 60ms"), "%s", o.r.text);
	cr_expect_eq(is_late, 0);
	loop_timer_free(release);
	loop_timer_free(late);
	loop_free(l);
	responder_end(&s);
}

/* --- no connection ------------------------------------------------------------------------------ */

static unsigned refusing(void)
{
	struct sockaddr_in in;

	close(listen_v4(&in, 1));
	return ntohs(in.sin_port);
}

Test(ocsp_ask, no_connection)
{
	unsigned port = refusing();
	struct ocsp_result r = ask("127.0.0.1", port, 5000);
	char expected[128];

	cr_expect_eq(r.status, OCSP_ERROR);
	snprintf(expected, sizeof(expected), "cannot connect to 127.0.0.1:%u: Connection refused", port);
	cr_expect_str_eq(r.text, expected);
	r = ask("[::1]", port, 5000);
	snprintf(expected, sizeof(expected), "cannot connect to [::1]:%u: ", port);
	cr_expect_eq(strncmp(r.text, expected, strlen(expected)), 0, "%s", r.text);
	r = ask("again.fake.test", 80, 5000);
	cr_expect_eq(r.status, OCSP_ERROR);
	cr_expect_eq(strncmp(r.text, "cannot resolve again.fake.test: ", 32), 0, "%s", r.text);
	r = ask("none.fake.test", 80, 5000);
	cr_expect_str_eq(r.text, "cannot resolve none.fake.test: it has no address");
	r = ask("held.fake.test", 80, 10);
	cr_expect_str_eq(r.text, "cannot resolve held.fake.test: no answer within 10ms");
	fake_dns_let_go();
}

/* A name of n characters that has the loopback address. */
static char *long_name(size_t n, char *out)
{
	size_t i = 3, end = n - strlen(".fake.test");

	strcpy(out, "4a.");
	for (; i < end; i++)
		out[i] = i % 50 == 0 && i + 1 < end ? '.' : 'a';
	strcpy(out + end, ".fake.test");
	return out;
}

/* The text has the beginning of the name and the reason, in whole characters. */
Test(ocsp_ask, long_names)
{
	static const char says[] = "HTTP/1.1 503 \xe2\x82\xac\xc3\xa9\xe2\x82\xac\xc3\xa9\xe2\x82\xac!\r\n\r\n";
	static struct responder s;

	for (size_t n = 101; n < 253; n += n < 120 ? 1 : 9) {
		struct ocsp_result r;
		char name[256];
		uint32_t cp;

		responder_start(&s, responder_speak, says, sizeof(says) - 1);
		r = ask(long_name(n, name), s.port, 20000);
		responder_end(&s);
		cr_expect_eq(strncmp(r.text, name, 90), 0, "%s", r.text);
		cr_expect_not_null(strstr(r.text, "with HTTP 503 \xe2\x82\xac\xc3\xa9\xe2\x82\xac\xc3\xa9\xe2\x82\xac!"));
		for (size_t i = 0, len; i < strlen(r.text); i += len) {
			len = utf8_decode(r.text + i, strlen(r.text) - i, &cp);
			cr_assert_neq(len, 0, "%s", r.text);
		}
	}
}

/* --- what is not started ------------------------------------------------------------------------- */

Test(ocsp_ask, wrong_addresses)
{
	static const char *const urls[] = { "", "https://ocsp.example/", "ldap://ocsp.example/", "http://", "http://a:0/",
		"http://a..b/", "http://-a/", "http://1.2.3/", "http://[::g]/", "http://a/\r\nX: y" };
	struct loop *l = must_loop();
	struct outcome o = { .loop = l };

	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		struct err e = { 0 };

		cr_expect_null(ocsp_ask_start(l, urls[i], leaf.crt, ca.crt, PKI_NOW, 1000, note, &o, &e), "%s", urls[i]);
		cr_expect_eq(e.kind, ERR_CONFIG, "%s", urls[i]);
		cr_expect_eq(strncmp(e.msg, "the OCSP address \"", 18), 0, "%s", e.msg);
	}
	run_for(l, 1);
	cr_expect_eq(o.called, 0);
	loop_free(l);
}

Test(ocsp_ask, no_issuer)
{
	struct loop *l = must_loop();
	struct err e = { 0 };

	cr_expect_null(ocsp_ask_start(l, "http://127.0.0.1/", leaf.crt, NULL, PKI_NOW, 1000, note, NULL, &e));
	cr_expect_eq(e.kind, ERR_RUNTIME);
	cr_expect_not_null(strstr(e.msg, "OCSP request"), "%s", e.msg);
	loop_free(l);
}

/* --- cancelled -------------------------------------------------------------------------------------- */

/* After so many milliseconds of the loop; -1: it never turned. */
static void cancel_after(const char *url, int ms)
{
	struct loop *l = must_loop();
	struct outcome o;

	start(&o, l, url, 20000);
	if (ms >= 0)
		run_for(l, (uint64_t)ms);
	cr_expect_eq(o.called, 0, "%s: %s", url, o.r.text);
	if (o.called == 0)
		ocsp_ask_cancel(o.ask);
	run_for(l, 2);
	cr_expect_eq(o.called, 0);
	loop_free(l);
}

Test(ocsp_ask, cancelled_in_each_stage)
{
	static responder_fn *const ways[] = { responder_be_silent, responder_drip };
	static const char says[] = OK "Content-Length: 60000\r\n\r\n";
	int before = open_descriptors();
	static struct responder s;
	char url[64];

	cancel_after("http://127.0.0.1/", -1);
	cancel_after("http://4a.fake.test/", -1);
	cancel_after("http://held.fake.test/", 3);
	for (int i = 0; i < 2; i++) {
		for (int ms = -1; ms < 8; ms += 1 + ms / 2) {
			responder_start(&s, ways[i], says, sizeof(says) - 1);
			snprintf(url, sizeof(url), "http://127.0.0.1:%u/", s.port);
			cancel_after(url, ms);
			responder_end(&s); /* it saw the connection end */
		}
	}
	cr_expect_eq(open_descriptors(), before);
	fake_dns_let_go();
	ocsp_ask_cancel(NULL);
}

/* Nobody answers the SYN: the backlog is full. */
Test(ocsp_ask, cancelled_while_connecting)
{
	struct sockaddr_in in;
	int fd = listen_v4(&in, 0), filler[4], before;
	char url[64];

	for (int i = 0; i < 4; i++) {
		filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(filler[i], (struct sockaddr *)&in, sizeof(in));
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(in.sin_port));
	before = open_descriptors();
	cancel_after(url, 3);
	cr_expect_eq(open_descriptors(), before);
	for (int i = 0; i < 4; i++)
		close(filler[i]);
	close(fd);
}
