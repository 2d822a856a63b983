/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_OCSP_ASK_H
#define TLSKIT_PROBE_OCSP_ASK_H

#include "lib/net/loop.h"
#include "lib/tls/ocsp.h"

/* Asks a certificate's OCSP responder (RFC 6960, appendix A.1: POST over plain http).
 * The answer is signed, so nobody on the way can make one up. */

struct ocsp_ask;

/* The result is borrowed for the call; it has OCSP_ERROR and a text with the stage
 * ("no answer from http://… within 5s", "ocsp.example: no address") when no answer
 * came. The ask is freed after the callback; never called from inside ocsp_ask_start. */
typedef void ocsp_ask_fn(void *arg, const struct ocsp_result *r);

/* url: of the certificate ("http://…"). leaf and issuer are borrowed until it ends;
 * now: epoch seconds, for the answer's dates. NULL with e: no memory, or ERR_CONFIG: a
 * URL that is not http. */
struct ocsp_ask *ocsp_ask_start(struct loop *l, const char *url, gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer,
	int64_t now, uint64_t timeout_ms, ocsp_ask_fn *fn, void *arg, struct err *e);

void ocsp_ask_cancel(struct ocsp_ask *a); /* fn is not called; NULL is fine; not in the callback */

#endif
