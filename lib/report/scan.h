/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_SCAN_H
#define TLSKIT_REPORT_SCAN_H

#include <stdint.h>
#include <stdio.h>

#include "lib/report/check.h"

/* What `connect --scan` found: which versions, suites, groups and signature schemes a
 * server takes of those that were offered. As a screen for people and as JSON (schema
 * tlskit/connect-scan/1). Strings are owned where they are not const. */

/* One thing that was offered by itself. */
struct scan_item {
	const char *name; /* "TLS1.2", "TLS_AES_128_GCM_SHA256", "X25519", "RSA-PSS-RSAE-SHA256"; static */
	enum check_answer taken; /* unknown: no answer, and reason says why not */
	char *reason; /* of no and unknown: "handshake_failure (40)", "timed out"; NULL: none */
	const char *weak; /* what is weak about it: "3DES", "no forward secrecy"; static; NULL: nothing */
};

/* Items of one kind in one version. Those that are taken come first; in the order of
 * preference as far as that is known. */
struct scan_list {
	const char *version; /* "TLS1.3" */
	struct scan_item *v;
	size_t n, n_taken;
	size_t n_ordered; /* of those taken: whose place among the others is known */
	/* Whether the server chooses by its own order, and not by the client's. Unknown: with
	 * one choice, or none. */
	enum check_answer servers_order;
};

#define SCAN_VERSIONS 4 /* TLS 1.0 to 1.3 */

struct scan {
	char *target, *host, *servername, *address, *via, *starttls;
	unsigned port;
	int64_t started_ms; /* epoch */
	double took_ms;
	unsigned handshakes; /* that were begun */
	bool interrupted; /* what is unknown was not tried */
	char library[32]; /* "GnuTLS 3.7.9" */
	/* Why nothing was found: CHECK_OK, or what stood in the way of the first handshake. */
	enum check_code code;
	enum check_stage stage;
	char *message;
	struct scan_list versions; /* of the newest first; version NULL */
	/* By version as in `versions`; empty ones were not tried, since the version is not taken
	 * or has no choice. */
	struct scan_list suites[SCAN_VERSIONS], groups[SCAN_VERSIONS], signatures[SCAN_VERSIONS];
};

struct scan *scan_new(const char *target); /* NULL: no memory */
void scan_free(struct scan *s);

/* CHECK_OK: something was found, whatever it is; CHECK_FAILED: interrupted. */
int scan_exit_code(const struct scan *s);

/* As check_write_text and check_write_json do. s: width and colour. */
int scan_write_text(FILE *out, const struct scan *scan, const struct check_style *s);
int scan_write_json(FILE *out, const struct scan *scan);

/* The weak things that are taken, each once: "TLS 1.0", "3DES", … Calls say for each. */
void scan_each_weakness(const struct scan *s, void (*say)(void *arg, const char *weak), void *arg);

/* What is never tried, since GnuTLS does not have it or tlskit does not offer it; NULL at
 * the end. */
const char *const *scan_not_tried(void);

#endif
