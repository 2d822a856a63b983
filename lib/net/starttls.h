/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_STARTTLS_H
#define TLSKIT_NET_STARTTLS_H

#include "lib/net/parley.h"

/* The client's half of the protocols that go over to TLS in the middle: smtp
 * (RFC 3207), lmtp, imap and pop3 (RFC 2595, 9051), ftp (RFC 4217), nntp (RFC
 * 4642), sieve (RFC 5804), xmpp and xmpp-server (RFC 6120, 5.4), ldap (RFC 4511,
 * 4.14), postgres, mysql, irc (IRCv3 STARTTLS).
 *
 * Only the codes of replies count; texts are shown, cut to a line, when it fails.
 * Failures name protocol and step ("smtp: EHLO: …"). Bytes in the clear behind the
 * go-ahead are one (CVE-2011-0411 and its kin): TLS would take them for the
 * server's. ERR_HANDSHAKE: there is no TLS to be had; ERR_IO: the connection ended. */

/* host: the server that was asked for. name: what the user gave for --starttls-name,
 * or NULL. It stands for the host in xmpp's "to", and for us in smtp's and lmtp's
 * EHLO, which never says host. Both are copied and may be NULL but for xmpp, which
 * needs one of them. NULL with ERR_CONFIG for a name that no protocol could carry,
 * and for a protocol that is not known: it lists those that are, and a near one. */
struct parley *starttls_new(const char *proto, const char *host, const char *name, struct err *e);

/* The usual port of a protocol (587, 143, …); 0: unknown protocol. */
unsigned starttls_port(const char *proto);

/* All names, NULL at the end. */
const char *const *starttls_names(void);

#endif
