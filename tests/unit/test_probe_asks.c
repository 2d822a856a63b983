/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What a probe asks others about a server: the DNS, and an OCSP responder. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/fake_tlsa.h"
#include "tests/unit/probing.h"
#include "tests/unit/responder.h"

TestSuite(probe_asks, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

/* --- TLSA records ---------------------------------------------------------------- */

static void look_up(const char *host)
{
	static struct addr elsewhere;
	static char name[64];
	struct err e;

	if (!fake_tlsa.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_tlsa.on = true;
	snprintf(name, sizeof(name), "dns:%s", host);
	probing_use_leaf((struct pki_spec){ .names = { name } });
	cr_assert_eq(addr_parse(&elsewhere, "127.0.0.1", ADDR_CONNECT, &e), 0);
	probing.goal.line.resolve = &elsewhere;
	probing.goal.dane = true;
	probing.host = host;
}

static void run_host(const char *host)
{
	char target[300];

	look_up(host);
	probing_run();
	snprintf(target, sizeof(target), "%s:%u", host, probing.server.peer.port);
	cr_assert_str_eq(probing.check->target, target);
}

Test(probe_asks, looked_up_and_no_match)
{
	run_host("secure.fake.test");
	probing_must_end(CHECK_PIN);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "DANE: ");
	cr_assert_str_eq(probing.check->dane, "no-match");
	cr_assert_eq(fake_tlsa.port, probing.server.peer.port);
	cr_assert_str_eq(fake_tlsa.host, "secure.fake.test");
}

Test(probe_asks, looked_up_and_there_are_none)
{
	run_host("none.fake.test");
	probing_must_end(CHECK_PIN);
	probing_must_say(CHECK_PIN, CHECK_AT_DNS, "there are no TLSA records");
	cr_assert_str_eq(probing.check->dane, "no-records");
	cr_assert_eq(probing.check->verify_ok, CHECK_NO);
	cr_assert_str_eq(probing.check->version, "TLS1.3");
}

Test(probe_asks, looked_up_in_vain)
{
	run_host("fails.fake.test");
	probing_must_end(CHECK_DNS);
	probing_must_say(CHECK_DNS, CHECK_AT_DNS, "no luck");
	cr_assert_str_eq(probing.check->dane, "error");
}

Test(probe_asks, look_ups_are_not_built_in)
{
	fake_tlsa.missing = true;
	run_host("secure.fake.test");
	probing_must_end(CHECK_FAILED);
	probing_must_say(CHECK_FAILED, CHECK_AT_DNS, "not built in");
}

/* The line is there first, and waits. */
Test(probe_asks, looked_up_slowly)
{
	run_host("slow.fake.test");
	probing_must_end(CHECK_PIN);
	cr_assert_str_eq(probing.check->dane, "no-match");
}

/* Without a connection that is what is wrong, whichever of the two is there first. */
static void must_be_refused(const char *host)
{
	char target[64];

	look_up(host);
	snprintf(target, sizeof(target), "%s:%u", host, peer_nobody());
	probing_start(target);
	probing_wait();
	probing_must_end(CHECK_CONNECT);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_null(probing.check->dane);
}

Test(probe_asks, looked_up_and_nobody_listens)
{
	must_be_refused("none.fake.test");
}

Test(probe_asks, nobody_listens_while_it_is_looked_up)
{
	must_be_refused("held.fake.test");
	fake_tlsa_let_go();
}

/* The deadline ends it, and not the limit of the look-up. */
Test(probe_asks, looked_up_without_an_answer)
{
	probing.goal.timeout_ms = 80;
	run_host("held.fake.test");
	probing_must_end(CHECK_DEADLINE);
	probing_must_say(CHECK_DEADLINE, CHECK_AT_DNS, "no answer from the DNS about TLSA records");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_null(probing.check->dane);
	cr_assert_gt(fake_tlsa.timeout_ms, 80);
	fake_tlsa_let_go();
}

/* --- an OCSP responder ------------------------------------------------------------------------- */

static struct responder responder;

/* The port is not known before; nor is the certificate that the answer is about. */
static void start_responder(responder_fn *how, struct ocsp_make_single single)
{
	static char url[64];
	gnutls_datum_t der;
	int n;

	responder_start(&responder, how, "", 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", responder.port);
	probing_use_leaf((struct pki_spec){ .ocsp_url = url });
	der = probing_ocsp(single);
	n = snprintf(responder.says, sizeof(responder.says), "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\n"
		"Content-Length: %u\r\n\r\n", der.size);
	memcpy(responder.says + n, der.data, der.size);
	responder.n = (size_t)n + der.size;
	gnutls_free(der.data);
	probing.goal.ocsp = true;
	probing.goal.ocsp_timeout_ms = 3000;
}

Test(probe_asks, responder_says_good)
{
	start_responder(responder_speak, (struct ocsp_make_single){ .crt = NULL });
	probing_run();
	probing_must_be_fine();
	cr_assert(probing.check->ocsp_asked && probing.check->ocsp.status == OCSP_GOOD);
	cr_assert_not_null(strstr(probing.check->ocsp_url, "127.0.0.1"));
	cr_assert_eq(probing.check->staple.status, OCSP_NONE);
	responder_end(&responder);
}

Test(probe_asks, responder_says_revoked)
{
	start_responder(responder_speak, (struct ocsp_make_single){ .status = GNUTLS_OCSP_CERT_REVOKED,
		.revoked_at = time(NULL) - 86400 });
	probing_run();
	probing_must_end(CHECK_REVOKED);
	probing_must_say(CHECK_REVOKED, CHECK_AT_VERIFY, "the OCSP responder: ");
	cr_assert_eq(probing.check->verify_ok, CHECK_NO);
	responder_end(&responder);
}

Test(probe_asks, responder_without_verification)
{
	start_responder(responder_speak, (struct ocsp_make_single){ .status = GNUTLS_OCSP_CERT_REVOKED,
		.revoked_at = time(NULL) - 86400 });
	probing.goal.no_verify = true;
	probing_run();
	probing_must_end(CHECK_OK);
	probing_must_warn("the OCSP responder: ");
	responder_end(&responder);
}

Test(probe_asks, responder_has_a_time_of_its_own)
{
	start_responder(responder_be_silent, (struct ocsp_make_single){ .crt = NULL });
	probing.goal.ocsp_timeout_ms = 60;
	probing_run();
	probing_must_end(CHECK_STAPLE);
	probing_must_say(CHECK_STAPLE, CHECK_AT_VERIFY, "no answer within 60");
	cr_assert_str_eq(probing.check->version, "TLS1.3");
	responder_end(&responder);
}

Test(probe_asks, no_responder_to_ask)
{
	probing.goal.ocsp = true;
	probing_run();
	probing_must_end(CHECK_OK);
	probing_must_warn("names no OCSP responder");
	cr_assert_not(probing.check->ocsp_asked);
}

/* A talk must not begin with a server that is revoked. */
Test(probe_asks, nothing_is_taken_from_a_revoked_server)
{
	start_responder(responder_speak, (struct ocsp_make_single){ .status = GNUTLS_OCSP_CERT_REVOKED,
		.revoked_at = time(NULL) - 86400 });
	probing.goal.keep = probing.takes = true;
	probing_run();
	probing_must_end(CHECK_REVOKED);
	cr_assert_null(probing.conn);
	responder_end(&responder);
}

/* The handshake is over long before the answer. */
Test(probe_asks, a_connection_is_kept_for_the_answer)
{
	start_responder(responder_speak_in_bytes, (struct ocsp_make_single){ .crt = NULL });
	probing.goal.keep = probing.takes = true;
	probing_run();
	probing_must_be_fine();
	cr_assert_not_null(probing.conn);
	responder_end(&responder);
}

/* --- what is shown or sent is not until the answer is here ------------------------------------- */

/* Longer than another ticket is waited for. */
static void speak_late(struct responder *s, int fd)
{
	usleep(100000);
	responder_speak(s, fd);
}

static void start_revoked(responder_fn *how)
{
	start_responder(how, (struct ocsp_make_single){ .status = GNUTLS_OCSP_CERT_REVOKED, .revoked_at = time(NULL) - 86400 });
}

/* A check or a talk, in TLS 1.2 or 1.3. */
struct way {
	bool keep;
	int version;
};

static struct way ways[] = { { false, 12 }, { false, 13 }, { true, 12 }, { true, 13 } };

static void go(const struct way *w)
{
	probing.goal.keep = probing.takes = w->keep;
	probing.tls.min_version = probing.tls.max_version = w->version;
	probing.server.wants = GNUTLS_CERT_REQUEST;
	probing_use_client_cert();
	probing_run();
	responder_end(&responder);
}

ParameterizedTestParameters(probe_asks, no_certificate_for_a_revoked_server)
{
	return cr_make_param_array(struct way, ways, sizeof(ways) / sizeof(*ways));
}

ParameterizedTest(struct way *w, probe_asks, no_certificate_for_a_revoked_server)
{
	start_revoked(responder_speak);
	go(w);
	probing_must_end(CHECK_REVOKED);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_eq(probing.check->client_cert_sent, CHECK_NO);
	cr_assert_null(probing.conn);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 0);
	cr_assert_eq(probing.server.alert, GNUTLS_A_CERTIFICATE_REVOKED);
}

ParameterizedTestParameters(probe_asks, a_certificate_waits_for_the_answer)
{
	return cr_make_param_array(struct way, ways, sizeof(ways) / sizeof(*ways));
}

ParameterizedTest(struct way *w, probe_asks, a_certificate_waits_for_the_answer)
{
	start_responder(responder_speak_in_bytes, (struct ocsp_make_single){ .crt = NULL });
	go(w);
	probing_must_be_fine();
	cr_assert_eq(probing.check->client_cert_sent, CHECK_YES);
	cr_assert_eq(probing.conn != NULL, w->keep);
	probe_conn_free(probing.conn);
	probing.conn = NULL;
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 1);
}

