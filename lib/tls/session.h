/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SESSION_H
#define TLSKIT_TLS_SESSION_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/net/sock.h"
#include "lib/tls/cert.h"
#include "lib/tls/config.h"
#include "lib/tls/tickets.h"

/* One TLS connection over a non-blocking socket.
 *
 * Bytes are moved without copies between the session's own buffers and the
 * other side of a relay:
 *
 *   receiving: session_fill reads and opens records, session_peek shows the
 *   plaintext, session_consume takes it;
 *   sending: session_reserve shows where plaintext may be put, session_commit
 *   makes records of it, session_flush sends them.
 *
 * All buffers are borrowed from the pool and given back as soon as they are
 * empty. Nothing blocks: SOCK_BLOCKED means "again when the loop has called".
 * How records are opened and sealed is the plane's business (plane.h). */

struct session;

#define SESSION_JUDGE_LATER (-1)
typedef int session_judge_fn(void *arg, struct session *s, struct err *e);

/* Who is on the other side of a client's session; borrowed for its life. */
struct session_peer {
	const char *sni; /* NULL: none is sent */
	const char *name; /* DNS name or IP literal to verify; NULL: none */
	struct tickets *tickets; /* NULL: no resumption */
	/* NULL: the configuration says who is let pass. Else this does, once the server's
	 * certificates are here and before it is shown ours: 0, or the alert that refuses
	 * it (RFC 8446, 6.2), and e says why; or SESSION_JUDGE_LATER: the handshake waits, and
	 * asks again when it is called again. It is not asked when a session is resumed or a
	 * pre-shared key vouches for the server. */
	session_judge_fn *judge;
	void *arg;
	/* Data to go along with the first flight (RFC 8446, 2.3), where a ticket allows so
	 * much; it may be delivered more than once. Sent again by nobody. */
	const void *early;
	size_t early_size;
	/* For a scan before TLS 1.3: the ClientHello offers just these suites, in this order;
	 * they must be among those that the configuration has. It fails once the server's first
	 * flight is here, and could never be finished. */
	const uint16_t *suites;
	size_t n_suites; /* 0: those of the configuration */
};

/* The socket and pool are borrowed; a reference to the configuration is taken.
 * peer is NULL for servers. */
struct session *session_new(struct tls_config *c, struct sock *sock, struct buf_pool *pool,
	const struct session_peer *peer, struct err *e);
/* From here on another thread's pool; what is borrowed goes along. Called on the
 * thread that it leaves. */
void session_move(struct session *s, struct buf_pool *pool);

void session_free(struct session *s); /* wipes; NULL is fine; does not close the socket */

/* Bytes of the peer that were read from the socket before the session was there: they
 * come first. Before the handshake; at most once. 0, or -1 without memory. */
int session_feed(struct session *s, const void *data, size_t n);

/* 0 when the handshake is done and the peer is authenticated, SOCK_BLOCKED, or
 * SOCK_FAILED: then e is set, and the alert waits to be flushed. */
int session_handshake(struct session *s, struct err *e);

/* Has a server's handshake stop at the ClientHello, with SESSION_SIGNS, as a signature
 * comes next: the next call goes on, and may be made on another thread (session_move).
 * believe: not where the client wants to resume. One with a ticket that is of no use is
 * then signed for without a stop, and session_resumes_not from the answer on. */
void session_stop_to_sign(struct session *s, bool believe);
#define SESSION_SIGNS 1
bool session_resumes_not(const struct session *s);

/* Whether a client's handshake tried to resume: one that failed so may be worth
 * another try without. */
bool session_offered_ticket(const struct session *s);

/* Plaintext bytes that wait now (> 0), 0 after close_notify, SOCK_BLOCKED, or
 * SOCK_FAILED with e (ERR_TRUNCATED for an end without close_notify, ERR_IO
 * for a reset). What was opened before the failure is shown first. */
long session_fill(struct session *s, struct err *e);

/* Up to max runs of waiting plaintext; returns their number, *total their sum. */
int session_peek(const struct session *s, struct iovec *iov, int max, size_t *total);
void session_consume(struct session *s, size_t n);

/* Where plaintext may be put: up to max areas. Returns their number and
 * *total, or 0 when earlier records must be flushed first, or -1 without
 * memory. */
int session_reserve(struct session *s, struct iovec *iov, int max, size_t *total);

