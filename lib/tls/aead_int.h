/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_AEAD_INT_H
#define TLSKIT_TLS_AEAD_INT_H

#include "lib/tls/aead.h"

/* What an engine is: aead.c chooses among them, aead_engines.c and
 * aead_ipsec_mb.c have them. Nobody else includes this. */

struct aead_engine {
	const char *name; /* "GnuTLS", "libsodium", "libcrypto", "ipsec-mb" */
	bool (*knows)(gnutls_cipher_algorithm_t cipher);
	/* The keyed state; NULL: no memory, or the library refuses. */
	void *(*key)(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key);
	void (*unkey)(void *state); /* wipes */
	int (*seal)(void *state, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);
	int (*open)(void *state, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);
};

/* Those of this build, GnuTLS first, NULL at the end. */
extern const struct aead_engine *const aead_engines[];

extern const struct aead_engine aead_ipsec_mb; /* where the build has it */

#endif
