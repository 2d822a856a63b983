/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_PROXY_H
#define TLSKIT_NET_PROXY_H

#include "lib/net/addr.h"
#include "lib/net/parley.h"

/* Reaching a target through a proxy: http:// (CONNECT, RFC 9110 9.3.6, basic
 * authentication), socks5:// (RFC 1928; names are resolved here), socks5h:// (the
 * proxy resolves), both with user and password (RFC 1929). */

enum proxy_kind { PROXY_HTTP, PROXY_SOCKS5, PROXY_SOCKS5H };

struct proxy {
	enum proxy_kind kind;
	struct addr addr; /* of the proxy itself; default ports 8080 (http), 1080 */
	char user[256], password[256]; /* percent-decoded; "" for none */
};

/* "http://user:pass@host:3128", "socks5://[::1]:1080". -1 with ERR_CONFIG that quotes
 * it with "***" in place of all that may be the password; *out is wiped then. */
int proxy_parse(const char *url, struct proxy *out, struct err *e);
void proxy_wipe(struct proxy *p); /* the password */

/* Whether the target's name is resolved by the proxy. */
bool proxy_resolves(const struct proxy *p);

/* The conversation that has the proxy connect to target: a host and port (http,
 * socks5h; IPv6 literals in brackets for CONNECT), or an address for socks5. A port
 * alone is the proxy's own loopback. p and target are copied. e of a failure names
 * the proxy's answer ("the proxy says 407 Proxy Authentication Required (CONNECT
 * h:443 at the proxy p:8080): give user:password@ in --proxy"); ERR_CONNECT when it
 * comes from here. NULL: no memory, or ERR_CONFIG: not a TCP address, an address
 * with a scope, a name for socks5, a control character. */
struct parley *proxy_new(const struct proxy *p, const struct addr *target, struct err *e);

#endif
