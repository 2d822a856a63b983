/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PROBING_H
#define TLSKIT_TESTS_PROBING_H

#include "lib/probe/probe.h"
#include "tests/unit/net_util.h"
#include "tests/unit/ocsp_make.h"
#include "tests/unit/pki.h"
#include "tests/unit/tls_server.h"

/* A probe on the test's thread and a server on another one, with a small PKI: a root
 * that the client trusts, and a leaf of it for localhost. All are as zeros make them,
 * where the test says nothing else before probing_run. */

struct probing {
	struct tls_server server;
	struct tls_options tls; /* what the client's configuration is made from; its ca: the root */
	struct probe_goal goal;
	const char *host; /* NULL: localhost */
	bool takes; /* the connection, in the callback */

	struct loop *loop;
	struct buf_pool *pool;
	struct probe *probe;
	int called;
	struct check *check;
	struct probe_conn *conn; /* taken */
	uint64_t took_ms;
};

extern struct probing probing;
extern struct pki probing_dir; /* root.pem, client.pem, client.key */
extern struct pki_node probing_root, probing_leaf, probing_node[4]; /* the last ones are the tests' */

void probing_make(void);
void probing_drop(void);

/* Validity of what is not about time, so that it holds both now and at PKI_NOW. */
#define PROBING_VALID .from_days = -1000, .to_days = 20000
/* A leaf of probing_root for localhost where the spec says nothing else; the server's. */
void probing_use_leaf(struct pki_spec spec);
void probing_use_client_cert(void);
/* An answer of probing_root, about probing_leaf and of an hour ago where it says nothing else;
 * gnutls_malloc'ed. */
gnutls_datum_t probing_ocsp(struct ocsp_make_single single);
void probing_limits(const char *warn, const char *crit); /* "30", "20%"; NULL: none */

/* The server, the configuration, a loop; no probe yet. */
void probing_open(void);
/* Starts the server, then a probe of it; target NULL: the server, by `host`. */
void probing_start(const char *target);
void probing_again(const char *target); /* another probe, where the one before was cancelled */
void probing_wait(void); /* until it ended */
void probing_run(void); /* both */
void probing_end_server(void); /* for what it noted */

/* --- what came of it ------------------------------------------------------------------------- */

void probing_must_end(int code); /* check_exit_code */
/* There is a fault with this code at this stage, whose message has the part. */
void probing_must_say(int code, enum check_stage stage, const char *part);
void probing_must_warn(const char *part);
void probing_must_be_fine(void); /* neither faults nor warnings, and verified */

#endif
