/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/net/proxy.h"
#include "tests/fuzz/fuzz.h"

/* The first byte chooses: 0 the rest is a URL; else the rest is what a proxy says,
 * which has to come to the same thing in one piece and in pieces of some bytes, as
 * the second byte says. */

static const struct {
	const char *url, *target;
} talks[] = {
	{ "http://p:3128", "db.example:443" },
	{ "http://user:secret@p:3128", "[2001:db8::1]:443" },
	{ "socks5://p", "192.0.2.1:443" },
	{ "socks5://user:secret@p", "[2001:db8::1]:443" },
	{ "socks5h://p", "db.example:443" },
	{ "socks5h://user:secret@p", "db.example:443" },
};

struct outcome {
	enum parley_status status;
	size_t used, out_n;
	uint8_t out[PARLEY_OUT_MAX];
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

static void fuzz_url(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), password[256] = "";
	struct proxy p;
	struct err e = { 0 };

	MUST(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (proxy_parse(text, &p, &e) != 0) {
		MUST(e.kind == ERR_CONFIG);
		check_message(e.msg);
		MUST(memcmp(p.password, password, sizeof(password)) == 0);
	} else {
		struct addr target;
		struct parley *c;

		MUST(p.addr.kind == ADDR_TCP && p.addr.port != 0 && p.addr.host[0] != '\0');
		MUST(addr_parse(&target, "192.0.2.1:443", ADDR_CONNECT, &e) == 0);
		c = proxy_new(&p, &target, &e);
		MUST(c != NULL);
		parley_free(c);
	}
	free(text);
}

static struct outcome talk(unsigned which, const uint8_t *data, size_t size, size_t piece)
{
	struct outcome o = { .status = PARLEY_MORE };
	struct parley *c;
	struct proxy p;
	struct addr target;
	size_t n, used;
	const uint8_t *out;

	MUST(proxy_parse(talks[which].url, &p, &o.e) == 0);
	MUST(addr_parse(&target, talks[which].target, ADDR_CONNECT, &o.e) == 0);
	c = proxy_new(&p, &target, &o.e);
	MUST(c != NULL);
	o.status = parley_feed(c, NULL, 0, &used, &o.e);
	for (size_t i = 0; i < size && o.status == PARLEY_MORE; i += piece) {
		n = size - i < piece ? size - i : piece;
		o.status = parley_feed(c, data + i, n, &used, &o.e);
		MUST(used <= n && (o.status != PARLEY_MORE || used == n));
		o.used += used;
	}
	out = parley_out(c, &o.out_n);
	MUST(o.out_n > 0);
	memcpy(o.out, out, o.out_n);
	if (o.status == PARLEY_MORE)
		MUST(parley_end(c, &o.e) == PARLEY_FAILED);
	parley_free(c);
	return o;
}

static void fuzz_talk(unsigned which, size_t piece, const uint8_t *data, size_t size)
{
	struct outcome whole = talk(which, data, size, size > 0 ? size : 1), o = talk(which, data, size, piece);

	MUST(whole.status == o.status && whole.out_n == o.out_n && memcmp(whole.out, o.out, o.out_n) == 0);
	if (o.status == PARLEY_DONE) {
		MUST(whole.used == o.used);
		return;
	}
	check_message(o.e.msg);
	MUST(strcmp(whole.e.msg, o.e.msg) == 0);
	MUST(strstr(o.e.msg, "secret") == NULL || memmem(data, size, "secret", 6) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n = sizeof(talks) / sizeof(talks[0]);

	if (size < 1)
		return 0;
	if (data[0] % (n + 1) == 0)
		fuzz_url(data + 1, size - 1);
	else if (size > 1)
		fuzz_talk(data[0] % (n + 1) - 1, data[1] + 1u, data + 2, size - 2);
	return 0;
}
