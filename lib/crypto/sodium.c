/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/crypto/crypto_int.h"

#ifdef HAVE_SODIUM
#include <pthread.h>
#include <sodium.h>
#include <string.h>

static int keep_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)w;
	(void)op;
	memcpy(state, key, key_size);
	return 0;
}

/* --- AEADs --------------------------------------------------------------------------- */

#define AEAD(tag, function)                                                                                            \
	static int tag##_seal(void *state, const struct crypto_message *m)                                             \
	{                                                                                                              \
		return function##_encrypt(m->out, NULL, m->in, m->size, m->aad, m->aad_size, NULL, m->nonce, state);   \
	}                                                                                                              \
	static int tag##_open(void *state, const struct crypto_message *m)                                             \
	{                                                                                                              \
		return function##_decrypt(m->out, NULL, NULL, m->in, m->size + function##_ABYTES, m->aad, m->aad_size, \
			       m->nonce, state) == 0 ? 0 : CRYPTO_FORGED; \
	}

AEAD(chacha, crypto_aead_chacha20poly1305_ietf)
AEAD(xchacha, crypto_aead_xchacha20poly1305_ietf)
#ifdef crypto_aead_aegis128l_KEYBYTES /* 1.0.19 */
AEAD(aegis128l, crypto_aead_aegis128l)
AEAD(aegis256, crypto_aead_aegis256)
#endif

static int aes_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)w;
	(void)op;
	(void)key_size;
	return crypto_aead_aes256gcm_beforenm(state, key);
}

static int aes_seal(void *state, const struct crypto_message *m)
{
	return crypto_aead_aes256gcm_encrypt_afternm(
		m->out, NULL, m->in, m->size, m->aad, m->aad_size, NULL, m->nonce, state);
}

static int aes_open(void *state, const struct crypto_message *m)
{
	return crypto_aead_aes256gcm_decrypt_afternm(m->out, NULL, NULL, m->in, m->size + crypto_aead_aes256gcm_ABYTES,
		       m->aad, m->aad_size, m->nonce, state) == 0 ? 0 : CRYPTO_FORGED;
}

static int secretbox_seal(void *state, const struct crypto_message *m)
{
	return crypto_secretbox_detached(m->out, m->out + m->size, m->in, m->size, m->nonce, state);
}

static int secretbox_open(void *state, const struct crypto_message *m)
{
	return crypto_secretbox_open_detached(m->out, m->in, m->in + m->size, m->size, m->nonce, state) == 0 ? 0 : CRYPTO_FORGED;
}

/* --- stream ciphers ---------------------------------------------------------------------- */

/* As GnuTLS has it, the IV begins with the counter, which is little-endian. */
static int chacha32_step(void *state, const struct crypto_message *m)
{
	const uint8_t *c = m->nonce;
	uint32_t counter = c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;

	return crypto_stream_chacha20_ietf_xor_ic(m->out, m->in, m->size, m->nonce + 4, counter, state);
}

static int chacha64_step(void *state, const struct crypto_message *m)
{
	uint64_t counter = 0;
	int i;

	for (i = 7; i >= 0; i--)
		counter = counter << 8 | m->nonce[i];
	return crypto_stream_chacha20_xor_ic(m->out, m->in, m->size, m->nonce + 8, counter, state);
}

#define STREAM(tag, function)                                                               \
	static int tag##_step(void *state, const struct crypto_message *m)                  \
	{                                                                                   \
		return function##_xor(m->out, m->in, m->size, m->nonce, state);             \
	}

STREAM(xchacha_stream, crypto_stream_xchacha20)
STREAM(salsa, crypto_stream_salsa20)
STREAM(salsa12, crypto_stream_salsa2012)
STREAM(xsalsa, crypto_stream_xsalsa20)

/* --- MACs and hashes ----------------------------------------------------------------------- */

static int sha256_step(void *state, const struct crypto_message *m)
{
	(void)state;
	return crypto_hash_sha256(m->out, m->in, m->size);
}

static int sha512_step(void *state, const struct crypto_message *m)
{
	(void)state;
	return crypto_hash_sha512(m->out, m->in, m->size);
}

static int blake2b_512_step(void *state, const struct crypto_message *m)
{
	(void)state;
	return crypto_generichash(m->out, 64, m->in, m->size, NULL, 0);
}

static int blake2b_256_step(void *state, const struct crypto_message *m)
{
	(void)state;
	return crypto_generichash(m->out, 32, m->in, m->size, NULL, 0);
}

