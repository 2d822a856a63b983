/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/units.h"
#include "lib/crypto/crypto_int.h"

#define FIELD_MAX 256

struct bytes {
	uint8_t b[FIELD_MAX];
	size_t n;
};

/* A vector's fields as bytes. */
struct fields {
	struct bytes key, nonce, aad, in, out;
};

static int decode(const char *text, struct bytes *out)
{
	long n = units_parse_hex(text, strlen(text), out->b, sizeof(out->b));

	out->n = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

static bool of(const struct vector *v, const char *name, enum crypto_kind kind)
{
	return v->kind == (kind == CRYPTO_RECORD ? CRYPTO_AEAD : kind) && !strcmp(v->name, name);
}

const struct vector *vectors_find(const char *name, enum crypto_kind kind)
{
	size_t i;

	for (i = 0; i < vectors_count; i++)
		if (of(&vectors_all[i], name, kind))
			return &vectors_all[i];
	return NULL;
}

/* out has room for in and a tag. */
static int compute(
	const struct crypto_way *w, enum crypto_op op, const struct fields *f, const uint8_t *in, uint8_t *out)
{
	struct crypto_message m = {
		.nonce = f->nonce.b, .aad = f->aad.b, .aad_size = f->aad.n, .in = in, .size = f->in.n, .out = out };

	if (w->kind == CRYPTO_RECORD && op == CRYPTO_ENCRYPT) { /* in place */
		memcpy(out, in, f->in.n);
		m.in = out;
	}
	return way_once(w, op, f->key.b, f->key.n, &m);
}

static int mismatch(const struct vector *v, const struct crypto_table *t, const struct crypto_way *w, int code,
	const char *what, struct err *e)
{
	return err_set(e, ERR_RUNTIME, "%s: %s of the known answer (%s): %s", w->name, what, v->source,
		code < 0 ? way_why(t, code) : "the result is wrong");
}

int vectors_try(const struct vector *v, const struct crypto_table *t, const struct crypto_way *w, struct err *e)
{
	struct fields f;
	uint8_t out[FIELD_MAX + CRYPTO_TAG_MAX];
	int code;

	if (decode(v->key, &f.key) < 0 || decode(v->nonce, &f.nonce) < 0 || decode(v->aad, &f.aad) < 0 ||
		decode(v->in, &f.in) < 0 || decode(v->out, &f.out) < 0 || f.in.n + CRYPTO_TAG_MAX > FIELD_MAX)
		return err_set(e, ERR_RUNTIME, "%s: the known answer (%s) cannot be read", w->name, v->source);
	if (f.nonce.n != w->shape.nonce_size ||
		(way_is_digest(w) ? f.out.n > w->shape.tag_size : f.out.n != way_sealed_size(w, f.in.n)))
		return err_set(e, ERR_RUNTIME, "%s: the known answer (%s) has other sizes", w->name, v->source);
	if (way_is_digest(w)) {
		code = compute(w, CRYPTO_DIGEST, &f, f.in.b, out);
		return code >= 0 && !memcmp(out, f.out.b, f.out.n) ? 0 : mismatch(v, t, w, code, "digest", e);
	}
	code = compute(w, CRYPTO_ENCRYPT, &f, f.in.b, out);
	if (code < 0 || memcmp(out, f.out.b, f.out.n) != 0)
		return mismatch(v, t, w, code, "encryption", e);
	code = compute(w, CRYPTO_DECRYPT, &f, f.out.b, out);
	if (code < 0 || memcmp(out, f.in.b, f.in.n) != 0)
		return mismatch(v, t, w, code, "decryption", e);
	return 0;
}

int vectors_check(const struct crypto_table *t, const struct crypto_way *w, struct err *e)
{
	size_t i;

	for (i = 0; i < vectors_count; i++)
		if (of(&vectors_all[i], w->name, w->kind) && vectors_try(&vectors_all[i], t, w, e) < 0)
			return -1;
	return 0;
}
