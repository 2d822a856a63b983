/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "lib/base/units.h"
#include "lib/base/utf8.h"
#include "lib/net/addr.h"
#include "lib/net/addr_host.h"

#define HTTPS_PORT 443

/* What a message offers when the text has no known form. */
static const char *expected(enum addr_use use)
{
	switch (use) {
	case ADDR_LISTEN:
		return "expected PORT, HOST:PORT, [IPv6]:PORT, :PORT, unix:PATH, systemd:NAME or -";
	case ADDR_TARGET:
		return "expected PORT, HOST:PORT, [IPv6]:PORT, unix:PATH or -";
	case ADDR_CONNECT:
		break;
	}
	return "expected HOST, HOST:PORT, [IPv6]:PORT, PORT, unix:PATH or https://HOST";
}

/* Moves *text behind a prefix that is there. */
static bool skip(const char **text, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncasecmp(*text, prefix, n) != 0)
		return false;
	*text += n;
	return true;
}

static bool all_digits(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* --- ports ---------------------------------------------------------------- */

/* getaddrinfo would take " 80" and "+80" for numbers. */
static bool is_service_name(const char *s)
{
	const char *alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+.");

	return strspn(s, alnum) > 0 && n < 64 && s[n] == '\0';
}

/* getservbyname(3) is not safe among threads; this is. */
static int service_port(const char *name, uint16_t *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;

	if (getaddrinfo(NULL, name, &hints, &ai) != 0)
		return -1;
	*port = ntohs(((const struct sockaddr_in *)(const void *)ai->ai_addr)->sin_port);
	freeaddrinfo(ai);
	return 0;
}

static int parse_port(struct addr *a, const char *text, enum addr_use use, struct err *e)
{
	uint64_t n;

	if (*text == '\0')
		return err_set(e, ERR_CONFIG, "no port behind the colon");
	if (!all_digits(text)) {
		if (!is_service_name(text) || service_port(text, &a->port) != 0)
			return err_set(e, ERR_CONFIG, "\"%.64s\" is neither a port nor a known service", text);
		return 0;
	}
	if (units_parse_uint(text, 0, 65535, &n) != 0)
		return err_set(e, ERR_CONFIG, "the port is above 65535");
	if (n == 0 && use != ADDR_LISTEN)
		return err_set(e, ERR_CONFIG, "port 0 can be listened on, but not be connected to");
	a->port = (uint16_t)n;
	return 0;
}

/* --- TCP ------------------------------------------------------------------ */

/* "[v6]:PORT"; "[v6]" where default_port is not 0. */
static int parse_bracketed(struct addr *a, const char *text, enum addr_use use, uint16_t default_port,
	struct err *e)
{
	const char *end = strchr(text, ']');

	if (end == NULL)
		return err_set(e, ERR_CONFIG, "no ']' behind the IPv6 address");
	if (addr_host_ipv6(a, text + 1, (size_t)(end - text - 1), e) != 0)
		return -1;
	if (end[1] == ':')
		return parse_port(a, end + 2, use, e);
	if (end[1] != '\0')
		return err_set(e, ERR_CONFIG, "only \":PORT\" may follow the ']'");
	if (default_port == 0)
		return err_set(e, ERR_CONFIG, "no port; %s", expected(use));
	a->port = default_port;
	a->port_implied = true;
	return 0;
}

static int too_many_colons(const char *text, enum addr_use use, struct err *e)
{
	if (text[strspn(text, "0123456789abcdefABCDEF:.")] == '\0' || strchr(text, '%') != NULL)
		return err_set(e, ERR_CONFIG, "an IPv6 address needs brackets: [%.60s]:PORT", text);
	return err_set(e, ERR_CONFIG, "more than one colon; %s", expected(use));
}

/* A bare host may be called like a prefix, and would be one with a port behind
 * it. With a dot it cannot be mistaken. */
static int check_not_prefix(const struct addr *a, struct err *e)
{
	static const char *const prefixes[] = { "tls", "unix", "systemd" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !a->absolute; i++) {
		if (strcmp(a->host, prefixes[i]) == 0)
			return err_set(e, ERR_CONFIG, "a prefix and no host; a host of that name is written \"%s.\"",
				a->host);
	}
	return 0;
}

static int parse_host_port(struct addr *a, const char *text, enum addr_use use, uint16_t default_port,
	struct err *e)
{
	const char *colon = strchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);

	if (*text == '[')
		return parse_bracketed(a, text, use, default_port, e);
	if (colon != NULL && strchr(colon + 1, ':') != NULL)
		return too_many_colons(text, use, e);
	if (len == 1 && *text == '*')
		return err_set(e, ERR_CONFIG, "every interface is written \":PORT\"");
	if (addr_host_name(a, text, len, e) != 0 || check_not_prefix(a, e) != 0)
		return -1;
	if (colon != NULL)
		return parse_port(a, colon + 1, use, e);
	if (default_port == 0)
		return err_set(e, ERR_CONFIG, "no port; %s", expected(use));
	a->port = default_port;
	a->port_implied = true;
	return 0;
}

static int parse_tcp(struct addr *a, const char *text, enum addr_use use, struct err *e)
{
	if (*text == '-')
		return err_set(e, ERR_CONFIG, "a host name does not start with '-'; %s", expected(use));
	if (all_digits(text)) {
		a->loopback = true;
		return parse_port(a, text, use, e);
	}
	if (text[0] == ':' && strchr(text + 1, ':') == NULL) {
		a->any = use == ADDR_LISTEN;
		a->loopback = !a->any;
		return parse_port(a, text + 1, use, e);
	}
	return parse_host_port(a, text, use, use == ADDR_CONNECT ? HTTPS_PORT : 0, e);
}

