/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_BATCH_H
#define TLSKIT_PROBE_BATCH_H

#include "lib/probe/probe.h"

/* Many servers, some at a time, on one loop. Memory is that of those at work: a check
 * is handed over as soon as it is there, and the next target is asked for when there
 * is room for it. */

struct batch_target {
	const char *text; /* as typed; borrowed until the next call of next */
	struct addr addr;
};

#define BATCH_LATER 2

struct batch_options {
	const struct probe_goal *goal;
	unsigned jobs; /* at a time; ≥ 1 */
	bool all_addresses; /* each address of a name its own check */
	/* The next target: 1; 0: there is none; BATCH_LATER: it is not known yet, and is asked
	 * for again when input can be read. A target that cannot be parsed is the caller's: it
	 * reports that and gives the next one. */
	int (*next)(void *arg, struct batch_target *out);
	int input; /* a descriptor; for BATCH_LATER alone */
	/* A check is there; it is the callee's. In the order in which they end. */
	void (*done)(void *arg, struct check *c);
	void *arg;
};

/* Runs until all are done. 0, or -1 with e: no loop, no memory. SIGINT and SIGTERM end
 * those at work as if their deadline had passed, and no new one begins; *interrupted. */
int batch_run(const struct batch_options *o, bool *interrupted, struct err *e);

#endif
