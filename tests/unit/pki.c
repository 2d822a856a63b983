/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/pki.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <gnutls/x509-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY (24 * 3600)

const char *pki_path(const struct pki *p, const char *file)
{
	static char text[8][512];
	static unsigned next;
	char *out = text[next++ % 8];

	snprintf(out, sizeof(text[0]), "%s/%s", p->dir, file);
	return out;
}

void pki_write(const struct pki *p, const char *file, const void *data, size_t size)
{
	FILE *f = fopen(pki_path(p, file), "w");

	cr_assert(f && fchmod(fileno(f), 0600) == 0 && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void set_serial(gnutls_x509_crt_t crt)
{
	static unsigned char n;
	unsigned char serial[4] = { 1, 2, 3, ++n };

	cr_assert(gnutls_x509_crt_set_serial(crt, serial, sizeof(serial)) == 0);
}

static void write_crt(const struct pki *p, const char *file, gnutls_x509_crt_t crt)
{
	gnutls_datum_t d;

	cr_assert(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &d) == 0);
	pki_write(p, file, d.data, d.size);
	gnutls_free(d.data);
}

void pki_make(struct pki *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/tlskit-pki-XXXXXX");
	cr_assert(mkdtemp(p->dir));
	cr_assert(gnutls_x509_privkey_init(&p->ca_key) == 0);
	cr_assert(gnutls_x509_privkey_generate(p->ca_key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) == 0);
	cr_assert(gnutls_x509_crt_init(&p->ca) == 0);
	gnutls_x509_crt_set_version(p->ca, 3);
	set_serial(p->ca);
	gnutls_x509_crt_set_activation_time(p->ca, time(NULL) - 100 * DAY);
	gnutls_x509_crt_set_expiration_time(p->ca, time(NULL) + 100 * DAY);
	gnutls_x509_crt_set_dn(p->ca, "CN=test CA", NULL);
	gnutls_x509_crt_set_key(p->ca, p->ca_key);
	gnutls_x509_crt_set_basic_constraints(p->ca, 1, -1);
	gnutls_x509_crt_set_key_usage(p->ca, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
	cr_assert(gnutls_x509_crt_sign2(p->ca, p->ca, p->ca_key, GNUTLS_DIG_SHA256, 0) == 0);
	write_crt(p, "ca.pem", p->ca);
}

void pki_free(struct pki *p)
{
	struct dirent *e;
	DIR *d = opendir(p->dir);

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlink(pki_path(p, e->d_name));
	if (d)
		closedir(d);
	rmdir(p->dir);
	gnutls_x509_crt_deinit(p->ca);
	gnutls_x509_privkey_deinit(p->ca_key);
}

static void set_name(gnutls_x509_crt_t crt, gnutls_x509_subject_alt_name_t type, const char *value)
{
	if (value)
		cr_assert(gnutls_x509_crt_set_subject_alt_name(crt, type, value, (unsigned)strlen(value), GNUTLS_FSAN_APPEND) == 0);
}

static void make_key(gnutls_x509_privkey_t key, bool rsa)
{
	unsigned bits = rsa ? 2048 : GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);

	cr_assert(gnutls_x509_privkey_generate(key, rsa ? GNUTLS_PK_RSA : GNUTLS_PK_ECDSA, bits, 0) == 0);
}

void pki_leaf(struct pki *p, const char *name, const struct pki_leaf *leaf)
{
	int from = leaf->from_days || leaf->to_days ? leaf->from_days : -1;
	int to = leaf->from_days || leaf->to_days ? leaf->to_days : 30;
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	gnutls_datum_t d;
	char file[64];

	cr_assert(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
	make_key(key, leaf->rsa);
	gnutls_x509_crt_set_version(crt, 3);
	set_serial(crt);
	gnutls_x509_crt_set_activation_time(crt, time(NULL) + from * DAY);
	gnutls_x509_crt_set_expiration_time(crt, time(NULL) + to * DAY);
	cr_assert(gnutls_x509_crt_set_dn(crt, leaf->dn, NULL) == 0);
	gnutls_x509_crt_set_key(crt, key);
	gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
	gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
	gnutls_x509_crt_set_key_purpose_oid(crt, leaf->client ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER, 0);
	set_name(crt, GNUTLS_SAN_DNSNAME, leaf->dns);
	set_name(crt, GNUTLS_SAN_URI, leaf->uri);
	set_name(crt, GNUTLS_SAN_RFC822NAME, leaf->email);
	cr_assert(gnutls_x509_crt_sign2(crt, leaf->self_signed ? crt : p->ca, leaf->self_signed ? key : p->ca_key, GNUTLS_DIG_SHA256, 0) == 0);
	snprintf(file, sizeof(file), "%s.pem", name);
	write_crt(p, file, crt);
	snprintf(file, sizeof(file), "%s.key", name);
	cr_assert(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &d) == 0);
	pki_write(p, file, d.data, d.size);
	gnutls_free(d.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

/* --- certificates in memory ----------------------------------------------------------- */

static void node_key(gnutls_x509_privkey_t *key, const struct pki_spec *spec)
{
	static const struct {
		gnutls_pk_algorithm_t pk;
		unsigned bits;
	} kinds[] = {
		[PKI_EC] = { GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1) },
		[PKI_EC_384] = { GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP384R1) },
		[PKI_EC_192] = { GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP192R1) },
		[PKI_ED25519] = { GNUTLS_PK_EDDSA_ED25519, 0 },
		[PKI_RSA_1024] = { GNUTLS_PK_RSA, 1024 },
		[PKI_RSA_2048] = { GNUTLS_PK_RSA, 2048 },
	};

	cr_assert(gnutls_x509_privkey_init(key) == 0);
	if (spec->same_key)
		cr_assert(gnutls_x509_privkey_cpy(*key, spec->same_key->key) == 0);
	else
		cr_assert(gnutls_x509_privkey_generate(*key, kinds[spec->key].pk, kinds[spec->key].bits, 0) == 0);
}

