/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"

#define MSG_MAX (sizeof(((struct err *)0)->msg) - 1)

/* What is left of the first half of a message when the second is long. */
#define HEAD_MIN 160

/* A replaced control character shrinks from three bytes to one, so this much
 * text always shows whether it was too long for a message. */
#define TEXT_SIZE (4 * (MSG_MAX + 1))

static const char ellipsis[] = "\xe2\x80\xa6";
#define ELLIPSIS_LEN (sizeof(ellipsis) - 1)

/* Copies text into out[0..max], NUL behind it. Peers and command lines choose
 * parts of it, so line ends become blanks, and what a terminal would act on or
 * is not UTF-8 becomes '?'. Text that is too long ends in an ellipsis. */
static size_t copy_line(char *out, size_t max, const char *text)
{
	size_t left = strlen(text), n = 0, cut = 0;

	while (left > 0) {
		uint32_t cp = 0;
		size_t len = utf8_decode(text, left, &cp);
		bool shown = len > 0 && !utf8_is_control(cp);
		size_t put = shown ? len : 1;

		if (n + put > max) {
			memcpy(out + cut, ellipsis, ELLIPSIS_LEN);
			n = cut + ELLIPSIS_LEN;
			break;
		}
		if (shown)
			memcpy(out + n, text, len);
		else
			out[n] = cp == '\n' || cp == '\r' || cp == '\t' ? ' ' : '?';
		n += put;
		if (n + ELLIPSIS_LEN <= max)
			cut = n;
		if (len == 0)
			len = 1;
		text += len;
		left -= len;
	}
	out[n] = '\0';
	return n;
}

/* Libraries end their texts with a full stop or a newline; a message has none. */
static void trim_end(char *msg)
{
	size_t n = strlen(msg);

	while (n > 0 && msg[n - 1] == ' ')
		n--;
	/* not the dot of "..", of a path or of an ellipsis */
	if (n > 1 && msg[n - 1] == '.' && (isalnum((unsigned char)msg[n - 2]) || msg[n - 2] == ')'))
		n--;
	msg[n] = '\0';
}

/* "head: tail". When both are too long together the head is cut first: the
 * reason stands in the tail. */
static void join(struct err *e, const char *head, const char *tail)
{
	size_t room = MSG_MAX - HEAD_MIN - 2;
	size_t tail_len = strlen(tail);
	size_t n;

	if (tail_len > room)
		tail_len = room;
	n = copy_line(e->msg, MSG_MAX - 2 - tail_len, head);
	memcpy(e->msg + n, ": ", 2);
	n += 2;
	copy_line(e->msg + n, MSG_MAX - n, tail);
	trim_end(e->msg);
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	char text[TEXT_SIZE] = ""; /* arguments may point into e->msg */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->kind = kind;
	copy_line(e->msg, MSG_MAX, text);
	trim_end(e->msg);
	return -1;
}

int err_sys(struct err *e, enum err_kind kind, int eno, const char *fmt, ...)
{
	char text[TEXT_SIZE] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->kind = kind;
	/* glibc and musl give constant text for known numbers and a buffer of
	 * the thread's own for others, so threads may call this at once */
	join(e, text, strerror(eno));
	return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char text[TEXT_SIZE] = "";
	char old[MSG_MAX + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(old, e->msg, sizeof(old));
	join(e, text, old);
	return -1;
}

int err_exit_code(const struct err *e)
{
	switch (e->kind) {
	case ERR_NONE:
		return 0;
	case ERR_CONFIG:
		return 2;
	case ERR_AUTH:
		return 3;
	default:
		return 1;
	}
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "none",
		[ERR_CONFIG] = "config",
		[ERR_RUNTIME] = "runtime",
		[ERR_RESOLVE] = "resolve",
		[ERR_CONNECT] = "connect",
		[ERR_TIMEOUT] = "timeout",
		[ERR_HANDSHAKE] = "handshake",
		[ERR_AUTH] = "auth",
		[ERR_IO] = "io",
		[ERR_TRUNCATED] = "truncated",
	};

	if ((size_t)kind >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[kind];
}
