/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* A probe's second connection, which resumes, its early data, and connections that are
 * kept to be used. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "tests/unit/probing.h"

TestSuite(probe_second, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

static void newest(int version)
{
	probing.tls.min_version = probing.tls.max_version = version;
}

/* --- resumption --------------------------------------------------------------------------------- */

ParameterizedTestParameters(probe_second, resumes)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, probe_second, resumes)
{
	newest(*version);
	probing.server.tickets = true;
	probing.goal.resume = true;
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->resumed, CHECK_YES);
	cr_assert_geq(probing.check->tickets, 1);
	cr_assert_gt(probing.check->ticket_lifetime_s, 0);
	cr_assert_not_null(probing.check->signature, "the first connection's");
	cr_assert_not_null(probing.check->chain);
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 2);
	cr_assert_eq(probing.server.resumed, 1);
}

ParameterizedTestParameters(probe_second, cannot_resume)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

/* It hands tickets out and takes none. */
ParameterizedTest(int *version, probe_second, cannot_resume)
{
	newest(*version);
	probing.server.tickets = probing.server.no_resumption = true;
	probing.goal.resume = true;
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "took our ticket for nothing");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_eq(probing.check->resumed, CHECK_NO);
	cr_assert_eq(probing.check->verify_ok, CHECK_YES);
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 2);
	cr_assert_eq(probing.server.resumed, 0);
}

/* The server's end says that no ticket comes: nobody waits for one. */
Test(probe_second, no_tickets)
{
	probing.goal.resume = true;
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "gave nothing to resume it with");
	cr_assert_eq(probing.check->tickets, 0);
	cr_assert_lt(probing.took_ms, 900);
}

/* A server with faults of identity is not asked for more. */
Test(probe_second, not_after_a_fault)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing.server.tickets = true;
	probing.goal.resume = true;
	probing_run();
	probing_must_end(CHECK_NAME);
	cr_assert_eq(probing.check->n_faults, 1);
	probing_end_server();
	cr_assert_eq(probing.server.peer.accepted, 1);
}

static void close_second(struct tls_server *s, int fd)
{
	if (s->peer.accepted > 1)
		shutdown(fd, SHUT_RDWR);
}

Test(probe_second, the_second_one_breaks)
{
	probing.server.tickets = true;
	probing.server.before = close_second;
	probing.goal.resume = true;
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "while resuming: ");
	cr_assert_eq(probing.check->verify_ok, CHECK_YES);
}

/* The second one is answered by somebody with another certificate. */
static void be_another(struct tls_server *s, int fd)
{
	(void)fd;
	if (s->peer.accepted < 2)
		return;
	gnutls_certificate_free_keys(s->cred);
	cr_assert_eq(gnutls_certificate_set_x509_key(s->cred, &probing_node[0].crt, 1, probing_node[0].key), 0);
}

static void probe_two_servers(bool keep)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=localhost", .names = { "dns:localhost" }, PROBING_VALID });
	probing.server.tickets = probing.server.no_resumption = true;
	probing.server.before = be_another;
	probing.goal.resume = true;
	probing.goal.keep = probing.takes = keep;
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUEST;
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "another certificate");
	cr_assert_null(probing.conn);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 1, "the second one did not see ours");
}

Test(probe_second, another_server)
{
	probe_two_servers(false);
}

Test(probe_second, another_server_to_talk_with)
{
	probe_two_servers(true);
}

/* --- early data ------------------------------------------------------------------------------------ */

static void send_early(size_t n)
{
	static const char data[100] = "GET / HTTP/1.0\r\n\r\n";

	newest(13);
	probing.server.tickets = true;
	probing.goal.resume = true;
	probing.goal.early = data;
	probing.goal.early_size = n;
	probing_run();
}

Test(probe_second, early_data_accepted)
{
	probing.server.early = 1000;
	send_early(18);
	probing_must_be_fine();
	cr_assert_eq(probing.check->early_data, CHECK_YES);
	cr_assert_eq(probing.check->resumed, CHECK_YES);
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 2);
	cr_assert_eq(probing.server.early_n, 18);
	cr_assert_eq(memcmp(probing.server.early_heard, "GET / HTTP/1.0\r\n\r\n", 18), 0);
	cr_assert_eq(probing.server.heard_n, 0);
}

Test(probe_second, early_data_rejected)
{
	probing.server.early = 1000;
	probing.server.replayed = true;
	send_early(18);
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "--early-data: the server rejected it");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_eq(probing.check->early_data, CHECK_NO);
	cr_assert_eq(probing.check->resumed, CHECK_YES);
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 2);
	cr_assert_eq(probing.server.early_n, 0);
	cr_assert_eq(probing.server.heard_n, 0, "nor is it sent again");
}

static void must_not_send(void)
{
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "the server's tickets allow none, or not so much");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_eq(probing.check->early_data, CHECK_UNKNOWN);
	cr_assert_eq(probing.check->resumed, CHECK_YES);
	probing_end_server();
	cr_assert_eq(probing.server.early_n + probing.server.heard_n, 0);
}

