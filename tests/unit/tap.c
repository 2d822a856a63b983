/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/tap.h"

#include <criterion/criterion.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#define HEADER   5
#define TAG      16
#define MSG_MAX  (1 << 18)
#define AHEAD    64 /* how far a sequence number that is not due is looked for */

enum { HANDSHAKE = 22, APPLICATION = 23, ALERT = 21, CHANGE_CIPHER_SPEC = 20 };
enum { NEW_SESSION_TICKET = 4, FINISHED = 20, KEY_UPDATE = 24 };

/* --- the book ---------------------------------------------------------------------- */

int tap_book_add(struct tap_book *b, const gnutls_datum_t *key, const uint8_t nonce[12], const void *aad,
	size_t aad_size, const void *sealed, size_t n)
{
	struct tap_sealed s = { .key = { 0 } };
	gnutls_hash_hd_t h;
	size_t i;

	cr_assert(key->size <= TAP_KEY_MAX);
	memcpy(s.key, key->data, key->size);
	memcpy(s.nonce, nonce, 12);
	cr_assert_eq(gnutls_hash_init(&h, GNUTLS_DIG_SHA256), 0);
	gnutls_hash(h, aad, aad_size);
	gnutls_hash(h, sealed, n);
	gnutls_hash_deinit(h, s.digest);
	for (i = b->n; i-- > 0;) /* the same as a little while ago, most often */
		if (memcmp(b->sealed[i].nonce, s.nonce, 12) == 0 && memcmp(b->sealed[i].key, s.key, TAP_KEY_MAX) == 0)
			return memcmp(b->sealed[i].digest, s.digest, TAP_DIGEST) == 0 ? 1 : -1;
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 256;
		cr_assert(b->sealed = reallocarray(b->sealed, b->cap, sizeof(*b->sealed)));
	}
	b->sealed[b->n++] = s;
	return 0;
}

void tap_book_free(struct tap_book *b)
{
	free(b->sealed);
	*b = (struct tap_book){ 0 };
}

/* --- keys (RFC 8446, 7.1 to 7.3) ------------------------------------------------------- */

static void expand_label(const struct tap *t, const uint8_t *secret, const char *label, uint8_t *out, size_t n)
{
	uint8_t info[64] = { (uint8_t)(n >> 8), (uint8_t)n, (uint8_t)(6 + strlen(label)), 't', 'l', 's', '1', '3', ' ' };
	gnutls_datum_t key = { (uint8_t *)secret, (unsigned)t->hash_size };
	gnutls_datum_t what = { info, (unsigned)(10 + strlen(label)) }; /* with an empty context */

	memcpy(info + 9, label, strlen(label));
	cr_assert_eq(gnutls_hkdf_expand(t->hash, &key, &what, out, n), 0);
}

static void make_key(const struct tap *t, struct tap_key *k)
{
	expand_label(t, k->secret, "key", k->key, t->key_size);
	expand_label(t, k->secret, "iv", k->iv, sizeof(k->iv));
}

/* The key that follows the last one. */
static void next_key(const struct tap *t, struct tap_side *s)
{
	struct tap_key *k = &s->keys[s->epochs];

	cr_assert(s->epochs < TAP_EPOCHS);
	expand_label(t, k[-1].secret, "traffic upd", k->secret, t->hash_size);
	make_key(t, k);
	s->epochs++;
}

void tap_secret(struct tap *t, const char *label, const gnutls_datum_t *secret)
{
	static const char *const labels[2][2] = {
		{ "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0" },
		{ "SERVER_HANDSHAKE_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0" },
	};
	int side;
	unsigned epoch;

	for (side = 0; side < 2; side++)
		for (epoch = 0; epoch < 2; epoch++)
			if (strcmp(label, labels[side][epoch]) == 0) {
				cr_assert_eq(secret->size, t->hash_size);
				cr_assert_eq(t->side[side].epochs, epoch);
				memcpy(t->side[side].keys[epoch].secret, secret->data, secret->size);
				make_key(t, &t->side[side].keys[epoch]);
				t->side[side].epochs++;
			}
}

