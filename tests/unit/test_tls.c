/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Sessions in pairs: what is carried, how it ends, what it holds. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/tls/tls_int.h"
#include "tests/unit/pair.h"
#include "tests/unit/pki.h"

static struct pair pair;
static struct tls_config *client, *server;

/* Each test runs on the plane that GnuTLS seals for and on our own, with both
 * versions. */
static enum tls_dataplane plane;
static int newest = 13;

static void on_each_plane(void (*test)(void))
{
	plane = TLS_DATAPLANE_GNUTLS;
	test();
	plane = TLS_DATAPLANE_DIRECT;
	test();
}

static void on_each_plane_and_version(void (*test)(void))
{
	for (newest = 12; newest <= 13; newest++)
		on_each_plane(test);
	newest = 13;
}

static void open_versions(int min, int max, const char *suite)
{
	struct tls_options o = pair_options(TLS_SERVER);
	const char *suites[] = { suite };
	struct err e = { 0 };

	o.dataplane = plane;
	if (suite)
		o.suites = (struct names_list){ suites, 1 };
	server = config_new(&o, &e);
	cr_assert(server, "%s", e.msg);
	o = pair_options(TLS_CLIENT);
	o.dataplane = plane;
	o.insecure_no_verify = true;
	o.min_version = min;
	o.max_version = max;
	if (suite)
		o.suites = (struct names_list){ suites, 1 };
	client = config_new(&o, &e);
	cr_assert(client, "%s", e.msg);
	pair = (struct pair){ 0 };
	pair_open(&pair, client, server);
}

static void open_pair(void)
{
	open_versions(12, newest, NULL);
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
	cr_assert_eq(pair.s[1]->direct != NULL, plane == TLS_DATAPLANE_DIRECT);
}

static void close_pair(void)
{
	pair_close(&pair);
	config_unref(client);
	config_unref(server);
}

/* --- carrying -------------------------------------------------------------------- */

struct suite_case {
	int version;
	char suite[48];
};

ParameterizedTestParameters(tls, carries_every_suite)
{
	static struct suite_case cases[] = {
		{ 13, "TLS_AES_128_GCM_SHA256" },
		{ 13, "TLS_AES_256_GCM_SHA384" },
		{ 13, "TLS_CHACHA20_POLY1305_SHA256" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_256_CCM" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8" },
		{ 12, "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA" },
	};

	return cr_make_param_array(struct suite_case, cases, sizeof(cases) / sizeof(*cases));
}

/* What has another tag or a MAC of its own is GnuTLS's. */
static bool can_be_direct(const char *suite)
{
	return !strstr(suite, "CCM_8") && !strstr(suite, "CBC");
}

static void carry_suite(const struct suite_case *c)
{
	struct session_info info;

	open_versions(c->version, c->version, c->suite);
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
	session_info(pair.s[0], &info);
	cr_assert_str_eq(info.ciphersuite, c->suite);
	cr_assert_str_eq(info.version, c->version == 13 ? "TLS1.3" : "TLS1.2");
	pair_carry(&pair, 0, 300000, 16384, 100000);
	cr_assert_str_eq(info.plane, plane == TLS_DATAPLANE_DIRECT && can_be_direct(c->suite) ? "direct" : "gnutls");
	pair_carry(&pair, 1, 300000, 50000, 1500);
	close_pair();
}

ParameterizedTest(struct suite_case *c, tls, carries_every_suite)
{
	plane = TLS_DATAPLANE_GNUTLS;
	carry_suite(c);
	plane = TLS_DATAPLANE_DIRECT;
	carry_suite(c);
}

static void carries_pieces_of_any_size(void)
{
	static const size_t sizes[] = { 1, 2, 15, 16, 17, 255, 256, 1400, 16383, 16384, 16385, 40000 };
	size_t i, k;

	open_pair();
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
			pair_carry(&pair, (int)((i + k) & 1), sizes[i] * 3 + 1, sizes[i], sizes[k]);
	close_pair();
}

static void holds_no_buffer_when_idle(void)
{
	int i;

	open_pair();
	pair_carry(&pair, 0, 100000, 20000, 100000);
	pair_carry(&pair, 1, 100000, 20000, 100000);
	for (i = 0; i < 2; i++) {
		pair_poll(&pair);
		cr_assert(session_fill(pair.s[i], &pair.err[i]) == SOCK_BLOCKED);
		cr_assert_not(session_holds_memory(pair.s[i]), "side %d", i);
	}
	close_pair();
}

/* N records in one segment, then silence: all of it must come out. */
static void opens_all_that_came_at_once(void)
{
	struct iovec iov[16];
	size_t total, got = 0;
	int i;

	open_pair();
	for (i = 0; i < 40; i++)
		pair_send(&pair, 0, 100, (size_t)i * 100);
	pair_poll(&pair);
	while (session_fill(pair.s[1], &pair.err[1]) > 0) {
		session_peek(pair.s[1], iov, 16, &total);
		session_consume(pair.s[1], total);
		got += total;
	}
	cr_assert_eq(got, 4000);
	close_pair();
}

