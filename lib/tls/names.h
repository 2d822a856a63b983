/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_NAMES_H
#define TLSKIT_TLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/err.h"

/* Names of suites, groups, signature schemes and versions as users write
 * them, and the GnuTLS priority string that they make.
 *
 * Spelling is lenient: case, '-' and '_' do not count, and the prefixes
 * "TLS_", "GROUP-" and "SIGN-" may be left out. So X25519MLKEM768 and
 * GROUP-X25519-MLKEM768 are one, and so are secp256r1 and SECP256R1; P-256,
 * P-384 and P-521 are known too. What the library that runs does not have is
 * an error that lists what it has; nothing is put in its place. */

struct names_list {
	const char *const *v;
	size_t n;
};

struct names_wanted {
	struct names_list suites; /* --ciphersuite; empty: the default list */
	struct names_list groups; /* --group */
	struct names_list signatures; /* --signature */
	int min_version; /* 12 or 13 */
	int max_version;
	bool certificates; /* key exchanges with certificates */
	bool psk; /* key exchanges with PSK */
	const char *priority; /* --priority: a raw GnuTLS string in place of all of it, or NULL */
};

/* The priority string, to be freed; or NULL with ERR_CONFIG that names option,
 * value and reason. */
char *names_priority(const struct names_wanted *w, struct err *e);

/* Whether `suite` (gnutls_ciphersuite_get's or gnutls_cipher_suite_info's
 * spelling) is one of the wanted ones; true for an empty list. A priority
 * string cannot name single suites, only their parts, so a session is held
 * against the list once more after its handshake. */
bool names_suite_wanted(const struct names_list *suites, const char *suite);

/* Whether both spellings mean one group. */
bool names_same_group(const char *a, const char *b);

/* Whether the groups' first place goes to a hybrid with ML-KEM here. */
bool names_has_mlkem(void);


/* One name a line, for completion. */
void names_list_suites(FILE *out);
void names_list_groups(FILE *out);

#endif
