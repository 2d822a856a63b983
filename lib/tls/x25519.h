/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_X25519_H
#define TLSKIT_TLS_X25519_H

#include <stdbool.h>

/* X25519 (RFC 7748) for the key shares of handshakes. Of what a resumed handshake costs,
 * two multiplications on this curve are two fifths. GnuTLS has Nettle do them, and has no
 * way to name another library; libsodium takes two thirds of the time.
 *
 * So the program has functions of Nettle's names, which the dynamic linker prefers to
 * Nettle's own, as it would with a malloc (ld.so(8); LD_DEBUG=bindings shows it). They hand
 * on to Nettle, until x25519_choose finds that libsodium is clearly faster here and agrees
 * with the test vectors and with Nettle; who measures GnuTLS itself does not call that.
 * Where the linker does not know that preference, or in FIPS mode, everything stays with
 * Nettle. */

struct x25519_choice {
	const char *engine; /* the one in use: "Nettle" or "libsodium" */
	double nettle_us, sodium_us; /* a key share and a shared secret, microseconds; 0: not measured */
};

/* Chooses at the first call, in a millisecond. NULL: there is no choice in this build or
 * in this process. */
const struct x25519_choice *x25519_choose(void);

/* One of them, however fast, for tests. False: not in this build or process. */
bool x25519_use(const char *engine);

#endif