/* P_hash of RFC 5246, 5. */
static void prf(const struct tap *t, const gnutls_datum_t *secret, const uint8_t *seed, size_t seed_size, uint8_t *out,
	size_t n)
{
	uint8_t a[TAP_HASH_MAX + 128], block[TAP_HASH_MAX];
	size_t k, done, a_size = seed_size;

	cr_assert(seed_size <= 128);
	memcpy(a, seed, seed_size); /* A(0) */
	for (done = 0; done < n; done += k) {
		cr_assert_eq(gnutls_hmac_fast(t->hash, secret->data, secret->size, a, a_size, block), 0);
		memcpy(a, block, t->hash_size);
		memcpy(a + t->hash_size, seed, seed_size);
		a_size = t->hash_size;
		cr_assert_eq(gnutls_hmac_fast(t->hash, secret->data, secret->size, a, a_size + seed_size, block), 0);
		k = n - done < t->hash_size ? n - done : t->hash_size;
		memcpy(out + done, block, k);
	}
}

void tap_master(struct tap *t, const gnutls_datum_t *master, const gnutls_datum_t *client, const gnutls_datum_t *server)
{
	uint8_t seed[13 + 64] = "key expansion", block[2 * (TAP_KEY_MAX + 12)];
	int side;

	cr_assert(client->size == 32 && server->size == 32);
	memcpy(seed + 13, server->data, 32);
	memcpy(seed + 13 + 32, client->data, 32);
	prf(t, master, seed, sizeof(seed), block, 2 * (t->key_size + t->iv_size));
	for (side = 0; side < 2; side++) { /* RFC 5246, 6.3 */
		memcpy(t->side[side].keys[0].key, block + (size_t)side * t->key_size, t->key_size);
		memcpy(t->side[side].keys[0].iv, block + 2 * t->key_size + (size_t)side * t->iv_size, t->iv_size);
		t->side[side].epochs = 1;
	}
}

void tap_init(struct tap *t, int version, gnutls_cipher_algorithm_t cipher, gnutls_mac_algorithm_t hash)
{
	*t = (struct tap){ .cipher = cipher, .hash = hash, .tls12 = version == 12 };
	t->key_size = gnutls_cipher_get_key_size(cipher);
	t->iv_size = t->tls12 && cipher != GNUTLS_CIPHER_CHACHA20_POLY1305 ? 4 : 12;
	t->hash_size = gnutls_hmac_get_len(hash);
}

void tap_free(struct tap *t)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(t->side[i].bytes);
		free(t->side[i].records);
	}
	*t = (struct tap){ 0 };
}

void tap_bytes(struct tap *t, int side, const uint8_t *bytes, size_t n)
{
	struct tap_side *s = &t->side[side];

	if (s->cap - s->n < n) {
		s->cap = 2 * (s->cap + n);
		cr_assert(s->bytes = realloc(s->bytes, s->cap));
	}
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
}

/* --- one record ------------------------------------------------------------------------- */

static void put64(uint64_t seq, uint8_t out[8])
{
	int i;

	for (i = 0; i < 8; i++)
		out[i] = (uint8_t)(seq >> (56 - 8 * i));
}

/* Bytes between a record's header and its ciphertext. */
static size_t explicit_size(const struct tap *t)
{
	return 12 - t->iv_size;
}

struct around {
	uint8_t nonce[12], aad[13];
	size_t aad_size;
};

static struct around around_of(const struct tap *t, const struct tap_key *k, uint64_t seq, const uint8_t *record, size_t size)
{
	struct around a = { .aad_size = t->tls12 ? 13 : HEADER };
	size_t n = size - HEADER - explicit_size(t) - TAG;
	uint8_t number[8];
	int i;

	put64(seq, number);
	memcpy(a.nonce, k->iv, t->iv_size);
	if (explicit_size(t))
		memcpy(a.nonce + 4, record + HEADER, 8);
	for (i = 0; i < 8 && !explicit_size(t); i++)
		a.nonce[4 + i] ^= number[i];
	memcpy(a.aad, record, HEADER);
	if (t->tls12) {
		memcpy(a.aad, number, 8);
		memcpy(a.aad + 8, (uint8_t[]){ record[0], record[1], record[2], (uint8_t)(n >> 8), (uint8_t)n }, HEADER);
	}
	return a;
}

/* Enters it into the book, as tap_book_add does. */
static int enter(const struct tap *t, const struct tap_key *k, uint64_t seq, const uint8_t *record, size_t size,
	struct tap_book *book)
{
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)t->key_size };
	struct around a = around_of(t, k, seq, record, size);
	size_t at = HEADER + explicit_size(t);

	return tap_book_add(book, &key, a.nonce, a.aad, a.aad_size, record + at, size - at);
}

