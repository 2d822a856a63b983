/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_PROXY_INT_H
#define TLSKIT_NET_PROXY_INT_H

#include "lib/net/proxy.h"

/* What the files of the proxies share; nobody else includes this. */

/* Steps are named by the target and the proxy; what is longer is cut. */
#define PROXY_STEP_SIZE 400

/* Both take a target that was checked: TCP, with a port, and a host that holds
 * nothing but letters, digits and ".-_:". NULL: no memory, or what e says. */
struct parley *proxy_http_new(const struct proxy *p, const struct addr *target, struct err *e);
struct parley *proxy_socks_new(const struct proxy *p, const struct addr *target, struct err *e);

/* Whether user and password are to be sent. */
static inline bool proxy_has_login(const struct proxy *p)
{
	return p->user[0] != '\0' || p->password[0] != '\0';
}

#endif
