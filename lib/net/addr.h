/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_ADDR_H
#define TLSKIT_NET_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

/* One parser for every address a user types (design section 2):
 *   PORT  HOST:PORT  [v6]:PORT  :PORT  HOST:service  unix:PATH  unix:@NAME
 *   systemd:NAME  -        and for connect also HOST and https://HOST[:PORT]/…
 * each with an optional "tls:" in front. A bare host that is called like a
 * prefix ("unix") needs a dot behind it. */

enum addr_kind {
	ADDR_TCP,     /* host and port */
	ADDR_UNIX,    /* path; '@' first: abstract */
	ADDR_SYSTEMD, /* name of an inherited socket; listen only */
	ADDR_STDIO,   /* "-" */
};

enum addr_use {
	ADDR_LISTEN, /* bare PORT: loopback; ":PORT": every interface */
	ADDR_TARGET, /* bare PORT and ":PORT": loopback */
	ADDR_CONNECT, /* as TARGET, and HOST (port 443), https://… */
};

#define ADDR_HOST_MAX 255

struct addr {
	enum addr_kind kind;
	bool tls; /* "tls:" stood in front (or https://) */
	bool loopback; /* TCP: no host given, both loopback families */
	bool any; /* TCP, listen: no host given, every interface */
	bool numeric; /* TCP: host is an IP literal */
	bool absolute; /* TCP: a trailing dot was typed: no search list at look-up */
	bool port_implied; /* TCP: none was typed (ADDR_CONNECT) */
	uint16_t port; /* TCP */
	/* TCP: lower-case ASCII (IDN already mapped); no trailing dot, no
	 * brackets; may carry %scope */
	char host[ADDR_HOST_MAX + 1];
	char path[108]; /* UNIX (NUL-terminated, '@' first for abstract), SYSTEMD name */
};

/* 0, or -1 with a CONFIG error that quotes `text` and says what was expected.
 * Service names are looked up in the services database here. No name is
 * resolved. */
int addr_parse(struct addr *out, const char *text, enum addr_use use, struct err *e);

/* A name alone, for an option: a host name (IDN becomes ASCII, a trailing dot is
 * cut) or, with ip, an address without brackets. 0, or -1 with a CONFIG error
 * that names the option. */
int addr_parse_name(char out[ADDR_HOST_MAX + 1], const char *option, const char *text, bool ip, struct err *e);

/* Room for any printed address. */
#define ADDR_TEXT_SIZE 300

/* The address as one could type it: "[::1]:443", "db.example:5432", "8443",
 * "unix:/run/x", "-". Without "tls:". Returns out. */
char *addr_format(const struct addr *a, char out[ADDR_TEXT_SIZE]);

/* A socket address in the same notation; a v4-mapped IPv6 address prints as
 * IPv4, an unnamed unix socket as "unix:". Returns out. */
char *addr_format_sockaddr(const struct sockaddr *sa, socklen_t len, char out[ADDR_TEXT_SIZE]);

/* The name to send as SNI, or NULL for IP literals and non-TCP addresses
 * (RFC 6066, 3). Borrowed from a. */
const char *addr_sni(const struct addr *a);

/* Fills a sockaddr_un for ADDR_UNIX; the path was checked for length. */
socklen_t addr_unix_sockaddr(const struct addr *a, struct sockaddr_storage *ss);

#endif
