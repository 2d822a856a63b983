/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_STDIO_H
#define TLSKIT_NET_STDIO_H

#include <stdbool.h>

#include "lib/base/err.h"

/* stdin and stdout as one stream socket.
 *
 * Two threads copy between the descriptors and a socket pair. So files (which
 * epoll refuses), terminals and pipes all work, and O_NONBLOCK is never set on
 * a descriptor that other processes share. End of stdin becomes FIN on the
 * pair; FIN towards stdout closes stdout (its number then is /dev/null). When
 * stdout cannot be written to, writes to the pair fail too. */

struct stdio;

struct stdio_options {
	bool crlf; /* of what is read, LF becomes CR LF unless CR stands before it; all else stays */
	bool ignore_eof; /* the end of stdin does not become FIN: the near end hears nothing of it */
};

/* in and out: usually 0 and 1; from here on they are the threads', and `in`
 * stays open. o: NULL for none. *fd is the near end, non-blocking, owned by the
 * caller. NULL with e on failure. */
struct stdio *stdio_open(int in, int out, const struct stdio_options *o, int *fd, struct err *e);

/* Whether `out` could not be written to, or `in` not be read. True before the near end
 * finds out, to whom the same looks like the end of stdin. */
bool stdio_failed(const struct stdio *s);

/* After the caller closed its end: waits until all is written to `out`.
 * 0, or -1 (ERR_IO) when writing or reading failed. Does not wait for `in`, whose thread
 * may stay in read(2) until the process ends. */
int stdio_finish(struct stdio *s, struct err *e);

#endif
