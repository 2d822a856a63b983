/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_PLANE_H
#define TLSKIT_TLS_PLANE_H

#include "lib/tls/session.h"

/* A data plane: how a session's records are opened and sealed once the
 * handshake is done. session.h describes what each call must do; session.c
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
};

/* GnuTLS's own record layer over the buffered transport: any version, any
 * suite. */
extern const struct plane plane_gnutls;

/* Our own record path for TLS 1.3. plane_direct_start makes it the session's,
 * right after the handshake; -1 when the session is not one for it. */
extern const struct plane plane_direct;
int plane_direct_start(struct session *s);

#endif
