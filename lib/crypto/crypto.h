/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CRYPTO_CRYPTO_H
#define TLSKIT_CRYPTO_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"

/* Primitives of the libraries at hand, behind one interface, for the benches.
 * What an engine lists is found at run time: what the library names is tried
 * once before it is listed. */

enum crypto_kind {
	CRYPTO_AEAD, /* bulk: one key and nonce, no associated data, tag at the end */
	CRYPTO_RECORD, /* the same algorithms as a TLS 1.3 record: 5 bytes of header as associated data, a nonce that counts, type byte, tag; in place */
	CRYPTO_PAIR, /* cipher and MAC: MAC of the plaintext, then encryption, as TLS 1.0 to 1.2 do */
	CRYPTO_MAC,
	CRYPTO_HASH,
	CRYPTO_CIPHER, /* raw; "NULL" is a copy */
};

enum crypto_op { CRYPTO_ENCRYPT, CRYPTO_DECRYPT, CRYPTO_DIGEST }; /* digest: MACs and hashes */

/* An algorithm of an engine. Static, or the engine's for the life of the process. */
struct crypto_algorithm {
	const char *name; /* as GnuTLS spells it: "AES-128-GCM", "SHA256" */
	enum crypto_kind kind;
	bool weak; /* shown as such: 3DES, RC4, MD5, ... */
	int id, id2; /* the engine's own */
};

struct crypto_object; /* the engine's own, of one thread */

struct crypto_engine {
	const char *name; /* "gnutls", "nettle", "sodium" */
	const char *title; /* "GnuTLS" */
	const char *(*version)(void);
	/* All algorithms; returns their number. The array is the engine's. */
	size_t (*list)(const struct crypto_algorithm **out);
	/* An object that works on messages of size bytes. Keys and data are random.
	 * Known answers (RFC 8439, NIST) and one round trip against what was put in
	 * are checked here, before anything is timed. NULL with e; ERR_CONFIG: not
	 * possible (size, operation), else it is broken. */
	struct crypto_object *(*open)(const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e);
	/* n messages; every return code is looked at. Decryption checks tag and, at
	 * the end of a run, the plaintext. -1 with e. */
	int (*run)(struct crypto_object *o, uint64_t n, struct err *e);
	void (*close)(struct crypto_object *o); /* wipes; NULL is fine */
};

/* All engines that this build has, ends with NULL. */
const struct crypto_engine *const *crypto_engines(void);
const struct crypto_engine *crypto_engine_find(const char *name); /* NULL: not in this build */

/* Every name that some engine has, once, sorted: one a line, for completion. */
void crypto_list_names(FILE *out);

const char *crypto_kind_name(enum crypto_kind k); /* "aead", "record", "pair", "mac", "hash", "cipher" */
const char *crypto_op_name(enum crypto_op op); /* "encrypt", ... */

#endif
