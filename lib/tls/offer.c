/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/offer.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const gnutls_kx_algorithm_t kxs[] = { GNUTLS_KX_ECDHE_ECDSA, GNUTLS_KX_ECDHE_RSA, GNUTLS_KX_DHE_RSA, GNUTLS_KX_DHE_DSS,
	GNUTLS_KX_RSA };

static const struct {
	int version;
	gnutls_protocol_t protocol;
	const char *name, *weak;
} versions[] = {
	{ 13, GNUTLS_TLS1_3, "TLS1.3", NULL },
	{ 12, GNUTLS_TLS1_2, "TLS1.2", NULL },
	{ 11, GNUTLS_TLS1_1, "TLS1.1", "TLS 1.1" },
	{ 10, GNUTLS_TLS1_0, "TLS1.0", "TLS 1.0" },
};

const char *offer_library(void)
{
	static _Thread_local char text[32];

	snprintf(text, sizeof(text), "GnuTLS %.20s", gnutls_check_version(NULL));
	return text;
}

const char *offer_version_name(int version)
{
	for (size_t i = 0; i < COUNT(versions); i++)
		if (versions[i].version == version)
			return versions[i].name;
	return "unknown";
}

const char *offer_version_weak(int version)
{
	for (size_t i = 0; i < COUNT(versions); i++)
		if (versions[i].version == version)
			return versions[i].weak;
	return NULL;
}

/* --- suites ----------------------------------------------------------------------------- */

struct suite {
	const char *name;
	gnutls_kx_algorithm_t kx;
	gnutls_cipher_algorithm_t cipher;
	gnutls_mac_algorithm_t mac;
	gnutls_protocol_t min;
	uint16_t number;
};

#define SUITES_MAX 512
#define NAME_SIZE  80

/* The registry's name, which differs in three things: TLS_KX_WITH_…, RC4, SHA. Names are
 * made once, on the one thread that scans. */
static const char *registered(size_t i, const char *name, gnutls_kx_algorithm_t kx, gnutls_mac_algorithm_t mac)
{
	static char names[SUITES_MAX][NAME_SIZE];
	const char *exchange = gnutls_kx_get_name(kx), *rest;
	size_t n = exchange ? strlen(exchange) : 0;
	char *out = names[i], *at;

	if (out[0])
		return out;
	rest = name + 4 + n + 1; /* TLS_, the key exchange, _ */
	if (strlen(name) < 4 + n + 2 || n == 0) {
		snprintf(out, NAME_SIZE, "%s", name);
		return out;
	}
	if (strncmp(rest, "ARCFOUR", 7) == 0)
		snprintf(out, NAME_SIZE, "%.*s_WITH_RC4%s", (int)(4 + n), name, rest + 7);
	else
		snprintf(out, NAME_SIZE, "%.*s_WITH_%s%s", (int)(4 + n), name, rest,
			strstr(rest, "CHACHA20") ? "_SHA256" : "");
	at = strstr(out, "_SHA1");
	if (at && mac == GNUTLS_MAC_SHA1)
		at[4] = '\0';
	return out;
}

static bool suite_at(size_t i, struct suite *s)
{
	unsigned char id[2];
	const char *name = gnutls_cipher_suite_info(i, id, &s->kx, &s->cipher, &s->mac, &s->min);

	if (!name || i >= SUITES_MAX)
		return false;
	s->number = (uint16_t)(id[0] << 8 | id[1]);
	s->name = s->min == GNUTLS_TLS1_3 ? name : registered(i, name, s->kx, s->mac);
	return true;
}

static bool find_suite(const char *name, struct suite *s)
{
	for (size_t i = 0; suite_at(i, s); i++)
		if (strcmp(s->name, name) == 0)
			return true;
	return false;
}

static bool is_tls13(const struct suite *s)
{
	return s->min == GNUTLS_TLS1_3;
}

/* Names of GnuTLS's are priority words where this build has what they mean. */
static bool is_word(const char *prefix, const char *name)
{
	gnutls_priority_t p;
	char text[128];
	int r;

	if (!name)
		return false;
	snprintf(text, sizeof(text), "NORMAL:+%s%s", prefix, name);
	r = gnutls_priority_init(&p, text, NULL);
	if (r == 0)
		gnutls_priority_deinit(p);
	return r == 0;
}

