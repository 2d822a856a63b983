/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/ocsp.h"

#include <gnutls/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/tls/ocsp_int.h"
#include "lib/tls/tlserr.h"

#define OCSP_DAY       (24 * 3600)
#define OCSP_AHEAD     300 /* seconds that a responder's clock may be ahead of ours */
#define OCSP_OPEN_DAYS 15 /* how long an answer without a next update counts; as GnuTLS does it */
#define OCSP_SINGLES   256 /* certificates that one answer may be about, as far as we look */
#define OCSP_BASIC     "1.3.6.1.5.5.7.48.1.1"

static void conclude(struct ocsp_result *out, enum ocsp_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void conclude(struct ocsp_result *out, enum ocsp_status status, const char *fmt, ...)
{
	va_list ap;

	out->status = status;
	va_start(ap, fmt);
	vsnprintf(out->text, sizeof(out->text), fmt, ap);
	va_end(ap);
}

struct day {
	char text[CLOCK_RFC3339_SIZE];
};

static struct day day_of(int64_t at)
{
	struct day d;

	clock_rfc3339(at * 1000, d.text); /* GnuTLS's times end with the year 9999 */
	d.text[10] = '\0';
	return d;
}

/* --- about which certificate ------------------------------------------------------------------- */

struct single {
	unsigned status, reason;
	time_t this_update, next_update, revoked_at;
};

struct subject {
	gnutls_x509_crt_t leaf, issuer;
	uint8_t serial[128];
	size_t serial_size;
	gnutls_datum_t issuer_dn; /* owned */
};

static bool subject_is(const struct subject *s, gnutls_digest_algorithm_t algo, const gnutls_datum_t *name_hash,
	const gnutls_datum_t *key_hash, const gnutls_datum_t *serial)
{
	size_t n = gnutls_hash_get_len(algo);
	uint8_t hash[64];

	if (serial->size != s->serial_size || memcmp(serial->data, s->serial, s->serial_size) != 0)
		return false;
	if (n == 0 || n > sizeof(hash) || name_hash->size != n || key_hash->size != n)
		return false;
	if (gnutls_hash_fast(algo, s->issuer_dn.data, s->issuer_dn.size, hash) < 0 ||
		memcmp(hash, name_hash->data, n) != 0)
		return false;
	return !s->issuer || (ocsp_signer_hash_key(s->issuer, algo, hash) && memcmp(hash, key_hash->data, n) == 0);
}

/* What ends nothing: a hold may be lifted again, every other revocation stays. */
static bool is_final(const struct single *s)
{
	return s->status == GNUTLS_OCSP_CERT_REVOKED && s->reason != GNUTLS_X509_CRLREASON_CERTIFICATEHOLD;
}

/* Of several about one certificate: a revocation counts, else the newest. */
static bool counts_more(const struct single *a, const struct single *b)
{
	return is_final(a) != is_final(b) ? is_final(a) : a->this_update > b->this_update;
}

/* 1: it is about the subject; 0: about another; -1: there are no more. */
static int read_single(gnutls_ocsp_resp_t resp, unsigned i, const struct subject *subject, struct single *out)
{
	gnutls_datum_t name_hash = { NULL, 0 }, key_hash = { NULL, 0 }, serial = { NULL, 0 };
	gnutls_digest_algorithm_t algo = GNUTLS_DIG_UNKNOWN;
	int r = gnutls_ocsp_resp_get_single(resp, i, &algo, &name_hash, &key_hash, &serial, &out->status,
		&out->this_update, &out->next_update, &out->revoked_at, &out->reason);

	if (r < 0)
		return r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE ? -1 : 0;
	r = subject_is(subject, algo, &name_hash, &key_hash, &serial);
	gnutls_free(name_hash.data);
	gnutls_free(key_hash.data);
	gnutls_free(serial.data);
	return r;
}

static bool find_single(gnutls_ocsp_resp_t resp, const struct subject *subject, struct single *out, unsigned *total)
{
	struct single one;
	bool found = false;
	unsigned i;
	int r;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < OCSP_SINGLES && (r = read_single(resp, i, subject, &one)) >= 0; i++)
		if (r > 0 && (!found || counts_more(&one, out))) {
			*out = one;
			found = true;
		}
	*total = i;
	return found;
}

/* --- what it says ---------------------------------------------------------------------------------- */

