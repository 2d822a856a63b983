/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_OCSP_ASK_H
#define TLSKIT_PROBE_OCSP_ASK_H

#include "lib/net/loop.h"
#include "lib/tls/ocsp.h"

/* Asks a certificate's OCSP responder (RFC 6960, appendix A.1: POST over plain http).
 * The answer is signed, so nobody on the way can make one up. The URL is what the
 * certificate says: it may lead anywhere, this machine included, and whoever made the
 * certificate learns that it was asked about. Redirects are not followed. */

struct ocsp_ask;

/* The result is borrowed for the call: what ocsp_check says of the answer, or, where
 * none came that it could look at, OCSP_ERROR and a text with the responder's name and
 * the stage ("cannot resolve ocsp.example: …", "cannot connect to ocsp.example:80: …",
 * "ocsp.example: no answer within 5s", "ocsp.example: the OCSP responder answers with
 * HTTP 503"). The status is never OCSP_NONE. The ask is freed after the callback; never
 * called from inside ocsp_ask_start. */
typedef void ocsp_ask_fn(void *arg, const struct ocsp_result *r);

/* url: of the certificate ("http://…"); copied. leaf and issuer are borrowed until it
 * ends; neither may be NULL. now: epoch seconds, for the answer's dates. timeout_ms: for
 * all of it, 0: none. NULL with e: ERR_CONFIG: a URL that is not http or has no usable
 * host; other kinds: no memory, no threads, or the certificates make no request. */
struct ocsp_ask *ocsp_ask_start(struct loop *l, const char *url, gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer,
	int64_t now, uint64_t timeout_ms, ocsp_ask_fn *fn, void *arg, struct err *e);

void ocsp_ask_cancel(struct ocsp_ask *a); /* fn is not called; NULL is fine; not in the callback */

#endif
