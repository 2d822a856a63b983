/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Signatures by libcrypto, verified by GnuTLS, in each scheme of TLS; and that a server
 * chooses its certificate as GnuTLS does for keys of its own. */

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "lib/tls/cert_set.h"
#include "lib/tls/signer.h"

static gnutls_x509_privkey_t make_key(gnutls_pk_algorithm_t algorithm, unsigned bits)
{
	gnutls_x509_privkey_t key;

	cr_assert_eq(gnutls_x509_privkey_init(&key), 0);
	cr_assert_eq(gnutls_x509_privkey_generate(key, algorithm, bits, 0), 0);
	return key;
}

/* Whatever this machine finds faster is tested; GnuTLS's own is no subject here. The key
 * outlives its signer's maker. */
static gnutls_privkey_t must_be_faster(gnutls_x509_privkey_t key)
{
	struct signer *s = signer_new(key);
	gnutls_privkey_t out;

#ifndef HAVE_LIBCRYPTO
	cr_assert_null(s);
#endif
	if (!s)
		cr_skip_test("no libcrypto, or it is not faster here");
	out = signer_key(s);
	cr_assert(out);
	signer_free(s);
	return out;
}

static void check_scheme(gnutls_privkey_t s, gnutls_x509_privkey_t key, gnutls_sign_algorithm_t scheme)
{
	gnutls_datum_t data = { (unsigned char *)"what was said so far", 20 }, sig = { NULL, 0 };
	const char *name = gnutls_sign_get_name(scheme);
	gnutls_privkey_t own;
	gnutls_pubkey_t pub;

	cr_assert_eq(gnutls_privkey_init(&own), 0);
	cr_assert_eq(gnutls_privkey_import_x509(own, key, 0), 0);
	cr_assert_eq(gnutls_pubkey_init(&pub), 0);
	cr_assert_eq(gnutls_pubkey_import_privkey(pub, own, 0, 0), 0);
	cr_assert_eq(gnutls_privkey_sign_data2(s, scheme, 0, &data, &sig), 0, "%s", name);
	cr_assert_eq(gnutls_pubkey_verify_data2(pub, scheme, 0, &data, &sig), 0, "%s", name);
	sig.data[sig.size / 2] ^= 1;
	cr_assert_lt(gnutls_pubkey_verify_data2(pub, scheme, 0, &data, &sig), 0, "%s", name);
	gnutls_free(sig.data);
	gnutls_pubkey_deinit(pub);
	gnutls_privkey_deinit(own);
}

static void check_schemes(gnutls_pk_algorithm_t algorithm, unsigned bits, const gnutls_sign_algorithm_t *schemes)
{
	gnutls_x509_privkey_t key = make_key(algorithm, bits);
	gnutls_privkey_t s = must_be_faster(key);
	unsigned told = 0;

	cr_assert_eq(gnutls_privkey_get_pk_algorithm(s, &told), (int)algorithm);
	cr_assert_gt(told, 0);
	for (; *schemes != GNUTLS_SIGN_UNKNOWN; schemes++)
		check_scheme(s, key, *schemes);
	gnutls_privkey_deinit(s);
	gnutls_x509_privkey_deinit(key);
}

Test(signer, rsa)
{
	static const gnutls_sign_algorithm_t schemes[] = { GNUTLS_SIGN_RSA_SHA256, GNUTLS_SIGN_RSA_SHA384,
		GNUTLS_SIGN_RSA_SHA512, GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, GNUTLS_SIGN_RSA_PSS_RSAE_SHA384,
		GNUTLS_SIGN_RSA_PSS_RSAE_SHA512, GNUTLS_SIGN_RSA_SHA224 /* none of ours */, GNUTLS_SIGN_UNKNOWN };

	check_schemes(GNUTLS_PK_RSA, 2048, schemes);
}

