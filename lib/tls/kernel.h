/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_KERNEL_H
#define TLSKIT_TLS_KERNEL_H

/* What the files of the kTLS plane share (plane_ktls.c, kernel_rx.c), and
 * what the direct plane has of it (direct_keys.c, plane_direct.c); nobody else
 * includes this.
 *
 * The direct plane with records by the kernel (ktls.h). A session begins on the
 * direct plane, and each direction goes to the kernel when it stands between two
 * records with nothing on its way: mostly before the first one.
 *
 * From then on the socket gives and takes plaintext. What is not application data
 * is GnuTLS's as before: a record that the kernel opened is sealed again, with the
 * same key, and handed over; what GnuTLS sends is opened, and sealed by the kernel
 * as a record of its type. */

#include "lib/tls/direct.h"

/* While the kernel opens or seals, a half's key is the kernel's, and its numbers are
 * such as no record on the wire has: they are for what passes between GnuTLS and us. */
#define KERNEL_OWN_SEQ (1ULL << 48)

/* The code for what a kernel cannot do that takes one key a connection. */
#define KERNEL_NO_REKEY GNUTLS_E_UNIMPLEMENTED_FEATURE

struct kernel {
	bool opens, seals;
	bool open_refused, seal_refused; /* asked for in vain */
	bool stuck; /* at a broken record, behind which nothing can be read */
	struct buf said; /* handshake messages that go before `out` */
	bool key_waits; /* and are the last ones with the old key */
	uint8_t alert[2]; /* goes behind `out` */
	bool alert_waits, alert_sent;
	unsigned pieces; /* sent since the records were counted */
	bool worn_out; /* for tests: count as many as there may be */
};

/* Gives both directions to the kernel, or the one that can be given now. */
void kernel_engage(struct session *s);

/* Gives it a direction's key, with the number of the next record. 0 or an errno. */
int kernel_give_key(struct session *s, bool read, uint64_t seq);

/* direct_fail, with a word for KERNEL_NO_REKEY. */
int kernel_fail(struct session *s, int code, struct err *e);

/* For direct_speak: takes over what GnuTLS sealed, for the kernel to seal. 0, or a
 * GnuTLS code. */
int kernel_said(struct session *s, struct buf *said);

/* The receiving calls of plane.h. */
long kernel_fill(struct session *s, struct err *e);
int kernel_peek(const struct session *s, struct iovec *iov, int max, size_t *total);
void kernel_consume(struct session *s, size_t n);
long kernel_discard(struct session *s);
void kernel_failed(struct session *s, int error);

#endif
