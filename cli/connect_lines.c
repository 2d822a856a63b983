/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Lines of a file, a pipe or a terminal, as they come: a loop must not wait for them. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect.h"
#include "lib/probe/batch.h"

#define ROOM 4096 /* for each reading */

int connect_lines_open(struct connect_lines *l, const char *path)
{
	*l = (struct connect_lines){ .fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC) };
	return l->fd < 0 ? -1 : 0;
}

/* The line at the front, with its end cut off; NULL: it is not whole. */
static char *take(struct connect_lines *l)
{
	char *line, *end;

	if (!l->buf)
		return NULL;
	line = l->buf + l->at;
	end = memchr(l->buf + l->scanned, '\n', l->n - l->scanned);
	l->scanned = l->n;
	if (!end && (!l->ended || l->at == l->n))
		return NULL;
	if (!end)
		end = l->buf + l->n; /* the last one may have no end; there is room for it */
	*end = '\0';
	l->at = (size_t)(end - l->buf) + (end < l->buf + l->n);
	l->scanned = l->at;
	return line;
}

/* 0, or an errno. */
static int read_more(struct connect_lines *l)
{
	char *more;
	ssize_t n;

	if (l->at) /* what was taken is done with */
		memmove(l->buf, l->buf + l->at, l->n - l->at);
	l->n -= l->at;
	l->scanned -= l->at;
	l->at = 0;
	if (l->size < l->n + ROOM + 1) {
		more = realloc(l->buf, 2 * l->n + ROOM + 1);
		if (!more)
			return ENOMEM;
		l->buf = more;
		l->size = 2 * l->n + ROOM + 1;
	}
	do {
		n = read(l->fd, l->buf + l->n, ROOM);
	} while (n < 0 && errno == EINTR);
	if (n < 0) /* somebody else may have made it non-blocking */
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
	l->ended = n == 0;
	l->n += (size_t)n;
	return 0;
}

int connect_lines_next(struct connect_lines *l, char **line)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	while (!(*line = take(l))) {
		if (l->ended)
			return 0;
		if (poll(&p, 1, 0) == 0)
			return BATCH_LATER;
		l->error = read_more(l);
		l->ended |= l->error != 0;
	}
	return 1;
}

void connect_lines_close(struct connect_lines *l)
{
	if (l->fd > STDIN_FILENO)
		close(l->fd);
	free(l->buf);
	*l = (struct connect_lines){ .fd = -1 };
}
