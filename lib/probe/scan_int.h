/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_SCAN_INT_H
#define TLSKIT_PROBE_SCAN_INT_H

#include "lib/base/buf.h"
#include "lib/probe/scan.h"
#include "lib/tls/offer.h"
#include "lib/tls/session.h"

/* What the files of a scan share: scan.c has its course, scan_try.c makes handshakes,
 * scan_order.c finds out what a server prefers. */

struct scanner {
	const struct scan_goal *goal;
	const struct addr *target;
	struct loop *loop;
	struct buf_pool *pool;
	struct scan *scan;
	uint64_t limit_ms; /* for a handshake */
	double quickest_ms; /* that a good one took; NAN: there was none */
	bool stopped; /* by a signal */
	struct wave *wave; /* at work */
};

/* A handshake that offers some things, and what came of it. */
struct scan_try {
	int version;
	enum offer_kind kind;
	const char *const *names; /* offer_priority's; borrowed */
	size_t n;
	bool exact; /* suites before TLS 1.3: just those, in this order */
	bool first; /* taken only if it picks the first of them: the others help it along */
	/* out */
	enum check_answer taken; /* unknown: no answer */
	const char *pick; /* of `kind`: what the server chose; static; NULL: none */
	char reason[sizeof(((struct err *)0)->msg)]; /* unless taken */
	bool refused; /* by an alert */
	bool reached; /* the way to the server is open */
	enum check_code code; /* unless reached: what stood in the way */
	enum check_stage stage;
};

/* Makes n of them, some at a time, and returns when all are over. What a signal keeps from
 * being tried is unknown. 0, or -1 with e: the loop broke. */
int scan_wave(struct scanner *s, struct scan_try *v, size_t n, struct err *e);

/* Puts those of l that are taken in the server's order, as far as that can be found. */
int scan_order(struct scanner *s, struct scan_list *l, int version, enum offer_kind kind, struct err *e);

#endif
