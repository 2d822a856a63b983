/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What a session can tell of itself, who else may judge a server, and early data. */

#include <criterion/criterion.h>
#include <string.h>

#include "lib/tls/tls_int.h"
#include "tests/unit/pair.h"
#include "tests/unit/pki.h"
#include "tests/unit/timeout.h"

static struct pki pki;
static struct pair pair;
static struct tls_options co, so;
static struct tls_config *client, *server;
static const char *srv[2], *app[2];
static char paths[6][100];

static const char *keep_path(size_t i, const char *file)
{
	snprintf(paths[i], sizeof(paths[i]), "%s", pki_path(&pki, file));
	return paths[i];
}

static void make(void)
{
	pki_make(&pki);
	pki_leaf(&pki, "srv", &(struct pki_leaf){ .dn = "CN=srv", .dns = "srv.example" });
	pki_leaf(&pki, "app", &(struct pki_leaf){ .dn = "CN=app", .client = true });
	srv[0] = keep_path(0, "srv.pem");
	srv[1] = keep_path(1, "srv.key");
	app[0] = keep_path(2, "app.pem");
	app[1] = keep_path(3, "app.key");
	co = pair_options(TLS_CLIENT);
	co.ca = keep_path(4, "ca.pem");
	so = pair_options(TLS_SERVER);
	so.certs = (struct names_list){ &srv[0], 1 };
	so.keys = (struct names_list){ &srv[1], 1 };
	pair.peer.name = "srv.example";
}

static void shut(void)
{
	if (!client)
		return;
	pair_close(&pair);
	config_unref(client);
	config_unref(server);
	client = server = NULL;
}

static void drop(void)
{
	shut();
	pki_free(&pki);
}

TestSuite(tls_story, .init = make, .fini = drop, .timeout = TEST_TIMEOUT);

static void configure(int version)
{
	struct err e = { 0 };

	if (version)
		co.min_version = co.max_version = version;
	client = config_new(&co, &e);
	cr_assert(client, "%s", e.msg);
	server = config_new(&so, &e);
	cr_assert(server, "%s", e.msg);
}

static void open_pair(int version)
{
	configure(version);
	pair_open(&pair, client, server);
}

static void shake(void)
{
	cr_assert(pair_shake(&pair), "%s / %s", pair.err[0].msg, pair.err[1].msg);
}

static struct session_story story(int side)
{
	struct session_story s;

	session_story(pair.s[side], &s);
	return s;
}

/* --- the story ------------------------------------------------------------------------------- */

Test(tls_story, nothing_yet)
{
	struct session_story s;
	gnutls_datum_t der;
	size_t n = 7;

	open_pair(0);
	s = story(0);
	cr_assert(!s.hello_retry && s.tickets == 0 && s.ticket_lifetime_s == -1 && !s.early_sent && !s.early_accepted);
	cr_assert(!s.certificate_requested && !s.certificate_sent);
	cr_assert(s.alert == -1 && !s.alert_received && s.alert_name[0] == '\0');
	cr_assert(!session_chain(pair.s[0], &n) && n == 0);
	cr_assert_eq(session_staple(pair.s[0], 0, &der), -1);
}

static void retry(int version, bool expected)
{
	static const char *group = "SECP384R1";

	so.groups = (struct names_list){ &group, 1 };
	open_pair(version);
	shake();
	cr_assert_eq(story(0).hello_retry, expected);
	cr_assert_eq(story(1).hello_retry, false, "a server sends no ClientHello");
}

Test(tls_story, hello_retry)
{
	retry(13, true);
}

Test(tls_story, no_retry_in_12)
{
	retry(12, false);
}

Test(tls_story, no_retry)
{
	open_pair(13);
	shake();
	cr_assert_not(story(0).hello_retry);
}

static void count_tickets(int version, unsigned made, unsigned expected)
{
	so.tickets = made;
	open_pair(version);
	shake();
	pair_carry(&pair, 0, 100, 100, 100);
	pair_carry(&pair, 1, 100, 100, 100); /* tickets ride here */
	cr_assert_eq(story(0).tickets, expected, "%u", story(0).tickets);
	cr_assert_eq(story(0).ticket_lifetime_s > 0, expected > 0);
	cr_assert_eq(story(1).tickets, 0);
}

Test(tls_story, tickets)
{
	count_tickets(13, 3, 3);
}

Test(tls_story, tickets_in_12)
{
	count_tickets(12, 3, 1);
}

Test(tls_story, no_tickets)
{
	count_tickets(13, 0, 0);
}

Test(tls_story, no_tickets_in_12)
{
	count_tickets(12, 0, 0);
}

static void must_have_alert(int side, bool received, int alert, const char *name)
{
	struct session_story s = story(side);

	cr_assert_eq(s.alert, alert, "side %d: %d %s", side, s.alert, s.alert_name);
	cr_assert_eq(s.alert_received, received, "side %d", side);
	cr_assert_str_eq(s.alert_name, name);
}

