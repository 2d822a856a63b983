/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_NEAR_H
#define TLSKIT_BASE_NEAR_H

#include <stddef.h>

/* The candidate that is nearest to what was typed (Damerau-Levenshtein with
 * prefix matches first), or NULL where none is near enough to suggest.
 * Candidates are borrowed. */
const char *near_match(const char *typed, const char *const *candidates, size_t n);

#endif
