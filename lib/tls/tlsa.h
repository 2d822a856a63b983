/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_TLSA_H
#define TLSKIT_TLS_TLSA_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* TLSA records (RFC 6698, 7671): which certificates a server may have, as its
 * owner says in the DNS. Given by the user, or looked up. */

enum tlsa_usage {
	TLSA_PKIX_TA, /* 0: an issuer on the path to a trusted root */
	TLSA_PKIX_EE, /* 1: the leaf, which has such a path besides */
	TLSA_DANE_TA, /* 2: an issuer, trusted for that alone */
	TLSA_DANE_EE, /* 3: the leaf; its name, dates and issuers do not count (RFC 7671, 5.1) */
};

enum tlsa_selector { TLSA_CERT, TLSA_KEY }; /* the certificate; its SubjectPublicKeyInfo */

enum tlsa_matching { TLSA_FULL, TLSA_SHA256, TLSA_SHA512 };

struct tlsa {
	enum tlsa_usage usage;
	enum tlsa_selector selector;
	enum tlsa_matching matching;
	uint8_t *data; /* owned */
	size_t n;
};

struct tlsa_list { /* {0} is an empty one */
	struct tlsa *v; /* owned */
	size_t n;
};

/* Appends what "3 1 1 HEX" says; blanks may stand in the hexadecimal digits, as dig
 * prints them. -1 with ERR_CONFIG that names option and field; the list is as it was. */
int tlsa_parse(const char *option, const char *text, struct tlsa_list *list, struct err *e);

/* Appends a record of numbers as they come from the DNS. 1; 0: of no use, since
 * RFC 6698 does not know one of the numbers or the length cannot be; -1: no memory. */
int tlsa_add(struct tlsa_list *list, unsigned usage, unsigned selector, unsigned matching, const void *data, size_t n);

void tlsa_list_free(struct tlsa_list *list); /* what it holds, and it is empty */

/* --- held against a chain ------------------------------------------------------------ */

#define TLSA_CHAIN_MAX 64 /* certificates; what is behind them is not looked at */

struct tlsa_chain {
	const gnutls_datum_t *sent; /* DER, as the server sent them, leaf first */
	size_t n_sent;
	/* The path that verified by the usual rules, from the leaf to the trusted root
	 * (which need not have been sent). 0: there is none. */
	const gnutls_datum_t *path;
	size_t n_path;
};

struct tlsa_result {
	bool ok;
	size_t record; /* index of that which matches */
	enum tlsa_usage usage; /* its */
	size_t depth; /* index of the certificate that it matches: of sent, or of path; 0: the leaf */
	bool from_path; /* it was not sent */
	bool from_record; /* the record itself holds the issuer (2 0 0); depth says nothing */
	char text[512]; /* for a person: what matches what, or for each record why not */
};

/* Whether one of the records matches. Of several that do, one with usage 3 comes
 * first, then 2, 1, 0. Usages 0 and 1 need the path besides. For usage 2 the leaf's
 * path to that issuer is verified here, today's date included; the leaf's name is
 * the caller's to check, as with 0 and 1. With usage 3 nothing else is. */
void tlsa_match(const struct tlsa_list *records, const struct tlsa_chain *chain, struct tlsa_result *out);

/* --- looked up ----------------------------------------------------------------------- */

enum tlsa_dnssec {
	TLSA_UNKNOWN, /* nothing came back that could be signed */
	TLSA_SECURE,
	TLSA_INSECURE, /* not signed: there is no DANE for this host */
	TLSA_BOGUS, /* signed, and wrong: nothing may be believed */
};

struct tlsa_answer {
	enum tlsa_dnssec dnssec;
	struct tlsa_list list; /* owned; filled from a secure answer alone */
	size_t n_found; /* records there, those left out included */
	size_t n_unusable; /* left out since nobody knows what they mean */
};

bool tlsa_can_lookup(void); /* built in, and libgnutls-dane is there to be loaded */

/* The records of _PORT._PROTO.HOST (proto: "tcp"; host: ASCII, no trailing dot). It
 * blocks, for timeout_ms at most: not for a loop's thread. When it gives up
 * (ERR_TIMEOUT), a thread of its own goes on until libunbound gives up too. That there
 * are no records is 0 with n_found = 0 and TLSA_UNKNOWN: libgnutls-dane does not tell
 * whether that was signed, so it proves nothing. libunbound may write to stderr. -1:
 * ERR_RESOLVE, the DNS failed or there is no key of the root; ERR_CONFIG: not built in. */
int tlsa_lookup(const char *host, unsigned port, const char *proto, uint64_t timeout_ms, struct tlsa_answer *out,
	struct err *e);

const char *tlsa_dnssec_name(enum tlsa_dnssec s); /* "secure", …; for JSON */

#endif