/* The plaintext's size, type byte and padding included, or -1. */
static long try_open(const struct tap *t, const struct tap_key *k, uint64_t seq, const uint8_t *record, size_t size,
	uint8_t *plain)
{
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)t->key_size };
	size_t n = size, at = HEADER + explicit_size(t);
	gnutls_aead_cipher_hd_t h;
	struct around a;
	int r;

	if (size < at + TAG)
		return -1;
	a = around_of(t, k, seq, record, size);
	cr_assert_eq(gnutls_aead_cipher_init(&h, t->cipher, &key), 0);
	r = gnutls_aead_cipher_decrypt(h, a.nonce, 12, a.aad, a.aad_size, TAG, record + at, size - at, plain, &n);
	gnutls_aead_cipher_deinit(h);
	return r < 0 ? -1 : (long)n;
}

size_t tap_seal(const struct tap *t, int side, unsigned epoch, uint64_t seq, uint64_t explicit, uint8_t type,
	const void *plain, size_t n, uint8_t *out)
{
	const struct tap_key *k = &t->side[side].keys[epoch];
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)t->key_size };
	size_t at = HEADER + explicit_size(t), inner_n = n + (t->tls12 ? 0 : 1), size = inner_n + TAG, all = at - HEADER + size;
	gnutls_aead_cipher_hd_t h;
	uint8_t inner[16384 + 1];
	struct around a;

	cr_assert(n < sizeof(inner));
	memcpy(inner, plain, n);
	inner[n] = type;
	memcpy(out, (uint8_t[]){ t->tls12 ? type : APPLICATION, 3, 3, (uint8_t)(all >> 8), (uint8_t)all }, HEADER);
	if (explicit_size(t))
		put64(explicit, out + HEADER);
	a = around_of(t, k, seq, out, at + size);
	cr_assert_eq(gnutls_aead_cipher_init(&h, t->cipher, &key), 0);
	cr_assert_eq(gnutls_aead_cipher_encrypt(h, a.nonce, 12, a.aad, a.aad_size, TAG, inner, inner_n, out + at, &size), 0);
	gnutls_aead_cipher_deinit(h);
	return at + size;
}

/* --- all that a side sent ------------------------------------------------------------------ */

struct reading {
	struct tap *t;
	struct tap_side *s;
	struct tap_book *book;
	struct tap_verdict *v;
	unsigned epoch; /* of the key in force */
	uint64_t seq; /* due next */
	uint8_t *message; /* handshake messages may go over records */
	size_t have;
	bool to_switch; /* a message asked for the next key */
	bool sealed; /* TLS 1.2: ChangeCipherSpec was there */
};

/* Why a record does not open with what is due. */
static enum tap_fault explain(struct reading *r, const uint8_t *record, size_t size, uint8_t *plain)
{
	uint64_t seq;
	unsigned epoch;

	for (seq = 0; seq < r->seq + AHEAD; seq++) {
		if (try_open(r->t, &r->s->keys[r->epoch], seq, record, size, plain) < 0)
			continue;
		if (seq > r->seq)
			return TAP_SKIPPED;
		return enter(r->t, &r->s->keys[r->epoch], seq, record, size, r->book) < 0 ? TAP_REUSED : TAP_REPEATED;
	}
	for (epoch = 0; epoch < r->epoch; epoch++)
		for (seq = 0; seq < r->s->n_records + AHEAD; seq++)
			if (try_open(r->t, &r->s->keys[epoch], seq, record, size, plain) >= 0)
				return TAP_OLD_KEY;
	return TAP_UNKNOWN;
}

/* Handshake messages in a record, or the rest of some: counts them, and notes
 * that the key changes behind this record. */
static enum tap_fault read_messages(struct reading *r, const uint8_t *p, size_t n)
{
	size_t length;

