/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/sock.h"
#include "lib/net/stdio.h"

#define CHUNK (64 * 1024)

/* Shared by the reader, the writer and the caller; the last one frees it. The
 * reader may outlive the caller, being in read(2). */
struct stdio {
	atomic_int holders;
	int far; /* our end of the pair, blocking */
	int in, out;
	struct stdio_options options;
	bool after_cr; /* of `in`, the reader's: the last byte was CR */
	pthread_t writer;
	atomic_bool abandoned; /* stdio_open failed: leave `out` as it is */
	atomic_int error; /* errno of the write that failed, 0: none */
	atomic_int read_error; /* and of the read */
	char to_pair[CHUNK];
	char from_pair[CHUNK];
};

static void release(struct stdio *s)
{
	if (atomic_fetch_sub(&s->holders, 1) != 1)
		return;
	close(s->far);
	free(s);
}

/* A descriptor that somebody else made non-blocking (they are shared with other
 * processes) is waited for. */
static void wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	poll(&p, 1, -1);
}

static ssize_t read_some(int fd, void *data, size_t size)
{
	for (;;) {
		ssize_t n = read(fd, data, size);

		if (n >= 0)
			return n;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			wait_for(fd, POLLIN);
		else if (errno != EINTR)
			return -1;
	}
}

/* 0 or -1. */
static int write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n >= 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			wait_for(fd, POLLOUT);
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

/* Puts a CR before each LF that lacks it. `to` may lie n bytes or more before
 * `from` in the same memory: what is written there stays behind what is read. */
static size_t add_cr(char *to, const char *from, size_t n, bool *after_cr)
{
	size_t i, done = 0;

	for (i = 0; i < n; i++) {
		char c = from[i];

		if (c == '\n' && !*after_cr)
			to[done++] = '\r';
		to[done++] = c;
		*after_cr = c == '\r';
	}
	return done;
}

/* As read, of what the pair gets. */
static ssize_t read_lines(struct stdio *s)
{
	const size_t half = sizeof(s->to_pair) / 2;
	ssize_t n;

	if (!s->options.crlf)
		return read_some(s->in, s->to_pair, sizeof(s->to_pair));
	n = read_some(s->in, s->to_pair + half, half);
	return n > 0 ? (ssize_t)add_cr(s->to_pair, s->to_pair + half, (size_t)n, &s->after_cr) : n;
}

/* The threads block every signal, so SIGPIPE is EPIPE in them. */
static void *read_in(void *arg)
{
	struct stdio *s = arg;
	ssize_t n;

	do {
		n = read_lines(s);
	} while (n > 0 && write_all(s->far, s->to_pair, (size_t)n) == 0);
	if (n < 0 && errno != EBADF) /* a closed one has nothing to say */
		atomic_store(&s->read_error, errno);
	if (!s->options.ignore_eof)
		shutdown(s->far, SHUT_WR);
	release(s);
	return NULL;
}

/* Closes it for who reads there, and keeps the number from being used again. */
static void close_out(int out)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, out);
	close(null);
}

static void *write_out(void *arg)
{
	struct stdio *s = arg;
	ssize_t n;

	/* ECONNRESET: the near end was closed before it had read all. */
	while ((n = read_some(s->far, s->from_pair, sizeof(s->from_pair))) > 0) {
		if (write_all(s->out, s->from_pair, (size_t)n) != 0) {
			atomic_store(&s->error, errno);
			break;
		}
	}
	/* After a failure the near end's writes fail too, and its reads end: who
	 * asked is gone, so what he may still say is of no use. */
	shutdown(s->far, atomic_load(&s->error) ? SHUT_RDWR : SHUT_RD);
	if (!atomic_load(&s->abandoned))
		close_out(s->out);
	release(s);
	return NULL;
}

/* Starts both threads. 0 or an errno; then neither runs. */
static int start(struct stdio *s)
{
	pthread_t reader;
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->writer, NULL, write_out, s);
	if (r == 0) {
		r = pthread_create(&reader, NULL, read_in, s);
		if (r == 0) {
			pthread_detach(reader);
		} else {
			atomic_store(&s->abandoned, true);
			shutdown(s->far, SHUT_RDWR);
			pthread_join(s->writer, NULL);
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

struct stdio *stdio_open(int in, int out, const struct stdio_options *o, int *fd, struct err *e)
{
	struct stdio *s = calloc(1, sizeof(*s));
	int pair[2], r;

	if (s == NULL) {
		err_sys(e, ERR_RUNTIME, ENOMEM, "cannot use stdin and stdout");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
		err_sys(e, ERR_RUNTIME, errno, "cannot use stdin and stdout");
		free(s);
		return NULL;
	}
	sock_tune(pair[0]);
	fcntl(pair[1], F_SETFD, FD_CLOEXEC);
	s->far = pair[1];
	s->in = in;
	s->out = out;
	if (o != NULL)
		s->options = *o;
	atomic_init(&s->holders, 3);
	r = start(s);
	if (r != 0) {
		err_sys(e, ERR_RUNTIME, r, "cannot use stdin and stdout");
		close(pair[0]);
		close(pair[1]);
		free(s);
		return NULL;
	}
	*fd = pair[0];
	return s;
}

bool stdio_failed(const struct stdio *s)
{
	return atomic_load(&s->error) != 0 || atomic_load(&s->read_error) != 0;
}

int stdio_finish(struct stdio *s, struct err *e)
{
	int eno, read_eno;

	pthread_join(s->writer, NULL);
	eno = atomic_load(&s->error);
	read_eno = atomic_load(&s->read_error);
	release(s);
	if (eno != 0)
		return err_sys(e, ERR_IO, eno, "cannot write to standard output");
	return read_eno ? err_sys(e, ERR_IO, read_eno, "cannot read from standard input") : 0;
}
