/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/near.h"
#include "lib/net/starttls_int.h"

/* DNS has no longer names (RFC 1035, 2.3.4), and a command has to hold it. */
#define NAME_SIZE_MAX 255

static const char *const names[] = { "smtp", "lmtp", "imap", "pop3", "ftp", "nntp", "sieve", "xmpp", "xmpp-server",
	"ldap", "postgres", "mysql", "irc", NULL };

/* In the same order. */
static const struct starttls_proto *const protos[] = { &starttls_smtp, &starttls_lmtp, &starttls_imap, &starttls_pop3,
	&starttls_ftp, &starttls_nntp, &starttls_sieve, &starttls_xmpp, &starttls_xmpp_server, &starttls_ldap,
	&starttls_postgres, &starttls_mysql, &starttls_irc };

#define N_PROTOS (sizeof(protos) / sizeof(protos[0]))

_Static_assert(sizeof(names) / sizeof(names[0]) == N_PROTOS + 1, "a name for each");

const char *const *starttls_names(void)
{
	return names;
}

/* N_PROTOS: there is none. */
static size_t find(const char *name)
{
	size_t i = 0;

	while (i < N_PROTOS && strcmp(names[i], name) != 0)
		i++;
	return i;
}

unsigned starttls_port(const char *proto)
{
	size_t i = find(proto);

	return i < N_PROTOS ? protos[i]->port : 0;
}

/* --- the stream: messages are cut out of it ------------------------------------ */

static int append(struct starttls *s, const uint8_t *data, size_t n)
{
	if (n > s->cap - s->n) {
		size_t cap = s->cap > 0 ? s->cap : 1024;
		uint8_t *buf;

		while (cap - s->n < n)
			cap *= 2;
		buf = realloc(s->buf, cap);
		if (buf == NULL)
			return -1;
		s->buf = buf;
		s->cap = cap;
	}
	memcpy(s->buf + s->n, data, n);
	s->n += n;
	return 0;
}

/* How many bytes a line says will follow it, with {n} or {n+} at its end (RFC 5804,
 * 4); -1: it does not. What is beyond the limit of all is just that. */
