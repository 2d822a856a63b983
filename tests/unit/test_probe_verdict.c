/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What is expected of a server beyond who it is, and what it makes of a client. */

#include <math.h>

#include "lib/probe/probe_int.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/probing.h"

TestSuite(probe_verdict, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

/* --- limits ----------------------------------------------------------------------------------- */

/* A check at PKI_NOW, and some seconds later, of a certificate with a life of so many days. */
static void check_limits(int from, int to, int late_s, const char *warn, const char *crit)
{
	if (!fake_clock.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_clock.real_ms = (PKI_NOW + late_s) * 1000LL;
	probing_use_leaf((struct pki_spec){ .from_days = from, .to_days = to });
	probing_limits(warn, crit);
	probing_run();
}

Test(probe_verdict, no_limit)
{
	check_limits(-100, 1, 0, NULL, NULL);
	probing_must_be_fine();
	cr_assert_eq(probing.check->days_left, 1);
	cr_assert(isnan(probing.check->warn_days) && isnan(probing.check->crit_days) && !probing.check->critical);
}

/* The limit itself is enough. */
Test(probe_verdict, exactly_as_many_days)
{
	check_limits(-1, 30, 0, "30", "30");
	probing_must_be_fine();
	cr_assert_eq(probing.check->days_left, 30);
	cr_assert(probing.check->warn_days == 30 && probing.check->crit_days == 30);
}

Test(probe_verdict, a_second_less)
{
	check_limits(-1, 30, 1, "30", NULL);
	probing_must_end(CHECK_EXPIRY);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "in 29 days (--warn 30)");
	cr_assert_not(probing.check->critical);
	cr_assert_eq(check_nagios_state(probing.check), 1);
	cr_assert_eq(probing.check->verify_ok, CHECK_YES, "the certificate is valid");
}

Test(probe_verdict, below_the_critical_limit)
{
	check_limits(-1, 30, 1, NULL, "30");
	probing_must_end(CHECK_EXPIRY);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "in 29 days (--crit 30)");
	cr_assert(probing.check->critical);
	cr_assert_eq(check_nagios_state(probing.check), 2);
}

Test(probe_verdict, the_last_day)
{
	check_limits(-1, 1, 3600, "30", NULL);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "in 23 hours (--warn 30)");
}

Test(probe_verdict, the_last_hour)
{
	check_limits(-1, 1, 86400 - 3601, NULL, "30");
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "in 1 hour (--crit 30)");
}

Test(probe_verdict, between_both_limits)
{
	check_limits(-1, 20, 0, "30", "10");
	probing_must_end(CHECK_EXPIRY);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "--warn");
	cr_assert(!probing.check->critical && probing.check->n_faults == 1);
	cr_assert(probing.check->warn_days == 30 && probing.check->crit_days == 10);
}

Test(probe_verdict, below_both_limits)
{
	check_limits(-1, 9, 0, "30", "10");
	probing_must_end(CHECK_EXPIRY);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "--crit");
	cr_assert(probing.check->critical && probing.check->n_faults == 1);
}

Test(probe_verdict, critical_above_warning)
{
	check_limits(-1, 20, 0, "10", "30");
	probing_must_end(CHECK_EXPIRY);
	cr_assert(probing.check->critical);
}

/* A certificate of six days has a third of its life before it. */
Test(probe_verdict, short_life_in_percent)
{
	check_limits(-4, 2, 0, "30%", "20%");
	probing_must_be_fine();
	cr_assert_float_eq(probing.check->percent_left, 100.0 / 3, 1e-9);
	cr_assert_float_eq(probing.check->warn_days, 1.8, 1e-9);
	cr_assert_float_eq(probing.check->crit_days, 1.2, 1e-9);
}

Test(probe_verdict, short_life_below_its_percent)
{
	check_limits(-5, 1, 0, "20%", "10%");
	probing_must_end(CHECK_EXPIRY);
	probing_must_say(CHECK_EXPIRY, CHECK_AT_EXPECT, "in 1 day, with 16 % of its lifetime left (--warn 20%)");
	cr_assert_not(probing.check->critical);
}

Test(probe_verdict, exactly_as_many_percent)
{
	check_limits(-5, 5, 0, "50%", "50%");
	probing_must_be_fine();
	cr_assert_eq(probing.check->percent_left, 50);
}

Test(probe_verdict, a_second_less_in_percent)
{
	check_limits(-5, 5, 1, "50%", "50%");
	probing_must_end(CHECK_EXPIRY);
}

