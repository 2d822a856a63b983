/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_OCSP_H
#define TLSKIT_TLS_OCSP_H

#include <gnutls/ocsp.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* OCSP answers (RFC 6960), stapled (RFC 6066, 8) or asked for. */

enum ocsp_status {
	OCSP_NONE, /* there is no answer */
	OCSP_GOOD,
	OCSP_REVOKED, /* also when the answer is out of date: it is not taken back (but a hold may be) */
	OCSP_UNKNOWN, /* the responder does not know the certificate */
	OCSP_EXPIRED, /* next update is over (without one: 15 days), or it is from more than 5 minutes ahead */
	OCSP_OTHER, /* about another certificate; said before its signature is looked at */
	OCSP_BAD_SIGNATURE, /* or a signer who may not */
	OCSP_ERROR, /* the responder says so: try later, unauthorized, … */
	OCSP_MALFORMED,
};

struct ocsp_result {
	enum ocsp_status status;
	/* epoch seconds; -1: not there, or not to be believed (GOOD to EXPIRED have them) */
	int64_t this_update, next_update, produced;
	int64_t revoked_at; /* -1: not revoked */
	const char *reason; /* of a revocation: "key compromise"; static; NULL: none */
	char text[200]; /* for a person: what it says, or what is wrong with it */
};

/* Looks at an answer about leaf, certified by issuer. now: epoch seconds. A
 * delegated signer must be certified by issuer and be for OCSP signing. issuer NULL:
 * nothing can be verified, which is OCSP_BAD_SIGNATURE at best. Of several answers about
 * leaf a revocation counts, else the newest. A nonce is not looked at. */
void ocsp_check(const gnutls_datum_t *der, gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer, int64_t now,
	struct ocsp_result *out);

const char *ocsp_status_name(enum ocsp_status s); /* "good", "revoked", …; for JSON */

/* A request about leaf with a nonce. The datum is gnutls_malloc'ed. */
int ocsp_request(gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer, gnutls_datum_t *out, struct err *e);

/* --- HTTP, as far as OCSP over plain http needs it: no sockets here ------------------- */

/* "http://host:port/path" of the certificate, parted. -1 with e: not http. */
struct ocsp_url {
	char host[256], port[8], path[1024]; /* an IPv6 address without its brackets */
};
int ocsp_url_parse(const char *url, struct ocsp_url *out, struct err *e);

/* The POST that carries a request, whole. The datum is gnutls_malloc'ed. */
int ocsp_http_request(const struct ocsp_url *url, const gnutls_datum_t *request, gnutls_datum_t *out, struct err *e);

/* The body of an answer that was received whole (the connection was closed, or
 * Content-Length or the last chunk was reached): 1 with *body (within data, or in
 * place of it when it was chunked), 0: more is to come, -1 with e. At most 64 KiB. */
int ocsp_http_answer(uint8_t *data, size_t n, bool ended, gnutls_datum_t *body, struct err *e);

#endif
