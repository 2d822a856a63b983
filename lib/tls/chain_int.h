/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CHAIN_INT_H
#define TLSKIT_TLS_CHAIN_INT_H

#include "lib/tls/chain.h"

/* What the files of chain_inspect share: facts of one certificate, the path,
 * the faults, the names. */

/* The flags with which GnuTLS is asked for the trust alone: time and strength
 * are judged by themselves, so that none of them hides the others. */
#define CHAIN_VERIFY_FLAGS (GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS | \
	GNUTLS_VERIFY_ALLOW_BROKEN | GNUTLS_VERIFY_DO_NOT_ALLOW_UNSORTED_CHAIN)

/* The longest path that is looked for, leaf and root included. */
#define CHAIN_DEPTH 16

/* --- chain_facts.c: what one certificate says ------------------------------------------- */

/* Fills cc from der, which is copied. A certificate that cannot be read becomes
 * CHAIN_UNREADABLE. 0, or -1 without memory. */
int chain_facts_read(struct chain_cert *cc, const gnutls_datum_t *der, bool names);
void chain_facts_free(struct chain_cert *cc);

/* A copy that a terminal can show: what it would act on and what is not UTF-8
 * becomes '?'. NULL without memory. */
char *chain_facts_clean(const void *text, size_t n);

/* Whether it is its own issuer, going by its names and key identifiers. */
bool chain_facts_self_signed(const struct chain_cert *cc);

/* Whether it may be used for TLS servers. GnuTLS lets a CA be for servers, or for
 * all by saying nothing, but not for "any purpose". */
bool chain_facts_for_servers(const struct chain_cert *cc, bool as_ca);

/* Whether key or signature is weak, wherever it stands. */
bool chain_facts_weak_key(const struct chain_cert *cc);
bool chain_facts_weak_signature(const struct chain_cert *cc);

/* How long the CA/Browser Forum lets a certificate of its day live, in days. */
int chain_facts_longest_days(int64_t not_before);
/* Whether it comes from a public CA and lives longer than that. */
bool chain_facts_long_life(const struct chain_cert *cc);

/* --- chain_path.c: from the leaf to something trusted ------------------------------------ */

struct chain_verdict {
	unsigned status; /* GnuTLS's: enum gnutls_certificate_status_t without time and strength; 0: trusted */
	bool end_trusted; /* the path's last certificate is trusted, whatever is wrong below it */
	bool revoked;
	size_t revoked_at; /* index of the certificate */
};

/* Fills c->path (and adds the anchor to c->certs when it was not sent). 0, or -1
 * without memory. */
int chain_path_find(struct chain *c, const struct chain_request *r, struct chain_verdict *v);

/* --- chain_order.c, chain_faults.c ------------------------------------------------------------------------ */

/* Which certificates there are: duplicates, order, what leads nowhere. Fills flags
 * and faults that need no path. */
void chain_order_judge(struct chain *c);

/* From path and verdict: the faults of each certificate, and the causes. 0, or -1
 * without memory. */
int chain_faults_judge(struct chain *c, const struct chain_request *r, const struct chain_verdict *v);

/* Why a certificate is CHAIN_CONSTRAINED. ca: index of the CA that sets the limit. */
enum chain_limit { CHAIN_LIMIT_NONE, CHAIN_LIMIT_DEPTH, CHAIN_LIMIT_NAMES };
enum chain_limit chain_faults_limit(const struct chain *c, size_t i, size_t *ca);

/* --- chain_name.c ---------------------------------------------------------------------------- */

/* Whether the leaf is for a name: 1 with the one of its names that fits ("dns:*.example",
 * to be freed), 0, or -1 without memory. */
int chain_name_match(const struct chain_cert *leaf, const char *name, char **out);
/* Whether the leaf has a name that counts, and whether its CN alone would fit. */
bool chain_name_has_san(const struct chain_cert *leaf);
bool chain_name_cn_fits(const struct chain_cert *leaf, const char *name);

#endif
