/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_SCAN_H
#define TLSKIT_PROBE_SCAN_H

#include "lib/probe/line.h"
#include "lib/report/scan.h"

/* Which versions, suites, groups and signature schemes a server takes, and in which
 * order it likes them: by one handshake each. What is offered is narrowed down: what the
 * server picks is struck off, until it takes nothing more. */

struct scan_goal { /* borrowed */
	struct line_options line;
	uint64_t timeout_ms; /* for all of it; 0: none */
	/* For one handshake with the way to it; 0: none. Once one has succeeded, others get
	 * less: ten times as long as the quickest, and a second. */
	uint64_t handshake_ms;
	unsigned jobs; /* connections at a time; ≥ 1. No more than a dozen are ever of use */
	const char *servername; /* SNI; NULL: the target's name */
	const char *cert, *key; /* of the client; NULL: none */
};

/* Runs a loop of its own until it is over. What is found until the deadline or a signal
 * (SIGINT, SIGTERM) is kept, and says that it is not all. A server that cannot be reached
 * is a fault of the scan (scan_exit_code). NULL with e: no memory, or ERR_CONFIG. text:
 * the target as typed. */
struct scan *scan_run(const struct scan_goal *g, const char *text, const struct addr *target, struct err *e);

#endif
