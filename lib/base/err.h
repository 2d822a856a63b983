/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_ERR_H
#define TLSKIT_BASE_ERR_H

/* The error that a failing function fills in.
 *
 * Functions return 0, or -1 with a `struct err` that the caller owns. The
 * message is one line that a person can act on: what failed, on what, why and,
 * where it is known, what to do. errno and GnuTLS codes are translated where
 * they arise. An err pointer may never be NULL. */

enum err_kind {
	ERR_NONE = 0,
	ERR_CONFIG,     /* usage or configuration; exit code 2 */
	ERR_RUNTIME,    /* anything else that failed at run time; exit code 1 */
	ERR_RESOLVE,    /* a name has no address */
	ERR_CONNECT,    /* no connection to the address */
	ERR_TIMEOUT,    /* a deadline passed */
	ERR_HANDSHAKE,  /* TLS handshake failed, alert, or not TLS at all */
	ERR_AUTH,       /* the peer is not who it must be; exit code 3 (tunnel) */
	ERR_IO,         /* the connection broke: reset, send failure */
	ERR_TRUNCATED,  /* the peer ended without close_notify (RFC 8446, 6.1) */
};

struct err {
	enum err_kind kind;
	char msg[512]; /* one line, no trailing full stop; the functions below see to it */
};

/* Arguments may come from peers: what a terminal would act on (utf8.h) or is not
 * UTF-8 becomes '?'. Text that is too long is cut and ends in an ellipsis; where
 * two parts are joined the first one is cut, since the reason stands behind.
 * Arguments may point into e->msg. */

/* Fills *e and returns -1, so that a caller can `return err_set(...)`. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of errno value `eno` behind the message. */
int err_sys(struct err *e, enum err_kind kind, int eno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "text: " in front of the message that is there. Returns -1. */
int err_prefix(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit code of design section 4 that every command shares. */
int err_exit_code(const struct err *e);

/* A fixed word for logs and JSON: "config", "timeout", "auth", ... */
const char *err_kind_name(enum err_kind kind);

#endif
