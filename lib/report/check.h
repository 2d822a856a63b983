/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_CHECK_H
#define TLSKIT_REPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/tls/chain.h"
#include "lib/tls/ocsp.h"

/* What `connect` found out about one server, and the forms in which it is told: a
 * screen for people, JSON (schema tlskit/connect/1), a line for Nagios, metrics for
 * Prometheus. Filled step by step, so a check that failed early has all that was
 * known by then. Strings are owned (check_set copies); NULL: unknown or not there. */

/* Exit codes of design section 4. */
enum check_code {
	CHECK_OK = 0,
	CHECK_FAILED = 1,
	CHECK_USAGE = 2,
	CHECK_DNS = 10,
	CHECK_CONNECT = 11,
	CHECK_DEADLINE = 12,
	CHECK_PROXY = 13,
	CHECK_STARTTLS = 14,
	CHECK_HANDSHAKE = 15, /* failed, an alert, or not TLS */
	CHECK_CLIENT_CERT = 16, /* rejected */
	CHECK_UNTRUSTED = 20,
	CHECK_NAME = 21,
	CHECK_TIME = 22, /* expired or not yet valid */
	CHECK_REVOKED = 23,
	CHECK_STAPLE = 24, /* missing or invalid */
	CHECK_WEAK = 25,
	CHECK_PIN = 26, /* or DANE */
	CHECK_EXPIRY = 30, /* near */
	CHECK_EXPECT = 31,
	CHECK_TRUNCATED = 32,
};

enum check_stage { CHECK_AT_DNS, CHECK_AT_CONNECT, CHECK_AT_PROXY, CHECK_AT_STARTTLS, CHECK_AT_HANDSHAKE,
	CHECK_AT_VERIFY, CHECK_AT_EXPECT, CHECK_AT_CLOSE };

struct check_fault {
	enum check_code code;
	enum check_stage stage;
	char *message; /* a sentence, without a full stop */
	char *detail; /* what the other side said, what was expected; NULL: nothing more */
	char *hint; /* what to do; NULL: nothing to suggest */
};

struct check_sct {
	char *log_id; /* base64 */
	int64_t timestamp_ms; /* epoch */
	const char *origin; /* "certificate", "ocsp", "tls"; static */
};

enum check_answer { CHECK_UNKNOWN = -1, CHECK_NO, CHECK_YES };

struct check {
	/* what was asked for */
	char *target; /* as typed */
	char *host; /* NULL for unix sockets */
	unsigned port; /* 0: none */
	char *servername; /* SNI that was sent */
	int64_t started_ms; /* epoch */
	/* how it was reached */
	char *address; /* "192.0.2.1:443" */
	int family; /* 4, 6, 0 unknown or unix */
	char *via; /* the proxy, without its password */
	char *starttls; /* protocol; NULL: none was asked for */
	enum check_answer starttls_done;
	/* milliseconds; NAN: did not get there */
	double dns_ms, connect_ms, proxy_ms, starttls_ms, handshake_ms, total_ms;
	/* what was agreed on */
	char *version, *ciphersuite, *group, *signature, *alpn;
	enum check_answer hello_retry, resumed, early_data; /* early_data: accepted */
	/* tickets of this session: how many came, and the longest lifetime; -1: unknown */
	int tickets;
	long ticket_lifetime_s;
	/* who it is */
	bool verified; /* verification was performed */
	enum check_answer verify_ok;
	struct chain *chain; /* owned; NULL: no certificates came */
	struct chain_request chain_request; /* for texts */
	char *by; /* "certificate", "pin", "psk", "dane", "nothing": what it was authenticated by */
	/* revocation and transparency */
	struct ocsp_result staple; /* status OCSP_NONE: none came */
	bool ocsp_asked;
	struct ocsp_result ocsp; /* of the responder */
	char *ocsp_url;
	struct check_sct *scts;
	size_t n_scts;
	/* what DANE says, in a word: "matched", "no-match", "insecure", "bogus", "no-records", "error"; NULL: not
	 * asked, or it did not come to that */
	char *dane;
	char *dane_record; /* the record that fits: "3 1 1 ab12…" */
	/* our own certificate */
	enum check_answer client_cert_requested, client_cert_sent, client_cert_accepted;
	/* the end */
	int alert; /* description of a fatal alert that came or went; -1: none */
	bool alert_received;
	char *alert_name; /* "handshake_failure" */
	enum check_answer close_notify; /* the peer's; unknown where nobody waited for it */
	/* the verdict */
	struct check_fault *faults;
	size_t n_faults;
	char **warnings;
	size_t n_warnings;
	/* days until the path's first certificate expires; NAN: unknown */
	double days_left, percent_left; /* negative days: since then */
	/* the limits that were asked for, in days; NAN: none. critical: CHECK_EXPIRY is for the
	 * second one, which is more to Nagios than a warning */
	double warn_days, crit_days;
	bool critical;
};

struct check *check_new(const char *target); /* all is unknown; NULL: no memory */
void check_free(struct check *c);
int check_set(char **place, const char *text); /* NULL clears; -1: no memory */

/* Notes a fault, whose message is printf-like; detail and hint are for the caller to
 * set. Never NULL: there is room for the first ones from the start. Without memory the
 * check fails all the same, with a message that is NULL and told as unknown, or in the
 * place of the last fault. */
struct check_fault *check_fault_add(struct check *c, enum check_code code, enum check_stage stage, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int check_warn(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The exit code: 0 without faults; else the first of 23, 20, 21, 22, 25, 24, 26 that
 * is there, else the fault that was noted first. */
int check_exit_code(const struct check *c);

/* What Nagios wants of an exit code of ours (design section 4). */
int check_nagios_code(int code);
int check_nagios_state(const struct check *c); /* the same, where `critical` counts too */

/* Of two exit codes the one that says more: what is critical before what is unknown to
 * Nagios, then warnings; among the critical ones in the order above, then the lower. */
int check_worse(int a, int b);

struct check_style {
	int width; /* columns; 0: as wide as it gets */
	bool colour;
	bool show_chain; /* every certificate in full */
	bool brief; /* one of many: the verdict and the faults alone */
};

/* The forms are the same in any locale: UTF-8, and a decimal point. What a terminal
 * would act on is not in them. They return 0, or -1: no memory, or out could not be
 * written (which ferror tells apart). out is flushed. */

/* The screen for people: verdict and faults with hints first, then what was agreed on,
 * the chain with each certificate's faults. At most 24 lines for a server without
 * faults and with one warning at most. A width below 40 counts as 40. */
int check_write_text(FILE *out, const struct check *c, const struct check_style *s);
/* One object on one line and a newline. */
int check_write_json(FILE *out, const struct check *c);
/* "TLS OK - … | days_left=…;…:;…: time=…s;;;0": one line with performance data; U is
 * unknown there. */
int check_write_nagios(FILE *out, const struct check *c);
/* A line each, and their figures where Nagios looks for them in an output of several
 * lines: the first one's behind its line, and the others' behind the last line, a line
 * each. Labels name the target, and its address where there may be several. */
int check_write_nagios_all(FILE *out, const struct check *const *checks, size_t n, bool addresses);
/* Text format 0.0.4 of all checks: HELP and TYPE once, and what is known of each, by
 * its target. Several checks of one target get their address as a label; of those
 * that share it too the first counts. */
int check_write_prometheus(FILE *out, const struct check *const *checks, size_t n);

const char *check_stage_name(enum check_stage s); /* "dns", "connect", … */
/* "expired", "untrusted", "name-mismatch", …: the result in a word. */
const char *check_code_name(enum check_code c);

#endif
