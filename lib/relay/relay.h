/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_RELAY_H
#define TLSKIT_RELAY_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/net/kpipe.h"
#include "lib/net/loop.h"
#include "lib/relay/target.h"
#include "lib/tls/session.h"

/* A connection that came in (the front) joined to one that is made to a target
 * (the back), from the accept to the last byte. */

enum relay_balance { RELAY_FIRST, RELAY_ROUNDROBIN };

/* What all relays of a tunnel share; immutable but for the atomics, and
 * outlives them. */
struct relay_setup {
	struct tls_config *front_tls; /* NULL: plain */
	struct tls_config *back_tls;
	struct target *targets;
	unsigned n_targets; /* 1 to 64 */
	enum relay_balance balance;
	atomic_uint turn; /* RELAY_ROUNDROBIN */
	uint64_t handshake_timeout_ms, connect_timeout_ms, idle_timeout_ms; /* 0: none */
	bool allow_truncation;
	bool kernel; /* records may be the kernel's */
};

/* How a relay went, when it is over. Borrowed for the call. */
struct relay_report {
	const char *peer, *target; /* target: NULL when none was reached */
	uint64_t to_target_bytes, to_peer_bytes;
	uint64_t duration_ns;
	const struct session_info *info; /* of the front's TLS, else the back's; NULL: no handshake was finished */
	const char *stage; /* NULL: all went well; else handshake, connect, target-handshake, flow, drain */
	const struct err *why; /* kind ERR_NONE when all went well; msg tells how it ended in any case */
};

/* One thread's relays. Embedded in the worker; its own thread alone uses it. */
struct relay;
struct relay_group {
	struct loop *loop;
	struct buf_pool *pool;
	struct kpipe_pool *kpipes; /* NULL: no records are the kernel's */
	struct relay_setup *setup;
	int stdio_fd; /* the near end of stdio for a target "-", else -1 */
	void (*on_end)(struct relay_group *g, const struct relay_report *report);
	/* Where a relay goes whose peer is authenticated: another thread's group, or
	 * g. NULL: g. */
	struct relay_group *(*place)(struct relay_group *g);
	/* Where one goes whose handshake signs next. NULL: it stays. */
	struct relay_group *(*sign)(struct relay_group *g);
	bool aborted; /* relay_abort_all was called: what arrives later ends at once */
	uint64_t suspicious_ns; /* until then who wants to resume is taken for one who cannot */
	struct relay *first; /* the relays' own */
	struct relay *unsure; /* to be looked at again (relay_look.c) */
	struct loop_timer *look;
};

/* Starts one on a connection that was accepted; owns fd from here, also on
 * failure. Every start ends in one call of on_end, which may come at once. peer: the
 * name for logs. */
void relay_start(struct relay_group *g, int fd, const char *peer);

/* Before its loop is freed, when all have ended. */
void relay_group_free(struct relay_group *g);

/* Ends all of them now, stage "drain": for a drain that ran out. Both sides
 * learn that it was no clean end. */
void relay_abort_all(struct relay_group *g);

#endif
