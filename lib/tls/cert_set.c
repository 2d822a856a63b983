/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/cert_set.h"

#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/signer.h"

#define NAME_SIZE 256 /* a DNS name (RFC 1035, 2.3.4) and its end */
#define NAMES_MAX 1024

/* --- the names that a server is chosen by (RFC 6066, 3) --------------------------------- */

struct names {
	char *name[NAMES_MAX];
	int n;
};

/* A name with NUL in it is none: who reads it as a string would take it for another one. */
static int give_name(cert_set_name_fn *fn, void *arg, const char *text, size_t n)
{
	if (!n || memchr(text, '\0', n))
		return 0;
	fn(arg, text, n);
	return 1;
}

void cert_set_names(gnutls_x509_crt_t crt, cert_set_name_fn *fn, void *arg)
{
	char text[NAME_SIZE];
	int given = 0, r;
	size_t size;
	unsigned i;

	for (i = 0; i < NAMES_MAX; i++) {
		size = sizeof(text);
		r = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &size, NULL);
		if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			break;
		if (r == GNUTLS_SAN_DNSNAME)
			given += give_name(fn, arg, text, size);
	}
	size = sizeof(text);
	if (!given && gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &size) == 0)
		give_name(fn, arg, text, size);
}

static void add_name(void *arg, const char *text, size_t n)
{
	struct names *names = arg;

	if (names->n < NAMES_MAX && (names->name[names->n] = strndup(text, n)))
		names->n++;
}

static void free_names(struct names *names)
{
	int i;

	for (i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names);
}

/* --- a key that is not GnuTLS's ---------------------------------------------------------- */

/* On success cred owns key and certificates. */
static int set_key(gnutls_certificate_credentials_t cred, gnutls_pcert_st *chain, unsigned n, gnutls_x509_crt_t leaf,
	gnutls_privkey_t key)
{
	struct names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return GNUTLS_E_MEMORY_ERROR;
	cert_set_names(leaf, add_name, names);
	r = gnutls_certificate_set_key(cred, (const char **)names->name, names->n, chain, (int)n, key);
	free_names(names);
	return r;
}

static int set_signer(gnutls_certificate_credentials_t cred, gnutls_x509_crt_t *crt, unsigned n, gnutls_privkey_t key)
{
	gnutls_pcert_st *chain = calloc(n, sizeof(*chain));
	unsigned size = n, i;
	int r = chain ? gnutls_pcert_import_x509_list(chain, crt, &size, 0) : GNUTLS_E_MEMORY_ERROR;

	if (r == 0) {
		r = set_key(cred, chain, size, crt[0], key);
		for (i = 0; r < 0 && i < size; i++)
			gnutls_pcert_deinit(&chain[i]);
	}
	if (r < 0)
		gnutls_privkey_deinit(key);
	free(chain);
	return r;
}

int cert_set(gnutls_certificate_credentials_t cred, gnutls_x509_crt_t *crt, unsigned n, gnutls_x509_privkey_t key,
	struct signer *signer)
{
	gnutls_privkey_t made = signer ? signer_key(signer) : NULL;

	return made ? set_signer(cred, crt, n, made) : gnutls_certificate_set_x509_key(cred, crt, (int)n, key);
}
