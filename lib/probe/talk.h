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
 * what is still typed.
 *
 * A peer that takes no more (it closed, and what we send is answered by a reset) is
 * still read: what it said before it went decides how the talk ends. */

struct talk_options {
	bool crlf; /* LF becomes CR LF on the way out, unless CR stands before it */
	bool ignore_eof; /* the end of input tells the peer nothing; its end ends the talk */
};

enum talk_end {
	TALK_ENDED, /* the peer said close_notify; all it sent was written */
	/* It ended without; what came before was written. ERR_TRUNCATED, or ERR_IO where it
	 * was in the middle of a record, which is not to be forgiven. */
	TALK_TRUNCATED,
	/* e says how: a reset (ERR_IO), an alert (ERR_HANDSHAKE), standard output that cannot
	 * be written to (ERR_RUNTIME), which hides every other end. */
	TALK_FAILED,
};

struct talk_result {
	enum talk_end end;
	/* Of plaintext, CRs that were put in included. Of what was sent the peer may not
	 * have taken all, unless it said so. */
	uint64_t sent_bytes, received_bytes;
	struct err e; /* unless TALK_ENDED */
};

/* Runs the loop until the talk is over (or somebody stops the loop: TALK_FAILED), and
 * returns when all that the peer sent was written, however long the reader takes: by
 * then the loop does not run, so a signal that is taken there would not be seen.
 *
 * in, out: 0 and 1 (tests use others); `out` is /dev/null afterwards, and a thread may
 * still be reading `in`, so nobody else should. s is handshaken on sock, whose watch
 * this makes for itself; both stay the caller's, and the socket is not closed. When the
 * talk ends, close_notify, or an alert after a failure of ours, goes out as far as that
 * is possible without waiting.
 *
 * 0 with *result, or -1 with e: could not begin, or the loop broke. */
int talk_run(struct loop *l, struct session *s, struct sock *sock, int in, int out,
	const struct talk_options *o, struct talk_result *result, struct err *e);

#endif
