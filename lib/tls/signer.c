/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/signer.h"

#ifdef HAVE_LIBCRYPTO
#include <gnutls/crypto.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/tls/cert.h"
#include "lib/tls/libcrypto.h"

#define SIGNATURE_MAX 2048 /* bytes: RSA of 16384 bits */
#define CLEARLY       1.15 /* times as fast */
#define TRIALS        3 /* the best counts: what disturbs only slows down */

static struct {
	typeof(d2i_AutoPrivateKey) *import;
	typeof(EVP_PKEY_free) *free_key;
	typeof(EVP_PKEY_get_size) *size;
	typeof(EVP_MD_fetch) *digest;
	typeof(EVP_PKEY_CTX_new_from_pkey) *new_context;
	typeof(EVP_PKEY_CTX_dup) *copy_context;
	typeof(EVP_PKEY_CTX_free) *free_context;
	typeof(EVP_PKEY_sign_init) *begin;
	typeof(EVP_PKEY_sign) *sign;
	typeof(EVP_PKEY_CTX_set_signature_md) *set_digest;
	typeof(EVP_PKEY_CTX_set_rsa_padding) *set_padding;
	typeof(EVP_PKEY_CTX_set_rsa_pss_saltlen) *set_salt;
} evp;

/* Signature schemes (RFC 8446, 4.2.3) in libcrypto's terms. */
static struct scheme {
	gnutls_sign_algorithm_t sign;
	const char *digest_name;
	int padding; /* 0: no RSA */
	EVP_MD *digest; /* NULL: not to be had */
} schemes[] = {
	{ GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, "SHA256", RSA_PKCS1_PSS_PADDING, NULL },
	{ GNUTLS_SIGN_RSA_PSS_RSAE_SHA384, "SHA384", RSA_PKCS1_PSS_PADDING, NULL },
	{ GNUTLS_SIGN_RSA_PSS_RSAE_SHA512, "SHA512", RSA_PKCS1_PSS_PADDING, NULL },
	{ GNUTLS_SIGN_RSA_SHA256, "SHA256", RSA_PKCS1_PADDING, NULL },
	{ GNUTLS_SIGN_RSA_SHA384, "SHA384", RSA_PKCS1_PADDING, NULL },
	{ GNUTLS_SIGN_RSA_SHA512, "SHA512", RSA_PKCS1_PADDING, NULL },
	{ GNUTLS_SIGN_ECDSA_SECP256R1_SHA256, "SHA256", 0, NULL },
	{ GNUTLS_SIGN_ECDSA_SECP384R1_SHA384, "SHA384", 0, NULL },
	{ GNUTLS_SIGN_ECDSA_SHA256, "SHA256", 0, NULL },
	{ GNUTLS_SIGN_ECDSA_SHA384, "SHA384", 0, NULL },
	{ GNUTLS_SIGN_ECDSA_SHA512, "SHA512", 0, NULL },
};

#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

static bool loaded;

static void load(void)
{
	static const struct lazy_symbol symbols[] = {
		LAZY_SYMBOL(evp, import, d2i_AutoPrivateKey),
		LAZY_SYMBOL(evp, free_key, EVP_PKEY_free),
		LAZY_SYMBOL(evp, size, EVP_PKEY_get_size),
		LAZY_SYMBOL(evp, digest, EVP_MD_fetch),
		LAZY_SYMBOL(evp, new_context, EVP_PKEY_CTX_new_from_pkey),
		LAZY_SYMBOL(evp, copy_context, EVP_PKEY_CTX_dup),
		LAZY_SYMBOL(evp, free_context, EVP_PKEY_CTX_free),
		LAZY_SYMBOL(evp, begin, EVP_PKEY_sign_init),
		LAZY_SYMBOL(evp, sign, EVP_PKEY_sign),
		LAZY_SYMBOL(evp, set_digest, EVP_PKEY_CTX_set_signature_md),
		LAZY_SYMBOL(evp, set_padding, EVP_PKEY_CTX_set_rsa_padding),
		LAZY_SYMBOL(evp, set_salt, EVP_PKEY_CTX_set_rsa_pss_saltlen),
		{ NULL, NULL },
	};
	size_t i;

	loaded = libcrypto_load(symbols);
	for (i = 0; loaded && i < SCHEMES; i++)
		schemes[i].digest = evp.digest(NULL, schemes[i].digest_name, NULL);
}

