/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The path from the leaf to something trusted. GnuTLS decides on trust, but it
 * follows one path alone and stops at its first fault. So every path that the
 * certificates make is laid before it by itself, and the best one counts. */

#include <stdlib.h>
#include <string.h>

#include "lib/tls/chain_int.h"

/* A server may send certificates that make endless paths: these many steps and
 * these many questions to GnuTLS, then the best path so far counts. */
#define MAX_STEPS     2000
#define MAX_QUESTIONS 64

struct path {
	size_t v[CHAIN_DEPTH], n;
	gnutls_x509_crt_t anchor; /* owned: from the trust list; NULL: none, or it is the last one itself */
	unsigned status;
	bool revoked;
	size_t revoked_at;
	int score; /* the least is the best */
};

enum edge { EDGE_NOT_TRIED, EDGE_NONE, EDGE_BY_NAME, EDGE_SIGNED };

struct search {
	const struct chain *c;
	const struct chain_request *r;
	uint8_t edge[CHAIN_MAX][CHAIN_MAX]; /* enum edge: from a certificate to who issued it */
	bool on_stack[CHAIN_MAX];
	size_t stack[CHAIN_DEPTH], depth;
	unsigned steps, questions;
	bool found; /* a path without any fault */
	struct path best;
};

/* --- one path -------------------------------------------------------------------------------- */

/* GnuTLS calls back without a pointer of ours. */
static _Thread_local gnutls_x509_crt_t revoked_crt;

static int note_revoked(gnutls_x509_crt_t crt, gnutls_x509_crt_t issuer, gnutls_x509_crl_t crl, unsigned status)
{
	(void)issuer;
	(void)crl;
	if (status & GNUTLS_CERT_REVOKED)
		revoked_crt = crt;
	return 0;
}

/* What is left when strength and revocation are looked at by themselves. */
static unsigned trust_part(unsigned status)
{
	unsigned apart = GNUTLS_CERT_INSECURE_ALGORITHM | GNUTLS_CERT_REVOKED;
	unsigned rest = status & ~(apart | GNUTLS_CERT_INVALID);

	if (rest == 0 && (status & apart))
		return 0;
	return rest ? rest : status & GNUTLS_CERT_INVALID;
}

static void ask(struct search *s, struct path *p)
{
	gnutls_x509_crt_t list[CHAIN_DEPTH];
	unsigned flags = CHAIN_VERIFY_FLAGS | (s->r->have_crls ? 0 : GNUTLS_VERIFY_DISABLE_CRL_CHECKS);
	unsigned status = 0;
	size_t i;

	for (i = 0; i < p->n; i++)
		list[i] = s->c->certs[p->v[i]].crt;
	revoked_crt = NULL;
	s->questions++;
	if (!s->r->trust)
		status = GNUTLS_CERT_SIGNER_NOT_FOUND;
	else if (gnutls_x509_trust_list_verify_crt2(s->r->trust, list, (unsigned)p->n, NULL, 0, flags, &status,
			 note_revoked) < 0)
		status = GNUTLS_CERT_INVALID;
	p->status = trust_part(status);
	p->revoked = (status & GNUTLS_CERT_REVOKED) != 0;
	for (i = 0; i < p->n; i++)
		if (list[i] == revoked_crt)
			p->revoked_at = p->v[i];
}

static bool in_time(gnutls_x509_crt_t crt, int64_t now)
{
	return gnutls_x509_crt_get_activation_time(crt) <= now && gnutls_x509_crt_get_expiration_time(crt) >= now;
}

static bool link_is_signed(gnutls_x509_crt_t crt, gnutls_x509_crt_t issuer)
{
	unsigned status = 0, flags = CHAIN_VERIFY_FLAGS | GNUTLS_VERIFY_DISABLE_CA_SIGN;

	return gnutls_x509_crt_verify(crt, &issuer, 1, flags, &status) == 0 &&
	       !(status & GNUTLS_CERT_SIGNATURE_FAILURE) && trust_part(status) != GNUTLS_CERT_INVALID;
}

/* A root is often there twice, renewed with the same key or with another: one that signed
 * `last`, and if there is such a one, in time. */
