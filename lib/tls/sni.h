/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SNI_H
#define TLSKIT_TLS_SNI_H

#include <gnutls/gnutls.h>

#include "lib/base/err.h"
#include "lib/tls/cert_pair.h"

/* A server with several certificates shows one that has the name asked for. GnuTLS alone
 * compares names to the letter, and where the name's certificate does not suit the first
 * suite in common (TLS 1.2) it takes another name's: so for each name there are credentials
 * with its certificates and no others, and the choice among these, RSA or ECDSA, is
 * GnuTLS's. Where nothing has the name, or none is asked for, the first certificate is
 * shown, or one that shares a name with it. */

struct sni;
struct session;

/* all: credentials with the n pairs in order and nothing besides, which must outlive the
 * result and have the rest that a session needs. *out is NULL where they suffice by
 * themselves. 0, or -1 with ERR_CONFIG (a token) or ERR_RUNTIME. */
int sni_new(struct sni **out, gnutls_certificate_credentials_t all, const struct cert_pair *pairs, unsigned n,
	struct err *e);
void sni_free(struct sni *sni); /* NULL is fine */

/* The credentials for n bytes of a name that a client sent. Borrowed. */
gnutls_certificate_credentials_t sni_find(const struct sni *sni, const char *asked, size_t n);

/* Has a server's session choose by the name; before its handshake. */
void sni_watch(struct session *s);

/* Behind a ClientHello that GnuTLS has chosen for: all that follows is the business of the
 * configuration's own credentials again, as client CAs and their lists are in these. 0 or a
 * GnuTLS code. */
int sni_chosen(struct session *s);

#endif
