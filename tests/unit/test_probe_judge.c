/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Who a server is, to a probe: its chain, pins, TLSA records, and what its CA says. */

#include <stdio.h>
#include <time.h>

#include "tests/unit/probing.h"

TestSuite(probe_judge, .init = probing_make, .fini = probing_drop, .timeout = TEST_TIMEOUT);

/* --- the chain ------------------------------------------------------------------------------ */

Test(probe_judge, fine)
{
	const struct check *c;

	probing_run();
	probing_must_be_fine();
	probing_must_end(CHECK_OK);
	c = probing.check;
	cr_assert_str_eq(c->by, "certificate");
	cr_assert_str_eq(c->host, "localhost");
	cr_assert_str_eq(c->servername, "localhost");
	cr_assert_str_eq(c->version, "TLS1.3");
	cr_assert(c->chain && c->chain->n_sent == 1 && c->n_scts == 0);
	cr_assert_str_eq(c->chain->matched_name, "dns:localhost");
	cr_assert(c->days_left > 1000 && c->percent_left > 10);
	cr_assert(c->client_cert_requested == CHECK_NO && c->alert == -1);
	cr_assert(c->handshake_ms > 0 && c->total_ms >= c->handshake_ms);
	probing_end_server();
	cr_assert_str_eq(probing.server.name, "localhost", "SNI");
	cr_assert_eq(probing.server.handshakes, 1);
	cr_assert_neq(probing.server.code, GNUTLS_E_PREMATURE_TERMINATION);
	cr_assert_eq(probing.server.alert, -1, "it was closed as it should be");
}

Test(probe_judge, untrusted)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=other root", .ca = true, PROBING_VALID });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0] });
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	cr_assert(probing.check->verified && probing.check->verify_ok == CHECK_NO);
	cr_assert_str_eq(probing.check->version, "TLS1.3", "the handshake is brought to its end all the same");
}

Test(probe_judge, self_signed)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=self", .names = { "dns:localhost" }, PROBING_VALID });
	probing.server.chain[0] = &probing_node[0];
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_say(CHECK_UNTRUSTED, CHECK_AT_VERIFY, "self-signed");
}

Test(probe_judge, wrong_name)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing_run();
	probing_must_end(CHECK_NAME);
	probing_must_say(CHECK_NAME, CHECK_AT_VERIFY, "other.example");
	cr_assert_eq(probing.check->n_faults, 1);
}

/* --verify-name counts for the name, --servername for both. */
Test(probe_judge, names_of_the_options)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing.tls.servername = "sni.example";
	probing.tls.verify_name = "other.example";
	probing_run();
	probing_must_be_fine();
	cr_assert_str_eq(probing.check->servername, "sni.example");
	probing_end_server();
	cr_assert_str_eq(probing.server.name, "sni.example");
}

Test(probe_judge, expired)
{
	probing_use_leaf((struct pki_spec){ .from_days = -2000, .to_days = -900 });
	probing_run();
	probing_must_end(CHECK_TIME);
	probing_must_say(CHECK_TIME, CHECK_AT_VERIFY, "expired on 2023-07-");
	cr_assert_lt(probing.check->days_left, -900);
}

Test(probe_judge, not_yet_valid)
{
	probing_use_leaf((struct pki_spec){ .from_days = 19000, .to_days = 20000 });
	probing_run();
	probing_must_end(CHECK_TIME);
}

Test(probe_judge, weak)
{
	probing_use_leaf((struct pki_spec){ .key = PKI_RSA_1024 });
	probing_run();
	probing_must_end(CHECK_WEAK);
	probing_must_say(CHECK_WEAK, CHECK_AT_VERIFY, "1024");
}

/* All are told, and the order of design section 4 decides. */
Test(probe_judge, everything_at_once)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=self", .names = { "dns:other.example" }, .from_days = -2000,
		.to_days = -900, .key = PKI_RSA_1024, .must_staple = true });
	probing.server.chain[0] = &probing_node[0];
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_say(CHECK_NAME, CHECK_AT_VERIFY, "");
	probing_must_say(CHECK_TIME, CHECK_AT_VERIFY, "");
	probing_must_say(CHECK_WEAK, CHECK_AT_VERIFY, "");
	probing_must_say(CHECK_STAPLE, CHECK_AT_VERIFY, "must-staple");
}

