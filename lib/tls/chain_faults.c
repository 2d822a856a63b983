/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What is wrong with each certificate, and which of it counts. */

#include "lib/tls/chain_int.h"

#define UNTRUSTED_FAULTS (CHAIN_SELF_SIGNED | CHAIN_NOT_CA | CHAIN_WRONG_PURPOSE | CHAIN_ISSUER_MISSING | \
	CHAIN_UNTRUSTED_ROOT | CHAIN_BAD_SIGNATURE | CHAIN_CONSTRAINED | CHAIN_CRITICAL)

/* --- one certificate ------------------------------------------------------------------------ */

static unsigned own_faults(const struct chain_cert *cc, int64_t now)
{
	unsigned faults = 0;

	if (cc->not_after < now)
		faults |= CHAIN_EXPIRED;
	if (cc->not_before > now)
		faults |= CHAIN_NOT_YET;
	if (chain_facts_weak_key(cc))
		faults |= CHAIN_WEAK_KEY;
	if (chain_facts_weak_signature(cc) && !chain_facts_self_signed(cc))
		faults |= CHAIN_WEAK_SIGNATURE;
	return faults;
}

/* --- limits that CAs set ---------------------------------------------------------------------- */

static size_t place_on_path(const struct chain *c, size_t i)
{
	size_t k = 0;

	while (k < c->n_path && c->path[k] != i)
		k++;
	return k;
}

/* Whether the CA has a path length that the one at place k is the first to exceed. */
static bool exceeds_depth(const struct chain *c, size_t k, size_t ca)
{
	gnutls_x509_crt_t crt = c->certs[c->path[ca]].crt;
	int length = -1;

	if (k == 0 || gnutls_x509_crt_get_basic_constraints(crt, NULL, NULL, &length) < 0 || length < 0)
		return false;
	return ca - 1 - k == (size_t)length;
}

static bool forbids_names(gnutls_x509_crt_t ca, gnutls_x509_crt_t leaf)
{
	static const gnutls_x509_subject_alt_name_t kinds[] = { GNUTLS_SAN_DNSNAME, GNUTLS_SAN_IPADDRESS, GNUTLS_SAN_DN,
		GNUTLS_SAN_RFC822NAME, GNUTLS_SAN_URI };
	gnutls_x509_name_constraints_t nc;
	bool bad = false;
	size_t i;

	if (gnutls_x509_name_constraints_init(&nc) < 0)
		return false;
	if (gnutls_x509_crt_get_name_constraints(ca, nc, 0, NULL) == 0)
		for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			bad = bad || gnutls_x509_name_constraints_check_crt(nc, kinds[i], leaf) == 0;
	gnutls_x509_name_constraints_deinit(nc);
	return bad;
}

enum chain_limit chain_faults_limit(const struct chain *c, size_t i, size_t *ca)
{
	size_t k = place_on_path(c, i), up;

	for (up = k + 1; up < c->n_path; up++) {
		*ca = c->path[up];
		if (exceeds_depth(c, k, up))
			return CHAIN_LIMIT_DEPTH;
		if (k == 0 && forbids_names(c->certs[c->path[up]].crt, c->certs[i].crt))
			return CHAIN_LIMIT_NAMES;
	}
	return CHAIN_LIMIT_NONE;
}

/* --- the path ----------------------------------------------------------------------------------- */

static bool may_sign(gnutls_x509_crt_t crt)
{
	unsigned usage = 0;
	int r = gnutls_x509_crt_get_key_usage(crt, &usage, NULL);

	return r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE || (r == 0 && (usage & GNUTLS_KEY_KEY_CERT_SIGN));
}

/* One step of the path by itself: GnuTLS stops at the first fault of the whole. */
static void judge_link(struct chain *c, size_t k, bool by_anchor)
{
	struct chain_cert *cc = &c->certs[c->path[k]], *up = &c->certs[c->path[k + 1]];
	unsigned status = 0, flags = CHAIN_VERIFY_FLAGS;

	/* only something trusted may be a CA without saying so: X.509 version 1 */
	if (!by_anchor)
		flags |= GNUTLS_VERIFY_DO_NOT_ALLOW_X509_V1_CA_CRT;
	if (gnutls_x509_crt_verify(cc->crt, &up->crt, 1, flags, &status) < 0)
		status = GNUTLS_CERT_INVALID;
	if ((status & GNUTLS_CERT_SIGNATURE_FAILURE) || status == GNUTLS_CERT_INVALID)
		cc->faults |= CHAIN_BAD_SIGNATURE;
	if ((status & GNUTLS_CERT_SIGNER_NOT_CA) || !may_sign(up->crt))
		up->faults |= CHAIN_NOT_CA;
	/* what is not weak by the rule above is so by a rule of this system */
	if ((status & GNUTLS_CERT_INSECURE_ALGORITHM) &&
		!((cc->faults | up->faults) & (CHAIN_WEAK_KEY | CHAIN_WEAK_SIGNATURE)))
		cc->faults |= CHAIN_WEAK_KEY;
}