/* The path's first one counts: here the root's last day comes before the leaf's. */
Test(probe_verdict, limit_of_an_intermediate)
{
	if (!fake_clock.wrapped)
		cr_skip_test("the linker does not know --wrap");
	fake_clock.real_ms = PKI_NOW * 1000LL;
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=middle", .ca = true, .issuer = &probing_root, .from_days = -10,
		.to_days = 5 });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0] });
	probing.server.chain[1] = &probing_node[0];
	probing_limits("6", NULL);
	probing_run();
	probing_must_end(CHECK_EXPIRY);
	cr_assert_eq(probing.check->days_left, 5);
}

/* Expired is another fault, and no second one beside it. */
Test(probe_verdict, limit_of_an_expired_one)
{
	check_limits(-10, -1, 0, "30", "20");
	probing_must_end(CHECK_TIME);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_not(probing.check->critical);
}

/* --- expectations -------------------------------------------------------------------------------- */

#define NAMES(...) \
	(struct probe_names){ (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *) }

static void offer_h2(void)
{
	static const char *const alpn[] = { "h2", "http/1.1" };

	probing.tls.alpn = (struct names_list){ alpn, 2 };
	probing.server.alpn = "h2";
	probing.server.priority = "NORMAL:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-SECP256R1";
}

Test(probe_verdict, as_expected)
{
	offer_h2();
	probing.goal.expect_alpn = NAMES("http/1.1", "h2");
	probing.goal.expect_group = NAMES("x25519", "P-256");
	probing.goal.expect_suite = NAMES("TLS_CHACHA20_POLY1305_SHA256", "tls_aes_128_gcm_sha256");
	probing.goal.expect_issuer = NAMES("nobody", "CN=root");
	probing_run();
	probing_must_be_fine();
	cr_assert_str_eq(probing.check->alpn, "h2");
	cr_assert_eq(probing.check->hello_retry, CHECK_YES);
}

Test(probe_verdict, against_every_expectation)
{
	offer_h2();
	probing.goal.expect_alpn = NAMES("http/1.1", "http/1.0");
	probing.goal.expect_group = NAMES("x25519");
	probing.goal.expect_suite = NAMES("TLS_CHACHA20_POLY1305_SHA256");
	probing.goal.expect_issuer = NAMES("Root");
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "ALPN is h2, not http/1.1, http/1.0 (--expect-alpn)");
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "the group is SECP256R1, not x25519 (--expect-group)");
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "(--expect-ciphersuite)");
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "the issuer is CN=root, not Root (--expect-issuer)");
	cr_assert_eq(probing.check->n_faults, 4);
}

Test(probe_verdict, nothing_where_something_is_expected)
{
	probing.goal.expect_alpn = NAMES("h2");
	probing_run();
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "there is no protocol by ALPN");
}

/* A pre-shared key comes without a certificate, and so without an issuer. */
Test(probe_verdict, issuer_expected_and_no_certificate)
{
	probing.goal.expect_issuer = NAMES("Root");
	cr_assert_not_null(probing.check = check_new("localhost"));
	cr_assert_eq(check_set(&probing.check->version, "TLS1.3"), 0);
	probe_judge_rest(&(struct probe){ .goal = &probing.goal, .check = probing.check });
	probing_must_end(CHECK_EXPECT);
	probing_must_say(CHECK_EXPECT, CHECK_AT_EXPECT, "there is no issuer, where Root was expected");
	check_free(probing.check);
}

/* A handshake that failed is the fault, not what it did not come to. */
Test(probe_verdict, expectations_of_what_failed)
{
	probing.server.priority = "NORMAL:-VERS-ALL:+VERS-TLS1.2";
	probing.tls.min_version = 13;
	probing.goal.expect_alpn = NAMES("h2");
	probing_run();
	probing_must_end(CHECK_HANDSHAKE);
	probing_must_say(CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "the peer sent alert ");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert(probing.check->alert_received && probing.check->alert == GNUTLS_A_HANDSHAKE_FAILURE);
	cr_assert(!probing.check->verified && probing.check->verify_ok == CHECK_UNKNOWN);
}

/* --- our certificate -------------------------------------------------------------------------------- */

static void newest(int version)
{
	probing.tls.min_version = probing.tls.max_version = version;
}

/* alert: -1: any, since GnuTLS's choice is not ours */
static void must_refuse(int version, int alert)
{
	newest(version);
	probing_run();
	probing_must_end(CHECK_CLIENT_CERT);
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_not_null(probing.check->faults[0].hint);
	cr_assert_eq(probing.check->client_cert_requested, CHECK_YES);
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_NO);
	cr_assert(probing.check->alert_received && (alert < 0 || probing.check->alert == alert), "%s", probing.check->alert_name);
	cr_assert_eq(probing.check->verify_ok, CHECK_YES, "the server is who it is");
	cr_assert_lt(probing.took_ms, 900, "nobody waits once it has spoken");
}

