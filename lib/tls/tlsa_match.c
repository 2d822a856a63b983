/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/tls/tlsa.h"

/* Records held against a chain. */

#define DIGEST_MAX 64

/* What a person reads, put together piece by piece; what does not fit is cut. */
static void say(struct tlsa_result *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct tlsa_result *out, const char *fmt, ...)
{
	size_t n = strlen(out->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->text + n, sizeof(out->text) - n, fmt, ap);
	va_end(ap);
}

/* --- one record, one certificate --------------------------------------------- */

static int import(const gnutls_datum_t *der, gnutls_x509_crt_t *crt)
{
	int r = gnutls_x509_crt_init(crt);

	if (r == 0)
		r = gnutls_x509_crt_import(*crt, der, GNUTLS_X509_FMT_DER);
	return r;
}

/* The key's SubjectPublicKeyInfo, gnutls_malloc'ed. */
static int key_of(const gnutls_datum_t *der, gnutls_datum_t *spki)
{
	gnutls_x509_crt_t crt = NULL;
	gnutls_pubkey_t key = NULL;
	int r = import(der, &crt);

	if (r == 0)
		r = gnutls_pubkey_init(&key);
	if (r == 0)
		r = gnutls_pubkey_import_x509(key, crt, 0);
	if (r == 0)
		r = gnutls_pubkey_export2(key, GNUTLS_X509_FMT_DER, spki);
	gnutls_pubkey_deinit(key);
	gnutls_x509_crt_deinit(crt);
	return r;
}

static gnutls_digest_algorithm_t digest_of(const struct tlsa *r)
{
	return r->matching == TLSA_SHA256 ? GNUTLS_DIG_SHA256 : GNUTLS_DIG_SHA512;
}

/* The digest that the record would have for this certificate; its length, 0: none. */
static size_t digest(const struct tlsa *r, const gnutls_datum_t *what, uint8_t out[DIGEST_MAX])
{
	if (r->matching == TLSA_FULL || gnutls_hash_fast(digest_of(r), what->data, what->size, out) < 0)
		return 0;
	return gnutls_hash_get_len(digest_of(r));
}

static bool same(const struct tlsa *r, const void *data, size_t n)
{
	return n == r->n && gnutls_memcmp(data, r->data, n) == 0;
}

/* A certificate that cannot be read has no key to match. */
static bool matches(const struct tlsa *r, const gnutls_datum_t *der)
{
	gnutls_datum_t key = { NULL, 0 };
	const gnutls_datum_t *what = r->selector == TLSA_KEY ? &key : der;
	uint8_t d[DIGEST_MAX];
	bool ok;

	if (r->selector == TLSA_KEY && key_of(der, &key) < 0)
		return false;
	if (r->matching == TLSA_FULL)
		ok = same(r, what->data, what->size);
	else
		ok = same(r, d, digest(r, what, d));
	gnutls_free(key.data);
	return ok;
}

/* --- one record, a chain -------------------------------------------------------- */

static size_t sent_of(const struct tlsa_chain *c)
{
	return c->n_sent < TLSA_CHAIN_MAX ? c->n_sent : TLSA_CHAIN_MAX;
}

/* The first certificate from index `from` on that matches; n: none. */
static size_t find(const struct tlsa *r, const gnutls_datum_t *der, size_t n, size_t from)
{
	while (from < n && !matches(r, &der[from]))
		from++;
	return from;
}

/* What the leaf's record would be, for whoever has to write it. */
static void say_digest(const struct tlsa *r, const gnutls_datum_t *leaf, struct tlsa_result *out)
{
	gnutls_datum_t key = { NULL, 0 };
	uint8_t d[DIGEST_MAX];
	size_t n;

	if (r->selector == TLSA_KEY && key_of(leaf, &key) < 0)
		return;
	n = digest(r, r->selector == TLSA_KEY ? &key : leaf, d);
	if (n > 0)
		say(out, "; the leaf's is ");
	for (size_t i = 0; i < n; i++)
		say(out, "%02x", d[i]);
	gnutls_free(key.data);
}

