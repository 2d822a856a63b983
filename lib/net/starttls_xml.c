/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "lib/net/starttls_xml.h"

/* A part of a tag. */
struct part {
	const char *at;
	size_t n;
};

static const struct {
	const char *uri;
	enum starttls_ns ns;
} namespaces[] = {
	{ "http://etherx.jabber.org/streams", STARTTLS_NS_STREAMS },
	{ "urn:ietf:params:xml:ns:xmpp-streams", STARTTLS_NS_ERRORS },
	{ "urn:ietf:params:xml:ns:xmpp-tls", STARTTLS_NS_TLS },
};

/* The length of what ends in `end`; 0: no end yet; -1: none within the limit. */
static ptrdiff_t until(const uint8_t *at, size_t n, size_t from, const char *end)
{
	size_t len = strlen(end);
	size_t limit = n < STARTTLS_XML_TAG_MAX ? n : STARTTLS_XML_TAG_MAX;

	for (size_t i = from; i + len <= limit; i++) {
		if (memcmp(at + i, end, len) == 0)
			return (ptrdiff_t)(i + len);
	}
	return n < STARTTLS_XML_TAG_MAX ? 0 : -1;
}

static ptrdiff_t frame_tag(const uint8_t *at, size_t n)
{
	uint8_t quote = 0;

	for (size_t i = 1; i < n && i < STARTTLS_XML_TAG_MAX; i++) {
		if (at[i] == '<')
			return -1;
		if (quote != 0)
			quote = at[i] == quote ? 0 : quote;
		else if (at[i] == '"' || at[i] == '\'')
			quote = at[i];
		else if (at[i] == '>')
			return (ptrdiff_t)i + 1;
	}
	return n < STARTTLS_XML_TAG_MAX ? 0 : -1;
}

static const char cdata[] = "<![CDATA[";
#define CDATA_LEN (sizeof(cdata) - 1)

ptrdiff_t starttls_xml_frame(const uint8_t *at, size_t n)
{
	const uint8_t *tag;

	if (at[0] != '<') {
		tag = memchr(at, '<', n);
		return tag != NULL ? tag - at : (ptrdiff_t)n;
	}
	if (n < 2)
		return 0;
	if (at[1] == '?')
		return until(at, n, 2, "?>");
	if (at[1] != '!')
		return frame_tag(at, n);
	if (memcmp(at, cdata, n < CDATA_LEN ? n : CDATA_LEN) != 0)
		return -1;
	return n < CDATA_LEN ? 0 : until(at, n, CDATA_LEN, "]]>");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct part *left)
{
	while (left->n > 0 && is_blank(*left->at)) {
		left->at++;
		left->n--;
	}
}

static void skip(struct part *left, size_t n)
{
	left->at += n;
	left->n -= n;
}

/* A name goes as far as it can; it may be empty. */
static struct part take_name(struct part *left)
{
	struct part name = { left->at, 0 };

	while (name.n < left->n && !is_blank(name.at[name.n]) && memchr("=/<>\"'", name.at[name.n], 7) == NULL)
		name.n++;
	skip(left, name.n);
	return name;
}

/* name = 'value'. -1: it is not. */
static int take_attribute(struct part *left, struct part *name, struct part *value)
{
	const char *end;

	*name = take_name(left);
	skip_blanks(left);
	if (name->n == 0 || left->n == 0 || *left->at != '=')
		return -1;
	skip(left, 1);
	skip_blanks(left);
	if (left->n == 0 || (*left->at != '"' && *left->at != '\''))
		return -1;
	end = memchr(left->at + 1, *left->at, left->n - 1);
	if (end == NULL)
		return -1;
	*value = (struct part){ left->at + 1, (size_t)(end - left->at) - 1 };
	skip(left, value->n + 2);
	return 0;
}

static bool is(struct part p, const char *text)
{
	return p.n == strlen(text) && memcmp(p.at, text, p.n) == 0;
}

static int copy(char *to, size_t size, struct part from)
{
	if (from.n >= size)
		return -1;
	memcpy(to, from.at, from.n);
	to[from.n] = '\0';
	return 0;
}

