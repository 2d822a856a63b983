/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_UNITS_H
#define TLSKIT_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Texts with units, as people type and read them. Parsers take the whole
 * string or fail with -1; they print nothing. Overflow is a failure. */

/* "10s" "250ms" "5m" "2h" "1d", a bare number is seconds, "0" is zero.
 * Fractions are fine ("1.5s"). Result in milliseconds. */
int units_parse_duration(const char *text, uint64_t *ms);

/* Decimal integer in [min, max]; no sign, no blanks. */
int units_parse_uint(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* "4096", "64K" "1M" "2G" (powers of 1024). Result in bytes. */
int units_parse_size(const char *text, uint64_t *bytes);

/* Writes 1500 ms as "1.5s", 0 as "0". Returns out. */
char *units_duration(uint64_t ms, char *out, size_t size);

/* Writes bytes with a binary unit, three digits: "64.0 MiB", "812 B". Returns out. */
char *units_bytes(uint64_t bytes, char *out, size_t size);

/* Lower-case hexadecimal text to bytes. Returns the length or -1 (odd length,
 * another character, more than size bytes). Upper case is accepted. */
long units_parse_hex(const char *text, size_t text_len, uint8_t *out, size_t size);

#endif
