/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_LOG_LINES_H
#define TLSKIT_TESTS_LOG_LINES_H

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/log.h"

/* Catches the log's lines: each write(2) is one datagram. */

#define LINE_MAX_BYTES 4096

static int log_end, read_end;

static inline void start(enum log_format format, enum log_level level)
{
	int pair[2], size = 1 << 20;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	cr_assert_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	log_end = pair[0];
	read_end = pair[1];
	log_setup(format, level, log_end);
}

/* The next line without its newline, which is checked; NULL when there is none. */
static inline const char *line(void)
{
	static char text[2 * LINE_MAX_BYTES];
	ssize_t n = recv(read_end, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0)
		return NULL;
	cr_assert_leq(n, LINE_MAX_BYTES);
	cr_assert_gt(n, 0);
	cr_assert_eq(text[n - 1], '\n');
	cr_assert_null(memchr(text, '\n', (size_t)n - 1), "a newline within a line");
	cr_assert_null(memchr(text, '\0', (size_t)n), "a NUL within a line");
	text[n - 1] = '\0';
	return text;
}

/* A text line without its time, whose form is checked. */
static inline const char *event_line(void)
{
	const char *text = line();

	cr_assert_not_null(text);
	cr_assert_eq(strspn(text, "0123456789-T:.Z"), 24, "%s", text);
	cr_assert_eq(text[23], 'Z');
	cr_assert_eq(text[24], ' ');
	return text + 25;
}

#endif
