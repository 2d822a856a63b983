/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_ROUTE_H
#define TLSKIT_NET_ROUTE_H

/* Room for an address that is ready to have ":PORT" put behind it. */
#define ROUTE_TEXT_SIZE 64

/* The address of this machine that others most likely reach it by: the source
 * address of its default route, "[v6]" or "v4", else "127.0.0.1". Sends
 * nothing. Returns out. */
char *route_own_address(char out[ROUTE_TEXT_SIZE]);

#endif
