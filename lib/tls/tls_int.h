/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_INT_H
#define TLSKIT_TLS_INT_H

/* What the files of lib/tls share; nobody else includes this. */

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/buf.h"
#include "lib/net/sock.h"
#include "lib/tls/config.h"
#include "lib/tls/psk.h"
#include "lib/tls/session.h"
#include "lib/tls/verify.h"

struct tls_config {
	atomic_uint refs;
	enum tls_role role;
	enum config_trust trust; /* client */
	gnutls_certificate_credentials_t cert;
	struct sni *sni; /* server: who chooses among its certificates; NULL: GnuTLS */
	gnutls_psk_server_credentials_t psk_server;
	gnutls_psk_client_credentials_t psk_client;
	gnutls_anon_client_credentials_t anon_client;
	gnutls_priority_t priority;
	struct psk_table *psk;
	unsigned init_flags; /* for gnutls_init */
	unsigned tickets;
	gnutls_datum_t ticket_key;
	uint8_t (*pins)[CERT_PIN_SIZE];
	size_t n_pins;
	bool has_crl, has_cert, has_token;
	int64_t crl_until; /* epoch seconds; -1: unknown */
	struct verify_rule *rules; /* --allow */
	size_t n_rules;
	bool client_certs; /* server: a certificate is required */
	bool client_chain; /* server: it must chain to --client-ca */
	gnutls_datum_t *alpn;
	size_t n_alpn;
	enum tls_dataplane dataplane;
	struct names_list suites; /* owned copies; empty: any */
	char *servername, *verify_name;
	bool has_ephemeral;
	uint8_t ephemeral_pin[CERT_PIN_SIZE];
	int keylog_fd;
	atomic_bool keylog_lost; /* and it was said */
};

struct direct; /* plane_direct.c */

struct session {
	gnutls_session_t gs;
	struct tls_config *config; /* a reference */
	const struct session_peer *peer;
	const struct plane *plane;
	struct sock *sock;
	struct buf_pool *pool;
	struct buf in; /* ciphertext read ahead */
	struct buf out; /* ciphertext to be sent */
	struct buf stage; /* plaintext on its way into records */
	size_t in_size, out_size; /* of the next borrow: small flows get small buffers */
	gnutls_packet_t *held; /* GnuTLS's plane: opened records, [first, held_n); NULL: there was none yet */
	unsigned held_first, held_n;
	size_t held_offset; /* bytes of the first that are taken already */
	size_t held_bytes;
	struct direct *direct; /* NULL: not on the direct plane */
	const uint8_t *hand; /* direct: what GnuTLS may read now */
	size_t hand_size;
	struct buf *capture; /* where GnuTLS's output goes in place of `out` */
	int fault; /* GnuTLS code that ended receiving, told after what came before it */
	struct err *why; /* what verify found, NULL: nothing */
	gnutls_alert_description_t refused_with; /* the alert for it */
	bool verified; /* the certificate callback said yes */
	bool judging; /* it did not say anything yet: the judge wants time */
	size_t peer_limit; /* record_size_limit of the peer, type byte included; 0: none */
	bool stop_to_sign, believe, wants_to_resume; /* server: session_stop_to_sign; what its client wants */
	bool offered_ticket; /* client: a session was offered for resumption */
	bool early_sent; /* client: with early data */
	bool narrowed; /* client: the hello was */
	uint16_t suite; /* client: of the last ServerHello */
	bool server_hello, server_flight; /* client: came, and were fine */
	unsigned prime_bits; /* client: of the server's prime, before GnuTLS has judged it; 0: none came */
	bool refused_by_alert; /* the peer's fatal alert ended it */
	int alert_sent; /* ours that did, 0: none */
	unsigned hellos; /* ClientHellos that went: a second one answers a HelloRetryRequest */
	bool certificate_out; /* our Certificate message went, be it an empty one */
	unsigned tickets_seen;
	int64_t ticket_lifetime_s; /* -1: none came */
	bool handshaken, tickets_sent, eof, failed, closed;
	unsigned char first_bytes[8], n_first; /* to tell what speaks there when it is not TLS */
	bool renegotiation; /* the peer wanted one */
	/* of the record that GnuTLS reads now: its header so far, and the rest of its body */
	unsigned char header[5], header_have;
	size_t record_left;
};

/* Of a ServerKeyExchange: ServerDHParams begin with the prime (RFC 5246, 7.4.3). GnuTLS tells
 * of none that it refuses. */
void session_note_prime(struct session *s, const gnutls_datum_t *msg);

/* What ended a handshake, for a person: fills e. */
void session_explain(const struct session *s, int code, struct err *e);

/* The tickets of a server, once, before its first data; a GnuTLS code. */
int session_send_tickets(struct session *s);

/* Fills `in` from the socket, with max bytes at most. Bytes read, 0 at the end, SOCK_*. */
long session_read_ahead(struct session *s, size_t max);

/* A client's: for the next connection to the same server. */
void session_keep_ticket(struct session *s);

/* Sends `out`, as session_flush does. */
int session_flush_out(struct session *s, struct err *e);

#endif
