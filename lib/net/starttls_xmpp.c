/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "lib/net/starttls_int.h"
#include "lib/net/starttls_xml.h"

/* xmpp, xmpp-server (RFC 6120, 5.4). */

/* What the child of the stream is that we are in. */
enum inside { INSIDE_OTHER, INSIDE_FEATURES, INSIDE_ERROR, INSIDE_PROCEED };

struct xmpp {
	struct starttls s; /* first */
	struct starttls_xml xml;
	enum inside inside;
	bool asked; /* <starttls/> was sent */
	bool in_text; /* of an error */
	char condition[STARTTLS_XML_NAME_SIZE];
	char text[160];
};

static ptrdiff_t frame(struct starttls *s, const uint8_t *at, size_t n, struct err *e)
{
	struct xmpp *x = (struct xmpp *)s;
	ptrdiff_t len = starttls_xml_frame(at, n);

	if (len < 0) {
		if (x->xml.depth == 0)
			starttls_strange_byte(s, e, at[0]);
		else
			err_set(e, ERR_HANDSHAKE,
				"the server's XML has a comment, a document type, or a tag without end");
	}
	return len < 0 ? -1 : len;
}

static enum parley_status ask(struct starttls *s, starttls_on *on, struct err *e)
{
	static const char request[] = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>";

	return starttls_send(s, "STARTTLS", on, e, request, sizeof(request) - 1);
}

static enum parley_status stream_error(struct xmpp *x, struct err *e)
{
	bool unknown = strcmp(x->condition, "host-unknown") == 0;
	char text[256];

	snprintf(text, sizeof(text), "with a stream error: %s%s%s",
		x->condition[0] != '\0' ? x->condition : "undefined", x->text[0] != '\0' ? ": " : "", x->text);
	return starttls_refused(e, text, strlen(text), unknown ? "--starttls-name NAME asks for another host" : NULL);
}

/* The stream itself. */
static enum parley_status on_stream(struct xmpp *x, const struct starttls_xml_event *ev, struct err *e)
{
	if (ev->ns != STARTTLS_NS_STREAMS || strcmp(ev->name, "stream") != 0)
		return starttls_strange(&x->s, e, ev->name, strlen(ev->name));
	if (ev->version[0] < '1' || ev->version[0] > '9') {
		err_set(e, ERR_HANDSHAKE, "the server's XMPP is older than version 1.0, which brought STARTTLS");
		return PARLEY_FAILED;
	}
	return PARLEY_MORE;
}

/* A child of the stream. */
static enum parley_status on_child(struct xmpp *x, const struct starttls_xml_event *ev, struct err *e)
{
	x->inside = INSIDE_OTHER;
	if (ev->ns == STARTTLS_NS_STREAMS && strcmp(ev->name, "features") == 0 && !x->asked)
		x->inside = INSIDE_FEATURES;
	else if (ev->ns == STARTTLS_NS_STREAMS && strcmp(ev->name, "error") == 0)
		x->inside = INSIDE_ERROR;
	else if (ev->ns == STARTTLS_NS_TLS && strcmp(ev->name, "proceed") == 0 && x->asked)
		x->inside = INSIDE_PROCEED;
	else if (ev->ns == STARTTLS_NS_TLS && strcmp(ev->name, "failure") == 0)
		return starttls_refused(e, "with <failure/>", strlen("with <failure/>"), NULL);
	return PARLEY_MORE;
}

static void on_grandchild(struct xmpp *x, const struct starttls_xml_event *ev)
{
	if (x->inside == INSIDE_FEATURES && ev->ns == STARTTLS_NS_TLS && strcmp(ev->name, "starttls") == 0)
		x->s.offered = true;
	else if (x->inside == INSIDE_FEATURES)
		starttls_list(&x->s, ev->name, strlen(ev->name));
	else if (x->inside == INSIDE_ERROR && strcmp(ev->name, "text") == 0)
		x->in_text = ev->kind == STARTTLS_XML_OPEN;
	else if (x->inside == INSIDE_ERROR && ev->ns == STARTTLS_NS_ERRORS)
		memcpy(x->condition, ev->name, sizeof(x->condition));
}

