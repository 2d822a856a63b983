/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/names.h"

#include <ctype.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/base/near.h"

#define NAME_MAX_LEN 96
#define KNOWN_MAX    256

/* --- spelling ----------------------------------------------------------- */

/* "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" -> "ECDHERSAAES128GCMSHA256" */
static void squeeze(const char *name, char out[NAME_MAX_LEN])
{
	size_t n = 0;

	for (; *name && n < NAME_MAX_LEN - 1; name++)
		if (isalnum((unsigned char)*name))
			out[n++] = (char)toupper((unsigned char)*name);
	out[n] = '\0';
}

static void cut_prefix(char *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(s, prefix, n) == 0)
		memmove(s, s + n, strlen(s + n) + 1);
}

static void cut_inside(char *s, const char *part)
{
	char *p = strstr(s, part);

	if (p)
		memmove(p, p + strlen(part), strlen(p + strlen(part)) + 1);
}

static void cut_suffix(char *s, const char *suffix, const char *put)
{
	size_t n = strlen(s), m = strlen(suffix);

	if (n > m && strcmp(s + n - m, suffix) == 0)
		memcpy(s + n - m, put, strlen(put) + 1); /* put is never longer */
}

/* IANA and GnuTLS differ in "WITH", in SHA/SHA1, and in ChaCha20's hash. */
static void spell_suite(const char *name, char out[NAME_MAX_LEN])
{
	squeeze(name, out);
	cut_prefix(out, "GNUTLS");
	cut_prefix(out, "TLS");
	cut_inside(out, "WITH");
	cut_suffix(out, "SHA1", "SHA");
	cut_suffix(out, "CHACHA20POLY1305SHA256", "CHACHA20POLY1305");
}

static void spell_group(const char *name, char out[NAME_MAX_LEN])
{
	static const char *const nist[][2] = {
		{ "P256", "SECP256R1" }, { "P384", "SECP384R1" }, { "P521", "SECP521R1" },
		{ "PRIME256V1", "SECP256R1" },
	};
	size_t i;

	squeeze(name, out);
	cut_prefix(out, "GROUP");
	for (i = 0; i < sizeof(nist) / sizeof(*nist); i++)
		if (strcmp(out, nist[i][0]) == 0)
			strcpy(out, nist[i][1]);
}

/* The registry says ed25519 and rsa_pkcs1_sha256, GnuTLS EdDSA-Ed25519 and
 * RSA-SHA256. */
static void spell_signature(const char *name, char out[NAME_MAX_LEN])
{
	squeeze(name, out);
	cut_prefix(out, "SIGN");
	cut_prefix(out, "EDDSA");
	if (strncmp(out, "RSAPKCS1", 8) == 0)
		cut_inside(out, "PKCS1");
}

/* --- what the library has ------------------------------------------------ */

struct suite {
	const char *name;
	gnutls_kx_algorithm_t kx; /* GNUTLS_KX_UNKNOWN in TLS 1.3 */
	gnutls_cipher_algorithm_t cipher;
	gnutls_mac_algorithm_t mac;
	bool tls13;
};

static bool suite_at(size_t i, struct suite *s)
{
	gnutls_protocol_t min;

	s->name = gnutls_cipher_suite_info(i, NULL, &s->kx, &s->cipher, &s->mac, &min);
	if (!s->name)
		return false;
	s->tls13 = min == GNUTLS_TLS1_3;
	return true;
}

static const char *group_at(size_t i)
{
	const gnutls_group_t *g = gnutls_group_list();
	size_t k;

	for (k = 0; k < i && g[k]; k++)
		;
	return g[k] ? gnutls_group_get_name(g[k]) : NULL;
}

static const char *signature_at(size_t i)
{
	const gnutls_sign_algorithm_t *s = gnutls_sign_list();
	size_t k;

	for (k = 0; k < i && s[k]; k++)
		;
	return s[k] ? gnutls_sign_get_name(s[k]) : NULL;
}