/* Its faults are those of the certificate named, not of the server's own. */
Test(probe_judge, expired_intermediate)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=middle", .ca = true, .issuer = &probing_root, .from_days = -2000,
		.to_days = -900 });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0] });
	probing.server.chain[1] = &probing_node[0];
	probing_run();
	probing_must_end(CHECK_TIME);
	probing_must_say(CHECK_TIME, CHECK_AT_VERIFY, "the certificate of CN=middle expired");
}

Test(probe_judge, no_verify)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" }, .from_days = -2000, .to_days = -900,
		.must_staple = true });
	probing.tls.ca = NULL;
	probing.tls.insecure_no_verify = probing.goal.no_verify = true;
	probing_run();
	probing_must_end(CHECK_OK);
	probing_must_warn("other.example");
	probing_must_warn("expired");
	probing_must_warn("must-staple");
	cr_assert_str_eq(probing.check->by, "nothing");
	cr_assert(!probing.check->verified && probing.check->verify_ok == CHECK_UNKNOWN);
}

Test(probe_judge, no_name_to_verify)
{
	struct err e = { 0 };
	struct addr a;

	probing_run();
	cr_assert_eq(addr_parse(&a, "unix:/nowhere", ADDR_CONNECT, &e), 0);
	cr_assert_null(probe_start(probing.loop, probing.pool, &probing.goal, "unix:/nowhere", &a, NULL, 0, NULL, NULL, &e));
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert_not_null(strstr(e.msg, "--verify-name"), "%s", e.msg);
}

/* --- pins ------------------------------------------------------------------------------------ */

static void pin_to(const struct pki_node *node)
{
	static char text[CERT_PIN_TEXT];
	static const char *list = text;
	uint8_t pin[CERT_PIN_SIZE];

	cr_assert_eq(cert_pin(node->crt, pin), 0);
	cert_pin_format(pin, text);
	probing.tls.pins = (struct names_list){ &list, 1 };
}

/* Takes the place of chain and name: those are no faults then. */
Test(probe_judge, pin_alone)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	probing.tls.ca = NULL;
	pin_to(&probing_leaf);
	probing_run();
	probing_must_end(CHECK_OK);
	probing_must_warn("other.example");
	cr_assert_str_eq(probing.check->by, "pin");
	cr_assert_eq(probing.check->verify_ok, CHECK_YES);
}

Test(probe_judge, another_pin)
{
	probing.tls.ca = NULL;
	pin_to(&probing_root);
	probing_run();
	probing_must_end(CHECK_PIN);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "sha256:");
	cr_assert_eq(probing.check->verify_ok, CHECK_NO);
}

Test(probe_judge, pin_and_ca)
{
	probing_use_leaf((struct pki_spec){ .names = { "dns:other.example" } });
	pin_to(&probing_leaf);
	probing_run();
	probing_must_end(CHECK_NAME);
	cr_assert_eq(probing.check->n_faults, 1, "both must hold");
}

/* --- TLSA records ------------------------------------------------------------------------------- */

static struct tlsa_list records;

/* "3 1 1" and the hash of that certificate's key. */
static void record(const char *numbers, const struct pki_node *node)
{
	char text[128];
	uint8_t pin[CERT_PIN_SIZE];
	struct err e;
	int n = snprintf(text, sizeof(text), "%s ", numbers);

	cr_assert_eq(cert_pin(node->crt, pin), 0);
	for (size_t i = 0; i < sizeof(pin); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x", pin[i]);
	cr_assert_eq(tlsa_parse("--tlsa", text, &records, &e), 0, "%s", e.msg);
	probing.goal.tlsa = &records;
}

/* All that usage 3 excuses (RFC 7671, 5.1). */
static void use_all_but_weak(void)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=self", .names = { "dns:other.example" }, .from_days = -2000,
		.to_days = -900 });
	probing.server.chain[0] = &probing_node[0];
}

