/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SIGNER_H
#define TLSKIT_TLS_SIGNER_H

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

/* A server's private key. A full handshake costs little besides its signature, and
 * OpenSSL's libcrypto makes those of RSA and of ECDSA on P-256 twice as fast as GnuTLS
 * does. So where libcrypto is at hand it signs, after one signature by each of them was
 * timed; GnuTLS has the key too, for all else. Keys in tokens are no concern of this. */

/* A key for gnutls_certificate_set_key, which owns it from there; or NULL: `key` itself
 * is as fast. The key is copied. */
gnutls_privkey_t signer_new(gnutls_x509_privkey_t key);

#endif