static const char *suite_name_at(size_t i)
{
	struct suite s;

	return suite_at(i, &s) ? s.name : NULL;
}

typedef const char *name_at_fn(size_t i);
typedef void spell_fn(const char *name, char out[NAME_MAX_LEN]);

static const char *find_name(name_at_fn *at, spell_fn *spell, const char *typed)
{
	char want[NAME_MAX_LEN], have[NAME_MAX_LEN];
	const char *name;
	size_t i;

	spell(typed, want);
	for (i = 0; (name = at(i)); i++) {
		spell(name, have);
		if (strcmp(want, have) == 0)
			return name;
	}
	return NULL;
}

/* "--group: no group "x": the nearest is …; this GnuTLS has …" */
static int unknown(struct err *e, const char *option, const char *what, const char *typed, name_at_fn *at)
{
	const char *all[KNOWN_MAX], *near;
	char list[320] = "";
	size_t n, used = 0;

	for (n = 0; n < KNOWN_MAX && (all[n] = at(n)); n++) {
		size_t len = strlen(all[n]);

		if (used + len + 8 < sizeof(list)) {
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", all[n]);
			if (used + 60 > sizeof(list) && at(n + 1)) {
				snprintf(list + used, sizeof(list) - used, ", …");
				used = sizeof(list);
			}
		}
	}
	near = near_match(typed, all, n);
	if (near)
		return err_set(e, ERR_CONFIG, "%s: unknown %s \"%.60s\"; did you mean %s? This GnuTLS has %s", option,
			what, typed, near, list);
	return err_set(e, ERR_CONFIG, "%s: unknown %s \"%.60s\"; this GnuTLS has %s", option, what, typed, list);
}

void names_list_suites(FILE *out)
{
	struct suite s;
	size_t i;

	for (i = 0; suite_at(i, &s); i++)
		if (s.mac == GNUTLS_MAC_AEAD)
			fprintf(out, "%s\n", s.name);
}

void names_list_groups(FILE *out)
{
	const char *name;
	size_t i;

	for (i = 0; (name = group_at(i)); i++)
		fprintf(out, "%s\n", name);
}

bool names_same_group(const char *a, const char *b)
{
	char x[NAME_MAX_LEN], y[NAME_MAX_LEN];

	spell_group(a, x);
	spell_group(b, y);
	return strcmp(x, y) == 0;
}

bool names_has_mlkem(void)
{
	return find_name(group_at, spell_group, "X25519MLKEM768") != NULL;
}

/* --- the priority string -------------------------------------------------- */

struct text {
	char *s;
	size_t len, cap;
	bool failed;
};

static void add(struct text *t, const char *prefix, const char *name)
{
	size_t n = strlen(prefix) + strlen(name);
	char *s;

	if (t->failed)
		return;
	if (t->len + n + 1 > t->cap) {
		s = realloc(t->s, 2 * t->cap + n + 256);
		if (!s) {
			t->failed = true;
			return;
		}
		t->s = s;
		t->cap = 2 * t->cap + n + 256;
	}
	t->len += (size_t)sprintf(t->s + t->len, "%s%s", prefix, name);
}

/* Adds "prefixNAME" unless it is in already. */
static void add_once(struct text *t, const char *prefix, const char *name)
{
	char item[NAME_MAX_LEN * 2];
	size_t n = (size_t)snprintf(item, sizeof(item), "%s%s", prefix, name);
	const char *p = t->s;

	while (p && (p = strstr(p, item))) {
		if (p[n] == ':' || p[n] == '\0')
			return;
		p += n;
	}
	add(t, prefix, name);
}

static void add_default_ciphers(struct text *t)
{
	static const char *const aes[] = { "AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305" };
	static const char *const no_aes[] = { "CHACHA20-POLY1305", "AES-128-GCM", "AES-256-GCM" };
	const char *const *order = cpu_has_aes() ? aes : no_aes;
	size_t i;

	for (i = 0; i < 3; i++)
		add(t, ":+", order[i]);
}