static bool found(struct tlsa_result *out, size_t depth, bool from_path)
{
	out->depth = depth;
	out->from_path = from_path;
	return true;
}

/* 1 and 3. */
static bool try_leaf(const struct tlsa *r, const struct tlsa_chain *c, struct tlsa_result *out)
{
	size_t n = sent_of(c), i = find(r, c->sent, n, 0);

	if (i == 0 && (r->usage == TLSA_DANE_EE || c->n_path > 0))
		return found(out, 0, false);
	if (i == 0) {
		say(out, "it matches the leaf, but there is no valid path to a trusted root, which this usage asks for besides");
	} else if (i < n) {
		say(out, "it matches certificate %zu, an issuer, and this usage is about the leaf", i);
	} else {
		say(out, "the leaf is another one");
		say_digest(r, &c->sent[0], out);
	}
	return false;
}

static void say_no_issuer(const struct tlsa *r, const struct tlsa_chain *c, struct tlsa_result *out)
{
	if (matches(r, &c->sent[0]))
		say(out, "it matches the leaf, and this usage is about an issuer; did you mean %d?", r->usage + 1);
	else
		say(out, "no issuer in the chain matches%s",
			r->usage == TLSA_DANE_TA ? ", and the server has to send it (RFC 7671, 5.2)" : "");
}

/* 0 */
static bool try_pkix_issuer(const struct tlsa *r, const struct tlsa_chain *c, struct tlsa_result *out)
{
	size_t n = sent_of(c), i = find(r, c->path, c->n_path, 1);

	if (i < c->n_path)
		return found(out, i, true);
	i = find(r, c->sent, n, 1);
	if (i >= n)
		say_no_issuer(r, c, out);
	else if (c->n_path > 0)
		say(out, "it matches certificate %zu, which is not on the verified path", i);
	else
		say(out, "it matches certificate %zu, but there is no valid path to a trusted root, which this usage asks for besides",
			i);
	return false;
}

static int verify_to(gnutls_x509_crt_t *certs, unsigned n, gnutls_x509_crt_t issuer, unsigned *status)
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER };
	gnutls_x509_trust_list_t list;
	int r = gnutls_x509_trust_list_init(&list, 0);

	if (r < 0)
		return r;
	r = gnutls_x509_trust_list_add_cas(list, &issuer, 1, 0);
	if (r >= 0)
		r = gnutls_x509_trust_list_verify_crt2(list, certs, n, &purpose, 1, 0, status, NULL);
	gnutls_x509_trust_list_deinit(list, 0);
	return r < 0 ? r : 0;
}

/* Without the full stop and the blank behind it. */
static int sentence_length(const char *text)
{
	size_t n = strlen(text);

	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '.'))
		n--;
	return (int)n;
}

/* Whether these certificates lead from the leaf, the first, to the issuer, today and for a
 * server. That it was sent along proves nothing: anybody can do so. */
static bool leads_to(const gnutls_datum_t *list, size_t size, const gnutls_datum_t *der, struct tlsa_result *out)
{
	gnutls_x509_crt_t certs[TLSA_CHAIN_MAX], issuer = NULL;
	gnutls_datum_t text = { NULL, 0 };
	unsigned n = 0, status = 0;
	int r = import(der, &issuer);

	/* others that cannot be read are left out, the leaf cannot */
	for (size_t i = 0; i < size && r == 0; i++) {
		int bad = import(&list[i], &certs[n]);

		if (bad == 0)
			n++;
		else
			gnutls_x509_crt_deinit(certs[n]);
		r = i == 0 ? bad : 0;
	}
	if (r == 0)
		r = verify_to(certs, n, issuer, &status);
	if (r < 0)
		say(out, "%s", gnutls_strerror(r));
	else if (status != 0 && gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == 0)
		say(out, "%.*s", sentence_length((const char *)text.data), (const char *)text.data);
	gnutls_free(text.data);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(certs[i]);
	gnutls_x509_crt_deinit(issuer);
	return r == 0 && status == 0;
}

