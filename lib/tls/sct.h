/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SCT_H
#define TLSKIT_TLS_SCT_H

#include <gnutls/x509.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Signed certificate timestamps (RFC 6962): promises of logs to publish a
 * certificate. They are read and counted; signatures are not checked, since that
 * takes a list of logs and their keys which changes by the month.
 *
 * They stand in the certificate, in the TLS extension (18) or in an OCSP answer.
 * GnuTLS shows neither the extension nor the extensions of a single OCSP answer;
 * who has their bytes can give them to sct_parse. */

#define SCT_LOG_TEXT 45 /* base64 of SHA-256 of the log's key, and NUL */

struct sct {
	unsigned version; /* 1; another one: nothing else is known of it */
	char log[SCT_LOG_TEXT]; /* "" unless version 1 */
	uint64_t timestamp_ms; /* since the epoch; 0 unless version 1 */
};

struct sct_list {
	struct sct *v; /* owned */
	size_t n;
};

/* A SignedCertificateTimestampList (3.3), whole. -1: malformed, and e says how; or
 * no memory. *out is empty then. */
int sct_parse(const void *data, size_t n, struct sct_list *out, struct err *e);

/* Those that the certificate carries; none is 0 with n = 0. */
int sct_of_cert(gnutls_x509_crt_t crt, struct sct_list *out, struct err *e);

void sct_list_free(struct sct_list *l); /* what it holds, and it is empty; {0} is fine */

#endif
