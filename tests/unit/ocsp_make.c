/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/ocsp_make.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <string.h>
#include <time.h>

/* --- a DER writer that works from the end to the start, so that lengths are known ----------- */

struct back {
	uint8_t data[65536];
	size_t at; /* what is written stands behind it */
	bool full;
};

static void put(struct back *b, const void *data, size_t n)
{
	if (n > b->at) {
		b->full = true;
		return;
	}
	b->at -= n;
	memcpy(b->data + b->at, data, n);
}

static void put_byte(struct back *b, unsigned byte)
{
	uint8_t c = (uint8_t)byte;

	put(b, &c, 1);
}

/* Tag and length in front of what was written since `end`. */
static void put_head(struct back *b, unsigned tag, size_t end)
{
	size_t n = end - b->at, bytes = 0, left;

	if (n < 0x80) {
		put_byte(b, (unsigned)n);
	} else {
		for (left = n; left; left >>= 8, bytes++)
			put_byte(b, left & 0xff);
		put_byte(b, 0x80 | (unsigned)bytes);
	}
	put_byte(b, tag);
}

static void put_element(struct back *b, unsigned tag, const void *data, size_t n)
{
	size_t end = b->at;

	put(b, data, n);
	put_head(b, tag, end);
}

static void put_time(struct back *b, int64_t at)
{
	time_t t = at;
	struct tm tm;
	char text[32];

	gmtime_r(&t, &tm);
	put_element(b, 0x18, text, strftime(text, sizeof(text), "%Y%m%d%H%M%SZ", &tm));
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Identifiers of algorithms, whole: OIDs with their parameters. */
#define ID(bytes) { (unsigned char *)(bytes), sizeof(bytes) - 1 }
static const gnutls_datum_t id_sha1 = ID("\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00");
static const gnutls_datum_t id_sha256 = ID("\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00");
static const gnutls_datum_t id_ecdsa_sha256 = ID("\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02");
static const gnutls_datum_t id_rsa_sha256 = ID("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b\x05\x00");
static const gnutls_datum_t id_rsa_sha1 = ID("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05\x05\x00");
static const gnutls_datum_t basic_type = ID("\x06\x09\x2b\x06\x01\x05\x05\x07\x30\x01\x01");

/* The end of a SubjectPublicKeyInfo is its BIT STRING; its head is found from the length. */
static bool key_bits(gnutls_x509_crt_t crt, gnutls_datum_t *spki, gnutls_datum_t *bits)
{
	gnutls_pubkey_t pub;
	size_t skip;
	bool ok;

	*spki = (gnutls_datum_t){ NULL, 0 };
	if (gnutls_pubkey_init(&pub) < 0)
		return false;
	ok = gnutls_pubkey_import_x509(pub, crt, 0) == 0 && gnutls_pubkey_export2(pub, GNUTLS_X509_FMT_DER, spki) == 0;
	gnutls_pubkey_deinit(pub);
	if (!ok)
		return false;
	skip = spki->data[1] & 0x80 ? 2 + (spki->data[1] & 0x7f) : 2;
	skip += 2 + (size_t)spki->data[skip + 1]; /* the algorithm: short in all kinds */
	skip += (spki->data[skip + 1] & 0x80 ? 2 + (spki->data[skip + 1] & 0x7f) : 2) + 1;
	*bits = (gnutls_datum_t){ spki->data + skip, spki->size - (unsigned)skip };
	return true;
}

static bool hash_key(gnutls_x509_crt_t crt, gnutls_digest_algorithm_t digest, uint8_t out[64])
{
	gnutls_datum_t spki, bits;
	bool ok = key_bits(crt, &spki, &bits) && gnutls_hash_fast(digest, bits.data, bits.size, out) == 0;

	gnutls_free(spki.data);
	return ok;
}

static bool put_cert_id(struct back *b, const struct ocsp_make_single *s)
{
	gnutls_digest_algorithm_t digest = s->digest ? s->digest : GNUTLS_DIG_SHA1;
	const gnutls_datum_t *id = digest == GNUTLS_DIG_SHA256 ? &id_sha256 : &id_sha1;
	gnutls_datum_t dn = { NULL, 0 };
	uint8_t serial[128], hash[64];
	size_t n = sizeof(serial), end = b->at, size = gnutls_hash_get_len(digest);
	bool ok = gnutls_x509_crt_get_serial(s->crt, serial, &n) == 0 && hash_key(s->issuer, digest, hash);

	if (ok) {
		put_element(b, 0x02, serial, n);
		hash[0] ^= s->wrong_key_hash;
		put_element(b, 0x04, hash, size);
		ok = gnutls_x509_crt_get_raw_dn(s->issuer, &dn) == 0 && gnutls_hash_fast(digest, dn.data, dn.size, hash) == 0;
		put_element(b, 0x04, hash, size);
		put(b, id->data, id->size);
		put_head(b, 0x30, end);
	}
	gnutls_free(dn.data);
	return ok;
}

static void put_revoked(struct back *b, const struct ocsp_make_single *s)
{
	uint8_t reason = (uint8_t)s->reason;
	size_t end = b->at;

	if (s->reason) {
		put_element(b, 0x0a, &reason, 1);
		put_head(b, 0xa0, end);
	}
	put_time(b, s->revoked_at);
	put_head(b, 0xa1, end);
}

static bool put_single(struct back *b, const struct ocsp_make_single *s)
{
	size_t end = b->at;
	bool ok;

	if (s->next_update != OCSP_MAKE_NONE) {
		put_time(b, s->next_update);
		put_head(b, 0xa0, end);
	}
	put_time(b, s->this_update);
	if (s->status == GNUTLS_OCSP_CERT_REVOKED)
		put_revoked(b, s);
	else
		put(b, s->status == GNUTLS_OCSP_CERT_GOOD ? "\x80\x00" : "\x82\x00", 2);
	ok = put_cert_id(b, s);
	put_head(b, 0x30, end);
	return ok;
}

static bool put_responder(struct back *b, const struct ocsp_make *spec)
{
	gnutls_datum_t dn = { NULL, 0 };
	uint8_t hash[64];
	size_t end = b->at;

	if (spec->by_key) {
		if (!hash_key(spec->signer, GNUTLS_DIG_SHA1, hash))
			return false;
		put_element(b, 0x04, hash, 20);
		put_head(b, 0xa2, end);
		return true;
	}
	if (gnutls_x509_crt_get_raw_dn(spec->signer, &dn) < 0)
		return false;
	put_element(b, 0xa1, dn.data, dn.size);
	gnutls_free(dn.data);
	return true;
}

/* --- all of it ---------------------------------------------------------------------------------- */

static bool put_response_data(struct back *b, const struct ocsp_make *spec)
{
	size_t end = b->at, i;
	bool ok = true;

	for (i = spec->n; i-- > 0;)
		ok = put_single(b, &spec->singles[i]) && ok;
	put_head(b, 0x30, end);
	put_time(b, spec->produced);
	ok = put_responder(b, spec) && ok;
	put_head(b, 0x30, end);
	return ok;
}

static bool put_certs(struct back *b, const struct ocsp_make *spec)
{
	gnutls_datum_t der;
	size_t end = b->at, n = 0;

	while (n < sizeof(spec->certs) / sizeof(*spec->certs) && spec->certs[n])
		n++;
	if (n == 0)
		return true;
	while (n-- > 0) {
		if (gnutls_x509_crt_export2(spec->certs[n], GNUTLS_X509_FMT_DER, &der) < 0)
			return false;
		put(b, der.data, der.size);
		gnutls_free(der.data);
	}
	put_head(b, 0x30, end);
	put_head(b, 0xa0, end);
	return true;
}

static bool sign(const struct ocsp_make *spec, const gnutls_datum_t *tbs, gnutls_datum_t *sig)
{
	gnutls_privkey_t key;
	bool ok;

	if (gnutls_privkey_init(&key) < 0)
		return false;
	ok = gnutls_privkey_import_x509(key, spec->key, 0) == 0 &&
	     gnutls_privkey_sign_data(key, spec->digest ? spec->digest : GNUTLS_DIG_SHA256, 0, tbs, sig) == 0;
	gnutls_privkey_deinit(key);
	return ok;
}

static const gnutls_datum_t *signature_id(const struct ocsp_make *spec)
{
	if (gnutls_x509_privkey_get_pk_algorithm(spec->key) != GNUTLS_PK_RSA)
		return &id_ecdsa_sha256;
	return spec->digest == GNUTLS_DIG_SHA1 ? &id_rsa_sha1 : &id_rsa_sha256;
}

static bool put_basic(struct back *b, const struct ocsp_make *spec)
{
	const gnutls_datum_t *id = signature_id(spec);
	gnutls_datum_t tbs, sig = { NULL, 0 };
	static struct back data;
	size_t end = b->at, sig_end;
	bool ok;

	data = (struct back){ .at = sizeof(data.data) };
	ok = put_response_data(&data, spec) && !data.full;
	tbs = (gnutls_datum_t){ data.data + data.at, (unsigned)(sizeof(data.data) - data.at) };
	ok = ok && (spec->no_signature || sign(spec, &tbs, &sig)) && put_certs(b, spec);
	if (ok) {
		sig_end = b->at;
		if (sig.size)
			put(b, sig.data, sig.size);
		put_byte(b, 0);
		put_head(b, 0x03, sig_end);
		put(b, id->data, id->size);
		put(b, tbs.data, tbs.size);
		put_head(b, 0x30, end);
	}
	gnutls_free(sig.data);
	return ok;
}

gnutls_datum_t ocsp_make(const struct ocsp_make *spec)
{
	gnutls_datum_t out = { NULL, 0 };
	static struct back b;
	uint8_t status = (uint8_t)spec->error;
	size_t end = sizeof(b.data);

	b = (struct back){ .at = end };
	if (!spec->error) {
		if (!put_basic(&b, spec))
			return out;
		put_head(&b, 0x04, end);
		put(&b, spec->type ? spec->type : (const char *)basic_type.data, basic_type.size);
		put_head(&b, 0x30, end);
		put_head(&b, 0xa0, end);
	}
	put_element(&b, 0x0a, &status, 1);
	put_head(&b, 0x30, end);
	if (!b.full && (out.data = gnutls_malloc(end - b.at))) {
		out.size = (unsigned)(end - b.at);
		memcpy(out.data, b.data + b.at, out.size);
	}
	return out;
}
