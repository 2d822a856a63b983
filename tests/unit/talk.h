/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_TALK_H
#define TLSKIT_TESTS_TALK_H

#include "lib/net/parley.h"

/* Runs a conversation against what the other side says. */

struct talk {
	enum parley_status status;
	struct err e;
	size_t used; /* of all that was said */
	size_t sent_n;
	char sent[1 << 17]; /* a NUL behind it */
};

/* Feeds says[0..n) in pieces, the first of `first` bytes, the others of `rest`, until
 * the conversation ends, and frees it. With `end` the other side then hangs up. */
void talk_through(struct talk *t, struct parley *p, const void *says, size_t n, size_t first, size_t rest, bool end);

#endif
