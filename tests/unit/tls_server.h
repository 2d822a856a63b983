/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_TLS_SERVER_H
#define TLSKIT_TESTS_TLS_SERVER_H

#include <gnutls/gnutls.h>

#include "tests/unit/peer.h"
#include "tests/unit/pki.h"

/* A TLS server on a thread, with GnuTLS as it is. After the handshake it reads to the
 * end, unless the test says otherwise. */

struct tls_server;
typedef void tls_server_fn(struct tls_server *s, gnutls_session_t gs);

struct tls_server {
	/* how it is; zeros are fine but for the chain */
	const struct pki_node *chain[5]; /* leaf first; NULL at the end */
	const char *priority; /* NULL: NORMAL */
	const char *alpn;
	gnutls_datum_t staple;
	gnutls_certificate_request_t wants; /* a client's certificate */
	bool refuses; /* every one */
	bool tickets; /* to resume with; in TLS 1.2 session tickets too */
	size_t early; /* bytes of early data that it takes */
	bool replayed; /* but takes every early data for a replay */
	bool no_resumption; /* takes no ticket, but hands them out */
	tls_server_fn *then; /* after the handshake, in place of reading to the end */
	void (*before)(struct tls_server *s, int fd); /* in the clear */

	/* what came of it, for after tls_server_end */
	int handshakes; /* that succeeded */
	int code; /* GnuTLS's, of the last one */
	int alert; /* fatal, that the client sent; -1: none */
	unsigned client_certs; /* that the client showed in any of them */
	int resumed;
	char name[256]; /* the SNI of the last one */
	char heard[256]; /* data of all of them, early data apart */
	size_t heard_n;
	char early_heard[256];
	size_t early_n;

	/* its own */
	struct peer peer;
	gnutls_certificate_credentials_t cred;
	gnutls_datum_t ticket_key;
	gnutls_anti_replay_t anti_replay;
};

void tls_server_start(struct tls_server *s);
void tls_server_end(struct tls_server *s);

/* For `then`. */
void tls_server_read(struct tls_server *s, gnutls_session_t gs); /* to the end */
tls_server_fn tls_server_be_silent; /* until the client is gone */

#endif
