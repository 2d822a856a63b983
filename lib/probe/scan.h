/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_SCAN_H
#define TLSKIT_PROBE_SCAN_H

#include "lib/probe/line.h"
#include "lib/report/scan.h"

/* Which versions, suites, groups and signatures a server takes, found by a handshake
 * each: every one is offered by itself; then the server's order is found by offering all
 * that it takes and striking off what it picks. */

struct scan_goal { /* borrowed */
	struct line_options line;
	/* For a handshake with the way to it; 0: none. Once one has succeeded, others get less:
	 * ten times as long as it, and a second. */
	uint64_t timeout_ms;
	unsigned jobs; /* connections at a time; ≥ 1 */
	const char *servername; /* SNI; NULL: the target's name */
	const char *cert, *key; /* of the client; NULL: none */
};

/* Runs a loop of its own until it is over. SIGINT and SIGTERM end it early; what was found
 * by then is kept. NULL with e: no memory, or ERR_CONFIG. */
struct scan *scan_run(const struct scan_goal *g, const char *text, const struct addr *target, struct err *e);

#endif
