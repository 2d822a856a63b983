/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_SOCK_H
#define TLSKIT_NET_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A connected, non-blocking stream socket with what the edge-triggered loop
 * told about it. readable and writable are set by the watch's callback and
 * cleared here: then the kernel tells of the next change. While one is not
 * set, calls of its direction return SOCK_BLOCKED without asking the kernel.
 *
 * writable ends with EAGAIN and with a short write. readable ends with EAGAIN
 * alone. A short read proves nothing: a FIN, an RST or urgent data that was
 * queued behind the bytes before the loop told of them brings no further edge
 * (and libevent reports an RST exactly as it reports data). So pass on what a
 * short read brought before reading again: the read that finds nothing costs
 * 0.2 µs, and then nobody waits for it.
 *
 * Where much comes in small portions, that is a read in three. With `sparing` a
 * short read does end readable unless a FIN was told, and leaves `unsure`: its
 * owner calls sock_look_again some milliseconds later, lest a reset (or what is
 * behind urgent data) be overlooked. */
struct sock {
	int fd; /* -1: none */
	bool readable;
	bool writable;
	bool eof; /* a read returned 0 */
	bool sparing; /* set by the owner, if loop_tells_end */
	bool ending; /* the loop told of a FIN: set by the watch's callback */
	bool unsure; /* readable was given up on a short read */
	bool last; /* set by the owner: the FIN follows at once, and goes in one segment with what is written */
	int error; /* errno of the last call that failed, 0: none */
};

#define SOCK_BLOCKED (-1) /* nothing to do until the loop calls */
#define SOCK_FAILED  (-2) /* s->error says why */

void sock_init(struct sock *s, int fd); /* readable and writable, to be tried */

/* The number of bytes, 0 at the end of the stream (eof is set, and every later
 * read returns 0), SOCK_BLOCKED or SOCK_FAILED. After a reset the kernel
 * reports the error once and the end of the stream from then on; here it stays
 * a failure. What arrived before a failed write can still be read. total is the
 * sum of the iovec lengths; a read into no room is SOCK_BLOCKED, not an end. */
long sock_readv(struct sock *s, const struct iovec *iov, int n, size_t total);
long sock_read(struct sock *s, void *data, size_t size);

/* Whether there is something to try: then it is readable again. */
bool sock_look_again(struct sock *s);

/* What a read call of another kind returned, in the same terms. */
long sock_read_result(struct sock *s, ssize_t r);

/* The number of bytes taken, SOCK_BLOCKED or SOCK_FAILED. total is the sum of
 * the iovec lengths, for telling a short write. Never raises SIGPIPE. */
long sock_writev(struct sock *s, const struct iovec *iov, int n, size_t total);
long sock_write(struct sock *s, const void *data, size_t size);

/* What a write call of another kind returned, of total bytes. */
long sock_write_result(struct sock *s, ssize_t r, size_t total);

/* FIN; the peer having gone already is no error. */
void sock_shutdown_write(struct sock *s);

/* Closes; reset: RST instead of FIN on TCP (SO_LINGER 0), so that the peer
 * does not take what it has for all there was. Fine on fd -1. */
void sock_close(struct sock *s, bool reset);

/* Makes fd non-blocking and close-on-exec, and on TCP sets TCP_NODELAY and
 * SO_KEEPALIVE; other families are left as they are. */
void sock_tune(int fd);

/* A new stream socket, already tuned. -1 with errno. */
int sock_new(int family);

/* Bytes given to the kernel on a TCP socket that the peer has not acknowledged
 * yet; 0 where that is not known. */
size_t sock_unsent(const struct sock *s);

/* accept(2), non-blocking and close-on-exec. What sock_new set on the listening
 * socket (TCP_NODELAY, SO_KEEPALIVE) is inherited on Linux and set again
 * elsewhere. -1 with errno. */
int sock_accept(int listen_fd, struct sockaddr *sa, socklen_t *len);

#endif
