/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_LOG_H
#define TLSKIT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* The log on stderr: one write(2) a line, from any thread.
 *
 * A line is an event with fields. As text it reads
 *   2026-11-30T12:00:00.123Z info  close peer=127.0.0.1:4711 to_target_bytes=12 reason="end of data"
 * and as JSON
 *   {"schema":"tlskit/log/1","time":"…","time_epoch_ms":…,"level":"info","event":"close","peer":"…",…}
 * Peers choose some of the bytes that end up here: control characters, quotes
 * and marks that turn the direction of text are escaped in both forms, and what
 * is not UTF-8 becomes \xNN (text) or U+FFFD (JSON). Text values with blanks,
 * quotes, '=' or escapes stand in quotes. A line longer than 4 KiB loses the
 * fields that do not fit, whole ones, and says so: cut=yes, "cut":true. */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Before any thread starts. fd is borrowed (2 for stderr). */
void log_setup(enum log_format format, enum log_level level, int fd);
bool log_on(enum log_level level);
bool log_is_json(void);

enum log_type {
	LOG_END, /* ends a list of fields */
	LOG_STR, /* .s; NULL is null in JSON and left out in text */
	LOG_UINT, /* .u */
	LOG_BOOL, /* .u is 0 or 1: yes/no in text, true/false in JSON */
	LOG_MS, /* .u nanoseconds, printed as milliseconds with 3 decimals */
};

struct log_field {
	enum log_type type;
	const char *key; /* snake_case, unit in the name: _bytes, _ms */
	const char *s;
	uint64_t u;
};

/* fields end with LOG_END; NULL for none. */
void log_event(enum log_level level, const char *event, const struct log_field *fields);

/* An event "message" with one field `message`; in text the message stands
 * alone: "tlskit: message", where quotes need no escape. A newline at its end is
 * dropped; one that is too long for a line ends in "…". For start-up and for
 * people. */
void log_msg(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A limit for lines that a stranger can cause. `class` is a literal that names
 * the kind of line. Returns true when the line may be written: the first 10 in
 * a window of 10 s of each class. The rest is counted, and when a new window
 * opens the count is written as an event "repeated" {class, count}.
 * log_limit_flush writes the counts that are left (at exit, and from a timer). */
bool log_limit(const char *class_name);
bool log_limit_at(const char *class_name, uint64_t now_ns); /* at a time of clock_mono_ns */
void log_limit_flush(bool all);

#endif
