/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <endian.h>
#include <gnutls/crypto.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

#define TYPE_DATA      23 /* application_data, RFC 8446, 5.1 */
#define FORGE_SIZE_MAX 65536 /* longer messages say nothing new about forgeries */

/* A record's header (RFC 8446, 5.2), or the sequence number, type, version and
 * length of one of TLS 1.2 (RFC 5246, 6.2.3.1). */
#define HEADER_SIZE      5
#define PAIR_HEADER_SIZE 13

struct crypto_object {
	const struct crypto_engine *engine;
	const struct crypto_way *way;
	enum crypto_op op;
	size_t size; /* of a message; that of a record has its type byte behind it */

	/* the loop's */
	crypto_step *step;
	void *state;
	struct crypto_message message;
	uint64_t count, nonce_tail; /* nonce_tail: of the first nonce, as a number */
	uint8_t *count_into; /* the nonce's last 8 bytes; NULL: it stays */
	uint8_t *type_byte; /* to be set for each message; NULL: none */
	bool drifts; /* the digests of one message differ: no comparison */

	uint8_t *plain, *sealed, *opened;
	size_t plain_size, sealed_size;
	uint8_t key[CRYPTO_KEY_MAX], nonce[CRYPTO_NONCE_MAX], header[16];
};

static int failed(const struct crypto_object *o, int code, const char *what, struct err *e)
{
	return err_set(e, ERR_RUNTIME, "%s: %s %s of %zu bytes: %s%s%s", o->engine->title, o->way->name,
		crypto_op_name(o->op), o->size, what, code < 0 ? ": " : "",
		code < 0 ? way_why(o->engine->table(), code) : "");
}

/* --- the loop -------------------------------------------------------------------------- */

/* iv XOR counter, RFC 8446, 5.3 */
static inline void next_nonce(struct crypto_object *o)
{
	uint64_t tail = htobe64(o->nonce_tail ^ o->count++);

	memcpy(o->count_into, &tail, sizeof(tail));
}

/* So that a step that writes nothing is seen. */
static void spoil(struct crypto_object *o)
{
	uint8_t *out = o->message.out;
	size_t last = (o->op == CRYPTO_DIGEST ? o->way->shape.tag_size : o->plain_size) - 1;

	out[0] ^= 0xff;
	if (last)
		out[last] ^= 0xff;
}

static int compare(const struct crypto_object *o, struct err *e)
{
	if (o->op == CRYPTO_DECRYPT && memcmp(o->opened, o->plain, o->plain_size) != 0)
		return failed(o, 0, "the plaintext is not what was encrypted", e);
	if (o->op == CRYPTO_DIGEST && !o->count_into && !o->drifts &&
		memcmp(o->opened, o->sealed, o->way->shape.tag_size) != 0)
		return failed(o, 0, "the digest changes from message to message", e);
	return 0;
}

int object_run(struct crypto_object *o, uint64_t n, struct err *e)
{
	crypto_step *step = o->step;
	uint64_t i;
	int code;

	if (n == 0)
		return 0;
	if (o->op != CRYPTO_ENCRYPT)
		spoil(o);
	for (i = 0; i < n; i++) {
		if (o->count_into)
			next_nonce(o);
		if (o->type_byte)
			*o->type_byte = TYPE_DATA;
		code = step(o->state, &o->message);
		if (code < 0)
			return failed(o, code, "failed", e);
	}
	return compare(o, e);
}

/* --- before it -------------------------------------------------------------------------- */

/* The keys of some change as they are used (RFC 4357, 2.3.2; RFC 8645), RC4 has
 * no nonce, and GnuTLS (3.7.9) does not set that of Salsa20. */
static int does_not_restart(const struct crypto_engine *g, const struct crypto_way *w, struct err *e)
{
	return err_set(e, ERR_CONFIG,
		"%s does not decrypt one %s message twice with one key: the key stream does not start again", g->title,
		w->name);
}

static int check_request(
	const struct crypto_engine *g, const struct crypto_way *w, enum crypto_op op, size_t size, struct err *e)
{
	const struct crypto_shape *s = &w->shape;

	if (way_is_digest(w) != (op == CRYPTO_DIGEST))
		return err_set(e, ERR_CONFIG, "%s is a %s: there is no %s", w->name, crypto_kind_name(w->kind),
			crypto_op_name(op));
	if (op == CRYPTO_DECRYPT && s->once)
		return does_not_restart(g, w, e);
	if (size < s->min || size > CRYPTO_SIZE_MAX)
		return err_set(e, ERR_CONFIG, "%s: messages have %zu bytes to 16 MiB, not %zu", w->name, s->min, size);
	if (size % s->block)
		return err_set(e, ERR_CONFIG, "%s: %zu-byte blocks: %zu is not a multiple", w->name, s->block, size);
	return 0;
}

