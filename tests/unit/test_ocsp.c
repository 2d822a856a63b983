/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* OCSP answers: what they say, and whether they may. */

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/tls/ocsp.h"
#include "tests/unit/ocsp_make.h"
#include "tests/unit/pki.h"
#include "tests/unit/timeout.h"

#define CA .ca = true, .from_days = -1000, .to_days = 2000
#define HOUR 3600
#define DAY  86400

static struct pki_node ca, leaf, other_leaf, other_ca, signer, more;
static struct ocsp_make_single single;
static struct ocsp_make make;
static struct ocsp_result result;

static void make_pki(void)
{
	pki_node(&ca, &(struct pki_spec){ .dn = "CN=ca", CA });
	pki_node(&other_ca, &(struct pki_spec){ .dn = "CN=other ca", CA });
	pki_node(&leaf, &(struct pki_spec){ .dn = "CN=leaf", .issuer = &ca, .names = { "dns:www.example" } });
	pki_node(&other_leaf, &(struct pki_spec){ .dn = "CN=other", .issuer = &ca, .names = { "dns:www.example" } });
	pki_node(&signer, &(struct pki_spec){ .dn = "CN=responder", .issuer = &ca, .purpose = GNUTLS_KP_OCSP_SIGNING });
	single = (struct ocsp_make_single){ .crt = leaf.crt, .issuer = ca.crt, .this_update = PKI_NOW - HOUR,
		.next_update = PKI_NOW + DAY };
	make = (struct ocsp_make){ .singles = &single, .n = 1, .produced = PKI_NOW - HOUR, .signer = ca.crt, .key = ca.key };
	setenv("TZ", "Pacific/Kiritimati", 1);
	tzset();
}

static void drop_pki(void)
{
	pki_node_free(&ca);
	pki_node_free(&other_ca);
	pki_node_free(&leaf);
	pki_node_free(&other_leaf);
	pki_node_free(&signer);
	pki_node_free(&more);
}

TestSuite(ocsp, .init = make_pki, .fini = drop_pki, .timeout = TEST_TIMEOUT);

static enum ocsp_status checked(void)
{
	gnutls_datum_t der = ocsp_make(&make);

	cr_assert(der.data);
	ocsp_check(&der, leaf.crt, ca.crt, PKI_NOW, &result);
	gnutls_free(der.data);
	cr_expect(result.text[0] && strlen(result.text) < sizeof(result.text) - 1);
	return result.status;
}

#define EXPECT(expected) \
	do { \
		enum ocsp_status s_ = checked(); \
		cr_expect(s_ == (expected), "%s: %s", ocsp_status_name(s_), result.text); \
	} while (0)

/* --- what it says ---------------------------------------------------------------------- */

Test(ocsp, good)
{
	EXPECT(OCSP_GOOD);
	cr_expect(result.this_update == PKI_NOW - HOUR && result.produced == PKI_NOW - HOUR);
	cr_expect(result.next_update == PKI_NOW + DAY);
	cr_expect(result.revoked_at == -1 && result.reason == NULL);
	cr_expect_str_eq(result.text, "not revoked as of 2026-01-01; good until 2026-01-02");
	make.by_key = true;
	EXPECT(OCSP_GOOD);
	single.digest = GNUTLS_DIG_SHA256;
	EXPECT(OCSP_GOOD);
}

Test(ocsp, revoked)
{
	single.status = GNUTLS_OCSP_CERT_REVOKED;
	single.revoked_at = PKI_NOW - 10 * DAY;
	EXPECT(OCSP_REVOKED);
	cr_expect(result.revoked_at == PKI_NOW - 10 * DAY && result.reason == NULL);
	cr_expect_str_eq(result.text, "the certificate was revoked on 2025-12-22");
	single.reason = GNUTLS_X509_CRLREASON_KEYCOMPROMISE;
	EXPECT(OCSP_REVOKED);
	cr_expect_str_eq(result.reason, "key compromise");
	cr_expect_str_eq(result.text, "the certificate was revoked on 2025-12-22 (key compromise)");
	single.reason = 7; /* there is none with this number */
	EXPECT(OCSP_REVOKED);
	cr_expect(result.reason == NULL);
}