/* --- a key ------------------------------------------------------------------------- */

struct signer {
	unsigned refs; /* its maker's, and one a key */
	gnutls_privkey_t own; /* GnuTLS's */
	EVP_PKEY *fast; /* libcrypto's */
	EVP_PKEY_CTX *ready[SCHEMES]; /* to be copied, by any thread; NULL: not with this key */
};

void signer_free(struct signer *s)
{
	size_t i;

	if (!s || --s->refs)
		return;
	for (i = 0; i < SCHEMES; i++)
		evp.free_context(s->ready[i]);
	if (s->own)
		gnutls_privkey_deinit(s->own);
	if (s->fast)
		evp.free_key(s->fast); /* wipes */
	free(s);
}

static EVP_PKEY *import(gnutls_x509_privkey_t key)
{
	gnutls_datum_t der = { NULL, 0 };
	const unsigned char *p;
	EVP_PKEY *fast = NULL;

	if (gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN, &der) == 0) {
		p = der.data;
		fast = evp.import(NULL, &p, (long)der.size);
	}
	cert_wipe_datum(&der);
	return fast;
}

static bool set_up(EVP_PKEY_CTX *c, const struct scheme *scheme)
{
	if (evp.begin(c) != 1)
		return false;
	if (scheme->padding && evp.set_padding(c, scheme->padding) != 1)
		return false;
	if (evp.set_digest(c, scheme->digest) != 1)
		return false;
	return scheme->padding != RSA_PKCS1_PSS_PADDING || evp.set_salt(c, RSA_PSS_SALTLEN_DIGEST) == 1;
}

/* What libcrypto looks up for a signature costs a tenth of one with ECDSA: once a key. */
static void get_ready(struct signer *s, bool rsa)
{
	const struct scheme *scheme;
	size_t i;

	for (i = 0; i < SCHEMES; i++) {
		scheme = &schemes[i];
		if (!scheme->digest || (scheme->padding != 0) != rsa)
			continue;
		s->ready[i] = evp.new_context(NULL, s->fast, NULL);
		if (s->ready[i] && !set_up(s->ready[i], scheme)) {
			evp.free_context(s->ready[i]);
			s->ready[i] = NULL;
		}
	}
}

static struct signer *signer_open(gnutls_x509_privkey_t key)
{
	struct signer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	s->fast = import(key);
	if (s->fast && gnutls_privkey_init(&s->own) == 0 &&
		gnutls_privkey_import_x509(s->own, key, GNUTLS_PRIVKEY_IMPORT_COPY) == 0) {
		get_ready(s, gnutls_x509_privkey_get_pk_algorithm(key) == GNUTLS_PK_RSA);
		return s;
	}
	signer_free(s);
	return NULL;
}

/* --- signatures -------------------------------------------------------------------- */

static EVP_PKEY_CTX *context_for(const struct signer *s, gnutls_sign_algorithm_t sign)
{
	size_t i;

	for (i = 0; i < SCHEMES; i++)
		if (schemes[i].sign == sign)
			return s->ready[i] ? evp.copy_context(s->ready[i]) : NULL;
	return NULL;
}

/* 0, or -1: not with this one. */
static int sign_fast(struct signer *s, gnutls_sign_algorithm_t sign, const gnutls_datum_t *hash, gnutls_datum_t *out)
{
	EVP_PKEY_CTX *c = context_for(s, sign);
	unsigned char made[SIGNATURE_MAX];
	size_t n = sizeof(made);
	int r = -1;

	if (c && evp.size(s->fast) <= SIGNATURE_MAX && evp.sign(c, made, &n, hash->data, hash->size) == 1) {
		out->data = gnutls_malloc(n);
		out->size = (unsigned)n;
		if (out->data) {
			memcpy(out->data, made, n);
			r = 0;
		}
	}
	evp.free_context(c);
	return r;
}

static int sign_own(struct signer *s, gnutls_sign_algorithm_t sign, unsigned flags, const gnutls_datum_t *hash,
	gnutls_datum_t *out)
{
	return gnutls_privkey_sign_hash2(s->own, sign, flags, hash, out);
}

/* What GnuTLS calls in TLS: it has hashed already. */
static int on_sign_hash(gnutls_privkey_t key, gnutls_sign_algorithm_t sign, void *arg, unsigned flags,
	const gnutls_datum_t *hash, gnutls_datum_t *out)
{
	(void)key;
	return sign_fast(arg, sign, hash, out) == 0 ? 0 : sign_own(arg, sign, flags, hash, out);
}