/* --- URLs ----------------------------------------------------------------- */

/* "%25" is how a URL writes the '%' in front of a scope (RFC 6874, 2). */
static void unescape_scope(char *host)
{
	char *p = *host == '[' ? strstr(host, "%25") : NULL;

	if (p != NULL)
		memmove(p + 1, p + 3, strlen(p + 3) + 1);
}

static int parse_https(struct addr *a, const char *text, enum addr_use use, struct err *e)
{
	size_t len = strcspn(text, "/?#");
	char authority[2048];

	if (use != ADDR_CONNECT)
		return err_set(e, ERR_CONFIG, "a URL has no place here; expected tls:HOST:PORT");
	if (len >= sizeof(authority))
		return err_set(e, ERR_CONFIG, "the host is too long");
	memcpy(authority, text, len);
	authority[len] = '\0';
	if (strchr(authority, '@') != NULL)
		return err_set(e, ERR_CONFIG, "a user name in the URL is not supported; expected https://HOST");
	unescape_scope(authority);
	a->tls = true;
	return parse_host_port(a, authority, use, HTTPS_PORT, e);
}

static int parse_http(struct err *e)
{
	return err_set(e, ERR_CONFIG, "http:// is not TLS; expected https://HOST or HOST:PORT");
}

/* --- the others ----------------------------------------------------------- */

static int parse_path(struct addr *a, const char *path, struct err *e)
{
	const size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	bool empty = path[0] == '\0' || (path[0] == '@' && path[1] == '\0');
	size_t len = strlen(path);

	if (empty)
		return err_set(e, ERR_CONFIG, "no path; expected unix:PATH or unix:@NAME");
	if (len > max || len >= sizeof(a->path))
		return err_set(e, ERR_CONFIG, "the path is too long: %zu bytes, at most %zu", len, max);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			return err_set(e, ERR_CONFIG, "a control character in the path");
	}
	a->kind = ADDR_UNIX;
	memcpy(a->path, path, len + 1);
	return 0;
}

/* Names are those of FileDescriptorName= in systemd.socket(5). */
static int parse_systemd(struct addr *a, const char *name, enum addr_use use, struct err *e)
{
	size_t len = strlen(name);

	if (use != ADDR_LISTEN)
		return err_set(e, ERR_CONFIG, "an inherited socket can be listened on, but not be connected to");
	if (len == 0)
		return err_set(e, ERR_CONFIG, "no name; expected systemd:NAME");
	if (len >= sizeof(a->path))
		return err_set(e, ERR_CONFIG, "the name is too long: %zu bytes, at most %zu", len,
			sizeof(a->path) - 1);
	for (size_t i = 0; i < len; i++) {
		if (name[i] < 0x21 || name[i] > 0x7e || name[i] == ':')
			return err_set(e, ERR_CONFIG, "a character that the name of an inherited socket cannot have");
	}
	a->kind = ADDR_SYSTEMD;
	memcpy(a->path, name, len + 1);
	return 0;
}

static int parse(struct addr *a, const char *text, enum addr_use use, struct err *e)
{
	a->tls = skip(&text, "tls:");
	if (*text == '\0')
		return err_set(e, ERR_CONFIG, "empty; %s", expected(use));
	if (a->tls && skip(&text, "tls:"))
		return err_set(e, ERR_CONFIG, "\"tls:\" stands there twice");
	if (strcmp(text, "-") == 0) {
		a->kind = ADDR_STDIO;
		return 0;
	}
	if (skip(&text, "unix:"))
		return parse_path(a, text, e);
	if (skip(&text, "systemd:"))
		return parse_systemd(a, text, use, e);
	if (skip(&text, "https://"))
		return parse_https(a, text, use, e);
	if (skip(&text, "http://"))
		return parse_http(e);
	if (strstr(text, "://") != NULL)
		return err_set(e, ERR_CONFIG, "not a known kind of URL; %s", expected(use));
	return parse_tcp(a, text, use, e);
}

/* --- errors --------------------------------------------------------------- */

#define QUOTE_MAX 120

/* How many bytes of a long text to quote: whole characters. */
static int quoted_length(const char *text)
{
	size_t left = strlen(text), n = 0;

	while (left > 0) {
		uint32_t cp;
		size_t len = utf8_decode(text + n, left, &cp);

		len = len == 0 ? 1 : len;
		if (n + len > QUOTE_MAX)
			break;
		n += len;
		left -= len;
	}
	return (int)n;
}

int addr_parse(struct addr *out, const char *text, enum addr_use use, struct err *e)
{
	int n;

	memset(out, 0, sizeof(*out));
	if (parse(out, text, use, e) == 0)
		return 0;
	n = quoted_length(text);
	return err_prefix(e, "bad address \"%.*s%s\"", n, text, text[n] != '\0' ? "…" : "");
}

int addr_parse_name(char out[ADDR_HOST_MAX + 1], const char *option, const char *text, bool ip, struct err *e)
{
	struct in6_addr v6;
	struct addr a = { 0 };
	int r = 0;

	if (inet_pton(AF_INET6, text, &v6) == 1) {
		a.numeric = true;
		snprintf(a.host, sizeof(a.host), "%s", text);
	} else {
		r = addr_host_name(&a, text, strlen(text), e);
	}
	if (r == 0 && a.numeric && !ip)
		r = err_set(e, ERR_CONFIG, "it is an address, and only names can stand here");
	if (r != 0)
		return err_prefix(e, "%s \"%.80s\"", option, text);
	strcpy(out, a.host);
	return 0;
}
