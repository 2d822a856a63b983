/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/parley.h"
#include "tests/unit/talk.h"

/* A protocol to test with: says hello, hears bytes up to an 'E', takes at most
 * `bite` of them at once; a '!' is a failure. */
struct toy {
	struct parley p;
	size_t bite;
	unsigned starts, frees;
	unsigned *freed;
};

static enum parley_status toy_feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	struct toy *t = (struct toy *)p;

	cr_assert_eq(*used, 0);
	if (n == 0) {
		t->starts++;
		return parley_putf(p, "hello %s", "there") == 0 ? PARLEY_MORE : PARLEY_FAILED;
	}
	cr_assert_eq(t->starts, 1);
	while (*used < n && *used < t->bite) {
		uint8_t c = data[(*used)++];

		if (c == 'E')
			return PARLEY_DONE;
		if (c == '!') {
			err_set(e, ERR_HANDSHAKE, "no");
			return PARLEY_FAILED;
		}
	}
	return PARLEY_MORE;
}

static void toy_free(struct parley *p)
{
	struct toy *t = (struct toy *)p;

	if (t->freed != NULL)
		(*t->freed)++;
	for (size_t i = 0; i < sizeof(p->out); i++)
		cr_assert_eq(p->out[i], 0);
	free(t);
}

static const char *toy_step(const struct parley *p)
{
	(void)p;
	return "toy: step";
}

static const struct parley_ops plain = { .feed = toy_feed, .free = toy_free };
static const struct parley_ops strict = { .feed = toy_feed, .free = toy_free, .step = toy_step, .tls_next = true };

static struct parley *toy(const struct parley_ops *ops, size_t bite)
{
	struct toy *t = calloc(1, sizeof(*t));

	cr_assert_not_null(t);
	t->p.ops = ops;
	t->bite = bite;
	return &t->p;
}

Test(parley, any_pieces_and_bites)
{
	static const char says[] = "abcdefghE";

	for (size_t bite = 1; bite < sizeof(says); bite++) {
		for (size_t piece = 1; piece < sizeof(says); piece++) {
			struct talk t;

			talk_through(&t, toy(&strict, bite), says, sizeof(says) - 1, piece, piece, false);
			cr_expect_eq(t.status, PARLEY_DONE);
			cr_expect_eq(t.used, sizeof(says) - 1);
			cr_expect_str_eq(t.sent, "hello there\r\n");
		}
	}
}

Test(parley, the_start_comes_once_and_by_itself)
{
	struct parley *p = toy(&plain, 100);
	struct err e;
	size_t used, n;

	cr_expect_eq(parley_feed(p, (const uint8_t *)"ab", 2, &used, &e), PARLEY_MORE);
	cr_expect_eq(used, 2);
	cr_expect_eq(parley_feed(p, NULL, 0, &used, &e), PARLEY_MORE);
	cr_expect_eq(p->heard, 2);
	parley_out(p, &n);
	cr_expect_eq(n, strlen("hello there\r\n"));
	parley_free(p);
}

Test(parley, what_follows_belongs_to_others_or_is_injected)
{
	struct talk t;

	talk_through(&t, toy(&plain, 100), "abExyz", 6, 6, 1, true);
	cr_expect_eq(t.status, PARLEY_DONE);
	cr_expect_eq(t.used, 3);
	talk_through(&t, toy(&strict, 100), "abExyz", 6, 6, 1, false);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect_eq(t.e.kind, ERR_HANDSHAKE);
	cr_expect_not_null(strstr(t.e.msg, "toy: step: injected data: 3 bytes in the clear"), "%s", t.e.msg);
	talk_through(&t, toy(&strict, 100), "abExyz", 6, 3, 1, false);
	cr_expect_eq(t.status, PARLEY_DONE);
}

Test(parley, a_failure_has_its_step_and_stays)
{
	struct parley *p = toy(&strict, 100);
	struct err e = { 0 };
	size_t used;

	cr_expect_eq(parley_feed(p, (const uint8_t *)"a!", 2, &used, &e), PARLEY_FAILED);
	cr_expect_str_eq(e.msg, "toy: step: no");
	cr_expect_eq(e.kind, ERR_HANDSHAKE);
	cr_expect_eq(parley_feed(p, (const uint8_t *)"E", 1, &used, &e), PARLEY_FAILED);
	cr_expect_eq(used, 0);
	cr_expect_str_eq(e.msg, "the conversation has failed before");
	cr_expect_eq(parley_end(p, &e), PARLEY_FAILED);
	parley_free(p);
}