Test(signer, ecdsa)
{
	static const gnutls_sign_algorithm_t schemes[] = { GNUTLS_SIGN_ECDSA_SHA256, GNUTLS_SIGN_ECDSA_SHA384,
		GNUTLS_SIGN_ECDSA_SHA512, GNUTLS_SIGN_ECDSA_SECP256R1_SHA256, GNUTLS_SIGN_UNKNOWN };

	check_schemes(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), schemes);
}

/* Workers share a server's key. */
#define SIGNING_THREADS 4

struct signing {
	pthread_t thread;
	gnutls_privkey_t s;
	gnutls_pubkey_t pub;
	gnutls_sign_algorithm_t scheme;
	int failed;
};

static void *sign_often(void *arg)
{
	struct signing *w = arg;
	gnutls_datum_t data = { (unsigned char *)"what was said so far", 20 }, sig;
	int i;

	for (i = 0; i < 50 && !w->failed; i++) {
		sig = (gnutls_datum_t){ NULL, 0 };
		w->failed = gnutls_privkey_sign_data2(w->s, w->scheme, 0, &data, &sig) < 0 ||
			gnutls_pubkey_verify_data2(w->pub, w->scheme, 0, &data, &sig) < 0;
		gnutls_free(sig.data);
	}
	return NULL;
}

static void sign_at_once(gnutls_pk_algorithm_t algorithm, unsigned bits, const gnutls_sign_algorithm_t schemes[2])
{
	gnutls_x509_privkey_t key = make_key(algorithm, bits);
	gnutls_privkey_t s = must_be_faster(key), own;
	struct signing w[SIGNING_THREADS];
	gnutls_pubkey_t pub;
	int i;

	cr_assert_eq(gnutls_privkey_init(&own), 0);
	cr_assert_eq(gnutls_privkey_import_x509(own, key, 0), 0);
	cr_assert_eq(gnutls_pubkey_init(&pub), 0);
	cr_assert_eq(gnutls_pubkey_import_privkey(pub, own, 0, 0), 0);
	for (i = 0; i < SIGNING_THREADS; i++) {
		w[i] = (struct signing){ .s = s, .pub = pub, .scheme = schemes[i % 2] };
		cr_assert_eq(pthread_create(&w[i].thread, NULL, sign_often, &w[i]), 0);
	}
	for (i = 0; i < SIGNING_THREADS; i++) {
		cr_assert_eq(pthread_join(w[i].thread, NULL), 0);
		cr_assert_not(w[i].failed, "%s", gnutls_sign_get_name(w[i].scheme));
	}
	gnutls_pubkey_deinit(pub);
	gnutls_privkey_deinit(own);
	gnutls_privkey_deinit(s);
	gnutls_x509_privkey_deinit(key);
}

Test(signer, several_threads_at_once)
{
	static const gnutls_sign_algorithm_t rsa[] = { GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, GNUTLS_SIGN_RSA_SHA256 };
	static const gnutls_sign_algorithm_t ecdsa[] = { GNUTLS_SIGN_ECDSA_SHA256, GNUTLS_SIGN_ECDSA_SECP256R1_SHA256 };

	sign_at_once(GNUTLS_PK_RSA, 2048, rsa);
	sign_at_once(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), ecdsa);
}

/* RSA key exchange (TLS 1.2), where it is allowed. */
Test(signer, decrypts)
{
	gnutls_x509_privkey_t key = make_key(GNUTLS_PK_RSA, 2048);
	gnutls_privkey_t s = must_be_faster(key);
	gnutls_datum_t secret = { (unsigned char *)"0123456789", 10 }, sealed = { NULL, 0 }, opened = { NULL, 0 };
	gnutls_pubkey_t pub;

	cr_assert_eq(gnutls_pubkey_init(&pub), 0);
	{
		gnutls_privkey_t own;

		cr_assert_eq(gnutls_privkey_init(&own), 0);
		cr_assert_eq(gnutls_privkey_import_x509(own, key, 0), 0);
		cr_assert_eq(gnutls_pubkey_import_privkey(pub, own, 0, 0), 0);
		gnutls_privkey_deinit(own);
	}
	cr_assert_eq(gnutls_pubkey_encrypt_data(pub, 0, &secret, &sealed), 0);
	cr_assert_eq(gnutls_privkey_decrypt_data(s, 0, &sealed, &opened), 0);
	cr_assert(opened.size == secret.size && memcmp(opened.data, secret.data, secret.size) == 0);
	gnutls_free(sealed.data);
	gnutls_free(opened.data);
	gnutls_pubkey_deinit(pub);
	gnutls_privkey_deinit(s);
	gnutls_x509_privkey_deinit(key);
}

