/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_KTLS_H
#define TLSKIT_TLS_KTLS_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/net/sock.h"

/* Records by the kernel (Linux, Documentation/networking/tls.rst): what it offers,
 * and the calls for it. TLS 1.3 alone. Systems without it have a table that offers
 * nothing. */

#define KTLS_DATA 23 /* application data (RFC 8446, B.1) */

/* A direction's key and the number of its next record. Borrowed for the call. */
struct ktls_key {
	gnutls_cipher_algorithm_t cipher;
	const uint8_t *key, *iv;
	uint64_t seq;
};

struct ktls_calls {
	/* Whether the kernel has TLS at all, asked once. */
	bool (*available)(void);

	/* Whether it takes another key later on (Linux 6.14 and up), asked once. */
	bool (*rekeys)(void);

	/* Makes a TCP connection one that can be given keys, which changes nothing
	 * by itself. 0 or an errno; ENOTCONN: the other side has ended already. */
	int (*attach)(int fd);

	/* From here on the kernel opens (read) or seals the records of one
	 * direction. 0 or an errno: EBUSY where it has a key and takes no other. */
	int (*set_key)(int fd, bool read, const struct ktls_key *k);

	/* Plaintext of records of one type, of a single record unless it is data:
	 * bytes and *type, or 0 with *type 0 at the end of the stream, SOCK_*. size:
	 * a record's at least. s->error is EBADMSG for a record that is not
	 * authentic, EMSGSIZE for one too large, EINVAL for one of another version,
	 * EKEYEXPIRED when the key of the next one was not given. */
	long (*receive)(struct sock *s, void *data, size_t size, uint8_t *type);

	/* Sends as records of that type: bytes taken, SOCK_*. */
	long (*send)(struct sock *s, uint8_t type, const void *data, size_t n);

	/* The number of the next record to be sent; 0 where that is not known. */
	uint64_t (*next_seq)(int fd, gnutls_cipher_algorithm_t cipher);

	/* Whether what was sent is in TCP's own hands: what the kernel has sealed and
	 * found no room for is lost with a close. If not, the loop tells of room. */
	bool (*handed_on)(struct sock *s);

	/* At the end of the stream: whether it came inside a record. */
	bool (*cut)(const struct sock *s);
};

/* The system's; a test may have its own. */
extern const struct ktls_calls *ktls_system;

/* Whether the kernel may know the cipher: AES-128-GCM, AES-256-GCM, AES-128-CCM,
 * and from Linux 5.11 on ChaCha20-Poly1305. */
bool ktls_knows(gnutls_cipher_algorithm_t cipher);

#endif
