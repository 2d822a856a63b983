/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_REPORT_SCAN_INT_H
#define TLSKIT_REPORT_SCAN_INT_H

#include "lib/report/scan.h"

/* What the files that tell a scan share. */

/* The next of the bits that has a name; 0 after the last. Starts with 0. */
unsigned scan_trait_next(unsigned traits, unsigned last);
const char *scan_trait_name(unsigned trait); /* "3des" for JSON */
const char *scan_trait_text(unsigned trait); /* "3DES" */

/* "old versions" by their names, and the rest: "TLS 1.0", "3DES", …, with commas. To be
 * freed; "" for none; NULL: no memory. */
char *scan_weak_text(const struct scan *s);

size_t scan_count(const struct scan_rows *r, enum check_answer taken);

/* Those taken, in their order, then those that are unknown; n of them. To be freed;
 * NULL: no memory. */
const struct scan_row **scan_sorted(const struct scan_rows *r, size_t *n);

#endif
