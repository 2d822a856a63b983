/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_RESPONDER_H
#define TLSKIT_TESTS_RESPONDER_H

#include <pthread.h>
#include <stddef.h>

/* A server on a thread and a free port of 127.0.0.1 that takes one connection and an
 * HTTP request, and answers well or badly. */

struct responder;
typedef void responder_fn(struct responder *s, int fd); /* what it does with a connection */

struct responder {
	unsigned port;
	char request[4096]; /* as it came, with a NUL behind it; for after responder_end, as are these: */
	size_t request_n, sent;
	char says[8192];
	size_t n; /* bytes in says */
	int fd;
	pthread_t thread;
	responder_fn *serve;
};

/* says: what it says, copied. */
void responder_start(struct responder *s, responder_fn *how, const void *says, size_t n);

/* Waits for the thread, which ends when its peer is gone. */
void responder_end(struct responder *s);

responder_fn responder_speak; /* and keeps the connection */
responder_fn responder_speak_and_close, responder_speak_and_reset, responder_speak_in_bytes;
responder_fn responder_speak_unasked; /* hears nothing, so that its close is a reset */
responder_fn responder_drip; /* speaks, and then an 'x' every 2 ms without an end */
responder_fn responder_flood; /* speaks, and then RESPONDER_FLOOD zeros */
responder_fn responder_be_silent;

#define RESPONDER_FLOOD (10 * 1024 * 1024)

#endif