static bool is_offered_kx(gnutls_kx_algorithm_t kx)
{
	for (size_t i = 0; i < COUNT(kxs); i++)
		if (kxs[i] == kx)
			return true;
	return false;
}

static bool fits(const struct suite *s, int version)
{
	static const gnutls_protocol_t protocols[] = { GNUTLS_TLS1_0, GNUTLS_TLS1_1, GNUTLS_TLS1_2 };

	if (version == 13 || is_tls13(s))
		return version == 13 && is_tls13(s);
	return is_offered_kx(s->kx) && s->min <= protocols[version - 10];
}

static bool has(const char *text, const char *part)
{
	return text && strstr(text, part);
}

static const char *weakness(const struct suite *s)
{
	const char *cipher = gnutls_cipher_get_name(s->cipher);

	if (s->cipher == GNUTLS_CIPHER_NULL)
		return "no encryption";
	if (has(cipher, "ARCFOUR"))
		return "RC4";
	if (has(cipher, "3DES") || has(cipher, "DES-CBC"))
		return "3DES";
	if (s->mac == GNUTLS_MAC_MD5)
		return "MD5";
	if (!is_tls13(s) && s->kx == GNUTLS_KX_RSA)
		return "no forward secrecy";
	return s->kx == GNUTLS_KX_DHE_DSS && !is_tls13(s) ? "DSA" : NULL;
}

static size_t list_suites(int version, struct offer out[OFFER_MAX])
{
	struct suite s;
	size_t n = 0;

	for (size_t i = 0; suite_at(i, &s) && n < OFFER_MAX; i++)
		if (fits(&s, version) && is_word("", gnutls_cipher_get_name(s.cipher)) &&
			is_word("", gnutls_mac_get_name(s.mac)))
			out[n++] = (struct offer){ s.name, weakness(&s), s.number };
	return n;
}

uint16_t offer_suite(const char *name)
{
	struct suite s;

	return find_suite(name, &s) ? s.number : 0;
}

/* --- groups and signatures ------------------------------------------------------------------ */

static size_t list_groups(int version, struct offer out[OFFER_MAX])
{
	const gnutls_group_t *g = gnutls_group_list();
	size_t n = 0;

	for (; *g && n < OFFER_MAX; g++) {
		const char *name = gnutls_group_get_name(*g);

		if (!is_word("GROUP-", name) || (version < 13 && has(name, "MLKEM")))
			continue;
		out[n++] = (struct offer){ .name = name, .weak = has(name, "SECP192") ? "a group below 224 bits" : NULL };
	}
	return n;
}

static bool is_there(const struct offer *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return true;
	return false;
}

/* Some are known by name, and cannot be used. */
static bool can_be_offered(int version, enum offer_kind kind, const char *name)
{
	char *text = offer_priority(version, kind, &name, 1);
	gnutls_priority_t p;
	int r = text ? gnutls_priority_init(&p, text, NULL) : -1;

	free(text);
	if (r == 0)
		gnutls_priority_deinit(p);
	return r == 0;
}

/* In TLS 1.3 a server cannot sign in the older ways (RFC 8446, 4.2.3). */
static bool signs_in(int version, const char *name)
{
	return version < 13 || (strncmp(name, "RSA-SHA", 7) != 0 && strncmp(name, "RSA-MD", 6) != 0 &&
				       strncmp(name, "DSA-", 4) != 0 && !has(name, "SHA1"));
}

static size_t list_signatures(int version, struct offer out[OFFER_MAX])
{
	const gnutls_sign_algorithm_t *s = gnutls_sign_list();
	size_t n = 0;

	for (; version >= 12 && *s && n < OFFER_MAX; s++) {
		const char *name = gnutls_sign_get_name(*s);
		bool old = has(name, "SHA1") || has(name, "MD5") || has(name, "RMD160");

		if (!is_word("SIGN-", name) || !signs_in(version, name) || is_there(out, n, name) ||
			!can_be_offered(version, OFFER_SIGNATURE, name))
			continue;
		out[n++] = (struct offer){ .name = name,
			.weak = !old ? NULL : has(name, "MD5") ? "MD5 signatures" : "SHA-1 signatures" };
	}
	return n;
}

/* What there is does not change, and to find it out takes a while: once is enough, for the
 * one thread that scans. */
