/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PROXY_TALK_H
#define TLSKIT_TESTS_PROXY_TALK_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/proxy.h"
#include "tests/unit/timeout.h"

/* Conversations with a proxy whose part is written down. */

/* Bytes with NULs in them, as a string literal. */
#define BYTES(s) (s), sizeof(s) - 1

struct outcome {
	enum parley_status status;
	size_t used; /* of what came, when it was done */
	uint8_t out[8192];
	size_t out_n;
	struct err e;
};

static inline struct parley *must_start(const char *url, const char *target)
{
	struct proxy p;
	struct addr a;
	struct err e = { 0 };
	struct parley *c;

	cr_assert_eq(proxy_parse(url, &p, &e), 0, "%s", e.msg);
	cr_assert_eq(addr_parse(&a, target, ADDR_CONNECT, &e), 0, "%s", e.msg);
	c = proxy_new(&p, &a, &e);
	cr_assert_not_null(c, "%s", e.msg);
	return c;
}

static inline void drain(struct parley *c, struct outcome *o)
{
	size_t n;
	const uint8_t *out = parley_out(c, &n);

	cr_assert_leq(o->out_n + n, sizeof(o->out));
	memcpy(o->out + o->out_n, out, n);
	o->out_n += n;
	parley_sent(c, n);
}

/* Feeds data[from..to), as a reader of a socket would. */
static inline void give(struct parley *c, const uint8_t *data, size_t from, size_t to, struct outcome *o)
{
	size_t used = 0;
	uint8_t *copy;

	if (o->status != PARLEY_MORE)
		return;
	copy = malloc(to > from ? to - from : 1); /* of the very size, for AddressSanitizer */
	cr_assert_not_null(copy);
	if (to > from)
		memcpy(copy, data + from, to - from);
	o->status = parley_feed(c, copy, to - from, &used, &o->e);
	cr_assert(used <= to - from);
	cr_assert(o->status != PARLEY_MORE || used == to - from);
	o->used += o->status == PARLEY_FAILED ? 0 : used;
	drain(c, o);
	free(copy);
}

/* With pieces of `step` bytes behind the first `cut`. */
static inline struct outcome talk(const char *url, const char *target, const void *data, size_t n, size_t cut, size_t step)
{
	struct parley *c = must_start(url, target);
	struct outcome o = { .status = PARLEY_MORE };

	give(c, data, 0, 0, &o);
	if (cut > 0)
		give(c, data, 0, cut, &o);
	for (size_t i = cut; i < n; i += step)
		give(c, data, i, i + step < n ? i + step : n, &o);
	parley_free(c);
	return o;
}

static inline void must_equal(const struct outcome *a, const struct outcome *b, const char *how, size_t at)
{
	cr_assert_eq(a->status, b->status, "%s %zu: %d, %d", how, at, a->status, b->status);
	if (a->status == PARLEY_FAILED)
		cr_assert_str_eq(a->e.msg, b->e.msg, "%s %zu: %s | %s", how, at, a->e.msg, b->e.msg);
	else
		cr_assert_eq(a->used, b->used, "%s %zu", how, at);
	cr_assert_eq(a->out_n, b->out_n, "%s %zu", how, at);
	cr_assert_eq(memcmp(a->out, b->out, a->out_n), 0, "%s %zu", how, at);
}

/* Whole, a byte at a time, and cut in two at each place: the same outcome. */
static inline struct outcome talk_all_ways(const char *url, const char *target, const void *data, size_t n)
{
	struct outcome whole = talk(url, target, data, n, 0, n), o = talk(url, target, data, n, 0, 1);

	must_equal(&o, &whole, "byte by byte", 0);
	for (size_t i = 1; i < n; i++) {
		o = talk(url, target, data, n, i, n);
		must_equal(&o, &whole, "cut at", i);
	}
	return whole;
}

/* Whatever stands before the end, an early end of the stream fails. */
static inline void end_at_each_byte(const char *url, const char *target, const void *data, size_t n, size_t done)
{
	for (size_t i = 0; i <= n; i++) {
		struct parley *c = must_start(url, target);
		struct outcome o = { .status = PARLEY_MORE };
		enum parley_status end;

		give(c, data, 0, 0, &o);
		give(c, data, 0, i, &o);
		end = o.status == PARLEY_FAILED ? o.status : parley_end(c, &o.e);
		cr_assert_eq(end, i < done ? PARLEY_FAILED : PARLEY_DONE, "%zu", i);
		if (i < done)
			cr_assert(o.e.msg[0] != '\0');
		parley_free(c);
	}
}

static inline void must_send(const struct outcome *o, const char *expected, size_t n)
{
	cr_assert_eq(o->out_n, n, "%zu, %zu: %.*s", o->out_n, n, (int)o->out_n, (const char *)o->out);
	cr_assert_eq(memcmp(o->out, expected, n), 0, "%.*s", (int)n, (const char *)o->out);
}

#endif
