/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_OFFER_H
#define TLSKIT_TLS_OFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* What a client can offer with the GnuTLS that runs, piece by piece, the weak pieces
 * too; and offers of some of them and nothing else, to find out which ones a server
 * takes. Suites that need a key or a password (PSK, SRP) and GOST are not in it. */

enum offer_version { OFFER_TLS1_0, OFFER_TLS1_1, OFFER_TLS1_2, OFFER_TLS1_3 };
#define OFFER_VERSIONS 4

/* What there is to say about a piece. */
enum offer_trait {
	OFFER_OLD = 1 << 0, /* a version before TLS 1.2 (RFC 8996) */
	OFFER_NULL = 1 << 1, /* no encryption */
	OFFER_ANON = 1 << 2, /* nobody says who he is */
	OFFER_RC4 = 1 << 3, /* RFC 7465 */
	OFFER_3DES = 1 << 4, /* blocks of 64 bits (CVE-2016-2183) */
	OFFER_MD5 = 1 << 5, /* in a MAC or a signature */
	OFFER_STATIC_RSA = 1 << 6, /* no forward secrecy, and an oracle at each mistake (ROBOT) */
	OFFER_SHA1 = 1 << 7, /* in a signature (RFC 9155) */
	OFFER_SMALL_GROUP = 1 << 8, /* a curve below 224 bits, a prime below 2048 */
	OFFER_SMALL_KEY = 1 << 9, /* RSA or DSA below 2048 bits, EC below 224 */
	OFFER_CBC = 1 << 10, /* notes from here on: not broken, not the best either */
	OFFER_SHORT_TAG = 1 << 11, /* of 64 bits: CCM_8 */
	OFFER_DSA = 1 << 12,
};
#define OFFER_WEAK ((unsigned)OFFER_CBC - 1) /* the traits that are no mere notes */

enum offer_kx { OFFER_KX_TLS1_3, OFFER_KX_ECDHE, OFFER_KX_DHE, OFFER_KX_RSA, OFFER_KX_ECDH_ANON, OFFER_KX_DH_ANON };

struct offer_suite {
	uint16_t id; /* of the registry */
	char name[56]; /* the registry's */
	const char *kx_part, *cipher_part, *mac_part; /* in priority strings; static */
	enum offer_kx kx;
	unsigned traits;
	unsigned versions; /* 1 << version: where it can be offered */
};

struct offer_group {
	uint16_t id;
	const char *name; /* GnuTLS's; static */
	bool ffdhe;
	unsigned traits, versions; /* versions: 0, this GnuTLS does not have it */
};

struct offer_signature {
	uint16_t id;
	const char *name12, *name13; /* GnuTLS's for TLS 1.2 and 1.3; static; NULL: not there */
	unsigned traits, versions;
};

#define OFFER_SUITES_MAX 256

struct offer_list {
	struct offer_suite suites[OFFER_SUITES_MAX]; /* the best first */
	size_t n_suites;
	struct offer_group *groups; /* those that this GnuTLS does not have as well */
	size_t n_groups;
	struct offer_signature *signatures; /* likewise */
	size_t n_signatures;
};

/* NULL: no memory. */
struct offer_list *offer_list_new(void);
void offer_list_free(struct offer_list *l);

/* Some of it, in the order in which it is to be offered; all borrowed. Without groups
 * or signatures there are none. In TLS 1.3 the schemes that certificates alone are
 * signed with go along, behind the others. */
struct offer {
	enum offer_version version;
	const struct offer_suite **suites;
	size_t n_suites;
	const struct offer_group **groups;
	size_t n_groups;
	const struct offer_signature **signatures;
	size_t n_signatures;
};

/* The priority string with these parts, to be freed; NULL: no memory. It names key
 * exchanges, ciphers and MACs, and so it offers every suite that can be made of them:
 * in TLS 1.3, and where there is one suite, that one alone. Else session_peer.suites has
 * the hello say just those of the offer. */
char *offer_priority(const struct offer *o);

/* Whether the string's suites are those of the offer and no others, in whichever order. */
bool offer_is_exact(const struct offer *o);

/* "TLS 1.2". */
const char *offer_version_name(enum offer_version v);
/* The scheme's name in this version. */
const char *offer_signature_name(const struct offer_signature *s, enum offer_version v);

/* "GnuTLS 3.7.9". Returns out. */
char *offer_library(char *out, size_t size);

#endif
