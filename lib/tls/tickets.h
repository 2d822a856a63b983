/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_TICKETS_H
#define TLSKIT_TLS_TICKETS_H

#include <gnutls/gnutls.h>
#include <stddef.h>

/* A client's sessions to resume, for one target and one configuration. Shared
 * by threads. Each ticket is used once (RFC 8446, C.4). */

struct tickets;

struct tickets *tickets_new(size_t max); /* NULL without memory */
void tickets_free(struct tickets *t); /* wipes; NULL is fine */

/* Takes the datum over (gnutls_malloc'ed). The oldest makes room. */
void tickets_put(struct tickets *t, gnutls_datum_t *data);

/* The youngest; the caller wipes and frees it. 0, or -1 when there is none. */
int tickets_take(struct tickets *t, gnutls_datum_t *data);

/* Forgets all of them: the server did not get on with one. */
void tickets_clear(struct tickets *t);

#endif