static void node_names(gnutls_x509_crt_t crt, const struct pki_spec *spec)
{
	unsigned char ip[16];
	const char *name;
	size_t i;

	for (i = 0; (name = spec->names[i]); i++) {
		if (strncmp(name, "dns:", 4) == 0) {
			set_name(crt, GNUTLS_SAN_DNSNAME, name + 4);
		} else if (strncmp(name, "uri:", 4) == 0) {
			set_name(crt, GNUTLS_SAN_URI, name + 4);
		} else if (strncmp(name, "email:", 6) == 0) {
			set_name(crt, GNUTLS_SAN_RFC822NAME, name + 6);
		} else {
			unsigned n = inet_pton(AF_INET, name + 3, ip) == 1 ? 4 : 16;

			cr_assert(n == 4 || inet_pton(AF_INET6, name + 3, ip) == 1);
			cr_assert(gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, ip, n, GNUTLS_FSAN_APPEND) == 0);
		}
	}
}

static void node_access(gnutls_x509_crt_t crt, int what, const char *url)
{
	gnutls_datum_t d = { (unsigned char *)url, url ? (unsigned)strlen(url) : 0 };

	if (url)
		cr_assert(gnutls_x509_crt_set_authority_info_access(crt, what, &d) == 0);
}

static void node_permitted(gnutls_x509_crt_t crt, const char *dns)
{
	gnutls_datum_t d = { (unsigned char *)dns, (unsigned)strlen(dns) };
	gnutls_x509_name_constraints_t nc;

	cr_assert(gnutls_x509_name_constraints_init(&nc) == 0);
	cr_assert(gnutls_x509_name_constraints_add_permitted(nc, GNUTLS_SAN_DNSNAME, &d) == 0);
	cr_assert(gnutls_x509_crt_set_name_constraints(crt, nc, 1) == 0);
	gnutls_x509_name_constraints_deinit(nc);
}

static void node_staple(gnutls_x509_crt_t crt)
{
	gnutls_x509_tlsfeatures_t f;

	cr_assert(gnutls_x509_tlsfeatures_init(&f) == 0);
	cr_assert(gnutls_x509_tlsfeatures_add(f, 5) == 0 && gnutls_x509_crt_set_tlsfeatures(crt, f) == 0);
	gnutls_x509_tlsfeatures_deinit(f);
}

