/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_OCSP_INT_H
#define TLSKIT_TLS_OCSP_INT_H

#include <gnutls/ocsp.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>

/* What the files of ocsp_check share. */

/* NULL: signed by the issuer, or by whom it has authorized; else why it counts for
 * nothing. issuer may be NULL, which is such a reason. */
const char *ocsp_signer_fault(gnutls_ocsp_resp_t resp, gnutls_x509_crt_t issuer, int64_t now);

/* The hash of the key's bits, without tag, length and unused bits (RFC 6960, 4.1.1). */
bool ocsp_signer_hash_key(gnutls_x509_crt_t crt, gnutls_digest_algorithm_t algo, uint8_t out[64]);

#endif
