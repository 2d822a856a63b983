/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_ADDR_HOST_H
#define TLSKIT_NET_ADDR_HOST_H

#include <stddef.h>

#include "lib/net/addr.h"

/* The host of an address, for addr.c. Both fill a's host and numeric, return 0
 * or -1, and then *e holds the bare reason. */

/* A name or an IPv4 address; IDN becomes ASCII, a trailing dot sets absolute. */
int addr_host_name(struct addr *a, const char *text, size_t len, struct err *e);

/* What stood between brackets: an IPv6 address, with "%scope" or without. */
int addr_host_ipv6(struct addr *a, const char *text, size_t len, struct err *e);

#endif
