/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_STARTTLS_XML_H
#define TLSKIT_NET_STARTTLS_XML_H

#include <stddef.h>
#include <stdint.h>

/* As much of XML as the beginning of an XMPP stream takes: elements with their
 * namespaces, whatever prefix and quotes are used. Comments and document types are
 * an error, as RFC 6120, 11.1 has it; text is given as it stands. */

enum starttls_ns { STARTTLS_NS_OTHER, STARTTLS_NS_STREAMS, STARTTLS_NS_ERRORS, STARTTLS_NS_TLS };

enum starttls_xml_kind {
	STARTTLS_XML_NOTHING, /* a processing instruction */
	STARTTLS_XML_TEXT,
	STARTTLS_XML_OPEN,
	STARTTLS_XML_CLOSE,
	STARTTLS_XML_BOTH, /* an empty element */
};

#define STARTTLS_XML_TAG_MAX	  8192
#define STARTTLS_XML_NAME_SIZE	  64
#define STARTTLS_XML_DEPTH_MAX	  16
#define STARTTLS_XML_BINDINGS_MAX 32

/* Zeroes at the start. */
struct starttls_xml {
	unsigned depth; /* elements that are open */
	char names[STARTTLS_XML_DEPTH_MAX][STARTTLS_XML_NAME_SIZE]; /* of those, with prefix */
	struct starttls_xml_binding {
		unsigned depth; /* of the element that has it */
		enum starttls_ns ns;
		char prefix[STARTTLS_XML_NAME_SIZE];
	} bindings[STARTTLS_XML_BINDINGS_MAX];
	unsigned bound;
};

struct starttls_xml_event {
	enum starttls_xml_kind kind;
	enum starttls_ns ns; /* of the element that opens, as is all that follows */
	char name[STARTTLS_XML_NAME_SIZE]; /* without its prefix */
	char version[8]; /* its attribute of this name, cut; empty: it has none */
};

/* The length of the tag, the instruction or the text that at[0..n), n > 0, begins
 * with; 0: it is not all there (text comes in pieces); -1: that cannot be one. */
ptrdiff_t starttls_xml_frame(const uint8_t *at, size_t n);

/* Takes what frame measured. -1: it is not well formed, or beyond the limits. */
int starttls_xml_take(struct starttls_xml *x, const char *at, size_t n, struct starttls_xml_event *ev);

#endif
