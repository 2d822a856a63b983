/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"

#define ALIGNMENT 64 /* a cache line, and more than any vector register needs */

/* --- memory ------------------------------------------------------------------------ */

void *way_alloc(size_t size)
{
	size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	void *p = aligned_alloc(ALIGNMENT, whole ? whole : ALIGNMENT);

	if (p)
		memset(p, 0, size);
	return p;
}

void way_free(void *p, size_t size)
{
	if (!p)
		return;
	gnutls_memset(p, 0, size);
	free(p);
}

/* --- a way ---------------------------------------------------------------------------- */

bool way_is_digest(const struct crypto_way *w)
{
	return w->kind == CRYPTO_MAC || w->kind == CRYPTO_HASH;
}

bool way_has_tag(const struct crypto_way *w)
{
	return w->kind == CRYPTO_AEAD || w->kind == CRYPTO_RECORD || w->kind == CRYPTO_PAIR;
}

size_t way_sealed_size(const struct crypto_way *w, size_t size)
{
	if (way_is_digest(w))
		return w->shape.tag_size;
	size += w->shape.tag_size;
	if (w->shape.pad)
		size += w->shape.pad - size % w->shape.pad;
	return size;
}

crypto_step *way_step(const struct crypto_way *w, enum crypto_op op)
{
	return op == CRYPTO_DECRYPT ? w->open : w->seal;
}

void *way_keyed(const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size, int *code)
{
	void *state = way_alloc(w->state_size);

	*code = state ? 0 : GNUTLS_E_MEMORY_ERROR;
	if (state && w->key)
		*code = w->key(state, w, op, key, key_size);
	if (*code >= 0)
		return state;
	way_forget(w, state);
	return NULL;
}

void way_forget(const struct crypto_way *w, void *state)
{
	if (state && w->unkey)
		w->unkey(state);
	way_free(state, w->state_size);
}

int way_once(const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size,
	const struct crypto_message *m)
{
	int code;
	void *state = way_keyed(w, op, key, key_size, &code);

	if (!state)
		return code;
	code = way_step(w, op)(state, m);
	way_forget(w, state);
	return code;
}

const char *way_why(const struct crypto_table *t, int code)
{
	if (code == CRYPTO_FORGED)
		return "the tag does not match";
	return t->why ? t->why(code) : "the library reports an error";
}

/* --- a table of them --------------------------------------------------------------- */

const char *way_name(const char *a, const char *b, const char *c)
{
	char *name;

	if (asprintf(&name, "%s%s%s%s%s", a, b ? "-" : "", b ? b : "", c ? "-" : "", c ? c : "") < 0)
		return NULL;
	return name;
}

/* Some names are known to a library that has them switched off or not built in. */
static bool works(const struct crypto_way *w)
{
	uint8_t key[CRYPTO_KEY_MAX], nonce[CRYPTO_NONCE_MAX] = { 0 }, data[CRYPTO_TRY_SIZE] = { 0 };
	uint8_t out[4 * CRYPTO_TRY_SIZE + CRYPTO_TAG_MAX];
	struct crypto_message m = { .nonce = nonce, .in = data, .size = sizeof(data), .out = out };
	bool ok;

	if (!w->name || w->shape.key_size > sizeof(key) || w->shape.nonce_size > sizeof(nonce) ||
		w->shape.tag_size > CRYPTO_TAG_MAX)
		return false;
	if (gnutls_rnd(GNUTLS_RND_NONCE, key, sizeof(key)) < 0)
		return false;
	if (w->kind == CRYPTO_RECORD) { /* in place */
		memcpy(out, data, sizeof(data));
		m.in = out;
	}
	ok = way_once(w, way_is_digest(w) ? CRYPTO_DIGEST : CRYPTO_ENCRYPT, key, w->shape.key_size, &m) >= 0;
	gnutls_memset(key, 0, sizeof(key));
	return ok;
}

static bool is_there(const struct crypto_table *t, const struct crypto_way *w)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->ways[i].kind == w->kind && !strcmp(t->ways[i].name, w->name))
			return true;
	return false;
}

/* TLS has suites with it (the registry of RFC 8447): others are no records. */
static bool tls_has(const char *aead)
{
	static const char *const names[] = { "AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305", "AES-128-CCM", "AES-256-CCM",
		"AES-128-CCM-8", "AES-256-CCM-8", "CAMELLIA-128-GCM", "CAMELLIA-256-GCM" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], aead))
			return true;
	return false;
}

static int grow(struct crypto_table *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct crypto_way *ways = reallocarray(t->ways, room, sizeof(*ways));
	struct crypto_algorithm *algorithms;

	if (!ways)
		return -1;
	t->ways = ways;
	algorithms = reallocarray(t->algorithms, room, sizeof(*algorithms));
	if (!algorithms)
		return -1;
	t->algorithms = algorithms;
	t->room = room;
	return 0;
}

void way_add(struct crypto_table *t, const struct crypto_way *w)
{
	struct crypto_way *mine;

	if (!works(w) || (w->kind == CRYPTO_RECORD && !tls_has(w->name)) || is_there(t, w) || (t->count == t->room && grow(t) < 0)) {
		if (w->name_made)
			free((void *)w->name);
		return;
	}
	mine = &t->ways[t->count];
	*mine = *w;
	if (mine->shape.block < 1)
		mine->shape.block = 1;
	if (mine->shape.min < 1)
		mine->shape.min = 1;
	t->algorithms[t->count] = (struct crypto_algorithm){
		.name = w->name, .kind = w->kind, .weak = crypto_is_weak(w->name, w->kind), .id = (int)t->count };
	t->count++;
}
