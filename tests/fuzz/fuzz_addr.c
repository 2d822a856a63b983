/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/net/addr.h"
#include "tests/fuzz/fuzz.h"

/* The first byte chooses the use, the rest is the address. */

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

static void check_host(const struct addr *a)
{
	size_t n = strlen(a->host);

	MUST((n == 0) == (a->any || a->loopback));
	MUST(!(a->any && a->loopback));
	for (size_t i = 0; i < n; i++)
		MUST(a->host[i] > ' ' && a->host[i] < 0x7f && (a->host[i] < 'A' || a->host[i] > 'Z' || a->numeric));
	MUST(n == 0 || a->numeric || a->host[n - 1] != '.');
	MUST((addr_sni(a) != NULL) == (n > 0 && !a->numeric));
}

static void check_addr(const struct addr *a, enum addr_use use)
{
	char text[ADDR_TEXT_SIZE];
	struct sockaddr_storage ss;
	struct addr again;
	struct err e;

	addr_format(a, text);
	MUST(addr_parse(&again, text, use, &e) == 0);
	again.tls = a->tls;
	again.port_implied = a->port_implied; /* what is printed has one */
	MUST(memcmp(a, &again, sizeof(again)) == 0);
	if (a->kind == ADDR_TCP)
		check_host(a);
	else
		MUST(addr_sni(a) == NULL);
	if (use != ADDR_LISTEN)
		MUST(a->kind != ADDR_SYSTEMD && !a->any && (a->kind != ADDR_TCP || a->port != 0));
	if (a->kind == ADDR_UNIX) {
		char printed[ADDR_TEXT_SIZE];
		socklen_t len = addr_unix_sockaddr(a, &ss);

		MUST(strcmp(addr_format_sockaddr((const struct sockaddr *)&ss, len, printed), text) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum addr_use use;
	struct addr a;
	struct err e = { 0 };
	char *text;

	if (size == 0)
		return 0;
	use = (enum addr_use)(data[0] % 3);
	text = malloc(size);
	MUST(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (addr_parse(&a, text, use, &e) == 0) {
		check_addr(&a, use);
	} else {
		MUST(e.kind == ERR_CONFIG);
		check_message(e.msg);
	}
	free(text);
	return 0;
}
