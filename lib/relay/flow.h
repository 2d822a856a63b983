/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_FLOW_H
#define TLSKIT_RELAY_FLOW_H

#include "lib/relay/pipe.h"

/* Two ends joined in both directions, and the rules of how that ends:
 *
 * - Each direction ends by itself: FIN and close_notify are carried over, and
 *   the other direction goes on.
 * - A side that fails while it is read (reset, truncation, bad record) ends
 *   both, after all that it said before was passed on.
 * - A side that takes no more is still read: what it said before it went is
 *   passed on first.
 * - A TLS side that ends without close_notify was truncated, unless that is
 *   allowed. The one thing that is forgiven is a peer that had its answer and our
 *   close_notify and said nothing since: many clients leave so. The target is
 *   still told that it was no clean end. */
struct flow {
	struct pipe up, down; /* front to back, back to front */
	bool allow_truncation;
	bool strict; /* nothing is forgiven: the target cannot be told (stdio) */
	uint64_t up_at_done; /* bytes that had gone up when down was done */
};

enum flow_status {
	FLOW_WAIT, /* for the loop */
	FLOW_MORE, /* its share of this turn is used up: call again soon */
	FLOW_ENDED, /* both directions, cleanly */
	FLOW_LEFT, /* both, but the peer left without close_notify after ours */
	FLOW_FAILED, /* why says how */
};

void flow_init(struct flow *f, struct end *front, struct end *back, bool allow_truncation, bool strict);

/* Lets bytes pass through the kernel's pipes where they can; flow_release before the
 * pool or an end goes. Twice is fine. */
void flow_lend(struct flow *f, struct kpipe_pool *kpipes);
void flow_release(struct flow *f);

/* Moves what can be moved now. why: set by the first failure and kept over
 * calls (it begins with kind ERR_NONE); it names the side. After anything but
 * WAIT and MORE it must not be called again. */
enum flow_status flow_run(struct flow *f, struct err *why);

#endif
