/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_HELLO_H
#define TLSKIT_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ClientHello (RFC 5246, 7.4.1.2), read and made narrower: GnuTLS's priorities go by the
 * parts of suites, and a scan must offer just some. */

/* hello: n bytes that begin with the record of a ClientHello, whole. Of its suites only
 * these are left, in this order, and what signals something (RFC 5746, 3.3; RFC 7507) at
 * the end. The new length; n, and nothing changed, when it is no such record or when the
 * suites take more room than there was. */
size_t hello_narrow(uint8_t *hello, size_t n, const uint16_t *suites, size_t n_suites);

/* Whether a ClientHello, as far as the n bytes go, tries to resume: with a pre-shared key
 * (RFC 8446, 4.2.11) or with a ticket (RFC 5077, 3.2). Of a cut or odd one it is said that
 * it does not. */
bool hello_resumes(const uint8_t *hello, size_t n);

#endif
