/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_RELAY_RELAY_INT_H
#define TLSKIT_RELAY_RELAY_INT_H

/* What the files of a relay share: relay.c (its flow and its end), relay_front.c
 * (who came in), relay_back.c (the targets) and relay_look.c. Nobody else includes this. */

#include "lib/net/dial.h"
#include "lib/relay/flow.h"
#include "lib/relay/relay.h"

enum relay_state {
	FRONT_HANDSHAKE,
	DIALING,
	BACK_HANDSHAKE,
	FLOW,
	CLOSING, /* it is over, and the sides are being told */
};

struct relay {
	struct relay_group *group;
	struct relay *next, **prev;
	struct relay *look_next, **look_prev; /* NULL: not in the list */
	enum relay_state state;
	struct end front, back;
	struct flow flow;
	struct loop_timer *timer; /* of the state; NULL: none was needed yet */
	struct loop_task again; /* a share of a turn was used up */
	struct loop_task hop; /* on the way to another group */
	struct dial *dial;
	struct target *target; /* the one in use or tried */
	uint64_t tried; /* bit n: target n was tried */
	bool retried; /* a target did not get on with a ticket and has its second chance */
	uint64_t started_ns, active_ns; /* active: bytes moved last */
	uint64_t seen_bytes;
	const char *stage; /* where it failed; NULL: it went well */
	struct err *why; /* NULL: nothing to say yet (relay_why) */
	uint64_t closing_ns; /* progress was seen last */
	size_t unsent;
	char peer[];
};

/* Puts it into a group's list, and takes it out. */
void relay_link(struct relay *r, struct relay_group *g);
void relay_unlink(struct relay *r);

/* Reports and frees: the one way out. */
void relay_drop(struct relay *r);

/* Where the reason of its end is told. Made when there is one to tell, since most
 * of the time there is none. */
struct err *relay_why(struct relay *r);

/* Ends a relay whose sides have not both ended by themselves. relay_why says how;
 * stage: where it failed, NULL: nowhere. */
void relay_end(struct relay *r, const char *stage);

/* Ends it at once, for a drain that ran out. */
void relay_abort(struct relay *r);

/* The timer of the state; 0: none. -1: no memory. */
int relay_arm(struct relay *r, uint64_t ms);

/* The next turn of a flow that used up its share. */
void relay_run_again(void *arg);

/* Goes on in whatever state it is in: a descriptor is ready. */
void relay_on_ready(struct relay *r);

void relay_front_handshake(struct relay *r);
void relay_dial(struct relay *r); /* the next target */
void relay_target_failed(struct relay *r, const char *stage); /* relay_why says how: on to the next one, or the end */
void relay_back_handshake(struct relay *r);
void relay_start_flow(struct relay *r);

/* A flow spares the reads that find nothing (struct sock), and makes up for it here:
 * later goes behind each step, stop where it is no flow any more. */
void relay_look_start(struct relay *r);
void relay_look_later(struct relay *r);
void relay_look_stop(struct relay *r);

#endif
