/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <gnutls/crypto.h>
#include <pthread.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

/* GnuTLS through its public interface: what a program that uses it gets. */

struct state {
	gnutls_aead_cipher_hd_t aead;
	gnutls_cipher_hd_t cipher;
	gnutls_hmac_hd_t mac;
	gnutls_hash_hd_t hash;
	size_t nonce_size, tag_size;
};

/* --- AEADs ------------------------------------------------------------------------- */

static int aead_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct state *s = state;
	int code;
	gnutls_datum_t datum = { (uint8_t *)key, (unsigned)key_size };

	(void)op; /* the same handle does both */
	s->nonce_size = w->shape.nonce_size;
	s->tag_size = w->shape.tag_size;
	code = gnutls_aead_cipher_init(&s->aead, w->id, &datum);
	if (code < 0) /* what it leaves where it fails must not be freed (gnutls_hash_init, 3.7.9) */
		s->aead = NULL;
	return code;
}

static int aead_seal(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	size_t n = m->size + s->tag_size;

	return gnutls_aead_cipher_encrypt(
		s->aead, m->nonce, s->nonce_size, m->aad, m->aad_size, s->tag_size, m->in, m->size, m->out, &n);
}

static int aead_open(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	size_t n = m->size;

	return gnutls_aead_cipher_decrypt(s->aead, m->nonce, s->nonce_size, m->aad, m->aad_size, s->tag_size, m->in,
		m->size + s->tag_size, m->out, &n);
}

/* As the direct data plane does it (lib/tls/aead.c). */
static int record_seal(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	giovec_t auth = { (void *)m->aad, m->aad_size }, iov = { m->out, m->size };
	size_t tag_size = s->tag_size;

	return gnutls_aead_cipher_encryptv2(
		s->aead, m->nonce, s->nonce_size, &auth, 1, &iov, 1, m->out + m->size, &tag_size);
}

/* --- raw ciphers ---------------------------------------------------------------------- */

static int cipher_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	uint8_t zero[CRYPTO_NONCE_MAX] = { 0 };
	gnutls_datum_t datum = { (uint8_t *)key, (unsigned)key_size }, iv = { zero, (unsigned)w->shape.nonce_size };
	struct state *s = state;
	int code;

	(void)op;
	s->nonce_size = w->shape.nonce_size;
	code = gnutls_cipher_init(&s->cipher, w->id, &datum, iv.size ? &iv : NULL);
	if (code < 0)
		s->cipher = NULL;
	return code;
}

static int cipher_seal(void *state, const struct crypto_message *m)
{
	struct state *s = state;

	if (s->nonce_size)
		gnutls_cipher_set_iv(s->cipher, (void *)m->nonce, s->nonce_size);
	return gnutls_cipher_encrypt2(s->cipher, m->in, m->size, m->out, m->size);
}

static int cipher_open(void *state, const struct crypto_message *m)
{
	struct state *s = state;

	if (s->nonce_size)
		gnutls_cipher_set_iv(s->cipher, (void *)m->nonce, s->nonce_size);
	return gnutls_cipher_decrypt2(s->cipher, m->in, m->size, m->out, m->size);
}

static int copy(void *state, const struct crypto_message *m)
{
	(void)state;
	memcpy(m->out, m->in, m->size);
	return 0;
}

/* --- MACs and hashes -------------------------------------------------------------------- */

static int mac_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct state *s = state;
	int code;

	(void)op;
	s->nonce_size = w->shape.nonce_size;
	code = gnutls_hmac_init(&s->mac, w->id, key, key_size);
	if (code < 0)
		s->mac = NULL;
	return code;
}

static int mac_step(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	int code;

	if (s->nonce_size)
		gnutls_hmac_set_nonce(s->mac, m->nonce, s->nonce_size);
	code = gnutls_hmac(s->mac, m->in, m->size);
	if (code >= 0)
		gnutls_hmac_output(s->mac, m->out);
	return code;
}

