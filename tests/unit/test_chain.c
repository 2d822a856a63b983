/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What is wrong with a chain: every fault is provoked, and a good chain has none. */

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/chain_util.h"
#include "tests/unit/timeout.h"

TestSuite(chain, .init = chain_make, .fini = chain_drop, .timeout = TEST_TIMEOUT);

/* --- nothing wrong -------------------------------------------------------------------------- */

Test(chain, good)
{
	struct chain *c = LOOK(&leaf, &inter);
	size_t i;

	EXPECT_CAUSES(c, 0);
	cr_assert(c->n == 3 && c->n_sent == 2 && c->n_path == 3);
	for (i = 0; i < 3; i++) {
		EXPECT_FAULTS(c, i, "");
		cr_expect(c->path[i] == i && c->certs[i].on_path && c->certs[i].sent == (i < 2));
	}
	cr_expect(c->ordered && c->complete && !c->has_root);
	cr_expect_str_eq(c->matched_name, "dns:www.example");
}

Test(chain, facts)
{
	struct chain *c;
	uint8_t pin[CERT_PIN_SIZE];

	chain_leaf(&extra[0], (struct pki_spec){ .dn = "CN=www,O=Ex\\, Ltd.", .ocsp_url = "http://ocsp.example/",
				      .issuer_url = "http://ca.example/i.cer", .must_staple = true,
				      .names = { "dns:www.example", "uri:spiffe://x/y", "email:a@b.example", "ip:192.0.2.7" } });
	c = LOOK(&extra[0], &inter);
	EXPECT_FAULTS(c, 0, "");
	cr_expect_str_eq(c->certs[0].subject, "CN=www,O=Ex\\, Ltd.");
	cr_expect_str_eq(c->certs[0].issuer, "CN=inter");
	cr_expect_str_eq(c->certs[0].key, "ECDSA P-256");
	cr_expect_str_eq(c->certs[0].signature, "ECDSA-SHA256");
	cr_expect_str_eq(c->certs[0].ocsp_url, "http://ocsp.example/");
	cr_expect_str_eq(c->certs[0].issuer_url, "http://ca.example/i.cer");
	cr_expect(strncmp(c->certs[0].serial, "010203", 6) == 0 && strlen(c->certs[0].serial) == 8);
	cr_expect(c->certs[0].must_staple && !c->certs[0].is_ca && c->certs[1].is_ca && !c->certs[1].must_staple);
	cr_expect(c->certs[0].not_before == PKI_NOW - 86400 && c->certs[0].not_after == PKI_NOW + 30 * 86400);
	cr_expect_str_eq(c->certs[0].names[1], "uri:spiffe://x/y");
	cr_expect_str_eq(c->certs[0].names[2], "email:a@b.example");
	cr_expect_str_eq(c->certs[0].names[3], "ip:192.0.2.7");
	cr_expect(c->certs[0].names[4] == NULL && c->certs[1].names == NULL && c->certs[1].ocsp_url == NULL);
	cr_expect(cert_pin(extra[0].crt, pin) == 0 && memcmp(pin, c->certs[0].pin, sizeof(pin)) == 0);
}

Test(chain, kinds_of_keys)
{
	static const struct {
		enum pki_key key;
		const char *name;
	} kinds[] = { { PKI_EC_384, "ECDSA P-384" }, { PKI_ED25519, "Ed25519" }, { PKI_RSA_2048, "RSA 2048" } };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		chain_leaf(&extra[i], (struct pki_spec){ .key = kinds[i].key });
		cr_expect_str_eq(LOOK(&extra[i], &inter)->certs[0].key, kinds[i].name);
		EXPECT_CAUSES(chain, 0);
	}
}

