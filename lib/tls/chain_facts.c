/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What one certificate says of itself. */

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/tls/chain_int.h"

#define CHAIN_DAY (24 * 3600)

char *chain_facts_clean(const void *text, size_t n)
{
	const char *s = text;
	char *out = malloc(n + 1);
	size_t i = 0, k = 0;

	while (out && i < n) {
		uint32_t cp;
		size_t len = utf8_decode(s + i, n - i, &cp);

		if (len == 0 || utf8_is_control(cp)) {
			out[k++] = '?';
		} else {
			memcpy(out + k, s + i, len);
			k += len;
		}
		i += len ? len : 1;
	}
	if (out)
		out[k] = '\0';
	return out;
}

/* Takes the datum, which GnuTLS allocated. */
static char *clean_datum(gnutls_datum_t *d)
{
	char *s = chain_facts_clean(d->data, d->data ? d->size : 0);

	gnutls_free(d->data);
	return s;
}

/* --- names -------------------------------------------------------------------------------- */

static char *subject_of(gnutls_x509_crt_t crt)
{
	gnutls_datum_t d = { NULL, 0 };

	if (gnutls_x509_crt_get_dn3(crt, &d, 0) < 0)
		d = (gnutls_datum_t){ NULL, 0 };
	return clean_datum(&d);
}

static char *issuer_of(gnutls_x509_crt_t crt)
{
	gnutls_datum_t d = { NULL, 0 };

	if (gnutls_x509_crt_get_issuer_dn3(crt, &d, 0) < 0)
		d = (gnutls_datum_t){ NULL, 0 };
	return clean_datum(&d);
}

