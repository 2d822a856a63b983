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
	void (*release)(struct session *s); /* what it holds, before the session goes */
};

/* GnuTLS's own record layer over the buffered transport: any version, any
 * suite. */
extern const struct plane plane_gnutls;

#endif
