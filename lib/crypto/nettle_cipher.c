/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <nettle/arcfour.h>
#include <nettle/cbc.h>
#include <nettle/cfb.h>
#include <nettle/chacha.h>
#include <nettle/ctr.h>
#include <nettle/des.h>
#include <nettle/nettle-meta.h>
#include <nettle/salsa20.h>
#include <nettle/xts.h>
#include <stdalign.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

/* --- block ciphers and their modes --------------------------------------------------- */

struct block {
	const struct nettle_cipher *cipher;
	uint8_t iv[32]; /* 16, and cfb8 reads beyond a block of its own alone */
	alignas(16) uint8_t context[]; /* cipher->context_size bytes */
};

static int encrypt_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct block *s = state;

	(void)op;
	(void)key_size;
	s->cipher = w->spec;
	s->cipher->set_encrypt_key(s->context, key);
	return 0;
}

static int cbc_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct block *s = state;

	if (op != CRYPTO_DECRYPT)
		return encrypt_key(state, w, op, key, key_size);
	s->cipher = w->spec;
	s->cipher->set_decrypt_key(s->context, key);
	return 0;
}

static int cbc_seal(void *state, const struct crypto_message *m)
{
	struct block *s = state;

	memcpy(s->iv, m->nonce, s->cipher->block_size);
	cbc_encrypt(s->context, s->cipher->encrypt, s->cipher->block_size, s->iv, m->size, m->out, m->in);
	return 0;
}

static int cbc_open(void *state, const struct crypto_message *m)
{
	struct block *s = state;

	memcpy(s->iv, m->nonce, s->cipher->block_size);
	cbc_decrypt(s->context, s->cipher->decrypt, s->cipher->block_size, s->iv, m->size, m->out, m->in);
	return 0;
}

/* Nettle has code of its own for these, which GnuTLS uses too. */
#define CBC_AES(bits)                                                                     \
	static int cbc_aes##bits##_seal(void *state, const struct crypto_message *m)      \
	{                                                                                 \
		struct block *s = state;                                                  \
                                                                                          \
		memcpy(s->iv, m->nonce, 16);                                              \
		cbc_aes##bits##_encrypt((void *)s->context, s->iv, m->size, m->out, m->in); \
		return 0;                                                                 \
	}

CBC_AES(128)
CBC_AES(192)
CBC_AES(256)

static int ctr_step(void *state, const struct crypto_message *m)
{
	struct block *s = state;

	memcpy(s->iv, m->nonce, s->cipher->block_size);
	ctr_crypt(s->context, s->cipher->encrypt, s->cipher->block_size, s->iv, m->size, m->out, m->in);
	return 0;
}

static int cfb8_seal(void *state, const struct crypto_message *m)
{
	struct block *s = state;

	memcpy(s->iv, m->nonce, s->cipher->block_size);
	cfb8_encrypt(s->context, s->cipher->encrypt, s->cipher->block_size, s->iv, m->size, m->out, m->in);
	return 0;
}

static int cfb8_open(void *state, const struct crypto_message *m)
{
	struct block *s = state;

	memcpy(s->iv, m->nonce, s->cipher->block_size);
	cfb8_decrypt(s->context, s->cipher->encrypt, s->cipher->block_size, s->iv, m->size, m->out, m->in);
	return 0;
}

static void des3_key(void *context, const uint8_t *key)
{
	des3_set_key(context, key);
}

static void des3_out(const void *context, size_t n, uint8_t *out, const uint8_t *in)
{
	des3_encrypt(context, n, out, in);
}

static void des3_back(const void *context, size_t n, uint8_t *out, const uint8_t *in)
{
	des3_decrypt(context, n, out, in);
}

static const struct nettle_cipher des3 = { "des3", sizeof(struct des3_ctx), DES3_BLOCK_SIZE, DES3_KEY_SIZE, des3_key,
	des3_key, des3_out, des3_back };

