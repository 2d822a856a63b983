/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/net/starttls_int.h"

/* What is said: commands to the server, and to the user why it does not go on. */

#define TEXT_COLUMNS 200 /* of a server's text in a message */

enum parley_status starttls_wait(struct starttls *s, const char *step, starttls_on *on)
{
	snprintf(s->step, sizeof(s->step), "%s%s%s", s->title, step != NULL ? ": " : "", step != NULL ? step : "");
	s->on = on;
	return PARLEY_MORE;
}

static enum parley_status too_long(struct err *e)
{
	err_set(e, ERR_HANDSHAKE, "the server asks for more answers than there is room for");
	return PARLEY_FAILED;
}

enum parley_status starttls_ask(
	struct starttls *s, const char *step, starttls_on *on, struct err *e, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line) || parley_putf(&s->p, "%s", line) != 0)
		return too_long(e);
	return starttls_wait(s, step, on);
}

enum parley_status starttls_send(
	struct starttls *s, const char *step, starttls_on *on, struct err *e, const void *data, size_t n)
{
	if (parley_put(&s->p, data, n) != 0)
		return too_long(e);
	return starttls_wait(s, step, on);
}

enum parley_status starttls_no_memory(struct err *e)
{
	err_set(e, ERR_RUNTIME, "out of memory");
	return PARLEY_FAILED;
}

/* As much of a text as a message shows; NULs become something that err_set shows. */
struct excerpt {
	char text[4 * TEXT_COLUMNS + 4];
};

static const char *excerpt(struct excerpt *x, const char *text, size_t n)
{
	size_t fit = utf8_fit(text, n, TEXT_COLUMNS);

	if (fit > 4 * TEXT_COLUMNS)
		fit = 4 * TEXT_COLUMNS;
	for (size_t i = 0; i < fit; i++)
		x->text[i] = text[i] != '\0' ? text[i] : '\1';
	strcpy(x->text + fit, fit < n ? "\xe2\x80\xa6" : "");
	return x->text;
}

enum parley_status starttls_refused(struct err *e, const char *text, size_t n, const char *advice)
{
	struct excerpt x;

	err_set(e, ERR_HANDSHAKE, "the server answered %s%s%s", n > 0 ? excerpt(&x, text, n) : "with an empty line",
		advice != NULL ? "; " : "", advice != NULL ? advice : "");
	return PARLEY_FAILED;
}

/* Not strcasecmp: the locale has no say in protocols. */
static bool same_letters(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char x = a[i] >= 'a' && a[i] <= 'z' ? (char)(a[i] - 'a' + 'A') : a[i];
		char y = b[i] >= 'a' && b[i] <= 'z' ? (char)(b[i] - 'a' + 'A') : b[i];

		if (x != y || x == '\0')
			return false;
	}
	return true;
}

static bool contains(const char *text, const char *word)
{
	for (size_t n = strlen(word); *text != '\0'; text++) {
		if (same_letters(text, word, n))
			return true;
	}
	return false;
}

/* What servers of other protocols than `own` begin with. */
static const char *looks_like(const char *own, const char *text, size_t n)
{
	static const struct {
		const char *begin, *name;
	} rows[] = {
		{ "HTTP", "HTTP" },
		{ "<!DOCTYPE", "HTML" },
		{ "<html", "HTML" },
		{ "SSH-", "SSH" },
		{ "* OK", "IMAP" },
		{ "* PREAUTH", "IMAP" },
		{ "+OK", "POP3" },
		{ "-ERR", "POP3 or Redis" },
		{ "220 ", "SMTP or FTP" },
		{ "220-", "SMTP or FTP" },
		{ "554 ", "SMTP" },
		{ "200 ", "NNTP" },
		{ "201 ", "NNTP" },
		{ "\"IMPL", "sieve" },
		{ "<?xml", "XMPP" },
		{ "<stream:stream", "XMPP" },
		{ "NOTICE ", "IRC" },
		{ ":", "IRC" },
		{ "RFB ", "VNC" },
		{ "@RSYNCD:", "rsync" },
		{ "AMQP", "AMQP" },
		{ "-DENIED", "Redis" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].begin);

		if (len <= n && memcmp(text, rows[i].begin, len) == 0)
			return contains(rows[i].name, own) ? NULL : rows[i].name;
	}
	return NULL;
}

