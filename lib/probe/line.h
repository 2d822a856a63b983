/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_PROBE_LINE_H
#define TLSKIT_PROBE_LINE_H

#include "lib/net/addr.h"
#include "lib/net/loop.h"
#include "lib/net/proxy.h"
#include "lib/net/resolve.h"
#include "lib/report/check.h"

/* The way to a server up to where TLS begins: name look-up, connect, the proxy, the
 * protocol that asks for TLS. It has no deadline of its own: who holds it has one. */

struct line_options {
	const char *starttls; /* protocol (starttls.h); NULL: TLS at once */
	const char *starttls_name; /* --starttls-name; NULL: none */
	const char *host; /* who the server is, for protocols that say so; NULL: the target's host */
	const struct proxy *proxy; /* NULL: none */
	/* Where to connect to in place of the target, by its port where none was typed; NULL:
	 * there. */
	const struct addr *resolve;
	enum resolve_family family;
	/* The one address to use (--all-addresses); NULL: those of the look-up, raced. */
	const struct sockaddr *at;
	socklen_t at_len;
};

struct line;

/* What is known of it; before the end too. Milliseconds; NAN: did not get there. */
struct line_story {
	/* Where it is, or where it ended: CHECK_AT_DNS to CHECK_AT_STARTTLS. The way to a proxy
	 * belongs to CHECK_AT_PROXY. */
	enum check_stage stage;
	double dns_ms, connect_ms, proxy_ms, starttls_ms;
	char address[ADDR_TEXT_SIZE]; /* connected to; "" before. With a proxy: the proxy's */
	char hop[ADDR_TEXT_SIZE]; /* what is, or is to be, connected to, by name: the server or the proxy */
	int family; /* 4, 6; 0: unix, or not known yet */
	const char *step; /* of a conversation: "smtp: EHLO"; NULL: none. Until the next turn of the loop */
};

/* fd is a connected socket that now belongs to the callee; the next bytes on it are
 * TLS. -1: e says why, and line_story where. The line lives until line_free, which may
 * be called in here. Never called from inside line_start. */
typedef void line_fn(void *arg, int fd, const struct err *e);

/* target: ADDR_TCP or ADDR_UNIX. It and what o points to are borrowed for the line's
 * life. NULL with e: nothing could be started (ERR_CONFIG: what was asked for is not
 * possible). */
struct line *line_start(struct loop *l, const struct addr *target, const struct line_options *o, line_fn *fn, void *arg,
	struct err *e);

/* What the server said already, behind a proxy's answer: it goes before what the socket
 * brings (session_feed). Mostly nothing. */
const uint8_t *line_rest(const struct line *line, size_t *n);

void line_story(const struct line *line, struct line_story *out);
/* The exit code for a line that failed there. */
enum check_code line_code(enum check_stage stage, const struct err *e);

/* The proxy without its password: "socks5://proxy.example:1080". Returns out. */
#define LINE_VIA_SIZE (ADDR_TEXT_SIZE + 16)
char *line_via(const struct proxy *x, char out[LINE_VIA_SIZE]);

void line_free(struct line *line); /* ends it when it has not ended; NULL is fine */

#endif
