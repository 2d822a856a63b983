/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/offer.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V(version) (1u << (version))
#define UP_TO_1_2  (V(OFFER_TLS1_0) | V(OFFER_TLS1_1) | V(OFFER_TLS1_2))
#define FROM_1_2   (V(OFFER_TLS1_2) | V(OFFER_TLS1_3))
#define ALL        (UP_TO_1_2 | V(OFFER_TLS1_3))

/* --- suites ------------------------------------------------------------------------- */

static const struct {
	gnutls_kx_algorithm_t id;
	enum offer_kx kx;
	const char *gnutls, *registry; /* in names of suites */
	unsigned traits;
} kxs[] = {
	{ GNUTLS_KX_ECDHE_ECDSA, OFFER_KX_ECDHE, "ECDHE_ECDSA", "ECDHE_ECDSA", 0 },
	{ GNUTLS_KX_ECDHE_RSA, OFFER_KX_ECDHE, "ECDHE_RSA", "ECDHE_RSA", 0 },
	{ GNUTLS_KX_DHE_RSA, OFFER_KX_DHE, "DHE_RSA", "DHE_RSA", 0 },
	{ GNUTLS_KX_DHE_DSS, OFFER_KX_DHE, "DHE_DSS", "DHE_DSS", OFFER_DSA },
	{ GNUTLS_KX_RSA, OFFER_KX_RSA, "RSA", "RSA", OFFER_STATIC_RSA },
	{ GNUTLS_KX_ANON_ECDH, OFFER_KX_ECDH_ANON, "ECDH_ANON", "ECDH_anon", OFFER_ANON },
	{ GNUTLS_KX_ANON_DH, OFFER_KX_DH_ANON, "DH_ANON", "DH_anon", OFFER_ANON },
};

#define KXS (sizeof(kxs) / sizeof(*kxs))

/* The registry says WITH, SHA, RC4, and what ChaCha20's hash is. */
static void registry_name(char *out, size_t size, const char *name, const char *gnutls_kx, const char *kx)
{
	static const char *const parts[][2] = { { "ARCFOUR", "RC4" }, { "", "" } };
	const char *rest = name + strlen("TLS_") + strlen(gnutls_kx) + 1, *put = "";
	size_t n, i;

	for (i = 0; strncmp(rest, parts[i][0], strlen(parts[i][0])) != 0; i++)
		;
	put = parts[i][1];
	rest += strlen(parts[i][0]);
	n = strlen(rest);
	if (n > 5 && strcmp(rest + n - 5, "_SHA1") == 0)
		n--;
	snprintf(out, size, "TLS_%s_WITH_%s%.*s%s", kx, put, (int)n, rest,
		n > 9 && strcmp(rest + n - 9, "_POLY1305") == 0 ? "_SHA256" : "");
}

static unsigned cipher_traits(gnutls_cipher_algorithm_t c, gnutls_mac_algorithm_t m)
{
	unsigned t = m == GNUTLS_MAC_MD5 ? OFFER_MD5 : 0;

	if (c == GNUTLS_CIPHER_NULL)
		return t | OFFER_NULL;
	if (c == GNUTLS_CIPHER_ARCFOUR_128)
		return t | OFFER_RC4;
	if (c == GNUTLS_CIPHER_AES_128_CCM_8 || c == GNUTLS_CIPHER_AES_256_CCM_8)
		return t | OFFER_SHORT_TAG;
	if (c == GNUTLS_CIPHER_3DES_CBC)
		t |= OFFER_3DES;
	return m == GNUTLS_MAC_AEAD ? t : t | OFFER_CBC;
}

static bool read_suite(size_t i, struct offer_suite *s, bool *wanted)
{
	gnutls_kx_algorithm_t kx;
	gnutls_cipher_algorithm_t cipher;
	gnutls_mac_algorithm_t mac;
	gnutls_protocol_t min;
	unsigned char id[2];
	const char *name = gnutls_cipher_suite_info(i, id, &kx, &cipher, &mac, &min);
	size_t k;

	if (!name)
		return false;
	*s = (struct offer_suite){ .id = (uint16_t)(id[0] << 8 | id[1]), .cipher_part = gnutls_cipher_get_name(cipher),
		.mac_part = gnutls_mac_get_name(mac), .traits = cipher_traits(cipher, mac) };
	*wanted = true;
	if (min == GNUTLS_TLS1_3) {
		s->kx = OFFER_KX_TLS1_3;
		s->versions = V(OFFER_TLS1_3);
		snprintf(s->name, sizeof(s->name), "%s", name);
		return true;
	}
	for (k = 0; k < KXS && kxs[k].id != kx; k++)
		;
	*wanted = k < KXS;
	if (!*wanted)
		return true;
	s->kx = kxs[k].kx;
	s->kx_part = gnutls_kx_get_name(kx);
	s->traits |= kxs[k].traits;
	s->versions = min == GNUTLS_TLS1_2 ? V(OFFER_TLS1_2) : UP_TO_1_2;
	registry_name(s->name, sizeof(s->name), name, kxs[k].gnutls, kxs[k].registry);
	return true;
}

