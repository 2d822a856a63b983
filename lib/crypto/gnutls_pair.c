/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <gnutls/crypto.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

/* Cipher and MAC, a record as TLS 1.0 to 1.2 have it (RFC 5246, 6.2.3.1 and
 * 6.2.3.2). The plaintext goes from one buffer to the other without a copy: its
 * whole units first, then what is left with MAC and padding. */

#define UNIT 64 /* a multiple of every block, a stream cipher's too */

struct state {
	gnutls_cipher_hd_t cipher;
	gnutls_hmac_hd_t mac;
	size_t nonce_size, mac_size, pad;
	uint8_t tail[4 * UNIT];
};

static int key_both(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	uint8_t zero[CRYPTO_NONCE_MAX] = { 0 };
	size_t cipher_size = gnutls_cipher_get_key_size(w->id);
	gnutls_datum_t datum = { (uint8_t *)key, (unsigned)cipher_size }, iv = { zero, (unsigned)w->shape.nonce_size };
	struct state *s = state;
	int code;

	(void)op;
	s->nonce_size = w->shape.nonce_size;
	s->mac_size = w->shape.tag_size;
	s->pad = w->shape.pad;
	/* one random key serves both: this seals nothing that anyone wants to read */
	code = gnutls_hmac_init(&s->mac, w->id2, key, gnutls_mac_get_key_size(w->id2));
	if (code < 0) {
		s->mac = NULL; /* as in gnutls.c */
		return code;
	}
	code = key_size < cipher_size ? GNUTLS_E_INVALID_REQUEST : gnutls_cipher_init(&s->cipher, w->id, &datum, &iv);
	if (code < 0)
		s->cipher = NULL;
	return code;
}

static void unkey(void *state)
{
	struct state *s = state;

	if (s->cipher)
		gnutls_cipher_deinit(s->cipher);
	if (s->mac)
		gnutls_hmac_deinit(s->mac, NULL);
}

static int mac(struct state *s, const struct crypto_message *m, const uint8_t *plain, uint8_t *digest)
{
	int code = m->aad_size ? gnutls_hmac(s->mac, m->aad, m->aad_size) : 0;

	if (code >= 0)
		code = gnutls_hmac(s->mac, plain, m->size);
	if (code >= 0)
		gnutls_hmac_output(s->mac, digest);
	return code;
}

static int seal(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	size_t left = m->size % UNIT, body = m->size - left, n = left + s->mac_size;
	int code = mac(s, m, m->in, s->tail + left);

	if (code < 0)
		return code;
	memcpy(s->tail, m->in + body, left);
	if (s->pad) {
		size_t p = s->pad - n % s->pad;

		memset(s->tail + n, (int)p - 1, p);
		n += p;
	}
	gnutls_cipher_set_iv(s->cipher, (void *)m->nonce, s->nonce_size);
	if (body)
		code = gnutls_cipher_encrypt2(s->cipher, m->in, body, m->out, body);
	return code < 0 ? code : gnutls_cipher_encrypt2(s->cipher, s->tail, n, m->out + body, n);
}

/* The padding of n decrypted bytes: how many it has, with its length, or 0. */
static size_t padding(const uint8_t *data, size_t n, size_t pad)
{
	size_t p = (size_t)data[n - 1] + 1, i;

	if (p > n || p > pad)
		return 0;
	for (i = n - p; i < n; i++)
		if (data[i] != p - 1)
			return 0;
	return p;
}

static int unseal(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	uint8_t digest[CRYPTO_TAG_MAX];
	size_t n = m->size + s->mac_size;
	int code;

	if (s->pad)
		n += s->pad - n % s->pad;
	gnutls_cipher_set_iv(s->cipher, (void *)m->nonce, s->nonce_size);
	code = gnutls_cipher_decrypt2(s->cipher, m->in, n, m->out, n);
	if (code < 0)
		return code;
	if (s->pad && padding(m->out, n, s->pad) != n - m->size - s->mac_size)
		return CRYPTO_FORGED;
	code = mac(s, m, m->out, digest);
	if (code < 0)
		return code;
	return gnutls_memcmp(digest, m->out + m->size, s->mac_size) == 0 ? 0 : CRYPTO_FORGED;
}

void gnutls_pair_add(struct crypto_table *t, int cipher, int mac_id)
{
	const char *cipher_name = gnutls_cipher_get_name(cipher), *mac_name = gnutls_mac_get_name(mac_id);
	struct crypto_way w = { .kind = CRYPTO_PAIR,
		.state_size = sizeof(struct state),
		.key = key_both,
		.unkey = unkey,
		.seal = seal,
		.open = unseal,
		.id = cipher,
		.id2 = mac_id };
	size_t mac_key = gnutls_mac_get_key_size(mac_id);

	if (!cipher_name || !mac_name)
		return;
	w.name = way_name(cipher_name, mac_name, NULL);
	w.name_made = true;
	w.shape.key_size = gnutls_cipher_get_key_size(cipher);
	if (w.shape.key_size < mac_key)
		w.shape.key_size = mac_key;
	w.shape.nonce_size = gnutls_cipher_get_iv_size(cipher);
	w.shape.tag_size = gnutls_hmac_get_len(mac_id);
	w.shape.once = strstr(cipher_name, "GOST28147") != NULL; /* as in gnutls.c */
	w.shape.pad = strstr(cipher_name, "-CBC") ? gnutls_cipher_get_block_size(cipher) : 0;
	way_add(t, &w);
}
