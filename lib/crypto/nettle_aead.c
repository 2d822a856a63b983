/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <ctype.h>
#include <nettle/ccm.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <nettle/siv-cmac.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

/* --- those that Nettle lists ------------------------------------------------------- */

struct listed {
	const struct nettle_aead *aead;
	alignas(16) uint8_t context[]; /* aead->context_size bytes */
};

static int listed_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct listed *s = state;

	(void)key_size;
	s->aead = w->spec;
	(op == CRYPTO_DECRYPT ? s->aead->set_decrypt_key : s->aead->set_encrypt_key)(s->context, key);
	return 0;
}

static int listed_seal(void *state, const struct crypto_message *m)
{
	struct listed *s = state;

	s->aead->set_nonce(s->context, m->nonce);
	if (m->aad_size)
		s->aead->update(s->context, m->aad_size, m->aad);
	s->aead->encrypt(s->context, m->size, m->out, m->in);
	s->aead->digest(s->context, s->aead->digest_size, m->out + m->size);
	return 0;
}

static int listed_open(void *state, const struct crypto_message *m)
{
	struct listed *s = state;
	uint8_t tag[CRYPTO_TAG_MAX];

	s->aead->set_nonce(s->context, m->nonce);
	if (m->aad_size)
		s->aead->update(s->context, m->aad_size, m->aad);
	s->aead->decrypt(s->context, m->size, m->out, m->in);
	s->aead->digest(s->context, s->aead->digest_size, tag);
	return memeql_sec(tag, m->in + m->size, s->aead->digest_size) ? 0 : CRYPTO_FORGED;
}

static void add_both(struct crypto_table *t, struct crypto_way *w)
{
	w->kind = CRYPTO_AEAD;
	way_add(t, w);
	if (w->shape.nonce_size != 12) /* RFC 8446, 5.3 */
		return;
	w->kind = CRYPTO_RECORD;
	way_add(t, w);
}

static void add_listed(struct crypto_table *t, const struct nettle_aead *a)
{
	static const struct {
		const char *nettle, *name;
	} names[] = {
		{ "gcm_aes128", "AES-128-GCM" },
		{ "gcm_aes192", "AES-192-GCM" },
		{ "gcm_aes256", "AES-256-GCM" },
		{ "gcm_camellia128", "CAMELLIA-128-GCM" },
		{ "gcm_camellia256", "CAMELLIA-256-GCM" },
		{ "gcm_sm4", "SM4-GCM" },
		{ "eax_aes128", "AES-128-EAX" },
		{ "ocb_aes128", "AES-128-OCB" },
		{ "chacha_poly1305", "CHACHA20-POLY1305" },
	};
	struct crypto_way w = {
		.name = a->name, .key = listed_key, .seal = listed_seal, .open = listed_open, .spec = a
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].nettle, a->name))
			w.name = names[i].name;
	w.state_size = sizeof(struct listed) + a->context_size;
	w.shape = (struct crypto_shape){
		.key_size = a->key_size, .nonce_size = a->nonce_size, .tag_size = a->digest_size
	};
	add_both(t, &w);
}

/* --- CCM and SIV, which need to know a message's length first ------------------------ */

struct ccm {
	const struct nettle_cipher *cipher;
	size_t tag_size;
	alignas(16) uint8_t context[];
};

static int ccm_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct ccm *s = state;

	(void)op; /* CCM encrypts blocks in both directions */
	(void)key_size;
	s->cipher = w->spec;
	s->tag_size = w->shape.tag_size;
	s->cipher->set_encrypt_key(s->context, key);
	return 0;
}

static int ccm_seal(void *state, const struct crypto_message *m)
{
	struct ccm *s = state;

	ccm_encrypt_message(s->context, s->cipher->encrypt, 12, m->nonce, m->aad_size, m->aad, s->tag_size,
		m->size + s->tag_size, m->out, m->in);
	return 0;
}