static void judge_alone(struct chain *c, size_t k, const struct chain_verdict *v)
{
	struct chain_cert *cc = &c->certs[c->path[k]];
	bool trusted = v->end_trusted && k + 1 == c->n_path;
	unsigned status = 0;
	size_t ca;

	if (trusted)
		cc->faults &= ~(unsigned)CHAIN_WEAK_SIGNATURE;
	if ((k == 0 || !trusted) && !chain_facts_for_servers(cc, k > 0))
		cc->faults |= CHAIN_WRONG_PURPOSE;
	if ((v->status & GNUTLS_CERT_SIGNER_CONSTRAINTS_FAILURE) &&
		chain_faults_limit(c, c->path[k], &ca) != CHAIN_LIMIT_NONE)
		cc->faults |= CHAIN_CONSTRAINED;
	if (gnutls_x509_crt_verify(cc->crt, NULL, 0, CHAIN_VERIFY_FLAGS, &status) == 0 &&
		(status & GNUTLS_CERT_UNKNOWN_CRIT_EXTENSIONS))
		cc->faults |= CHAIN_CRITICAL;
}

/* Where the path ends without trust. */
static void judge_end(struct chain *c)
{
	struct chain_cert *cc = &c->certs[c->path[c->n_path - 1]];

	if (!chain_facts_self_signed(cc))
		cc->faults |= CHAIN_ISSUER_MISSING;
	else
		cc->faults |= c->n_path == 1 ? CHAIN_SELF_SIGNED : CHAIN_UNTRUSTED_ROOT;
}

static void judge_path(struct chain *c, const struct chain_verdict *v)
{
	unsigned found = 0;
	size_t k;

	for (k = 0; k < c->n_path; k++)
		judge_alone(c, k, v);
	for (k = 0; k + 1 < c->n_path; k++)
		judge_link(c, k, v->end_trusted && k + 2 == c->n_path);
	if (v->revoked)
		c->certs[v->revoked_at].faults |= CHAIN_IS_REVOKED;
	if (!v->end_trusted)
		judge_end(c);
	for (k = 0; k < c->n_path; k++)
		found |= c->certs[c->path[k]].faults & UNTRUSTED_FAULTS;
	/* a rule of GnuTLS's that has no name here; nothing is refused without a fault */
	if (v->status && !found)
		c->certs[c->path[0]].faults |= CHAIN_CONSTRAINED;
}

/* --- the leaf ------------------------------------------------------------------------------------ */

static int judge_leaf(struct chain *c, const char *name)
{
	struct chain_cert *leaf = &c->certs[0];
	int fits;

	if (!leaf->crt)
		return 0;
	if (!chain_name_has_san(leaf))
		leaf->faults |= CHAIN_NO_SAN;
	if (chain_facts_long_life(leaf))
		leaf->faults |= CHAIN_LONG_LIFE;
	if (!name)
		return 0;
	fits = chain_name_match(leaf, name, &c->matched_name);
	if (fits > 0)
		return 0;
	c->causes |= CHAIN_NAME;
	if (!(leaf->faults & CHAIN_NO_SAN) || !chain_name_cn_fits(leaf, name))
		leaf->faults |= CHAIN_WRONG_NAME;
	return fits;
}

static unsigned causes_of(unsigned faults)
{
	unsigned causes = 0;

	if (faults & CHAIN_IS_REVOKED)
		causes |= CHAIN_REVOKED;
	if (faults & UNTRUSTED_FAULTS)
		causes |= CHAIN_UNTRUSTED;
	if (faults & (CHAIN_EXPIRED | CHAIN_NOT_YET))
		causes |= CHAIN_TIME;
	if (faults & (CHAIN_WEAK_KEY | CHAIN_WEAK_SIGNATURE))
		causes |= CHAIN_WEAK;
	return causes;
}

int chain_faults_judge(struct chain *c, const struct chain_request *r, const struct chain_verdict *v)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->certs[i].crt && !(c->certs[i].faults & CHAIN_DUPLICATE))
			c->certs[i].faults |= own_faults(&c->certs[i], r->now);
	if (c->n_path)
		judge_path(c, v);
	else
		c->causes |= CHAIN_UNTRUSTED;
	if (judge_leaf(c, r->name) < 0)
		return -1;
	for (i = 0; i < c->n_path; i++)
		c->causes |= causes_of(c->certs[c->path[i]].faults);
	c->complete = c->n_path && !(c->certs[c->path[c->n_path - 1]].faults & CHAIN_ISSUER_MISSING);
	return 0;
}