static void on_text(struct xmpp *x, const char *msg, size_t n)
{
	size_t at = strlen(x->text), room = sizeof(x->text) - 1 - at;

	if (!x->in_text)
		return;
	if (n > room)
		n = room;
	memcpy(x->text + at, msg, n);
	x->text[at + n] = '\0';
}

static enum parley_status on_message(struct starttls *s, const char *msg, size_t n, struct err *e);

/* The element at this depth (0: the stream) has ended. */
static enum parley_status on_end(struct xmpp *x, unsigned depth, struct err *e)
{
	x->in_text = false;
	if (depth == 0) {
		err_set(e, ERR_HANDSHAKE, "the server ended the stream");
		return PARLEY_FAILED;
	}
	if (depth > 1 || x->inside == INSIDE_OTHER)
		return PARLEY_MORE;
	if (x->inside == INSIDE_PROCEED)
		return PARLEY_DONE;
	if (x->inside == INSIDE_ERROR)
		return stream_error(x, e);
	if (!x->s.offered)
		return starttls_not_offered(&x->s, e);
	x->inside = INSIDE_OTHER;
	x->asked = true;
	return ask(&x->s, on_message, e);
}

static enum parley_status on_begin(struct xmpp *x, const struct starttls_xml_event *ev, unsigned depth, struct err *e)
{
	if (depth == 0)
		return on_stream(x, ev, e);
	if (depth == 1)
		return on_child(x, ev, e);
	if (depth == 2)
		on_grandchild(x, ev);
	return PARLEY_MORE;
}

static enum parley_status on_message(struct starttls *s, const char *msg, size_t n, struct err *e)
{
	struct xmpp *x = (struct xmpp *)s;
	struct starttls_xml_event ev;
	enum parley_status status = PARLEY_MORE;
	unsigned depth = x->xml.depth;
	size_t blanks;

	if (depth == 0 && msg[0] != '<') { /* before the stream: nothing but blanks */
		for (blanks = 0; blanks < n && memchr(" \t\r\n", msg[blanks], 4) != NULL; blanks++)
			continue;
		return blanks == n ? PARLEY_MORE : starttls_strange_byte(s, e, (uint8_t)msg[blanks]);
	}
	if (starttls_xml_take(&x->xml, msg, n, &ev) != 0) {
		err_set(e, ERR_HANDSHAKE, "the server's XML is not well formed, or too intricate");
		return PARLEY_FAILED;
	}
	if (ev.kind == STARTTLS_XML_TEXT)
		on_text(x, msg, n);
	if (ev.kind == STARTTLS_XML_OPEN || ev.kind == STARTTLS_XML_BOTH)
		status = on_begin(x, &ev, depth, e);
	if (status == PARLEY_MORE && (ev.kind == STARTTLS_XML_CLOSE || ev.kind == STARTTLS_XML_BOTH))
		status = on_end(x, ev.kind == STARTTLS_XML_CLOSE ? depth - 1 : depth, e);
	return status;
}

/* Appends a byte to an attribute's value. */
static char *put_escaped(char *to, char c)
{
	static const struct {
		char c;
		const char *entity;
	} rows[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '\'', "&apos;" }, { '"', "&quot;" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].c == c)
			return stpcpy(to, rows[i].entity);
	}
	*to++ = c;
	*to = '\0';
	return to;
}

static enum parley_status start(struct starttls *s, struct err *e)
{
	const char *kind = s->proto == &starttls_xmpp ? "client" : "server";
	char to[256 * 6] = "", *end = to, open[sizeof(to) + 256];

	for (const char *c = s->name; *c != '\0'; c++)
		end = put_escaped(end, *c);
	snprintf(open, sizeof(open),
		"<?xml version='1.0'?><stream:stream xmlns='jabber:%s' "
		"xmlns:stream='http://etherx.jabber.org/streams' to='%s' version='1.0'>",
		kind, to);
	return starttls_send(s, "stream", on_message, e, open, strlen(open));
}

const struct starttls_proto starttls_xmpp = {
	.verb = "STARTTLS",
	.port = 5222,
	.needs_name = true,
	.size = sizeof(struct xmpp),
	.start = start,
	.frame = frame,
};
const struct starttls_proto starttls_xmpp_server = {
	.verb = "STARTTLS",
	.port = 5269,
	.needs_name = true,
	.size = sizeof(struct xmpp),
	.start = start,
	.frame = frame,
};
