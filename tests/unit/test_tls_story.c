/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What a session can tell of itself. */

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/story_pair.h"
#include "tests/unit/timeout.h"

TestSuite(tls_story, .init = story_make, .fini = story_drop, .timeout = TEST_TIMEOUT);

/* --- the story ------------------------------------------------------------------------------- */

Test(tls_story, nothing_yet)
{
	struct session_story s;
	gnutls_datum_t der;
	size_t n = 7;

	story_open(0);
	s = story_of(0);
	cr_assert(!s.hello_retry && s.tickets == 0 && s.ticket_lifetime_s == -1 && !s.early_sent && !s.early_accepted);
	cr_assert(!s.certificate_requested && !s.certificate_sent);
	cr_assert(s.alert == -1 && !s.alert_received && s.alert_name[0] == '\0');
	cr_assert(!session_chain(story_pair.s[0], &n) && n == 0);
	cr_assert_eq(session_staple(story_pair.s[0], 0, &der), -1);
}

static void retry(int version, bool expected)
{
	static const char *group = "SECP384R1";

	story_so.groups = (struct names_list){ &group, 1 };
	story_open(version);
	story_shake();
	cr_assert_eq(story_of(0).hello_retry, expected);
	cr_assert_eq(story_of(1).hello_retry, false, "a server sends no ClientHello");
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
	story_open(13);
	story_shake();
	cr_assert_not(story_of(0).hello_retry);
}

static void count_tickets(int version, unsigned made, unsigned expected)
{
	story_so.tickets = made;
	story_open(version);
	story_shake();
	pair_carry(&story_pair, 0, 100, 100, 100);
	pair_carry(&story_pair, 1, 100, 100, 100); /* tickets ride here */
	cr_assert_eq(story_of(0).tickets, expected, "%u", story_of(0).tickets);
	cr_assert_eq(story_of(0).ticket_lifetime_s > 0, expected > 0);
	cr_assert_eq(story_of(1).tickets, 0);
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
	struct session_story s = story_of(side);

	cr_assert_eq(s.alert, alert, "side %d: %d %s", side, s.alert, s.alert_name);
	cr_assert_eq(s.alert_received, received, "side %d", side);
	cr_assert_str_eq(s.alert_name, name);
}

Test(tls_story, no_alert)
{
	story_open(13);
	story_shake();
	must_have_alert(0, false, -1, "");
	must_have_alert(1, false, -1, "");
}

/* Ours, since the certificate is refused. */
static void refuse_name(int version)
{
	story_pair.peer.name = "other.example";
	story_open(version);
	cr_assert_not(pair_shake(&story_pair));
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

	story_co.suites = (struct names_list){ &one, 1 };
	story_so.suites = (struct names_list){ &other, 1 };
	story_open(13);
	cr_assert_not(pair_shake(&story_pair));
	must_have_alert(0, true, GNUTLS_A_HANDSHAKE_FAILURE, "handshake_failure");
	must_have_alert(1, false, GNUTLS_A_HANDSHAKE_FAILURE, "handshake_failure");
}

static void show_certificate(int version, bool wanted, bool given)
{
	struct session_story s;

	if (wanted)
		story_so.client_ca = story_path(5, "ca.pem");
	if (given) {
		story_co.certs = (struct names_list){ &story_app[0], 1 };
		story_co.keys = (struct names_list){ &story_app[1], 1 };
	}
	story_open(version);
	pair_shake(&story_pair);
	s = story_of(0);
	cr_assert_eq(s.certificate_requested, wanted);
	cr_assert_eq(s.certificate_sent, wanted && given);
	cr_assert_eq(story_pair.done[1] == 1, !wanted || given, "%s", story_pair.err[1].msg);
	s = story_of(1);
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

	cr_assert_eq(cert_read_file("--cert", pki_path(&story_pki, file), &pem, &e), 0, "%s", e.msg);
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
	pki_write(&story_pki, "both.pem", both, size);
	story_srv[0] = story_path(0, "both.pem");
	story_open(version);
	story_shake();
	sent = session_chain(story_pair.s[0], &n);
	cr_assert_eq(n, 2);
	must_be(&sent[0], "srv.pem");
	must_be(&sent[1], "ca.pem");
	cr_assert(!session_chain(story_pair.s[1], &n) && n == 0, "the client showed none");
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

	story_configure(version);
	gnutls_certificate_set_ocsp_status_request_function(story_server->cert, staple, text);
	pair_open(&story_pair, story_client, story_server);
	pair_shake(&story_pair);
	cr_assert_eq(session_staple(story_pair.s[0], 0, &der), 0);
	cr_assert(der.size == strlen(text) && memcmp(der.data, text, der.size) == 0);
	cr_assert_eq(session_staple(story_pair.s[0], 1, &der), -1);
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

	story_open(13);
	story_shake();
	cr_assert_eq(session_staple(story_pair.s[0], 0, &der), -1);
}

/* --- a session that is resumed -------------------------------------------------------------------------- */

Test(tls_story, resumed)
{
	for (int version = 12; version <= 13; version++) {
		struct tickets *t = tickets_new(4);
		size_t n;

		story_configure(version);
		story_connect_for_tickets(t);
		pair_close(&story_pair);
		story_connect_for_tickets(t);
		cr_assert(gnutls_session_is_resumed(story_pair.s[0]->gs));
		session_chain(story_pair.s[0], &n);
		cr_assert_eq(n, 0, "version %d: %zu", version, n);
		tickets_free(t);
		story_shut();
	}
}