static bool is_leaf(const struct tlsa_chain *c, const gnutls_datum_t *der)
{
	return der->size == c->sent[0].size && memcmp(der->data, c->sent[0].data, der->size) == 0;
}

/* Of the certificates behind the leaf, the first that matches and that the leaf leads to;
 * SIZE_MAX: none. Why not stands behind what was said, and is anew for each. */
static size_t find_issuer(const struct tlsa *r, const struct tlsa_chain *c, bool on_path, size_t said,
	struct tlsa_result *out)
{
	const gnutls_datum_t *list = on_path ? c->path : c->sent;
	size_t all = on_path ? c->n_path : c->n_sent, n = all < TLSA_CHAIN_MAX ? all : TLSA_CHAIN_MAX, i;

	for (i = find(r, list, n, 1); i < n; i = find(r, list, n, i + 1)) {
		if (is_leaf(c, &list[i]))
			continue;
		out->text[said] = '\0';
		say(out, "it matches certificate %zu%s, but no valid path leads there: ", i,
			on_path ? " of the path" : "");
		if (leads_to(list, on_path ? i : n, &list[i], out))
			return i;
	}
	return SIZE_MAX;
}

/* 2. The path that the trust store verified counts no more than another: its dates were not
 * looked at. A whole certificate in the record can be the issuer without being sent. */
static bool try_dane_issuer(const struct tlsa *r, const struct tlsa_chain *c, struct tlsa_result *out)
{
	gnutls_datum_t own = { r->data, (unsigned)r->n };
	size_t said = strlen(out->text), i;

	if ((i = find_issuer(r, c, true, said, out)) != SIZE_MAX)
		return found(out, i, true);
	if ((i = find_issuer(r, c, false, said, out)) != SIZE_MAX)
		return found(out, i, false);
	if (out->text[said] != '\0')
		return false;
	if (r->selector == TLSA_CERT && r->matching == TLSA_FULL && !is_leaf(c, &own)) {
		say(out, "no valid path leads to the certificate in it: ");
		out->from_record = leads_to(c->sent, sent_of(c), &own, out);
		return out->from_record;
	}
	say_no_issuer(r, c, out);
	return false;
}

/* --- all of them ------------------------------------------------------------------ */

static bool try_record(const struct tlsa *r, const struct tlsa_chain *c, struct tlsa_result *out)
{
	if (r->usage == TLSA_PKIX_TA)
		return try_pkix_issuer(r, c, out);
	return r->usage == TLSA_DANE_TA ? try_dane_issuer(r, c, out) : try_leaf(r, c, out);
}

/* "certificate 2" is the third: the leaf is 0, as with s_client. */
static void say_match(const struct tlsa *r, struct tlsa_result *out)
{
	out->text[0] = '\0';
	say(out, "record %zu (%d %d %d) ", out->record + 1, r->usage, r->selector, r->matching);
	if (out->from_record)
		say(out, "holds the issuer that the chain leads to");
	else if (out->depth == 0)
		say(out, "matches the leaf");
	else
		say(out, "matches certificate %zu of the %s", out->depth, out->from_path ? "verified path" : "chain");
}

void tlsa_match(const struct tlsa_list *records, const struct tlsa_chain *chain, struct tlsa_result *out)
{
	*out = (struct tlsa_result){ .ok = false };
	if (records->n == 0 || chain->n_sent == 0) {
		say(out, "%s", records->n == 0 ? "there are no records" : "the server sent no certificate");
		return;
	}
	for (int usage = TLSA_DANE_EE; usage >= TLSA_PKIX_TA; usage--) {
		for (size_t i = 0; i < records->n; i++) {
			const struct tlsa *r = &records->v[i];

			if (r->usage != (enum tlsa_usage)usage)
				continue;
			say(out, "%srecord %zu (%d %d %d): ", out->text[0] != '\0' ? "; " : "", i + 1, r->usage,
				r->selector, r->matching);
			out->ok = try_record(r, chain, out);
			out->record = i;
			out->usage = r->usage;
			if (out->ok) {
				say_match(r, out);
				return;
			}
		}
	}
}
