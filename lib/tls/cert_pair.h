/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CERT_PAIR_H
#define TLSKIT_TLS_CERT_PAIR_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>

#include "lib/base/err.h"

/* A certificate chain and its key, read once, to be put into credentials as often as
 * there are some that have it. */

struct signer;

struct cert_pair {
	const char *cert, *key_name; /* as the options have them; borrowed. No key_name: it stands in cert's file */
	gnutls_x509_crt_t *crt; /* leaf first */
	unsigned n;
	gnutls_x509_privkey_t key; /* NULL: a token has it, which is asked at each cert_pair_put */
	struct signer *signer; /* NULL: key signs itself */
};

/* cert is a PEM or DER file (put in order when it is not) or a pkcs11: URL; key likewise,
 * or NULL. server: it will sign often (signer.h). Errors are ERR_CONFIG and name option
 * and file; p is empty then. */
int cert_pair_load(struct cert_pair *p, const char *cert, const char *key, bool server, struct err *e);
void cert_pair_free(struct cert_pair *p); /* zeros are fine */

/* Whether the key stays in a token. */
bool cert_pair_in_token(const struct cert_pair *p);

/* Adds it to cred. That key and certificate belong together is seen here first. */
int cert_pair_put(const struct cert_pair *p, gnutls_certificate_credentials_t cred, struct err *e);

#endif
