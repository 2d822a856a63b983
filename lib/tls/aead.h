/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_AEAD_H
#define TLSKIT_TLS_AEAD_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* AEADs for the direct record path: one key, in place, tag behind the data. The
 * cryptography is a library's: GnuTLS's, or, where that is clearly faster on this
 * machine, libsodium's (ChaCha20-Poly1305) or, for AES-GCM too, that of OpenSSL's
 * libcrypto or of Intel's ipsec-mb. All but GnuTLS are optional, and nothing else of
 * them is used. */

#define AEAD_NONCE_SIZE 12
#define AEAD_TAG_SIZE   16
#define AEAD_KEY_MAX    32

struct aead;

/* Whether this path can serve the cipher: AES-GCM, AES-CCM and
 * ChaCha20-Poly1305 with tags of 16 bytes. */
bool aead_knows(gnutls_cipher_algorithm_t cipher);

/* NULL with ERR_RUNTIME. The key is copied. */
struct aead *aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e);
void aead_free(struct aead *a); /* wipes; NULL is fine */

/* data[0 .. n) becomes ciphertext, data[n .. n + 16) the tag. 0 or -1. */
int aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n);

/* data[0 .. n) becomes plaintext, data[n .. n + 16) is the tag. 0, or -1 when
 * it is not authentic: then data is unspecified and must not be used. */
int aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n);

/* The same with one engine ("GnuTLS", "libsodium", "libcrypto", "ipsec-mb"), for tests. NULL: not in
 * this build, or not for this cipher. */
struct aead *aead_new_by(const char *engine, gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key);

/* Which library does a cipher here, measured once, in a millisecond or a few, at the
 * first call or use; from then on a word. The i-th of those that there is a choice for;
 * NULL behind the last one. */
#define AEAD_ENGINES 4

struct aead_choice {
	const char *cipher; /* "AES-128-GCM" */
	const char *engine; /* the one in use */
	struct {
		const char *engine;
		double mb_s; /* 0: it does not work */
	} tried[AEAD_ENGINES];
	size_t n;
};
const struct aead_choice *aead_choice(size_t i);

const char *aead_libcrypto_version(void); /* "3.0.22"; NULL: it is not there */
const char *aead_ipsec_mb_version(void); /* "1.3.0"; NULL: it is not there, or not faster on this kind of processor */

#endif