/* Application data that came in one segment with the last Finished: the client's in
 * TLS 1.3, the server's in TLS 1.2. */
static void keeps_data_behind_the_handshake(void)
{
	int last = newest == 13 ? 0 : 1, other = 1 - last, i;

	open_versions(newest, newest, NULL);
	for (i = 0; i < 20 && pair.done[last] != 1; i++) {
		pair_poll(&pair);
		if (session_handshake(pair.s[last], &pair.err[last]) == 0) {
			pair.done[last] = 1;
			pair_send(&pair, last, 5000, 0); /* before the other one reads Finished */
		} else {
			pair_poll(&pair);
			session_handshake(pair.s[other], &pair.err[other]);
		}
	}
	cr_assert_eq(pair.done[last], 1);
	pair_poll(&pair);
	cr_assert_eq(session_handshake(pair.s[other], &pair.err[other]), 0, "%s", pair.err[other].msg);
	cr_assert_eq(session_fill(pair.s[other], &pair.err[other]), 5000);
	close_pair();
}

/* KeyUpdate from either side, asking for one or not, between data. */
static void carries_on_over_key_updates(void)
{
	int i;

	open_pair();
	for (i = 0; i < 8; i++) {
		cr_assert_eq(session_key_update(pair.s[i & 1], i & 2), 0);
		session_flush(pair.s[i & 1], &pair.err[i & 1]);
		pair_carry(&pair, i & 1, 40000, 9000, 7000);
		pair_carry(&pair, 1 - (i & 1), 40000, 9000, 7000);
	}
	close_pair();
}

/* --- ends ---------------------------------------------------------------------------- */

static void close_notify_ends_one_direction(void)
{
	open_pair();
	pair_carry(&pair, 0, 1000, 1000, 1000);
	cr_assert_eq(session_close_notify(pair.s[0], &pair.err[0]), 0);
	session_flush(pair.s[0], &pair.err[0]);
	pair_poll(&pair);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), 0);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), 0, "the end is told again");
	pair_carry(&pair, 1, 200000, 16384, 5000); /* the other way goes on */
	cr_assert_eq(session_close_notify(pair.s[1], &pair.err[1]), 0);
	session_flush(pair.s[1], &pair.err[1]);
	pair_poll(&pair);
	cr_assert_eq(session_fill(pair.s[0], &pair.err[0]), 0);
	close_pair();
}

/* What came before a bare FIN is shown first, then the truncation. */
static void truncation_is_told_after_the_data(void)
{
	open_pair();
	pair_send(&pair, 0, 3000, 0);
	shutdown(pair.sock[0].fd, SHUT_WR);
	pair_poll(&pair);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), 3000);
	session_consume(pair.s[1], 3000);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), SOCK_FAILED);
	cr_assert_eq(pair.err[1].kind, ERR_TRUNCATED);
	close_pair();
}

static void abort_is_an_alert(void)
{
	open_pair();
	pair_send(&pair, 0, 500, 0);
	session_abort(pair.s[0]);
	session_flush(pair.s[0], &pair.err[0]);
	pair_poll(&pair);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), 500);
	session_consume(pair.s[1], 500);
	cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), SOCK_FAILED);
	cr_assert(strstr(pair.err[1].msg, "internal_error"), "%s", pair.err[1].msg);
	close_pair();
}

/* Every byte of a record changed in turn: no plaintext, and bad_record_mac or
 * another alert for the peer. */
static void tampered_records_are_refused(void)
{
	unsigned char record[200];
	ssize_t n;
	int at;

	for (at = 0; at < 40; at++) {
		open_pair();
		pair_send(&pair, 0, 18, 0);
		n = recv(pair.sock[1].fd, record, sizeof(record), 0);
		cr_assert_eq(n, newest == 13 ? 5 + 18 + 1 + 16 : 5 + 8 + 18 + 16);
		record[at] ^= 0x04;
		cr_assert_eq(send(pair.sock[0].fd, record, (size_t)n, 0), n);
		shutdown(pair.sock[0].fd, SHUT_WR);
		pair_poll(&pair);
		cr_assert_eq(session_fill(pair.s[1], &pair.err[1]), SOCK_FAILED, "byte %d", at);
		cr_assert(pair.err[1].msg[0]);
		close_pair();
	}
}

struct garbage {
	size_t n;
	char bytes[32];
	char says[32];
};

ParameterizedTestParameters(tls, garbage_is_refused)
{
	static struct garbage cases[] = {
		{ 16, "GET / HTTP/1.1\r\n", "HTTP" },
		{ 16, "SSH-2.0-OpenSSH\n", "SSH" },
		{ 12, "PROXY TCP4 1", "PROXY" },
		{ 8, "\0\0\0\0\0\0\0\0", "" },
		{ 8, "\x16\x03\x01\xff\xff\1\0\0", "" },
		{ 7, "\x15\x03\x01\0\2\2\x28", "" },
		{ 9, "\x17\x03\x03\0\4abcd", "" },
		{ 5, "\x16\x03\x01\0\0", "" },
		{ 1, "\x16", "" },
		{ 3, "\x16\x03\x01", "" },
		{ 9, "\x16\x03\x01\x00\x40\x01\x00\x00\x3c", "" },
		{ 0, "", "closed" },
	};

	return cr_make_param_array(struct garbage, cases, sizeof(cases) / sizeof(*cases));
}