static int fill(struct crypto_object *o, struct err *e)
{
	o->plain_size = o->size + (o->way->kind == CRYPTO_RECORD);
	o->sealed_size = way_sealed_size(o->way, o->plain_size);
	o->plain = way_alloc(o->plain_size);
	o->sealed = way_alloc(o->sealed_size);
	o->opened = way_alloc(o->sealed_size); /* pairs are decrypted with their padding */
	if (!o->plain || !o->sealed || !o->opened)
		return err_set(e, ERR_RUNTIME, "no memory for messages of %zu bytes", o->size);
	if (gnutls_rnd(GNUTLS_RND_RANDOM, o->key, sizeof(o->key)) < 0 ||
		gnutls_rnd(GNUTLS_RND_NONCE, o->nonce, sizeof(o->nonce)) < 0 ||
		gnutls_rnd(GNUTLS_RND_NONCE, o->plain, o->plain_size) < 0)
		return err_set(e, ERR_RUNTIME, "no random numbers from GnuTLS");
	return 0;
}

static void put_header(struct crypto_object *o)
{
	uint8_t *h = o->header;
	size_t n = o->sealed_size;

	if (o->way->kind == CRYPTO_RECORD)
		o->message.aad_size = HEADER_SIZE;
	if (o->way->kind == CRYPTO_PAIR) {
		o->message.aad_size = PAIR_HEADER_SIZE;
		h += PAIR_HEADER_SIZE - HEADER_SIZE;
		n = o->size;
	}
	h[0] = TYPE_DATA;
	h[1] = h[2] = 3;
	h[3] = (uint8_t)(n >> 8); /* longer than a record may be: a bench of what could not be sent */
	h[4] = (uint8_t)n;
	o->message.aad = o->header;
}

static void *keyed(struct crypto_object *o, enum crypto_op op, struct err *e)
{
	int code;
	void *state = way_keyed(o->way, op, o->key, o->way->shape.key_size, &code);

	if (!state)
		failed(o, code, "cannot set the key", e);
	return state;
}

/* Seals plain, records in place. */
static int seal_first(struct crypto_object *o, void *state)
{
	struct crypto_message m = o->message;

	m.in = o->plain;
	m.out = o->sealed;
	if (o->way->kind == CRYPTO_RECORD) {
		memcpy(o->sealed, o->plain, o->plain_size);
		m.in = o->sealed;
	}
	return o->way->seal(state, &m);
}

static int unseal(struct crypto_object *o, void *state)
{
	struct crypto_message m = o->message;

	m.in = o->sealed;
	m.out = o->opened;
	return o->way->open(state, &m);
}

static int round_trip(struct crypto_object *o, void *sealer, void *opener, struct err *e)
{
	int code = seal_first(o, sealer);

	if (code < 0)
		return failed(o, code, "the first encryption failed", e);
	code = unseal(o, opener);
	if (code < 0)
		return failed(o, code, "the first decryption failed", e);
	if (memcmp(o->opened, o->plain, o->plain_size) != 0)
		return failed(o, 0, "decryption does not give what was encrypted", e);
	if (!way_has_tag(o->way) || o->size > FORGE_SIZE_MAX)
		return 0;
	o->sealed[o->sealed_size - 1] ^= 1;
	code = unseal(o, opener);
	o->sealed[o->sealed_size - 1] ^= 1;
	return code < 0 ? 0 : failed(o, 0, "a forged message was accepted", e);
}

/* After a round trip: whether the message that was decrypted can be so again. */
static int check_restart(struct crypto_object *o, struct err *e)
{
	int code;

	if (o->op != CRYPTO_DECRYPT)
		return 0;
	spoil(o);
	code = unseal(o, o->state);
	if (code >= 0 && memcmp(o->opened, o->plain, o->plain_size) == 0)
		return 0;
	if (code < 0 && code != CRYPTO_FORGED)
		return failed(o, code, "the second decryption failed", e);
	return does_not_restart(o->engine, o->way, e);
}

