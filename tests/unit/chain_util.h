/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_CHAIN_UTIL_H
#define TLSKIT_TESTS_CHAIN_UTIL_H

#include <criterion/criterion.h>

#include "lib/tls/chain.h"
#include "tests/unit/pki.h"

/* A root that is trusted, an intermediate and a leaf for www.example, and more
 * of them as a test needs it. */

#define LONG_CA .ca = true, .from_days = -1000, .to_days = 2000

extern struct pki_node root, inter, leaf, other_root, extra[CHAIN_MAX + 2];
extern gnutls_x509_trust_list_t trust;
extern struct chain_request request;
extern struct chain *chain;

void chain_make(void);
void chain_drop(void);

/* One more root that is trusted. */
void chain_trust(gnutls_x509_trust_list_t list, const struct pki_node *node);

/* Inspects these, up to NULL; the result stands in `chain` as well. */
struct chain *chain_look(const struct pki_node *const *nodes);
#define LOOK(...) chain_look((const struct pki_node *const[]){ __VA_ARGS__, NULL })

/* "expired wrong-name": the faults of certs[i]. */
const char *chain_words(const struct chain *c, size_t i);

/* A leaf of inter for www.example, where the spec says nothing else. */
void chain_leaf(struct pki_node *out, struct pki_spec spec);

#define EXPECT_FAULTS(c, i, expected) \
	do { \
		const struct chain *c_ = (c); \
		cr_expect_str_eq(chain_words(c_, i), expected, "certificate %zu: \"%s\", expected \"%s\"", (size_t)(i), \
			chain_words(c_, i), expected); \
	} while (0)
#define EXPECT_CAUSES(c, expected) \
	do { \
		const struct chain *c_ = (c); \
		cr_expect(c_->causes == (unsigned)(expected), "causes %#x, expected %#x", c_->causes, \
			(unsigned)(expected)); \
	} while (0)

#endif
