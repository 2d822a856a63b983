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

#define CRYPTO_SIZE_MAX (16U * 1024 * 1024) /* of a message; the least is 1 byte, or what the algorithm asks for */

enum crypto_kind {
	/* bulk: one key, a nonce that counts, no associated data, tag at the end; from one buffer to another */
	CRYPTO_AEAD,
	/* The same algorithms as a TLS 1.3 record: 5 bytes of header as associated
	 * data, a nonce that counts, type byte, tag. Sealed in place, as the direct data
	 * plane does. Opened from one buffer into another: in place, the record would be
	 * gone after the first time, and copying it back would be measured too. */
	CRYPTO_RECORD,
	/* Cipher and MAC as a record of TLS 1.0 to 1.2: MAC of a 13-byte header and the
	 * plaintext, then plaintext, MAC and (CBC) padding encrypted with a fresh IV; any
	 * size. Decryption looks at padding and MAC, not in constant time. */
	CRYPTO_PAIR,
	CRYPTO_MAC, /* key set once; a nonce, where there is one, counts */
	CRYPTO_HASH,
	CRYPTO_CIPHER, /* raw, the IV set for each message; "NULL" is a copy */
};

enum crypto_op { CRYPTO_ENCRYPT, CRYPTO_DECRYPT, CRYPTO_DIGEST }; /* digest: MACs and hashes */

/* An algorithm of an engine; the engine's for the life of the process. The same
 * name and kind in two engines is the same function. */
struct crypto_algorithm {
	const char *name; /* as GnuTLS spells it: "AES-128-GCM", "SHA256" (a MAC of this name is its HMAC) */
	enum crypto_kind kind;
	bool weak; /* shown as such: 3DES, RC4, MD5, ... */
	int id, id2; /* the engine's own */
};

struct crypto_object; /* the engine's own, of one thread */
struct crypto_table; /* lib/crypto's own */

struct crypto_engine {
	const char *name; /* "gnutls", "nettle", "sodium" */
	const char *title; /* "GnuTLS" */
	const char *(*version)(void);
	/* All algorithms; returns their number. The array is the engine's. The
	 * first call tries each, some milliseconds; any thread may make it. */
	size_t (*list)(const struct crypto_algorithm **out);
	/* An object that works on messages of size bytes. Keys and data are random.
	 * Known answers (RFC 8439, NIST) and one round trip against what was put in
	 * are checked here, before anything is timed, and that a forged tag is
	 * refused. NULL with e; ERR_CONFIG: not possible (size, operation), else it
	 * is broken. */
	struct crypto_object *(*open)(const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e);
	/* n messages; every return code is looked at. Decryption opens the same
	 * message n times, each time into the same other buffer; it checks the tag
	 * every time and, at the end of a run, the plaintext. A digest without nonce
	 * is compared at the end of a run. -1 with e; the object may then be closed
	 * only. */
	int (*run)(struct crypto_object *o, uint64_t n, struct err *e);
	void (*close)(struct crypto_object *o); /* wipes; NULL is fine */
	const struct crypto_table *(*table)(void); /* for lib/crypto */
	const char *no_switch; /* why its acceleration cannot be switched off; NULL: it can */
};

/* All engines that this build has, ends with NULL. */
const struct crypto_engine *const *crypto_engines(void);
const struct crypto_engine *crypto_engine_find(const char *name); /* NULL: not in this build */

/* Every name that some engine has, once, sorted: one a line, for completion. */
void crypto_list_names(FILE *out);

const char *crypto_kind_name(enum crypto_kind k); /* "aead", "record", "pair", "mac", "hash", "cipher" */
const char *crypto_op_name(enum crypto_op op); /* "encrypt", ... */

/* What open() holds an algorithm's results against: the standard of its vector
 * ("RFC 8439, 2.8.2"), or "round trip", or for a MAC or hash "repetition". */
const char *crypto_checked_by(const struct crypto_algorithm *a);

#endif