/* Cuts "prefix:name"; without a colon the prefix is empty. */
static void cut(struct part whole, struct part *prefix, struct part *name)
{
	const char *colon = memchr(whole.at, ':', whole.n);
	size_t n = colon != NULL ? (size_t)(colon - whole.at) : 0;

	*prefix = (struct part){ whole.at, n };
	*name = colon != NULL ? (struct part){ colon + 1, whole.n - n - 1 } : whole;
}

static int bind(struct starttls_xml *x, struct part prefix, struct part uri)
{
	struct starttls_xml_binding *b = &x->bindings[x->bound];

	if (x->bound == STARTTLS_XML_BINDINGS_MAX || copy(b->prefix, sizeof(b->prefix), prefix) != 0)
		return -1;
	b->depth = x->depth + 1;
	b->ns = STARTTLS_NS_OTHER;
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (is(uri, namespaces[i].uri))
			b->ns = namespaces[i].ns;
	}
	x->bound++;
	return 0;
}

static enum starttls_ns resolve(const struct starttls_xml *x, struct part prefix)
{
	for (unsigned i = x->bound; i-- > 0;) {
		if (is(prefix, x->bindings[i].prefix))
			return x->bindings[i].ns;
	}
	return STARTTLS_NS_OTHER;
}

static void drop_bindings(struct starttls_xml *x)
{
	while (x->bound > 0 && x->bindings[x->bound - 1].depth > x->depth)
		x->bound--;
}

static int take_attributes(struct starttls_xml *x, struct part *left, struct starttls_xml_event *ev)
{
	struct part name, value, prefix, local;

	for (;;) {
		skip_blanks(left);
		if (left->n == 0 || *left->at == '/')
			return 0;
		if (take_attribute(left, &name, &value) != 0)
			return -1;
		cut(name, &prefix, &local);
		if (is(name, "xmlns") && bind(x, prefix, value) != 0)
			return -1;
		if (is(prefix, "xmlns") && bind(x, local, value) != 0)
			return -1;
		if (is(name, "version") && copy(ev->version, sizeof(ev->version), value) != 0)
			copy(ev->version, sizeof(ev->version), (struct part){ value.at, sizeof(ev->version) - 1 });
	}
}

/* What stands between < and >. */
static int open_tag(struct starttls_xml *x, struct part left, struct starttls_xml_event *ev)
{
	struct part whole = take_name(&left), prefix, local;

	if (x->depth == STARTTLS_XML_DEPTH_MAX || whole.n == 0 || take_attributes(x, &left, ev) != 0)
		return -1;
	if (left.n > 0 && !is(left, "/"))
		return -1;
	cut(whole, &prefix, &local);
	if (local.n == 0 || copy(ev->name, sizeof(ev->name), local) != 0)
		return -1;
	ev->ns = resolve(x, prefix);
	ev->kind = left.n > 0 ? STARTTLS_XML_BOTH : STARTTLS_XML_OPEN;
	if (copy(x->names[x->depth], sizeof(x->names[0]), whole) != 0)
		return -1;
	if (ev->kind == STARTTLS_XML_OPEN)
		x->depth++;
	drop_bindings(x);
	return 0;
}

/* What stands between </ and >. */
static int close_tag(struct starttls_xml *x, struct part left, struct starttls_xml_event *ev)
{
	struct part whole = take_name(&left);

	skip_blanks(&left);
	if (left.n > 0 || x->depth == 0 || !is(whole, x->names[x->depth - 1]))
		return -1;
	x->depth--;
	drop_bindings(x);
	ev->kind = STARTTLS_XML_CLOSE;
	return 0;
}

int starttls_xml_take(struct starttls_xml *x, const char *at, size_t n, struct starttls_xml_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	if (memchr(at, '\0', n) != NULL)
		return -1;
	if (at[0] != '<' || at[1] == '!')
		ev->kind = STARTTLS_XML_TEXT;
	else if (at[1] == '/')
		return close_tag(x, (struct part){ at + 2, n - 3 }, ev);
	else if (at[1] != '?')
		return open_tag(x, (struct part){ at + 1, n - 2 }, ev);
	return 0;
}
