/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_KEYLOG_H
#define TLSKIT_TLS_KEYLOG_H

#include <gnutls/gnutls.h>

#include "lib/base/err.h"

/* The NSS key log (RFC 9850): secrets of sessions, for who debugs them. */

/* Opens path, mode 0600, for appending; NULL: $SSLKEYLOGFILE. *fd is -1 when there
 * is neither. 0 or -1 (ERR_CONFIG). */
int keylog_open(const char *path, int *fd, struct err *e);

/* For gnutls_session_set_keylog_function. That a line could not be written is logged, once a
 * configuration. */
int keylog_write(gnutls_session_t gs, const char *label, const gnutls_datum_t *secret);

#endif
