/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_REPORT_SAMPLE_H
#define TLSKIT_TESTS_REPORT_SAMPLE_H

#include "lib/report/report.h"

/* A document of bench-tls with a row of each sort: two AEADs that differ in a
 * param, one that failed with a long reason, one that is unavailable, echoes with
 * latency and agreement, one of them with memory; a host, advice, a title in UTF-8. */
struct doc *sample_doc(void);

/* A row of five samples around `middle`: 98, 99, 100, 101 and 102 % of it. */
struct row *sample_row(struct doc *d, const char *id, const char *kind, const char *title, const char *unit,
	double middle);

/* What report_write makes of it, owned; fails the test when it fails. */
char *sample_written(const struct doc *d, enum report_format f, int width);

/* Both texts, line by line, with the first line that differs in the message. */
void sample_same(const char *is, const char *expected);

#endif
