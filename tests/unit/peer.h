/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PEER_H
#define TLSKIT_TESTS_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A server on a thread: one connection after the other, each as the test says. Its
 * reads give up after five seconds. What it notes is for after peer_end. */

struct peer;
typedef void peer_fn(struct peer *p, int fd); /* what it does with a connection, which is closed then */

struct peer {
	peer_fn *serve;
	void *arg;
	unsigned port; /* of 127.0.0.1; 0: a unix socket */
	int accepted;
	bool late; /* it waited for something for seconds */
	/* its own */
	int fd;
	pthread_t thread;
};

void peer_start(struct peer *p, peer_fn *serve, void *arg); /* on a free port */
void peer_start_unix(struct peer *p, const char *path, peer_fn *serve, void *arg);

/* When its last peer is gone; NULL is fine, twice too. */
void peer_end(struct peer *p);

/* "localhost:PORT" in one of a few static buffers. */
const char *peer_target(const struct peer *p, const char *host);

/* A port where nobody listens. */
unsigned peer_nobody(void);

/* --- what it does ------------------------------------------------------------------------ */

void peer_wait_for_end(int fd); /* whatever comes */

peer_fn peer_be_silent, peer_close;
peer_fn peer_reset; /* when something came */

/* arg is a script: each line is waited for and then answered; at its end it waits for
 * that of the peer. */
struct peer_line {
	const char *hears; /* NULL with says NULL: the end; "": nothing */
	size_t hears_n;
	const char *says;
	size_t says_n;
};
peer_fn peer_talk;

#define PEER_LINE(hears, says) { (hears), sizeof(hears) - 1, (says), sizeof(says) - 1 }

#endif