static long literal(const uint8_t *line, size_t n)
{
	size_t at;
	long value = 0;

	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		n--;
	if (n < 3 || line[n - 1] != '}')
		return -1;
	n -= line[n - 2] == '+' ? 2 : 1;
	for (at = n; at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9'; at--)
		continue;
	if (at == n || at == 0 || line[at - 1] != '{')
		return -1;
	for (; at < n; at++)
		value = value > PARLEY_LINE_MAX ? value : value * 10 + (line[at] - '0');
	return value;
}

static ptrdiff_t frame_line(struct starttls *s, const uint8_t *at, size_t n, struct err *e)
{
	if (!s->greeted && starttls_is_tls(at[0])) {
		starttls_strange_byte(s, e, at[0]);
		return -1;
	}
	while (s->scan < n) {
		const uint8_t *newline = memchr(at + s->scan, '\n', n - s->scan);
		long more;
		size_t end;

		if (newline == NULL) {
			s->scan = n;
			return 0;
		}
		end = (size_t)(newline - at) + 1;
		more = s->proto->literals ? literal(at + s->segment, end - s->segment) : -1;
		if (more < 0)
			return (ptrdiff_t)end;
		s->segment = s->scan = end + (size_t)more;
	}
	return 0;
}

static enum parley_status hand_line(struct starttls *s, char *line, size_t n, struct err *e)
{
	static const char *const others[] = { "HTTP/", "SSH-" };
	bool first = !s->greeted;

	s->greeted = true;
	n--;
	if (n > 0 && line[n - 1] == '\r')
		n--;
	if (memchr(line, '\0', n) != NULL)
		return starttls_strange(s, e, line, n);
	line[n] = '\0';
	for (size_t i = 0; first && i < sizeof(others) / sizeof(others[0]); i++) {
		if (strncmp(line, others[i], strlen(others[i])) == 0)
			return starttls_strange(s, e, line, n);
	}
	return s->on(s, line, n, e);
}

/* Hands out what is whole in the buffer. */
static enum parley_status hand_out(struct starttls *s, struct err *e)
{
	enum parley_status status = PARLEY_MORE;
	size_t at = 0;

	while (status == PARLEY_MORE && at < s->n) {
		char *msg = (char *)s->buf + at;
		ptrdiff_t n = (s->proto->frame != NULL ? s->proto->frame : frame_line)(s, s->buf + at, s->n - at, e);

		if (n == 0)
			break;
		if (n < 0)
			return PARLEY_FAILED;
		s->segment = s->scan = 0;
		status = s->proto->frame != NULL ? s->on(s, msg, (size_t)n, e) : hand_line(s, msg, (size_t)n, e);
		at += (size_t)n;
	}
	s->n -= at;
	memmove(s->buf, s->buf + at, s->n);
	return status;
}

static enum parley_status feed(struct parley *p, const uint8_t *data, size_t n, size_t *used, struct err *e)
{
	struct starttls *s = (struct starttls *)p;
	enum parley_status status;

	if (n == 0)
		return s->proto->start(s, e);
	if (append(s, data, n) != 0)
		return starttls_no_memory(e);
	status = hand_out(s, e);
	*used = status == PARLEY_DONE ? n - s->n : n;
	return status;
}

static const char *step(const struct parley *p)
{
	return ((const struct starttls *)p)->step;
}

static void free_starttls(struct parley *p)
{
	struct starttls *s = (struct starttls *)p;

	free(s->buf);
	free(s->name);
	free(s);
}

/* --- making one ----------------------------------------------------------------- */

static void unknown(const char *proto, struct err *e)
{
	const char *near = near_match(proto, names, N_PROTOS);
	char list[160] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_PROTOS; i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i > 0 ? ", " : "", names[i]);
	err_set(e, ERR_CONFIG, "no STARTTLS is known for '%.60s'%s%s%s; there is %s", proto,
		near ? ", did you mean " : "", near ? near : "", near ? "?" : "", list);
}

/* It goes into a command: a blank or a line's end would be another argument, another
 * command. */
static int check_name(const char *name, struct err *e)
{
	if (*name == '\0')
		return err_set(e, ERR_CONFIG, "an empty name for STARTTLS");
	if (strlen(name) > NAME_SIZE_MAX)
		return err_set(e, ERR_CONFIG, "the name for STARTTLS is longer than %d bytes", NAME_SIZE_MAX);
	for (const char *c = name; *c != '\0'; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return err_set(
				e, ERR_CONFIG, "a blank or a control character in the name for STARTTLS: '%s'", name);
	}
	return 0;
}

static struct starttls *new_starttls(size_t size, const char *name)
{
	struct starttls *s = calloc(1, size > 0 ? size : sizeof(*s));

	if (s == NULL || name == NULL)
		return s;
	s->name = strdup(name);
	if (s->name == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

struct parley *starttls_new(const char *proto, const char *host, const char *name, struct err *e)
{
	static const struct parley_ops ops = { .feed = feed, .free = free_starttls, .step = step, .tls_next = true };
	size_t i = find(proto);
	struct starttls *s;

	if (i == N_PROTOS) {
		unknown(proto, e);
		return NULL;
	}
	if (name == NULL && protos[i]->needs_name)
		name = host != NULL ? host : "";
	if (name != NULL && check_name(name, e) != 0)
		return NULL;
	s = new_starttls(protos[i]->size, name);
	if (s == NULL) {
		starttls_no_memory(e);
		return NULL;
	}
	s->p.ops = &ops;
	s->proto = protos[i];
	s->title = names[i];
	starttls_wait(s, NULL, NULL);
	return &s->p;
}