static int hash_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	struct state *s = state;
	int code;

	(void)op;
	(void)key;
	(void)key_size;
	code = gnutls_hash_init(&s->hash, w->id);
	if (code < 0)
		s->hash = NULL;
	return code;
}

static int hash_step(void *state, const struct crypto_message *m)
{
	struct state *s = state;
	int code = gnutls_hash(s->hash, m->in, m->size);

	if (code >= 0)
		gnutls_hash_output(s->hash, m->out);
	return code;
}

static void unkey(void *state)
{
	struct state *s = state;

	if (s->aead)
		gnutls_aead_cipher_deinit(s->aead);
	if (s->cipher)
		gnutls_cipher_deinit(s->cipher);
	if (s->mac)
		gnutls_hmac_deinit(s->mac, NULL);
	if (s->hash)
		gnutls_hash_deinit(s->hash, NULL);
}

/* --- what there is --------------------------------------------------------------------- */

static bool starts(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static void add_aead(struct crypto_table *t, gnutls_cipher_algorithm_t c)
{
	struct crypto_way w = { .name = gnutls_cipher_get_name(c),
		.kind = CRYPTO_AEAD,
		.state_size = sizeof(struct state),
		.key = aead_key,
		.unkey = unkey,
		.seal = aead_seal,
		.open = aead_open,
		.id = (int)c };

	w.shape.key_size = gnutls_cipher_get_key_size(c);
	w.shape.nonce_size = gnutls_cipher_get_iv_size(c);
	w.shape.tag_size = gnutls_cipher_get_tag_size(c);
	way_add(t, &w);
	if (w.shape.nonce_size != 12) /* a record's, RFC 8446, 5.3; AES-SIV has 16 */
		return;
	w.kind = CRYPTO_RECORD;
	w.seal = record_seal;
	way_add(t, &w);
}

/* CBC takes whole blocks. Those below are built on blocks too, but take any size. */
static size_t block_of(const char *name, gnutls_cipher_algorithm_t c)
{
	return strstr(name, "-CBC") || starts(name, "RC2") ? gnutls_cipher_get_block_size(c) : 1;
}

/* The key is another one after each 1024 bytes or so, and setting an IV does not
 * bring back the first (RFC 4357, 2.3.2; RFC 8645). */
static bool changes_key(const char *name)
{
	return starts(name, "GOST28147") || strstr(name, "-ACPKM");
}

static void add_cipher(struct crypto_table *t, gnutls_cipher_algorithm_t c)
{
	const char *name = gnutls_cipher_get_name(c);
	struct crypto_way w = { .name = name,
		.kind = CRYPTO_CIPHER,
		.state_size = sizeof(struct state),
		.key = cipher_key,
		.unkey = unkey,
		.seal = cipher_seal,
		.open = cipher_open,
		.id = (int)c };

	w.shape.key_size = gnutls_cipher_get_key_size(c);
	w.shape.nonce_size = gnutls_cipher_get_iv_size(c);
	w.shape.block = block_of(name, c);
	if (strstr(name, "-XTS"))
		w.shape.min = 16; /* IEEE 1619: a block at least */
	w.shape.once = w.shape.nonce_size == 0 || changes_key(name);
	if (c == GNUTLS_CIPHER_NULL) {
		w.key = NULL;
		w.seal = w.open = copy;
		w.shape.once = false;
	}
	way_add(t, &w);
}

static void add_mac(struct crypto_table *t, gnutls_mac_algorithm_t m)
{
	struct crypto_way w = { .name = gnutls_mac_get_name(m),
		.kind = CRYPTO_MAC,
		.state_size = sizeof(struct state),
		.key = mac_key,
		.unkey = unkey,
		.seal = mac_step,
		.id = (int)m };

	w.shape.key_size = gnutls_mac_get_key_size(m);
	w.shape.nonce_size = gnutls_mac_get_nonce_size(m);
	w.shape.tag_size = gnutls_hmac_get_len(m);
	if (w.shape.tag_size) /* "AEAD" is a word for the lack of one */
		way_add(t, &w);
}

static void add_hash(struct crypto_table *t, gnutls_digest_algorithm_t d)
{
	struct crypto_way w = { .name = gnutls_digest_get_name(d),
		.kind = CRYPTO_HASH,
		.state_size = sizeof(struct state),
		.key = hash_key,
		.unkey = unkey,
		.seal = hash_step,
		.id = (int)d };
	uint8_t out[CRYPTO_TAG_MAX];

	w.shape.tag_size = gnutls_hash_get_len(d);
	if (!w.shape.tag_size || w.shape.tag_size > sizeof(out)) /* SHAKE has any length: 0 */
		return;
	if (gnutls_hash_fast(d, "", 0, out) >= 0) /* gnutls_hash_init leaks where it fails (3.7.9) */
		way_add(t, &w);
}

static void add_lists(struct crypto_table *t)
{
	const gnutls_cipher_algorithm_t *c;
	const gnutls_mac_algorithm_t *m;
	const gnutls_digest_algorithm_t *d;

	for (c = gnutls_cipher_list(); c && *c; c++)
		if (gnutls_cipher_get_tag_size(*c))
			add_aead(t, *c);
		else
			add_cipher(t, *c);
	for (m = gnutls_mac_list(); m && *m; m++)
		add_mac(t, *m);
	for (d = gnutls_digest_list(); d && *d; d++)
		add_hash(t, *d);
}

/* There, but in none of the lists (3.7.9). */
static void add_unlisted(struct crypto_table *t)
{
	static const gnutls_digest_algorithm_t digests[] = { GNUTLS_DIG_SHA3_224, GNUTLS_DIG_SHA3_256,
		GNUTLS_DIG_SHA3_384, GNUTLS_DIG_SHA3_512, GNUTLS_DIG_RMD160, GNUTLS_DIG_MD2 };
	size_t i;

	for (i = 0; i < sizeof(digests) / sizeof(*digests); i++)
		add_hash(t, digests[i]);
}

/* Those of gnutls-cli --benchmark-ciphers, then the rest of TLS 1.2's. */
static void add_pairs(struct crypto_table *t)
{
	static const struct {
		gnutls_cipher_algorithm_t cipher;
		gnutls_mac_algorithm_t mac;
	} pairs[] = {
		{ GNUTLS_CIPHER_SALSA20_256, GNUTLS_MAC_SHA1 },
		{ GNUTLS_CIPHER_AES_128_CBC, GNUTLS_MAC_SHA1 },
		{ GNUTLS_CIPHER_AES_128_CBC, GNUTLS_MAC_SHA256 },
		{ GNUTLS_CIPHER_GOST28147_TC26Z_CNT, GNUTLS_MAC_GOST28147_TC26Z_IMIT },
		{ GNUTLS_CIPHER_AES_256_CBC, GNUTLS_MAC_SHA1 },
		{ GNUTLS_CIPHER_AES_256_CBC, GNUTLS_MAC_SHA256 },
		{ GNUTLS_CIPHER_AES_256_CBC, GNUTLS_MAC_SHA384 },
		{ GNUTLS_CIPHER_CAMELLIA_128_CBC, GNUTLS_MAC_SHA1 },
		{ GNUTLS_CIPHER_CAMELLIA_256_CBC, GNUTLS_MAC_SHA1 },
		{ GNUTLS_CIPHER_3DES_CBC, GNUTLS_MAC_SHA1 },
	};
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		gnutls_pair_add(t, (int)pairs[i].cipher, (int)pairs[i].mac);
}

/* --- the engine ----------------------------------------------------------------------- */

static struct crypto_table table = { .why = gnutls_strerror };

static void build(void)
{
	add_lists(&table);
	add_unlisted(&table);
	add_pairs(&table);
}

static const struct crypto_table *get_table(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, build);
	return &table;
}

static const char *version(void)
{
	return gnutls_check_version(NULL);
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
	return object_open(&gnutls_engine, a, op, size, e);
}

const struct crypto_engine gnutls_engine = { "gnutls", "GnuTLS", version, list, open_object, object_run, object_close,
	get_table, NULL };
