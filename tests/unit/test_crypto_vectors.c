/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Known answers, and the engines against each other. */

#include <criterion/criterion.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"
#include "tests/unit/timeout.h"

TestSuite(crypto_vectors, .timeout = TEST_TIMEOUT);

/* The way that a vector is for, or NULL. */
static const struct crypto_way *way_of(const struct crypto_table *t, const char *name, enum crypto_kind kind)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->ways[i].kind == kind && !strcmp(t->ways[i].name, name))
			return &t->ways[i];
	return NULL;
}

/* How many engines have computed the vector. */
static size_t engines_that_pass(const struct vector *v, enum crypto_kind kind)
{
	const struct crypto_engine *const *g;
	const struct crypto_way *w;
	struct err e;
	size_t n = 0;

	for (g = crypto_engines(); *g; g++) {
		w = way_of((*g)->table(), v->name, kind);
		if (!w)
			continue;
		cr_assert_eq(vectors_try(v, (*g)->table(), w, &e), 0, "%s: %s", (*g)->name, e.msg);
		n++;
	}
	return n;
}

Test(crypto_vectors, all_pass)
{
	size_t i;

	for (i = 0; i < vectors_count; i++) {
		const struct vector *v = &vectors_all[i];
		size_t n = engines_that_pass(v, v->kind);

#ifdef HAVE_SODIUM
		cr_assert_gt(n, 0, "%s: no engine has it", v->name);
#else
		(void)n;
#endif
		if (v->kind == CRYPTO_AEAD)
			engines_that_pass(v, CRYPTO_RECORD);
	}
}

/* One digit of a field is another one: nothing computes that. */
static void corrupted(const struct vector *v, const struct crypto_table *t, const struct crypto_way *w)
{
	const char *const fields[] = { v->key, v->nonce, v->aad, v->in, v->out };
	struct vector bad;
	struct err e;
	size_t f, at;

	for (f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
		const char *copies[5] = { v->key, v->nonce, v->aad, v->in, v->out };
		char *copy = strdup(fields[f]);

		/* DES takes no notice of the lowest bit of a byte of its key, Poly1305 of several (RFC 8439, 2.5) */
		if (f == 0 && !strcmp(v->name, "POLY1305"))
			copy[0] = '\0';
		for (at = 0; at < strlen(copy); at += at < 8 ? 2 : 14) {
			memcpy(copy, fields[f], strlen(copy));
			copy[at] = copy[at] == '7' ? 'a' : '7';
			copies[f] = copy;
			bad = (struct vector){ v->name, v->kind, v->source, copies[0], copies[1], copies[2], copies[3],
				copies[4] };
			cr_assert_eq(vectors_try(&bad, t, w, &e), -1, "%s: field %zu, digit %zu", v->name, f, at);
			cr_assert_eq(e.kind, ERR_RUNTIME);
		}
		free(copy);
	}
}

Test(crypto_vectors, each_fails_when_a_byte_is_changed)
{
	const struct crypto_engine *const *g;
	const struct crypto_way *w;
	size_t i;

	for (i = 0; i < vectors_count; i++)
		for (g = crypto_engines(); *g; g++) {
			w = way_of((*g)->table(), vectors_all[i].name, vectors_all[i].kind);
			/* GnuTLS's Salsa20 does not look at its nonce */
			if (w && !(!strcmp((*g)->name, "gnutls") && strstr(w->name, "SALSA20")))
				corrupted(&vectors_all[i], (*g)->table(), w);
		}
}

Test(crypto_vectors, other_sizes_and_digits_are_errors)
{
	const struct crypto_table *t = crypto_engine_find("gnutls")->table();
	const struct crypto_way *w = way_of(t, "SHA256", CRYPTO_HASH);
	struct vector v = { "SHA256", CRYPTO_HASH, "test", "", "", "", "616g", "ba" };
	struct err e;

	cr_assert_eq(vectors_try(&v, t, w, &e), -1);
	cr_assert(strstr(e.msg, "cannot be read"), "%s", e.msg);
	v.in = "616263";
	v.nonce = "00";
	cr_assert_eq(vectors_try(&v, t, w, &e), -1);
	cr_assert(strstr(e.msg, "other sizes"), "%s", e.msg);
}

