/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CERT_SET_H
#define TLSKIT_TLS_CERT_SET_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>

/* Adds a chain of n, leaf first, and its key to cred, as gnutls_certificate_set_x509_key
 * does; chain and key stay the caller's. server: it will sign often, so it is signed
 * with by whom that takes the least time (signer.h). 0 or a GnuTLS code. */
int cert_set(gnutls_certificate_credentials_t cred, gnutls_x509_crt_t *crt, unsigned n, gnutls_x509_privkey_t key,
	bool server);

#endif
