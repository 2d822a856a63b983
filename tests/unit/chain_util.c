/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/chain_util.h"

#include <string.h>

struct pki_node root, inter, leaf, other_root, extra[CHAIN_MAX + 2];
gnutls_x509_trust_list_t trust;
struct chain_request request;
struct chain *chain;

void chain_trust(gnutls_x509_trust_list_t list, const struct pki_node *node)
{
	cr_assert(gnutls_x509_trust_list_add_trust_mem(list, &node->der, NULL, GNUTLS_X509_FMT_DER, 0, 0) == 1);
}

void chain_make(void)
{
	pki_node(&root, &(struct pki_spec){ .dn = "CN=root", LONG_CA });
	pki_node(&other_root, &(struct pki_spec){ .dn = "CN=other root", LONG_CA });
	pki_node(&inter, &(struct pki_spec){ .dn = "CN=inter", LONG_CA, .issuer = &root });
	pki_node(&leaf, &(struct pki_spec){ .dn = "CN=www", .issuer = &inter,
				.names = { "dns:www.example", "dns:*.wild.example", "ip:192.0.2.1", "ip:2001:db8::1" } });
	cr_assert(gnutls_x509_trust_list_init(&trust, 0) == 0);
	chain_trust(trust, &root);
	request = (struct chain_request){ .trust = trust, .name = "www.example", .now = PKI_NOW };
}

void chain_drop(void)
{
	size_t i;

	chain_free(chain);
	gnutls_x509_trust_list_deinit(trust, 1);
	pki_node_free(&root);
	pki_node_free(&other_root);
	pki_node_free(&inter);
	pki_node_free(&leaf);
	for (i = 0; i < sizeof(extra) / sizeof(*extra); i++)
		pki_node_free(&extra[i]);
}

struct chain *chain_look(const struct pki_node *const *nodes)
{
	gnutls_datum_t der[CHAIN_MAX];
	struct err e = { 0 };
	size_t n = 0;

	for (; nodes[n]; n++)
		der[n] = nodes[n]->der;
	chain_free(chain);
	chain = chain_inspect(der, n, &request, &e);
	cr_assert(chain, "%s", e.msg);
	return chain;
}

const char *chain_words(const struct chain *c, size_t i)
{
	static char text[4][200];
	static unsigned next;
	char *out = text[next++ % 4];
	unsigned f = 0;

	out[0] = '\0';
	while ((f = chain_fault_next(c->certs[i].faults, f))) {
		if (out[0])
			strcat(out, " ");
		strcat(out, chain_fault_name(f));
	}
	return out;
}

void chain_leaf(struct pki_node *out, struct pki_spec spec)
{
	if (!spec.dn)
		spec.dn = "CN=www";
	if (!spec.names[0])
		spec.names[0] = "dns:www.example";
	if (!spec.issuer)
		spec.issuer = &inter;
	pki_node(out, &spec);
}