static gnutls_x509_crt_t other_anchor(const struct search *s, gnutls_x509_crt_t last)
{
	gnutls_x509_trust_list_iter_t iter = NULL;
	gnutls_x509_crt_t crt, found = NULL, worse;

	while (gnutls_x509_trust_list_iter_get_ca(s->r->trust, &iter, &crt) == 0) {
		worse = crt;
		if ((!found || (!in_time(found, s->r->now) && in_time(crt, s->r->now))) &&
			gnutls_x509_crt_check_issuer(last, crt) && link_is_signed(last, crt)) {
			worse = found;
			found = crt;
		}
		gnutls_x509_crt_deinit(worse);
	}
	gnutls_x509_trust_list_iter_deinit(iter);
	return found;
}

static void find_anchor(struct search *s, struct path *p)
{
	gnutls_x509_crt_t last = s->c->certs[p->v[p->n - 1]].crt, other;

	p->anchor = NULL;
	if (!s->r->trust || gnutls_x509_trust_list_get_issuer(s->r->trust, last, &p->anchor, GNUTLS_TL_GET_COPY) < 0) {
		p->anchor = NULL; /* the last one is trusted as it is, or nothing */
		return;
	}
	if (!(in_time(p->anchor, s->r->now) && link_is_signed(last, p->anchor)) && (other = other_anchor(s, last))) {
		gnutls_x509_crt_deinit(p->anchor);
		p->anchor = other;
	}
	/* a self-signed one that is not trusted only has the name of something trusted */
	if (gnutls_x509_crt_equals(p->anchor, last) || (p->status && gnutls_x509_crt_check_issuer(last, last))) {
		gnutls_x509_crt_deinit(p->anchor);
		p->anchor = NULL;
	}
}

enum { PER_UNTRUSTED = 100000, PER_REVOKED = 50000, PER_OPEN_END = 20000, PER_BAD_LINK = 5000, PER_PURPOSE = 2000,
	PER_TIME = 1000, PER_WEAK = 100 };

static enum edge edge_of(struct search *s, size_t from, size_t to);

static int score(struct search *s, const struct path *p)
{
	const struct chain_cert *cc;
	bool root = chain_facts_self_signed(&s->c->certs[p->v[p->n - 1]]);
	int sum = (p->status ? PER_UNTRUSTED : 0) + (p->revoked ? PER_REVOKED : 0);
	size_t i;

	if (p->status && !p->anchor && !root)
		sum += PER_OPEN_END;
	for (i = 0; i < p->n; i++) {
		cc = &s->c->certs[p->v[i]];
		sum += in_time(cc->crt, s->r->now) ? 0 : PER_TIME;
		sum += chain_facts_for_servers(cc, i > 0) ? 0 : PER_PURPOSE;
		sum += chain_facts_weak_key(cc) || (!chain_facts_self_signed(cc) && chain_facts_weak_signature(cc))
			? PER_WEAK
			: 0;
		if (i > 0 && edge_of(s, p->v[i - 1], p->v[i]) != EDGE_SIGNED)
			sum += PER_BAD_LINK;
	}
	if (p->anchor && !in_time(p->anchor, s->r->now))
		sum += PER_TIME;
	/* of two that are as good the shorter; of two that lead nowhere the longer */
	return sum + (p->status ? CHAIN_DEPTH - (int)p->n : (int)p->n);
}

/* --- all paths ------------------------------------------------------------------------------- */

static enum edge edge_of(struct search *s, size_t from, size_t to)
{
	uint8_t *edge = &s->edge[from][to];
	const struct chain_cert *a = &s->c->certs[from], *b = &s->c->certs[to];

	if (*edge != EDGE_NOT_TRIED)
		return (enum edge)*edge;
	if (from == to || !a->crt || !b->crt || ((a->faults | b->faults) & CHAIN_DUPLICATE) ||
		!gnutls_x509_crt_check_issuer(a->crt, b->crt))
		*edge = EDGE_NONE;
	else
		*edge = link_is_signed(a->crt, b->crt) ? EDGE_SIGNED : EDGE_BY_NAME;
	return (enum edge)*edge;
}

static bool leads_on(struct search *s, size_t from)
{
	size_t i;

	if (chain_facts_self_signed(&s->c->certs[from]))
		return false;
	for (i = 1; i < s->c->n_sent; i++)
		if (!s->on_stack[i] && edge_of(s, from, i) != EDGE_NONE)
			return true;
	return false;
}