static void add_default_groups(struct text *t, bool psk)
{
	static const char *const order[] = { "X25519MLKEM768", "X25519", "SECP256R1", "SECP384R1", "SECP521R1" };
	const char *name;
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		name = find_name(group_at, spell_group, order[i]);
		if (name)
			add(t, ":+GROUP-", name);
	}
	/* DHE-PSK is the one way to AES-GCM with a PSK in TLS 1.2 */
	if (psk)
		add(t, ":+GROUP-", "FFDHE2048:+GROUP-FFDHE3072");
}

/* What the versions wanted and the suites named leave. */
struct versions {
	bool v12, v13;
};

static bool suite_matches(const struct suite *s, const char *typed)
{
	char want[NAME_MAX_LEN], have[NAME_MAX_LEN];

	spell_suite(typed, want);
	spell_suite(s->name, have);
	if (strcmp(want, have) == 0)
		return true;
	squeeze(gnutls_cipher_get_name(s->cipher), have); /* "AES-128-GCM": each suite with it */
	return strcmp(want, have) == 0;
}

/* Key exchanges that a cipher's name alone opens: those with forward secrecy. */
static bool kx_wanted(const struct names_wanted *w, gnutls_kx_algorithm_t kx)
{
	switch (kx) {
	case GNUTLS_KX_ECDHE_RSA:
	case GNUTLS_KX_ECDHE_ECDSA:
		return w->certificates;
	case GNUTLS_KX_ECDHE_PSK:
	case GNUTLS_KX_DHE_PSK:
		return w->psk;
	default:
		return false;
	}
}

static int add_suite(struct text *ciphers, struct text *kx, struct text *macs, struct versions *v,
	const struct names_wanted *w, const char *typed, struct err *e)
{
	char want[NAME_MAX_LEN], have[NAME_MAX_LEN];
	struct suite s;
	bool found = false;
	size_t i;

	spell_suite(typed, want);
	for (i = 0; suite_at(i, &s); i++) {
		if (!suite_matches(&s, typed))
			continue;
		spell_suite(s.name, have);
		found = true;
		if (!s.tls13 && strcmp(want, have) != 0 && !kx_wanted(w, s.kx))
			continue;
		add_once(ciphers, ":+", gnutls_cipher_get_name(s.cipher));
		add_once(macs, ":+", gnutls_mac_get_name(s.mac));
		if (s.tls13)
			v->v13 = true;
		else
			v->v12 = true;
		if (!s.tls13)
			add_once(kx, ":+", gnutls_kx_get_name(s.kx));
	}
	return found ? 0 : unknown(e, "--ciphersuite", "suite", typed, suite_name_at);
}

static void add_default_kx(struct text *kx, const struct names_wanted *w, bool ffdhe)
{
	if (w->certificates) {
		add_once(kx, ":+", "ECDHE-ECDSA");
		add_once(kx, ":+", "ECDHE-RSA");
		if (ffdhe)
			add_once(kx, ":+", "DHE-RSA");
	}
	if (w->psk) {
		add_once(kx, ":+", "ECDHE-PSK");
		add_once(kx, ":+", "DHE-PSK");
	}
}

static int add_named(struct text *t, const char *prefix, const struct names_list *l, name_at_fn *at, spell_fn *spell,
	const char *option, const char *what, struct err *e)
{
	const char *name;
	size_t i;

	for (i = 0; i < l->n; i++) {
		name = find_name(at, spell, l->v[i]);
		if (!name)
			return unknown(e, option, what, l->v[i], at);
		add_once(t, prefix, name);
	}
	return 0;
}

struct parts {
	struct text ciphers, kx, macs, groups, signatures, all;
};

