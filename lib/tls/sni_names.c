/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/sni_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES  253 /* as text, without the dot at the end (RFC 1035, 2.3.4: 255 on the wire) */
#define LABEL_MAX_BYTES 63

/* --- one name --------------------------------------------------------------------------- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; /* of no locale */
}

/* Labels of a length that can be, between dots, and no star. */
static bool has_good_labels(const char *text, size_t n)
{
	size_t i, label = 0;

	for (i = 0; i < n; i++) {
		if (text[i] == '.' && !label)
			return false;
		label = text[i] == '.' ? 0 : label + 1;
		if (!text[i] || text[i] == '*' || label > LABEL_MAX_BYTES)
			return false;
	}
	return label > 0;
}

/* As names are compared. Its length; 0: it is none. */
static size_t normalize(const char *text, size_t n, char out[NAME_MAX_BYTES + 1])
{
	size_t i;

	if (n && text[n - 1] == '.')
		n--;
	if (n > NAME_MAX_BYTES || !has_good_labels(text, n))
		return 0;
	for (i = 0; i < n; i++)
		out[i] = lower(text[i]);
	out[n] = '\0';
	return n;
}

/* --- all of them ------------------------------------------------------------------------ */

static int append(struct sni_names *t, unsigned cert, const char *text)
{
	size_t room = t->room ? 2 * t->room : 16;
	struct sni_name *v = t->v;
	char *copy;

	if (t->n == t->room) {
		v = reallocarray(t->v, room, sizeof(*v));
		if (!v)
			return -1;
		t->v = v;
		t->room = room;
	}
	copy = strdup(text);
	if (!copy)
		return -1;
	v[t->n++] = (struct sni_name){ .text = copy, .cert = cert };
	return 0;
}

/* A wildcard is kept with the dot behind it, with which no other name begins. */
int sni_names_add(struct sni_names *t, unsigned cert, const char *text, size_t n)
{
	bool wild = n > 2 && text[0] == '*' && text[1] == '.';
	size_t skip = wild ? 2 : 0;
	char name[1 + NAME_MAX_BYTES + 1] = ".";

	if (!normalize(text + skip, n - skip, name + 1))
		return 0;
	return append(t, cert, wild ? name : name + 1);
}

static int by_name_and_certificate(const void *x, const void *y)
{
	const struct sni_name *a = x, *b = y;
	int r = strcmp(a->text, b->text);

	return r ? r : (a->cert > b->cert) - (a->cert < b->cert);
}

void sni_names_sort(struct sni_names *t)
{
	size_t i, kept = 0;

	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_name_and_certificate);
	for (i = 0; i < t->n; i++) {
		if (kept && by_name_and_certificate(&t->v[kept - 1], &t->v[i]) == 0)
			free(t->v[i].text); /* said twice */
		else
			t->v[kept++] = t->v[i];
	}
	t->n = kept;
}

size_t sni_names_run(const struct sni_names *t, size_t first)
{
	size_t n = 0;

	while (first + n < t->n && strcmp(t->v[first + n].text, t->v[first].text) == 0)
		n++;
	return n;
}

static size_t find(const struct sni_names *t, const char *text, size_t *first)
{
	size_t low = 0, high = t->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (strcmp(t->v[middle].text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	return low < t->n && strcmp(t->v[low].text, text) == 0 ? sni_names_run(t, low) : 0;
}

size_t sni_names_find(const struct sni_names *t, const char *asked, size_t n, size_t *first)
{
	char name[NAME_MAX_BYTES + 1];
	const char *rest;
	size_t found;

	if (!normalize(asked, n, name))
		return 0;
	found = find(t, name, first);
	rest = found ? NULL : strchr(name, '.');
	return rest ? find(t, rest, first) : found;
}

void sni_names_free(struct sni_names *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->v[i].text);
	free(t->v);
	*t = (struct sni_names){ 0 };
}
