/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/crypto/crypto.h"

#include <string.h>

#include "lib/crypto/crypto_int.h"

static const struct crypto_engine *const built_in[] = {
	&gnutls_engine,
	&nettle_engine,
#ifdef HAVE_SODIUM
	&sodium_engine,
#endif
	NULL,
};

static const struct crypto_engine *const *engines = built_in;

const struct crypto_engine *const *crypto_engines(void)
{
	return engines;
}

void crypto_engines_set(const struct crypto_engine *const *other)
{
	engines = other ? other : built_in;
}

const struct crypto_engine *crypto_engine_find(const char *name)
{
	const struct crypto_engine *const *g;

	for (g = crypto_engines(); *g; g++)
		if (!strcmp((*g)->name, name))
			return *g;
	return NULL;
}

const char *crypto_kind_name(enum crypto_kind k)
{
	static const char *const names[] = {
		[CRYPTO_AEAD] = "aead",
		[CRYPTO_RECORD] = "record",
		[CRYPTO_PAIR] = "pair",
		[CRYPTO_MAC] = "mac",
		[CRYPTO_HASH] = "hash",
		[CRYPTO_CIPHER] = "cipher",
	};

	return (size_t)k < sizeof(names) / sizeof(*names) ? names[k] : "unknown";
}

const char *crypto_op_name(enum crypto_op op)
{
	static const char *const names[] = {
		[CRYPTO_ENCRYPT] = "encrypt",
		[CRYPTO_DECRYPT] = "decrypt",
		[CRYPTO_DIGEST] = "digest",
	};

	return (size_t)op < sizeof(names) / sizeof(*names) ? names[op] : "unknown";
}

const char *crypto_checked_by(const struct crypto_algorithm *a)
{
	const struct vector *v = vectors_find(a->name, a->kind);

	if (v)
		return v->source;
	return a->kind == CRYPTO_MAC || a->kind == CRYPTO_HASH ? "repetition" : "round trip";
}

/* Broken, too short a key, or blocks of 64 bits (RFC 7465, RFC 8429, Sweet32).
 * HMAC-SHA1 stands, SHA-1 does not. */
bool crypto_is_weak(const char *name, enum crypto_kind kind)
{
	static const char *const parts[] = { "3DES", "DES-", "ARCFOUR", "RC2-", "MD2", "MD4", "MD5", "GOST28147",
		"GOSTR341194", "GOSTHASH94", "CAST-128" };
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return kind == CRYPTO_HASH && !strcmp(name, "SHA1");
}
