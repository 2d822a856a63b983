/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PAIR_H
#define TLSKIT_TESTS_PAIR_H

#include "lib/tls/session.h"

/* A client's and a server's session over a socket pair, moved by hand. */
struct pair {
	struct buf_pool *pool;
	struct sock sock[2]; /* 0: client, 1: server */
	struct session *s[2];
	struct session_peer peer;
	struct err err[2];
	int done[2]; /* 1, or SOCK_FAILED */
};

/* Options that both sides start from. */
struct tls_options pair_options(enum tls_role role);

void pair_open(struct pair *p, struct tls_config *client, struct tls_config *server);
/* The same over two connected sockets of the test's choice, non-blocking. */
void pair_open_over(struct pair *p, struct tls_config *client, struct tls_config *server, const int fd[2]);

void pair_close(struct pair *p);

/* Until both are done or nothing moves any more. True when both are. */
bool pair_shake(struct pair *p);

/* Flags both sockets as the loop would. */
void pair_poll(struct pair *p);

/* Sends n bytes of a pattern from one side in pieces of `piece`, and takes them
 * on the other in steps of `step`; checks each byte. */
void pair_carry(struct pair *p, int from, size_t n, size_t piece, size_t step);

/* Puts n bytes of the pattern into records and flushes what goes. */
void pair_send(struct pair *p, int from, size_t n, size_t offset);

#endif
