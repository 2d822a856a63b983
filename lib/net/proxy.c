/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/near.h"
#include "lib/base/units.h"
#include "lib/net/addr_host.h"
#include "lib/net/proxy_int.h"

#define EXPECTED "expected http://, socks5:// or socks5h:// with [USER:PASSWORD@]HOST[:PORT]"
#define QUOTE_MAX 160

static const struct {
	const char *name;
	enum proxy_kind kind;
	uint16_t port;
} schemes[] = {
	{ "http", PROXY_HTTP, 8080 },
	{ "socks5", PROXY_SOCKS5, 1080 },
	{ "socks5h", PROXY_SOCKS5H, 1080 },
};

#define N_SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* --- quoting without the password ------------------------------------------- */

static bool is_number(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
	}
	return true;
}

/* "1080", "1080/" and "::1:1080" are what they look like. */
static bool looks_like_port(const char *s)
{
	size_t n = strcspn(s, "/?#");

	return is_number(s, n) || (strspn(s, "0123456789abcdefABCDEF:.") == n && memchr(s, ':', n) != NULL);
}

/* What may be a password, also where the URL is broken: all between the first
 * colon and the last '@', and without an '@' what stands where a port should. */
static void find_password(const char *url, const char **start, const char **end)
{
	size_t scheme = strcspn(url, ":@");
	const char *rest = strncmp(url + scheme, "://", 3) == 0 ? url + scheme + 3 : url;
	const char *at = strrchr(rest, '@');
	const char *colon = strchr(rest, ':');

	*start = *end = NULL;
	if (colon == NULL || (at != NULL && colon > at))
		return;
	if (at == NULL && (*rest == '[' || looks_like_port(colon + 1)))
		return;
	*start = colon + 1;
	*end = at != NULL ? at : colon + strlen(colon);
}

/* Puts the URL before the reason that is in e. */
static int bad(const char *url, struct err *e)
{
	const char *start, *end;

	find_password(url, &start, &end);
	if (start == NULL)
		return err_prefix(e, "bad proxy \"%.*s\"", QUOTE_MAX, url);
	if (start - url > QUOTE_MAX)
		return err_prefix(e, "bad proxy");
	return err_prefix(e, "bad proxy \"%.*s***%.*s\"", (int)(start - url), url, QUOTE_MAX, end);
}

/* --- parsing ---------------------------------------------------------------- */

static int bad_scheme(const char *scheme, size_t len, struct err *e)
{
	const char *names[N_SCHEMES], *near;
	char typed[32] = "";

	for (size_t i = 0; i < N_SCHEMES; i++)
		names[i] = schemes[i].name;
	if (len < sizeof(typed))
		memcpy(typed, scheme, len);
	if (strcasecmp(typed, "https") == 0)
		return err_set(e, ERR_CONFIG,
			"TLS to the proxy itself is not known; with http:// it passes on TLS that it cannot read");
	near = near_match(typed, names, N_SCHEMES);
	if (near != NULL)
		return err_set(e, ERR_CONFIG, EXPECTED "; did you mean %s://?", near);
	return err_set(e, ERR_CONFIG, EXPECTED);
}

/* Moves *text behind "SCHEME://". */
static int parse_scheme(const char **text, struct proxy *p, struct err *e)
{
	const char *end = strstr(*text, "://");
	size_t len = end != NULL ? (size_t)(end - *text) : 0;

	if (end == NULL)
		return err_set(e, ERR_CONFIG, "no scheme; " EXPECTED);
	for (size_t i = 0; i < N_SCHEMES; i++) {
		if (strlen(schemes[i].name) == len && strncasecmp(*text, schemes[i].name, len) == 0) {
			p->kind = schemes[i].kind;
			p->addr.port = schemes[i].port;
			*text = end + 3;
			return 0;
		}
	}
	return bad_scheme(*text, len, e);
}

/* One percent-decoded part of the user info. Control characters have no place in
 * it (RFC 7617, 2), a NUL would end it early. */
static int decode(char *out, size_t size, const char *what, const char *text, size_t len, struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)text[i];

		if (c == '%' && (len - i < 3 || units_parse_hex(text + i + 1, 2, &c, 1) != 1))
			return err_set(e, ERR_CONFIG, "a '%%' in the %s without two hexadecimal digits (itself it is %%25)",
				what);
		if (text[i] == '%')
			i += 2;
		if (c < 0x20 || c == 0x7f)
			return err_set(e, ERR_CONFIG, "a control character in the %s", what);
		if (n + 1 >= size)
			return err_set(e, ERR_CONFIG, "the %s is longer than %zu bytes", what, size - 1);
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

static int parse_login(const char *text, size_t len, struct proxy *p, struct err *e)
{
	const char *colon = memchr(text, ':', len);
	size_t user = colon != NULL ? (size_t)(colon - text) : len;

	if (decode(p->user, sizeof(p->user), "user", text, user, e) != 0)
		return -1;
	if (colon != NULL &&
	    decode(p->password, sizeof(p->password), "password", colon + 1, len - user - 1, e) != 0)
		return -1;
	if (p->kind == PROXY_HTTP && strchr(p->user, ':') != NULL)
		return err_set(e, ERR_CONFIG, "the user name of basic authentication cannot have a colon");
	if (p->kind != PROXY_HTTP && p->user[0] == '\0' && p->password[0] != '\0')
		return err_set(e, ERR_CONFIG, "a password without a user");
	return 0;
}

