/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_OFFER_H
#define TLSKIT_TLS_OFFER_H

#include <stddef.h>
#include <stdint.h>

/* What this GnuTLS can offer a server, weak things too, and how to offer just some of it:
 * for finding out what a server takes. Never for carrying data. */

enum offer_kind { OFFER_SUITE, OFFER_GROUP, OFFER_SIGNATURE };

#define OFFER_MAX 192 /* of a kind in a version */

struct offer {
	const char *name; /* as session_info has it: suites by the registry; static */
	const char *weak; /* what is weak about it; static; NULL: nothing */
	uint16_t suite; /* its number; 0 for other kinds */
};

/* Versions are 10 (TLS 1.0) to 13. What can be offered in this one, with certificates as
 * the server's proof, the strongest first; the number of them. Signatures: none before
 * TLS 1.2, where they are not negotiated. */
size_t offer_list(enum offer_kind kind, int version, struct offer out[OFFER_MAX]);

const char *offer_library(void); /* "GnuTLS 3.7.9" */

const char *offer_version_name(int version); /* "TLS1.2" */
const char *offer_version_weak(int version); /* "TLS 1.0"; NULL: it is not */

/* The priority string for config_new that offers this version with all there is, but of
 * `kind` only the n named, in this order. Groups and signatures are offered exactly.
 * Suites before TLS 1.3 go by their parts: every suite of a key exchange, a cipher and a
 * MAC that occur among the named is offered (one alone is exact). n = 0: all of the kind
 * too. Owned; NULL: no memory. */
char *offer_priority(int version, enum offer_kind kind, const char *const *names, size_t n);

/* The number of a suite; 0: unknown. */
uint16_t offer_suite(const char *name);

#endif
