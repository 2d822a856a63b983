/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/net/starttls_int.h"

/* smtp, lmtp, pop3, imap, sieve. */

/* --- smtp (RFC 3207), lmtp (RFC 2033) -------------------------------------------- */

/* What we call ourselves. EHLO wants a name that can be resolved, or else an address
 * literal (RFC 5321, 4.1.1.1). The address of this end is not known here, [127.0.0.1]
 * would be a lie, "localhost" is refused where full names are asked for, and the
 * machine's own name is nobody's business. So a full name that can never be anybody's
 * (RFC 2606, 2) and tells the server's log who called; a server may look it up, but
 * must not refuse us because of what it finds (RFC 5321, 4.1.4). */
#define NO_NAME "tlskit.invalid"

static enum parley_status smtp_starttls(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	return code == 220 ? PARLEY_DONE : starttls_refused(e, line, n, NULL);
}

static enum parley_status smtp_ehlo(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code < 0)
		return PARLEY_FAILED;
	if (s->line > 1 && n > 4) /* the first line has the server's name */
		starttls_capability(s, line + 4, strcspn(line + 4, " \t"));
	if (code == 0)
		return PARLEY_MORE;
	if (code != 250) /* HELO would go through, but offers nothing */
		return starttls_refused(e, line, n, NULL);
	if (!s->offered)
		return starttls_not_offered(s, e);
	return starttls_ask(s, "STARTTLS", smtp_starttls, e, "STARTTLS");
}

static enum parley_status smtp_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	const char *verb = s->proto == &starttls_lmtp ? "LHLO" : "EHLO";
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	if (code != 220)
		return starttls_refused(e, line, n, NULL);
	return starttls_ask(s, verb, smtp_ehlo, e, "%s %s", verb, s->name != NULL ? s->name : NO_NAME);
}

static enum parley_status smtp_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", smtp_greeting);
}

const struct starttls_proto starttls_smtp = { .verb = "STARTTLS", .port = 587, .start = smtp_start };
const struct starttls_proto starttls_lmtp = { .verb = "STARTTLS", .port = 24, .start = smtp_start };

/* --- pop3 (RFC 2595, 4) ---------------------------------------------------------- */

/* 1: +OK, 0: -ERR, -1 and e: neither */
static int pop3_reply(struct starttls *s, const char *line, size_t n, struct err *e)
{
	if (strncmp(line, "+OK", 3) == 0)
		return 1;
	if (strncmp(line, "-ERR", 4) == 0)
		return 0;
	starttls_strange(s, e, line, n);
	return -1;
}

static enum parley_status pop3_stls(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int ok = pop3_reply(s, line, n, e);

	if (ok == 0)
		return starttls_refused(e, line, n, NULL);
	return ok > 0 ? PARLEY_DONE : PARLEY_FAILED;
}

static enum parley_status pop3_list(struct starttls *s, const char *line, size_t n, struct err *e)
{
	(void)n;
	if (strcmp(line, ".") != 0) {
		starttls_capability(s, line, strcspn(line, " \t"));
		return PARLEY_MORE;
	}
	return s->offered ? starttls_ask(s, "STLS", pop3_stls, e, "STLS") : starttls_not_offered(s, e);
}

/* CAPA is younger than POP3 (RFC 2449): without it STLS is tried. */
static enum parley_status pop3_capa(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int ok = pop3_reply(s, line, n, e);

	if (ok == 0)
		return starttls_ask(s, "STLS", pop3_stls, e, "STLS");
	return ok > 0 ? starttls_wait(s, "CAPA", pop3_list) : PARLEY_FAILED;
}

static enum parley_status pop3_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int ok = pop3_reply(s, line, n, e);

	if (ok == 0)
		return starttls_refused(e, line, n, NULL);
	return ok > 0 ? starttls_ask(s, "CAPA", pop3_capa, e, "CAPA") : PARLEY_FAILED;
}

static enum parley_status pop3_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", pop3_greeting);
}

const struct starttls_proto starttls_pop3 = { .verb = "STLS", .port = 110, .start = pop3_start };

/* --- imap (RFC 9051, 6.2.1) ------------------------------------------------------ */

/* A line that is not the answer to the command with this tag: data, or a farewell.
 * Sets *answer to what stands behind the tag otherwise. */
static enum parley_status imap_line(
	struct starttls *s, const char *tag, const char *line, size_t n, const char **answer, struct err *e)
{
	size_t len = strlen(tag);