/* open() must hold a way against its vector: here, one that lies about its name. */
Test(crypto_vectors, open_checks_them)
{
	const struct crypto_engine *g = crypto_engine_find("gnutls");
	const struct crypto_table *t = g->table();
	struct crypto_way *w = (struct crypto_way *)way_of(t, "SHA224", CRYPTO_HASH);
	const struct crypto_algorithm *a = &t->algorithms[w - t->ways];
	struct err e;

	cr_assert_str_eq(crypto_checked_by(a), "FIPS 180");
	w->name = "SHA512-224"; /* of the same size */
	cr_assert_null(g->open(a, CRYPTO_DIGEST, 100, &e));
	cr_assert_eq(e.kind, ERR_RUNTIME);
	cr_assert(strstr(e.msg, "known answer (FIPS 180)"), "%s", e.msg);
}

/* --- engines against each other --------------------------------------------------------- */

static uint8_t key[CRYPTO_KEY_MAX], nonce[CRYPTO_NONCE_MAX], data[16384];

static void randomise(void)
{
	gnutls_rnd(GNUTLS_RND_NONCE, key, sizeof(key));
	gnutls_rnd(GNUTLS_RND_NONCE, nonce, sizeof(nonce));
	gnutls_rnd(GNUTLS_RND_NONCE, data, sizeof(data));
}

/* In place for records. Returns the length of what is in out. */
static size_t once(const struct crypto_way *w, size_t size, uint8_t *out)
{
	struct crypto_message m = { .nonce = nonce, .aad = key, .in = data, .size = size, .out = out };

	if (w->kind == CRYPTO_AEAD || w->kind == CRYPTO_RECORD)
		m.aad_size = w->kind == CRYPTO_RECORD ? 5 : 20;
	if (!strcmp(w->name, "XSALSA20-POLY1305"))
		m.aad_size = 0;
	if (w->kind == CRYPTO_RECORD) {
		memcpy(out, data, size);
		m.in = out;
	}
	cr_assert_geq(way_once(w, CRYPTO_ENCRYPT, key, w->shape.key_size, &m), 0, "%s", w->name);
	return way_sealed_size(w, size);
}

static void compare(const struct crypto_way *a, const struct crypto_way *b)
{
	static const size_t sizes[] = { 1, 16, 17, 64, 1400, 16384 };
	static uint8_t left[20000], right[20000];
	size_t i, n;

	cr_assert_eq(a->shape.key_size, b->shape.key_size, "%s", a->name);
	cr_assert_eq(a->shape.nonce_size, b->shape.nonce_size, "%s", a->name);
	cr_assert_eq(a->shape.block, b->shape.block, "%s", a->name);
	cr_assert_eq(a->shape.min, b->shape.min, "%s", a->name);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (sizes[i] < a->shape.min || sizes[i] % a->shape.block)
			continue;
		n = once(a, sizes[i], left);
		cr_assert_eq(once(b, sizes[i], right), n, "%s", a->name);
		cr_assert_eq(memcmp(left, right, n), 0, "%s, %zu bytes", a->name, sizes[i]);
	}
}

Test(crypto_vectors, engines_agree)
{
	const struct crypto_engine *const *g, *const *h;
	const struct crypto_way *other;
	size_t i, compared = 0;

	for (g = crypto_engines(); *g; g++)
		for (h = g + 1; *h; h++)
			for (i = 0; i < (*g)->table()->count; i++) {
				const struct crypto_way *w = &(*g)->table()->ways[i];

				other = way_of((*h)->table(), w->name, w->kind);
				if (!other)
					continue;
				randomise();
				if (!strcmp((*g)->name, "gnutls") && strstr(w->name, "SALSA20"))
					memset(nonce, 0, sizeof(nonce)); /* GnuTLS does not set it */
				compare(w, other);
				compared++;
			}
	cr_assert_gt(compared, 40, "%zu", compared);
}

