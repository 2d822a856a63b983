/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/hello.h"

#include <string.h>

#define RECORD_HEADER    5
#define HANDSHAKE_HEADER 4
#define HANDSHAKE        22
#define CLIENT_HELLO     1
#define SESSION_TICKET   35
#define PRE_SHARED_KEY   41
#define SCSV_RENEGOTIATE 0x00ff
#define SCSV_FALLBACK    0x5600

static size_t get16(const uint8_t *p)
{
	return (size_t)p[0] << 8 | p[1];
}

static void put16(uint8_t *p, size_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Where the list's length stands; 0: it is not there. */
static size_t find_suites(const uint8_t *b, size_t n)
{
	size_t at = RECORD_HEADER + HANDSHAKE_HEADER + 2 + 32; /* version, random */

	if (n < at + 1 || b[0] != HANDSHAKE || b[RECORD_HEADER] != CLIENT_HELLO || get16(b + 3) + RECORD_HEADER != n)
		return 0;
	at += 1 + b[at]; /* session id */
	return at + 2 <= n && at + 2 + get16(b + at) <= n ? at : 0;
}

/* The list anew, at `out`; its size in bytes. */
static size_t put_suites(uint8_t *out, const uint8_t *old, size_t size, const uint16_t *suites, size_t n)
{
	size_t signals[2], n_signals = 0, i;

	for (i = 0; i + 1 < size && n_signals < 2; i += 2)
		if (get16(old + i) == SCSV_RENEGOTIATE || get16(old + i) == SCSV_FALLBACK)
			signals[n_signals++] = get16(old + i);
	if (2 * (n + n_signals) > size)
		return 0;
	for (i = 0; i < n; i++)
		put16(out + 2 * i, suites[i]);
	for (i = 0; i < n_signals; i++)
		put16(out + 2 * (n + i), signals[i]);
	return 2 * (n + n_signals);
}

size_t hello_narrow(uint8_t *hello, size_t n, const uint16_t *suites, size_t n_suites)
{
	size_t at = find_suites(hello, n), old, now;

	if (at == 0)
		return n;
	old = get16(hello + at);
	now = put_suites(hello + at + 2, hello + at + 2, old, suites, n_suites);
	if (now == 0)
		return n;
	memmove(hello + at + 2 + now, hello + at + 2 + old, n - (at + 2 + old));
	put16(hello + at, now);
	n -= old - now;
	put16(hello + 3, n - RECORD_HEADER);
	put16(hello + RECORD_HEADER + 2, n - RECORD_HEADER - HANDSHAKE_HEADER); /* of 24 bits; a hello has fewer */
	return n;
}

/* Where the extensions stand; 0: nowhere. */
static size_t find_extensions(const uint8_t *b, size_t n)
{
	size_t at = find_suites(b, n);

	if (at == 0)
		return 0;
	at += 2 + get16(b + at);
	if (at + 1 > n)
		return 0;
	at += 1 + b[at]; /* compression methods */
	return at + 2 <= n && at + 2 + get16(b + at) <= n ? at : 0;
}

bool hello_resumes(const uint8_t *hello, size_t n)
{
	size_t at = find_extensions(hello, n), end, type, size;

	if (at == 0)
		return false;
	end = at + 2 + get16(hello + at);
	for (at += 2; at + 4 <= end; at += 4 + size) {
		type = get16(hello + at);
		size = get16(hello + at + 2);
		if (at + 4 + size > end)
			return false;
		if (type == PRE_SHARED_KEY || (type == SESSION_TICKET && size))
			return true;
	}
	return false;
}