	*answer = NULL;
	if (starttls_begins(line, "* BYE"))
		return starttls_refused(e, line, n, NULL);
	if (line[0] == '*' && line[1] == ' ')
		return PARLEY_MORE;
	if (strncmp(line, tag, len) != 0 || line[len] != ' ')
		return starttls_strange(s, e, line, n);
	*answer = line + len + 1;
	if (starttls_begins(*answer, "OK"))
		return PARLEY_MORE;
	return starttls_refused(e, line, n, NULL);
}

static enum parley_status imap_starttls(struct starttls *s, const char *line, size_t n, struct err *e)
{
	const char *answer;
	enum parley_status status = imap_line(s, "a2", line, n, &answer, e);

	return status == PARLEY_MORE && answer != NULL ? PARLEY_DONE : status;
}

static enum parley_status imap_ask_starttls(struct starttls *s, struct err *e)
{
	return starttls_ask(s, "STARTTLS", imap_starttls, e, "a2 STARTTLS");
}

static enum parley_status imap_capability(struct starttls *s, const char *line, size_t n, struct err *e)
{
	static const char list[] = "* CAPABILITY";
	const char *answer;
	enum parley_status status = imap_line(s, "a1", line, n, &answer, e);

	if (starttls_begins(line, list)) {
		const char *words = line + strlen(list);

		starttls_capabilities(s, words + strspn(words, " \t"));
	}
	if (status != PARLEY_MORE || answer == NULL)
		return status;
	return s->offered ? imap_ask_starttls(s, e) : starttls_not_offered(s, e);
}

static enum parley_status imap_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	static const char list[] = "* OK [CAPABILITY ";

	if (starttls_begins(line, "* PREAUTH")) {
		err_set(e, ERR_HANDSHAKE,
			"the server takes us for logged in already (PREAUTH), and then STARTTLS is not allowed");
		return PARLEY_FAILED;
	}
	if (starttls_begins(line, "* BYE"))
		return starttls_refused(e, line, n, NULL);
	if (!starttls_begins(line, "* OK"))
		return starttls_strange(s, e, line, n);
	if (strncmp(line, list, strlen(list)) == 0)
		starttls_capabilities(s, line + strlen(list));
	if (s->offered)
		return imap_ask_starttls(s, e);
	s->caps[0] = '\0'; /* a greeting need not list them all */
	s->caps_cut = false;
	return starttls_ask(s, "CAPABILITY", imap_capability, e, "a1 CAPABILITY");
}

static enum parley_status imap_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", imap_greeting);
}

const struct starttls_proto starttls_imap = { .verb = "STARTTLS", .port = 143, .start = imap_start };

/* --- sieve (RFC 5804) ------------------------------------------------------------ */

static bool sieve_ends(const char *line)
{
	return starttls_begins(line, "NO") || starttls_begins(line, "BYE");
}

static enum parley_status sieve_starttls(struct starttls *s, const char *line, size_t n, struct err *e)
{
	if (starttls_begins(line, "OK"))
		return PARLEY_DONE;
	return sieve_ends(line) ? starttls_refused(e, line, n, NULL) : starttls_strange(s, e, line, n);
}

/* The string that a line begins with, "quoted" or as a literal; NULL: none. */
static const char *sieve_string(const char *line, size_t n, size_t *len)
{
	const char *text, *end;

	if (line[0] == '"') {
		end = strchr(line + 1, '"');
		if (end == NULL)
			return NULL;
		*len = (size_t)(end - line) - 1;
		return line + 1;
	}
	text = line[0] == '{' ? memchr(line, '\n', n) : NULL;
	if (text == NULL)
		return NULL;
	text++;
	*len = strtoul(line + 1, NULL, 10); /* digits, or the line would have ended here */
	return *len <= n - (size_t)(text - line) ? text : NULL;
}

static enum parley_status sieve_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	const char *name;
	size_t len;

	if (starttls_begins(line, "OK")) {
		if (!s->offered)
			return starttls_not_offered(s, e);
		return starttls_ask(s, "STARTTLS", sieve_starttls, e, "STARTTLS");
	}
	if (sieve_ends(line))
		return starttls_refused(e, line, n, NULL);
	name = sieve_string(line, n, &len);
	if (name == NULL)
		return starttls_strange(s, e, line, n);
	starttls_capability(s, name, len);
	return PARLEY_MORE;
}

static enum parley_status sieve_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", sieve_greeting);
}

const struct starttls_proto starttls_sieve = {
	.verb = "STARTTLS",
	.port = 4190,
	.literals = true,
	.start = sieve_start,
};
