/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/pki.h"

#include <criterion/criterion.h>
#include <dirent.h>
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
