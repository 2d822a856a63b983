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

int tap_book_add(struct tap_book *b, const gnutls_datum_t *key, const uint8_t nonce[12], const void *header,
	const void *sealed, size_t n)
{
	struct tap_sealed s = { .key = { 0 } };
	gnutls_hash_hd_t h;
	size_t i;

	cr_assert(key->size <= TAP_KEY_MAX);
	memcpy(s.key, key->data, key->size);
	memcpy(s.nonce, nonce, 12);
	cr_assert_eq(gnutls_hash_init(&h, GNUTLS_DIG_SHA256), 0);
	gnutls_hash(h, header, HEADER);
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

void tap_init(struct tap *t, gnutls_cipher_algorithm_t cipher, gnutls_mac_algorithm_t hash)
{
	*t = (struct tap){ .cipher = cipher, .hash = hash };
	t->key_size = gnutls_cipher_get_key_size(cipher);
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

static void nonce_of(const struct tap_key *k, uint64_t seq, uint8_t nonce[12])
{
	int i;

	memcpy(nonce, k->iv, 12);
	for (i = 0; i < 8; i++)
		nonce[4 + i] ^= (uint8_t)(seq >> (56 - 8 * i));
}

/* The plaintext's size, type byte and padding included, or -1. */
static long try_open(const struct tap *t, const struct tap_key *k, uint64_t seq, const uint8_t *record, size_t size,
	uint8_t *plain)
{
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)t->key_size };
	gnutls_aead_cipher_hd_t h;
	uint8_t nonce[12];
	size_t n = size;
	int r;

	nonce_of(k, seq, nonce);
	cr_assert_eq(gnutls_aead_cipher_init(&h, t->cipher, &key), 0);
	r = gnutls_aead_cipher_decrypt(h, nonce, 12, record, HEADER, TAG, record + HEADER, size - HEADER, plain, &n);
	gnutls_aead_cipher_deinit(h);
	return r < 0 ? -1 : (long)n;
}

size_t tap_seal(const struct tap *t, int side, unsigned epoch, uint64_t seq, uint8_t type, const void *plain, size_t n,
	uint8_t *out)
{
	const struct tap_key *k = &t->side[side].keys[epoch];
	gnutls_datum_t key = { (uint8_t *)k->key, (unsigned)t->key_size };
	size_t size = n + 1 + TAG;
	gnutls_aead_cipher_hd_t h;
	uint8_t nonce[12], inner[16384 + 1];

	cr_assert(n < sizeof(inner));
	memcpy(inner, plain, n);
	inner[n] = type;
	memcpy(out, (uint8_t[]){ APPLICATION, 3, 3, (uint8_t)(size >> 8), (uint8_t)size }, HEADER);
	nonce_of(k, seq, nonce);
	cr_assert_eq(gnutls_aead_cipher_init(&h, t->cipher, &key), 0);
	cr_assert_eq(gnutls_aead_cipher_encrypt(h, nonce, 12, out, HEADER, TAG, inner, n + 1, out + HEADER, &size), 0);
	gnutls_aead_cipher_deinit(h);
	return HEADER + size;
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
};

/* Why a record does not open with what is due. */
static enum tap_fault explain(struct reading *r, const uint8_t *record, size_t size, uint8_t *plain)
{
	gnutls_datum_t key = { r->s->keys[r->epoch].key, (unsigned)r->t->key_size };
	uint8_t nonce[12];
	uint64_t seq;
	unsigned epoch;

	for (seq = 0; seq < r->seq + AHEAD; seq++) {
		if (try_open(r->t, &r->s->keys[r->epoch], seq, record, size, plain) < 0)
			continue;
		if (seq > r->seq)
			return TAP_SKIPPED;
		nonce_of(&r->s->keys[r->epoch], seq, nonce);
		return tap_book_add(r->book, &key, nonce, record, record + HEADER, size - HEADER) < 0 ? TAP_REUSED : TAP_REPEATED;
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
	if (type != HANDSHAKE)
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

static enum tap_fault read_record(struct reading *r, struct tap_record *rec)
{
	const uint8_t *p = r->s->bytes + rec->at;
	struct tap_key *k = &r->s->keys[r->epoch];
	gnutls_datum_t key = { k->key, (unsigned)r->t->key_size };
	static uint8_t plain[1 << 16];
	uint8_t nonce[12];
	long n;

	if (p[0] == CHANGE_CIPHER_SPEC || (p[0] == HANDSHAKE && r->epoch == 0 && r->seq == 0))
		return r->epoch == 0 ? TAP_NONE : TAP_UNKNOWN; /* hellos, and what goes for middleboxes */
	if (p[0] != APPLICATION)
		return TAP_UNKNOWN;
	n = try_open(r->t, k, r->seq, p, rec->size, plain);
	if (n < 0)
		return explain(r, p, rec->size, plain);
	nonce_of(k, r->seq, nonce);
	if (tap_book_add(r->book, &key, nonce, p, p + HEADER, rec->size - HEADER) < 0)
		return TAP_REUSED;
	rec->epoch = r->epoch;
	rec->seq = r->seq++;
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

		cr_assert(r.s->epochs >= 2, "the secrets are not known");
		cr_assert(r.message = malloc(MSG_MAX));
		v.fault = read_side(&r);
		free(r.message);
		v.record = r.s->n_records - (v.fault != TAP_NONE && v.fault != TAP_CUT);
		if (v.fault != TAP_NONE)
			break;
	}
	return v;
}
