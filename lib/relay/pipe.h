/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_PIPE_H
#define TLSKIT_RELAY_PIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/kpipe.h"
#include "lib/relay/end.h"

/* One direction of a relay: from one end to the other.
 *
 * Bytes are held by the TLS end alone: plaintext is read into the place where
 * it is sealed, and written from the place where it was opened. While the sink
 * takes nothing more, nothing is read from the source. Where the kernel seals and
 * opens, bytes are held by a pipe of the kernel's (splice.h). */
struct pipe {
	struct end *from, *to; /* of one with TLS only the session is used, but for splice.c */
	uint64_t bytes; /* of plaintext that `to` has taken */
	bool ended; /* `from` will say no more (FIN or close_notify) */
	bool done; /* and `to` was told so, after all there was */
	bool last; /* the other direction is done: with this one the connections are closed */
	bool broken; /* `to` takes no more: what `from` still says is lost */
	/* for splice.c */
	struct kpipe_pool *kpipes; /* the worker's; NULL: every byte comes here */
	struct kpipe *lent; /* bytes on their way in the kernel */
	bool asks; /* what comes next is pipe.c's */
};

enum pipe_status {
	PIPE_WAIT, /* for the loop */
	PIPE_MORE, /* its share of this turn is used up: call again soon */
	PIPE_DONE,
	PIPE_FROM_FAILED, /* e says how; all that came before it was passed on */
	PIPE_TO_FAILED, /* e says how */
};

/* Gives back what it has on loan, at the end. Twice is fine. */
void pipe_release(struct pipe *p);

/* Moves what can be moved now. After PIPE_DONE or PIPE_TO_FAILED it must not be
 * called again; after PIPE_FROM_FAILED only with `ended` set, which takes the
 * failure for an end. */
enum pipe_status pipe_run(struct pipe *p, struct err *e);

#endif
