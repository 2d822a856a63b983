/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/report/scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/scan_int.h"

/* --- a scan -------------------------------------------------------------------------- */

struct scan *scan_new(const char *target)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->total_ms = NAN;
	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		s->versions[v].taken = CHECK_UNKNOWN;
	s->versions[OFFER_TLS1_0].traits = s->versions[OFFER_TLS1_1].traits = OFFER_OLD;
	if (check_set(&s->target, target) < 0) {
		scan_free(s);
		return NULL;
	}
	return s;
}

static void free_rows(struct scan_rows *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->rows[i].name);
		free(r->rows[i].why);
		free(r->rows[i].with);
	}
	free(r->rows);
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	for (size_t v = 0; v < OFFER_VERSIONS; v++) {
		free(s->versions[v].why);
		free_rows(&s->versions[v].suites);
		free_rows(&s->versions[v].groups);
		free_rows(&s->versions[v].signatures);
	}
	for (size_t i = 0; i < s->n_untested; i++)
		free(s->untested[i]);
	free(s->untested);

	char *texts[] = { s->target, s->host, s->servername, s->address, s->via, s->starttls, s->library,
		s->fault.message, s->fault.detail, s->fault.hint };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	free(s);
}

int scan_add_row(struct scan_rows *r, const char *name, unsigned id, unsigned traits)
{
	struct scan_row *rows = realloc(r->rows, (r->n + 1) * sizeof(*rows));

	if (!rows)
		return -1;
	r->rows = rows;
	rows[r->n] = (struct scan_row){ .name = strdup(name), .id = id, .traits = traits, .taken = CHECK_UNKNOWN };
	return rows[r->n].name ? (r->n++, 0) : -1;
}

int scan_add_untested(struct scan *s, const char *fmt, ...)
{
	char **lines = realloc(s->untested, (s->n_untested + 1) * sizeof(*lines));
	va_list args;
	int r;

	if (!lines)
		return -1;
	s->untested = lines;
	va_start(args, fmt);
	r = vasprintf(&lines[s->n_untested], fmt, args);
	va_end(args);
	if (r < 0)
		return -1;
	s->n_untested++;
	return 0;
}

void scan_set_fault(struct scan *s, enum check_code code, enum check_stage stage, const char *fmt, ...)
{
	va_list args;

	if (s->fault.code != CHECK_OK)
		return;
	s->fault.code = code;
	s->fault.stage = stage;
	va_start(args, fmt);
	if (vasprintf(&s->fault.message, fmt, args) < 0)
		s->fault.message = NULL;
	va_end(args);
}

int scan_exit_code(const struct scan *s)
{
	return (int)s->fault.code;
}

/* --- what is weak ----------------------------------------------------------------------- */

static const struct {
	unsigned bit;
	const char *name, *text;
} traits[] = {
	{ OFFER_OLD, "old-version", "old version" },
	{ OFFER_NULL, "null", "NULL encryption" },
	{ OFFER_ANON, "anonymous", "anonymous" },
	{ OFFER_RC4, "rc4", "RC4" },
	{ OFFER_3DES, "3des", "3DES" },
	{ OFFER_MD5, "md5", "MD5" },
	{ OFFER_STATIC_RSA, "no-forward-secrecy", "no forward secrecy" },
	{ OFFER_SHA1, "sha1-signature", "SHA-1 signatures" },
	{ OFFER_SMALL_GROUP, "small-group", "small group" },
	{ OFFER_SMALL_KEY, "small-key", "small key" },
	{ OFFER_CBC, "cbc", "CBC" },
	{ OFFER_SHORT_TAG, "short-tag", "64-bit tag" },
	{ OFFER_DSA, "dsa", "DSA" },
};

#define TRAITS (sizeof(traits) / sizeof(traits[0]))

unsigned scan_trait_next(unsigned set, unsigned last)
{
	for (size_t i = 0; i < TRAITS; i++)
		if (traits[i].bit > last && (set & traits[i].bit))
			return traits[i].bit;
	return 0;
}

const char *scan_trait_name(unsigned trait)
{
	for (size_t i = 0; i < TRAITS; i++)
		if (traits[i].bit == trait)
			return traits[i].name;
	return NULL;
}

const char *scan_trait_text(unsigned trait)
{
	for (size_t i = 0; i < TRAITS; i++)
		if (traits[i].bit == trait)
			return traits[i].text;
	return NULL;
}

static unsigned rows_weak(const struct scan_rows *r)
{
	unsigned weak = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].taken == CHECK_YES)
			weak |= r->rows[i].traits & OFFER_WEAK;
	return weak;
}

unsigned scan_weak(const struct scan *s)
{
	unsigned weak = 0;

	for (size_t v = 0; v < OFFER_VERSIONS; v++) {
		const struct scan_version *x = &s->versions[v];

		if (x->taken == CHECK_YES)
			weak |= (x->traits & OFFER_WEAK) | rows_weak(&x->suites) | rows_weak(&x->groups) |
				rows_weak(&x->signatures);
	}
	return weak;
}

char *scan_weak_text(const struct scan *s)
{
	unsigned weak = scan_weak(s);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *comma = "";

	if (!out)
		return NULL;
	for (enum offer_version v = 0; v < OFFER_VERSIONS; v++)
		if (s->versions[v].taken == CHECK_YES && (s->versions[v].traits & OFFER_OLD)) {
			fprintf(out, "%s%s", comma, offer_version_name(v));
			comma = ", ";
		}
	weak &= ~(unsigned)OFFER_OLD;
	for (unsigned bit = scan_trait_next(weak, 0); bit; bit = scan_trait_next(weak, bit)) {
		fprintf(out, "%s%s", comma, scan_trait_text(bit));
		comma = ", ";
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- rows --------------------------------------------------------------------------------- */

size_t scan_count(const struct scan_rows *r, enum check_answer taken)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->rows[i].taken == taken;
	return n;
}

/* A place of 0 comes last; else they stand as they stood. */
static int by_place(const void *a, const void *b)
{
	const struct scan_row *x = *(const struct scan_row *const *)a, *y = *(const struct scan_row *const *)b;

	if (x->taken != y->taken)
		return x->taken == CHECK_YES ? -1 : 1;
	if (x->place - 1 != y->place - 1)
		return x->place - 1 < y->place - 1 ? -1 : 1;
	return x < y ? -1 : x > y;
}

const struct scan_row **scan_sorted(const struct scan_rows *r, size_t *n)
{
	const struct scan_row **list = calloc(r->n + 1, sizeof(const struct scan_row *));

	*n = 0;
	if (!list)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].taken != CHECK_NO)
			list[(*n)++] = &r->rows[i];
	qsort(list, *n, sizeof(struct scan_row *), by_place);
	return list;
}