static char *serial_of(gnutls_x509_crt_t crt)
{
	uint8_t raw[256];
	size_t i, n = sizeof(raw);
	char *out;

	if (gnutls_x509_crt_get_serial(crt, raw, &n) < 0)
		n = 0;
	out = malloc(2 * n + 1);
	for (i = 0; out && i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
	if (out)
		out[2 * n] = '\0';
	return out;
}

static const char *san_kind(unsigned type)
{
	switch (type) {
	case GNUTLS_SAN_DNSNAME:
		return "dns:";
	case GNUTLS_SAN_IPADDRESS:
		return "ip:";
	case GNUTLS_SAN_URI:
		return "uri:";
	case GNUTLS_SAN_RFC822NAME:
		return "email:";
	default:
		return NULL;
	}
}

/* "dns:www.example"; "" for a kind of name that nobody here needs, NULL without memory. */
static char *san_text(unsigned type, const gnutls_datum_t *san)
{
	const char *kind = san_kind(type);
	char ip[INET6_ADDRSTRLEN] = "";
	char *value, *out = NULL;

	if (!kind)
		return strdup("");
	if (type != GNUTLS_SAN_IPADDRESS)
		value = chain_facts_clean(san->data, san->size);
	else if (san->size != 4 && san->size != 16)
		return strdup("");
	else
		value = strdup(inet_ntop(san->size == 4 ? AF_INET : AF_INET6, san->data, ip, sizeof(ip)) ? ip : "");
	if (value && asprintf(&out, "%s%s", kind, value) < 0)
		out = NULL;
	free(value);
	return out;
}

static int add_name(char ***names, size_t *n, char *text)
{
	char **more;

	if (text && !*text) {
		free(text);
		return 0;
	}
	more = text ? realloc(*names, (*n + 2) * sizeof(**names)) : NULL;
	if (!more) {
		free(text);
		return -1;
	}
	more[(*n)++] = text;
	more[*n] = NULL;
	*names = more;
	return 0;
}

/* All of it at once: asking the certificate for one after another takes the
 * square of their number. */
static int read_names(struct chain_cert *cc)
{
	gnutls_subject_alt_names_t sans = NULL;
	gnutls_datum_t ext = { NULL, 0 }, san;
	unsigned i, type;
	size_t n = 0;
	int r = 0;

	cc->names = calloc(1, sizeof(*cc->names));
	if (!cc->names)
		return -1;
	if (gnutls_x509_crt_get_extension_by_oid2(cc->crt, GNUTLS_X509EXT_OID_SAN, 0, &ext, NULL) < 0)
		return 0;
	if (gnutls_subject_alt_names_init(&sans) < 0)
		r = -1;
	else if (gnutls_x509_ext_import_subject_alt_names(&ext, sans, 0) == 0)
		for (i = 0; r == 0 && gnutls_subject_alt_names_get(sans, i, &type, &san, NULL) == 0; i++)
			r = add_name(&cc->names, &n, san_text(type, &san));
	if (sans)
		gnutls_subject_alt_names_deinit(sans);
	gnutls_free(ext.data);
	return r;
}

/* --- keys ----------------------------------------------------------------------------------- */

static const char *curve_name(gnutls_x509_crt_t crt)
{
	gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
	const char *name;

	if (gnutls_x509_crt_get_pk_ecc_raw(crt, &curve, NULL, NULL) < 0)
		return "with an unknown curve";
	switch ((int)curve) {
	case GNUTLS_ECC_CURVE_SECP192R1:
		return "P-192";
	case GNUTLS_ECC_CURVE_SECP224R1:
		return "P-224";
	case GNUTLS_ECC_CURVE_SECP256R1:
		return "P-256";
	case GNUTLS_ECC_CURVE_SECP384R1:
		return "P-384";
	case GNUTLS_ECC_CURVE_SECP521R1:
		return "P-521";
	default:
		name = gnutls_ecc_curve_get_name(curve);
		return name ? name : "with an unknown curve";
	}
}

static char *key_of(gnutls_x509_crt_t crt)
{
	unsigned bits = 0;
	int pk = gnutls_x509_crt_get_pk_algorithm(crt, &bits);
	const char *name = pk < 0 ? NULL : gnutls_pk_get_name((gnutls_pk_algorithm_t)pk);
	char *out = NULL;
	int r;

	switch (pk) {
	case GNUTLS_PK_ECDSA:
		r = asprintf(&out, "ECDSA %s", curve_name(crt));
		break;
	case GNUTLS_PK_EDDSA_ED25519:
		return strdup("Ed25519");
	case GNUTLS_PK_EDDSA_ED448:
		return strdup("Ed448");
	case GNUTLS_PK_RSA:
	case GNUTLS_PK_RSA_PSS:
	case GNUTLS_PK_DSA:
	case GNUTLS_PK_DH:
		r = asprintf(&out, "%s %u", pk == GNUTLS_PK_RSA_PSS ? "RSA-PSS" : name, bits);
		break;
	default:
		return strdup(name ? name : "of an unknown kind");
	}
	return r < 0 ? NULL : out;
}

static char *signature_of(gnutls_x509_crt_t crt)
{
	int algo = gnutls_x509_crt_get_signature_algorithm(crt);
	const char *name = algo > 0 ? gnutls_sign_get_name((gnutls_sign_algorithm_t)algo) : NULL;
	char oid[128];
	size_t n = sizeof(oid);

	if (name)
		return strdup(name);
	if (gnutls_x509_crt_get_signature_oid(crt, oid, &n) < 0 || n == 0)
		return strdup("unknown");
	return chain_facts_clean(oid, strnlen(oid, n));
}

bool chain_facts_weak_key(const struct chain_cert *cc)
{
	unsigned bits = 0;

	switch (gnutls_x509_crt_get_pk_algorithm(cc->crt, &bits)) {
	case GNUTLS_PK_RSA:
	case GNUTLS_PK_RSA_PSS:
	case GNUTLS_PK_DSA:
	case GNUTLS_PK_DH:
		return bits < 2048;
	case GNUTLS_PK_ECDSA:
		return bits > 0 && bits < 224;
	default:
		return false;
	}
}

bool chain_facts_weak_signature(const struct chain_cert *cc)
{
	int algo = gnutls_x509_crt_get_signature_algorithm(cc->crt);

	/* one that is not known cannot be verified either, which is another fault */
	return algo > 0 && !gnutls_sign_is_secure2((gnutls_sign_algorithm_t)algo, GNUTLS_SIGN_FLAG_SECURE_FOR_CERTS);
}

/* --- life ------------------------------------------------------------------------------------- */

/* Baseline Requirements, 6.3.2 (ballots 193, SC31 and SC-081v3), by the day of issue. */
static const struct {
	int64_t from;
	int days;
} longest[] = {
	{ 1868227200, 47 }, /* 2029-03-15 */
	{ 1805068800, 100 }, /* 2027-03-15 */
	{ 1773532800, 200 }, /* 2026-03-15 */
	{ 1598918400, 398 }, /* 2020-09-01 */
	{ INT64_MIN, 825 },
};

int chain_facts_longest_days(int64_t not_before)
{
	size_t i = 0;

	while (not_before < longest[i].from)
		i++;
	return longest[i].days;
}

/* Every certificate of a public CA for TLS servers has one of the policies
 * 2.23.140.1.* (Baseline Requirements, 7.1.6.4); private ones do not. */
static bool from_public_ca(gnutls_x509_crt_t crt)
{
	struct gnutls_x509_policy_st policy;
	bool found = false;
	unsigned i, critical;

	for (i = 0; i < 32 && !found && gnutls_x509_crt_get_policy(crt, i, &policy, &critical) == 0; i++) {
		found = strncmp(policy.oid, "2.23.140.1.", 11) == 0;
		gnutls_x509_policy_release(&policy);
	}
	return found;
}

bool chain_facts_long_life(const struct chain_cert *cc)
{
	/* both ends belong to it (RFC 5280, 4.1.2.5) */
	int64_t life = cc->not_after - cc->not_before + 1;

	return life > (int64_t)chain_facts_longest_days(cc->not_before) * CHAIN_DAY && from_public_ca(cc->crt);
}

/* --- all of it ---------------------------------------------------------------------------------- */

static bool wants_staple(gnutls_x509_crt_t crt)
{
	gnutls_x509_tlsfeatures_t features;
	unsigned i, feature;
	bool found = false;

	if (gnutls_x509_tlsfeatures_init(&features) < 0)
		return false;
	if (gnutls_x509_crt_get_tlsfeatures(crt, features, 0, NULL) == 0)
		for (i = 0; !found && gnutls_x509_tlsfeatures_get(features, i, &feature) == 0; i++)
			found = feature == 5; /* status_request (RFC 6066, 8) */
	gnutls_x509_tlsfeatures_deinit(features);
	return found;
}

/* The first address of a kind in its authority information access. */
static char *access_url(gnutls_x509_crt_t crt, int what)
{
	gnutls_datum_t d = { NULL, 0 };
	unsigned i;
	int r;

	for (i = 0; i < 32; i++) {
		r = gnutls_x509_crt_get_authority_info_access(crt, i, what, &d, NULL);
		if (r == 0)
			return clean_datum(&d);
		if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			break;
	}
	return NULL;
}

bool chain_facts_self_signed(const struct chain_cert *cc)
{
	return cc->crt && gnutls_x509_crt_check_issuer(cc->crt, cc->crt);
}

bool chain_facts_for_servers(const struct chain_cert *cc, bool as_ca)
{
	return gnutls_x509_crt_check_key_purpose(cc->crt, GNUTLS_KP_TLS_WWW_SERVER,
		as_ca ? GNUTLS_KP_FLAG_DISALLOW_ANY : 0) != 0;
}

static int read_all(struct chain_cert *cc, bool names)
{
	cc->not_before = gnutls_x509_crt_get_activation_time(cc->crt);
	cc->not_after = gnutls_x509_crt_get_expiration_time(cc->crt);
	cc->is_ca = gnutls_x509_crt_get_ca_status(cc->crt, NULL) > 0;
	cc->must_staple = wants_staple(cc->crt);
	cc->ocsp_url = access_url(cc->crt, GNUTLS_IA_OCSP_URI);
	cc->issuer_url = access_url(cc->crt, GNUTLS_IA_CAISSUERS_URI);
	if (cert_pin(cc->crt, cc->pin) < 0)
		memset(cc->pin, 0, sizeof(cc->pin));
	cc->subject = subject_of(cc->crt);
	cc->issuer = issuer_of(cc->crt);
	cc->serial = serial_of(cc->crt);
	cc->key = key_of(cc->crt);
	cc->signature = signature_of(cc->crt);
	if (!cc->subject || !cc->issuer || !cc->serial || !cc->key || !cc->signature)
		return -1;
	return names ? read_names(cc) : 0;
}

static int read_nothing(struct chain_cert *cc)
{
	gnutls_x509_crt_deinit(cc->crt);
	cc->crt = NULL;
	cc->faults = CHAIN_UNREADABLE;
	cc->subject = strdup("");
	cc->issuer = strdup("");
	cc->serial = strdup("");
	cc->key = strdup("");
	cc->signature = strdup("");
	return cc->subject && cc->issuer && cc->serial && cc->key && cc->signature ? 0 : -1;
}

int chain_facts_read(struct chain_cert *cc, const gnutls_datum_t *der, bool names)
{
	cc->der.data = gnutls_malloc(der->size ? der->size : 1);
	if (!cc->der.data || gnutls_x509_crt_init(&cc->crt) < 0)
		return -1;
	cc->der.size = der->size;
	if (der->size)
		memcpy(cc->der.data, der->data, der->size);
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, cc->der.data, cc->der.size, cc->sha256) < 0)
		return -1;
	if (gnutls_x509_crt_import(cc->crt, &cc->der, GNUTLS_X509_FMT_DER) < 0)
		return read_nothing(cc);
	return read_all(cc, names);
}

void chain_facts_free(struct chain_cert *cc)
{
	size_t i;

	for (i = 0; cc->names && cc->names[i]; i++)
		free(cc->names[i]);
	free(cc->names);
	free(cc->subject);
	free(cc->issuer);
	free(cc->serial);
	free(cc->key);
	free(cc->signature);
	free(cc->ocsp_url);
	free(cc->issuer_url);
	if (cc->crt)
		gnutls_x509_crt_deinit(cc->crt);
	gnutls_free(cc->der.data);
}
