/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_CHECK_SAMPLE_H
#define TLSKIT_TESTS_CHECK_SAMPLE_H

#include "lib/report/check.h"

/* Checks as `connect` would fill them, of 2026-11-30T12:00:00Z. They are the
 * caller's to free. */

struct check *check_sample_ok(void); /* with a staple, SCTs, DANE */
struct check *check_sample_bad(void); /* expired, another name, self-signed */
struct check *check_sample_dns(void); /* nothing but the failure is known */
struct check *check_sample_alert(void); /* the server refused */
struct check *check_sample_plain(void); /* not TLS, through a proxy, after STARTTLS */
struct check *check_sample_soon(void); /* near expiry, nothing else */
struct check *check_sample_psk(void); /* no certificate at all */
struct check *check_sample_long(void); /* long names, long words, a long chain */
struct check *check_sample_hostile(void); /* bytes that harm, everywhere */
struct check *check_sample_full(void); /* fine, and all that can be known is */

/* All of them in turn; NULL at the end. name: for messages. */
struct check *check_sample(size_t i, const char **name);

/* A chain of n certificates, n_sent of them sent, all on the path, valid from
 * 2026-11-21 to 2027-02-19: CN=0 issued by CN=1 and so on. Its last one is its own
 * issuer. */
struct chain *check_sample_chain(size_t n, size_t n_sent);
void check_sample_text(char **place, const char *text); /* check_set that must succeed */

/* What a form makes of it; owned. */
char *check_sample_json(const struct check *c);
char *check_sample_screen(const struct check *c, int width, bool colour, bool full);
char *check_sample_nagios(struct check *c, double warn_days, double crit_days);

#endif
