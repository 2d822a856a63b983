/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/tls/sct.h"
#include "lib/tls/tlsa.h"
#include "tests/fuzz/fuzz.h"

/* What stands beside a certificate. The first byte chooses: even: a list of SCTs;
 * odd: TLSA records as text, one a line, held against a chain of which the leaf is
 * the text's first line. */

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

static void fuzz_scts(const uint8_t *data, size_t size)
{
	struct sct_list l;
	struct err e;

	if (sct_parse(data, size, &l, &e) != 0) {
		check_message(e.msg);
		MUST(l.n == 0 && l.v == NULL);
		return;
	}
	MUST(l.n > 0 && l.n <= size / 3);
	for (size_t i = 0; i < l.n; i++)
		MUST((l.v[i].version == 1) == (strlen(l.v[i].log) == 44));
	sct_list_free(&l);
}

static void fuzz_records(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct tlsa_list l = { NULL, 0 };
	gnutls_datum_t sent[2];
	struct tlsa_chain c = { .sent = sent, .n_sent = 2, .path = sent, .n_path = 2 };
	struct tlsa_result r;
	struct err e;
	size_t n = 0;

	MUST(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	sent[0] = sent[1] = (gnutls_datum_t){ (unsigned char *)text, (unsigned)strcspn(text, "\n") };
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
		char *one = strndup(line, strcspn(line, "\n"));

		MUST(one != NULL);
		if (tlsa_parse("--tlsa", one, &l, &e) == 0)
			n++;
		else
			check_message(e.msg);
		MUST(l.n == n);
		free(one);
	}
	tlsa_match(&l, &c, &r);
	check_message(r.text);
	MUST(!r.ok || r.record < n);
	tlsa_list_free(&l);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] % 2 == 0)
		fuzz_scts(data + 1, size - 1);
	else
		fuzz_records(data + 1, size - 1);
	return 0;
}