Test(probe_second, early_data_not_allowed)
{
	send_early(18);
	must_not_send();
}

Test(probe_second, more_early_data_than_allowed)
{
	probing.server.early = 50;
	send_early(51);
	must_not_send();
}

Test(probe_second, as_much_early_data_as_allowed)
{
	probing.server.early = 50;
	send_early(50);
	probing_must_be_fine();
	probing_end_server();
	cr_assert_eq(probing.server.early_n, 50);
}

/* --- connections that are kept --------------------------------------------------------------------- */

static void say_hello(void)
{
	struct session *s = probing.conn->session;
	struct iovec iov;
	size_t total;
	struct err e;

	cr_assert_eq(session_reserve(s, &iov, 1, &total), 1);
	memcpy(iov.iov_base, "hello", 5);
	cr_assert_eq(session_commit(s, 5, false, &e), 0, "%s", e.msg);
	cr_assert_eq(session_close_notify(s, &e), 0, "%s", e.msg);
	cr_assert_eq(session_flush(s, &e), 0, "%s", e.msg);
	probe_conn_free(probing.conn);
	probing.conn = NULL;
}

static void keep(void)
{
	probing.goal.keep = probing.takes = true;
	probing_run();
}

Test(probe_second, kept)
{
	keep();
	probing_must_be_fine();
	cr_assert_not_null(probing.conn);
	say_hello();
	probing_end_server();
	cr_assert(probing.server.heard_n == 5 && memcmp(probing.server.heard, "hello", 5) == 0);
	cr_assert_eq(probing.server.alert, -1);
}

/* Left to the probe, it is closed. */
Test(probe_second, kept_and_not_taken)
{
	probing.goal.keep = true;
	probing_run();
	probing_must_be_fine();
	probing_end_server();
	cr_assert_eq(probing.server.handshakes, 1);
}

/* Nobody waits for what a server says of our certificate: the talk will tell. */
Test(probe_second, kept_with_a_certificate)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	probing.server.then = tls_server_be_silent;
	keep();
	probing_must_be_fine();
	cr_assert_not_null(probing.conn);
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_UNKNOWN);
	cr_assert_lt(probing.took_ms, 900);
	probe_conn_free(probing.conn);
	probing.conn = NULL;
}

/* The last one, which resumed. */
Test(probe_second, kept_and_resumed)
{
	struct session_info i;

	probing.server.tickets = true;
	probing.goal.resume = true;
	keep();
	probing_must_be_fine();
	cr_assert_not_null(probing.conn);
	session_info(probing.conn->session, &i);
	cr_assert(i.resumed);
	say_hello();
	probing_end_server();
	cr_assert(probing.server.heard_n == 5 && memcmp(probing.server.heard, "hello", 5) == 0);
}

static void must_refuse(int code, int alert)
{
	keep();
	probing_must_end(code);
	cr_assert_eq(probing.check->n_faults, 1, "the first one ends it");
	cr_assert_null(probing.conn);
	cr_assert(probing.check->alert == alert && !probing.check->alert_received, "%d", probing.check->alert);
	cr_assert_null(probing.check->version);
	probing_end_server();
	cr_assert_eq(probing.server.alert, alert);
	cr_assert_eq(probing.server.handshakes, 0);
}

Test(probe_second, not_kept_for_another_name)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	must_refuse(CHECK_NAME, GNUTLS_A_CERTIFICATE_UNKNOWN);
}

Test(probe_second, not_kept_when_expired)
{
	probing_use_leaf((struct pki_spec){ .from_days = -2000, .to_days = -900 });
	must_refuse(CHECK_TIME, GNUTLS_A_CERTIFICATE_EXPIRED);
}

Test(probe_second, not_kept_when_untrusted)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=self", .names = { "dns:localhost" }, PROBING_VALID });
	probing.server.chain[0] = &probing_node[0];
	must_refuse(CHECK_UNTRUSTED, GNUTLS_A_UNKNOWN_CA);
}

Test(probe_second, not_kept_without_a_staple)
{
	probing.goal.must_staple = true;
	must_refuse(CHECK_STAPLE, GNUTLS_A_BAD_CERTIFICATE);
}

Test(probe_second, not_kept_against_expectation)
{
	static const char *const h2[] = { "h2" };

	probing.goal.expect_alpn = (struct probe_names){ h2, 1 };
	keep();
	probing_must_end(CHECK_EXPECT);
	cr_assert_null(probing.conn);
}

/* What nobody verifies is kept in spite of all. */
Test(probe_second, kept_without_verification)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing.tls.ca = NULL;
	probing.tls.insecure_no_verify = probing.goal.no_verify = true;
	keep();
	probing_must_end(CHECK_OK);
	cr_assert_not_null(probing.conn);
	probe_conn_free(probing.conn);
	probing.conn = NULL;
}
