/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_TUNNEL_MODES_H
#define TLSKIT_CLI_TUNNEL_MODES_H

#include <stdint.h>

#include "lib/net/addr.h"
#include "lib/tls/config.h"

/* What `tlskit tunnel` does besides tunnelling. Each returns the exit code. */

/* --check: one connection to the target, and with TLS one handshake; a report
 * on stdout, errors on stderr. */
int tunnel_modes_check(const struct addr *target, struct tls_config *tls, uint64_t connect_ms, uint64_t handshake_ms);

/* --demo: a backend, a server tunnel and a client tunnel on loopback that carry
 * data, and what it took on stdout. */
int tunnel_modes_demo(unsigned threads);

#endif
