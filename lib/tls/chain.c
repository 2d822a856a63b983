/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/chain.h"

#include <stdlib.h>

#include "lib/tls/chain_int.h"

static int inspect(struct chain *c, const gnutls_datum_t *der, const struct chain_request *r)
{
	struct chain_verdict v;

	for (; c->n < c->n_sent; c->n++) {
		c->certs[c->n].sent = true;
		if (chain_facts_read(&c->certs[c->n], &der[c->n], c->n == 0) < 0)
			return -1;
	}
	chain_order_judge(c);
	if (chain_path_find(c, r, &v) < 0)
		return -1;
	return chain_faults_judge(c, r, &v);
}

struct chain *chain_inspect(const gnutls_datum_t *der, size_t n, const struct chain_request *r, struct err *e)
{
	struct chain *c;

	if (n == 0 || n > CHAIN_MAX) {
		err_set(e, ERR_AUTH, n ? "the server sent %zu certificates; %d are enough for anybody"
				       : "the server sent no certificate", n, CHAIN_MAX);
		return NULL;
	}
	c = calloc(1, sizeof(*c));
	if (c)
		c->certs = calloc(n + 1, sizeof(*c->certs)); /* one more: what the path ends in */
	if (c && c->certs) {
		c->n_sent = n;
		if (inspect(c, der, r) == 0)
			return c;
	}
	chain_free(c);
	err_set(e, ERR_RUNTIME, "no memory");
	return NULL;
}

void chain_free(struct chain *c)
{
	size_t i;

	if (!c)
		return;
	/* one may be half read */
	for (i = 0; c->certs && i <= c->n_sent; i++)
		chain_facts_free(&c->certs[i]);
	free(c->certs);
	free(c->path);
	free(c->matched_name);
	free(c);
}

int chain_pem(const struct chain_cert *cert, gnutls_datum_t *out)
{
	return gnutls_pem_base64_encode2("CERTIFICATE", &cert->der, out) < 0 ? -1 : 0;
}