static void expect_pem(const struct chain_cert *cert, const struct pki_node *node)
{
	gnutls_datum_t pem, der;

	cr_assert_eq(chain_pem(cert, &pem), 0);
	cr_expect(strncmp((char *)pem.data, "-----BEGIN CERTIFICATE-----\n", 28) == 0);
	cr_expect(pem.data[pem.size - 1] == '\n', "files are put behind one another");
	cr_assert(gnutls_pem_base64_decode2("CERTIFICATE", &pem, &der) == 0);
	cr_expect(der.size == node->der.size && memcmp(der.data, node->der.data, der.size) == 0);
	gnutls_free(pem.data);
	gnutls_free(der.data);
}

/* Those that were not sent too. */
Test(chain, pem)
{
	LOOK(&leaf, &inter);
	cr_assert_eq(chain->n, 3);
	expect_pem(&chain->certs[0], &leaf);
	expect_pem(&chain->certs[1], &inter);
	expect_pem(&chain->certs[2], &root);
}

/* What is no certificate is saved all the same, as it came. */
Test(chain, pem_of_what_cannot_be_read)
{
	struct pki_node junk = { .der = { (unsigned char *)"junk", 4 } };
	gnutls_datum_t pem, der;

	LOOK(&leaf, &junk);
	cr_assert(chain->certs[1].faults & CHAIN_UNREADABLE);
	cr_assert_eq(chain_pem(&chain->certs[1], &pem), 0);
	cr_assert(gnutls_pem_base64_decode2("CERTIFICATE", &pem, &der) == 0);
	cr_expect(der.size == 4 && memcmp(der.data, "junk", 4) == 0);
	gnutls_free(pem.data);
	gnutls_free(der.data);
}

/* What a peer wrote must not act on the terminal. */
Test(chain, strings_are_shown)
{
	chain_leaf(&extra[0], (struct pki_spec){ .dn = "CN=a\033[31mb\xe2\x80\xae" "c" });
	LOOK(&extra[0], &inter);
	cr_expect_str_eq(chain->certs[0].subject, "CN=a?[31mb?c");
}

/* --- time ------------------------------------------------------------------------------------- */

Test(chain, expired)
{
	chain_leaf(&extra[0], (struct pki_spec){ .from_days = -60, .to_days = -1 });
	LOOK(&extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "expired");
	EXPECT_CAUSES(chain, CHAIN_TIME);
	cr_expect(chain->complete && chain->n_path == 3);
}

Test(chain, not_yet_valid)
{
	chain_leaf(&extra[0], (struct pki_spec){ .from_days = 2, .to_days = 30 });
	LOOK(&extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "not-yet-valid");
	EXPECT_CAUSES(chain, CHAIN_TIME);
}

/* Both ends belong to the time of validity. */
Test(chain, time_to_the_second)
{
	request.now = PKI_NOW + 30 * 86400;
	EXPECT_CAUSES(LOOK(&leaf, &inter), 0);
	request.now++;
	EXPECT_CAUSES(LOOK(&leaf, &inter), CHAIN_TIME);
	request.now = PKI_NOW - 86400;
	EXPECT_CAUSES(LOOK(&leaf, &inter), 0);
	request.now--;
	EXPECT_CAUSES(LOOK(&leaf, &inter), CHAIN_TIME);
}

Test(chain, expired_intermediate)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=inter", .ca = true, .issuer = &root, .same_key = &inter,
				  .from_days = -60, .to_days = -1 });
	LOOK(&leaf, &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "expired");
	EXPECT_CAUSES(chain, CHAIN_TIME);
}

Test(chain, expired_root_in_the_store)
{
	gnutls_x509_trust_list_t old;

	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=root", .ca = true, .same_key = &root,
				  .from_days = -600, .to_days = -1 });
	cr_assert(gnutls_x509_trust_list_init(&old, 0) == 0);
	chain_trust(old, &extra[0]);
	request.trust = old;
	LOOK(&leaf, &inter);
	EXPECT_FAULTS(chain, 2, "expired");
	EXPECT_CAUSES(chain, CHAIN_TIME);
	/* beside its successor it harms nobody */
	chain_trust(old, &root);
	LOOK(&leaf, &inter);
	EXPECT_CAUSES(chain, 0);
	EXPECT_FAULTS(chain, 2, "");
	gnutls_x509_trust_list_deinit(old, 1);
}

