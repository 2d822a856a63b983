/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_UTF8_H
#define TLSKIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* UTF-8 as far as messages and tables need it. No locale has a say. */

/* Decodes the character at s[0..n), n > 0, into *cp. Returns its length, 1 to
 * 4, or 0 when what stands there is not UTF-8: overlong forms, surrogates,
 * anything above U+10FFFF and a character that is cut off (RFC 3629, 3). */
size_t utf8_decode(const char *s, size_t n, uint32_t *cp);

/* Whether a terminal acts on the character instead of showing it: C0 and C1
 * controls, DEL, line and paragraph separators, and the marks that turn the
 * direction of text (U+061C, U+200E-F, U+202A-E, U+2066-9), with which a peer
 * could make a line read as another one. */
bool utf8_is_control(uint32_t cp);

/* How many columns n bytes take: one a character, and one for each byte that
 * is not UTF-8. Wide and combining characters are not known here. */
size_t utf8_columns(const char *s, size_t n);

/* How many bytes of s[0..n) fit into so many columns, by the same count. */
size_t utf8_fit(const char *s, size_t n, size_t columns);

#endif