static int prepare_cipher(struct crypto_object *o, struct err *e)
{
	void *sealer = keyed(o, CRYPTO_ENCRYPT, e), *opener = sealer ? keyed(o, CRYPTO_DECRYPT, e) : NULL;
	bool decrypt = o->op == CRYPTO_DECRYPT;
	int result = opener ? round_trip(o, sealer, opener, e) : -1;

	o->state = decrypt ? opener : sealer;
	way_forget(o->way, decrypt ? sealer : opener);
	o->message.in = decrypt ? o->sealed : o->plain;
	o->message.out = decrypt ? o->opened : o->sealed;
	if (!decrypt && o->way->kind == CRYPTO_RECORD) {
		o->message.in = o->sealed;
		o->type_byte = o->sealed + o->size;
	}
	return result < 0 ? result : check_restart(o, e);
}

static int digest(struct crypto_object *o, void *state, uint8_t *out, struct err *e)
{
	int code;

	o->message.out = out;
	code = o->way->seal(state, &o->message);
	return code < 0 ? failed(o, code, "the first messages failed", e) : 0;
}

/* The digest that others are compared with stays in sealed. Two states give the
 * same; one state a second time too, but for the MACs of GOST 28147-89, whose
 * key changes (RFC 4357, 2.3.2) and is not set again. */
static int prepare_digest(struct crypto_object *o, struct err *e)
{
	size_t n = o->way->shape.tag_size;
	void *other;
	int result;

	o->message.in = o->plain;
	other = keyed(o, CRYPTO_DIGEST, e);
	o->state = other ? keyed(o, CRYPTO_DIGEST, e) : NULL;
	result = o->state ? digest(o, other, o->sealed, e) : -1;
	way_forget(o->way, other);
	if (result < 0 || digest(o, o->state, o->opened, e) < 0)
		return -1;
	if (memcmp(o->sealed, o->opened, n) != 0)
		return failed(o, 0, "two digests of the same message differ", e);
	if (digest(o, o->state, o->opened, e) < 0)
		return -1;
	o->drifts = memcmp(o->sealed, o->opened, n) != 0;
	if (o->drifts && o->way->kind == CRYPTO_HASH)
		return failed(o, 0, "the digest of the second message differs", e);
	return 0;
}

/* What is opened was sealed with one nonce, all else has a new one each. */
static void prepare_nonce(struct crypto_object *o)
{
	size_t n = o->way->shape.nonce_size;

	if (n < sizeof(o->nonce_tail) || o->op == CRYPTO_DECRYPT)
		return;
	o->count_into = o->nonce + n - sizeof(o->nonce_tail);
	memcpy(&o->nonce_tail, o->count_into, sizeof(o->nonce_tail));
	o->nonce_tail = be64toh(o->nonce_tail);
	o->count = 1; /* the round trip's was 0 */
}

static int prepare(struct crypto_object *o, struct err *e)
{
	if (fill(o, e) < 0)
		return -1;
	o->message.nonce = o->nonce;
	o->message.size = o->plain_size;
	o->step = way_step(o->way, o->op);
	if (o->way->kind == CRYPTO_RECORD || o->way->kind == CRYPTO_PAIR)
		put_header(o);
	if (o->way->kind == CRYPTO_RECORD)
		o->plain[o->size] = TYPE_DATA;
	if ((o->op == CRYPTO_DIGEST ? prepare_digest(o, e) : prepare_cipher(o, e)) < 0)
		return -1;
	prepare_nonce(o);
	return 0;
}

/* Whether a message can be decrypted again is seen in a longer one: one byte comes out
 * right by chance once in 256 times. */
static int check_short(
	const struct crypto_engine *g, const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	struct crypto_object *longer;

	if (op != CRYPTO_DECRYPT || size >= CRYPTO_TRY_SIZE)
		return 0;
	longer = object_open(g, a, op, CRYPTO_TRY_SIZE, e);
	object_close(longer);
	return longer ? 0 : -1;
}

struct crypto_object *object_open(
	const struct crypto_engine *g, const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	const struct crypto_table *t = g->table();
	const struct crypto_way *w = &t->ways[a->id];
	struct crypto_object *o;

	if (check_request(g, w, op, size, e) < 0 || check_short(g, a, op, size, e) < 0)
		return NULL;
	if (vectors_check(t, w, e) < 0) {
		err_prefix(e, "%s", g->title);
		return NULL;
	}
	o = way_alloc(sizeof(*o));
	if (!o) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	o->engine = g;
	o->way = w;
	o->op = op;
	o->size = size;
	if (prepare(o, e) == 0)
		return o;
	object_close(o);
	return NULL;
}

void object_close(struct crypto_object *o)
{
	if (!o)
		return;
	way_forget(o->way, o->state);
	way_free(o->plain, o->plain_size);
	way_free(o->sealed, o->sealed_size);
	way_free(o->opened, o->sealed_size);
	way_free(o, sizeof(*o));
}
