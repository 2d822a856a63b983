/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What was sent, and in which order: nothing here depends on trust. */

#include <string.h>

#include "lib/tls/chain_int.h"

static bool issued_by(const struct chain *c, size_t i, size_t issuer)
{
	gnutls_x509_crt_t crt = c->certs[i].crt, up = c->certs[issuer].crt;

	return crt && up && gnutls_x509_crt_check_issuer(crt, up);
}

static void mark_duplicates(struct chain *c)
{
	size_t i, j;

	for (i = 1; i < c->n_sent; i++)
		for (j = 0; j < i; j++)
			if (c->certs[j].der.size == c->certs[i].der.size &&
				memcmp(c->certs[j].sha256, c->certs[i].sha256, sizeof(c->certs[i].sha256)) == 0)
				c->certs[i].faults |= CHAIN_DUPLICATE;
}

/* Those that a row of issuers leads to from `start`, itself included. */
static void reach(const struct chain *c, size_t start, bool reached[CHAIN_MAX])
{
	size_t queue[CHAIN_MAX], n = 0, k, i;

	memset(reached, 0, CHAIN_MAX * sizeof(*reached));
	reached[start] = true;
	queue[n++] = start;
	for (k = 0; k < n; k++)
		for (i = 0; i < c->n_sent; i++)
			if (!reached[i] && issued_by(c, queue[k], i)) {
				reached[i] = true;
				queue[n++] = i;
			}
}

/* Another certificate of a CA that has one in its place already (cross-signed):
 * two of them cannot both stand behind the one they certify. */
static bool is_alternative(const struct chain *c, size_t i)
{
	const struct chain_cert *a = &c->certs[i], *b;
	size_t j;

	for (j = 1; j < i; j++) {
		b = &c->certs[j];
		if (b->crt && !(b->faults & CHAIN_OUT_OF_ORDER) && strcmp(a->subject, b->subject) == 0 &&
			memcmp(a->pin, b->pin, sizeof(a->pin)) == 0)
			return true;
	}
	return false;
}

/* A chain turned round: the first is a CA, and a later one is the server's. */
static void mark_reversed(struct chain *c)
{
	bool reached[CHAIN_MAX];
	size_t k, i;

	if (!c->certs[0].crt || !c->certs[0].is_ca)
		return;
	for (k = 1; k < c->n_sent; k++) {
		if (!c->certs[k].crt || c->certs[k].is_ca || (c->certs[k].faults & CHAIN_DUPLICATE))
			continue;
		reach(c, k, reached);
		if (!reached[0])
			continue;
		for (i = 1; i < c->n_sent; i++)
			if (reached[i] && (c->certs[i].faults & CHAIN_USELESS))
				c->certs[i].faults ^= CHAIN_USELESS | CHAIN_OUT_OF_ORDER;
	}
}

static unsigned place_of(const struct chain *c, size_t i)
{
	const struct chain_cert *prev = &c->certs[i - 1];

	if (!prev->crt || issued_by(c, i - 1, i) || is_alternative(c, i))
		return 0;
	return CHAIN_OUT_OF_ORDER;
}

void chain_order_judge(struct chain *c)
{
	bool reached[CHAIN_MAX];
	struct chain_cert *cc;
	size_t i;

	mark_duplicates(c);
	reach(c, 0, reached);
	for (i = 1; i < c->n_sent; i++) {
		cc = &c->certs[i];
		if (!cc->crt || (cc->faults & CHAIN_DUPLICATE))
			continue;
		cc->faults |= reached[i] ? place_of(c, i) : CHAIN_USELESS;
		if (reached[i] && chain_facts_self_signed(cc))
			cc->faults |= CHAIN_EXTRA_ROOT;
	}
	mark_reversed(c);
	c->ordered = true;
	for (i = 1; i < c->n_sent; i++) {
		c->ordered = c->ordered && !(c->certs[i].faults & CHAIN_OUT_OF_ORDER);
		c->has_root = c->has_root || (c->certs[i].faults & CHAIN_EXTRA_ROOT);
	}
}
