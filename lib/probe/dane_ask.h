/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_DANE_ASK_H
#define TLSKIT_PROBE_DANE_ASK_H

#include "lib/net/loop.h"
#include "lib/tls/tlsa.h"

/* tlsa_lookup on a thread of its own. */

struct dane_ask;

/* answer is borrowed for the call, and what it holds may be moved out of it: copy
 * answer->list and leave an empty one there. NULL: e says why. The ask is freed after
 * the callback, which runs on the loop's thread and never from inside dane_ask_start. */
typedef void dane_ask_fn(void *arg, struct tlsa_answer *answer, const struct err *e);

/* The records of _PORT._tcp.HOST. host: ASCII, no trailing dot; copied. timeout_ms 0:
 * until the resolver gives up. NULL with e: no thread, no memory, or ERR_CONFIG: not
 * built in. */
struct dane_ask *dane_ask_start(struct loop *l, const char *host, unsigned port, uint64_t timeout_ms, dane_ask_fn *fn,
	void *arg, struct err *e);

/* fn will not be called any more. The look-up ends by itself, and the loop may be freed
 * at once. On the loop's thread. NULL is fine; not in the callback. */
void dane_ask_cancel(struct dane_ask *a);

#endif
