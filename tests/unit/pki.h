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

#endif