Test(probe_judge, tlsa_3_excuses_chain_name_and_time)
{
	use_all_but_weak();
	record("3 1 1", &probing_node[0]);
	probing_run();
	probing_must_end(CHECK_OK);
	cr_assert_str_eq(probing.check->by, "dane");
	cr_assert_str_eq(probing.check->dane, "matched");
	cr_assert(strncmp(probing.check->dane_record, "3 1 1 ", 6) == 0 && strlen(probing.check->dane_record) == 6 + 64);
	probing_must_warn("expired");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_3_does_not_excuse_a_weak_key)
{
	probing_use_leaf((struct pki_spec){ .key = PKI_RSA_1024 });
	record("3 1 1", &probing_leaf);
	probing_run();
	probing_must_end(CHECK_WEAK);
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_that_does_not_match)
{
	record("3 1 1", &probing_root);
	probing_run();
	probing_must_end(CHECK_PIN);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "DANE: ");
	cr_assert_eq(probing.check->n_faults, 1);
	cr_assert_str_eq(probing.check->dane, "no-match");
	cr_assert_str_eq(probing.check->by, "certificate");
	tlsa_list_free(&records);
}

/* No record that matches, so nothing is excused either. */
Test(probe_judge, tlsa_that_does_not_match_excuses_nothing)
{
	use_all_but_weak();
	record("3 1 1", &probing_root);
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "DANE: ");
	probing_must_say(CHECK_TIME, CHECK_AT_VERIFY, "");
	probing_must_say(CHECK_NAME, CHECK_AT_VERIFY, "");
	tlsa_list_free(&records);
}

static void use_other_root(const char *name)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=other root", .ca = true, PROBING_VALID });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0], .names = { name } });
	probing.server.chain[1] = &probing_node[0];
}

Test(probe_judge, tlsa_2_excuses_the_chain)
{
	use_other_root("dns:localhost");
	record("2 1 1", &probing_node[0]);
	probing_run();
	probing_must_end(CHECK_OK);
	cr_assert_str_eq(probing.check->by, "dane");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_2_does_not_excuse_the_name)
{
	use_other_root("dns:other.example");
	record("2 1 1", &probing_node[0]);
	probing_run();
	probing_must_end(CHECK_NAME);
	cr_assert_eq(probing.check->n_faults, 1);
	tlsa_list_free(&records);
}

/* The dates count up to the issuer named, whether or not the trust store knows it as well. */
Test(probe_judge, tlsa_2_does_not_excuse_time)
{
	probing_use_leaf((struct pki_spec){ .from_days = -2000, .to_days = -900 });
	record("2 1 1", &probing_root);
	probing_run();
	probing_must_end(CHECK_TIME);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "expired");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_2_does_not_excuse_the_purpose)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=other root", .ca = true, PROBING_VALID });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0], .purpose = GNUTLS_KP_TLS_WWW_CLIENT });
	probing.server.chain[1] = &probing_node[0];
	record("2 1 1", &probing_node[0]);
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "DANE: ");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_0_and_1_excuse_nothing)
{
	use_other_root("dns:localhost");
	record("1 1 1", &probing_leaf);
	record("0 1 1", &probing_node[0]);
	probing_run();
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_say(CHECK_PIN, CHECK_AT_VERIFY, "DANE: ");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_1_with_a_path)
{
	record("1 1 1", &probing_leaf);
	probing_run();
	probing_must_be_fine();
	cr_assert_str_eq(probing.check->dane, "matched");
	tlsa_list_free(&records);
}

/* The root was not sent: it stands at the end of the path. */
Test(probe_judge, tlsa_0_with_a_path)
{
	record("0 1 1", &probing_root);
	probing_run();
	probing_must_be_fine();
	cr_assert_str_eq(probing.check->dane, "matched");
	tlsa_list_free(&records);
}

Test(probe_judge, tlsa_without_verification)
{
	record("3 1 1", &probing_root);
	probing.tls.ca = NULL;
	probing.tls.insecure_no_verify = probing.goal.no_verify = true;
	probing_run();
	probing_must_end(CHECK_OK);
	probing_must_warn("DANE: ");
	tlsa_list_free(&records);
}

/* --- staples ------------------------------------------------------------------------------------------ */

static void run_stapled(struct ocsp_make_single single)
{
	probing.server.staple = probing_ocsp(single);
	probing_run();
	probing_end_server();
	gnutls_free(probing.server.staple.data);
}

