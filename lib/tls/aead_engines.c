/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/aead.h"
#include "lib/tls/aead_int.h"
#include "lib/tls/libcrypto.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif
#ifdef HAVE_LIBCRYPTO
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#endif

/* --- GnuTLS: all of them ----------------------------------------------------------- */

static bool gnutls_knows(gnutls_cipher_algorithm_t cipher)
{
	(void)cipher;
	return true;
}

static void *gnutls_key(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	gnutls_aead_cipher_hd_t h;

	return gnutls_aead_cipher_init(&h, cipher, key) < 0 ? NULL : h;
}

static void gnutls_unkey(void *state)
{
	gnutls_aead_cipher_deinit(state);
}

static int gnutls_seal(void *h, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	giovec_t auth = { (void *)aad, aad_size }, iov = { data, n };
	size_t tag_size = AEAD_TAG_SIZE;

	return gnutls_aead_cipher_encryptv2(h, nonce, AEAD_NONCE_SIZE, &auth, 1, &iov, 1, data + n, &tag_size) < 0 ? -1 : 0;
}

static int gnutls_open(void *h, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	giovec_t auth = { (void *)aad, aad_size }, iov = { data, n };

	return gnutls_aead_cipher_decryptv2(h, nonce, AEAD_NONCE_SIZE, &auth, 1, &iov, 1, data + n, AEAD_TAG_SIZE) < 0 ? -1 : 0;
}

static const struct aead_engine gnutls_engine = { "GnuTLS", gnutls_knows, gnutls_key, gnutls_unkey, gnutls_seal, gnutls_open };

/* --- libsodium: ChaCha20-Poly1305 --------------------------------------------------- */

#ifdef HAVE_SODIUM
static bool sodium_knows(gnutls_cipher_algorithm_t cipher)
{
	/* without sodium_init its reference code would run, seven times slower */
	return cipher == GNUTLS_CIPHER_CHACHA20_POLY1305 && sodium_init() >= 0;
}

static void *sodium_key(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	uint8_t *k = malloc(AEAD_KEY_MAX);

	(void)cipher;
	if (k)
		memcpy(k, key->data, AEAD_KEY_MAX);
	return k;
}

static void sodium_unkey(void *state)
{
	gnutls_memset(state, 0, AEAD_KEY_MAX);
	free(state);
}

static int sodium_seal(void *key, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return crypto_aead_chacha20poly1305_ietf_encrypt_detached(data, data + n, NULL, data, n, aad, aad_size, NULL, nonce, key);
}

static int sodium_open(void *key, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(data, NULL, data, n, data + n, aad, aad_size, nonce, key);
}

static const struct aead_engine sodium_engine = { "libsodium", sodium_knows, sodium_key, sodium_unkey, sodium_seal, sodium_open };
#endif

/* --- libcrypto (OpenSSL 3): AES-GCM and ChaCha20-Poly1305 ----------------------------- */

#ifdef HAVE_LIBCRYPTO
static struct {
	typeof(EVP_CIPHER_fetch) *fetch;
	typeof(EVP_CIPHER_CTX_new) *new_context;
	typeof(EVP_CIPHER_CTX_free) *free_context;
	typeof(EVP_CipherInit_ex) *begin;
	typeof(EVP_CipherUpdate) *update;
	typeof(EVP_CipherFinal_ex) *end;
	typeof(EVP_CIPHER_CTX_ctrl) *control;
	typeof(OpenSSL_version) *version;
} evp;

static bool load_ciphers(void)
{
	static const struct lazy_symbol symbols[] = {
		LAZY_SYMBOL(evp, fetch, EVP_CIPHER_fetch),
		LAZY_SYMBOL(evp, new_context, EVP_CIPHER_CTX_new),
		LAZY_SYMBOL(evp, free_context, EVP_CIPHER_CTX_free),
		LAZY_SYMBOL(evp, begin, EVP_CipherInit_ex),
		LAZY_SYMBOL(evp, update, EVP_CipherUpdate),
		LAZY_SYMBOL(evp, end, EVP_CipherFinal_ex),
		LAZY_SYMBOL(evp, control, EVP_CIPHER_CTX_ctrl),
		LAZY_SYMBOL(evp, version, OpenSSL_version),
		{ NULL, NULL },
	};

	return libcrypto_load(symbols);
}

