/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/talk.h"

/* As a socket would, now and then less than there is. */
static void send_out(struct talk *t, struct parley *p)
{
	size_t n;
	const uint8_t *out = parley_out(p, &n);

	while (n > 0) {
		size_t part = n > 7 ? 7 : n;

		cr_assert_lt(t->sent_n + part, sizeof(t->sent));
		memcpy(t->sent + t->sent_n, out, part);
		t->sent_n += part;
		parley_sent(p, part);
		out = parley_out(p, &n);
	}
	t->sent[t->sent_n] = '\0';
}

void talk_through(struct talk *t, struct parley *p, const void *says, size_t n, size_t first, size_t rest, bool end)
{
	size_t at = 0, piece = first < n ? first : n;
	size_t used;

	memset(t, 0, offsetof(struct talk, sent));
	cr_assert_not_null(p);
	t->status = parley_feed(p, NULL, 0, &used, &t->e);
	cr_assert_eq(used, 0);
	send_out(t, p);
	while (t->status == PARLEY_MORE && at < n) {
		/* an allocation of the very size, for AddressSanitizer to see the end */
		uint8_t *exact = malloc(piece > 0 ? piece : 1);

		cr_assert_not_null(exact);
		memcpy(exact, (const uint8_t *)says + at, piece);
		t->status = parley_feed(p, exact, piece, &used, &t->e);
		free(exact);
		cr_assert(t->status != PARLEY_MORE || used == piece);
		cr_assert_leq(used, piece);
		t->used += used;
		at += piece;
		piece = rest < n - at ? rest : n - at;
		send_out(t, p);
	}
	if (end)
		t->status = parley_end(p, &t->e);
	parley_free(p);
}
