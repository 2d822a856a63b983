/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"

/* PIPE_BUF on Linux: a write of this much to a pipe is whole or nothing. */
#define LINE_SIZE 4096

/* Kept free for the end of a line: `","cut":true}` and its newline. */
#define LINE_ROOM (LINE_SIZE - 16)

/* Written once, before any thread starts. */
static enum log_format log_format = LOG_TEXT;
static enum log_level log_level = LOG_INFO;
static int log_fd = 2;

static const char *const level_names[] = { "error", "warn", "info", "debug" };

struct line {
	size_t n;
	bool full; /* something did not fit; nothing is added from then on */
	bool cut; /* the reader is told that something is missing */
	char b[LINE_SIZE];
};

void log_setup(enum log_format format, enum log_level level, int fd)
{
	log_format = format;
	log_level = level;
	log_fd = fd;
}

bool log_is_json(void)
{
	return log_format == LOG_JSON;
}

bool log_on(enum log_level level)
{
	return level <= log_level;
}

/* --- building a line ------------------------------------------------------- */

/* All of it or nothing. */
static void put(struct line *l, const char *s, size_t n)
{
	if (l->full || l->n + n > LINE_ROOM) { /* put_end may be past it */
		l->full = true;
		return;
	}
	memcpy(l->b + l->n, s, n);
	l->n += n;
}

static void put_text(struct line *l, const char *s)
{
	put(l, s, strlen(s));
}

/* Into the room that is kept free. */
static void put_end(struct line *l, const char *s)
{
	size_t n = strlen(s);

	memcpy(l->b + l->n, s, n);
	l->n += n;
}

__attribute__((format(printf, 2, 3))) static void put_fmt(struct line *l, const char *fmt, ...)
{
	char text[64]; /* numbers only */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_text(l, text);
}

/* How a value is written. */
enum style {
	PLAIN,  /* a message that stands alone: quotes and backslashes are text */
	QUOTED, /* text between quotes */
	JSON,
};

static void put_char(struct line *l, uint32_t cp, const char *s, size_t len, enum style style)
{
	switch (cp) {
	case '\n':
		put_text(l, "\\n");
		return;
	case '\r':
		put_text(l, "\\r");
		return;
	case '\t':
		put_text(l, "\\t");
		return;
	case '"':
	case '\\':
		if (style == PLAIN)
			break;
		put_fmt(l, "\\%c", (char)cp);
		return;
	default:
		break;
	}
	if (!utf8_is_control(cp))
		put(l, s, len);
	else if (cp < 0x80 && style != JSON)
		put_fmt(l, "\\x%02" PRIx32, cp);
	else
		put_fmt(l, "\\u%04" PRIx32, cp);
}

static void put_escaped(struct line *l, const char *s, enum style style)
{
	size_t left = strlen(s);

	while (left > 0 && !l->full) {
		uint32_t cp = 0;
		size_t len = utf8_decode(s, left, &cp);

		if (len > 0) {
			put_char(l, cp, s, len, style);
		} else {
			len = 1;
			if (style == JSON)
				put_text(l, "\xef\xbf\xbd"); /* U+FFFD */
			else
				put_fmt(l, "\\x%02x", (unsigned)(unsigned char)*s);
		}
		s += len;
		left -= len;
	}
}

/* Whether a value can be told from what stands around it without quotes. */
static bool is_bare(const char *s)
{
	size_t left = strlen(s);

	if (left == 0)
		return false;
	while (left > 0) {
		uint32_t cp;
		size_t len = utf8_decode(s, left, &cp);

		if (len == 0 || utf8_is_control(cp) || cp == ' ' || cp == '"' || cp == '=' || cp == '\\')
			return false;
		s += len;
		left -= len;
	}
	return true;
}

/* --- fields ---------------------------------------------------------------- */

static void put_string(struct line *l, const char *s)
{
	if (log_format == LOG_JSON && s == NULL) {
		put_text(l, "null");
	} else if (log_format == LOG_TEXT && is_bare(s)) {
		put_text(l, s);
	} else {
		put_text(l, "\"");
		put_escaped(l, s, log_format == LOG_JSON ? JSON : QUOTED);
		put_text(l, "\"");
	}
}