static void node_extensions(gnutls_x509_crt_t crt, const struct pki_spec *spec)
{
	unsigned usage = spec->usage ? spec->usage
			 : spec->ca  ? GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN
				     : GNUTLS_KEY_DIGITAL_SIGNATURE;
	struct gnutls_x509_policy_st policy = { .oid = (char *)spec->policy };

	cr_assert(gnutls_x509_crt_set_basic_constraints(crt, spec->ca, spec->pathlen - 1) == 0);
	cr_assert(gnutls_x509_crt_set_key_usage(crt, usage) == 0);
	if (spec->purpose || !spec->ca)
		cr_assert(gnutls_x509_crt_set_key_purpose_oid(crt, spec->purpose ? spec->purpose : GNUTLS_KP_TLS_WWW_SERVER, 0) == 0);
	node_names(crt, spec);
	node_access(crt, GNUTLS_IA_OCSP_URI, spec->ocsp_url);
	node_access(crt, GNUTLS_IA_CAISSUERS_URI, spec->issuer_url);
	if (spec->permitted)
		node_permitted(crt, spec->permitted);
	if (spec->policy)
		cr_assert(gnutls_x509_crt_set_policy(crt, &policy, 0) == 0);
	if (spec->must_staple)
		node_staple(crt);
	if (spec->critical_oddity)
		cr_assert(gnutls_x509_crt_set_extension_by_oid(crt, "1.3.6.1.4.1.99999.1", "\x05\x00", 2, 1) == 0);
}

static void node_key_ids(gnutls_x509_crt_t crt, const struct pki_spec *spec)
{
	unsigned char id[64];
	size_t n = sizeof(id);

	cr_assert(gnutls_x509_crt_get_key_id(crt, 0, id, &n) == 0);
	cr_assert(gnutls_x509_crt_set_subject_key_id(crt, id, n) == 0);
	n = sizeof(id);
	if (spec->issuer && gnutls_x509_crt_get_subject_key_id(spec->issuer->crt, id, &n, NULL) == 0)
		cr_assert(gnutls_x509_crt_set_authority_key_id(crt, id, n) == 0);
}

void pki_node(struct pki_node *out, const struct pki_spec *spec)
{
	bool given = spec->from_days || spec->to_days;
	const struct pki_node *signer = spec->forged_by ? spec->forged_by : spec->issuer ? spec->issuer : out;

	node_key(&out->key, spec);
	cr_assert(gnutls_x509_crt_init(&out->crt) == 0);
	gnutls_x509_crt_set_version(out->crt, 3);
	set_serial(out->crt);
	gnutls_x509_crt_set_activation_time(out->crt, PKI_NOW + (given ? spec->from_days : -1) * DAY);
	gnutls_x509_crt_set_expiration_time(out->crt, PKI_NOW + (given ? spec->to_days : 30) * DAY);
	cr_assert(gnutls_x509_crt_set_dn(out->crt, spec->dn, NULL) == 0);
	cr_assert(gnutls_x509_crt_set_key(out->crt, out->key) == 0);
	node_extensions(out->crt, spec);
	if (!spec->no_key_ids)
		node_key_ids(out->crt, spec);
	cr_assert(gnutls_x509_crt_sign2(out->crt, spec->issuer ? spec->issuer->crt : out->crt, signer->key,
			  spec->digest ? spec->digest : GNUTLS_DIG_SHA256, 0) == 0);
	cr_assert(gnutls_x509_crt_export2(out->crt, GNUTLS_X509_FMT_DER, &out->der) == 0);
	/* as a reader sees it: what was only set is not always found again */
	gnutls_x509_crt_deinit(out->crt);
	cr_assert(gnutls_x509_crt_init(&out->crt) == 0);
	cr_assert(gnutls_x509_crt_import(out->crt, &out->der, GNUTLS_X509_FMT_DER) == 0);
}

void pki_node_free(struct pki_node *node)
{
	if (node->crt)
		gnutls_x509_crt_deinit(node->crt);
	if (node->key)
		gnutls_x509_privkey_deinit(node->key);
	gnutls_free(node->der.data);
	memset(node, 0, sizeof(*node));
}
