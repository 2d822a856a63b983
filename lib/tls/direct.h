/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_DIRECT_H
#define TLSKIT_TLS_DIRECT_H

/* What the files of the direct record path share (plane_direct.c, direct_rx.c,
 * direct_record.c, direct_keys.c), and those of the kTLS plane, which is built on it
 * (kernel.h); nobody else includes this.
 *
 * The direct record path (TLS 1.3, RFC 8446, section 5; TLS 1.2 with an AEAD, RFC
 * 5246, 6.2.3.3). After the handshake the keys come out of GnuTLS, and application
 * data is sealed where it was read from the plain socket and opened where it was
 * received, without a copy.
 *
 * Everything else is GnuTLS's still. A record that is not application data is given
 * to GnuTLS to read: as it came where its type stands in its header (TLS 1.2), else
 * sealed again (the same key, nonce and plaintext give the same bytes). What GnuTLS
 * sends itself (tickets, key updates, alerts) it seals with the sequence number that
 * it is told. After each such exchange keys and sequence numbers are taken back. */


#include "lib/tls/aead.h"
#include "lib/tls/plane.h"
#include "lib/tls/tls_int.h"

#define DIRECT_HEADER    5
#define DIRECT_PLAIN_MAX 16384 /* RFC 8446, 5.1 */

enum direct_content { ALERT = 21, HANDSHAKE = 22, APPLICATION_DATA = 23 };

#define DIRECT_KEY_UPDATE    24 /* RFC 8446, 4 */
#define DIRECT_REKEY_RECORDS (1ULL << 23) /* half of what AES-GCM allows (RFC 8446, 5.5) */

/* One direction. */
struct direct_half {
	struct aead *aead; /* NULL: at rest (direct_aead) */
	struct direct_half *newer, *older; /* of the thread's that are not */
	uint8_t key[AEAD_KEY_MAX];
	size_t key_size;
	uint8_t iv[AEAD_NONCE_SIZE];
	uint64_t seq; /* of the next record */
	uint64_t records; /* with this key */
};

/* What a version and a cipher put around the plaintext of a record. */
struct direct_layout {
	size_t before; /* bytes of the payload in front of the ciphertext: a part of the nonce */
	size_t inner_type; /* bytes behind the plaintext that are sealed with it: the type; 0: it is the header's */
	size_t iv_size;
	size_t payload_max;
	uint64_t rekey_records; /* that a key may seal */
};

struct direct {
	gnutls_cipher_algorithm_t cipher;
	const struct direct_layout *layout;
	struct direct_half rx, tx;
	/* in: [start, opened) are records that are open. In their headers the
	 * version's place holds the length of the plaintext. */
	size_t opened;
	unsigned n_open;
	/* the first record behind `opened` is not application data: its length with the
	 * inner type byte, 1 where its type is outside; else 0 */
	size_t control;
	size_t slot_max; /* plaintext a slot: as much as the peer takes in a record */
	size_t slot_size; /* in what is reserved now */
	size_t early; /* bytes sent since the last pause */
	uint64_t reserved_ns, sent_ns; /* room was asked for, bytes were sent: when last */
	bool cut; /* the end came inside a record */
	bool asked; /* the peer may have asked for a KeyUpdate of ours */
	unsigned empty;
	bool exact; /* not a byte is read of the record behind the next */
	struct kernel *kernel; /* kernel.h; NULL: records are not to go there */
};

/* Takes a direction's key and sequence number from GnuTLS. 0, or its code. */
int direct_take(struct session *s, bool read);

/* Tells GnuTLS a direction's sequence number, before it reads or sends. */
void direct_give(struct session *s, bool read);

/* The direction's cipher, set up where it was at rest. NULL: no memory.
 *
 * A cipher that is set up takes more memory than all else that is ours of an
 * idle connection. So a thread has a limited number of them, and the one that was
 * not used for longest rests when another is needed: only its key is left, and
 * setting it up again costs about as much as a short record. */
struct aead *direct_aead(const struct direct *d, struct direct_half *h);

/* Has it rest; on the thread that used it. */
void direct_rest(struct direct_half *h);

/* NULL: not for the direct path. */
const struct direct_layout *direct_layout_for(gnutls_protocol_t version, gnutls_cipher_algorithm_t cipher);

/* Of the record at p: its payload's length, as the header has it, and where its
 * plaintext lies. */
static inline size_t direct_length(const uint8_t *p)
{
	return (size_t)p[3] << 8 | p[4];
}

static inline uint8_t *direct_body(const struct direct *d, uint8_t *p)
{
	return p + DIRECT_HEADER + d->layout->before;
}

/* Seal and open the record at p in place, as the half's next one, which they do not
 * count. The header and the explicit nonce are there; the length must have room for
 * what is around the plaintext. The first returns 0, the second the length of the
 * plaintext and the inner type, or a GnuTLS code. */
int direct_seal(const struct direct *d, struct direct_half *h, uint8_t *p);
long direct_open(const struct direct *d, struct direct_half *h, uint8_t *p);

void direct_put_seq(uint64_t seq, uint8_t out[8]);

void direct_wipe_half(struct direct_half *h);

/* Ends the session for a GnuTLS code: an alert is queued, e says why. Returns
 * SOCK_FAILED. */
int direct_fail(struct session *s, int code, struct err *e);

/* Has GnuTLS send something of its own: say does it, with arg, and returns its code.
 * What it sealed goes into `out`, or to the kernel where that seals. */
typedef int direct_say_fn(struct session *s, int arg);
int direct_speak(struct session *s, direct_say_fn *say, int arg);

/* Has GnuTLS read the record at `opened`, which is no application data. 1 to go on,
 * 0 at close_notify (eof is set), or a code. */
int direct_hand_over(struct session *s);

/* A KeyUpdate of ours (4.6.3). 0, or a GnuTLS code. */
int direct_key_update(struct session *s, bool ask);

/* The calls of plane.h. */
long direct_fill(struct session *s, struct err *e);
int direct_peek(const struct session *s, struct iovec *iov, int max, size_t *total);
void direct_consume(struct session *s, size_t n);
int direct_reserve(struct session *s, struct iovec *iov, int max, size_t *total);
int direct_commit(struct session *s, size_t n, bool full, struct err *e);
int direct_close_notify(struct session *s, struct err *e);
void direct_abort(struct session *s);
void direct_wear_out(struct session *s);
void direct_leave(struct session *s);
void direct_release(struct session *s);

#endif