static int add_versions(struct text *all, const struct names_wanted *w, const struct versions *v, struct err *e)
{
	bool v13 = w->max_version >= 13 && (v->v13 || !w->suites.n);
	bool v12 = w->min_version <= 12 && w->max_version >= 12 && (v->v12 || !w->suites.n);

	if (!v12 && !v13)
		return err_set(e, ERR_CONFIG,
			"--ciphersuite: none of the suites named is of a version that --min-tls and --max-tls leave");
	if (v13)
		add(all, ":+VERS-", "TLS1.3");
	if (v12)
		add(all, ":+VERS-", "TLS1.2");
	return 0;
}

static int build(struct parts *p, const struct names_wanted *w, struct err *e)
{
	struct versions v = { false, false };
	bool ffdhe;
	size_t i;

	for (i = 0; i < w->suites.n; i++)
		if (add_suite(&p->ciphers, &p->kx, &p->macs, &v, w, w->suites.v[i], e) < 0)
			return -1;
	if (!w->suites.n) {
		add_default_ciphers(&p->ciphers);
		add(&p->macs, ":+", "AEAD");
	}
	if (add_named(&p->groups, ":+GROUP-", &w->groups, group_at, spell_group, "--group", "group", e) < 0)
		return -1;
	if (!w->groups.n)
		add_default_groups(&p->groups, w->psk);
	ffdhe = p->groups.s && strstr(p->groups.s, "FFDHE") && w->groups.n;
	/* TLS 1.3 wants a key exchange of the right kind in the list although
	 * its suites do not name one. */
	if (!p->kx.s || v.v13)
		add_default_kx(&p->kx, w, ffdhe);
	if (add_named(&p->signatures, ":+SIGN-", &w->signatures, signature_at, spell_signature, "--signature",
		    "signature scheme", e) < 0)
		return -1;
	add(&p->all, "", "NORMAL:-VERS-ALL");
	if (add_versions(&p->all, w, &v, e) < 0)
		return -1;
	add(&p->all, ":-CIPHER-ALL", p->ciphers.s ? p->ciphers.s : "");
	add(&p->all, ":-KX-ALL", p->kx.s ? p->kx.s : "");
	add(&p->all, ":-MAC-ALL", p->macs.s ? p->macs.s : "");
	add(&p->all, ":-GROUP-ALL", p->groups.s ? p->groups.s : "");
	if (p->signatures.s)
		add(&p->all, ":-SIGN-ALL", p->signatures.s);
	add(&p->all, "", ":%PROFILE_MEDIUM:%SERVER_PRECEDENCE");
	return 0;
}

char *names_priority(const struct names_wanted *w, struct err *e)
{
	struct parts p = { 0 };
	char *result = NULL;

	if (w->priority) {
		add(&p.all, "", w->priority);
	} else if (w->min_version > w->max_version) {
		err_set(e, ERR_CONFIG, "--min-tls is above --max-tls");
		goto out;
	} else if (build(&p, w, e) < 0) {
		goto out;
	}
	if (p.all.failed || p.ciphers.failed || p.kx.failed || p.macs.failed || p.groups.failed ||
		p.signatures.failed) {
		err_set(e, ERR_RUNTIME, "no memory");
		goto out;
	}
	result = p.all.s;
	p.all.s = NULL;
out:
	free(p.ciphers.s);
	free(p.kx.s);
	free(p.macs.s);
	free(p.groups.s);
	free(p.signatures.s);
	free(p.all.s);
	return result;
}

bool names_suite_wanted(const struct names_list *suites, const char *suite)
{
	char have[NAME_MAX_LEN];
	struct suite s;
	size_t i, k;

	if (!suites->n)
		return true;
	spell_suite(suite, have);
	for (k = 0; suite_at(k, &s); k++) {
		char name[NAME_MAX_LEN];

		spell_suite(s.name, name);
		if (strcmp(name, have) != 0)
			continue;
		for (i = 0; i < suites->n; i++)
			if (suite_matches(&s, suites->v[i]))
				return true;
	}
	return false;
}