Test(ocsp, unknown)
{
	single.status = GNUTLS_OCSP_CERT_UNKNOWN;
	EXPECT(OCSP_UNKNOWN);
}

Test(ocsp, refusals)
{
	static const int errors[] = { 1, 2, 3, 5, 6 };
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		make.error = errors[i];
		EXPECT(OCSP_ERROR);
	}
	cr_expect_str_eq(result.text, "the responder refuses to answer: it does not answer for this certificate");
	make.error = 4; /* not used */
	EXPECT(OCSP_MALFORMED);
}

/* --- time ---------------------------------------------------------------------------------- */

Test(ocsp, expired)
{
	single.this_update = make.produced = PKI_NOW - 3 * DAY;
	single.next_update = PKI_NOW;
	EXPECT(OCSP_GOOD);
	single.next_update = PKI_NOW - 1;
	EXPECT(OCSP_EXPIRED);
	cr_expect(result.next_update == PKI_NOW - 1);
	cr_expect_str_eq(result.text, "it was good until 2026-01-01: whoever serves it must fetch a new one");
}

Test(ocsp, from_the_future)
{
	single.this_update = make.produced = PKI_NOW + 300;
	EXPECT(OCSP_GOOD);
	single.this_update++;
	EXPECT(OCSP_EXPIRED);
	single.this_update = PKI_NOW - HOUR;
	make.produced = PKI_NOW + 301;
	EXPECT(OCSP_EXPIRED);
}

Test(ocsp, without_next_update)
{
	single.next_update = OCSP_MAKE_NONE;
	EXPECT(OCSP_GOOD);
	cr_expect(result.next_update == -1);
	single.this_update = PKI_NOW - 15 * DAY;
	EXPECT(OCSP_GOOD);
	single.this_update--;
	EXPECT(OCSP_EXPIRED);
}

/* A revocation is not taken back, so an old answer says it as well as a new one;
 * a hold may be over by now. */
Test(ocsp, expired_and_revoked)
{
	single.status = GNUTLS_OCSP_CERT_REVOKED;
	single.revoked_at = PKI_NOW - 10 * DAY;
	single.next_update = PKI_NOW - HOUR / 2;
	EXPECT(OCSP_REVOKED);
	single.reason = GNUTLS_X509_CRLREASON_CERTIFICATEHOLD;
	EXPECT(OCSP_EXPIRED);
	single.next_update = PKI_NOW + HOUR;
	EXPECT(OCSP_REVOKED);
	cr_expect_str_eq(result.reason, "certificate hold");
}

/* --- about whom ------------------------------------------------------------------------------- */

Test(ocsp, about_another)
{
	single.crt = other_leaf.crt;
	EXPECT(OCSP_OTHER);
	cr_expect(result.this_update == -1 && result.produced == -1);
	/* of another CA, signed by it */
	single = (struct ocsp_make_single){ .crt = leaf.crt, .issuer = other_ca.crt, .this_update = PKI_NOW,
		.next_update = PKI_NOW + DAY };
	make.signer = other_ca.crt;
	make.key = other_ca.key;
	EXPECT(OCSP_OTHER);
}

Test(ocsp, about_a_namesake)
{
	single.wrong_key_hash = true;
	EXPECT(OCSP_OTHER);
}

Test(ocsp, about_several)
{
	struct ocsp_make_single all[3] = { single, single, single };

	all[0].crt = other_leaf.crt;
	all[0].status = GNUTLS_OCSP_CERT_REVOKED;
	all[2].this_update -= HOUR;
	all[2].status = GNUTLS_OCSP_CERT_UNKNOWN;
	make.singles = all;
	make.n = 3;
	EXPECT(OCSP_GOOD); /* the newest counts */
	all[2].this_update += 2 * HOUR;
	EXPECT(OCSP_UNKNOWN);
	all[1].status = GNUTLS_OCSP_CERT_REVOKED;
	EXPECT(OCSP_REVOKED); /* unless one is a revocation */
	make.n = 1;
	EXPECT(OCSP_OTHER);
	make.n = 0;
	EXPECT(OCSP_MALFORMED);
}

