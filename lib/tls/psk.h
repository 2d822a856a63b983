/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_PSK_H
#define TLSKIT_TLS_PSK_H

#include <gnutls/gnutls.h>
#include <stddef.h>

#include "lib/base/err.h"

/* A table of external pre-shared keys, read once: one "IDENTITY:HEXKEY" a line,
 * as psktool(1) writes them; blank lines and lines that begin with '#' are
 * passed over. A key has 16 to 64 bytes: an attacker who recorded a handshake
 * can try short ones offline (RFC 9257, 6). */

struct psk_table;

/* path: a file or "-" for stdin. NULL with ERR_CONFIG naming file and line; the
 * message never holds a key. */
struct psk_table *psk_load(const char *path, struct err *e);
void psk_free(struct psk_table *t); /* wipes; NULL is fine */

/* The key of an identity of len bytes (borrowed), or NULL. */
const gnutls_datum_t *psk_find(const struct psk_table *t, const void *identity, size_t len);

/* The first entry of the file; both are borrowed. */
const gnutls_datum_t *psk_first(const struct psk_table *t, const char **identity);

#endif
