/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* One record of the direct path: how it is laid out, and its nonce and additional
 * data. */

#include "lib/tls/direct.h"

#include <string.h>

#define HEADER   DIRECT_HEADER
#define SEQ_SIZE 8
#define AAD_MAX  (SEQ_SIZE + HEADER)

/* RFC 8446, 5.2. */
static const struct direct_layout tls13 = {
	.inner_type = 1,
	.iv_size = AEAD_NONCE_SIZE,
	.payload_max = DIRECT_PLAIN_MAX + 256,
	.rekey_records = DIRECT_REKEY_RECORDS,
};

/* TLS 1.2 cannot change a key, and nothing ends a connection instead: OpenSSL and
 * GnuTLS do not either, and a number is never used twice. What AES-GCM gives away
 * grows with the square of the bytes: RFC 8446, 5.5 draws its line at 2^-57, after
 * 2^24.5 full records; by the same reckoning it is 2^-42 after 64 TiB. */
#define TLS12_REKEY UINT64_MAX

/* RFC 5288, 3 and RFC 6655, 3: a salt of four bytes, and the rest of the nonce is in the record. */
static const struct direct_layout tls12_explicit = {
	.before = SEQ_SIZE,
	.iv_size = AEAD_NONCE_SIZE - SEQ_SIZE,
	.payload_max = SEQ_SIZE + DIRECT_PLAIN_MAX + AEAD_TAG_SIZE,
	.rekey_records = TLS12_REKEY,
};

/* RFC 7905, 2: the nonce of TLS 1.3. */
static const struct direct_layout tls12_chacha = {
	.iv_size = AEAD_NONCE_SIZE,
	.payload_max = DIRECT_PLAIN_MAX + AEAD_TAG_SIZE,
	.rekey_records = TLS12_REKEY,
};

const struct direct_layout *direct_layout_for(gnutls_protocol_t version, gnutls_cipher_algorithm_t cipher)
{
	if (!aead_knows(cipher))
		return NULL;
	if (version == GNUTLS_TLS1_3)
		return &tls13;
	if (version != GNUTLS_TLS1_2)
		return NULL;
	return cipher == GNUTLS_CIPHER_CHACHA20_POLY1305 ? &tls12_chacha : &tls12_explicit;
}

void direct_put_seq(uint64_t seq, uint8_t out[8])
{
	int i;

	for (i = 7; i >= 0; i--, seq >>= 8)
		out[i] = (uint8_t)seq;
}

static void make_nonce(const struct direct *d, const struct direct_half *h, const uint8_t *p, uint8_t nonce[AEAD_NONCE_SIZE])
{
	uint8_t seq[SEQ_SIZE];
	int i;

	memcpy(nonce, h->iv, d->layout->iv_size);
	if (d->layout->before) {
		memcpy(nonce + d->layout->iv_size, p + HEADER, SEQ_SIZE);
		return;
	}
	direct_put_seq(h->seq, seq);
	for (i = 0; i < SEQ_SIZE; i++)
		nonce[AEAD_NONCE_SIZE - SEQ_SIZE + i] ^= seq[i];
}

/* The header as it is (RFC 8446, 5.2), or the number before it and the plaintext's
 * length in it (RFC 5246, 6.2.3.3). Its size. */
static size_t make_aad(const struct direct *d, const struct direct_half *h, const uint8_t *p, size_t n, uint8_t aad[AAD_MAX])
{
	if (d->layout->inner_type) {
		memcpy(aad, p, HEADER);
		return HEADER;
	}
	direct_put_seq(h->seq, aad);
	memcpy(aad + SEQ_SIZE, p, HEADER - 2);
	aad[AAD_MAX - 2] = (uint8_t)(n >> 8);
	aad[AAD_MAX - 1] = (uint8_t)n;
	return AAD_MAX;
}

int direct_seal(const struct direct *d, struct direct_half *h, uint8_t *p)
{
	struct aead *aead = direct_aead(d, h);
	uint8_t nonce[AEAD_NONCE_SIZE], aad[AAD_MAX];
	size_t n = direct_length(p) - d->layout->before - AEAD_TAG_SIZE, aad_size;

	if (!aead)
		return GNUTLS_E_MEMORY_ERROR;
	make_nonce(d, h, p, nonce);
	aad_size = make_aad(d, h, p, n, aad);
	return aead_seal(aead, nonce, aad, aad_size, direct_body(d, p), n) < 0 ? GNUTLS_E_ENCRYPTION_FAILED : 0;
}

long direct_open(const struct direct *d, struct direct_half *h, uint8_t *p)
{
	struct aead *aead = direct_aead(d, h);
	uint8_t nonce[AEAD_NONCE_SIZE], aad[AAD_MAX];
	size_t n = direct_length(p) - d->layout->before - AEAD_TAG_SIZE, aad_size;

	if (!aead)
		return GNUTLS_E_MEMORY_ERROR;
	make_nonce(d, h, p, nonce);
	aad_size = make_aad(d, h, p, n, aad);
	return aead_open(aead, nonce, aad, aad_size, direct_body(d, p), n) < 0 ? GNUTLS_E_DECRYPTION_FAILED : (long)n;
}
