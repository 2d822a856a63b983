/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CRL_H
#define TLSKIT_TLS_CRL_H

#include <gnutls/gnutls.h>
#include <stdint.h>

/* Certificate revocation lists (RFC 5280, 5), as a file of the user's holds them. They
 * are believed as they are: whoever can write the file can say what he likes. */

/* The first of their nextUpdates, epoch seconds: from then on the file may lack what was
 * revoked since. -1: none of them says, or it cannot be read. data: PEM or DER. */
int64_t crl_until(const gnutls_datum_t *data);

#endif