Test(probe_judge, staple_good)
{
	probing_use_leaf((struct pki_spec){ .must_staple = true });
	probing.goal.must_staple = true;
	run_stapled((struct ocsp_make_single){ .crt = NULL });
	probing_must_be_fine();
	cr_assert_eq(probing.check->staple.status, OCSP_GOOD);
}

Test(probe_judge, staple_revoked)
{
	run_stapled((struct ocsp_make_single){ .status = GNUTLS_OCSP_CERT_REVOKED, .revoked_at = time(NULL) - 86400 });
	probing_must_end(CHECK_REVOKED);
	probing_must_say(CHECK_REVOKED, CHECK_AT_VERIFY, "the OCSP staple: ");
	cr_assert_eq(probing.check->staple.status, OCSP_REVOKED);
}

Test(probe_judge, staple_expired)
{
	run_stapled((struct ocsp_make_single){ .this_update = time(NULL) - 7200, .next_update = time(NULL) - 3600 });
	probing_must_end(CHECK_STAPLE);
	cr_assert_eq(probing.check->staple.status, OCSP_EXPIRED);
}

Test(probe_judge, staple_for_another_certificate)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=b", .issuer = &probing_root, PROBING_VALID });
	run_stapled((struct ocsp_make_single){ .crt = probing_node[0].crt });
	probing_must_end(CHECK_STAPLE);
	cr_assert_eq(probing.check->staple.status, OCSP_OTHER);
}

Test(probe_judge, staple_missing_where_the_certificate_wants_one)
{
	probing_use_leaf((struct pki_spec){ .must_staple = true });
	probing_run();
	probing_must_end(CHECK_STAPLE);
	probing_must_say(CHECK_STAPLE, CHECK_AT_VERIFY, "its certificate says that it must");
	cr_assert_eq(probing.check->staple.status, OCSP_NONE);
}

Test(probe_judge, staple_missing_where_the_user_wants_one)
{
	probing.goal.must_staple = true;
	probing_run();
	probing_must_end(CHECK_STAPLE);
	probing_must_say(CHECK_STAPLE, CHECK_AT_VERIFY, "(--must-staple)");
}

/* Without the issuer nobody can say anything about it; the chain's fault is enough. */
Test(probe_judge, staple_without_the_issuer)
{
	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=middle", .ca = true, .issuer = &probing_root, PROBING_VALID });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0] });
	run_stapled((struct ocsp_make_single){ .issuer = probing_node[0].crt });
	probing_must_end(CHECK_UNTRUSTED);
	probing_must_warn("without the certificate's issuer");
	cr_assert_eq(probing.check->n_faults, 1);
}

/* Where one must be there, one that nobody can verify is as good as none: the pin says
 * nothing about it. */
Test(probe_judge, staple_that_must_be_there_without_the_issuer)
{
	probing_use_leaf((struct pki_spec){ .must_staple = true });
	probing.tls.ca = NULL;
	pin_to(&probing_leaf);
	run_stapled((struct ocsp_make_single){ .crt = NULL });
	probing_must_end(CHECK_STAPLE);
	cr_assert_eq(probing.check->staple.status, OCSP_BAD_SIGNATURE);
}

/* It has the issuer's name and key identifier, and did not sign the certificate. */
Test(probe_judge, staple_of_somebody_with_the_issuers_name)
{
	struct ocsp_make_single single = { .this_update = time(NULL) - 3600, .next_update = time(NULL) + 3600 };
	struct ocsp_make make = { .singles = &single, .n = 1, .produced = time(NULL) - 3600 };

	pki_node(&probing_node[0], &(struct pki_spec){ .dn = "CN=other", .ca = true, PROBING_VALID });
	probing_use_leaf((struct pki_spec){ .issuer = &probing_node[0], .forged_by = &probing_root });
	probing.server.chain[1] = &probing_node[0];
	single.crt = probing_leaf.crt;
	single.issuer = make.signer = probing_node[0].crt;
	make.key = probing_node[0].key;
	probing.server.staple = ocsp_make(&make);
	probing.goal.must_staple = true;
	probing.tls.ca = NULL;
	pin_to(&probing_leaf);
	probing_run();
	probing_end_server();
	gnutls_free(probing.server.staple.data);
	probing_must_end(CHECK_STAPLE);
	cr_assert_eq(probing.check->staple.status, OCSP_BAD_SIGNATURE);
}
