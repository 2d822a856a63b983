/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_TLSERR_H
#define TLSKIT_TLS_TLSERR_H

#include <gnutls/gnutls.h>

#include "lib/base/err.h"

/* GnuTLS codes in words. */

/* Fills e with "text: what the code means" and returns -1. */
int tlserr_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* What ended a handshake or the traffic of `s` (code < 0), seen from a user:
 * the alert that came, "this looks like HTTP", no common version, … Kind is
 * ERR_HANDSHAKE, ERR_AUTH (the peer did not prove who it is) or ERR_TRUNCATED. Returns -1. */
int tlserr_session(struct err *e, gnutls_session_t s, int code);

/* The registry's name of an alert: "unknown_ca"; "unknown". */
void tlserr_alert_name(gnutls_alert_description_t a, char *out, size_t size);

/* A handshake record came after the handshake (TLS 1.2). Returns -1. */
int tlserr_renegotiation(struct err *e);

#endif
