/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SIGNER_H
#define TLSKIT_TLS_SIGNER_H

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

/* A server's private key. A full handshake costs little besides its signature, and
 * OpenSSL's libcrypto makes those of RSA and of ECDSA on P-256 twice as fast as GnuTLS
 * does. So where libcrypto is at hand it signs, after one signature by each of them was
 * timed; GnuTLS has the key too, for all else. Keys in tokens are no concern of this. */

struct signer;

/* NULL: `key` itself is as fast. The key is copied, and timed here, once. */
struct signer *signer_new(gnutls_x509_privkey_t key);

/* A key for gnutls_certificate_set_key, which owns it from there; as many of them as
 * there are credentials with this certificate. NULL without memory. The signer lives
 * until it and all its keys are freed, of which no two may be at once. */
gnutls_privkey_t signer_key(struct signer *s);

void signer_free(struct signer *s); /* NULL is fine */

#endif