static const char *const reasons[] = {
	[GNUTLS_X509_CRLREASON_KEYCOMPROMISE] = "key compromise",
	[GNUTLS_X509_CRLREASON_CACOMPROMISE] = "CA compromise",
	[GNUTLS_X509_CRLREASON_AFFILIATIONCHANGED] = "affiliation changed",
	[GNUTLS_X509_CRLREASON_SUPERSEDED] = "superseded",
	[GNUTLS_X509_CRLREASON_CESSATIONOFOPERATION] = "cessation of operation",
	[GNUTLS_X509_CRLREASON_CERTIFICATEHOLD] = "certificate hold",
	[GNUTLS_X509_CRLREASON_REMOVEFROMCRL] = "remove from CRL",
	[GNUTLS_X509_CRLREASON_PRIVILEGEWITHDRAWN] = "privilege withdrawn",
	[GNUTLS_X509_CRLREASON_AACOMPROMISE] = "AA compromise",
};

static void fill(const struct single *s, int64_t produced, struct ocsp_result *out)
{
	out->this_update = s->this_update;
	out->next_update = s->next_update;
	out->produced = produced;
	if (s->status != GNUTLS_OCSP_CERT_REVOKED)
		return;
	out->revoked_at = s->revoked_at;
	if (s->reason < sizeof(reasons) / sizeof(*reasons))
		out->reason = reasons[s->reason];
}

/* Whether the times are such that it counts. */
static bool is_current(struct ocsp_result *out, int64_t now)
{
	int64_t newest = out->produced > out->this_update ? out->produced : out->this_update;

	if (newest > now + OCSP_AHEAD)
		conclude(out, OCSP_EXPIRED, "it is from %s, which lies ahead: a clock is wrong, here or there",
			day_of(newest).text);
	else if (out->next_update >= 0 && out->next_update < now)
		conclude(out, OCSP_EXPIRED, "it was good until %s: whoever serves it must fetch a new one",
			day_of(out->next_update).text);
	else if (out->next_update < 0 && out->this_update < now - OCSP_OPEN_DAYS * OCSP_DAY)
		conclude(out, OCSP_EXPIRED, "it is from %s and does not say how long it is good; %d days are the most",
			day_of(out->this_update).text, OCSP_OPEN_DAYS);
	else
		return true;
	return false;
}

static void say_revoked(struct ocsp_result *out)
{
	conclude(out, OCSP_REVOKED, "the certificate was revoked%s%s%s%s%s", out->revoked_at >= 0 ? " on " : "",
		out->revoked_at >= 0 ? day_of(out->revoked_at).text : "", out->reason ? " (" : "",
		out->reason ? out->reason : "", out->reason ? ")" : "");
}

static void say_status(const struct single *s, struct ocsp_result *out, int64_t now)
{
	/* An old answer that says so is as good as a new one: a revocation is not
	 * taken back, and who replays it only keeps others away from what was
	 * revoked. A hold may have been lifted since. */
	if (is_final(s)) {
		say_revoked(out);
		return;
	}
	if (!is_current(out, now))
		return;
	if (s->status == GNUTLS_OCSP_CERT_REVOKED)
		say_revoked(out);
	else if (s->status != GNUTLS_OCSP_CERT_GOOD)
		conclude(out, OCSP_UNKNOWN,
			"the responder does not know the certificate: it may never have been issued");
	else if (out->next_update >= 0)
		conclude(out, OCSP_GOOD, "not revoked as of %s; good until %s", day_of(out->this_update).text,
			day_of(out->next_update).text);
	else
		conclude(out, OCSP_GOOD, "not revoked as of %s", day_of(out->this_update).text);
}

/* --- all of it -------------------------------------------------------------------------------------- */

/* A successful answer. That it is about somebody else is said first: another CA's
 * staple is signed by another key as well, and that would say less. */
static void check_basic(gnutls_ocsp_resp_t resp, const struct subject *subject, int64_t now, struct ocsp_result *out)
{
	int64_t produced = gnutls_ocsp_resp_get_produced(resp);
	const char *fault;
	struct single one;
	unsigned total;

	if (!find_single(resp, subject, &one, &total)) {
		if (total)
			conclude(out, OCSP_OTHER, "it is about another certificate");
		else
			conclude(out, OCSP_MALFORMED, "it is about no certificate at all");
		return;
	}
	fault = ocsp_signer_fault(resp, subject->issuer, now);
	if (fault) {
		conclude(out, OCSP_BAD_SIGNATURE, "it proves nothing: %s", fault);
		return;
	}
	if (produced < 0 || one.this_update < 0) {
		conclude(out, OCSP_MALFORMED, "it does not say from when it is");
		return;
	}
	fill(&one, produced, out);
	say_status(&one, out, now);
}