/* n bytes were put there (0: nothing after all). full: whether it was all the
 * room there was, which makes the next room larger. 0 or SOCK_FAILED with e. */
int session_commit(struct session *s, size_t n, bool full, struct err *e);

/* 0 when nothing is left to send, SOCK_BLOCKED, SOCK_FAILED with e. */
int session_flush(struct session *s, struct err *e);

/* Takes a share of what still comes and throws it away, after a failure: bytes, 0 at
 * the end, SOCK_*. */
long session_discard(struct session *s);

/* Whether the kernel opens (seals) the records now and the session itself holds
 * nothing of them: then the socket gives (takes) plaintext, and bytes may pass by
 * the session. A socket that gives none has a record of another kind or an end,
 * which is session_fill's. An errno of such a read is told to session_kernel_failed,
 * for session_fill to judge. After each piece that was sent so comes
 * session_kernel_sent: 0, or SOCK_FAILED with e. */
bool session_kernel_opens(const struct session *s);
bool session_kernel_seals(const struct session *s);
void session_kernel_failed(struct session *s, int error);
int session_kernel_sent(struct session *s, struct err *e);

/* Who has sealed and opened the records so far: "gnutls", "direct", or "ktls" when
 * both directions have come to the kernel. */
const char *session_plane(const struct session *s);

/* Bytes of records that wait to be flushed. */
size_t session_unsent(const struct session *s);

/* Queues close_notify: no more is sent after it. Reading goes on. */
int session_close_notify(struct session *s, struct err *e);

/* Queues a fatal alert, once and unless the session failed by itself:
 * internal_error, the TLS form of a reset that loses nothing sent before. */
void session_abort(struct session *s);

/* Changes our sending key (RFC 8446, 4.6.3); ask: the peer's too. Queued like
 * data. 0 or a GnuTLS code. For tests, like the next one, which has a session
 * believe that its key has sealed all that it may. */
int session_key_update(struct session *s, bool ask);
void session_wear_out(struct session *s);

/* What a session holds now; false for an idle one. For tests. */
bool session_holds_memory(const struct session *s);

/* Names are static strings (GnuTLS's), NULL when unknown. */
struct session_info {
	const char *version; /* "TLS1.3" */
	const char *ciphersuite; /* IANA name */
	uint16_t suite; /* its number, of a client's; 0: unknown */
	const char *group;
	const char *signature; /* the server's, NULL when resumed */
	const char *plane;
	bool resumed, by_psk; /* by_psk: an external pre-shared key, not a ticket */
	bool client_certificate_requested;
	char alpn[64]; /* "" for none */
};
void session_info(const struct session *s, struct session_info *out);
/* As much as is agreed on so far: in a judge, or in a handshake that failed behind it. */
void session_agreed(const struct session *s, struct session_info *out);

/* What happened so far, in a handshake that failed too. */
struct session_story {
	bool hello_retry; /* the server asked for another key share (RFC 8446, 4.1.4) */
	unsigned tickets; /* that came and were of use */
	int64_t ticket_lifetime_s; /* the longest one's; -1: unknown */
	bool early_sent, early_accepted;
	bool certificate_requested, certificate_sent; /* ours */
	int alert; /* the fatal one that came or went; -1: none */
	bool alert_received;
	char alert_name[40]; /* "handshake_failure"; "": none */
	/* To a client: a ServerHello came, and was fine (session_agreed has its suite); so did
	 * all of the server's first flight, up to ServerHelloDone or, in TLS 1.3, Finished. */
	bool server_hello, server_flight;
	unsigned dh_bits; /* of the server's prime, where it is no group that has a name; else 0 */
};
void session_story(const struct session *s, struct session_story *out);

/* The peer's certificates as it sent them, DER, its own first; NULL: none came (or the
 * session is resumed). Borrowed. */
const gnutls_datum_t *session_chain(const struct session *s, size_t *n);

/* The OCSP answer that came with its ith certificate. 0, or -1: none. Borrowed. */
int session_staple(const struct session *s, unsigned i, gnutls_datum_t *out);

/* The peer's certificate for reports: subject, issuer, pin and dates. 0, or -1
 * when it showed none. */
struct session_certificate {
	char subject[256], issuer[256];
	uint8_t pin[CERT_PIN_SIZE];
	int64_t not_before, not_after; /* epoch seconds */
};
int session_certificate(const struct session *s, struct session_certificate *out);

#endif
