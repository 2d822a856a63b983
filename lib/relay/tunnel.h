/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_TUNNEL_H
#define TLSKIT_RELAY_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/addr.h"
#include "lib/net/listen.h"
#include "lib/relay/relay.h"
#include "lib/tls/config.h"

/* A tunnel: what listens, where it leads, and the workers between. */

#define TUNNEL_TARGETS_MAX 64

struct tunnel_options {
	const struct addr *listen; /* ADDR_STDIO: one connection, then the end */
	const struct addr *targets; /* at most TUNNEL_TARGETS_MAX; ADDR_STDIO only alone: one connection is taken */
	unsigned n_targets;
	struct tls_config *front_tls, *back_tls; /* NULL: plain; a reference is taken */
	enum relay_balance balance;
	uint64_t handshake_timeout_ms, connect_timeout_ms, idle_timeout_ms; /* 0: none */
	uint64_t drain_ms;
	bool allow_truncation;
	unsigned threads; /* at least 1 */
	uint64_t max_conns; /* 0: what the descriptor limit allows */
	/* Told of each connection that ended, in place of the log; from any of the
	 * tunnel's threads. NULL: the log. */
	void (*on_close)(void *arg, const struct relay_report *r);
	void *on_close_arg;
	bool signals; /* SIGTERM and SIGINT drain, a second one ends at once; tells the service manager */
};

struct tunnel;

/* Binds and listens; connections wait in the backlog until tunnel_run. */
struct tunnel *tunnel_open(const struct tunnel_options *o, struct err *e);
void tunnel_free(struct tunnel *t); /* NULL is fine */

/* The sockets that listen; n is 0 for stdio. Borrowed. */
const struct listener *tunnel_listener(const struct tunnel *t);

enum tunnel_end {
	TUNNEL_ENDED, /* asked to stop and drained; or the one connection ended well */
	TUNNEL_DRAIN_OUT, /* connections were cut off */
	TUNNEL_FAILED, /* e says why; also the one connection's failure */
};

/* Runs on the calling thread and threads-1 others until the end. Once. */
enum tunnel_end tunnel_run(struct tunnel *t, struct err *e);

/* As SIGTERM does; from any thread. */
void tunnel_stop(struct tunnel *t);

#endif
