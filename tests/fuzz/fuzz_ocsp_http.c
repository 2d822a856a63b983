/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/tls/ocsp.h"
#include "tests/fuzz/fuzz.h"

/* The first byte chooses: 'u' an address, anything else an answer. Of an answer the
 * second byte says after how much of it, in 256ths, somebody looks for the first time. */

static void check_url(const uint8_t *data, size_t size)
{
	struct ocsp_url url;
	struct err e = { 0 };
	gnutls_datum_t none = { NULL, 0 }, out;
	char *text = malloc(size + 1);
	size_t i;

	MUST(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (ocsp_url_parse(text, &url, &e) == 0) {
		MUST(url.host[0] && url.port[0] && (url.path[0] == '/'));
		MUST(ocsp_http_request(&url, &none, &out, &e) == 0);
		/* seven lines and an empty one, whatever the address is */
		for (size = 0, i = 0; i < out.size; i++)
			size += out.data[i] == '\n';
		MUST(size == 7);
		gnutls_free(out.data);
	} else {
		MUST(e.msg[0]);
	}
	free(text);
}

static uint8_t *copy(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(size ? size : 1);

	MUST(p != NULL);
	if (size)
		memcpy(p, data, size);
	return p;
}

/* What comes of the first n bytes; the body is copied. */
static int look(const uint8_t *data, size_t n, bool ended, gnutls_datum_t *body)
{
	uint8_t *p = copy(data, n);
	struct err e = { 0 };
	int r = ocsp_http_answer(p, n, ended, body, &e);

	if (r > 0) {
		MUST(body->data >= p && body->data + body->size <= p + n);
		body->data = copy(body->data, body->size);
	} else {
		MUST(n == 0 || memcmp(p, data, n) == 0);
		MUST(body->data == NULL && (r == 0) != (e.msg[0] != '\0'));
		MUST(r < 0 || !ended);
	}
	free(p);
	return r;
}

static void check_answer(const uint8_t *data, size_t size, size_t first)
{
	gnutls_datum_t early, late;
	int r = look(data, first, false, &early), s = look(data, size, true, &late);

	/* what was whole, or refused, stays so */
	if (size <= 65536) {
		MUST(r <= 0 || (s > 0 && early.size == late.size));
		MUST(r <= 0 || early.size == 0 || memcmp(early.data, late.data, early.size) == 0);
		MUST(r >= 0 || s < 0);
	}
	if (r > 0)
		free(early.data);
	if (s > 0)
		free(late.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] == 'u')
		check_url(data + 1, size - 1);
	else
		check_answer(data + 2, size - 2, (size - 2) * data[1] / 256);
	return 0;
}
