/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/crl.h"

#include <gnutls/x509.h>
#include <stdbool.h>
#include <string.h>

int64_t crl_until(const gnutls_datum_t *data)
{
	bool pem = memmem(data->data, data->size, "-----BEGIN", 10) != NULL;
	gnutls_x509_crl_t *list = NULL;
	unsigned n = 0;
	int64_t first = -1, until;

	if (gnutls_x509_crl_list_import2(&list, &n, data, pem ? GNUTLS_X509_FMT_PEM : GNUTLS_X509_FMT_DER, 0) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		until = gnutls_x509_crl_get_next_update(list[i]);
		if (until != -1 && (first == -1 || until < first))
			first = until;
		gnutls_x509_crl_deinit(list[i]);
	}
	gnutls_free(list);
	return first;
}
