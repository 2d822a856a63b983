/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_PLANE_H
#define TLSKIT_TLS_PLANE_H

#include "lib/tls/session.h"

/* A data plane: how a session's records are opened and sealed once the
 * handshake is done. session.h describes what each call must do; session_io.c
 * hands them on. A session has one plane for its life. */

struct plane {
	const char *name;
	long (*fill)(struct session *s, struct err *e);
	int (*peek)(const struct session *s, struct iovec *iov, int max, size_t *total);
	void (*consume)(struct session *s, size_t n);
	int (*reserve)(struct session *s, struct iovec *iov, int max, size_t *total);
	int (*commit)(struct session *s, size_t n, bool full, struct err *e);
	int (*close_notify)(struct session *s, struct err *e);
	void (*abort)(struct session *s); /* a fatal alert */
	int (*key_update)(struct session *s, bool ask); /* a GnuTLS code */
	void (*wear_out)(struct session *s); /* for tests: as if the key had sealed all that it may; NULL: GnuTLS counts */
	void (*rest)(struct session *s); /* lets go of what belongs to this thread; NULL: nothing does */
	void (*release)(struct session *s); /* what it holds, before the session goes */

	/* These are NULL where records pass through `in` and `out` alone. */
	int (*flush)(struct session *s, struct err *e);
	long (*discard)(struct session *s);
	const char *(*used)(const struct session *s); /* the name for reports */
	bool (*kernel_opens)(const struct session *s);
	bool (*kernel_seals)(const struct session *s);
	void (*kernel_failed)(struct session *s, int error);
	int (*kernel_sent)(struct session *s, struct err *e);
};

/* GnuTLS's own record layer over the buffered transport: any version, any
 * suite. */
extern const struct plane plane_gnutls;

/* Our own record path for TLS 1.3, and for TLS 1.2 with an AEAD. plane_direct_start
 * makes it the session's, right after the handshake; -1 when the session is not one
 * for it. */
extern const struct plane plane_direct;
int plane_direct_start(struct session *s);

/* The direct plane with records by the kernel (ktls.h), each direction from when it
 * stands between two records. plane_ktls_start turns the direct plane into it; -1
 * when there is no kernel for this session. */
extern const struct plane plane_ktls;
int plane_ktls_start(struct session *s);

#endif
