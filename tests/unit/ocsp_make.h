/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_OCSP_MAKE_H
#define TLSKIT_TESTS_OCSP_MAKE_H

#include <gnutls/ocsp.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes OCSP answers (RFC 6960), right ones and wrong ones: GnuTLS reads them only. */

#define OCSP_MAKE_NONE INT64_MIN /* a time that is not there */

struct ocsp_make_single {
	gnutls_x509_crt_t crt, issuer;
	gnutls_digest_algorithm_t digest; /* of the certificate's id; 0: SHA-1 */
	gnutls_ocsp_cert_status_t status; /* 0: good */
	int64_t this_update, next_update; /* epoch seconds, or OCSP_MAKE_NONE for the second */
	int64_t revoked_at;
	int reason; /* 0: none is given */
	bool wrong_key_hash;
};

struct ocsp_make {
	const struct ocsp_make_single *singles;
	size_t n;
	int64_t produced;
	gnutls_x509_crt_t signer; /* who the answer names as its signer */
	gnutls_x509_privkey_t key; /* what signs it: RSA or ECDSA */
	gnutls_digest_algorithm_t digest; /* 0: SHA-256; SHA-1 with RSA alone */
	bool no_signature; /* an empty one */
	bool by_key; /* names the signer by its key's hash in place of its name */
	gnutls_x509_crt_t certs[4]; /* sent along; NULL at the end */
	int error; /* in place of all this: a status that is none of success */
	const char *type; /* the DER of another type of answer than the basic one; NULL: basic */
};

/* The answer, gnutls_malloc'ed; or data NULL when it is too large or cannot be signed. */
gnutls_datum_t ocsp_make(const struct ocsp_make *spec);

#endif
