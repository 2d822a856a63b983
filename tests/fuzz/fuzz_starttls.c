/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/net/starttls.h"
#include "tests/fuzz/fuzz.h"

/* What a server can say before TLS. The first byte chooses the protocol, the second
 * the pieces, the rest is said: whole, and again in pieces. The outcome must be the
 * same but for two things: what is injected is found in the piece of the go-ahead
 * alone, and a server that asks for many answers finds room as they are sent. */

struct outcome {
	enum parley_status status;
	size_t used, sent;
	uint32_t sum; /* of what was sent */
	struct err e;
};

/* Checks a message: one line that a terminal shows as it is. */
static void check_message(const char *msg)
{
	size_t left = strlen(msg);

	MUST(left > 0);
	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(msg, left, &cp);

		MUST(n > 0 && !utf8_is_control(cp));
		msg += n;
		left -= n;
	}
}

static void send_out(struct outcome *o, struct parley *p)
{
	size_t n;
	const uint8_t *out = parley_out(p, &n);

	for (size_t i = 0; i < n; i++)
		o->sum = o->sum * 31 + out[i];
	o->sent += n;
	parley_sent(p, n);
}

static void run(struct outcome *o, const char *proto, const uint8_t *says, size_t n, size_t piece)
{
	struct parley *p = starttls_new(proto, "host.example", NULL, &o->e);
	size_t at = 0, used, len;

	MUST(p != NULL);
	MUST(parley_feed(p, NULL, 0, &used, &o->e) == PARLEY_MORE && used == 0);
	send_out(o, p);
	while (p->status == PARLEY_MORE && at < n) {
		len = piece < n - at ? piece : n - at;
		o->status = parley_feed(p, says + at, len, &used, &o->e);
		MUST(used <= len && (used == len || o->status != PARLEY_MORE));
		at += len;
		o->used += used;
		send_out(o, p);
	}
	MUST(strncmp(parley_step(p), proto, strlen(proto)) == 0);
	MUST(o->status == PARLEY_DONE ||
		parley_end(p, o->status == PARLEY_MORE ? &o->e : &(struct err){ 0 }) == PARLEY_FAILED);
	if (o->status != PARLEY_DONE) {
		check_message(o->e.msg);
		MUST(strncmp(o->e.msg, proto, strlen(proto)) == 0);
	}
	parley_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = { .status = PARLEY_MORE }, pieces = whole;
	size_t n_protos = 0;
	const char *proto;

	if (size < 2)
		return 0;
	while (starttls_names()[n_protos] != NULL)
		n_protos++;
	proto = starttls_names()[data[0] % n_protos];
	run(&whole, proto, data + 2, size - 2, size);
	run(&pieces, proto, data + 2, size - 2, (size_t)data[1] + 1);
	if (strstr(whole.e.msg, "injected data") != NULL || strstr(pieces.e.msg, "injected data") != NULL ||
		strstr(whole.e.msg, "room for") != NULL)
		return 0;
	MUST(whole.status == pieces.status);
	MUST(strcmp(whole.e.msg, pieces.e.msg) == 0);
	MUST(whole.sent == pieces.sent && whole.sum == pieces.sum);
	if (whole.status == PARLEY_DONE)
		MUST(whole.used == pieces.used && whole.used == size - 2);
	return 0;
}
