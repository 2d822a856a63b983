/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Offers as priority strings. */

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/offer.h"

/* --- priority strings ------------------------------------------------------------------ */

/* Whether an earlier suite has named the part. */
static bool named_before(const struct offer *o, size_t i, size_t part)
{
	const char *const *name = (const char *const *)((const char *)o->suites[i] + part);

	for (size_t k = 0; k < i; k++) {
		const char *const *other = (const char *const *)((const char *)o->suites[k] + part);

		if (*other && strcmp(*other, *name) == 0)
			return true;
	}
	return false;
}

static void put_parts(FILE *out, const struct offer *o, size_t part)
{
	for (size_t i = 0; i < o->n_suites; i++) {
		const char *name = *(const char *const *)((const char *)o->suites[i] + part);

		if (name && !named_before(o, i, part))
			fprintf(out, ":+%s", name);
	}
}

static void put_signatures(FILE *out, const struct offer *o)
{
	static const char *const certificates[] = { "RSA-SHA256", "RSA-SHA384", "RSA-SHA512", "RSA-SHA1" };

	if (o->version < OFFER_TLS1_2 || !o->n_signatures)
		fputs(":+SIGN-ALL", out); /* never said there; a string without any is refused */
	for (size_t i = 0; o->version >= OFFER_TLS1_2 && i < o->n_signatures; i++)
		fprintf(out, ":+SIGN-%s", offer_signature_name(o->signatures[i], o->version));
	for (size_t i = 0; o->version == OFFER_TLS1_3 && i < sizeof(certificates) / sizeof(*certificates); i++)
		fprintf(out, ":+SIGN-%s", certificates[i]);
}

char *offer_priority(const struct offer *o)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "NONE:+COMP-NULL:+CTYPE-X509:+VERS-TLS%s", offer_version_name(o->version) + 4);
	/* TLS 1.3 has none, and GnuTLS still wants some that go with certificates */
	if (o->version == OFFER_TLS1_3)
		fputs(":+ECDHE-ECDSA:+ECDHE-RSA:+DHE-RSA", out);
	put_parts(out, o, offsetof(struct offer_suite, kx_part));
	put_parts(out, o, offsetof(struct offer_suite, cipher_part));
	put_parts(out, o, offsetof(struct offer_suite, mac_part));
	for (size_t i = 0; i < o->n_groups; i++)
		fprintf(out, ":+GROUP-%s", o->groups[i]->name);
	if (!o->n_groups)
		fputs(":+GROUP-ALL", out);
	put_signatures(out, o);
	/* any key is fine where nothing is verified */
	fputs(":%PROFILE_VERY_WEAK:%ALLOW_SMALL_RECORDS", out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool is_in(const struct offer *o, unsigned id)
{
	for (size_t i = 0; i < o->n_suites; i++)
		if (o->suites[i]->id == id)
			return true;
	return false;
}

/* Suites of the string, those of other versions aside; *others: that are not the offer's. */
static size_t count_suites(const struct offer *o, gnutls_priority_t p, size_t *others)
{
	size_t n = 0;
	unsigned index, i;
	int r;

	*others = 0;
	for (i = 0; (r = gnutls_priority_get_cipher_suite_index(p, i, &index)) != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE; i++) {
		unsigned char id[2];

		if (r < 0 || !gnutls_cipher_suite_info(index, id, NULL, NULL, NULL, NULL))
			continue;
		n++;
		*others += !is_in(o, (unsigned)id[0] << 8 | id[1]);
	}
	return n;
}

bool offer_is_exact(const struct offer *o)
{
	char *text = offer_priority(o);
	gnutls_priority_t p;
	size_t n, others;
	int r;

	if (!text)
		return false;
	r = gnutls_priority_init(&p, text, NULL);
	free(text);
	if (r < 0)
		return false;
	n = count_suites(o, p, &others);
	gnutls_priority_deinit(p);
	return n == o->n_suites && others == 0;
}