/* The key's blocks are hashed once, as the other engines do. */
#define HMAC(bits)                                                                                               \
	struct hmac##bits {                                                                                      \
		crypto_auth_hmacsha##bits##_state start, running;                                                \
	};                                                                                                       \
	static int hmac##bits##_key(                                                                             \
		void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size) \
	{                                                                                                        \
		struct hmac##bits *s = state;                                                                    \
                                                                                                                 \
		(void)w;                                                                                         \
		(void)op;                                                                                        \
		return crypto_auth_hmacsha##bits##_init(&s->start, key, key_size);                               \
	}                                                                                                        \
	static int hmac##bits##_step(void *state, const struct crypto_message *m)                                \
	{                                                                                                        \
		struct hmac##bits *s = state;                                                                    \
                                                                                                                 \
		s->running = s->start;                                                                           \
		if (crypto_auth_hmacsha##bits##_update(&s->running, m->in, m->size) < 0)                         \
			return -1;                                                                               \
		return crypto_auth_hmacsha##bits##_final(&s->running, m->out);                                   \
	}

HMAC(256)
HMAC(512)

static int poly1305_step(void *state, const struct crypto_message *m)
{
	return crypto_onetimeauth(m->out, m->in, m->size, state);
}

static int siphash_step(void *state, const struct crypto_message *m)
{
	return crypto_shorthash(m->out, m->in, m->size, state);
}

/* --- what there is -------------------------------------------------------------------------- */

#define SEALED(k, n, kind_, key_, nonce, tag)                                                                  \
	{                                                                                                      \
		.name = n, .kind = kind_, .shape = { .key_size = key_, .nonce_size = nonce, .tag_size = tag }, \
		.state_size = CRYPTO_KEY_MAX, .key = keep_key, .seal = k##_seal, .open = k##_open              \
	}
#define STREAMED(k, n, nonce)                                                                       \
	{                                                                                           \
		.name = n, .kind = CRYPTO_CIPHER, .shape = { .key_size = 32, .nonce_size = nonce }, \
		.state_size = CRYPTO_KEY_MAX, .key = keep_key, .seal = k##_step, .open = k##_step   \
	}
#define DIGESTED(k, n, kind_, key_, tag)                                                  \
	{                                                                                 \
		.name = n, .kind = kind_, .shape = { .key_size = key_, .tag_size = tag }, \
		.state_size = CRYPTO_KEY_MAX, .key = keep_key, .seal = k##_step           \
	}

static const struct crypto_way ways[] = {
	SEALED(chacha, "CHACHA20-POLY1305", CRYPTO_AEAD, 32, 12, 16),
	SEALED(chacha, "CHACHA20-POLY1305", CRYPTO_RECORD, 32, 12, 16),
	SEALED(xchacha, "XCHACHA20-POLY1305", CRYPTO_AEAD, 32, 24, 16),
	SEALED(secretbox, "XSALSA20-POLY1305", CRYPTO_AEAD, 32, 24, 16),
#ifdef crypto_aead_aegis128l_KEYBYTES
	SEALED(aegis128l, "AEGIS-128L", CRYPTO_AEAD, crypto_aead_aegis128l_KEYBYTES, crypto_aead_aegis128l_NPUBBYTES,
		crypto_aead_aegis128l_ABYTES),
	SEALED(aegis256, "AEGIS-256", CRYPTO_AEAD, crypto_aead_aegis256_KEYBYTES, crypto_aead_aegis256_NPUBBYTES,
		crypto_aead_aegis256_ABYTES),
#endif
	STREAMED(chacha32, "CHACHA20-32", 16),
	STREAMED(chacha64, "CHACHA20-64", 16),
	STREAMED(xchacha_stream, "XCHACHA20", 24),
	STREAMED(salsa, "SALSA20-256", 8),
	STREAMED(salsa12, "ESTREAM-SALSA20-256", 8),
	STREAMED(xsalsa, "XSALSA20", 24),
	DIGESTED(sha256, "SHA256", CRYPTO_HASH, 0, 32),
	DIGESTED(sha512, "SHA512", CRYPTO_HASH, 0, 64),
	DIGESTED(blake2b_512, "BLAKE2B-512", CRYPTO_HASH, 0, 64),
	DIGESTED(blake2b_256, "BLAKE2B-256", CRYPTO_HASH, 0, 32),
	DIGESTED(poly1305, "POLY1305", CRYPTO_MAC, 32, 16),
	DIGESTED(siphash, "SIPHASH-2-4", CRYPTO_MAC, 16, 8),
	{ .name = "SHA256",
		.kind = CRYPTO_MAC,
		.shape = { .key_size = 32, .tag_size = 32 },
		.state_size = sizeof(struct hmac256),
		.key = hmac256_key,
		.seal = hmac256_step },
	{ .name = "SHA512",
		.kind = CRYPTO_MAC,
		.shape = { .key_size = 64, .tag_size = 64 },
		.state_size = sizeof(struct hmac512),
		.key = hmac512_key,
		.seal = hmac512_step },
};

/* AES-256-GCM is there with AES instructions alone. */
static const struct crypto_way aes_ways[] = {
	{ .name = "AES-256-GCM", .kind = CRYPTO_AEAD, .shape = { .key_size = 32, .nonce_size = 12, .tag_size = 16 },
		.state_size = sizeof(crypto_aead_aes256gcm_state), .key = aes_key, .seal = aes_seal, .open = aes_open },
	{ .name = "AES-256-GCM", .kind = CRYPTO_RECORD, .shape = { .key_size = 32, .nonce_size = 12, .tag_size = 16 },
		.state_size = sizeof(crypto_aead_aes256gcm_state), .key = aes_key, .seal = aes_seal, .open = aes_open },
};

static struct crypto_table table;

static void build(void)
{
	size_t i;

	if (sodium_init() < 0) /* without it, its reference code would run */
		return;
	for (i = 0; crypto_aead_aes256gcm_is_available() && i < sizeof(aes_ways) / sizeof(*aes_ways); i++)
		way_add(&table, &aes_ways[i]);
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		way_add(&table, &ways[i]);
}

static const struct crypto_table *get_table(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, build);
	return &table;
}

static const char *version(void)
{
	return sodium_version_string();
}

static size_t list(const struct crypto_algorithm **out)
{
	const struct crypto_table *t = get_table();

	*out = t->algorithms;
	return t->count;
}

static struct crypto_object *open_object(
	const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	return object_open(&sodium_engine, a, op, size, e);
}

const struct crypto_engine sodium_engine = { "sodium", "libsodium", version, list, open_object, object_run,
	object_close, get_table, "libsodium has no switch for it" };
#endif