static const struct offer *listed(enum offer_kind kind, int version, size_t *n)
{
	static struct {
		bool known;
		size_t n;
		struct offer v[OFFER_MAX];
	} lists[OFFER_SIGNATURE + 1][4];
	typeof(&lists[0][0]) l = &lists[kind][version - 10];

	if (!l->known) {
		l->n = kind == OFFER_SUITE ? list_suites(version, l->v)
			: kind == OFFER_GROUP ? list_groups(version, l->v)
					      : list_signatures(version, l->v);
		l->known = true;
	}
	*n = l->n;
	return l->v;
}

size_t offer_list(enum offer_kind kind, int version, struct offer out[OFFER_MAX])
{
	size_t n;
	const struct offer *v = listed(kind, version, &n);

	memcpy(out, v, n * sizeof(*v));
	return n;
}

/* --- priority strings --------------------------------------------------------------------------- */

/* Words, each once. */
struct words {
	FILE *out;
	char *text;
	size_t size;
};

static void add(struct words *w, const char *prefix, const char *name)
{
	char word[128];

	snprintf(word, sizeof(word), ":+%s%s:", prefix, name);
	fflush(w->out);
	if (w->text && strstr(w->text, word))
		return;
	fprintf(w->out, "%s+%s%s:", w->size && w->text[w->size - 1] == ':' ? "" : ":", prefix, name);
}

static void add_suite(struct words *w, const char *name, bool with_kx)
{
	struct suite s;

	if (!find_suite(name, &s))
		return;
	add(w, "", gnutls_cipher_get_name(s.cipher));
	add(w, "", gnutls_mac_get_name(s.mac));
	if (with_kx && !is_tls13(&s))
		add(w, "", gnutls_kx_get_name(s.kx));
}

/* Before TLS 1.3 a group belongs to a kind of key exchange. */
static bool suits_groups(gnutls_kx_algorithm_t kx, const char *const *names, size_t n)
{
	bool finite = kx == GNUTLS_KX_DHE_RSA || kx == GNUTLS_KX_DHE_DSS;

	if (kx == GNUTLS_KX_RSA)
		return false;
	for (size_t i = 0; i < n; i++)
		if (has(names[i], "FFDHE") == finite)
			return true;
	return n == 0;
}

/* With the key exchanges that the version knows by itself: TLS 1.3 wants one of the
 * certificate's kind, and where groups and signatures are looked at, those that have
 * them. */
static void add_kx(struct words *w, int version, enum offer_kind kind, const char *const *names, size_t n)
{
	for (size_t i = 0; i < COUNT(kxs); i++) {
		bool suits = version < 13 && kind == OFFER_GROUP ? suits_groups(kxs[i], names, n)
			: version == 13 || kind == OFFER_SIGNATURE ? kxs[i] != GNUTLS_KX_RSA : true;

		if (suits && is_word("", gnutls_kx_get_name(kxs[i])))
			add(w, "", gnutls_kx_get_name(kxs[i]));
	}
}

static void add_kind(struct words *w, enum offer_kind kind, int version, const char *const *names, size_t n)
{
	size_t count = n;
	const struct offer *all = n ? NULL : listed(kind, version, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = n ? names[i] : all[i].name;

		if (kind == OFFER_SUITE)
			add_suite(w, name, n > 0);
		else
			add(w, kind == OFFER_GROUP ? "GROUP-" : "SIGN-", name);
	}
}

char *offer_priority(int version, enum offer_kind kind, const char *const *names, size_t n)
{
	static const enum offer_kind kinds[] = { OFFER_SUITE, OFFER_GROUP, OFFER_SIGNATURE };
	struct words w = { .text = NULL };
	bool wrong;

	w.out = open_memstream(&w.text, &w.size);
	if (!w.out)
		return NULL;
	fputs("NONE:", w.out);
	add(&w, "VERS-", offer_version_name(version));
	add(&w, "", "COMP-NULL");
	if (n == 0 || kind != OFFER_SUITE || version == 13)
		add_kx(&w, version, kind, names, n);
	for (size_t i = 0; i < COUNT(kinds); i++)
		add_kind(&w, kinds[i], version == 13 || kinds[i] != OFFER_SIGNATURE ? version : 12,
			kinds[i] == kind ? names : NULL, kinds[i] == kind ? n : 0);
	wrong = ferror(w.out);
	if (fclose(w.out) != 0 || wrong) {
		free(w.text);
		return NULL;
	}
	w.text[strlen(w.text) - 1] = '\0'; /* the last ':' */
	return w.text;
}
