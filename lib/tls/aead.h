/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_AEAD_H
#define TLSKIT_TLS_AEAD_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* AEADs for the direct record path: one key, in place, tag behind the data.
 * The cryptography is GnuTLS's, and for ChaCha20-Poly1305 that of GnuTLS or
 * libsodium, whichever is the faster on this machine. */

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

/* Which library does ChaCha20-Poly1305 here, measured once, in a few ms, at the
 * first call; from then on a word. */
struct aead_choice {
	const char *engine; /* "GnuTLS" or "libsodium" */
	double gnutls_mb_s, sodium_mb_s; /* 0: not there */
};
const struct aead_choice *aead_chacha_choice(void);

#endif
