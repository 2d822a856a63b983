/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CRYPTO_CRYPTO_INT_H
#define TLSKIT_CRYPTO_CRYPTO_INT_H

#include "lib/crypto/crypto.h"

/* What the files of lib/crypto share. An engine is a table of ways to compute
 * something, and everything else (buffers, checks, the loop) is common. */

#define CRYPTO_KEY_MAX   64
#define CRYPTO_NONCE_MAX 32
#define CRYPTO_TAG_MAX   64
#define CRYPTO_TRY_SIZE  64 /* a multiple of every block */

/* What a step returns for a wrong tag, MAC or padding; other negative numbers are the library's. */
#define CRYPTO_FORGED (-30000)

/* --- a message and what is done with it ---------------------------------------- */

struct crypto_message {
	const uint8_t *nonce;
	const uint8_t *aad;
	size_t aad_size;
	const uint8_t *in; /* plaintext; opening: what sealing gave */
	size_t size; /* of the plaintext */
	uint8_t *out; /* sealing: room for way_sealed_size(); opening: the same; digests: tag_size */
};

typedef int crypto_step(void *state, const struct crypto_message *m); /* 0, or negative */

struct crypto_shape {
	size_t key_size; /* of benches; HMACs take any */
	size_t nonce_size; /* 0, or at least 8 */
	size_t tag_size; /* what sealing adds, or the size of the digest */
	size_t block; /* sizes are multiples of it */
	size_t min; /* the shortest message */
	size_t pad; /* of pairs: padded to a multiple of this many bytes; 0: no padding */
	bool once; /* one keyed state opens only what it sealed in the same place of the stream (RC4) */
};

struct crypto_way {
	const char *name;
	bool name_made; /* by way_name() */
	enum crypto_kind kind;
	struct crypto_shape shape;
	size_t state_size;
	/* state is zeroed and aligned to 64 bytes. 0, or negative; op: CRYPTO_DIGEST
	 * for MACs and hashes. */
	int (*key)(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size);
	void (*unkey)(void *state); /* NULL: state owns nothing. It is wiped after this. */
	crypto_step *seal, *open; /* digests: seal */
	const void *spec; /* the engine's */
	int id, id2; /* the engine's */
};

struct crypto_table {
	struct crypto_way *ways;
	struct crypto_algorithm *algorithms; /* algorithms[i].id is i, of ways[i] */
	size_t count, room;
	const char *(*why)(int code); /* NULL: only CRYPTO_FORGED is known */
};

/* --- way.c ------------------------------------------------------------------------ */

/* Tries it with a random key; appends a copy if it works and nothing of its kind
 * has its name. A name that was made becomes the table's or is freed. */
void way_add(struct crypto_table *t, const struct crypto_way *w);

/* For names made at run time: "a-b-c" in memory that stays. NULL: no memory. */
const char *way_name(const char *a, const char *b, const char *c);

/* A state that is keyed. *code: negative where NULL is returned. */
void *way_keyed(const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size, int *code);
void way_forget(const struct crypto_way *w, void *state);
crypto_step *way_step(const struct crypto_way *w, enum crypto_op op);

size_t way_sealed_size(const struct crypto_way *w, size_t size);
bool way_is_digest(const struct crypto_way *w); /* MACs and hashes */
bool way_has_tag(const struct crypto_way *w); /* AEADs, records and pairs: a change is noticed */

/* One message; size is that of the plaintext. The code of the step. */
int way_once(const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size,
	const struct crypto_message *m);

const char *way_why(const struct crypto_table *t, int code);

/* Zeroed, aligned to 64 bytes, NULL: no memory. Freeing wipes. */
void *way_alloc(size_t size);
void way_free(void *p, size_t size);

/* --- object.c ------------------------------------------------------------------- */

struct crypto_object *object_open(
	const struct crypto_engine *g, const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e);
int object_run(struct crypto_object *o, uint64_t n, struct err *e);
void object_close(struct crypto_object *o);

/* --- vectors.c -------------------------------------------------------------------- */

struct vector {
	const char *name; /* of the algorithm; an AEAD's is its record's too */
	enum crypto_kind kind;
	const char *source;
	const char *key, *nonce, *aad, *in, *out; /* hexadecimal */
};

extern const struct vector vectors_all[];
extern const size_t vectors_count;

/* ERR_RUNTIME: the way computes something else, or cannot open the answer. */
int vectors_try(const struct vector *v, const struct crypto_table *t, const struct crypto_way *w, struct err *e);
int vectors_check(
	const struct crypto_table *t, const struct crypto_way *w, struct err *e); /* all that there are for it */
const struct vector *vectors_find(const char *name, enum crypto_kind kind); /* the first, or NULL */

/* --- crypto.c ------------------------------------------------------------------------ */

/* Other engines than those built in, for tests; NULL: those built in. */
void crypto_engines_set(const struct crypto_engine *const *engines);

bool crypto_is_weak(const char *name, enum crypto_kind kind);

/* --- the engines ---------------------------------------------------------------------- */

extern const struct crypto_engine gnutls_engine;
extern const struct crypto_engine nettle_engine;
#ifdef HAVE_SODIUM
extern const struct crypto_engine sodium_engine;
#endif

/* parts of them */
void gnutls_pair_add(struct crypto_table *t, int cipher, int mac);
void nettle_aead_add(struct crypto_table *t);
void nettle_cipher_add(struct crypto_table *t);
void nettle_mac_add(struct crypto_table *t);

#endif