Test(tls_story, no_alert)
{
	open_pair(13);
	shake();
	must_have_alert(0, false, -1, "");
	must_have_alert(1, false, -1, "");
}

/* Ours, since the certificate is refused. */
static void refuse_name(int version)
{
	pair.peer.name = "other.example";
	open_pair(version);
	cr_assert_not(pair_shake(&pair));
	must_have_alert(0, false, GNUTLS_A_CERTIFICATE_UNKNOWN, "certificate_unknown");
	must_have_alert(1, true, GNUTLS_A_CERTIFICATE_UNKNOWN, "certificate_unknown");
}

Test(tls_story, alert_that_was_sent)
{
	refuse_name(13);
}

Test(tls_story, alert_that_was_sent_in_12)
{
	refuse_name(12);
}

/* The server's, since there is nothing in common. */
Test(tls_story, alert_that_was_received)
{
	static const char *one = "TLS_AES_128_GCM_SHA256", *other = "TLS_CHACHA20_POLY1305_SHA256";

	co.suites = (struct names_list){ &one, 1 };
	so.suites = (struct names_list){ &other, 1 };
	open_pair(13);
	cr_assert_not(pair_shake(&pair));
	must_have_alert(0, true, GNUTLS_A_HANDSHAKE_FAILURE, "handshake_failure");
	must_have_alert(1, false, GNUTLS_A_HANDSHAKE_FAILURE, "handshake_failure");
}

static void show_certificate(int version, bool wanted, bool given)
{
	struct session_story s;

	if (wanted)
		so.client_ca = keep_path(5, "ca.pem");
	if (given) {
		co.certs = (struct names_list){ &app[0], 1 };
		co.keys = (struct names_list){ &app[1], 1 };
	}
	open_pair(version);
	pair_shake(&pair);
	s = story(0);
	cr_assert_eq(s.certificate_requested, wanted);
	cr_assert_eq(s.certificate_sent, wanted && given);
	cr_assert_eq(pair.done[1] == 1, !wanted || given, "%s", pair.err[1].msg);
	s = story(1);
	cr_assert(!s.certificate_requested && !s.certificate_sent);
}

Test(tls_story, certificate_shown)
{
	show_certificate(13, true, true);
}

Test(tls_story, certificate_shown_in_12)
{
	show_certificate(12, true, true);
}

Test(tls_story, certificate_wanted)
{
	show_certificate(13, true, false);
}

Test(tls_story, certificate_wanted_in_12)
{
	show_certificate(12, true, false);
}

Test(tls_story, certificate_not_wanted)
{
	show_certificate(13, false, true);
}

/* --- chain and staple ---------------------------------------------------------------------------- */

static gnutls_datum_t der_of(const char *file)
{
	gnutls_datum_t pem, der;
	struct err e;

	cr_assert_eq(cert_read_file("--cert", pki_path(&pki, file), &pem, &e), 0, "%s", e.msg);
	cr_assert(gnutls_pem_base64_decode2("CERTIFICATE", &pem, &der) == 0);
	gnutls_free(pem.data);
	return der;
}

static void must_be(const gnutls_datum_t *sent, const char *file)
{
	gnutls_datum_t der = der_of(file);

	cr_assert(sent->size == der.size && memcmp(sent->data, der.data, der.size) == 0, "%s", file);
	gnutls_free(der.data);
}

/* As it was sent: its own first, the one that nobody needs behind it. */
static void show_chain(int version)
{
	gnutls_datum_t leaf = der_of("srv.pem"), ca = der_of("ca.pem"), all[2] = { leaf, ca };
	const gnutls_datum_t *sent;
	char both[8192];
	size_t n, size = 0;

	for (int i = 0; i < 2; i++) {
		gnutls_datum_t pem;

		cr_assert(gnutls_pem_base64_encode2("CERTIFICATE", &all[i], &pem) == 0);
		memcpy(both + size, pem.data, pem.size);
		size += pem.size;
		gnutls_free(pem.data);
		gnutls_free(all[i].data);
	}
	pki_write(&pki, "both.pem", both, size);
	srv[0] = keep_path(0, "both.pem");
	open_pair(version);
	shake();
	sent = session_chain(pair.s[0], &n);
	cr_assert_eq(n, 2);
	must_be(&sent[0], "srv.pem");
	must_be(&sent[1], "ca.pem");
	cr_assert(!session_chain(pair.s[1], &n) && n == 0, "the client showed none");
}

Test(tls_story, chain)
{
	show_chain(13);
}

Test(tls_story, chain_in_12)
{
	show_chain(12);
}