Test(probe_verdict, certificate_wanted_and_none_given)
{
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	must_refuse(13, GNUTLS_A_CERTIFICATE_REQUIRED);
	probing_must_say(CHECK_CLIENT_CERT, CHECK_AT_HANDSHAKE, "none was given");
	cr_assert_eq(probing.check->client_cert_sent, CHECK_NO);
}

Test(probe_verdict, certificate_wanted_and_none_given_in_12)
{
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	must_refuse(12, -1);
	probing_must_say(CHECK_CLIENT_CERT, CHECK_AT_HANDSHAKE, "none was given");
}

Test(probe_verdict, certificate_refused)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	probing.server.refuses = true;
	must_refuse(13, GNUTLS_A_BAD_CERTIFICATE);
	probing_must_say(CHECK_CLIENT_CERT, CHECK_AT_HANDSHAKE, "the server rejects our certificate");
	cr_assert_eq(probing.check->client_cert_sent, CHECK_YES);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 1);
}

Test(probe_verdict, certificate_refused_in_12)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	probing.server.refuses = true;
	must_refuse(12, GNUTLS_A_BAD_CERTIFICATE);
	cr_assert_eq(probing.check->client_cert_sent, CHECK_YES);
}

static void must_accept(int version)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	newest(version);
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->client_cert_sent, CHECK_YES);
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_YES);
	cr_assert_lt(probing.took_ms, 900);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 1);
}

Test(probe_verdict, certificate_accepted)
{
	must_accept(13);
}

/* There its Finished says so, and nothing more is waited for. */
Test(probe_verdict, certificate_accepted_in_12)
{
	probing.server.then = tls_server_be_silent;
	must_accept(12);
}

/* Its answer to our close_notify says that it stays with us. */
Test(probe_verdict, certificate_not_needed)
{
	probing.server.wants = GNUTLS_CERT_REQUEST;
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->client_cert_requested, CHECK_YES);
	cr_assert_eq(probing.check->client_cert_sent, CHECK_NO);
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_UNKNOWN);
	cr_assert_eq(probing.check->close_notify, CHECK_YES);
}

/* Whoever says nothing has not accepted anything; and is not waited for for ever. */
Test(probe_verdict, silence_after_a_certificate)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	probing.server.then = tls_server_be_silent;
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->client_cert_sent, CHECK_YES);
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_UNKNOWN);
	cr_assert_eq(probing.check->close_notify, CHECK_UNKNOWN);
	cr_assert(probing.took_ms >= 950 && probing.took_ms < 3000, "%d ms", (int)probing.took_ms);
}

/* That wait is ours: a deadline that comes first is none for the server. */
Test(probe_verdict, silence_after_a_certificate_and_the_deadline)
{
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	probing.server.then = tls_server_be_silent;
	probing.goal.timeout_ms = 200;
	probing_run();
	probing_must_be_fine();
	cr_assert_eq(probing.check->client_cert_accepted, CHECK_UNKNOWN);
	cr_assert_lt(probing.took_ms, 900);
}

/* Nobody shows it to a server that is not who it should be. */
static void must_not_show(int version)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing_use_client_cert();
	probing.server.wants = GNUTLS_CERT_REQUIRE;
	newest(version);
	probing_run();
	probing_must_end(CHECK_NAME);
	cr_assert_eq(probing.check->n_faults, 1, "that it was not shown is no fault");
	cr_assert_eq(probing.check->client_cert_sent, CHECK_NO);
	cr_assert(!probing.check->alert_received && probing.check->alert == GNUTLS_A_CERTIFICATE_UNKNOWN);
	probing_end_server();
	cr_assert_eq(probing.server.client_certs, 0);
	cr_assert_eq(probing.server.handshakes, 0);
	cr_assert_eq(probing.server.alert, GNUTLS_A_CERTIFICATE_UNKNOWN);
}

Test(probe_verdict, certificate_is_not_shown_to_a_stranger)
{
	must_not_show(13);
}

Test(probe_verdict, certificate_is_not_shown_to_a_stranger_in_12)
{
	must_not_show(12);
}

Test(probe_verdict, alerts_that_are_refusals)
{
	struct session_story s = { .alert_received = true, .certificate_requested = true };
	int n = 0;

	for (s.alert = 0; s.alert < 256; s.alert++)
		n += probe_is_refusal(&s);
	cr_assert_eq(n, 10, "%d", n);
	s.alert = GNUTLS_A_HANDSHAKE_FAILURE;
	cr_assert(probe_is_refusal(&s));
	s.certificate_sent = true;
	cr_assert_not(probe_is_refusal(&s), "it was sent, so that is about something else");
	s.alert = GNUTLS_A_UNKNOWN_CA;
	cr_assert(probe_is_refusal(&s));
	s.certificate_requested = false;
	cr_assert_not(probe_is_refusal(&s));
	s.certificate_requested = true;
	s.alert_received = false;
	cr_assert_not(probe_is_refusal(&s), "ours");
}