Test(probe_asks, no_certificate_where_nobody_can_be_asked)
{
	probing_use_leaf((struct pki_spec){ .ocsp_url = "ldap://ocsp.example/" });
	probing.goal.ocsp = true;
	probing.server.wants = GNUTLS_CERT_REQUEST;
	probing_use_client_cert();
	probing_run();
	probing_must_end(CHECK_STAPLE);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 0);
}

static void send_early(void)
{
	probing.server.tickets = true;
	probing.server.early = 1000;
	probing.tls.min_version = 13;
	probing.goal.resume = true;
	probing.goal.early = "GET /";
	probing.goal.early_size = 5;
	probing_run();
	responder_end(&responder);
	probing_end_server();
}

Test(probe_asks, no_early_data_for_a_revoked_server)
{
	start_revoked(speak_late);
	send_early();
	probing_must_end(CHECK_REVOKED);
	cr_assert_eq(probing.server.peer.accepted, 1);
	cr_assert_eq(probing.server.early_n, 0);
}

Test(probe_asks, early_data_waits_for_the_answer)
{
	start_responder(responder_speak_in_bytes, (struct ocsp_make_single){ .crt = NULL });
	send_early();
	probing_must_be_fine();
	cr_assert_eq(probing.check->early_data, CHECK_YES);
	cr_assert_eq(probing.server.early_n, 5);
}

/* --- the deadline is for all of it ------------------------------------------------------------ */

static void run_late(void)
{
	start_responder(responder_be_silent, (struct ocsp_make_single){ .crt = NULL });
	probing.goal.timeout_ms = 100;
	probing_run();
	responder_end(&responder);
	probing_must_end(CHECK_DEADLINE);
	probing_must_say(CHECK_DEADLINE, CHECK_AT_VERIFY, "no answer from the OCSP responder");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_lt(probing.took_ms, 900);
}

Test(probe_asks, late_answer_behind_a_handshake)
{
	run_late();
}

Test(probe_asks, late_answer_within_a_handshake)
{
	probing_use_client_cert();
	run_late();
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 0);
}

/* The server was asked for nothing, and yet it may still say something. */
Test(probe_asks, late_answer_while_a_server_is_silent)
{
	probing.server.wants = GNUTLS_CERT_REQUEST;
	probing.server.then = tls_server_be_silent;
	run_late();
}