static int staple(gnutls_session_t gs, void *arg, gnutls_datum_t *out)
{
	(void)gs;
	out->size = (unsigned)strlen(arg);
	out->data = gnutls_malloc(out->size);
	memcpy(out->data, arg, out->size);
	return 0;
}

/* The bytes as they came, whatever they are worth. */
static void show_staple(int version)
{
	static char text[] = "this is no OCSP answer";
	gnutls_datum_t der;

	configure(version);
	gnutls_certificate_set_ocsp_status_request_function(server->cert, staple, text);
	pair_open(&pair, client, server);
	pair_shake(&pair);
	cr_assert_eq(session_staple(pair.s[0], 0, &der), 0);
	cr_assert(der.size == strlen(text) && memcmp(der.data, text, der.size) == 0);
	cr_assert_eq(session_staple(pair.s[0], 1, &der), -1);
}

Test(tls_story, staple)
{
	show_staple(13);
}

Test(tls_story, staple_in_12)
{
	show_staple(12);
}

Test(tls_story, no_staple)
{
	gnutls_datum_t der;

	open_pair(13);
	shake();
	cr_assert_eq(session_staple(pair.s[0], 0, &der), -1);
}

/* --- the judge ------------------------------------------------------------------------------------- */

struct trial {
	int called, alert; /* alert: what it says; 0: welcome */
	size_t n_chain;
	bool sent; /* our certificate, by then */
};

static int judge(void *arg, struct session *s, struct err *e)
{
	struct trial *t = arg;
	struct session_story now;

	cr_assert_eq(s, pair.s[0]);
	t->called++;
	session_chain(s, &t->n_chain);
	session_story(s, &now);
	t->sent = now.certificate_sent;
	if (t->alert)
		err_set(e, ERR_AUTH, "I do not like it");
	return t->alert;
}

static struct trial trial;

static void use_judge(int alert)
{
	trial = (struct trial){ .alert = alert };
	pair.peer.judge = judge;
	pair.peer.arg = &trial;
}

/* In the configuration's place, which would refuse it. */
Test(tls_story, judge_lets_pass)
{
	for (int version = 12; version <= 13; version++) {
		pair.peer.name = "other.example";
		use_judge(0);
		open_pair(version);
		shake();
		cr_assert_eq(trial.called, 1, "once a handshake");
		cr_assert_eq(trial.n_chain, 1);
		pair_carry(&pair, 0, 1000, 1000, 1000);
		shut();
	}
}

/* Each alert goes out as it is said, and our certificate does not. */
Test(tls_story, judge_refuses)
{
	static const int alerts[] = { GNUTLS_A_BAD_CERTIFICATE, GNUTLS_A_CERTIFICATE_REVOKED, GNUTLS_A_CERTIFICATE_EXPIRED,
		GNUTLS_A_CERTIFICATE_UNKNOWN, GNUTLS_A_UNKNOWN_CA, GNUTLS_A_ACCESS_DENIED };
	const size_t n = sizeof(alerts) / sizeof(*alerts);
	struct session_certificate shown;

	so.client_ca = keep_path(5, "ca.pem");
	co.certs = (struct names_list){ &app[0], 1 };
	co.keys = (struct names_list){ &app[1], 1 };
	for (size_t i = 0; i < 2 * n; i++) {
		use_judge(alerts[i % n]);
		open_pair(i < n ? 13 : 12);
		cr_assert_not(pair_shake(&pair));
		cr_assert_eq(trial.called, 1);
		cr_assert_not(trial.sent);
		cr_assert_eq(pair.done[0], SOCK_FAILED);
		cr_assert_eq(pair.err[0].kind, ERR_AUTH);
		cr_assert_str_eq(pair.err[0].msg, "I do not like it");
		cr_assert(story(0).alert == alerts[i % n] && !story(0).alert_received);
		cr_assert_not(story(0).certificate_sent);
		cr_assert(story(1).alert == alerts[i % n] && story(1).alert_received, "%zu: %d", i, story(1).alert);
		cr_assert_eq(session_certificate(pair.s[1], &shown), -1);
		shut();
	}
}

static void connect_for_tickets(struct tickets *t)
{
	pair.peer.tickets = t;
	pair_open(&pair, client, server);
	shake();
	pair_carry(&pair, 0, 100, 100, 100);
	pair_carry(&pair, 1, 100, 100, 100); /* tickets ride here */
}

Test(tls_story, judge_is_not_asked_of_a_session_that_is_resumed)
{
	struct tickets *t;
	struct session_info info;

	for (int version = 12; version <= 13; version++) {
		t = tickets_new(4);
		use_judge(0);
		configure(version);
		connect_for_tickets(t);
		cr_assert_eq(trial.called, 1);
		pair_close(&pair);
		use_judge(GNUTLS_A_ACCESS_DENIED);
		connect_for_tickets(t);
		session_info(pair.s[0], &info);
		cr_assert(info.resumed);
		cr_assert_eq(trial.called, 0);
		tickets_free(t);
		shut();
	}
}

