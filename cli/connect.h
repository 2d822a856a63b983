/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_CONNECT_H
#define TLSKIT_CLI_CONNECT_H

#include "cli/tlsopt.h"
#include "lib/probe/probe.h"

/* `tlskit connect`: its options, what comes of them, and its modes. */

struct connect_options {
	struct tlsopt tls;
	bool check, json, nagios, prometheus, scan, print_pin;
	uint64_t timeout_ms, jobs, ocsp_timeout_ms;
	bool v4, v6, all_addresses;
	const char *starttls, *starttls_name, *proxy, *resolve, *targets;
	const char *warn, *crit;
	struct opt_list expect_alpn, expect_group, expect_suite, expect_issuer, tlsa;
	bool must_staple, ocsp, dane, resume;
	const char *early_data;
	bool show_chain;
	const char *save_chain;
	bool crlf, ignore_eof, allow_truncation, verbose;
};

/* From options to what a probe needs. */
struct connect_plan {
	const struct connect_options *o;
	struct probe_goal goal;
	struct proxy proxy;
	struct addr resolve;
	struct tlsa_list tlsa;
	gnutls_datum_t early;
	const char *const *texts; /* of the operands */
	struct addr *addrs;
	size_t n;
};

/* -1 with ERR_CONFIG. connect_plan_free in any case. */
int connect_plan_make(struct connect_plan *p, const struct connect_options *o, const struct opt_list *operands,
	struct err *e);
void connect_plan_free(struct connect_plan *p);

/* A target as typed: the port of --starttls where there is none. */
int connect_parse(const struct connect_options *o, const char *text, struct addr *out, struct err *e);

/* The lines of --targets, as they come. */
struct connect_targets {
	const char *path;
	int fd; /* -1: there are none */
	char *bytes; /* that were read: those from at to n are to be looked at */
	size_t at, n, size;
	bool begun, ended;
};

/* path NULL: no targets. */
int connect_targets_open(struct connect_targets *t, const char *path, struct err *e);
void connect_targets_close(struct connect_targets *t);
/* The next one that is no comment, valid until the next call: 1; 0: none is left;
 * BATCH_LATER: none yet; -1 with e: they cannot be read, which is told once. */
int connect_targets_next(struct connect_targets *t, const char **text, struct err *e);

/* The modes; the exit code. */
int connect_check(const struct connect_plan *p);
int connect_talk(const struct connect_plan *p);
int connect_scan(const struct connect_plan *p);

/* PEM, as sent. -1: it is said why. */
int connect_save_chain(const struct chain *chain, const char *path);

/* "tlskit connect: …" on standard error. */
void connect_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Behind a report that failed: says whether memory ran out or why standard output takes no
 * more, unless its reader has had enough, who is told nothing. */
void connect_cannot_write(void);

/* What was asked for cannot be done: says so in the form that is wanted. The exit code. */
struct connect_forms {
	bool json, nagios, scan;
};
int connect_refuse(struct connect_forms f, const struct err *e);

/* Whether a screen on this stream is coloured: a terminal, and no NO_COLOR. */
bool connect_colour(int fd);

#endif
