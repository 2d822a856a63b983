/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/net/parley.h"

const char *parley_step(const struct parley *p)
{
	return p->ops->step != NULL ? p->ops->step(p) : NULL;
}

/* Ends it in a failure whose message is in e, with the step before it. */
static enum parley_status fail(struct parley *p, struct err *e)
{
	const char *step = parley_step(p);

	if (step != NULL)
		err_prefix(e, "%s", step);
	return p->status = PARLEY_FAILED;
}

/* One call of the implementation. *used grows by what it took. */
static void take(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	size_t took = 0;

	p->status = p->ops->feed(p, data, n, &took, e);
	p->heard += took;
	*used += took;
	if (p->status == PARLEY_MORE && n > 0 && took == 0) {
		err_set(e, ERR_RUNTIME, "a conversation that takes no bytes wants more");
		p->status = PARLEY_FAILED;
	}
	if (p->status == PARLEY_FAILED)
		fail(p, e);
}

/* Whether it ended before; e gets a word of it where it failed. */
static bool has_ended(const struct parley *p, struct err *e)
{
	if (p->status == PARLEY_FAILED)
		err_set(e, ERR_RUNTIME, "the conversation has failed before");
	return p->status != PARLEY_MORE;
}

/* The limit is a place in the stream, wherever the pieces end. */
static size_t within_limit(const struct parley *p, size_t n)
{
	size_t room = PARLEY_LINE_MAX - p->heard;

	return n < room ? n : room;
}

enum parley_status parley_feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	*used = 0;
	if (has_ended(p, e))
		return p->status;
	if (!p->started) {
		p->started = true;
		take(p, NULL, 0, used, e);
	}
	while (p->status == PARLEY_MORE && *used < n && p->heard < PARLEY_LINE_MAX)
		take(p, data + *used, within_limit(p, n - *used), used, e);
	if (*used < n && p->status == PARLEY_MORE) {
		err_set(e, ERR_RUNTIME, "more than %d bytes came, and still no end of it", PARLEY_LINE_MAX);
		return fail(p, e);
	}
	if (*used < n && p->status == PARLEY_DONE && p->ops->tls_next) {
		err_set(e, ERR_HANDSHAKE,
			"injected data: %zu bytes in the clear came behind the go-ahead for TLS, "
			"perhaps put there by somebody between here and the server",
			n - *used);
		return fail(p, e);
	}
	return p->status;
}

enum parley_status parley_end(struct parley *p, struct err *e)
{
	if (has_ended(p, e))
		return p->status;
	err_set(e, ERR_IO, p->heard > 0 ? "the other side ended the connection" :
					  "the other side ended the connection without a word");
	return fail(p, e);
}

const uint8_t *parley_out(const struct parley *p, size_t *n)
{
	*n = p->out_n;
	return p->out;
}

void parley_sent(struct parley *p, size_t n)
{
	if (n > p->out_n)
		n = p->out_n;
	p->out_n -= n;
	memmove(p->out, p->out + n, p->out_n);
	explicit_bzero(p->out + p->out_n, n);
}

void parley_free(struct parley *p)
{
	if (p == NULL)
		return;
	explicit_bzero(p->out, sizeof(p->out));
	p->ops->free(p);
}

int parley_put(struct parley *p, const void *data, size_t n)
{
	if (n > sizeof(p->out) - p->out_n)
		return -1;
	if (n > 0)
		memcpy(p->out + p->out_n, data, n);
	p->out_n += n;
	return 0;
}

int parley_putf(struct parley *p, const char *fmt, ...)
{
	char *to = (char *)p->out + p->out_n;
	size_t room = sizeof(p->out) - p->out_n;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n + 2 > room) {
		explicit_bzero(to, room);
		return -1;
	}
	memcpy(to + n, "\r\n", 2);
	p->out_n += (size_t)n + 2;
	return 0;
}