/* A pair is its MAC over header and plaintext, and its cipher over plaintext, MAC
 * and padding (RFC 5246, 6.2.3). */
Test(crypto_vectors, a_pair_is_its_parts)
{
	static const size_t sizes[] = { 1, 15, 63, 64, 1400, 16384 - 64 };
	static uint8_t whole[20000], plain[20000], parts[20000], with_header[20000];
	const struct crypto_table *t = crypto_engine_find("gnutls")->table();
	const struct crypto_way *pair = way_of(t, "AES-256-CBC-SHA384", CRYPTO_PAIR),
				*cipher = way_of(t, "AES-256-CBC", CRYPTO_CIPHER),
				*mac = way_of(t, "SHA384", CRYPTO_MAC);
	size_t i, n, p;

	randomise();
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct crypto_message m = {
			.nonce = nonce, .aad = nonce, .aad_size = 13, .in = data, .size = sizes[i], .out = whole
		};
		struct crypto_message mm = { .in = with_header, .size = 13 + sizes[i], .out = plain + sizes[i] };

		cr_assert_geq(way_once(pair, CRYPTO_ENCRYPT, key, pair->shape.key_size, &m), 0);
		memcpy(with_header, nonce, 13);
		memcpy(with_header + 13, data, sizes[i]);
		memcpy(plain, data, sizes[i]);
		cr_assert_geq(way_once(mac, CRYPTO_DIGEST, key, mac->shape.key_size, &mm), 0);
		n = sizes[i] + 48;
		p = 16 - n % 16;
		memset(plain + n, (int)p - 1, p);
		n += p;
		cr_assert_eq(way_sealed_size(pair, sizes[i]), n);
		m = (struct crypto_message){ .nonce = nonce, .in = plain, .size = n, .out = parts };
		cr_assert_geq(way_once(cipher, CRYPTO_ENCRYPT, key, cipher->shape.key_size, &m), 0);
		cr_assert_eq(memcmp(whole, parts, n), 0, "%zu", sizes[i]);
	}
}

/* Each byte of what was sealed counts, padding and MAC of a pair too. */
Test(crypto_vectors, every_changed_byte_is_refused)
{
	const struct crypto_engine *const *g;
	uint8_t sealed[256], out[256];
	size_t i, k, n;

	randomise();
	for (g = crypto_engines(); *g; g++)
		for (i = 0; i < (*g)->table()->count; i++) {
			const struct crypto_way *w = &(*g)->table()->ways[i];
			struct crypto_message m = { .nonce = nonce, .aad = key, .in = data, .size = 40, .out = sealed };

			if (!way_has_tag(w))
				continue;
			m.aad_size = !strcmp(w->name, "XSALSA20-POLY1305") ? 0 : 13;
			if (w->kind == CRYPTO_RECORD)
				m.in = memcpy(sealed, data, 40);
			cr_assert_geq(way_once(w, CRYPTO_ENCRYPT, key, w->shape.key_size, &m), 0);
			n = way_sealed_size(w, 40);
			m.in = sealed;
			m.out = out;
			for (k = 0; k < n; k++) {
				sealed[k] ^= 0x40;
				cr_assert_lt(way_once(w, CRYPTO_DECRYPT, key, w->shape.key_size, &m), 0,
					"%s %s, byte %zu", (*g)->name, w->name, k);
				sealed[k] ^= 0x40;
			}
			cr_assert_geq(way_once(w, CRYPTO_DECRYPT, key, w->shape.key_size, &m), 0, "%s %s", (*g)->name,
				w->name);
			cr_assert_eq(memcmp(out, data, 40), 0);
		}
}
