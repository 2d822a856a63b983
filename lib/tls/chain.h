/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CHAIN_H
#define TLSKIT_TLS_CHAIN_H

#include <gnutls/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/tls/cert.h"

/* What is wrong with a chain of certificates, all of it: for `connect`, where a
 * verdict alone helps nobody. Works on the certificates as the server sent them,
 * needs no session. Every string is UTF-8 that a terminal can show (utf8.h). */

#define CHAIN_MAX 64 /* more certificates than that are refused */

/* Causes, in the order of design section 4 for choosing an exit code. */
enum chain_cause {
	CHAIN_REVOKED = 1 << 0, /* 23 */
	CHAIN_UNTRUSTED = 1 << 1, /* 20: no path to something trusted, or a bad signature on it */
	CHAIN_NAME = 1 << 2, /* 21: CHAIN_WRONG_NAME, or CHAIN_NO_SAN when a name was asked for */
	CHAIN_TIME = 1 << 3, /* 22: on the path that counts */
	CHAIN_WEAK = 1 << 4, /* 25: key or signature on that path */
};

/* Faults of one certificate as sent. */
enum chain_fault {
	CHAIN_EXPIRED = 1 << 0,
	CHAIN_NOT_YET = 1 << 1,
	CHAIN_WRONG_NAME = 1 << 2, /* leaf: none of its names is the one asked for */
	CHAIN_NO_SAN = 1 << 3, /* leaf: names stand in the CN alone, which counts no more (RFC 9525) */
	CHAIN_SELF_SIGNED = 1 << 4, /* leaf, and not trusted as such */
	CHAIN_WEAK_KEY = 1 << 5, /* RSA, DSA or DH below 2048 bits, EC below 224; or below this system's own policy */
	CHAIN_WEAK_SIGNATURE = 1 << 6, /* MD5, SHA-1; not on self-signed or trusted ones, where it proves nothing */
	CHAIN_NOT_CA = 1 << 7, /* it signed another one and may not */
	CHAIN_WRONG_PURPOSE = 1 << 8, /* leaf, or a CA on the path: not for TLS servers */
	CHAIN_OUT_OF_ORDER = 1 << 9, /* it does not certify the one before it (TLS 1.3 allows that, TLS 1.2 clients may
				      * fail); or it is the server's own and does not stand first */
	CHAIN_USELESS = 1 << 10, /* on no path from the leaf */
	CHAIN_EXTRA_ROOT = 1 << 11, /* a self-signed root: clients have it, or do not trust it */
	CHAIN_ISSUER_MISSING = 1 << 12, /* its issuer was not sent and is not trusted */
	CHAIN_UNTRUSTED_ROOT = 1 << 13, /* a root that is not trusted here */
	CHAIN_BAD_SIGNATURE = 1 << 14, /* the issuer's key does not verify it */
	CHAIN_IS_REVOKED = 1 << 15, /* by a CRL that was given */
	CHAIN_UNREADABLE = 1 << 16, /* not a certificate at all */
	CHAIN_LONG_LIFE = 1 << 17, /* leaf of a public CA: longer than browsers accept (398 days; fewer from
				    * 2026-03-15 on); a note, not a cause */
	CHAIN_DUPLICATE = 1 << 18, /* was sent before; its other faults stand there */
	CHAIN_CONSTRAINED = 1 << 19, /* a CA above it allows no such name, or no further CA below */
	CHAIN_CRITICAL = 1 << 20, /* it has a critical extension that is not known here */
};

struct chain_cert {
	gnutls_datum_t der; /* owned */
	gnutls_x509_crt_t crt; /* owned; NULL: unreadable */
	unsigned faults; /* enum chain_fault */
	bool sent; /* else it comes from the trust store, to show the path's end */
	bool on_path; /* of the verified path, or the best one there is */
	char *subject, *issuer; /* RFC 4514; these five are "" when it is unreadable, never NULL */
	char *serial; /* hex */
	char *key; /* "ECDSA P-256", "RSA 2048", "Ed25519" */
	char *signature; /* "ECDSA-SHA256" as GnuTLS names it */
	char **names; /* of the first: "dns:www.example", "ip:192.0.2.1", "uri:…", "email:…"; NULL at the end.
		       * NULL for the others, and for an unreadable one */
	int64_t not_before, not_after; /* epoch seconds */
	uint8_t pin[CERT_PIN_SIZE]; /* zeros: GnuTLS does not know the kind of key */
	uint8_t sha256[32]; /* of der */
	char *ocsp_url, *issuer_url; /* of authority information access; NULL: none */
	bool must_staple; /* RFC 7633 */
	bool is_ca;
};

struct chain {
	struct chain_cert *certs; /* as sent, then those added to complete the path */
	size_t n, n_sent;
	size_t *path; /* indexes, leaf first; the verified path, or how far one gets */
	size_t n_path;
	unsigned causes; /* enum chain_cause; 0: fine */
	char *matched_name; /* that of the certificate which fits; NULL: none, or none was asked for */
	bool ordered; /* no CHAIN_OUT_OF_ORDER */
	bool complete; /* the path ends in something trusted or self-signed: no CHAIN_ISSUER_MISSING */
	bool has_root; /* a self-signed root was sent along */
};

struct chain_request {
	gnutls_x509_trust_list_t trust; /* borrowed; NULL: nothing is trusted */
	const char *name; /* DNS name (ASCII) or IP literal; NULL: the name is not checked */
	int64_t now; /* epoch seconds */
	bool have_crls; /* the trust list holds CRLs; they are looked at where the path is trusted */
};

/* Looks at the certificates (n ≥ 1, leaf first, as sent). NULL with e: no memory,
 * none, or more than CHAIN_MAX. A certificate that cannot be read is a fault, not a
 * failure. The path that verifies decides: an expired cross-signed certificate
 * beside it is a fault of that certificate, but no cause. */
struct chain *chain_inspect(const gnutls_datum_t *der, size_t n, const struct chain_request *r, struct err *e);
void chain_free(struct chain *c); /* NULL is fine */

/* As PEM; the datum is gnutls_malloc'ed. 0 or -1: no memory. */
int chain_pem(const struct chain_cert *cert, gnutls_datum_t *out);

/* "expired", "wrong-name", … for JSON; one bit. NULL: none. chain_fault_next gives
 * the bits one by one: 0 first, 0 at the end. */
const char *chain_fault_name(unsigned fault);
const char *chain_cause_name(unsigned cause);
unsigned chain_fault_next(unsigned faults, unsigned last);

/* A sentence for a person about one fault of certs[i], with what to do about it:
 * "expired on 2026-05-01, 213 days ago: renew it". The certificate is its subject,
 * and is not named in it. Fits into CHAIN_TEXT_SIZE. Returns out. */
#define CHAIN_TEXT_SIZE 640
char *chain_fault_text(const struct chain *c, size_t i, unsigned fault, const struct chain_request *r, char *out,
	size_t size);

#endif