/* What a good client would put last has the most. */
static unsigned badness(const struct offer_suite *s)
{
	static const struct {
		unsigned trait, points;
	} table[] = { { OFFER_NULL, 1600 }, { OFFER_ANON, 800 }, { OFFER_RC4, 400 }, { OFFER_3DES, 200 }, { OFFER_MD5, 50 },
		{ OFFER_STATIC_RSA, 100 }, { OFFER_CBC, 24 }, { OFFER_SHORT_TAG, 12 }, { OFFER_DSA, 10 } };
	unsigned points = strstr(s->cipher_part, "CAMELLIA") ? 6 : strstr(s->cipher_part, "CCM") ? 3 : 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		points += s->traits & table[i].trait ? table[i].points : 0;
	return points + (s->kx == OFFER_KX_DHE ? 2 : 0);
}

static int by_badness(const void *a, const void *b)
{
	const struct offer_suite *x = a, *y = b;
	unsigned p = badness(x), q = badness(y);

	if (p != q)
		return p < q ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* A library can be told to do without some of it (its configuration, FIPS 140): what
 * it offers counts. */
static void try_suite(struct offer_suite *s)
{
	const struct offer_suite *alone = s;

	for (enum offer_version v = 0; v < OFFER_VERSIONS; v++) {
		struct offer o = { .version = v, .suites = &alone, .n_suites = 1 };

		if ((s->versions & V(v)) && !offer_is_exact(&o))
			s->versions &= ~V(v);
	}
}

static void read_suites(struct offer_list *l)
{
	struct offer_suite s;
	bool wanted;
	size_t i;

	for (i = 0; l->n_suites < OFFER_SUITES_MAX && read_suite(i, &s, &wanted); i++) {
		if (!wanted)
			continue;
		try_suite(&s);
		if (s.versions)
			l->suites[l->n_suites++] = s;
	}
	qsort(l->suites, l->n_suites, sizeof(*l->suites), by_badness);
}

/* --- groups and signatures ------------------------------------------------------------- */

static const struct offer_group groups[] = {
	{ 4588, "X25519-MLKEM768", false, 0, V(OFFER_TLS1_3) },
	{ 4587, "SECP256R1-MLKEM768", false, 0, V(OFFER_TLS1_3) },
	{ 4589, "SECP384R1-MLKEM1024", false, 0, V(OFFER_TLS1_3) },
	{ 29, "X25519", false, 0, ALL },
	{ 23, "SECP256R1", false, 0, ALL },
	{ 30, "X448", false, 0, ALL },
	{ 24, "SECP384R1", false, 0, ALL },
	{ 25, "SECP521R1", false, 0, ALL },
	{ 21, "SECP224R1", false, 0, UP_TO_1_2 }, /* not in TLS 1.3 (RFC 8446, 4.2.7) */
	{ 19, "SECP192R1", false, OFFER_SMALL_GROUP, UP_TO_1_2 },
	{ 256, "FFDHE2048", true, 0, ALL },
	{ 257, "FFDHE3072", true, 0, ALL },
	{ 258, "FFDHE4096", true, 0, ALL },
	{ 259, "FFDHE6144", true, 0, ALL },
	{ 260, "FFDHE8192", true, 0, ALL },
};

/* In TLS 1.2 the curve is not part of a scheme. */
static const struct offer_signature signatures[] = {
	{ 0x0804, "RSA-PSS-RSAE-SHA256", "RSA-PSS-RSAE-SHA256", 0, FROM_1_2 },
	{ 0x0805, "RSA-PSS-RSAE-SHA384", "RSA-PSS-RSAE-SHA384", 0, FROM_1_2 },
	{ 0x0806, "RSA-PSS-RSAE-SHA512", "RSA-PSS-RSAE-SHA512", 0, FROM_1_2 },
	{ 0x0809, "RSA-PSS-SHA256", "RSA-PSS-SHA256", 0, FROM_1_2 },
	{ 0x080a, "RSA-PSS-SHA384", "RSA-PSS-SHA384", 0, FROM_1_2 },
	{ 0x080b, "RSA-PSS-SHA512", "RSA-PSS-SHA512", 0, FROM_1_2 },
	{ 0x0807, "EdDSA-Ed25519", "EdDSA-Ed25519", 0, FROM_1_2 },
	{ 0x0808, "EdDSA-Ed448", "EdDSA-Ed448", 0, FROM_1_2 },
	{ 0x0403, "ECDSA-SHA256", "ECDSA-SECP256R1-SHA256", 0, FROM_1_2 },
	{ 0x0503, "ECDSA-SHA384", "ECDSA-SECP384R1-SHA384", 0, FROM_1_2 },
	{ 0x0603, "ECDSA-SHA512", "ECDSA-SECP521R1-SHA512", 0, FROM_1_2 },
	{ 0x0401, "RSA-SHA256", NULL, 0, V(OFFER_TLS1_2) },
	{ 0x0501, "RSA-SHA384", NULL, 0, V(OFFER_TLS1_2) },
	{ 0x0601, "RSA-SHA512", NULL, 0, V(OFFER_TLS1_2) },
	{ 0x0303, "ECDSA-SHA224", NULL, 0, V(OFFER_TLS1_2) },
	{ 0x0301, "RSA-SHA224", NULL, 0, V(OFFER_TLS1_2) },
	{ 0x0402, "DSA-SHA256", NULL, OFFER_DSA, V(OFFER_TLS1_2) },
	{ 0x0302, "DSA-SHA224", NULL, OFFER_DSA, V(OFFER_TLS1_2) },
	{ 0x0203, "ECDSA-SHA1", NULL, OFFER_SHA1, V(OFFER_TLS1_2) },
	{ 0x0201, "RSA-SHA1", NULL, OFFER_SHA1, V(OFFER_TLS1_2) },
	{ 0x0202, "DSA-SHA1", NULL, OFFER_SHA1 | OFFER_DSA, V(OFFER_TLS1_2) },
	{ 0x0101, "RSA-MD5", NULL, OFFER_MD5, V(OFFER_TLS1_2) },
};

static bool can_be_set(enum offer_version v, const char *group, const char *signature)
{
	gnutls_priority_t p;
	char text[300];

	snprintf(text, sizeof(text),
		"NONE:+COMP-NULL:+CTYPE-X509:+ECDHE-RSA:+ECDHE-ECDSA:+DHE-RSA:+AES-128-GCM:+AES-128-CBC:+AEAD:+SHA1:"
		"+VERS-TLS%s:+GROUP-%s:+SIGN-%s", offer_version_name(v) + strlen("TLS "), group, signature);
	if (gnutls_priority_init(&p, text, NULL) < 0)
		return false;
	gnutls_priority_deinit(p);
	return true;
}

static void try_groups(struct offer_list *l)
{
	for (size_t i = 0; i < l->n_groups; i++)
		for (enum offer_version v = 0; v < OFFER_VERSIONS; v++)
			if (!can_be_set(v, l->groups[i].name, "ALL"))
				l->groups[i].versions &= ~V(v);
}

static void try_signatures(struct offer_list *l)
{
	for (size_t i = 0; i < l->n_signatures; i++)
		for (enum offer_version v = OFFER_TLS1_2; v < OFFER_VERSIONS; v++) {
			const char *name = offer_signature_name(&l->signatures[i], v);

			if (!name || !can_be_set(v, "ALL", name))
				l->signatures[i].versions &= ~V(v);
		}
}

const char *offer_signature_name(const struct offer_signature *s, enum offer_version v)
{
	return v == OFFER_TLS1_3 ? s->name13 : s->name12;
}

/* --- the list ------------------------------------------------------------------------------ */

struct offer_list *offer_list_new(void)
{
	struct offer_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->groups = malloc(sizeof(groups));
	l->signatures = malloc(sizeof(signatures));
	if (!l->groups || !l->signatures) {
		offer_list_free(l);
		return NULL;
	}
	memcpy(l->groups, groups, sizeof(groups));
	l->n_groups = sizeof(groups) / sizeof(*groups);
	memcpy(l->signatures, signatures, sizeof(signatures));
	l->n_signatures = sizeof(signatures) / sizeof(*signatures);
	read_suites(l);
	try_groups(l);
	try_signatures(l);
	return l;
}

void offer_list_free(struct offer_list *l)
{
	if (!l)
		return;
	free(l->groups);
	free(l->signatures);
	free(l);
}

/* --- names ------------------------------------------------------------------------------------ */

static const char *const versions[OFFER_VERSIONS] = { "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3" };

const char *offer_version_name(enum offer_version v)
{
	return versions[v];
}

char *offer_library(char *out, size_t size)
{
	snprintf(out, size, "GnuTLS %s", gnutls_check_version(NULL));
	return out;
}
