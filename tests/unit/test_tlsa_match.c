/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/tls/cert.h"
#include "lib/tls/tlsa.h"
#include "tests/unit/pki.h"
#include "tests/unit/timeout.h"

/* root > middle > leaf; old: an expired leaf of middle; stranger: a leaf of an other
 * root of the same name. */

#define DAY (24 * 3600)

static struct pki root, middle, other;

enum { LEAF, MIDDLE, ROOT, OLD, STRANGER, OTHER_ROOT, N };
static gnutls_datum_t der[N];

static void export(gnutls_x509_crt_t crt, gnutls_datum_t *out)
{
	cr_assert_eq(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_DER, out), 0);
}

static void read_leaf(struct pki *p, const char *file, gnutls_datum_t *out)
{
	gnutls_datum_t pem;
	gnutls_x509_crt_t crt;

	cr_assert_eq(gnutls_load_file(pki_path(p, file), &pem), 0);
	cr_assert_eq(gnutls_x509_crt_init(&crt), 0);
	cr_assert_eq(gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM), 0);
	export(crt, out);
	gnutls_x509_crt_deinit(crt);
	gnutls_free(pem.data);
}

/* A CA below root; middle's leaves are written to root's folder. */
static void make_middle(void)
{
	memcpy(middle.dir, root.dir, sizeof(middle.dir));
	cr_assert(gnutls_x509_privkey_init(&middle.ca_key) == 0 && gnutls_x509_crt_init(&middle.ca) == 0);
	cr_assert_eq(gnutls_x509_privkey_generate(middle.ca_key, GNUTLS_PK_ECDSA,
			     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	gnutls_x509_crt_set_version(middle.ca, 3);
	gnutls_x509_crt_set_serial(middle.ca, "\x42", 1);
	gnutls_x509_crt_set_activation_time(middle.ca, time(NULL) - 10 * DAY);
	gnutls_x509_crt_set_expiration_time(middle.ca, time(NULL) + 50 * DAY);
	gnutls_x509_crt_set_dn(middle.ca, "CN=middle", NULL);
	gnutls_x509_crt_set_key(middle.ca, middle.ca_key);
	gnutls_x509_crt_set_basic_constraints(middle.ca, 1, -1);
	gnutls_x509_crt_set_key_usage(middle.ca, GNUTLS_KEY_KEY_CERT_SIGN);
	cr_assert_eq(gnutls_x509_crt_sign2(middle.ca, root.ca, root.ca_key, GNUTLS_DIG_SHA256, 0), 0);
}

static void make_all(void)
{
	pki_make(&root);
	pki_make(&other);
	make_middle();
	pki_leaf(&middle, "leaf", &(struct pki_leaf){ .dn = "CN=leaf", .dns = "leaf.example" });
	pki_leaf(&middle, "old", &(struct pki_leaf){ .dn = "CN=old", .from_days = -9, .to_days = -2 });
	pki_leaf(&other, "stranger", &(struct pki_leaf){ .dn = "CN=leaf", .dns = "leaf.example" });
	read_leaf(&root, "leaf.pem", &der[LEAF]);
	read_leaf(&root, "old.pem", &der[OLD]);
	read_leaf(&other, "stranger.pem", &der[STRANGER]);
	export(middle.ca, &der[MIDDLE]);
	export(root.ca, &der[ROOT]);
	export(other.ca, &der[OTHER_ROOT]);
}

static void drop_all(void)
{
	for (int i = 0; i < N; i++)
		gnutls_free(der[i].data);
	gnutls_x509_crt_deinit(middle.ca);
	gnutls_x509_privkey_deinit(middle.ca_key);
	pki_free(&root);
	pki_free(&other);
}

TestSuite(tlsa_match, .timeout = TEST_TIMEOUT, .init = make_all, .fini = drop_all);

/* --- records that fit ---------------------------------------------------------- */

static void add(struct tlsa_list *l, unsigned usage, unsigned selector, unsigned matching, const gnutls_datum_t *d)
{
	gnutls_datum_t what = { NULL, 0 };
	uint8_t hash[64];
	gnutls_x509_crt_t crt;
	gnutls_pubkey_t key;

	cr_assert(gnutls_x509_crt_init(&crt) == 0 && gnutls_pubkey_init(&key) == 0);
	cr_assert_eq(gnutls_x509_crt_import(crt, d, GNUTLS_X509_FMT_DER), 0);
	cr_assert_eq(gnutls_pubkey_import_x509(key, crt, 0), 0);
	if (selector == TLSA_KEY)
		cr_assert_eq(gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, &what), 0);
	else
		export(crt, &what);
	if (matching == TLSA_FULL) {
		cr_assert_eq(tlsa_add(l, usage, selector, matching, what.data, what.size), 1);
	} else {
		cr_assert_eq(gnutls_hash_fast(matching == 1 ? GNUTLS_DIG_SHA256 : GNUTLS_DIG_SHA512, what.data,
				     what.size, hash), 0);
		cr_assert_eq(tlsa_add(l, usage, selector, matching, hash, matching == 1 ? 32 : 64), 1);
	}
	gnutls_free(what.data);
	gnutls_pubkey_deinit(key);
	gnutls_x509_crt_deinit(crt);
}

#define MAX 6

/* A chain of certificates by number, -1 behind them. */
struct shape {
	int sent[MAX], path[MAX];
};

static struct tlsa_result match(const struct tlsa_list *l, const struct shape *s)
{
	gnutls_datum_t sent[MAX], path[MAX];
	struct tlsa_chain c = { .sent = sent, .path = path };
	struct tlsa_result out;

	while (s->sent[c.n_sent] >= 0) {
		sent[c.n_sent] = der[s->sent[c.n_sent]];
		c.n_sent++;
	}
	while (s->path[c.n_path] >= 0) {
		path[c.n_path] = der[s->path[c.n_path]];
		c.n_path++;
	}
	tlsa_match(l, &c, &out);
	cr_expect(out.text[0] != '\0');
	return out;
}

/* One record of `usage` about certificate `about`, in each of the six forms. */
static void must(unsigned usage, int about, const struct shape *s, bool ok, const char *text)
{
	for (unsigned form = 0; form < 6; form++) {
		struct tlsa_list l = { NULL, 0 };
		struct tlsa_result r;

		add(&l, usage, form / 3, form % 3, &der[about]);
		r = match(&l, s);
		cr_expect_eq(r.ok, ok, "usage %u, form %u: %s", usage, form, r.text);
		if (form != 0 || text[0] != '\0')
			cr_expect(strstr(r.text, text), "usage %u, form %u: %s", usage, form, r.text);
		if (ok)
			cr_expect(r.usage == usage && r.record == 0);
		tlsa_list_free(&l);
	}
}

static const struct shape whole = { { LEAF, MIDDLE, -1 }, { LEAF, MIDDLE, ROOT, -1 } };
static const struct shape no_path = { { LEAF, MIDDLE, -1 }, { -1 } };

Test(tlsa_match, dane_ee)
{
	static const struct shape alone = { { LEAF, -1 }, { -1 } }, old = { { OLD, -1 }, { -1 } };

	must(TLSA_DANE_EE, LEAF, &whole, true, "matches the leaf");
	must(TLSA_DANE_EE, LEAF, &alone, true, "matches the leaf");
	must(TLSA_DANE_EE, OLD, &old, true, "matches the leaf");
	must(TLSA_DANE_EE, MIDDLE, &whole, false, "matches certificate 1, an issuer, and this usage is about the leaf");
	must(TLSA_DANE_EE, STRANGER, &whole, false, "the leaf is another one");
}

Test(tlsa_match, pkix_ee)
{
	must(TLSA_PKIX_EE, LEAF, &whole, true, "matches the leaf");
	must(TLSA_PKIX_EE, LEAF, &no_path, false, "there is no valid path to a trusted root");
	must(TLSA_PKIX_EE, MIDDLE, &whole, false, "an issuer");
	must(TLSA_PKIX_EE, STRANGER, &whole, false, "the leaf is another one");
}

Test(tlsa_match, pkix_ta)
{
	static const struct shape beside = { { LEAF, MIDDLE, OTHER_ROOT, -1 }, { LEAF, MIDDLE, ROOT, -1 } };

	must(TLSA_PKIX_TA, ROOT, &whole, true, "matches certificate 2 of the verified path");
	must(TLSA_PKIX_TA, MIDDLE, &whole, true, "matches certificate 1 of the verified path");
	must(TLSA_PKIX_TA, MIDDLE, &no_path, false, "matches certificate 1, but there is no valid path");
	must(TLSA_PKIX_TA, OTHER_ROOT, &beside, false, "certificate 2, which is not on the verified path");
	must(TLSA_PKIX_TA, LEAF, &whole, false, "did you mean 1?");
	must(TLSA_PKIX_TA, STRANGER, &whole, false, "no issuer in the chain matches");
}

Test(tlsa_match, dane_ta)
{
	static const struct shape sent = { { LEAF, MIDDLE, ROOT, -1 }, { -1 } },
				  disordered = { { LEAF, ROOT, MIDDLE, -1 }, { -1 } },
				  old = { { OLD, MIDDLE, ROOT, -1 }, { -1 } };

	must(TLSA_DANE_TA, ROOT, &sent, true, "matches certificate 2 of the chain");
	must(TLSA_DANE_TA, MIDDLE, &sent, true, "matches certificate 1 of the chain");
	must(TLSA_DANE_TA, ROOT, &disordered, true, "matches certificate 1 of the chain");
	must(TLSA_DANE_TA, ROOT, &whole, true, "matches certificate 2 of the verified path");
	must(TLSA_DANE_TA, ROOT, &old, false, "expired");
	must(TLSA_DANE_TA, LEAF, &sent, false, "did you mean 3?");
}

/* A root that is sent along with a leaf it has not signed proves nothing. */
Test(tlsa_match, dane_ta_that_did_not_sign)
{
	static const struct shape forged = { { STRANGER, ROOT, -1 }, { -1 } },
				  with_middle = { { STRANGER, MIDDLE, ROOT, -1 }, { -1 } },
				  twice = { { STRANGER, ROOT, ROOT, OTHER_ROOT, -1 }, { -1 } };

	must(TLSA_DANE_TA, ROOT, &forged, false, "no valid path leads there");
	must(TLSA_DANE_TA, ROOT, &with_middle, false, "no valid path leads there");
	must(TLSA_DANE_TA, MIDDLE, &with_middle, false, "no valid path leads there");
	must(TLSA_DANE_TA, ROOT, &twice, false, "no valid path leads there");
	must(TLSA_DANE_TA, OTHER_ROOT, &twice, true, "matches certificate 3 of the chain");
}

/* The leaf sent once more is no issuer. */
Test(tlsa_match, dane_ta_is_not_the_leaf)
{
	static const struct shape s = { { LEAF, LEAF, -1 }, { -1 } };

	must(TLSA_DANE_TA, LEAF, &s, false, "");
}

Test(tlsa_match, dane_ta_in_the_record)
{
	struct tlsa_list l = { NULL, 0 };
	struct tlsa_result r;

	add(&l, TLSA_DANE_TA, TLSA_CERT, TLSA_FULL, &der[ROOT]);
	r = match(&l, &no_path);
	cr_expect(r.ok && r.from_record, "%s", r.text);
	cr_expect(strstr(r.text, "record 1 (2 0 0) holds the issuer"), "%s", r.text);
	r = match(&l, &(struct shape){ { STRANGER, -1 }, { -1 } });
	cr_expect(!r.ok && !r.from_record, "%s", r.text);
	cr_expect(strstr(r.text, "no valid path leads to the certificate in it"), "%s", r.text);
	tlsa_list_free(&l);
	/* a digest of what was not sent helps nobody */
	add(&l, TLSA_DANE_TA, TLSA_CERT, TLSA_SHA256, &der[ROOT]);
	r = match(&l, &no_path);
	cr_expect(!r.ok, "%s", r.text);
	cr_expect(strstr(r.text, "the server has to send it"), "%s", r.text);
	tlsa_list_free(&l);
}

Test(tlsa_match, several_records)
{
	struct tlsa_list l = { NULL, 0 };
	struct tlsa_result r;

	add(&l, TLSA_PKIX_TA, TLSA_KEY, TLSA_SHA256, &der[ROOT]);
	add(&l, TLSA_DANE_EE, TLSA_KEY, TLSA_SHA256, &der[STRANGER]);
	add(&l, TLSA_PKIX_EE, TLSA_CERT, TLSA_SHA512, &der[LEAF]);
	r = match(&l, &whole);
	cr_expect(r.ok && r.record == 2 && r.usage == TLSA_PKIX_EE && r.depth == 0, "%s", r.text);
	r = match(&l, &no_path);
	cr_expect(!r.ok);
	cr_expect(strstr(r.text, "record 2 (3 1 1): the leaf is another one; the leaf's is "), "%s", r.text);
	cr_expect(strstr(r.text, "; record 3 (1 0 2): it matches the leaf, but"), "%s", r.text);
	cr_expect(strstr(r.text, "; record 1 (0 1 1): "), "%s", r.text);
	add(&l, TLSA_DANE_EE, TLSA_KEY, TLSA_SHA512, &der[LEAF]);
	r = match(&l, &no_path);
	cr_expect(r.ok && r.record == 3, "%s", r.text);
	cr_expect_str_eq(r.text, "record 4 (3 1 2) matches the leaf");
	tlsa_list_free(&l);
}

/* The record that would fit is told. */
Test(tlsa_match, what_the_leaf_is)
{
	struct tlsa_list l = { NULL, 0 };
	struct tlsa_result r;
	struct err e;
	char text[200];
	const char *is;

	for (int form = 0; form < 4; form++) {
		add(&l, TLSA_DANE_EE, (unsigned)form / 2, 1 + (unsigned)form % 2, &der[STRANGER]);
		r = match(&l, &whole);
		is = strstr(r.text, "the leaf's is ");
		cr_assert_not_null(is, "%s", r.text);
		snprintf(text, sizeof(text), "3 %d %d %s", form / 2, 1 + form % 2, is + strlen("the leaf's is "));
		tlsa_list_free(&l);
		cr_assert_eq(tlsa_parse("--tlsa", text, &l, &e), 0, "%s", e.msg);
		r = match(&l, &whole);
		cr_expect(r.ok, "%s", r.text);
		tlsa_list_free(&l);
	}
}

Test(tlsa_match, nothing_to_match)
{
	struct tlsa_list l = { NULL, 0 };
	struct tlsa_result r = match(&l, &whole);

	cr_expect(!r.ok);
	cr_expect_str_eq(r.text, "there are no records");
	add(&l, TLSA_DANE_EE, TLSA_KEY, TLSA_SHA256, &der[LEAF]);
	r = match(&l, &(struct shape){ { -1 }, { -1 } });
	cr_expect(!r.ok);
	cr_expect_str_eq(r.text, "the server sent no certificate");
	tlsa_list_free(&l);
}

/* A certificate that cannot be read, at each place, and far too many of them. */
Test(tlsa_match, garbage)
{
	gnutls_datum_t sent[100], junk = { (unsigned char *)"\x30\x03junk", 6 };
	struct tlsa_chain c = { .sent = sent, .n_sent = 3 };
	struct tlsa_list l = { NULL, 0 };
	struct tlsa_result r;

	add(&l, TLSA_DANE_TA, TLSA_KEY, TLSA_SHA256, &der[ROOT]);
	for (size_t i = 0; i < 4; i++) {
		sent[0] = der[LEAF], sent[1] = der[MIDDLE], sent[2] = der[ROOT], sent[3] = junk;
		if (i < 3)
			sent[i] = junk;
		c.n_sent = 4;
		tlsa_match(&l, &c, &r);
		cr_expect_eq(r.ok, i == 3, "%zu: %s", i, r.text);
	}
	for (size_t i = 1; i < 100; i++)
		sent[i] = der[OTHER_ROOT];
	sent[99] = der[ROOT];
	c.n_sent = 100;
	tlsa_match(&l, &c, &r);
	cr_expect(!r.ok, "%s", r.text);
	tlsa_list_free(&l);
	cr_expect_eq(tlsa_add(&l, TLSA_DANE_EE, TLSA_CERT, TLSA_FULL, junk.data, junk.size), 1);
	sent[0] = junk;
	c.n_sent = 1;
	tlsa_match(&l, &c, &r);
	cr_expect(r.ok, "bytes are bytes: %s", r.text);
	tlsa_list_free(&l);
}