/* name: "AES-128"; what GnuTLS calls "RC2-40" is the CBC of it. */
static void add_modes(struct crypto_table *t, const struct nettle_cipher *c, const char *name)
{
	static const struct {
		const char *mode;
		int (*key)(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key,
			size_t key_size);
		crypto_step *seal, *open;
		bool whole, small; /* whole blocks alone; for AES alone */
		const struct nettle_cipher *only;
	} modes[] = {
		{ "CBC", cbc_key, cbc_aes128_seal, cbc_open, true, false, &nettle_aes128 },
		{ "CBC", cbc_key, cbc_aes192_seal, cbc_open, true, false, &nettle_aes192 },
		{ "CBC", cbc_key, cbc_aes256_seal, cbc_open, true, false, &nettle_aes256 },
		{ "CBC", cbc_key, cbc_seal, cbc_open, true, false, NULL },
		{ "CTR", encrypt_key, ctr_step, ctr_step, false, false, NULL },
		{ "CFB8", encrypt_key, cfb8_seal, cfb8_open, false, true, NULL },
	};
	struct crypto_way w = { .kind = CRYPTO_CIPHER, .spec = c, .name_made = true };
	size_t i;

	w.state_size = sizeof(struct block) + c->context_size;
	w.shape.key_size = c->key_size;
	w.shape.nonce_size = c->block_size;
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if ((modes[i].only && modes[i].only != c) || (modes[i].small && strncmp(name, "AES", 3) != 0))
			continue;
		w.name = !strcmp(name, "RC2-40") && modes[i].whole ? way_name(name, NULL, NULL) :
								     way_name(name, modes[i].mode, NULL);
		w.key = modes[i].key;
		w.seal = modes[i].seal;
		w.open = modes[i].open;
		w.shape.block = modes[i].whole ? c->block_size : 1;
		way_add(t, &w); /* the first of a name stays */
	}
}

static void add_blocks(struct crypto_table *t)
{
	static const struct {
		const char *nettle, *name;
	} names[] = {
		{ "aes128", "AES-128" },
		{ "aes192", "AES-192" },
		{ "aes256", "AES-256" },
		{ "camellia128", "CAMELLIA-128" },
		{ "camellia192", "CAMELLIA-192" },
		{ "camellia256", "CAMELLIA-256" },
		{ "cast128", "CAST-128" },
		{ "serpent128", "SERPENT-128" },
		{ "serpent192", "SERPENT-192" },
		{ "serpent256", "SERPENT-256" },
		{ "twofish128", "TWOFISH-128" },
		{ "twofish192", "TWOFISH-192" },
		{ "twofish256", "TWOFISH-256" },
		{ "arctwo40", "RC2-40" },
		{ "arctwo64", "RC2-64" },
		{ "arctwo128", "RC2-128" },
		{ "arctwo_gutmann128", "RC2-GUTMANN-128" },
		{ "sm4", "SM4" },
	};
	const struct nettle_cipher *const *c;
	const char *name;
	size_t i;

	for (c = nettle_get_ciphers(); *c; c++) {
		name = (*c)->name;
		for (i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strcmp(names[i].nettle, (*c)->name))
				name = names[i].name;
		if ((*c)->block_size >= 8 && (*c)->block_size <= 16)
			add_modes(t, *c, name);
	}
	add_modes(t, &des3, "3DES");
}

/* --- XTS ---------------------------------------------------------------------------------- */

#define XTS(bits)                                                                                                \
	static int xts##bits##_key(                                                                              \
		void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size) \
	{                                                                                                        \
		(void)w;                                                                                         \
		(void)key_size;                                                                                  \
		if (op == CRYPTO_DECRYPT)                                                                        \
			xts_aes##bits##_set_decrypt_key(state, key);                                             \
		else                                                                                             \
			xts_aes##bits##_set_encrypt_key(state, key);                                             \
		return 0;                                                                                        \
	}                                                                                                        \
	static int xts##bits##_seal(void *state, const struct crypto_message *m)                                 \
	{                                                                                                        \
		xts_aes##bits##_encrypt_message(state, m->nonce, m->size, m->out, m->in);                        \
		return 0;                                                                                        \
	}                                                                                                        \
	static int xts##bits##_open(void *state, const struct crypto_message *m)                                 \
	{                                                                                                        \
		xts_aes##bits##_decrypt_message(state, m->nonce, m->size, m->out, m->in);                        \
		return 0;                                                                                        \
	}

