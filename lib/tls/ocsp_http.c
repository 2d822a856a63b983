/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* OCSP over HTTP (RFC 6960, appendix A): one request, one answer, no connection
 * that lives on. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/units.h"
#include "lib/tls/ocsp.h"

#define OCSP_ANSWER_MAX 65536

/* --- addresses -------------------------------------------------------------------------------- */

/* What may stand in a URL: nothing that could end a line or a header. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f)
			return false;
	return true;
}

/* "host:port" or "[v6]:port" in [s, end). */
static const char *parse_authority(const char *s, const char *end, struct ocsp_url *out)
{
	const char *host = s, *host_end, *port;
	uint64_t number = 80;

	if (memchr(s, '@', (size_t)(end - s)))
		return "a user name has no place in it";
	if (*s == '[') {
		host++;
		host_end = memchr(s, ']', (size_t)(end - s));
		if (!host_end || (host_end + 1 != end && host_end[1] != ':'))
			return "an IPv6 address stands in brackets";
		port = host_end + 1;
	} else {
		port = memchr(s, ':', (size_t)(end - s));
		host_end = port ? port : end;
	}
	if (host_end == host)
		return "it has no host";
	if ((size_t)(host_end - host) >= sizeof(out->host))
		return "the host is too long";
	snprintf(out->host, sizeof(out->host), "%.*s", (int)(host_end - host), host);
	snprintf(out->port, sizeof(out->port), "%.*s", port && port + 1 < end ? (int)(end - port - 1) : 0,
		port ? port + 1 : "");
	/* a port that does not fit is cut, and has more than five digits still */
	if (*out->port && units_parse_uint(out->port, 1, 65535, &number) < 0)
		return "the port is not one of 1 to 65535";
	snprintf(out->port, sizeof(out->port), "%u", (unsigned)number);
	return NULL;
}

static const char *parse(const char *url, struct ocsp_url *out)
{
	const char *rest, *end;
	size_t n;

	if (!is_plain(url))
		return "it has characters that a URL cannot have";
	if (strncasecmp(url, "https://", 8) == 0)
		return "OCSP over https is not supported: its certificate would have to be checked first";
	if (strncasecmp(url, "http://", 7) != 0)
		return "it does not begin with http://";
	url += 7;
	end = url + strcspn(url, "/?#");
	rest = end;
	n = strcspn(rest, "#");
	if (n + (*rest != '/') >= sizeof(out->path))
		return "the path is too long";
	snprintf(out->path, sizeof(out->path), "%s%.*s", *rest == '/' ? "" : "/", (int)n, rest);
	return parse_authority(url, end, out);
}

int ocsp_url_parse(const char *url, struct ocsp_url *out, struct err *e)
{
	const char *fault;

	memset(out, 0, sizeof(*out));
	fault = parse(url, out);
	return fault ? err_set(e, ERR_RUNTIME, "the OCSP address \"%.100s\" cannot be used: %s", url, fault) : 0;
}

int ocsp_http_request(const struct ocsp_url *url, const gnutls_datum_t *request, gnutls_datum_t *out, struct err *e)
{
	bool v6 = strchr(url->host, ':') != NULL, port = strcmp(url->port, "80") != 0;
	char head[sizeof(*url) + 300];
	int n = snprintf(head, sizeof(head),
		"POST %s HTTP/1.1\r\nHost: %s%s%s%s%s\r\nContent-Type: application/ocsp-request\r\n"
		"Accept: application/ocsp-response\r\nContent-Length: %u\r\nConnection: close\r\n\r\n",
		url->path, v6 ? "[" : "", url->host, v6 ? "]" : "", port ? ":" : "", port ? url->port : "",
		request->size);

	*out = (gnutls_datum_t){ NULL, 0 };
	if (n < 0 || (size_t)n >= sizeof(head))
		return err_set(e, ERR_RUNTIME, "the OCSP address is too long");
	out->data = gnutls_malloc((size_t)n + request->size);
	if (!out->data)
		return err_set(e, ERR_RUNTIME, "no memory");
	memcpy(out->data, head, (size_t)n);
	if (request->size)
		memcpy(out->data + n, request->data, request->size);
	out->size = (unsigned)n + request->size;
	return 0;
}

/* --- answers ------------------------------------------------------------------------------------ */

struct head {
	const uint8_t *at, *end; /* what is not read yet */
	int code;
	char reason[64];
	char type[64];
	bool chunked, has_length;
	uint64_t length;
	const char *fault; /* why it cannot be used */
};

/* The next line without its end, which is CR LF, or LF alone (RFC 9112, 2.2).
 * False: it has not come whole. */
static bool next_line(const uint8_t **at, const uint8_t *end, const char **line, size_t *n)
{
	const uint8_t *lf = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

	if (!lf)
		return false;
	*line = (const char *)*at;
	*n = (size_t)(lf - *at);
	if (*n && (*line)[*n - 1] == '\r')
		(*n)--;
	*at = lf + 1;
	return true;
}

static void keep(char *out, size_t size, const char *s, size_t n)
{
	snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), s);
}