/* Each of several keys signs, whichever of them are freed before. */
Test(signer, several_keys)
{
	gnutls_x509_privkey_t key = make_key(GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1));
	struct signer *s = signer_new(key);
	gnutls_privkey_t keys[3];
	int i;

	if (!s)
		cr_skip_test("no libcrypto, or it is not faster here");
	for (i = 0; i < 3; i++)
		cr_assert(keys[i] = signer_key(s));
	gnutls_privkey_deinit(keys[1]);
	check_scheme(keys[2], key, GNUTLS_SIGN_ECDSA_SHA256);
	signer_free(s);
	gnutls_privkey_deinit(keys[2]);
	check_scheme(keys[0], key, GNUTLS_SIGN_ECDSA_SHA256);
	gnutls_privkey_deinit(keys[0]);
	gnutls_x509_privkey_deinit(key);
}

Test(signer, leaves_other_keys_alone)
{
	gnutls_x509_privkey_t key = make_key(GNUTLS_PK_EDDSA_ED25519, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519));

	cr_assert_null(signer_new(key));
	gnutls_x509_privkey_deinit(key);
}

/* --- cert_set ----------------------------------------------------------------------- */

static gnutls_x509_crt_t make_crt(gnutls_x509_privkey_t key, const char *cn, const char *const *names)
{
	gnutls_x509_crt_t crt;
	bool more = false;

	cr_assert_eq(gnutls_x509_crt_init(&crt), 0);
	cr_assert_eq(gnutls_x509_crt_set_version(crt, 3), 0);
	cr_assert_eq(gnutls_x509_crt_set_serial(crt, "\1", 1), 0);
	cr_assert_eq(gnutls_x509_crt_set_activation_time(crt, 0), 0);
	cr_assert_eq(gnutls_x509_crt_set_expiration_time(crt, 2000000000), 0);
	cr_assert_eq(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, cn, (unsigned)strlen(cn)), 0);
	for (; *names; names++, more = true)
		cr_assert_eq(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, *names, (unsigned)strlen(*names),
				     more ? GNUTLS_FSAN_APPEND : GNUTLS_FSAN_SET), 0);
	cr_assert_eq(gnutls_x509_crt_set_key(crt, key), 0);
	cr_assert_eq(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	return crt;
}

Test(cert_set, a_key_of_another_certificate)
{
	static const char *const names[] = { "a.test", NULL };
	gnutls_x509_privkey_t key = make_key(GNUTLS_PK_RSA, 2048), other = make_key(GNUTLS_PK_RSA, 2048);
	gnutls_x509_crt_t crt = make_crt(key, "a.test", names);
	gnutls_certificate_credentials_t cred;

	for (int server = 0; server < 2; server++) {
		struct signer *wrong = server ? signer_new(other) : NULL, *right = server ? signer_new(key) : NULL;

		cr_assert_eq(gnutls_certificate_allocate_credentials(&cred), 0);
		cr_assert_eq(cert_set(cred, &crt, 1, other, wrong), GNUTLS_E_CERTIFICATE_KEY_MISMATCH);
		cr_assert_geq(cert_set(cred, &crt, 1, key, right), 0);
		gnutls_certificate_free_credentials(cred);
		signer_free(wrong);
		signer_free(right);
	}
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
	gnutls_x509_privkey_deinit(other);
}