/* --- names -------------------------------------------------------------------------------------- */

static const char *matched(const char *name)
{
	request.name = name;
	LOOK(&leaf, &inter);
	cr_expect((chain->causes == CHAIN_NAME) == (chain->matched_name == NULL));
	cr_expect(((chain->certs[0].faults & CHAIN_WRONG_NAME) != 0) == (chain->matched_name == NULL));
	return chain->matched_name ? chain->matched_name : "";
}

Test(chain, names)
{
	cr_expect_str_eq(matched("WWW.example"), "dns:www.example");
	cr_expect_str_eq(matched("a.wild.example"), "dns:*.wild.example");
	cr_expect_str_eq(matched("a.b.wild.example"), "");
	cr_expect_str_eq(matched("wild.example"), "");
	cr_expect_str_eq(matched("wwww.example"), "");
	cr_expect_str_eq(matched("example"), "");
	cr_expect_str_eq(matched("192.0.2.1"), "ip:192.0.2.1");
	cr_expect_str_eq(matched("192.0.2.2"), "");
	cr_expect_str_eq(matched("2001:db8:0::1"), "ip:2001:db8::1");
	cr_expect_str_eq(matched("2001:db8::2"), "");
	request.name = NULL;
	EXPECT_CAUSES(LOOK(&leaf, &inter), 0);
	cr_expect(chain->matched_name == NULL);
}

/* An address that stands as a DNS name is none (RFC 9525, 6.4). */
Test(chain, ip_as_dns_name)
{
	chain_leaf(&extra[0], (struct pki_spec){ .names = { "dns:192.0.2.1" } });
	request.name = "192.0.2.1";
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "wrong-name");
}

Test(chain, idn)
{
	chain_leaf(&extra[0], (struct pki_spec){ .names = { "dns:xn--bcher-kva.example" } });
	request.name = "xn--bcher-kva.example";
	EXPECT_CAUSES(LOOK(&extra[0], &inter), 0);
	cr_expect_str_eq(chain->matched_name, "dns:xn--bcher-kva.example");
}

Test(chain, no_san)
{
	chain_leaf(&extra[0], (struct pki_spec){ .dn = "CN=www.example", .names = { "email:a@b.example" } });
	LOOK(&extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "no-san");
	EXPECT_CAUSES(chain, CHAIN_NAME);
	cr_expect(chain->matched_name == NULL);
	request.name = "other.example";
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "wrong-name no-san");
	request.name = NULL;
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "no-san");
	EXPECT_CAUSES(chain, 0);
}

/* --- purpose, strength, limits ------------------------------------------------------------------------ */

/* GnuTLS falls back on the CN where there is no DNS name, whatever else there is. */
Test(chain, no_dns_name_beside_an_address)
{
	chain_leaf(&extra[0], (struct pki_spec){ .dn = "CN=www.example", .names = { "ip:192.0.2.1" } });
	EXPECT_CAUSES(LOOK(&extra[0], &inter), CHAIN_NAME);
	chain_leaf(&extra[1], (struct pki_spec){ .dn = "CN=www.example", .names = { "uri:x:y", "email:a@b.example" } });
	EXPECT_CAUSES(LOOK(&extra[1], &inter), CHAIN_NAME);
}

Test(chain, wrong_purpose)
{
	chain_leaf(&extra[0], (struct pki_spec){ .purpose = GNUTLS_KP_TLS_WWW_CLIENT });
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "wrong-purpose");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	chain_leaf(&extra[1], (struct pki_spec){ .purpose = GNUTLS_KP_ANY });
	EXPECT_CAUSES(LOOK(&extra[1], &inter), 0);
}

