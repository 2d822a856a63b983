/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_SCAN_H
#define TLSKIT_REPORT_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/report/check.h"
#include "lib/tls/offer.h"

/* What a server takes: versions, and in each the cipher suites, groups and signature
 * schemes, with the order that the server likes them in; as a screen and as JSON (schema
 * tlskit/connect-scan/1). Strings are owned (check_set copies) unless it says static. */

struct scan_row {
	char *name; /* of the registry for suites, GnuTLS's for the others */
	unsigned id; /* of the registry; 0: a prime of the server's own */
	enum check_answer taken;
	unsigned place; /* among those taken: 1 is what it took first; 0: not known */
	unsigned traits; /* enum offer_trait */
	char *why; /* not taken: what came instead; unknown: why it is */
	char *with; /* a suite's group, a scheme's key ("RSA 2048"); NULL: none, unknown */
};

/* Whether the places are the server's own, or it follows what it is offered first. */
enum scan_order { SCAN_ORDER_UNKNOWN, SCAN_ORDER_SERVER, SCAN_ORDER_CLIENT };

struct scan_rows {
	struct scan_row *rows; /* those that were offered, the best first */
	size_t n; /* 0: not looked at */
	enum scan_order order; /* unknown also where fewer than two are taken */
};

struct scan_version {
	bool offered; /* this GnuTLS has it; else nothing is known */
	enum check_answer taken;
	unsigned traits;
	char *why; /* as a row's */
	/* groups: in TLS 1.3, and in the newest of the others that is taken; signatures: in
	 * TLS 1.3 and 1.2 */
	struct scan_rows suites, groups, signatures;
};

struct scan {
	char *target; /* as typed */
	char *host; /* NULL for unix sockets */
	unsigned port; /* 0: none */
	char *servername; /* SNI that was sent */
	char *address, *via, *starttls; /* as a check's */
	int family;
	int64_t started_ms; /* epoch */
	double total_ms;
	unsigned handshakes; /* that were begun */
	bool complete; /* all was looked at; rows may be unknown all the same */
	struct scan_version versions[OFFER_VERSIONS];
	char **untested; /* what cannot be offered here, a line each */
	size_t n_untested;
	char *library; /* "GnuTLS 3.7.9" */
	/* Why there is no scan, or not all of it. code: CHECK_OK, there is nothing. */
	struct check_fault fault;
};

struct scan *scan_new(const char *target); /* all is unknown; NULL: no memory */
void scan_free(struct scan *s);

/* -1: no memory. */
int scan_add_row(struct scan_rows *r, const char *name, unsigned id, unsigned traits);
int scan_add_untested(struct scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The first fault stays; printf-like. Without memory its message is NULL. */
void scan_set_fault(struct scan *s, enum check_code code, enum check_stage stage, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* That of the fault. What is weak is told, and no failure. */
int scan_exit_code(const struct scan *s);

/* All that is weak among what it takes: enum offer_trait, without the notes. */
unsigned scan_weak(const struct scan *s);

/* The same rules as for a check's forms (check.h): 0, or -1, no memory or out could not
 * be written. */
int scan_write_text(FILE *out, const struct scan *s, const struct check_style *style);
int scan_write_json(FILE *out, const struct scan *s);

#endif
