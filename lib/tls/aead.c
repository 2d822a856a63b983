/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/aead.h"

#include <gnutls/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "lib/base/clock.h"
#include "lib/tls/tlserr.h"

/* --- the libraries ----------------------------------------------------------------- */

struct aead_ops {
	int (*seal)(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);
	int (*open)(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);
};

struct aead {
	const struct aead_ops *ops;
	gnutls_aead_cipher_hd_t handle; /* GnuTLS */
	uint8_t key[AEAD_KEY_MAX]; /* libsodium */
};

static int gnutls_seal(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	giovec_t auth = { (void *)aad, aad_size }, iov = { data, n };
	size_t tag_size = AEAD_TAG_SIZE;

	return gnutls_aead_cipher_encryptv2(a->handle, nonce, AEAD_NONCE_SIZE, &auth, 1, &iov, 1, data + n, &tag_size) < 0 ? -1
															    : 0;
}

static int gnutls_open(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	giovec_t auth = { (void *)aad, aad_size }, iov = { data, n };

	return gnutls_aead_cipher_decryptv2(a->handle, nonce, AEAD_NONCE_SIZE, &auth, 1, &iov, 1, data + n, AEAD_TAG_SIZE) < 0 ? -1
																: 0;
}

static const struct aead_ops gnutls_ops = { gnutls_seal, gnutls_open };

#ifdef HAVE_SODIUM
static int sodium_seal(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return crypto_aead_chacha20poly1305_ietf_encrypt_detached(data, data + n, NULL, data, n, aad, aad_size, NULL, nonce, a->key);
}

static int sodium_open(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return crypto_aead_chacha20poly1305_ietf_decrypt_detached(data, NULL, data, n, data + n, aad, aad_size, nonce, a->key);
}

static const struct aead_ops sodium_ops = { sodium_seal, sodium_open };
#endif

/* --- the choice ---------------------------------------------------------------------- */

#define TRIAL_SIZE  16384
#define TRIAL_BYTES (512 * 1024)
#define TRIALS      3 /* the best counts: what disturbs only slows down */

static struct aead_choice choice = { "GnuTLS", 0, 0 };
static const struct aead_ops *chacha_ops = &gnutls_ops;

#ifdef HAVE_SODIUM
static struct aead *make(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, const struct aead_ops *ops)
{
	struct aead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->ops = ops;
	if (ops == &gnutls_ops && gnutls_aead_cipher_init(&a->handle, cipher, key) < 0) {
		free(a);
		return NULL;
	}
	if (ops != &gnutls_ops)
		memcpy(a->key, key->data, key->size);
	return a;
}

static double measure(const struct aead_ops *ops, uint8_t *data)
{
	uint8_t key_bytes[AEAD_KEY_MAX] = { 1 }, nonce[AEAD_NONCE_SIZE] = { 0 }, aad[5] = { 23, 3, 3 };
	gnutls_datum_t key = { key_bytes, sizeof(key_bytes) };
	struct aead *a = make(GNUTLS_CIPHER_CHACHA20_POLY1305, &key, ops);
	double best = 0, speed;
	uint64_t start;
	int i, k;

	for (i = 0; a && i < TRIALS; i++) {
		start = clock_mono_ns();
		for (k = 0; k < TRIAL_BYTES / TRIAL_SIZE; k++)
			if (ops->seal(a, nonce, aad, sizeof(aad), data, TRIAL_SIZE) < 0)
				break;
		speed = k * TRIAL_SIZE * 1e3 / (double)(clock_mono_ns() - start + 1);
		if (k == TRIAL_BYTES / TRIAL_SIZE && speed > best)
			best = speed;
	}
	aead_free(a);
	return best;
}

static void choose(void)
{
	uint8_t *data = calloc(1, TRIAL_SIZE + AEAD_TAG_SIZE);

	/* without sodium_init its reference code would run, seven times slower */
	if (!data || sodium_init() < 0) {
		free(data);
		return;
	}
	choice.gnutls_mb_s = measure(&gnutls_ops, data);
	choice.sodium_mb_s = measure(&sodium_ops, data);
	if (choice.sodium_mb_s > choice.gnutls_mb_s) {
		chacha_ops = &sodium_ops;
		choice.engine = "libsodium";
	}
	free(data);
}
#else
static struct aead *make(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, const struct aead_ops *ops)
{
	struct aead *a = calloc(1, sizeof(*a));

	if (a && gnutls_aead_cipher_init(&a->handle, cipher, key) < 0) {
		free(a);
		return NULL;
	}
	if (a)
		a->ops = ops;
	return a;
}

static void choose(void)
{
}
#endif

const struct aead_choice *aead_chacha_choice(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return &choice;
}

/* --- use -------------------------------------------------------------------------------- */

bool aead_knows(gnutls_cipher_algorithm_t cipher)
{
	switch (cipher) {
	case GNUTLS_CIPHER_AES_128_GCM:
	case GNUTLS_CIPHER_AES_256_GCM:
	case GNUTLS_CIPHER_AES_128_CCM:
	case GNUTLS_CIPHER_AES_256_CCM:
	case GNUTLS_CIPHER_CHACHA20_POLY1305:
		return true;
	default:
		return false;
	}
}

struct aead *aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e)
{
	const struct aead_ops *ops = &gnutls_ops;
	struct aead *a;

	if (cipher == GNUTLS_CIPHER_CHACHA20_POLY1305) {
		aead_chacha_choice();
		ops = chacha_ops;
	}
	a = make(cipher, key, ops);
	if (!a)
		err_set(e, ERR_RUNTIME, "cannot set up the cipher");
	return a;
}

void aead_free(struct aead *a)
{
	if (!a)
		return;
	if (a->handle)
		gnutls_aead_cipher_deinit(a->handle);
	gnutls_memset(a->key, 0, sizeof(a->key));
	free(a);
}

int aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return a->ops->seal(a, nonce, aad, aad_size, data, n);
}

int aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return a->ops->open(a, nonce, aad, aad_size, data, n);
}