static int parse_port(const char *text, size_t len, struct proxy *p, struct err *e)
{
	char digits[8] = "";
	uint64_t port;

	if (len == 0)
		return err_set(e, ERR_CONFIG, "no port behind the colon");
	if (!is_number(text, len))
		return err_set(e, ERR_CONFIG, "the port is not a number");
	if (len < sizeof(digits))
		memcpy(digits, text, len);
	if (units_parse_uint(digits, 1, 65535, &port) != 0)
		return err_set(e, ERR_CONFIG, "the port is not one from 1 to 65535");
	p->addr.port = (uint16_t)port;
	return 0;
}

/* "[v6]:PORT". "%25" is how a URL writes the '%' of a scope (RFC 6874, 2). */
static int parse_bracketed(const char *text, size_t len, struct proxy *p, struct err *e)
{
	const char *end = memchr(text, ']', len);
	size_t n, behind;
	char host[128];
	char *scope;

	if (end == NULL)
		return err_set(e, ERR_CONFIG, "no ']' behind the IPv6 address");
	n = (size_t)(end - text) - 1;
	behind = len - n - 2;
	if (n >= sizeof(host))
		return err_set(e, ERR_CONFIG, "not an IPv6 address between the brackets");
	memcpy(host, text + 1, n);
	host[n] = '\0';
	scope = strstr(host, "%25");
	if (scope != NULL)
		memmove(scope + 1, scope + 3, strlen(scope + 3) + 1);
	if (addr_host_ipv6(&p->addr, host, strlen(host), e) != 0)
		return -1;
	if (behind == 0)
		return 0;
	if (end[1] != ':')
		return err_set(e, ERR_CONFIG, "only \":PORT\" may follow the ']'");
	return parse_port(end + 2, behind - 1, p, e);
}

static int parse_host(const char *text, size_t len, struct proxy *p, struct err *e)
{
	const char *colon = memchr(text, ':', len);
	size_t host = colon != NULL ? (size_t)(colon - text) : len;

	if (len > 0 && *text == '[')
		return parse_bracketed(text, len, p, e);
	if (colon != NULL && memchr(colon + 1, ':', len - host - 1) != NULL)
		return err_set(e, ERR_CONFIG, "more than one colon; an IPv6 address needs brackets");
	if (addr_host_name(&p->addr, text, host, e) != 0)
		return -1;
	return colon != NULL ? parse_port(colon + 1, len - host - 1, p, e) : 0;
}

static int parse(const char *url, struct proxy *p, struct err *e)
{
	size_t len, login;
	const char *at;

	p->addr.kind = ADDR_TCP;
	if (parse_scheme(&url, p, e) != 0)
		return -1;
	len = strcspn(url, "/?#");
	if (strchr(url + len, '@') != NULL)
		return err_set(e, ERR_CONFIG, "a '/', '?' or '#' in user or password is written %%2F, %%3F or %%23");
	if (url[len] != '\0' && strcmp(url + len, "/") != 0)
		return err_set(e, ERR_CONFIG, "a proxy has no path; " EXPECTED);
	at = strrchr(url, '@');
	login = at != NULL ? (size_t)(at - url) : 0;
	if (at != NULL && parse_login(url, login, p, e) != 0)
		return -1;
	if (at != NULL)
		login++;
	return parse_host(url + login, len - login, p, e);
}

int proxy_parse(const char *url, struct proxy *out, struct err *e)
{
	memset(out, 0, sizeof(*out));
	if (parse(url, out, e) == 0)
		return 0;
	explicit_bzero(out, sizeof(*out));
	return bad(url, e);
}

void proxy_wipe(struct proxy *p)
{
	explicit_bzero(p->password, sizeof(p->password));
}

bool proxy_resolves(const struct proxy *p)
{
	return p->kind != PROXY_SOCKS5;
}

/* --- the conversation ------------------------------------------------------- */

static bool has_control(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return true;
	}
	return n == size;
}

/* The parsers make nothing else; it stands in a request line, so it is looked at
 * once more. */
static int check_target(const struct addr *t, struct err *e)
{
	const char *fine = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
	size_t n = strnlen(t->host, sizeof(t->host));

	if (t->kind != ADDR_TCP || t->port == 0)
		return err_set(e, ERR_CONFIG, "a proxy connects to hosts with a port alone");
	if (n > ADDR_HOST_MAX)
		return err_set(e, ERR_CONFIG, "the host is longer than %d characters", ADDR_HOST_MAX);
	if (strchr(t->host, '%') != NULL)
		return err_set(e, ERR_CONFIG, "the scope of %s says nothing to a proxy on another machine", t->host);
	if (strspn(t->host, fine) != n || (n == 0 && !t->loopback))
		return err_set(e, ERR_CONFIG, "not a host that a proxy can be asked for");
	return 0;
}

struct parley *proxy_new(const struct proxy *p, const struct addr *target, struct err *e)
{
	struct addr t = *target;

	if (check_target(target, e) != 0)
		return NULL;
	if (has_control(p->user, sizeof(p->user)) || has_control(p->password, sizeof(p->password))) {
		err_set(e, ERR_CONFIG, "a control character in the proxy's user or password");
		return NULL;
	}
	if (t.host[0] == '\0') { /* a port alone */
		t.numeric = !proxy_resolves(p);
		strcpy(t.host, t.numeric ? "127.0.0.1" : "localhost");
	}
	t.loopback = t.absolute = false;
	return p->kind == PROXY_HTTP ? proxy_http_new(p, &t, e) : proxy_socks_new(p, &t, e);
}
