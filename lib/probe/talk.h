/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_TALK_H
#define TLSKIT_PROBE_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/net/loop.h"
#include "lib/net/sock.h"
#include "lib/tls/session.h"

/* A person or a script on standard input and output, and a TLS session: what is read
 * goes to the peer, what the peer says is written. Byte for byte, half-close kept:
 * the end of input becomes close_notify and reading goes on; the peer's end closes
 * standard output and, in TLS 1.2 and 1.3 alike, ends the talk, since nobody would read
 * what is still typed. */

struct talk_options {
	bool crlf; /* LF becomes CR LF on the way out, unless CR stands before it */
	bool ignore_eof; /* the end of input tells the peer nothing; its end ends the talk */
};

enum talk_end {
	TALK_ENDED, /* the peer said close_notify; all it sent was written */
	TALK_TRUNCATED, /* it ended without; what came before was written */
	TALK_FAILED, /* e says how: a reset, an alert, standard output cannot be written to */
};

struct talk_result {
	enum talk_end end;
	uint64_t sent_bytes, received_bytes; /* of plaintext */
	struct err e; /* unless TALK_ENDED */
};

/* Runs the loop until the talk is over. in, out: 0 and 1 (tests use others). s is
 * handshaken on sock, whose watch this makes for itself; both stay the caller's, and
 * the socket is not closed. -1 with e: could not begin. */
int talk_run(struct loop *l, struct buf_pool *pool, struct session *s, struct sock *sock, int in, int out,
	const struct talk_options *o, struct talk_result *result, struct err *e);

#endif
