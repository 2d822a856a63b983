/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_PROBE_H
#define TLSKIT_PROBE_PROBE_H

#include "lib/base/buf.h"
#include "lib/net/loop.h"
#include "lib/probe/line.h"
#include "lib/report/check.h"
#include "lib/tls/config.h"
#include "lib/tls/session.h"
#include "lib/tls/tlsa.h"

/* Looks at one server: reaches it, shakes hands, judges what it showed, and finds out
 * the rest (late refusals, tickets, resumption, what its OCSP responder and the DNS
 * say). What comes of it is a struct check, whatever happens. */

/* A limit for how long a certificate must still be valid. */
struct probe_limit {
	double value; /* NAN: none */
	bool percent; /* of the whole lifetime; else days */
};

struct probe_names { /* any of them will do; borrowed */
	const char *const *v;
	size_t n;
};

/* What to do, the same for many servers. Borrowed for the probe's life. */
struct probe_goal {
	struct tls_config *tls;
	struct line_options line; /* at: of the probe */
	uint64_t timeout_ms; /* for all of it; 0: none */
	bool no_verify; /* --insecure-no-verify: faults of its identity are warnings */
	bool keep; /* no check: the connection is to be used. So the handshake ends at the first
		    * fault of identity, and nobody waits for what comes after it */
	struct probe_limit warn, crit;
	struct probe_names expect_alpn, expect_group, expect_suite, expect_issuer;
	bool must_staple; /* even where the certificate does not say so */
	bool ocsp; /* ask the responder */
	uint64_t ocsp_timeout_ms;
	const struct tlsa_list *tlsa; /* --tlsa; NULL: none given */
	bool dane; /* look the records up */
	bool resume; /* a second connection, which must resume the first one's session */
	const void *early; /* early data for the second one; NULL: none */
	size_t early_size;
};

/* A connection on which the handshake is over. The session borrows the socket, the peer
 * and the buffer pool. */
struct probe_conn {
	struct sock sock;
	struct session *session;
	struct session_peer peer;
};
void probe_conn_free(struct probe_conn *c); /* closes; NULL is fine */

struct probe;

/* The check is the callee's. The probe is freed after the callback; never called from
 * inside probe_start. */
typedef void probe_fn(void *arg, struct probe *p, struct check *c);

/* text: the target as typed. target is copied. at: the one address to connect to, or
 * NULL. NULL with e: no memory, or ERR_CONFIG. */
struct probe *probe_start(struct loop *l, struct buf_pool *pool, const struct probe_goal *g, const char *text,
	const struct addr *target, const struct sockaddr *at, socklen_t at_len, probe_fn *fn, void *arg, struct err *e);

/* In the callback, of a goal with `keep`: the last connection, which is the callee's
 * then. NULL: there is none, since something failed. */
struct probe_conn *probe_take(struct probe *p);

/* Ends it as when its deadline had passed (fn is called, from the loop): on a signal. */
void probe_hurry(struct probe *p);
void probe_cancel(struct probe *p); /* fn is not called; NULL is fine; not in the callback */

/* Whether a server that was asked for that alert says that it does not accept the
 * client's certificate, or wants one (RFC 8446, 6.2). */
bool probe_is_refusal(const struct session_story *s);

#endif