Test(chain, ca_for_another_purpose)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=mail CA", LONG_CA, .issuer = &root,
				  .purpose = GNUTLS_KP_EMAIL_PROTECTION });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "wrong-purpose");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	pki_node(&extra[2], &(struct pki_spec){ .dn = "CN=web CA", LONG_CA, .issuer = &root,
				  .purpose = GNUTLS_KP_TLS_WWW_SERVER });
	chain_leaf(&extra[3], (struct pki_spec){ .issuer = &extra[2] });
	EXPECT_CAUSES(LOOK(&extra[3], &extra[2]), 0);
}

Test(chain, weak_key)
{
	chain_leaf(&extra[0], (struct pki_spec){ .key = PKI_RSA_1024 });
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "weak-key");
	EXPECT_CAUSES(chain, CHAIN_WEAK);
	cr_expect_str_eq(chain->certs[0].key, "RSA 1024");
}

Test(chain, weak_key_of_an_intermediate)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=weak CA", LONG_CA, .issuer = &root, .key = PKI_RSA_1024 });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "weak-key");
	EXPECT_CAUSES(chain, CHAIN_WEAK);
}

Test(chain, weak_signature)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=RSA CA", LONG_CA, .issuer = &root, .key = PKI_RSA_2048 });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0], .digest = GNUTLS_DIG_SHA1 });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "weak-signature");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_CAUSES(chain, CHAIN_WEAK);
	cr_expect_str_eq(chain->certs[0].signature, "RSA-SHA1");
}

/* The signature of a root proves nothing, so it does no harm either. */
Test(chain, weak_signature_of_a_root)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=old root", LONG_CA, .key = PKI_RSA_2048, .digest = GNUTLS_DIG_SHA1 });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	chain_trust(trust, &extra[0]);
	LOOK(&extra[1], &extra[0]);
	EXPECT_CAUSES(chain, 0);
	EXPECT_FAULTS(chain, 1, "extra-root");
}

Test(chain, long_life)
{
	static const struct {
		int from, to;
		const char *policy, *faults;
	} lives[] = {
		{ -1, 397, "2.23.140.1.2.1", "long-life" }, /* both ends belong to it */
		{ -1, 396, "2.23.140.1.2.1", "" },
		{ 80, 281, "2.23.140.1.2.1", "not-yet-valid long-life" }, /* 200 days from 2026-03-15 on */
		{ 80, 279, "2.23.140.1.2.1", "not-yet-valid" },
		{ -1, 3000, NULL, "" }, /* a private CA may */
		{ -1, 3000, "1.2.3.4", "" },
	};
	size_t i;

	for (i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
		chain_leaf(&extra[i], (struct pki_spec){ .from_days = lives[i].from, .to_days = lives[i].to,
				      .policy = lives[i].policy });
		EXPECT_FAULTS(LOOK(&extra[i], &inter), 0, lives[i].faults);
	}
}

Test(chain, intermediate_is_no_ca)
{
	chain_leaf(&extra[0], (struct pki_spec){ .dn = "CN=not a CA" });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "not-ca");
	EXPECT_FAULTS(chain, 2, "");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

Test(chain, intermediate_may_not_sign)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=mute CA", LONG_CA, .issuer = &root, .usage = GNUTLS_KEY_CRL_SIGN });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "not-ca");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

Test(chain, path_length)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=last CA", LONG_CA, .issuer = &root, .pathlen = 1 });
	pki_node(&extra[1], &(struct pki_spec){ .dn = "CN=one too many", LONG_CA, .issuer = &extra[0] });
	chain_leaf(&extra[2], (struct pki_spec){ .issuer = &extra[1] });
	LOOK(&extra[2], &extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "constrained");
	EXPECT_FAULTS(chain, 2, "");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	/* a leaf is no CA, and does not count */
	chain_leaf(&extra[3], (struct pki_spec){ .issuer = &extra[0] });
	EXPECT_CAUSES(LOOK(&extra[3], &extra[0]), 0);
}

