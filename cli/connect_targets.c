/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The lines of --targets. Who writes them may take time, during which checks go on, so
 * they are read as they come. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect.h"
#include "lib/probe/batch.h"

#define PIECE 65536 /* bytes that are read at a time */
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* what some editors begin a file with */

int connect_targets_open(struct connect_targets *t, const char *path, struct err *e)
{
	*t = (struct connect_targets){ .path = path, .fd = -1 };
	if (!path)
		return 0;
	t->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	return t->fd >= 0 ? 0 : err_set(e, ERR_CONFIG, "--targets %s: %s", path, strerror(errno));
}

void connect_targets_close(struct connect_targets *t)
{
	if (t->fd > STDERR_FILENO)
		close(t->fd);
	free(t->bytes);
	*t = (struct connect_targets){ .fd = -1 };
}

/* --- lines ---------------------------------------------------------------------------- */

/* Room for a piece and a NUL behind what there is. -1: no memory. */
static int make_room(struct connect_targets *t)
{
	char *more;

	if (t->at) /* NULL has nothing to move */
		memmove(t->bytes, t->bytes + t->at, t->n - t->at);
	t->n -= t->at;
	t->at = 0;
	if (t->size - t->n > PIECE)
		return 0;
	more = realloc(t->bytes, 2 * t->size + 2 * PIECE);
	if (!more)
		return -1;
	t->bytes = more;
	t->size = 2 * t->size + 2 * PIECE;
	return 0;
}

/* 1: something was read, or the end is there; BATCH_LATER; -1 with errno. */
static int fill(struct connect_targets *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	ssize_t n;

	if (make_room(t) < 0)
		return -1;
	if (poll(&p, 1, 0) == 0)
		return BATCH_LATER;
	n = read(t->fd, t->bytes + t->n, PIECE);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? BATCH_LATER : -1;
	t->ended = n == 0;
	t->n += (size_t)n;
	return 1;
}

/* A NUL would end the text, and another target be checked than the one that stands there:
 * this is none. */
static void spoil_nuls(char *line, size_t n)
{
	for (char *p = line; (p = memchr(p, '\0', n - (size_t)(p - line))) != NULL;)
		*p = '\x01';
}

/* The next line as a string, without its end; NULL: it is not there yet. */
static char *take_line(struct connect_targets *t)
{
	char *line = t->bytes + t->at, *end = t->n > t->at ? memchr(line, '\n', t->n - t->at) : NULL;
	size_t n = end ? (size_t)(end - line) : t->n - t->at;

	if (!end && (!t->ended || n == 0))
		return NULL;
	spoil_nuls(line, n);
	line[n] = '\0';
	t->at += n + (end != NULL);
	if (!t->begun && strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		line += strlen(BYTE_ORDER_MARK);
	t->begun = true;
	return line;
}

/* --- targets ---------------------------------------------------------------------------- */

/* The line without comment and blanks around it; NULL: nothing is left. */
static char *trim(char *line)
{
	char *end;

	line += strspn(line, " \t");
	if (*line == '#')
		return NULL;
	for (char *p = line; *p; p++) {
		if (*p != '#' || !strchr(" \t", p[-1]))
			continue;
		*p = '\0';
		break;
	}
	end = line + strlen(line);
	while (end > line && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return *line ? line : NULL;
}

int connect_targets_next(struct connect_targets *t, const char **text, struct err *e)
{
	while (t->fd >= 0) {
		char *line = take_line(t);
		int r;

		if (line) {
			*text = trim(line);
			if (*text)
				return 1;
			continue;
		}
		if (t->ended)
			return 0;
		r = fill(t);
		if (r == BATCH_LATER)
			return r;
		if (r < 0) {
			t->ended = true;
			t->n = t->at = 0;
			return err_set(e, ERR_CONFIG, "--targets %s: %s", t->path, strerror(errno));
		}
	}
	return 0;
}
