/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/base/utf8.h"

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* The length that a first byte announces, its own bits in *cp; 0 for none. */
static size_t first_byte(unsigned char c, uint32_t *cp)
{
	if (c < 0x80) {
		*cp = c;
		return 1;
	}
	if ((c & 0xe0) == 0xc0) {
		*cp = c & 0x1f;
		return 2;
	}
	if ((c & 0xf0) == 0xe0) {
		*cp = c & 0x0f;
		return 3;
	}
	if ((c & 0xf8) == 0xf0) {
		*cp = c & 0x07;
		return 4;
	}
	return 0;
}

size_t utf8_decode(const char *s, size_t n, uint32_t *cp)
{
	/* the least character that needs so many bytes; below it is overlong */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c = 0;
	size_t len = first_byte(p[0], &c);

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (!is_tail(p[i]))
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*cp = c;
	return len;
}

bool utf8_is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == 0x61c || cp == 0x200e || cp == 0x200f ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

/* The bytes that one column takes. */
static size_t step(const char *s, size_t n)
{
	uint32_t cp;
	size_t len = utf8_decode(s, n, &cp);

	return len > 0 ? len : 1;
}

size_t utf8_columns(const char *s, size_t n)
{
	size_t columns = 0;

	for (size_t i = 0; i < n; i += step(s + i, n - i))
		columns++;
	return columns;
}

size_t utf8_fit(const char *s, size_t n, size_t columns)
{
	size_t i = 0;

	for (; columns > 0 && i < n; columns--)
		i += step(s + i, n - i);
	return i;
}
