/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What there is to ask of a configuration. */

#include "lib/tls/config.h"

#include "lib/tls/tls_int.h"

const uint8_t *config_ephemeral_pin(const struct tls_config *c)
{
	return c->has_ephemeral ? c->ephemeral_pin : NULL;
}

enum config_trust config_trust(const struct tls_config *c)
{
	return c->trust;
}

gnutls_x509_trust_list_t config_trust_list(const struct tls_config *c)
{
	gnutls_x509_trust_list_t list = NULL;

	gnutls_certificate_get_trust_list(c->cert, &list);
	return list;
}

bool config_has_crl(const struct tls_config *c)
{
	return c->has_crl;
}

int64_t config_crl_until(const struct tls_config *c)
{
	return c->crl_until;
}

bool config_has_cert(const struct tls_config *c)
{
	return c->has_cert;
}

bool config_has_pins(const struct tls_config *c)
{
	return c->n_pins > 0;
}

bool config_is_pinned(const struct tls_config *c, const uint8_t pin[CERT_PIN_SIZE])
{
	bool found = false;
	size_t i;

	for (i = 0; i < c->n_pins; i++)
		found |= gnutls_memcmp(c->pins[i], pin, CERT_PIN_SIZE) == 0;
	return found;
}

bool config_wants_kernel(const struct tls_config *c)
{
	return c->dataplane == TLS_DATAPLANE_KTLS;
}

bool config_signs_slowly(const struct tls_config *c)
{
	gnutls_x509_crt_t *chain;
	unsigned i, k, n;
	bool slowly = c->role == TLS_SERVER && c->has_token;

	for (i = 0; c->role == TLS_SERVER && gnutls_certificate_get_x509_crt(c->cert, i, &chain, &n) == 0; i++) {
		int algorithm = n ? gnutls_x509_crt_get_pk_algorithm(chain[0], NULL) : GNUTLS_PK_UNKNOWN;

		slowly |= algorithm == GNUTLS_PK_RSA || algorithm == GNUTLS_PK_RSA_PSS;
		for (k = 0; k < n; k++)
			gnutls_x509_crt_deinit(chain[k]);
		gnutls_free(chain);
	}
	return slowly;
}

const char *config_servername(const struct tls_config *c)
{
	return c->servername;
}

const char *config_verify_name(const struct tls_config *c)
{
	return c->verify_name;
}
