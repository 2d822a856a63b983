/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_TARGET_H
#define TLSKIT_RELAY_TARGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/addr.h"
#include "lib/tls/session.h"

/* Where connections lead. Shared by all threads; immutable but for the atomic
 * and the tickets, which have their own lock. */
struct target {
	struct addr addr;
	char name[ADDR_TEXT_SIZE]; /* for logs */
	struct session_peer peer; /* TLS: what to send and verify; borrows from addr and the configuration */
	atomic_ullong down_until_ns; /* it failed: others go first until then */
};

/* tls: the configuration for it, which must outlive the target; NULL: plain.
 * ERR_CONFIG when the certificate's name is to be verified and there is none to
 * verify. t must not move afterwards. */
int target_init(struct target *t, const struct addr *a, const struct tls_config *tls, struct err *e);
void target_free(struct target *t);

/* The next of n (at most 64), from `start` on around, that is not in `tried`
 * (bit k: target k); those that failed lately come last. start when all were
 * tried. */
unsigned target_choose(struct target *targets, unsigned n, unsigned start, uint64_t tried, uint64_t now_ns);

/* It failed now, or it works. */
void target_mark_down(struct target *t, uint64_t now_ns);
void target_mark_up(struct target *t);

#endif
