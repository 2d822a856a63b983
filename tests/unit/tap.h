/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_TAP_H
#define TLSKIT_TESTS_TAP_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A listener on the wire of one TLS 1.3 or 1.2 connection that has its secrets and
 * counts for itself: each record must open with the key that is in force and with
 * the next sequence number, and with no other. It shares nothing with lib/tls. */

#define TAP_KEY_MAX   32
#define TAP_HASH_MAX  48
#define TAP_EPOCHS    64 /* of a direction: the handshake's key, application_traffic_secret_0, _1, ... */
#define TAP_DIGEST    32

/* --- what was sealed under which key and nonce ------------------------------------- */

struct tap_sealed {
	uint8_t key[TAP_KEY_MAX], nonce[12];
	uint8_t digest[TAP_DIGEST]; /* SHA-256 of additional data, ciphertext and tag */
};

struct tap_book {
	struct tap_sealed *sealed;
	size_t n, cap;
};

/* 0: the key and nonce are new; 1: known, with the very same record; -1: used
 * before for another one. */
int tap_book_add(struct tap_book *b, const gnutls_datum_t *key, const uint8_t nonce[12], const void *aad,
	size_t aad_size, const void *sealed, size_t n);
void tap_book_free(struct tap_book *b);

/* --- the wire ------------------------------------------------------------------------ */

struct tap_key {
	uint8_t secret[TAP_HASH_MAX], key[TAP_KEY_MAX], iv[12];
};

struct tap_record {
	size_t at, size; /* in the side's bytes, with the header */
	unsigned epoch; /* TLS 1.2: there is one, the first */
	uint64_t seq;
	uint8_t type; /* inside, where it is; 0: not sealed */
};

/* What one side sent. */
struct tap_side {
	uint8_t *bytes;
	size_t n, cap;
	struct tap_key keys[TAP_EPOCHS];
	unsigned epochs; /* keys that are known */
	struct tap_record *records;
	size_t n_records;
};

struct tap {
	gnutls_cipher_algorithm_t cipher;
	gnutls_mac_algorithm_t hash;
	size_t key_size, hash_size;
	bool tls12;
	size_t iv_size; /* what of a nonce is not in the record */
	struct tap_side side[2]; /* 0: the client */
};

enum tap_fault {
	TAP_NONE,
	TAP_REPEATED, /* a sequence number again, with the same record */
	TAP_REUSED, /* a sequence number again, with another record */
	TAP_SKIPPED, /* one that is not yet due */
	TAP_OLD_KEY, /* sealed with a key that was given up */
	TAP_UNKNOWN, /* it opens with nothing */
	TAP_CUT, /* half a record at the end */
};

struct tap_verdict {
	enum tap_fault fault;
	int side;
	size_t record; /* the number of it, of all that the side sent */
	size_t application, tickets, key_updates, alerts; /* seen, of both sides */
};

/* version: 12 or 13. */
void tap_init(struct tap *t, int version, gnutls_cipher_algorithm_t cipher, gnutls_mac_algorithm_t hash);
void tap_free(struct tap *t);

/* side's bytes as they were sent. */
void tap_bytes(struct tap *t, int side, const uint8_t *bytes, size_t n);

/* A line of the key log: the secrets of both sides, all others are left out. */
void tap_secret(struct tap *t, const char *label, const gnutls_datum_t *secret);

/* The same of TLS 1.2: the master secret, and the randoms of the hellos. */
void tap_master(struct tap *t, const gnutls_datum_t *master, const gnutls_datum_t *client, const gnutls_datum_t *server);

/* Reads all that both sides sent, up to the first fault, and enters what was
 * sealed into the book. The records stay in t->side[]. */
struct tap_verdict tap_check(struct tap *t, struct tap_book *b);

/* Seals a record of one side as nobody but the side itself should: for tests of
 * this. `explicit` is the part of the nonce that is in the record, where it is. out
 * has room for n + 29 bytes; returns the record's size. */
size_t tap_seal(const struct tap *t, int side, unsigned epoch, uint64_t seq, uint64_t explicit, uint8_t type,
	const void *plain, size_t n, uint8_t *out);

#endif