static int on_decrypt(gnutls_privkey_t key, void *arg, const gnutls_datum_t *sealed, gnutls_datum_t *out)
{
	struct signer *s = arg;

	(void)key;
	return gnutls_privkey_decrypt_data(s->own, 0, sealed, out);
}

static int on_info(gnutls_privkey_t key, unsigned flags, void *arg)
{
	struct signer *s = arg;
	unsigned bits = 0;
	int algorithm = gnutls_privkey_get_pk_algorithm(s->own, &bits);

	(void)key;
	if (flags & GNUTLS_PRIVKEY_INFO_PK_ALGO)
		return algorithm;
	if (flags & GNUTLS_PRIVKEY_INFO_PK_ALGO_BITS)
		return (int)bits;
	if (flags & GNUTLS_PRIVKEY_INFO_HAVE_SIGN_ALGO)
		return (int)gnutls_sign_supports_pk_algorithm(GNUTLS_FLAGS_TO_SIGN_ALGO(flags), algorithm);
	return flags & GNUTLS_PRIVKEY_INFO_SIGN_ALGO ? 0 : -1;
}

static void on_deinit(gnutls_privkey_t key, void *arg)
{
	(void)key;
	signer_free(arg);
}

/* --- the choice -------------------------------------------------------------------- */

static gnutls_sign_algorithm_t usual_scheme(gnutls_x509_privkey_t key)
{
	switch (gnutls_x509_privkey_get_pk_algorithm(key)) {
	case GNUTLS_PK_RSA:
		return GNUTLS_SIGN_RSA_PSS_RSAE_SHA256;
	case GNUTLS_PK_ECDSA:
		return GNUTLS_SIGN_ECDSA_SHA256;
	default:
		return GNUTLS_SIGN_UNKNOWN;
	}
}

/* Nanoseconds of a signature; 0: there was none. */
static uint64_t time_one(struct signer *s, gnutls_sign_algorithm_t sign, bool fast)
{
	static unsigned char bytes[32] = { 1 }; /* SHA-256 of something */
	gnutls_datum_t hash = { bytes, sizeof(bytes) }, out = { NULL, 0 };
	uint64_t start, spent, best = 0;
	int i, r;

	for (i = 0; i < TRIALS; i++) {
		start = clock_mono_ns();
		r = fast ? sign_fast(s, sign, &hash, &out) : sign_own(s, sign, 0, &hash, &out);
		spent = clock_mono_ns() - start;
		gnutls_free(out.data);
		out.data = NULL;
		if (r < 0)
			return 0;
		if (!best || spent < best)
			best = spent;
	}
	return best;
}

static bool is_faster(struct signer *s, gnutls_sign_algorithm_t sign)
{
	uint64_t fast = time_one(s, sign, true), own = time_one(s, sign, false);
	bool faster = fast && fast * CLEARLY < own;

	log_msg(LOG_DEBUG, "%s: a signature takes GnuTLS %.3f ms, libcrypto %.3f ms%s", gnutls_sign_get_name(sign),
		own / 1e6, fast / 1e6, faster ? ", which is in use" : "");
	return faster;
}

struct signer *signer_new(gnutls_x509_privkey_t key)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	gnutls_sign_algorithm_t sign = usual_scheme(key);
	struct signer *s;

	if (sign == GNUTLS_SIGN_UNKNOWN || gnutls_fips140_mode_enabled())
		return NULL;
	pthread_once(&once, load);
	s = loaded ? signer_open(key) : NULL;
	if (s && is_faster(s, sign))
		return s;
	signer_free(s);
	return NULL;
}

gnutls_privkey_t signer_key(struct signer *s)
{
	gnutls_privkey_t out = NULL;

	if (gnutls_privkey_init(&out) < 0)
		return NULL;
	if (gnutls_privkey_import_ext4(out, s, NULL, on_sign_hash, on_decrypt, on_deinit, on_info, 0) < 0) {
		gnutls_privkey_deinit(out);
		return NULL;
	}
	s->refs++;
	return out;
}

#else
struct signer *signer_new(gnutls_x509_privkey_t key)
{
	(void)key;
	return NULL;
}

gnutls_privkey_t signer_key(struct signer *s)
{
	(void)s;
	return NULL;
}

void signer_free(struct signer *s)
{
	(void)s;
}
#endif