Test(chain, name_constraints)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=narrow CA", LONG_CA, .issuer = &root, .permitted = "corp.example" });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "constrained");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	chain_leaf(&extra[2], (struct pki_spec){ .issuer = &extra[0], .names = { "dns:a.corp.example" } });
	request.name = "a.corp.example";
	EXPECT_CAUSES(LOOK(&extra[2], &extra[0]), 0);
}

Test(chain, critical_extension)
{
	chain_leaf(&extra[0], (struct pki_spec){ .critical_oddity = true });
	LOOK(&extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "critical-extension");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

Test(chain, bad_signature)
{
	chain_leaf(&extra[0], (struct pki_spec){ .forged_by = &other_root });
	LOOK(&extra[0], &inter);
	EXPECT_FAULTS(chain, 0, "bad-signature");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect(chain->complete);
	/* straight below the root */
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &root, .forged_by = &other_root });
	EXPECT_FAULTS(LOOK(&extra[1]), 0, "bad-signature");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

/* --- revoked ------------------------------------------------------------------------------------------- */

static void revoke(const struct pki_node *issuer, const struct pki_node *which)
{
	gnutls_x509_crl_t crl;
	gnutls_datum_t der;
	unsigned char serial[64];
	size_t n = sizeof(serial);

	cr_assert(gnutls_x509_crl_init(&crl) == 0);
	cr_assert(gnutls_x509_crl_set_version(crl, 2) == 0);
	cr_assert(gnutls_x509_crl_set_this_update(crl, PKI_NOW - 3600) == 0);
	cr_assert(gnutls_x509_crl_set_next_update(crl, PKI_NOW + 3600) == 0);
	cr_assert(gnutls_x509_crt_get_serial(which->crt, serial, &n) == 0);
	cr_assert(gnutls_x509_crl_set_crt_serial(crl, serial, n, PKI_NOW - 7200) == 0);
	cr_assert(gnutls_x509_crl_sign2(crl, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0) == 0);
	cr_assert(gnutls_x509_crl_export2(crl, GNUTLS_X509_FMT_DER, &der) == 0);
	gnutls_x509_crl_deinit(crl);
	cr_assert(gnutls_x509_crl_init(&crl) == 0);
	cr_assert(gnutls_x509_crl_import(crl, &der, GNUTLS_X509_FMT_DER) == 0); /* its issuer is found only so */
	gnutls_free(der.data);
	cr_assert(gnutls_x509_trust_list_add_crls(trust, &crl, 1, 0, 0) == 1);
	request.have_crls = true;
}

Test(chain, revoked_leaf)
{
	revoke(&inter, &leaf);
	LOOK(&leaf, &inter);
	EXPECT_FAULTS(chain, 0, "revoked");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_CAUSES(chain, CHAIN_REVOKED);
	request.have_crls = false;
	EXPECT_CAUSES(LOOK(&leaf, &inter), 0);
}

Test(chain, revoked_intermediate)
{
	revoke(&root, &inter);
	LOOK(&leaf, &inter);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "revoked");
	EXPECT_CAUSES(chain, CHAIN_REVOKED);
}

Test(chain, another_one_is_revoked)
{
	chain_leaf(&extra[0], (struct pki_spec){ 0 });
	revoke(&inter, &extra[0]);
	EXPECT_CAUSES(LOOK(&leaf, &inter), 0);
}

/* What is expired and revoked is both. */
Test(chain, revoked_and_expired)
{
	chain_leaf(&extra[0], (struct pki_spec){ .from_days = -30, .to_days = -2 });
	revoke(&inter, &extra[0]);
	EXPECT_FAULTS(LOOK(&extra[0], &inter), 0, "revoked expired");
	EXPECT_CAUSES(chain, CHAIN_REVOKED | CHAIN_TIME);
}
