/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/net/proxy_int.h"

/* CONNECT (RFC 9110, 9.3.6): a status line, header lines, a blank line; behind
 * it, with any 2xx, the tunnel. One line is taken at a time, so that the step that
 * stands before an error does not hang on how the bytes came. */

#define LINE_KEPT   512 /* of a line; the rest goes by */
#define REASON_MAX  100

struct http {
	struct parley p;
	char line[LINE_KEPT + 1];
	size_t line_n; /* of the line so far, what was not kept included */
	unsigned status; /* 0: the status line has not come */
	bool login; /* user and password were sent */
	bool challenged, basic; /* there was a Proxy-Authenticate, and one for Basic */
	char step[PROXY_STEP_SIZE], what[PROXY_STEP_SIZE];
};

static struct http *http_of(struct parley *p)
{
	return (struct http *)(void *)p;
}

/* --- the request ------------------------------------------------------------ */

static void base64(char *out, const unsigned char *in, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		unsigned long v = (unsigned long)in[i] << 16;

		v |= i + 1 < n ? (unsigned long)in[i + 1] << 8 : 0;
		v |= i + 2 < n ? in[i + 2] : 0;
		*out++ = digits[v >> 18];
		*out++ = digits[v >> 12 & 63];
		*out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits[v & 63] : '=';
	}
	*out = '\0';
}

/* RFC 7617, 2. */
static int put_login(struct http *h, const struct proxy *p)
{
	char plain[sizeof(p->user) + sizeof(p->password)], text[(sizeof(plain) + 2) / 3 * 4 + 1];
	int n = snprintf(plain, sizeof(plain), "%s:%s", p->user, p->password);
	int r;

	base64(text, (const unsigned char *)plain, (size_t)n);
	r = parley_putf(&h->p, "Proxy-Authorization: Basic %s", text);
	explicit_bzero(plain, sizeof(plain));
	explicit_bzero(text, sizeof(text));
	return r;
}

static int put_request(struct http *h, const struct proxy *p, const struct addr *target)
{
	char where[ADDR_TEXT_SIZE];

	addr_format(target, where);
	if (parley_putf(&h->p, "CONNECT %s HTTP/1.1", where) != 0 || parley_putf(&h->p, "Host: %s", where) != 0)
		return -1;
	if (h->login && put_login(h, p) != 0)
		return -1;
	return parley_put(&h->p, "\r\n", 2);
}

/* --- the answer ------------------------------------------------------------- */

static const struct {
	unsigned status;
	const char *hint;
} hints[] = {
	{ 400, "it did not like the request; is it a proxy?" },
	{ 401, "it asks for a web server's login, not a proxy's; is it a proxy?" },
	{ 403, "it does not allow connections to this host and port" },
	{ 404, "this looks like a web server and no proxy" },
	{ 405, "it does not know CONNECT; is it a proxy?" },
	{ 429, "too many requests; try again later" },
	{ 500, "it failed, perhaps to reach the target" },
	{ 501, "it does not know CONNECT" },
	{ 502, "it cannot reach the target" },
	{ 503, "it cannot reach the target, or is overloaded" },
	{ 504, "it waited for the target in vain" },
};

static enum parley_status refused(const struct http *h, struct err *e)
{
	const char *hint = "no tunnel";

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (hints[i].status == h->status)
			hint = hints[i].hint;
	}
	if (h->status / 100 == 3)
		hint = "it sends us elsewhere, which a proxy does not do";
	if (h->status == 407 && h->challenged && !h->basic)
		hint = "it wants a kind of authentication that is not known here; Basic is";
	else if (h->login && (h->status == 407 || h->status == 401)) /* tinyproxy: 401 after a wrong login */
		hint = "it does not accept the user and password in --proxy";
	else if (h->status == 407)
		hint = "give user:password@ in --proxy";
	err_set(e, ERR_CONNECT, "%s", hint);
	return PARLEY_FAILED;
}

static enum parley_status not_http(const struct http *h, struct err *e)
{
	const char *hint = "";