enum parley_status starttls_strange(const struct starttls *s, struct err *e, const char *text, size_t n)
{
	const char *other = looks_like(s->title, text, n);
	struct excerpt x;

	err_set(e, ERR_HANDSHAKE, "what the server says is not %s%s%s: %s", s->title,
		other != NULL ? ", this looks like " : "", other != NULL ? other : "",
		n > 0 ? excerpt(&x, text, n) : "an empty line");
	return PARLEY_FAILED;
}

bool starttls_is_tls(uint8_t byte)
{
	return byte == 0x15 || byte == 0x16; /* RFC 8446, 5.1 */
}

enum parley_status starttls_strange_byte(const struct starttls *s, struct err *e, uint8_t byte)
{
	if (starttls_is_tls(byte))
		err_set(e, ERR_HANDSHAKE, "the server speaks TLS at once: leave --starttls away");
	else
		err_set(e, ERR_HANDSHAKE, "what the server says is not %s: it begins with byte 0x%02x%s", s->title,
			byte, byte == 'H' ? ", perhaps this is HTTP" : "");
	return PARLEY_FAILED;
}

enum parley_status starttls_not_offered(struct starttls *s, struct err *e)
{
	starttls_wait(s, NULL, NULL);
	err_set(e, ERR_HANDSHAKE, "%s is not offered (capabilities: %s)", s->proto->verb,
		s->caps[0] != '\0' ? s->caps : "none");
	return PARLEY_FAILED;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool starttls_begins(const char *text, const char *word)
{
	size_t n = strlen(word);

	return same_letters(text, word, n) && (text[n] == '\0' || is_blank(text[n]));
}

void starttls_list(struct starttls *s, const char *word, size_t n)
{
	static const char more[] = " \xe2\x80\xa6";
	size_t at = strlen(s->caps);

	if (n == 0 || s->caps_cut)
		return;
	s->caps_cut = at + n + 1 + sizeof(more) > sizeof(s->caps);
	if (s->caps_cut)
		strcpy(s->caps + at, more);
	else
		snprintf(s->caps + at, sizeof(s->caps) - at, "%s%.*s", at > 0 ? " " : "", (int)n, word);
}

void starttls_capability(struct starttls *s, const char *word, size_t n)
{
	if (n == strlen(s->proto->verb) && same_letters(word, s->proto->verb, n))
		s->offered = true;
	starttls_list(s, word, n);
}

void starttls_capabilities(struct starttls *s, const char *words)
{
	while (*words != '\0' && *words != ']') {
		size_t n = strcspn(words, " \t]");

		starttls_capability(s, words, n);
		words += n;
		words += strspn(words, " \t");
	}
}

/* 100 to 599 with a blank, a hyphen or nothing behind it; 0: it is none. */
static unsigned code_of(const char *line)
{
	if (line[0] < '1' || line[0] > '5' || line[1] < '0' || line[1] > '9' || line[2] < '0' || line[2] > '9')
		return 0;
	if (line[3] != ' ' && line[3] != '-' && line[3] != '\0')
		return 0;
	return (unsigned)((line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0'));
}

int starttls_reply(struct starttls *s, const char *line, size_t n, struct err *e)
{
	unsigned code = code_of(line);
	bool inside = s->code != 0;

	if (inside && s->proto->any_inside && (code != s->code || line[3] == '-'))
		return 0;
	if (code == 0) {
		starttls_strange(s, e, line, n);
		return -1;
	}
	s->line = inside ? s->line + 1 : 1;
	s->code = line[3] == '-' ? code : 0;
	return s->code != 0 ? 0 : (int)code;
}