/* --- signed by whom ----------------------------------------------------------------------------- */

Test(ocsp, forged)
{
	make.key = other_ca.key;
	EXPECT(OCSP_BAD_SIGNATURE);
	cr_expect(result.this_update == -1 && result.revoked_at == -1);
	single.status = GNUTLS_OCSP_CERT_REVOKED;
	EXPECT(OCSP_BAD_SIGNATURE);
}

Test(ocsp, delegated)
{
	make.signer = signer.crt;
	make.key = signer.key;
	make.certs[0] = signer.crt;
	EXPECT(OCSP_GOOD);
	make.by_key = true;
	EXPECT(OCSP_GOOD);
	make.certs[0] = other_leaf.crt;
	make.certs[1] = signer.crt;
	EXPECT(OCSP_GOOD);
	make.certs[0] = NULL;
	EXPECT(OCSP_BAD_SIGNATURE);
}

static void delegate(struct pki_spec spec)
{
	pki_node_free(&more);
	spec.dn = "CN=more";
	pki_node(&more, &spec);
	make.signer = more.crt;
	make.key = more.key;
	make.certs[0] = more.crt;
}

Test(ocsp, signer_without_the_purpose)
{
	delegate((struct pki_spec){ .issuer = &ca });
	EXPECT(OCSP_BAD_SIGNATURE);
	cr_expect_str_eq(result.text, "it proves nothing: its signer may not sign OCSP answers");
	delegate((struct pki_spec){ .issuer = &ca, .purpose = GNUTLS_KP_ANY });
	EXPECT(OCSP_BAD_SIGNATURE);
}

Test(ocsp, signer_of_another_ca)
{
	delegate((struct pki_spec){ .issuer = &other_ca, .purpose = GNUTLS_KP_OCSP_SIGNING });
	EXPECT(OCSP_BAD_SIGNATURE);
	make.certs[1] = other_ca.crt;
	EXPECT(OCSP_BAD_SIGNATURE);
	delegate((struct pki_spec){ .issuer = &ca, .forged_by = &other_ca, .purpose = GNUTLS_KP_OCSP_SIGNING });
	EXPECT(OCSP_BAD_SIGNATURE);
	delegate((struct pki_spec){ .purpose = GNUTLS_KP_OCSP_SIGNING }); /* by itself */
	EXPECT(OCSP_BAD_SIGNATURE);
}

/* A certificate that a responder got from the issuer certifies no further ones. */
Test(ocsp, signer_below_a_signer)
{
	struct pki_node between = { 0 };

	pki_node(&between, &(struct pki_spec){ .dn = "CN=between", CA, .issuer = &ca });
	delegate((struct pki_spec){ .issuer = &between, .purpose = GNUTLS_KP_OCSP_SIGNING });
	make.certs[1] = between.crt;
	EXPECT(OCSP_BAD_SIGNATURE);
	pki_node_free(&between);
}

Test(ocsp, signer_out_of_date)
{
	delegate((struct pki_spec){ .issuer = &ca, .purpose = GNUTLS_KP_OCSP_SIGNING, .from_days = -9, .to_days = -1 });
	EXPECT(OCSP_BAD_SIGNATURE);
	delegate((struct pki_spec){ .issuer = &ca, .purpose = GNUTLS_KP_OCSP_SIGNING, .from_days = 1, .to_days = 9 });
	EXPECT(OCSP_BAD_SIGNATURE);
}

/* Somebody else's certificate with the issuer's name hides the issuer from GnuTLS's own check. */
Test(ocsp, impostor_among_the_certificates)
{
	pki_node(&more, &(struct pki_spec){ .dn = "CN=ca", CA });
	make.certs[0] = more.crt;
	EXPECT(OCSP_GOOD);
	make.key = more.key;
	EXPECT(OCSP_BAD_SIGNATURE);
}

