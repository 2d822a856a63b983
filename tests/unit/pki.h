/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_PKI_H
#define TLSKIT_TESTS_PKI_H

#include <gnutls/x509.h>
#include <stdbool.h>

/* A small PKI in a temporary folder, made with GnuTLS at run time. Every
 * failure ends the test. */

struct pki {
	char dir[64];
	gnutls_x509_crt_t ca;
	gnutls_x509_privkey_t ca_key;
};

struct pki_leaf {
	const char *dn; /* "CN=app,OU=web" */
	const char *dns, *uri, *email; /* NULL: none */
	bool rsa; /* RSA-2048 in place of ECDSA P-256 */
	bool client; /* for clients, not servers */
	int from_days, to_days; /* validity relative to today; 0, 0: valid */
	bool self_signed;
};

void pki_make(struct pki *p); /* writes ca.pem */
void pki_free(struct pki *p); /* removes the folder */

/* Writes NAME.pem and NAME.key. */
void pki_leaf(struct pki *p, const char *name, const struct pki_leaf *leaf);

/* dir/file in one of a few static buffers. */
const char *pki_path(const struct pki *p, const char *file);

/* Writes a file there. */
void pki_write(const struct pki *p, const char *file, const void *data, size_t size);

/* --- certificates in memory, with what may be wrong about them --------------------- */

#define PKI_NOW 1767268800LL /* 2026-01-01 12:00:00 UTC: what the days below are relative to */

enum pki_key { PKI_EC, PKI_EC_384, PKI_EC_192, PKI_ED25519, PKI_RSA_1024, PKI_RSA_2048 };

struct pki_node {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	gnutls_datum_t der;
};

struct pki_spec {
	const char *dn;
	const char *names[8]; /* "dns:www.example", "ip:192.0.2.1", "uri:", "email:"; NULL at the end */
	const struct pki_node *issuer; /* NULL: self-signed */
	const struct pki_node *same_key; /* NULL: a key of its own */
	const struct pki_node *forged_by; /* signed with this one's key in place of the issuer's */
	enum pki_key key;
	gnutls_digest_algorithm_t digest; /* 0: SHA-256 */
	int from_days, to_days; /* 0, 0: from a day ago for thirty days */
	bool ca;
	int pathlen; /* one more than the path length; 0: none */
	unsigned usage; /* GNUTLS_KEY_*; 0: what suits it */
	const char *purpose; /* NULL: TLS servers, for one that is no CA */
	const char *permitted; /* the DNS name that constraints permit; NULL: none */
	const char *policy, *ocsp_url, *issuer_url;
	bool must_staple, critical_oddity, no_key_ids;
};

void pki_node(struct pki_node *out, const struct pki_spec *spec);
void pki_node_free(struct pki_node *node); /* zeros are fine */

#endif