/* Its code for processors without AES instructions is the fastest there is, and so is
 * its ChaCha20 on x86-64. */
static const struct {
	gnutls_cipher_algorithm_t cipher;
	const char *name;
} libcrypto_names[] = {
	{ GNUTLS_CIPHER_AES_128_GCM, "AES-128-GCM" },
	{ GNUTLS_CIPHER_AES_256_GCM, "AES-256-GCM" },
	{ GNUTLS_CIPHER_CHACHA20_POLY1305, "ChaCha20-Poly1305" },
};

#define LIBCRYPTO_COUNT (sizeof(libcrypto_names) / sizeof(libcrypto_names[0]))

static EVP_CIPHER *libcrypto_ciphers[LIBCRYPTO_COUNT]; /* NULL: not to be had (a policy, another provider) */

static void libcrypto_fetch(void)
{
	size_t i;

	if (!load_ciphers())
		return;
	for (i = 0; i < LIBCRYPTO_COUNT; i++)
		libcrypto_ciphers[i] = evp.fetch(NULL, libcrypto_names[i].name, NULL);
}

static EVP_CIPHER *libcrypto_cipher(gnutls_cipher_algorithm_t cipher)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t i;

	pthread_once(&once, libcrypto_fetch);
	for (i = 0; i < LIBCRYPTO_COUNT; i++)
		if (libcrypto_names[i].cipher == cipher)
			return libcrypto_ciphers[i];
	return NULL;
}

static bool libcrypto_knows(gnutls_cipher_algorithm_t cipher)
{
	return libcrypto_cipher(cipher) != NULL;
}

static void *libcrypto_key(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	EVP_CIPHER_CTX *c = evp.new_context();

	if (c && evp.begin(c, libcrypto_cipher(cipher), NULL, key->data, NULL, 1) == 1)
		return c;
	evp.free_context(c);
	return NULL;
}

static void libcrypto_unkey(void *state)
{
	evp.free_context(state); /* wipes */
}

static int libcrypto_seal(void *c, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	int got;

	if (evp.begin(c, NULL, NULL, NULL, nonce, 1) != 1 || evp.update(c, NULL, &got, aad, (int)aad_size) != 1 ||
		evp.update(c, data, &got, data, (int)n) != 1 || evp.end(c, data + n, &got) != 1)
		return -1;
	return evp.control(c, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_SIZE, data + n) == 1 ? 0 : -1;
}

static int libcrypto_open(void *c, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	int got;

	if (evp.begin(c, NULL, NULL, NULL, nonce, 0) != 1 ||
		evp.control(c, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_SIZE, data + n) != 1 ||
		evp.update(c, NULL, &got, aad, (int)aad_size) != 1 || evp.update(c, data, &got, data, (int)n) != 1)
		return -1;
	return evp.end(c, data + n, &got) == 1 ? 0 : -1;
}

static const struct aead_engine libcrypto_engine = { "libcrypto", libcrypto_knows, libcrypto_key, libcrypto_unkey,
	libcrypto_seal, libcrypto_open };
#endif

const char *aead_libcrypto_version(void)
{
#ifdef HAVE_LIBCRYPTO
	libcrypto_cipher(GNUTLS_CIPHER_CHACHA20_POLY1305); /* loads it */
	return evp.version ? evp.version(OPENSSL_VERSION_STRING) : NULL;
#else
	return NULL;
#endif
}

const struct aead_engine *const aead_engines[] = {
	&gnutls_engine,
#ifdef HAVE_SODIUM
	&sodium_engine,
#endif
#ifdef HAVE_LIBCRYPTO
	&libcrypto_engine,
#endif
#ifdef HAVE_IPSEC_MB
	&aead_ipsec_mb,
#endif
	NULL,
};