static void keep_if_better(struct search *s, struct path *p)
{
	p->score = score(s, p);
	if (s->best.n && s->best.score <= p->score) {
		if (p->anchor)
			gnutls_x509_crt_deinit(p->anchor);
		return;
	}
	if (s->best.anchor)
		gnutls_x509_crt_deinit(s->best.anchor);
	s->best = *p;
	s->found = p->score < PER_WEAK;
}

/* The path on the stack: whether it leads to trust, or nowhere. */
static void consider(struct search *s)
{
	struct path p = { .n = s->depth };

	memcpy(p.v, s->stack, s->depth * sizeof(*s->stack));
	ask(s, &p);
	find_anchor(s, &p);
	/* without trust it counts where it ends */
	if (p.status && !p.anchor && s->depth < CHAIN_DEPTH && leads_on(s, s->stack[s->depth - 1]))
		return;
	keep_if_better(s, &p);
}

static void walk(struct search *s, size_t at)
{
	enum edge kind;
	size_t i;

	s->stack[s->depth++] = at;
	s->on_stack[at] = true;
	consider(s);
	for (kind = EDGE_SIGNED; kind >= EDGE_BY_NAME; kind--)
		for (i = 1; i < s->c->n_sent && leads_on(s, at); i++) {
			if (s->found || s->depth == CHAIN_DEPTH || s->questions >= MAX_QUESTIONS ||
				s->steps++ >= MAX_STEPS)
				break;
			if (!s->on_stack[i] && edge_of(s, at, i) == kind)
				walk(s, i);
		}
	s->on_stack[at] = false;
	s->depth--;
}

/* --- the result -------------------------------------------------------------------------------- */

/* The anchor's index: that of the same certificate among those sent, or a new one. */
static int add_anchor(struct chain *c, gnutls_x509_crt_t anchor, size_t *at)
{
	struct chain_cert *cc;
	gnutls_datum_t der = { NULL, 0 };
	int r;

	for (*at = 0; *at < c->n_sent; (*at)++) /* the first of it, if there are duplicates */
		if (c->certs[*at].crt && gnutls_x509_crt_equals(c->certs[*at].crt, anchor))
			return 0;
	*at = c->n;
	cc = &c->certs[c->n];
	if (gnutls_x509_crt_export2(anchor, GNUTLS_X509_FMT_DER, &der) < 0)
		return -1;
	c->n++;
	r = chain_facts_read(cc, &der, false);
	gnutls_free(der.data);
	return r;
}

static int take_path(struct chain *c, const struct path *p)
{
	size_t i, at;

	c->path = calloc(p->n + 1, sizeof(*c->path));
	if (!c->path)
		return -1;
	memcpy(c->path, p->v, p->n * sizeof(*p->v));
	c->n_path = p->n;
	for (i = 0; i < c->n_path; i++)
		c->certs[c->path[i]].on_path = true;
	if (p->anchor) {
		if (add_anchor(c, p->anchor, &at) < 0)
			return -1;
		/* CAs may certify each other in a circle */
		if (!c->certs[at].on_path)
			c->path[c->n_path++] = at;
		c->certs[at].on_path = true;
	}
	return 0;
}

static bool trusted_alone(struct search *s, size_t at)
{
	struct path p = { .v = { at }, .n = 1 };

	ask(s, &p);
	return p.status == 0;
}

int chain_path_find(struct chain *c, const struct chain_request *r, struct chain_verdict *v)
{
	struct search *s;
	int ret = 0;

	*v = (struct chain_verdict){ .status = GNUTLS_CERT_INVALID };
	if (!c->certs[0].crt)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -1;
	s->c = c;
	s->r = r;
	walk(s, 0);
	v->status = s->best.status;
	v->revoked = s->best.revoked;
	v->revoked_at = s->best.revoked_at;
	if (s->best.n)
		ret = take_path(c, &s->best);
	v->end_trusted = s->best.anchor || !v->status || trusted_alone(s, s->best.v[s->best.n - 1]);
	if (s->best.anchor)
		gnutls_x509_crt_deinit(s->best.anchor);
	free(s);
	return ret;
}
