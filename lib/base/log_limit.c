/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

#define LIMIT_CLASSES 32
#define LIMIT_LINES   10
#define LIMIT_WINDOW  (10 * NS_PER_S)

static struct limit {
	const char *class_name;
	uint64_t start; /* of the window */
	unsigned lines; /* written in it */
	uint64_t hidden; /* not written, nor reported yet */
} limits[LIMIT_CLASSES];
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;

static bool window_over(const struct limit *c, uint64_t now)
{
	/* another thread may have read a later time before this one */
	return now > c->start && now - c->start >= LIMIT_WINDOW;
}

/* The class's row, a new one at its first line. Names are literals, so there
 * are few; should the rows run out, the last one is shared, and no line goes
 * without a limit. */
static struct limit *limit_find(const char *class_name, uint64_t now)
{
	for (size_t i = 0; i < LIMIT_CLASSES; i++) {
		struct limit *c = &limits[i];

		if (c->class_name == NULL) {
			c->class_name = i + 1 < LIMIT_CLASSES ? class_name : "other";
			c->start = now;
			return c;
		}
		if (strcmp(c->class_name, class_name) == 0)
			return c;
	}
	return &limits[LIMIT_CLASSES - 1];
}

static uint64_t take_hidden(struct limit *c)
{
	uint64_t hidden = c->hidden;

	c->hidden = 0;
	return hidden;
}

static void report_hidden(const char *class_name, uint64_t hidden)
{
	const struct log_field fields[] = {
		{ .type = LOG_STR, .key = "class", .s = class_name },
		{ .type = LOG_UINT, .key = "count", .u = hidden },
		{ .type = LOG_END },
	};

	if (hidden > 0)
		log_event(LOG_WARN, "repeated", fields);
}

bool log_limit_at(const char *class_name, uint64_t now_ns)
{
	uint64_t hidden = 0;
	const char *name;
	struct limit *c;
	bool write_it;

	pthread_mutex_lock(&limits_lock);
	c = limit_find(class_name, now_ns);
	name = c->class_name;
	if (window_over(c, now_ns)) {
		hidden = take_hidden(c);
		c->start = now_ns;
		c->lines = 0;
	}
	write_it = c->lines < LIMIT_LINES;
	if (write_it)
		c->lines++;
	else
		c->hidden++;
	pthread_mutex_unlock(&limits_lock);
	report_hidden(name, hidden);
	return write_it;
}

bool log_limit(const char *class_name)
{
	return log_limit_at(class_name, clock_mono_ns());
}

void log_limit_flush(bool all)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < LIMIT_CLASSES; i++) {
		uint64_t hidden = 0;
		const char *name;

		pthread_mutex_lock(&limits_lock);
		name = limits[i].class_name;
		if (name != NULL && (all || window_over(&limits[i], now)))
			hidden = take_hidden(&limits[i]);
		pthread_mutex_unlock(&limits_lock);
		report_hidden(name, hidden);
	}
}
