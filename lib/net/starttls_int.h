/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_STARTTLS_INT_H
#define TLSKIT_NET_STARTTLS_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/starttls.h"

/* What the protocols share. A conversation's state is the function that takes the
 * next message; messages are cut out of the stream here, whatever pieces it comes in. */

struct starttls;

/* Takes one message: a line without its end, with a NUL behind it, or what `frame`
 * measured. */
typedef enum parley_status starttls_on(struct starttls *s, const char *msg, size_t n, struct err *e);

struct starttls_proto {
	const char *verb; /* how TLS is asked for */
	unsigned port;
	bool literals; /* a line that ends in {n} goes on behind the n bytes that follow it */
	bool any_inside; /* only the first and last line of a reply need its code (FTP) */
	bool needs_name;
	size_t size; /* of the structure that begins with struct starttls; 0: that one */
	enum parley_status (*start)(struct starttls *s, struct err *e);
	/* NULL: lines. The length of the message at[0..n), n > 0, begins with; 0: it is
	 * not all there; -1: it cannot be one. */
	ptrdiff_t (*frame)(struct starttls *s, const uint8_t *at, size_t n, struct err *e);
};

struct starttls {
	struct parley p; /* first */
	const struct starttls_proto *proto;
	const char *title; /* its name in starttls_names */
	starttls_on *on;
	char step[48]; /* "smtp: EHLO" */
	char *name;
	uint8_t *buf; /* of what was taken, the part that is no whole message yet */
	size_t n, cap;
	size_t segment, scan; /* where the line's last literal ends; how far there is no newline */
	bool greeted; /* a first line came */
	unsigned code; /* of a reply whose last line has not come; 0: none is open */
	unsigned line; /* which one of a reply, from 1 */
	bool offered, caps_cut;
	char caps[160]; /* capabilities, for messages */
};

extern const struct starttls_proto starttls_smtp, starttls_lmtp, starttls_pop3, starttls_ftp, starttls_nntp;
extern const struct starttls_proto starttls_imap, starttls_sieve, starttls_irc;
extern const struct starttls_proto starttls_xmpp, starttls_xmpp_server;
extern const struct starttls_proto starttls_ldap, starttls_postgres, starttls_mysql;

/* The next message goes to `on`, and failures name this step. */
enum parley_status starttls_wait(struct starttls *s, const char *step, starttls_on *on);

/* The same, and sends a line or bytes. */
enum parley_status starttls_ask(struct starttls *s, const char *step, starttls_on *on, struct err *e, const char *fmt,
	...) __attribute__((format(printf, 5, 6)));
enum parley_status starttls_send(
	struct starttls *s, const char *step, starttls_on *on, struct err *e, const void *data, size_t n);

/* The ways to fail; all return PARLEY_FAILED. n bytes of text are cut to what fits
 * and shown; advice, if any, stands behind them. */
enum parley_status starttls_refused(struct err *e, const char *text, size_t n, const char *advice);
enum parley_status starttls_strange(const struct starttls *s, struct err *e, const char *text, size_t n);
enum parley_status starttls_strange_byte(const struct starttls *s, struct err *e, uint8_t byte);
enum parley_status starttls_not_offered(struct starttls *s, struct err *e); /* lists s->caps */
enum parley_status starttls_no_memory(struct err *e);

/* Whether it begins a TLS record: an alert or a handshake message. */
bool starttls_is_tls(uint8_t byte);

/* A word among capabilities: listed for messages. The others also look whether it is
 * `verb`. */
void starttls_list(struct starttls *s, const char *word, size_t n);
void starttls_capability(struct starttls *s, const char *word, size_t n);
void starttls_capabilities(struct starttls *s, const char *words); /* up to ']' or the end */

/* Replies of SMTP, FTP and NNTP: a line of one. The code when it was the last, 0
 * when more follow, -1 and e when it is no reply. */
int starttls_reply(struct starttls *s, const char *line, size_t n, struct err *e);

/* Whether text begins with word and a blank or the end stands behind it; letters
 * of either case are the same. */
bool starttls_begins(const char *text, const char *word);

#endif