static const char *refusal(int status)
{
	switch (status) {
	case GNUTLS_OCSP_RESP_MALFORMEDREQUEST:
		return "it did not understand the request";
	case GNUTLS_OCSP_RESP_INTERNALERROR:
		return "it has an internal error";
	case GNUTLS_OCSP_RESP_TRYLATER:
		return "try later";
	case GNUTLS_OCSP_RESP_SIGREQUIRED:
		return "it wants signed requests";
	case GNUTLS_OCSP_RESP_UNAUTHORIZED:
		return "it does not answer for this certificate";
	default:
		return NULL;
	}
}

static bool is_basic(gnutls_ocsp_resp_t resp)
{
	gnutls_datum_t oid = { NULL, 0 }, data = { NULL, 0 };
	bool is = gnutls_ocsp_resp_get_response(resp, &oid, &data) == 0 && oid.size >= strlen(OCSP_BASIC) &&
		  memcmp(oid.data, OCSP_BASIC, strlen(OCSP_BASIC)) == 0;

	gnutls_free(oid.data);
	gnutls_free(data.data);
	return is;
}

static void check(gnutls_ocsp_resp_t resp, const gnutls_datum_t *der, const struct subject *subject, int64_t now,
	struct ocsp_result *out)
{
	int status;

	if (gnutls_ocsp_resp_import2(resp, der, GNUTLS_X509_FMT_DER) < 0) {
		conclude(out, OCSP_MALFORMED, "it cannot be read as an OCSP answer");
		return;
	}
	status = gnutls_ocsp_resp_get_status(resp);
	if (status == GNUTLS_OCSP_RESP_SUCCESSFUL && is_basic(resp))
		check_basic(resp, subject, now, out);
	else if (refusal(status))
		conclude(out, OCSP_ERROR, "the responder refuses to answer: %s", refusal(status));
	else
		conclude(out, OCSP_MALFORMED, "it is no OCSP answer of a known kind");
}

void ocsp_check(const gnutls_datum_t *der, gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer, int64_t now,
	struct ocsp_result *out)
{
	struct subject subject = { .leaf = leaf, .issuer = issuer, .serial_size = sizeof(subject.serial) };
	gnutls_ocsp_resp_t resp;

	*out = (struct ocsp_result){ .this_update = -1, .next_update = -1, .produced = -1, .revoked_at = -1 };
	if (!der || !der->data || !der->size) {
		conclude(out, OCSP_NONE, "there is no OCSP answer");
		return;
	}
	if (gnutls_ocsp_resp_init(&resp) < 0) {
		conclude(out, OCSP_MALFORMED, "no memory");
		return;
	}
	if (gnutls_x509_crt_get_serial(leaf, subject.serial, &subject.serial_size) < 0 ||
		gnutls_x509_crt_get_raw_issuer_dn(leaf, &subject.issuer_dn) < 0)
		conclude(out, OCSP_OTHER, "the certificate has no serial number that it could be about");
	else
		check(resp, der, &subject, now, out);
	gnutls_free(subject.issuer_dn.data);
	gnutls_ocsp_resp_deinit(resp);
}

const char *ocsp_status_name(enum ocsp_status s)
{
	static const char *const names[] = {
		[OCSP_NONE] = "none", [OCSP_GOOD] = "good", [OCSP_REVOKED] = "revoked", [OCSP_UNKNOWN] = "unknown",
		[OCSP_EXPIRED] = "expired", [OCSP_OTHER] = "other-certificate", [OCSP_BAD_SIGNATURE] = "bad-signature",
		[OCSP_ERROR] = "error", [OCSP_MALFORMED] = "malformed",
	};

	return (size_t)s < sizeof(names) / sizeof(*names) ? names[s] : "unknown";
}

int ocsp_request(gnutls_x509_crt_t leaf, gnutls_x509_crt_t issuer, gnutls_datum_t *out, struct err *e)
{
	gnutls_ocsp_req_t req;
	int r = gnutls_ocsp_req_init(&req);

	*out = (gnutls_datum_t){ NULL, 0 };
	if (r < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	/* SHA-1 only names the certificate here, and some responders know nothing else (RFC 5019, 2.1.1) */
	r = gnutls_ocsp_req_add_cert(req, GNUTLS_DIG_SHA1, issuer, leaf);
	if (r == 0)
		r = gnutls_ocsp_req_randomize_nonce(req);
	if (r == 0)
		r = gnutls_ocsp_req_export(req, out);
	gnutls_ocsp_req_deinit(req);
	return r < 0 ? tlserr_set(e, ERR_RUNTIME, r, "cannot make an OCSP request") : 0;
}