Test(tls_story, judge_is_not_asked_of_a_pre_shared_key)
{
	static const char line[] = "one:00112233445566778899aabbccddeeff\n";
	static char file[100];
	struct session_info info;

	pki_write(&pki, "psk", line, sizeof(line) - 1);
	snprintf(file, sizeof(file), "%s", pki_path(&pki, "psk"));
	so = pair_options(TLS_SERVER);
	so.psk_file = co.psk_file = file;
	co.ca = NULL;
	use_judge(GNUTLS_A_ACCESS_DENIED);
	open_pair(13);
	shake();
	session_info(pair.s[0], &info);
	cr_assert(info.by_psk);
	cr_assert_eq(trial.called, 0);
}

/* --- early data ---------------------------------------------------------------------------------------- */

#define EARLY_MAX 100

static int remember(void *arg, time_t expires, const gnutls_datum_t *key, const gnutls_datum_t *data)
{
	(void)arg, (void)expires, (void)key, (void)data;
	return 0;
}

static gnutls_anti_replay_t anti_replay;

/* A session of ours does not take any, so what GnuTLS has is switched on beneath it. */
static void take_early(void)
{
	gnutls_anti_replay_enable(pair.s[1]->gs, anti_replay);
	cr_assert_eq(gnutls_record_set_max_early_data_size(pair.s[1]->gs, EARLY_MAX), 0);
}

static void early_connection(struct tickets *t, bool takes, const void *data, size_t n)
{
	server->init_flags = takes ? server->init_flags | GNUTLS_ENABLE_EARLY_DATA
				   : server->init_flags & ~(unsigned)GNUTLS_ENABLE_EARLY_DATA;
	pair.peer.tickets = t;
	pair.peer.early = data;
	pair.peer.early_size = n;
	pair_open(&pair, client, server);
	if (takes)
		take_early();
	shake();
	pair_carry(&pair, 0, 40000, 10000, 10000);
	pair_carry(&pair, 1, 40000, 10000, 10000); /* tickets ride here */
}

static char sent[EARLY_MAX + 1];

/* A first connection, and a second one with n bytes. Returns how many the server got. */
static size_t send_early(bool first_takes, bool second_takes, size_t n)
{
	struct tickets *t = tickets_new(4);
	char got[2 * EARLY_MAX];
	ssize_t r;

	memset(sent, 'e', sizeof(sent));
	gnutls_anti_replay_init(&anti_replay);
	gnutls_anti_replay_set_add_function(anti_replay, remember);
	configure(13);
	early_connection(t, first_takes, sent, n);
	cr_assert(!story(0).early_sent && !story(0).early_accepted, "without a ticket");
	pair_close(&pair);
	early_connection(t, second_takes, sent, n);
	cr_assert(gnutls_session_is_resumed(pair.s[0]->gs));
	r = gnutls_record_recv_early_data(pair.s[1]->gs, got, sizeof(got));
	tickets_free(t);
	cr_assert(r <= 0 || memcmp(got, sent, (size_t)r) == 0);
	return r > 0 ? (size_t)r : 0;
}

static void end_early(void)
{
	shut();
	gnutls_anti_replay_deinit(anti_replay);
}

Test(tls_story, early_data)
{
	cr_assert_eq(send_early(true, true, EARLY_MAX), EARLY_MAX);
	cr_assert(story(0).early_sent && story(0).early_accepted);
	end_early();
}

/* It still allowed it when it gave the ticket. */
Test(tls_story, early_data_rejected)
{
	cr_assert_eq(send_early(true, false, 10), 0);
	cr_assert(story(0).early_sent && !story(0).early_accepted);
	end_early();
}

Test(tls_story, early_data_not_allowed)
{
	cr_assert_eq(send_early(false, true, 10), 0);
	cr_assert(!story(0).early_sent && !story(0).early_accepted);
	end_early();
}

Test(tls_story, more_early_data_than_allowed)
{
	cr_assert_eq(send_early(true, true, EARLY_MAX + 1), 0);
	cr_assert(!story(0).early_sent && !story(0).early_accepted);
	end_early();
}

/* --- a session that is resumed -------------------------------------------------------------------------- */

Test(tls_story, resumed)
{
	for (int version = 12; version <= 13; version++) {
		struct tickets *t = tickets_new(4);
		size_t n;

		configure(version);
		connect_for_tickets(t);
		pair_close(&pair);
		connect_for_tickets(t);
		cr_assert(gnutls_session_is_resumed(pair.s[0]->gs));
		session_chain(pair.s[0], &n);
		cr_assert_eq(n, 0, "version %d: %zu", version, n);
		tickets_free(t);
		shut();
	}
}
