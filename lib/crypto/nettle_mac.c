/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>
#include <nettle/poly1305.h>
#include <nettle/umac.h>
#include <stdalign.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

/* --- hashes and their HMACs --------------------------------------------------------- */

struct hash {
	const struct nettle_hash *hash;
	size_t room; /* of one context in contexts */
	alignas(16) uint8_t contexts[]; /* a hash has one, an HMAC three: outer, inner, running */
};

static size_t context_room(const struct nettle_hash *h)
{
	return (h->context_size + 15U) / 16 * 16;
}

static int hash_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct hash *s = state;

	(void)op;
	(void)key;
	(void)key_size;
	s->hash = w->spec;
	s->hash->init(s->contexts);
	return 0;
}

static int hash_step(void *state, const struct crypto_message *m)
{
	struct hash *s = state;

	s->hash->update(s->contexts, m->size, m->in);
	s->hash->digest(s->contexts, s->hash->digest_size, m->out); /* and starts again */
	return 0;
}

static int hmac_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct hash *s = state;

	(void)op;
	s->hash = w->spec;
	s->room = context_room(s->hash);
	hmac_set_key(s->contexts, s->contexts + s->room, s->contexts + 2 * s->room, s->hash, key_size, key);
	return 0;
}

static int hmac_step(void *state, const struct crypto_message *m)
{
	struct hash *s = state;
	uint8_t *running = s->contexts + 2 * s->room;

	hmac_update(running, s->hash, m->size, m->in);
	hmac_digest(s->contexts, s->contexts + s->room, running, s->hash, s->hash->digest_size, m->out);
	return 0;
}

static const char *hash_name(const struct nettle_hash *h)
{
	static const struct {
		const char *nettle, *name;
	} names[] = {
		{ "md2", "MD2" }, { "md4", "MD4" }, { "md5", "MD5" }, { "ripemd160", "RIPEMD160" }, { "sha1", "SHA1" },
		{ "sha224", "SHA224" }, { "sha256", "SHA256" }, { "sha384", "SHA384" }, { "sha512", "SHA512" },
		{ "sha512_224", "SHA512-224" }, { "sha512_256", "SHA512-256" }, /* since 3.10, before it: */
		{ "sha512-224", "SHA512-224" }, { "sha512-256", "SHA512-256" }, { "sha3_224", "SHA3-224" },
		{ "sha3_256", "SHA3-256" }, { "sha3_384", "SHA3-384" }, { "sha3_512", "SHA3-512" },
		{ "streebog256", "STREEBOG-256" }, { "streebog512", "STREEBOG-512" }, { "sm3", "SM3" },
		{ "gosthash94", "GOSTHASH94" },
		{ "gosthash94cp", "GOSTR341194" }, /* GnuTLS's has CryptoPro's parameters (RFC 4357) */
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].nettle, h->name))
			return names[i].name;
	return h->name;
}

static void add_hash(struct crypto_table *t, const struct nettle_hash *h)
{
	struct crypto_way w = {
		.name = hash_name(h), .kind = CRYPTO_HASH, .key = hash_key, .seal = hash_step, .spec = h
	};

	w.state_size = sizeof(struct hash) + context_room(h);
	w.shape.tag_size = h->digest_size;
	way_add(t, &w);
	if (!strncmp(h->name, "sha3_", 5) || !strncmp(h->name, "md2", 3)) /* nobody's HMAC */
		return;
	w.kind = CRYPTO_MAC;
	w.key = hmac_key;
	w.seal = hmac_step;
	w.state_size = sizeof(struct hash) + 3 * context_room(h);
	w.shape.key_size = h->digest_size;
	way_add(t, &w);
}

/* --- other MACs ---------------------------------------------------------------------- */

struct mac {
	const struct nettle_mac *mac;
	alignas(16) uint8_t context[];
};

static int mac_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct mac *s = state;

	(void)op;
	(void)key_size;
	s->mac = w->spec;
	s->mac->set_key(s->context, key);
	return 0;
}

static int mac_step(void *state, const struct crypto_message *m)
{
	struct mac *s = state;

	s->mac->update(s->context, m->size, m->in);
	s->mac->digest(s->context, s->mac->digest_size, m->out);
	return 0;
}

