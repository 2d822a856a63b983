/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CERT_SET_H
#define TLSKIT_TLS_CERT_SET_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stddef.h>

struct signer;

/* Adds a chain of n, leaf first, and its key to cred, as gnutls_certificate_set_x509_key
 * does; all of them stay the caller's. signer: who signs (signer.h); NULL: key itself.
 * 0 or a GnuTLS code. */
int cert_set(gnutls_certificate_credentials_t cred, gnutls_x509_crt_t *crt, unsigned n, gnutls_x509_privkey_t key,
	struct signer *signer);

/* Calls back with each DNS name that a server is chosen by (RFC 6066, 3): those of the
 * subject's alternative names, or else its common name. Bytes as they stand there, which
 * may be any but NUL; what is longer than a name can be is left out. */
typedef void cert_set_name_fn(void *arg, const char *name, size_t n);
void cert_set_names(gnutls_x509_crt_t crt, cert_set_name_fn *fn, void *arg);

#endif