static bool parse_status(struct head *h, const char *line, size_t n)
{
	const char *digits = line + 9;
	int i;

	if (n < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ' || (n > 12 && line[12] != ' '))
		return false;
	for (h->code = 0, i = 0; i < 3; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return false;
		h->code = h->code * 10 + digits[i] - '0';
	}
	keep(h->reason, sizeof(h->reason), n > 13 ? line + 13 : "", n > 13 ? n - 13 : 0);
	return true;
}

static void parse_length(struct head *h, const char *value, size_t n)
{
	char text[24];
	uint64_t length = 0;

	keep(text, sizeof(text), value, n);
	if (n >= sizeof(text) || units_parse_uint(text, 0, UINT32_MAX, &length) < 0 ||
		(h->has_length && length != h->length))
		h->fault = "its Content-Length makes no sense";
	h->has_length = true;
	h->length = length;
}

static bool is_header(const char *line, size_t n, const char *name)
{
	return n == strlen(name) && strncasecmp(line, name, n) == 0;
}

static void parse_header(struct head *h, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n), *value;
	size_t name, left;

	if (!colon || line[0] == ' ' || line[0] == '\t') {
		h->fault = "it has a line that is no header";
		return;
	}
	name = (size_t)(colon - line);
	for (value = colon + 1, left = n - name - 1; left && (*value == ' ' || *value == '\t'); left--)
		value++;
	while (left && (value[left - 1] == ' ' || value[left - 1] == '\t'))
		left--;
	if (is_header(line, name, "Content-Length")) {
		parse_length(h, value, left);
	} else if (is_header(line, name, "Content-Type")) {
		keep(h->type, sizeof(h->type), value, left);
	} else if (is_header(line, name, "Transfer-Encoding")) {
		if (h->chunked || !is_header(value, left, "chunked"))
			h->fault = "its transfer encoding is not known";
		h->chunked = true;
	}
}

/* 1: the head is whole, 0: it is not, -1: this is no HTTP. */
static int parse_head(struct head *h)
{
	const char *line;
	size_t n;

	if (!next_line(&h->at, h->end, &line, &n))
		return 0;
	if (!parse_status(h, line, n))
		return -1;
	while (next_line(&h->at, h->end, &line, &n)) {
		if (n == 0)
			return 1;
		if (!h->fault)
			parse_header(h, line, n);
	}
	return 0;
}

/* "1f;extension" */
static bool parse_chunk_size(const char *line, size_t n, size_t *out)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *digit;
	size_t i;

	for (*out = 0, i = 0; i < n && line[i] && (digit = strchr(digits, line[i])); i++) {
		if (i == 8)
			return false;
		*out = *out << 4 | (size_t)(digit - digits < 16 ? digit - digits : digit - digits - 6);
	}
	return i > 0 && (i == n || line[i] == ';' || line[i] == ' ' || line[i] == '\t');
}

/* Walks over the chunks (RFC 9112, 7.1). With `to` their bytes are put there, one
 * behind the other; it may be where they begin. 1 with *size, 0: more is to come,
 * -1: they are broken. */
static int walk_chunks(const uint8_t *at, const uint8_t *end, uint8_t *to, size_t *size)
{
	const char *line;
	size_t chunk, n;

	for (*size = 0; next_line(&at, end, &line, &n); *size += chunk) {
		if (!parse_chunk_size(line, n, &chunk))
			return -1;
		if (chunk == 0)
			return 1; /* what follows it is of no interest */
		if (chunk > (size_t)(end - at))
			return chunk > OCSP_ANSWER_MAX ? -1 : 0;
		if (to)
			memmove(to + *size, at, chunk);
		at += chunk;
		if (!next_line(&at, end, &line, &n))
			return 0;
		if (n)
			return -1;
	}
	return 0;
}

/* 1, 0 or -1 with h->fault. */
static int read_body(struct head *h, uint8_t *start, bool ended, gnutls_datum_t *body)
{
	size_t have = (size_t)(h->end - h->at), size = have;
	int r = ended;

	if (h->chunked)
		r = walk_chunks(h->at, h->end, NULL, &size);
	else if (h->has_length)
		r = h->length > OCSP_ANSWER_MAX ? -1 : h->length <= have;
	if (r < 0)
		h->fault = h->chunked ? "its chunks are broken" : "it is too long for an OCSP answer";
	if (r <= 0)
		return r;
	if (h->chunked)
		walk_chunks(h->at, h->end, start, &size);
	else if (h->has_length)
		size = (size_t)h->length;
	*body = (gnutls_datum_t){ start, (unsigned)size };
	return 1;
}

static int refuse_head(const struct head *h, struct err *e)
{
	if (h->fault)
		return err_set(e, ERR_RUNTIME, "the OCSP responder's answer cannot be used: %s", h->fault);
	if (h->code != 200)
		return err_set(e, ERR_RUNTIME, "the OCSP responder answers with HTTP %d%s%s", h->code,
			*h->reason ? " " : "", h->reason);
	if (strncasecmp(h->type, "text/", 5) == 0)
		return err_set(e, ERR_RUNTIME, "the OCSP responder answers with a page (%s), not with OCSP", h->type);
	return 0;
}

int ocsp_http_answer(uint8_t *data, size_t n, bool ended, gnutls_datum_t *body, struct err *e)
{
	struct head h = { .at = data, .end = data + n };
	int r;

	*body = (gnutls_datum_t){ NULL, 0 };
	if (n > OCSP_ANSWER_MAX)
		return err_set(e, ERR_RUNTIME, "the OCSP responder's answer is longer than 64 KiB");
	do { /* 100 and its like come before the answer itself */
		h = (struct head){ .at = h.at, .end = h.end };
		r = parse_head(&h);
	} while (r > 0 && h.code / 100 == 1);
	if (r < 0)
		return err_set(e, ERR_RUNTIME, "the OCSP responder does not speak HTTP");
	if (r > 0 && refuse_head(&h, e) < 0)
		return -1;
	if (r > 0)
		r = read_body(&h, data + (h.at - data), ended, body);
	if (r < 0)
		return refuse_head(&h, e);
	if (r == 0 && ended)
		return err_set(e, ERR_IO, "the OCSP responder's answer is cut off");
	return r;
}