ParameterizedTest(struct garbage *g, tls, garbage_is_refused)
{
	open_versions(12, 13, NULL);
	cr_assert_eq(send(pair.sock[0].fd, g->bytes, g->n, 0), (ssize_t)g->n);
	shutdown(pair.sock[0].fd, SHUT_WR);
	pair_poll(&pair);
	/* at the first call: the loop will not tell of this end again */
	cr_assert_eq(session_handshake(pair.s[1], &pair.err[1]), SOCK_FAILED);
	cr_assert(strstr(pair.err[1].msg, g->says), "%s", pair.err[1].msg);
	close_pair();
}

/* --- resumption -------------------------------------------------------------------------- */

static bool connect_again(struct tickets *t)
{
	struct session_info a, b;

	pair = (struct pair){ .peer = { .tickets = t } };
	pair_open(&pair, client, server);
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
	pair_carry(&pair, 0, 100, 100, 100);
	pair_carry(&pair, 1, 100, 100, 100); /* tickets ride here */
	session_info(pair.s[0], &a);
	session_info(pair.s[1], &b);
	cr_assert_eq(a.resumed, b.resumed);
	cr_assert_eq(pair.s[0]->direct && pair.s[1]->direct, plane == TLS_DATAPLANE_DIRECT);
	pair_close(&pair);
	return a.resumed;
}

ParameterizedTestParameters(tls, resumes)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, tls, resumes)
{
	struct tickets *t;
	int i;

	for (plane = TLS_DATAPLANE_GNUTLS; plane <= TLS_DATAPLANE_DIRECT; plane++) {
		t = tickets_new(4);
		open_versions(*version, *version, NULL);
		pair_close(&pair);
		cr_assert_not(connect_again(t));
		for (i = 0; i < 5; i++)
			cr_assert(connect_again(t), "connection %d", i);
		tickets_free(t);
		config_unref(client);
		config_unref(server);
	}
}

/* A peer that only writes and closes must not be sent tickets: it would answer
 * them with a reset. */
static void no_ticket_before_the_first_response(void)
{
	unsigned char byte;

	open_versions(13, 13, NULL);
	cr_assert(pair_shake(&pair));
	pair_carry(&pair, 0, 5000, 5000, 5000);
	cr_assert(recv(pair.sock[0].fd, &byte, 1, MSG_PEEK) < 0, "the server said something");
	pair_carry(&pair, 1, 10, 10, 10);
	close_pair();
}

Test(tls, tickets_are_used_once_and_the_oldest_go)
{
	struct tickets *t = tickets_new(2);
	gnutls_datum_t d;
	unsigned i;

	for (i = 1; i <= 3; i++) {
		d.data = gnutls_malloc(1);
		d.data[0] = (unsigned char)i;
		d.size = 1;
		tickets_put(t, &d);
		cr_assert_null(d.data);
	}
	for (i = 3; i >= 2; i--) {
		cr_assert_eq(tickets_take(t, &d), 0);
		cr_assert_eq(d.data[0], i);
		cert_wipe_datum(&d);
	}
	cr_assert_eq(tickets_take(t, &d), -1);
	tickets_free(t);
}

Test(tls, carries_pieces_of_any_size_on_each_plane)
{
	on_each_plane_and_version(carries_pieces_of_any_size);
}

Test(tls, holds_no_buffer_when_idle_on_each_plane)
{
	on_each_plane_and_version(holds_no_buffer_when_idle);
}

Test(tls, opens_all_that_came_at_once_on_each_plane)
{
	on_each_plane_and_version(opens_all_that_came_at_once);
}

Test(tls, keeps_data_behind_the_handshake_on_each_plane)
{
	on_each_plane_and_version(keeps_data_behind_the_handshake);
}

Test(tls, carries_on_over_key_updates_on_each_plane)
{
	on_each_plane(carries_on_over_key_updates);
}

Test(tls, close_notify_ends_one_direction_on_each_plane)
{
	on_each_plane_and_version(close_notify_ends_one_direction);
}

Test(tls, truncation_is_told_after_the_data_on_each_plane)
{
	on_each_plane_and_version(truncation_is_told_after_the_data);
}

Test(tls, abort_is_an_alert_on_each_plane)
{
	on_each_plane_and_version(abort_is_an_alert);
}

Test(tls, tampered_records_are_refused_on_each_plane)
{
	on_each_plane_and_version(tampered_records_are_refused);
}

Test(tls, no_ticket_before_the_first_response_on_each_plane)
{
	on_each_plane(no_ticket_before_the_first_response);
}
