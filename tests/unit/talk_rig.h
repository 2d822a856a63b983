/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_TALK_RIG_H
#define TLSKIT_TESTS_TALK_RIG_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/probe/talk.h"
#include "tests/unit/pair.h"

/* A talk (lib/probe/talk.h) on the test's thread, and around it a thread each for the
 * server, for who types and for who reads what comes. What these see is noted here and
 * judged by the test when all is over. */

struct rig {
	/* the way; all zeros is fine */
	bool unix_socket; /* in place of TCP */
	int version; /* 12, 13; 0: 13 */
	enum tls_dataplane plane;
	const char *client_ca;
	struct talk_options options;
	/* who types: `typed`, or `typed_pattern` bytes of the pattern */
	const char *typed;
	size_t typed_n, typed_pattern;
	bool stays; /* and does not end his input before the talk is over */
	int in_fd; /* in place of the pipe; 0: none */
	/* who reads */
	unsigned pause_us; /* before each read */
	bool goes; /* closes at once */
	int out_fd; /* in place of the pipe; 0: none */
	/* the server; on its thread */
	void (*serve)(struct rig *r);

	/* what came of it */
	struct talk_result result;
	char *read; /* what was written to standard output */
	atomic_size_t read_n;
	char *heard; /* what the server was sent */
	size_t heard_n;
	long heard_end; /* 1: not yet, 0: close_notify, SOCK_FAILED with heard_err */
	struct err heard_err;
	bool late; /* the server waited for something for seconds */

	/* its own */
	struct pair pair; /* 1: the server's */
	struct tls_config *config[2];
	struct buf_pool *pool; /* the server's, once it has its thread */
	struct loop *loop;
	int in[2], out[2];
	atomic_bool over;
};

#define RIG_MOST (6 * 1000 * 1000) /* bytes that are kept, each way */
#define RIG_MUCH (5 * 1000 * 1000) /* far more than the buffers on the way hold */

/* Each kind of session that has its own way with records. */
extern const struct rig rig_ways[];
extern const size_t rig_ways_n;
#define RIG_EACH_WAY(r) for (size_t way_ = 0; way_ < rig_ways_n && ((r) = rig_ways[way_], true); way_++)

void rig_type(struct rig *r, const char *text);

unsigned char rig_pattern(size_t i);

/* The connection; then the handshake, where it is not the test's; then the talk. The
 * client's handshake must succeed. */
void rig_open(struct rig *r);
void rig_shake(struct rig *r);
void rig_talk(struct rig *r);
void rig_close(struct rig *r);

/* The four of them, until the test has looked at what came. */
void rig_run(struct rig *r);

/* For serve. Those that wait give up after five seconds (`late`). */
void rig_say(struct rig *r, const void *data, size_t n);
void rig_say_pattern(struct rig *r, size_t n);
void rig_hear(struct rig *r, size_t n, unsigned pause_us); /* until heard_n is n, or the end */
void rig_hear_end(struct rig *r);
void rig_end(struct rig *r); /* close_notify */
void rig_await_read(struct rig *r, size_t n); /* until that much has come out */

/* How it ended, and a part of the message; NULL: there is none. */
void rig_must_end(const struct rig *r, enum talk_end end, const char *why);

/* What came is exactly that. */
void rig_must_read(const struct rig *r, const void *data, size_t n);
void rig_must_hear(const struct rig *r, const void *data, size_t n);
void rig_must_match(const char *got, size_t n, size_t expected); /* the pattern */

#endif
