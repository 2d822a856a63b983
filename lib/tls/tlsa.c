/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/tlsa.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

/* Records and their lists. */

#define DATA_MAX 65535 /* a record cannot hold more */

static size_t digest_size(unsigned matching)
{
	return matching == TLSA_SHA256 ? 32 : matching == TLSA_SHA512 ? 64 : 0;
}

int tlsa_add(struct tlsa_list *list, unsigned usage, unsigned selector, unsigned matching, const void *data, size_t n)
{
	struct tlsa *v;
	uint8_t *copy;

	if (usage > TLSA_DANE_EE || selector > TLSA_KEY || matching > TLSA_SHA512)
		return 0;
	if (n == 0 || n > DATA_MAX || (matching != TLSA_FULL && n != digest_size(matching)))
		return 0;
	copy = malloc(n);
	v = realloc(list->v, (list->n + 1) * sizeof(*v));
	if (v != NULL)
		list->v = v;
	if (v == NULL || copy == NULL) {
		free(copy);
		return -1;
	}
	memcpy(copy, data, n);
	v[list->n++] = (struct tlsa){ (enum tlsa_usage)usage, (enum tlsa_selector)selector,
		(enum tlsa_matching)matching, copy, n };
	return 1;
}

void tlsa_list_free(struct tlsa_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].data);
	free(list->v);
	*list = (struct tlsa_list){ NULL, 0 };
}

/* --- text ------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(const char **text)
{
	while (is_blank(**text))
		++*text;
}

/* The next of the three numbers. */
static int parse_field(const char **text, const char *name, unsigned max, const char *meaning, unsigned *out,
	struct err *e)
{
	char word[16] = "";
	const char *start;
	uint64_t value;
	size_t n;

	skip_blanks(text);
	start = *text;
	while (**text != '\0' && !is_blank(**text))
		++*text;
	n = (size_t)(*text - start);
	if (n == 0)
		return err_set(e, ERR_CONFIG, "no %s; expected USAGE SELECTOR MATCHING HEX, as in 3 1 1 HEX", name);
	if (n < sizeof(word))
		memcpy(word, start, n);
	if (units_parse_uint(word, 0, max, &value) != 0)
		return err_set(e, ERR_CONFIG, "the %s is \"%.*s\"; expected %s", name, n > 40 ? 40 : (int)n, start,
			meaning);
	*out = (unsigned)value;
	return 0;
}

/* Hexadecimal digits with blanks between them; out has room for all of them. */
static int parse_hex(const char *text, uint8_t *out, size_t *n, struct err *e)
{
	char pair[2];
	size_t digits = 0;

	for (*n = 0; *text != '\0'; text++) {
		if (is_blank(*text))
			continue;
		pair[digits++ & 1] = *text;
		if ((*text < '0' || *text > '9') && ((*text | 0x20) < 'a' || (*text | 0x20) > 'f'))
			return err_set(e, ERR_CONFIG, "the data holds what is no hexadecimal digit: \"%.20s\"", text);
		if (digits % 2 == 0)
			units_parse_hex(pair, 2, out + (*n)++, 1);
	}
	if (digits == 0)
		return err_set(e, ERR_CONFIG, "no data; expected hexadecimal digits behind the three numbers");
	if (digits % 2 != 0)
		return err_set(e, ERR_CONFIG, "the data has an odd number of hexadecimal digits: %zu", digits);
	return 0;
}

static int check_length(unsigned matching, size_t n, struct err *e)
{
	if (matching == TLSA_FULL && n > DATA_MAX)
		return err_set(e, ERR_CONFIG, "the data has %zu bytes; a record has room for %d", n, DATA_MAX);
	if (matching != TLSA_FULL && n != digest_size(matching))
		return err_set(e, ERR_CONFIG, "the data has %zu bytes; matching %u is %s, which has %zu", n, matching,
			matching == TLSA_SHA256 ? "SHA-256" : "SHA-512", digest_size(matching));
	return 0;
}

static int parse(const char *text, struct tlsa_list *list, struct err *e)
{
	unsigned usage, selector, matching;
	uint8_t *data;
	size_t n;
	int r;

	if (parse_field(&text, "usage", TLSA_DANE_EE, "0 (PKIX-TA), 1 (PKIX-EE), 2 (DANE-TA) or 3 (DANE-EE)", &usage,
		    e) != 0 ||
	    parse_field(&text, "selector", TLSA_KEY, "0 (certificate) or 1 (public key)", &selector, e) != 0 ||
	    parse_field(&text, "matching type", TLSA_SHA512, "0 (all of it), 1 (SHA-256) or 2 (SHA-512)", &matching,
		    e) != 0)
		return -1;
	data = malloc(strlen(text) / 2 + 1);
	if (data == NULL)
		return err_set(e, ERR_RUNTIME, "no memory");
	r = parse_hex(text, data, &n, e);
	if (r == 0)
		r = check_length(matching, n, e);
	if (r == 0 && tlsa_add(list, usage, selector, matching, data, n) < 0)
		r = err_set(e, ERR_RUNTIME, "no memory");
	free(data);
	return r;
}

int tlsa_parse(const char *option, const char *text, struct tlsa_list *list, struct err *e)
{
	if (parse(text, list, e) == 0)
		return 0;
	return err_prefix(e, "%s \"%.60s%s\"", option, text, strlen(text) > 60 ? "…" : "");
}

const char *tlsa_dnssec_name(enum tlsa_dnssec s)
{
	static const char *const names[] = {
		[TLSA_UNKNOWN] = "unknown", [TLSA_SECURE] = "secure", [TLSA_INSECURE] = "insecure", [TLSA_BOGUS] = "bogus",
	};

	return names[s];
}