	cr_assert(r->have + n <= MSG_MAX);
	memcpy(r->message + r->have, p, n);
	r->have += n;
	while (r->have >= 4) {
		length = 4 + ((size_t)r->message[1] << 16 | (size_t)r->message[2] << 8 | r->message[3]);
		if (r->have < length)
			break;
		if (r->to_switch)
			return TAP_UNKNOWN; /* nothing goes behind it under the old key (5.1) */
		r->v->tickets += r->message[0] == NEW_SESSION_TICKET;
		r->v->key_updates += r->message[0] == KEY_UPDATE;
		r->to_switch = r->message[0] == KEY_UPDATE || r->message[0] == FINISHED;
		memmove(r->message, r->message + length, r->have - length);
		r->have -= length;
	}
	return r->to_switch && r->have ? TAP_UNKNOWN : TAP_NONE;
}

static enum tap_fault read_inner(struct reading *r, uint8_t type, const uint8_t *p, size_t n)
{
	enum tap_fault f;

	if (type == APPLICATION)
		r->v->application++;
	else if (type == ALERT)
		r->v->alerts++;
	else if (type != HANDSHAKE)
		return TAP_UNKNOWN;
	if (type != HANDSHAKE || r->t->tls12) /* there it is Finished, and the key stays */
		return TAP_NONE;
	f = read_messages(r, p, n);
	if (f == TAP_NONE && r->to_switch) {
		r->to_switch = false;
		r->epoch++;
		r->seq = 0;
		if (r->epoch == r->s->epochs)
			next_key(r->t, r->s);
	}
	return f;
}

/* What goes in the clear: hellos, and in TLS 1.3 what goes for middleboxes. */
static bool in_the_clear(struct reading *r, uint8_t type)
{
	bool before = r->t->tls12 ? !r->sealed : r->epoch == 0;

	if (r->t->tls12 && type == CHANGE_CIPHER_SPEC)
		r->sealed = true;
	return before && (type == CHANGE_CIPHER_SPEC || (type == HANDSHAKE && r->seq == 0));
}

static enum tap_fault read_record(struct reading *r, struct tap_record *rec)
{
	const uint8_t *p = r->s->bytes + rec->at;
	struct tap_key *k = &r->s->keys[r->epoch];
	static uint8_t plain[1 << 16];
	long n;

	if (in_the_clear(r, p[0]))
		return TAP_NONE;
	if (p[0] != APPLICATION && !r->t->tls12)
		return TAP_UNKNOWN;
	n = try_open(r->t, k, r->seq, p, rec->size, plain);
	if (n < 0)
		return explain(r, p, rec->size, plain);
	if (enter(r->t, k, r->seq, p, rec->size, r->book) < 0)
		return TAP_REUSED;
	rec->epoch = r->epoch;
	rec->seq = r->seq++;
	rec->type = p[0];
	if (r->t->tls12)
		return read_inner(r, p[0], plain, (size_t)n);
	while (n && plain[n - 1] == 0)
		n--;
	if (n == 0)
		return TAP_UNKNOWN;
	rec->type = plain[n - 1];
	return read_inner(r, rec->type, plain, (size_t)n - 1);
}

static enum tap_fault read_side(struct reading *r)
{
	struct tap_side *s = r->s;
	struct tap_record *rec;
	enum tap_fault f = TAP_NONE;
	size_t at = 0;

	free(s->records);
	cr_assert(s->records = calloc(s->n / HEADER + 1, sizeof(*s->records)));
	for (s->n_records = 0; at < s->n && f == TAP_NONE; s->n_records++) {
		rec = &s->records[s->n_records];
		*rec = (struct tap_record){ .at = at };
		if (s->n - at < HEADER)
			return TAP_CUT;
		rec->size = HEADER + ((size_t)s->bytes[at + 3] << 8 | s->bytes[at + 4]);
		if (s->n - at < rec->size)
			return TAP_CUT;
		f = read_record(r, rec);
		at += rec->size;
	}
	return f;
}

struct tap_verdict tap_check(struct tap *t, struct tap_book *b)
{
	struct tap_verdict v = { 0 };

	for (v.side = 0; v.side < 2; v.side++) {
		struct reading r = { .t = t, .s = &t->side[v.side], .book = b, .v = &v };

		cr_assert(r.s->epochs >= (t->tls12 ? 1 : 2), "the secrets are not known");
		cr_assert(r.message = malloc(MSG_MAX));
		v.fault = read_side(&r);
		free(r.message);
		v.record = r.s->n_records - (v.fault != TAP_NONE && v.fault != TAP_CUT);
		if (v.fault != TAP_NONE)
			break;
	}
	return v;
}
