/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_WIRE_H
#define TLSKIT_TESTS_WIRE_H

#include "lib/tls/session.h"

/* A client's and a server's session with the test in between: it hands on what
 * each side sends, in pieces of its own choice. */
struct wire {
	struct buf_pool *pool;
	struct sock sock[2]; /* 0: client, 1: server */
	int near[2]; /* the test's ends: what side i sends arrives at near[i] */
	struct session *s[2];
	struct session_peer peer;
	struct tls_config *config[2];
	uint64_t sent[2], got[2]; /* by side i */
	unsigned char keep[2][65536]; /* taken from near[i], not yet handed on */
	size_t kept[2];
	struct err err;
	/* what side i sent, as soon as it is taken; NULL: nobody listens */
	void (*tap)(void *arg, int side, const unsigned char *bytes, size_t n);
	void *tap_arg;
	void (*before)(struct wire *w); /* the handshake; may be NULL */
};

/* Both sides after the handshake, with data planes and suite of the test's
 * choice. tap, tap_arg and before are kept, the rest starts anew. */
void wire_open(struct wire *w, enum tls_dataplane client, enum tls_dataplane server, const char *suite);
void wire_close(struct wire *w);

/* Moves up to max bytes that came from one side to the other one. */
size_t wire_move(struct wire *w, int from, size_t max);

void wire_ready(struct wire *w); /* both sockets may be tried */
void wire_flush(struct wire *w, int side);

/* Sends n bytes of the side's pattern as one commit, when there is room now. */
void wire_say(struct wire *w, int side, size_t n);

/* Takes up to max bytes on a side and compares them: their number, 0 at the end,
 * SOCK_BLOCKED, or SOCK_FAILED with w->err. */
long wire_take(struct wire *w, int side, size_t max);

/* The same, where neither end nor failure may come: their number. */
size_t wire_hear(struct wire *w, int side, size_t max);

/* Until all that was said has arrived. */
void wire_settle(struct wire *w, size_t step);

unsigned char wire_pattern(int side, uint64_t i);

#endif