static void add_listed(struct crypto_table *t, const struct nettle_mac *m)
{
	static const struct {
		const char *nettle, *name;
	} names[] = {
		{ "cmac_aes128", "AES-CMAC-128" },
		{ "cmac_aes256", "AES-CMAC-256" },
		{ "cmac_des3", "3DES-CMAC" },
	};
	struct crypto_way w = { .name = m->name, .kind = CRYPTO_MAC, .key = mac_key, .seal = mac_step, .spec = m };
	size_t i;

	if (!strncmp(m->name, "hmac_", 5)) /* above, for every hash */
		return;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].nettle, m->name))
			w.name = names[i].name;
	w.state_size = sizeof(struct mac) + m->context_size;
	w.shape.key_size = m->key_size;
	w.shape.tag_size = m->digest_size;
	way_add(t, &w);
}

/* GMAC is GCM with associated data alone (SP 800-38D). */
struct gmac {
	const struct nettle_aead *gcm;
	alignas(16) uint8_t context[];
};

static int gmac_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct gmac *s = state;

	(void)op;
	(void)key_size;
	s->gcm = w->spec;
	s->gcm->set_encrypt_key(s->context, key);
	return 0;
}

static int gmac_step(void *state, const struct crypto_message *m)
{
	struct gmac *s = state;

	s->gcm->set_nonce(s->context, m->nonce);
	s->gcm->update(s->context, m->size, m->in);
	s->gcm->digest(s->context, s->gcm->digest_size, m->out);
	return 0;
}

static void add_gmac(struct crypto_table *t, const char *name, const struct nettle_aead *gcm)
{
	struct crypto_way w = { .name = name, .kind = CRYPTO_MAC, .key = gmac_key, .seal = gmac_step, .spec = gcm };

	w.state_size = sizeof(struct gmac) + gcm->context_size;
	w.shape = (struct crypto_shape){
		.key_size = gcm->key_size, .nonce_size = gcm->nonce_size, .tag_size = gcm->digest_size
	};
	way_add(t, &w);
}

#define NONCE_MAC(name, type, nonce_bytes, digest_bytes)                                                         \
	static int name##_key(                                                                                   \
		void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size) \
	{                                                                                                        \
		(void)w;                                                                                         \
		(void)op;                                                                                        \
		(void)key_size;                                                                                  \
		name##_set_key(state, key);                                                                      \
		return 0;                                                                                        \
	}                                                                                                        \
	static int name##_step(void *state, const struct crypto_message *m)                                      \
	{                                                                                                        \
		name##_nonce(state, m->nonce);                                                                   \
		name##_update(state, m->size, m->in);                                                            \
		name##_digest(state, digest_bytes, m->out);                                                      \
		return 0;                                                                                        \
	}                                                                                                        \
	static const struct crypto_way name##_way = { .kind = CRYPTO_MAC,                                        \
		.shape = { .key_size = 16, .nonce_size = nonce_bytes, .tag_size = digest_bytes },                \
		.state_size = sizeof(type),                                                                      \
		.key = name##_key,                                                                               \
		.seal = name##_step };

static void umac96_nonce(struct umac96_ctx *c, const uint8_t *nonce)
{
	umac96_set_nonce(c, 8, nonce);
}

static void umac128_nonce(struct umac128_ctx *c, const uint8_t *nonce)
{
	umac128_set_nonce(c, 8, nonce);
}

#define poly1305_aes_nonce poly1305_aes_set_nonce

NONCE_MAC(umac96, struct umac96_ctx, 8, 12)
NONCE_MAC(umac128, struct umac128_ctx, 8, 16)
NONCE_MAC(poly1305_aes, struct poly1305_aes_ctx, 16, 16)

static void add_named(struct crypto_table *t, const struct crypto_way *way, const char *name, size_t key_size)
{
	struct crypto_way w = *way;

	w.name = name;
	w.shape.key_size = key_size;
	way_add(t, &w);
}

void nettle_mac_add(struct crypto_table *t)
{
	const struct nettle_hash *const *h;
	const struct nettle_mac *const *m;

	for (h = nettle_get_hashes(); *h; h++)
		add_hash(t, *h);
	add_hash(t, &nettle_sha512_224); /* in no list (3.8) */
	add_hash(t, &nettle_sha512_256);
	for (m = nettle_get_macs(); *m; m++)
		add_listed(t, *m);
	add_gmac(t, "AES-GMAC-128", &nettle_gcm_aes128);
	add_gmac(t, "AES-GMAC-192", &nettle_gcm_aes192);
	add_gmac(t, "AES-GMAC-256", &nettle_gcm_aes256);
	add_named(t, &umac96_way, "UMAC-96", UMAC_KEY_SIZE);
	add_named(t, &umac128_way, "UMAC-128", UMAC_KEY_SIZE);
	add_named(t, &poly1305_aes_way, "POLY1305-AES", POLY1305_AES_KEY_SIZE);
}