Test(parley, the_other_side_ends)
{
	struct talk t;

	talk_through(&t, toy(&strict, 100), "", 0, 1, 1, true);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect_eq(t.e.kind, ERR_IO);
	cr_expect_str_eq(t.e.msg, "toy: step: the other side ended the connection without a word");
	talk_through(&t, toy(&plain, 100), "abc", 3, 3, 1, true);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect_str_eq(t.e.msg, "the other side ended the connection");
	talk_through(&t, toy(&plain, 100), "abcE", 4, 3, 1, true);
	cr_expect_eq(t.status, PARLEY_DONE);
}

static struct talk long_talk(const struct parley_ops *ops, size_t end_at, size_t total, size_t piece)
{
	char *says = malloc(total);
	struct talk t;

	cr_assert_not_null(says);
	memset(says, 'x', total);
	if (end_at < total)
		says[end_at] = 'E';
	talk_through(&t, toy(ops, 1000), says, total, piece, piece, false);
	free(says);
	return t;
}

Test(parley, the_limit_is_a_place_in_the_stream)
{
	static const size_t pieces[] = { 1, 1000, PARLEY_LINE_MAX - 1, PARLEY_LINE_MAX, PARLEY_LINE_MAX + 1, 10 << 20 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct talk t = long_talk(&plain, PARLEY_LINE_MAX - 1, PARLEY_LINE_MAX, pieces[i]);

		cr_expect_eq(t.status, PARLEY_DONE, "%zu", pieces[i]);
		t = long_talk(&strict, PARLEY_LINE_MAX, PARLEY_LINE_MAX + 1, pieces[i]);
		cr_expect_eq(t.status, PARLEY_FAILED, "%zu", pieces[i]);
		cr_expect_str_eq(t.e.msg, "toy: step: more than 65536 bytes came, and still no end of it");
		t = long_talk(&plain, PARLEY_LINE_MAX, PARLEY_LINE_MAX, pieces[i]);
		cr_expect_eq(t.status, PARLEY_MORE, "%zu", pieces[i]);
	}
	/* injected behind the very last byte that is heard */
	cr_expect_eq(long_talk(&strict, PARLEY_LINE_MAX - 1, PARLEY_LINE_MAX + 10, 10 << 20).status, PARLEY_FAILED);
	cr_expect_eq(long_talk(&plain, 10 << 20, 10 << 20, 10 << 20).status, PARLEY_FAILED);
}

Test(parley, one_that_takes_nothing_fails)
{
	struct talk t;

	talk_through(&t, toy(&plain, 0), "abc", 3, 3, 1, false);
	cr_expect_eq(t.status, PARLEY_FAILED);
}

Test(parley, what_does_not_fit_is_not_queued)
{
	static const char big[PARLEY_OUT_MAX + 1];
	struct parley *p = toy(&plain, 1);
	size_t n;

	cr_expect_eq(parley_put(p, big, PARLEY_OUT_MAX + 1), -1);
	cr_expect_eq(parley_put(p, big, PARLEY_OUT_MAX - 5), 0);
	cr_expect_eq(parley_putf(p, "%s", "abcd"), -1);
	cr_expect_eq(parley_putf(p, "%s", "abc"), 0);
	cr_expect_eq(parley_putf(p, "%s", ""), -1);
	cr_expect_eq(parley_put(p, "x", 1), -1);
	cr_expect_eq(parley_put(p, "x", 0), 0);
	cr_expect(memcmp(parley_out(p, &n) + PARLEY_OUT_MAX - 5, "abc\r\n", 5) == 0);
	cr_expect_eq(n, PARLEY_OUT_MAX);
	parley_sent(p, PARLEY_OUT_MAX + 1);
	parley_out(p, &n);
	cr_expect_eq(n, 0);
	parley_free(p);
}

Test(parley, what_was_sent_is_wiped)
{
	unsigned freed = 0;
	struct parley *p = toy(&plain, 1);
	size_t n;

	((struct toy *)p)->freed = &freed;
	cr_assert_eq(parley_put(p, "secret", 6), 0);
	parley_sent(p, 4);
	cr_expect(memcmp(parley_out(p, &n), "et\0\0\0\0", 6) == 0);
	cr_expect_eq(n, 2);
	parley_free(p); /* toy_free looks for zeroes */
	cr_expect_eq(freed, 1);
	parley_free(NULL);
}