	if (h->line[0] == 5)
		hint = "; it looks like a SOCKS proxy: socks5://";
	else if (h->line[0] == 0x15 || h->line[0] == 0x16)
		hint = "; it looks like TLS";
	err_set(e, ERR_CONNECT, "the proxy does not speak HTTP%s", hint);
	return PARLEY_FAILED;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Whether the n bytes, the beginning of a line, can become a status line. Checked
 * as they come, since what speaks no HTTP may never end a line. */
static bool may_be_status(const char *s, size_t n)
{
	static const char form[] = "HTTP/d.d ddd";

	for (size_t i = 0; i < n && i < sizeof(form) - 1; i++) {
		if (form[i] == 'd' ? !is_digit(s[i]) : s[i] != form[i])
			return false;
	}
	return true;
}

/* "HTTP/1.1 200 Connection established"; the reason may be left out, and with it
 * the blank (many do, against RFC 9112, 4). */
static enum parley_status status_line(struct http *h, struct err *e)
{
	const char *reason = h->line + 12;

	if (strlen(h->line) < 12 || (*reason != '\0' && *reason != ' ') || h->line[9] == '0')
		return not_http(h, e);
	h->status = (unsigned)(h->line[9] - '0') * 100 + (unsigned)(h->line[10] - '0') * 10 +
		(unsigned)(h->line[11] - '0');
	if (*reason == ' ')
		reason++;
	if (h->status / 100 != 2)
		snprintf(h->step, sizeof(h->step), "the proxy says %u%s%.*s (%.200s)", h->status,
			*reason != '\0' ? " " : "", REASON_MAX, reason, h->what);
	return PARLEY_MORE;
}

static void header_line(struct http *h)
{
	static const char name[] = "Proxy-Authenticate:";
	const char *value = h->line + sizeof(name) - 1;

	if (strncasecmp(h->line, name, sizeof(name) - 1) != 0)
		return;
	h->challenged = true;
	/* several challenges may stand in one line, each with parameters */
	for (value += strspn(value, " \t"); *value != '\0'; value += strspn(value, ", \t")) {
		if (strncasecmp(value, "Basic", 5) == 0 && strchr(" \t,", value[5]) != NULL)
			h->basic = true;
		value += strcspn(value, ",");
	}
}

static enum parley_status whole_line(struct http *h, struct err *e)
{
	size_t n = h->line_n < LINE_KEPT ? h->line_n : LINE_KEPT;

	if (h->line_n <= LINE_KEPT && n > 0 && h->line[n - 1] == '\r')
		n--;
	h->line[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (h->line[i] == '\0')
			h->line[i] = '?';
	}
	h->line_n = 0;
	if (h->status == 0)
		return status_line(h, e);
	if (n > 0) {
		header_line(h);
		return PARLEY_MORE;
	}
	if (h->status / 100 == 2)
		return PARLEY_DONE;
	if (h->status / 100 == 1 && h->status != 101) { /* the final one follows (RFC 9110, 15.2) */
		h->status = 0;
		memcpy(h->step, h->what, sizeof(h->step));
		return PARLEY_MORE;
	}
	return refused(h, e);
}

static enum parley_status feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	struct http *h = http_of(p);

	while (*used < n) {
		char c = (char)data[(*used)++];

		if (c == '\n')
			return whole_line(h, e);
		if (h->line_n < LINE_KEPT)
			h->line[h->line_n] = c;
		h->line_n++;
		if (h->status == 0 && h->line_n <= LINE_KEPT && c != '\r' && !may_be_status(h->line, h->line_n))
			return not_http(h, e);
	}
	return PARLEY_MORE;
}

static const char *step(const struct parley *p)
{
	return ((const struct http *)(const void *)p)->step;
}

static void free_http(struct parley *p)
{
	free(http_of(p));
}

struct parley *proxy_http_new(const struct proxy *p, const struct addr *target, struct err *e)
{
	static const struct parley_ops ops = { .feed = feed, .free = free_http, .step = step };
	char where[ADDR_TEXT_SIZE], at[ADDR_TEXT_SIZE];
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	h->p.ops = &ops;
	h->login = proxy_has_login(p);
	snprintf(h->what, sizeof(h->what), "CONNECT %s at the proxy %s", addr_format(target, where),
		addr_format(&p->addr, at));
	memcpy(h->step, h->what, sizeof(h->step));
	if (put_request(h, p, target) != 0) {
		parley_free(&h->p);
		err_set(e, ERR_RUNTIME, "the request is too long");
		return NULL;
	}
	return &h->p;
}