Test(ocsp, weak_signature)
{
	delegate((struct pki_spec){ .issuer = &ca, .purpose = GNUTLS_KP_OCSP_SIGNING, .key = PKI_RSA_2048 });
	EXPECT(OCSP_GOOD);
	make.digest = GNUTLS_DIG_SHA1;
	EXPECT(OCSP_BAD_SIGNATURE);
	cr_expect_str_eq(result.text, "it proves nothing: it is signed in a way that can be forged");
}

Test(ocsp, issuer_unknown)
{
	gnutls_datum_t der = ocsp_make(&make);

	ocsp_check(&der, leaf.crt, NULL, PKI_NOW, &result);
	cr_expect(result.status == OCSP_BAD_SIGNATURE);
	gnutls_free(der.data);
}

/* --- shape ------------------------------------------------------------------------------------ */

Test(ocsp, none)
{
	gnutls_datum_t empty = { NULL, 0 };

	ocsp_check(&empty, leaf.crt, ca.crt, PKI_NOW, &result);
	cr_expect(result.status == OCSP_NONE);
	ocsp_check(NULL, leaf.crt, ca.crt, PKI_NOW, &result);
	cr_expect(result.status == OCSP_NONE);
}

Test(ocsp, another_kind_of_answer)
{
	make.type = "\x06\x09\x2b\x06\x01\x05\x05\x07\x30\x01\x02";
	EXPECT(OCSP_MALFORMED);
}

/* What stands in front of what is signed. */
#define ENVELOPE 32

/* Cut off anywhere it is malformed; with any signed byte changed it is no good
 * answer. GnuTLS does not mind some lengths in the envelope, nor an encoding that is
 * only unusual (a TRUE that is not 0xff) in the certificates of an answer, which it
 * writes anew; neither changes what is said. */
Test(ocsp, damaged)
{
	gnutls_datum_t der = ocsp_make(&make), copy;
	unsigned i;

	copy.data = malloc(der.size);
	for (i = 1; i < der.size; i++) {
		memcpy(copy.data, der.data, der.size);
		copy.size = i;
		ocsp_check(&copy, leaf.crt, ca.crt, PKI_NOW, &result);
		cr_expect(result.status == OCSP_MALFORMED, "%u bytes: %s", i, result.text);
		copy.size = der.size;
		copy.data[i] ^= 0x55;
		ocsp_check(&copy, leaf.crt, ca.crt, PKI_NOW, &result);
		cr_expect(i < ENVELOPE || result.status != OCSP_GOOD, "byte %u", i);
	}
	free(copy.data);
	gnutls_free(der.data);
}

Test(ocsp, names)
{
	int s;

	for (s = OCSP_NONE; s <= OCSP_MALFORMED; s++)
		cr_expect(ocsp_status_name((enum ocsp_status)s)[0]);
	cr_expect_str_eq(ocsp_status_name(OCSP_OTHER), "other-certificate");
	cr_expect_str_eq(ocsp_status_name(OCSP_MALFORMED), "malformed");
}

Test(ocsp, request)
{
	gnutls_datum_t a, b, nonce = { NULL, 0 }, serial;
	gnutls_ocsp_req_t req;
	unsigned critical;
	struct err e;

	cr_assert(ocsp_request(leaf.crt, ca.crt, &a, &e) == 0 && ocsp_request(leaf.crt, ca.crt, &b, &e) == 0);
	cr_expect(a.size == b.size && memcmp(a.data, b.data, a.size) != 0);
	cr_assert(gnutls_ocsp_req_init(&req) == 0 && gnutls_ocsp_req_import(req, &a) == 0);
	cr_expect(gnutls_ocsp_req_get_nonce(req, &critical, &nonce) == 0 && nonce.size >= 16);
	cr_expect(gnutls_ocsp_req_get_cert_id(req, 0, NULL, NULL, NULL, &serial) == 0 && serial.size == 4);
	gnutls_ocsp_req_deinit(req);
	gnutls_free(nonce.data);
	gnutls_free(serial.data);
	gnutls_free(a.data);
	gnutls_free(b.data);
}
