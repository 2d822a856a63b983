/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Who signed an OCSP answer, and whether they may. */

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <string.h>

#include "lib/tls/ocsp_int.h"

#define OCSP_SIGNERS 16 /* certificates of an answer that are looked at */

/* --- DER, as far as GnuTLS does not part it --------------------------------------------------- */

/* Takes an element with this tag off the front of *in: its content, and all of it. */
static bool take(gnutls_datum_t *in, unsigned char tag, gnutls_datum_t *content, gnutls_datum_t *whole)
{
	size_t head = 2, len, i, bytes;

	if (in->size < 2 || in->data[0] != tag)
		return false;
	len = in->data[1];
	if (len & 0x80) {
		bytes = len & 0x7f;
		if (bytes == 0 || bytes > 3 || in->size < 2 + bytes)
			return false;
		for (len = 0, i = 0; i < bytes; i++)
			len = len << 8 | in->data[2 + i];
		head += bytes;
	}
	if (len > in->size - head)
		return false;
	*content = (gnutls_datum_t){ in->data + head, (unsigned)len };
	*whole = (gnutls_datum_t){ in->data, (unsigned)(head + len) };
	in->data += head + len;
	in->size -= (unsigned)(head + len);
	return true;
}

bool ocsp_signer_hash_key(gnutls_x509_crt_t crt, gnutls_digest_algorithm_t algo, uint8_t out[64])
{
	gnutls_datum_t der = { NULL, 0 }, in, spki, ignored, bits;
	gnutls_pubkey_t pub;
	bool ok = false;

	if (gnutls_pubkey_init(&pub) < 0)
		return false;
	if (gnutls_pubkey_import_x509(pub, crt, 0) == 0 && gnutls_pubkey_export2(pub, GNUTLS_X509_FMT_DER, &der) == 0) {
		in = der;
		ok = take(&in, 0x30, &spki, &ignored) && take(&spki, 0x30, &in, &ignored) &&
		     take(&spki, 0x03, &bits, &ignored) && bits.size > 0 &&
		     gnutls_hash_fast(algo, bits.data + 1, bits.size - 1, out) == 0;
	}
	gnutls_free(der.data);
	gnutls_pubkey_deinit(pub);
	return ok;
}

/* --- signatures ---------------------------------------------------------------------------------- */

/* NULL: the signature is this one's. */
static const char *signature_fault(gnutls_ocsp_resp_t resp, gnutls_x509_crt_t signer)
{
	gnutls_datum_t oid = { NULL, 0 }, basic = { NULL, 0 }, sig = { NULL, 0 }, in, content, tbs;
	gnutls_pubkey_t pub;
	int algo = gnutls_ocsp_resp_get_signature_algorithm(resp);
	int r = GNUTLS_E_PK_SIG_VERIFY_FAILED;

	if (gnutls_pubkey_init(&pub) < 0)
		return "no memory";
	if (algo > 0 && gnutls_ocsp_resp_get_response(resp, &oid, &basic) == 0 &&
		gnutls_ocsp_resp_get_signature(resp, &sig) == 0 && gnutls_pubkey_import_x509(pub, signer, 0) == 0) {
		in = basic;
		if (take(&in, 0x30, &content, &tbs) && take(&content, 0x30, &in, &tbs))
			r = gnutls_pubkey_verify_data2(pub, (gnutls_sign_algorithm_t)algo, 0, &tbs, &sig);
	}
	gnutls_pubkey_deinit(pub);
	gnutls_free(oid.data);
	gnutls_free(basic.data);
	gnutls_free(sig.data);
	if (r >= 0 && gnutls_sign_is_secure2((gnutls_sign_algorithm_t)algo, GNUTLS_SIGN_FLAG_SECURE_FOR_CERTS))
		return NULL;
	return r >= 0 || r == GNUTLS_E_INSUFFICIENT_SECURITY ? "it is signed in a way that can be forged"
							     : "its signature is wrong";
}

static bool is_responder(gnutls_ocsp_resp_t resp, gnutls_x509_crt_t crt)
{
	gnutls_datum_t id = { NULL, 0 }, dn = { NULL, 0 };
	uint8_t hash[64];
	bool is = false;

	if (gnutls_ocsp_resp_get_responder_raw_id(resp, GNUTLS_OCSP_RESP_ID_KEY, &id) == 0)
		is = id.size == 20 && ocsp_signer_hash_key(crt, GNUTLS_DIG_SHA1, hash) &&
		     memcmp(hash, id.data, 20) == 0;
	else if (gnutls_ocsp_resp_get_responder_raw_id(resp, GNUTLS_OCSP_RESP_ID_DN, &id) == 0 &&
		 gnutls_x509_crt_get_raw_dn(crt, &dn) == 0)
		is = id.size == dn.size && memcmp(id.data, dn.data, dn.size) == 0;
	gnutls_free(id.data);
	gnutls_free(dn.data);
	return is;
}

/* RFC 6960, 4.2.2.2: a signer other than the issuer is certified by the issuer
 * itself, and for this purpose by name: what it is else good for does not count. */
static const char *grant_fault(gnutls_x509_crt_t signer, gnutls_x509_crt_t issuer, int64_t now)
{
	char oid[128];
	unsigned status = 0, flags = GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DO_NOT_ALLOW_SAME, i;
	size_t n;
	int r;

	if (gnutls_x509_crt_verify(signer, &issuer, 1, flags, &status) < 0 || status)
		return "its signer is not certified by the issuer of the certificate";
	if (gnutls_x509_crt_get_expiration_time(signer) < now || gnutls_x509_crt_get_activation_time(signer) > now)
		return "the certificate of its signer has expired or is not valid yet";
	for (i = 0; i < 32; i++) {
		n = sizeof(oid);
		r = gnutls_x509_crt_get_key_purpose_oid(signer, i, oid, &n, NULL);
		if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			break;
		if (r == 0 && strcmp(oid, GNUTLS_KP_OCSP_SIGNING) == 0)
			return NULL;
	}
	return "its signer may not sign OCSP answers";
}

/* NULL: one of the certificates that came with it signed it, and may. */
static const char *delegated_fault(gnutls_ocsp_resp_t resp, gnutls_x509_crt_t issuer, int64_t now)
{
	const char *fault = NULL, *last = NULL;
	gnutls_x509_crt_t *certs = NULL;
	size_t n = 0, i;
	bool good = false;

	if (gnutls_ocsp_resp_get_certs(resp, &certs, &n) < 0)
		return NULL;
	for (i = 0; i < n; i++) {
		if (!good && i < OCSP_SIGNERS && is_responder(resp, certs[i]) &&
			!gnutls_x509_crt_equals(certs[i], issuer)) {
			fault = signature_fault(resp, certs[i]);
			if (!fault)
				fault = grant_fault(certs[i], issuer, now);
			good = fault == NULL;
			last = fault;
		}
		gnutls_x509_crt_deinit(certs[i]);
	}
	gnutls_free(certs);
	return good ? "" : last;
}

const char *ocsp_signer_fault(gnutls_ocsp_resp_t resp, gnutls_x509_crt_t issuer, int64_t now)
{
	const char *fault, *delegated;

	if (!issuer)
		return "the certificate of the issuer, which is needed to check it, is missing";
	fault = signature_fault(resp, issuer);
	if (!fault)
		return NULL;
	delegated = delegated_fault(resp, issuer, now);
	if (!delegated)
		return fault; /* nobody else claims to be its signer */
	return *delegated ? delegated : NULL;
}