/* Nanoseconds as milliseconds with 3 decimals. */
static void put_ms(struct line *l, uint64_t ns)
{
	uint64_t us = ns / 1000 + (ns % 1000 >= 500);

	put_fmt(l, "%" PRIu64 ".%03" PRIu64, us / 1000, us % 1000);
}

static void put_value(struct line *l, const struct log_field *f)
{
	switch (f->type) {
	case LOG_END:
		break;
	case LOG_STR:
		put_string(l, f->s);
		break;
	case LOG_UINT:
		put_fmt(l, "%" PRIu64, f->u);
		break;
	case LOG_BOOL:
		if (log_format == LOG_JSON)
			put_text(l, f->u ? "true" : "false");
		else
			put_text(l, f->u ? "yes" : "no");
		break;
	case LOG_MS:
		put_ms(l, f->u);
		break;
	}
}

/* A field that does not fit is left out whole: half of a name or of a number
 * would read as another one. */
static void put_field(struct line *l, const struct log_field *f)
{
	size_t mark = l->n;

	if (log_format == LOG_TEXT && f->type == LOG_STR && f->s == NULL)
		return;
	put_text(l, log_format == LOG_JSON ? ",\"" : " ");
	put_escaped(l, f->key, log_format == LOG_JSON ? JSON : QUOTED);
	put_text(l, log_format == LOG_JSON ? "\":" : "=");
	put_value(l, f);
	if (l->full) {
		l->n = mark;
		l->full = false;
		l->cut = true;
	}
}

/* --- lines ----------------------------------------------------------------- */

static void put_head(struct line *l, enum log_level level, const char *event)
{
	int64_t now = clock_real_ms();
	char time[CLOCK_RFC3339_SIZE];

	clock_rfc3339(now, time);
	if (log_format == LOG_TEXT) {
		put_fmt(l, "%s %-5s ", time, level_names[level]);
		put_escaped(l, event, QUOTED);
	} else {
		put_fmt(l, "{\"schema\":\"tlskit/log/1\",\"time\":\"%s\"", time);
		put_fmt(l, ",\"time_epoch_ms\":%" PRId64 ",\"level\":\"%s\"", now, level_names[level]);
		put_text(l, ",\"event\":\"");
		put_escaped(l, event, JSON);
		put_end(l, "\"");
	}
	if (l->full) {
		l->full = false;
		l->cut = true;
	}
}

/* One write a line, so that lines of several threads never mix. The rest of a
 * short write follows at once. Where stderr is full and does not wait, or is
 * gone, the line is lost: a log must not stop the traffic. */
static void line_write(const struct line *l)
{
	size_t done = 0;
	int eno = errno;

	while (done < l->n) {
		ssize_t n = write(log_fd, l->b + done, l->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	errno = eno;
}

void log_event(enum log_level level, const char *event, const struct log_field *fields)
{
	struct line l;

	if (!log_on(level))
		return;
	l.n = 0;
	l.full = l.cut = false;
	put_head(&l, level, event);
	for (; fields != NULL && fields->type != LOG_END; fields++)
		put_field(&l, fields);
	if (l.cut)
		put_end(&l, log_format == LOG_JSON ? ",\"cut\":true" : " cut=yes");
	put_end(&l, log_format == LOG_JSON ? "}\n" : "\n");
	line_write(&l);
}

/* A message is all there is, so as much of it as fits is kept. */
static void write_message(enum log_level level, const char *text)
{
	struct line l;

	l.n = 0;
	l.full = l.cut = false;
	if (log_format == LOG_TEXT) {
		put_text(&l, "tlskit: ");
		put_escaped(&l, text, PLAIN);
		put_end(&l, l.full ? "\xe2\x80\xa6\n" : "\n");
	} else {
		put_head(&l, level, "message");
		put_text(&l, ",\"message\":\"");
		put_escaped(&l, text, JSON);
		put_end(&l, l.full ? "\",\"cut\":true}\n" : "\"}\n");
	}
	line_write(&l);
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char text[LINE_SIZE + 1] = ""; /* longer than a line can be */
	int eno = errno;
	va_list ap;
	size_t n;

	if (!log_on(level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	write_message(level, text);
	errno = eno;
}