static int ccm_open(void *state, const struct crypto_message *m)
{
	struct ccm *s = state;

	return ccm_decrypt_message(s->context, s->cipher->encrypt, 12, m->nonce, m->aad_size, m->aad, s->tag_size,
		       m->size, m->out, m->in) ? 0 : CRYPTO_FORGED;
}

static void add_ccm(struct crypto_table *t)
{
	static const struct {
		const char *name;
		const struct nettle_cipher *cipher;
		size_t tag_size;
	} all[] = {
		{ "AES-128-CCM", &nettle_aes128, 16 },
		{ "AES-192-CCM", &nettle_aes192, 16 },
		{ "AES-256-CCM", &nettle_aes256, 16 },
		{ "AES-128-CCM-8", &nettle_aes128, 8 },
		{ "AES-256-CCM-8", &nettle_aes256, 8 },
	};
	struct crypto_way w = { .key = ccm_key, .seal = ccm_seal, .open = ccm_open };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		w.name = all[i].name;
		w.spec = all[i].cipher;
		w.state_size = sizeof(struct ccm) + all[i].cipher->context_size;
		w.shape = (struct crypto_shape){
			.key_size = all[i].cipher->key_size, .nonce_size = 12, .tag_size = all[i].tag_size
		};
		add_both(t, &w);
	}
}

/* The tag stands in front (RFC 5297), in GnuTLS's output too. */
#define SIV_NONCE_SIZE 16

#define SIV(bits)                                                                                                \
	static int siv##bits##_key(                                                                              \
		void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size) \
	{                                                                                                        \
		(void)w;                                                                                         \
		(void)op;                                                                                        \
		(void)key_size;                                                                                  \
		siv_cmac_aes##bits##_set_key(state, key);                                                        \
		return 0;                                                                                        \
	}                                                                                                        \
	static int siv##bits##_seal(void *state, const struct crypto_message *m)                                 \
	{                                                                                                        \
		siv_cmac_aes##bits##_encrypt_message(state, SIV_NONCE_SIZE, m->nonce, m->aad_size, m->aad,       \
			m->size + SIV_DIGEST_SIZE, m->out, m->in);                                               \
		return 0;                                                                                        \
	}                                                                                                        \
	static int siv##bits##_open(void *state, const struct crypto_message *m)                                 \
	{                                                                                                        \
		return siv_cmac_aes##bits##_decrypt_message(                                                     \
			       state, SIV_NONCE_SIZE, m->nonce, m->aad_size, m->aad, m->size, m->out, m->in) ? 0 : CRYPTO_FORGED; \
	}

SIV(128)
SIV(256)

static void add_siv(struct crypto_table *t)
{
	static const struct crypto_way ways[] = {
		{ .name = "AES-128-SIV",
			.kind = CRYPTO_AEAD,
			.shape = { .key_size = SIV_CMAC_AES128_KEY_SIZE,
				.nonce_size = SIV_NONCE_SIZE,
				.tag_size = SIV_DIGEST_SIZE },
			.state_size = sizeof(struct siv_cmac_aes128_ctx),
			.key = siv128_key,
			.seal = siv128_seal,
			.open = siv128_open },
		{ .name = "AES-256-SIV",
			.kind = CRYPTO_AEAD,
			.shape = { .key_size = SIV_CMAC_AES256_KEY_SIZE,
				.nonce_size = SIV_NONCE_SIZE,
				.tag_size = SIV_DIGEST_SIZE },
			.state_size = sizeof(struct siv_cmac_aes256_ctx),
			.key = siv256_key,
			.seal = siv256_seal,
			.open = siv256_open },
	};

	way_add(t, &ways[0]);
	way_add(t, &ways[1]);
}

void nettle_aead_add(struct crypto_table *t)
{
	const struct nettle_aead *const *a;

	for (a = nettle_get_aeads(); *a; a++)
		add_listed(t, *a);
	add_ccm(t);
	add_siv(t);
}