XTS(128)
XTS(256)

/* --- stream ciphers --------------------------------------------------------------------- */

static int chacha_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)w;
	(void)op;
	(void)key_size;
	chacha_set_key(state, key);
	return 0;
}

/* As GnuTLS has it, the IV begins with the counter. */
static int chacha64_step(void *state, const struct crypto_message *m)
{
	chacha_set_nonce(state, m->nonce + CHACHA_COUNTER_SIZE);
	chacha_set_counter(state, m->nonce);
	chacha_crypt(state, m->size, m->out, m->in);
	return 0;
}

static int chacha32_step(void *state, const struct crypto_message *m)
{
	chacha_set_nonce96(state, m->nonce + CHACHA_COUNTER32_SIZE);
	chacha_set_counter32(state, m->nonce);
	chacha_crypt32(state, m->size, m->out, m->in);
	return 0;
}

static int salsa_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)w;
	(void)op;
	(void)key_size;
	salsa20_256_set_key(state, key);
	return 0;
}

static int salsa_step(void *state, const struct crypto_message *m)
{
	salsa20_set_nonce(state, m->nonce);
	salsa20_crypt(state, m->size, m->out, m->in);
	return 0;
}

static int salsa_r12_step(void *state, const struct crypto_message *m)
{
	salsa20_set_nonce(state, m->nonce);
	salsa20r12_crypt(state, m->size, m->out, m->in);
	return 0;
}

static int arcfour_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)w;
	(void)op;
	arcfour_set_key(state, key_size, key);
	return 0;
}

static int arcfour_step(void *state, const struct crypto_message *m)
{
	arcfour_crypt(state, m->size, m->out, m->in);
	return 0;
}

void nettle_cipher_add(struct crypto_table *t)
{
	static const struct crypto_way ways[] = {
		{ .name = "AES-128-XTS",
			.shape = { .key_size = 32, .nonce_size = 16, .min = 16 },
			.state_size = sizeof(struct xts_aes128_key),
			.key = xts128_key,
			.seal = xts128_seal,
			.open = xts128_open },
		{ .name = "AES-256-XTS",
			.shape = { .key_size = 64, .nonce_size = 16, .min = 16 },
			.state_size = sizeof(struct xts_aes256_key),
			.key = xts256_key,
			.seal = xts256_seal,
			.open = xts256_open },
		{ .name = "CHACHA20-64",
			.shape = { .key_size = 32, .nonce_size = 16 },
			.state_size = sizeof(struct chacha_ctx),
			.key = chacha_key,
			.seal = chacha64_step,
			.open = chacha64_step },
		{ .name = "CHACHA20-32",
			.shape = { .key_size = 32, .nonce_size = 16 },
			.state_size = sizeof(struct chacha_ctx),
			.key = chacha_key,
			.seal = chacha32_step,
			.open = chacha32_step },
		{ .name = "SALSA20-256",
			.shape = { .key_size = 32, .nonce_size = 8 },
			.state_size = sizeof(struct salsa20_ctx),
			.key = salsa_key,
			.seal = salsa_step,
			.open = salsa_step },
		{ .name = "ESTREAM-SALSA20-256",
			.shape = { .key_size = 32, .nonce_size = 8 },
			.state_size = sizeof(struct salsa20_ctx),
			.key = salsa_key,
			.seal = salsa_r12_step,
			.open = salsa_r12_step },
		{ .name = "ARCFOUR-128",
			.shape = { .key_size = 16, .once = true },
			.state_size = sizeof(struct arcfour_ctx),
			.key = arcfour_key,
			.seal = arcfour_step,
			.open = arcfour_step },
	};
	struct crypto_way w;
	size_t i;

	add_blocks(t);
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		w = ways[i];
		w.kind = CRYPTO_CIPHER;
		way_add(t, &w);
	}
}
