/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/net/starttls_int.h"

/* ftp, nntp, irc. */

/* --- ftp (RFC 4217, 4) ----------------------------------------------------------- */

static enum parley_status ftp_auth(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	return code == 234 ? PARLEY_DONE : starttls_refused(e, line, n, NULL);
}

static enum parley_status ftp_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code < 0)
		return PARLEY_FAILED;
	if (code == 0 || code == 120) /* "ready in nnn minutes" (RFC 959, 5.4) */
		return PARLEY_MORE;
	return code == 220 ? starttls_ask(s, "AUTH TLS", ftp_auth, e, "AUTH TLS") : starttls_refused(e, line, n, NULL);
}

static enum parley_status ftp_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", ftp_greeting);
}

const struct starttls_proto starttls_ftp = {
	.verb = "AUTH TLS",
	.port = 21,
	.any_inside = true,
	.start = ftp_start,
};

/* --- nntp (RFC 4642) ------------------------------------------------------------- */

static enum parley_status nntp_starttls(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	return code == 382 ? PARLEY_DONE : starttls_refused(e, line, n, NULL);
}

static enum parley_status nntp_list(struct starttls *s, const char *line, size_t n, struct err *e)
{
	(void)n;
	if (strcmp(line, ".") != 0) {
		starttls_capability(s, line, strcspn(line, " \t"));
		return PARLEY_MORE;
	}
	return s->offered ? starttls_ask(s, "STARTTLS", nntp_starttls, e, "STARTTLS") : starttls_not_offered(s, e);
}

/* CAPABILITIES is younger than NNTP (RFC 3977): without it STARTTLS is tried. */
static enum parley_status nntp_capabilities(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	if (code == 101)
		return starttls_wait(s, "CAPABILITIES", nntp_list);
	if (code == 500)
		return starttls_ask(s, "STARTTLS", nntp_starttls, e, "STARTTLS");
	return starttls_refused(e, line, n, NULL);
}

static enum parley_status nntp_greeting(struct starttls *s, const char *line, size_t n, struct err *e)
{
	int code = starttls_reply(s, line, n, e);

	if (code <= 0)
		return code == 0 ? PARLEY_MORE : PARLEY_FAILED;
	if (code != 200 && code != 201)
		return starttls_refused(e, line, n, NULL);
	return starttls_ask(s, "CAPABILITIES", nntp_capabilities, e, "CAPABILITIES");
}

static enum parley_status nntp_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", nntp_greeting);
}

const struct starttls_proto starttls_nntp = { .verb = "STARTTLS", .port = 119, .start = nntp_start };

/* --- irc (IRCv3, the tls extension) ---------------------------------------------- */

/* The part of a line behind tags and prefix: its command; NULL: none. */
static const char *irc_command(const char *line)
{
	for (const char *mark = "@:"; *mark != '\0'; mark++) {
		if (*line != *mark)
			continue;
		line = strchr(line, ' ');
		if (line == NULL)
			return NULL;
		line += strspn(line, " ");
	}
	return *line != '\0' ? line : NULL;
}

static bool is_in(const char *command, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (starttls_begins(command, *list))
			return true;
	}
	return false;
}

/* CAP * LS :multi-prefix tls …, whose capability is not called as the command is. */
static enum parley_status irc_capabilities(struct starttls *s, const char *line, struct err *e)
{
	const char *words = strstr(line, " :");
	bool tls = false;

	if (strstr(line, " LS ") == NULL || words == NULL)
		return PARLEY_MORE;
	for (words += 2; *words != '\0'; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");

		tls = tls || starttls_begins(words, "tls");
		starttls_list(s, words, n);
		words += n;
	}
	return tls ? PARLEY_MORE : starttls_not_offered(s, e);
}

/* What else a server says while we wait is notices, and other numbers. */
static enum parley_status irc_line(struct starttls *s, const char *line, size_t n, struct err *e)
{
	/* unknown command, not registered, too few parameters, already registered,
	 * banned, STARTTLS failed */
	static const char *const refusals[] = { "421", "451", "461", "462", "465", "691", "ERROR", NULL };
	const char *command = irc_command(line);

	if (n == 0)
		return PARLEY_MORE;
	if (command == NULL || (line[0] != ':' && line[0] != '@' && (*command < 'A' || *command > 'Z')))
		return starttls_strange(s, e, line, n);
	if (starttls_begins(command, "670"))
		return PARLEY_DONE;
	if (starttls_begins(command, "CAP"))
		return irc_capabilities(s, command, e);
	if (starttls_begins(command, "PING"))
		return starttls_ask(s, "STARTTLS", irc_line, e, "PONG%s", command + strlen("PING"));
	if (!is_in(command, refusals) || strstr(command, " CAP ") != NULL) /* of our CAP, an old server */
		return PARLEY_MORE;
	return starttls_refused(e, line, n, NULL);
}

/* At once: servers that greet first do so for as long as they look our name up. All
 * of it at once: what does not know STARTTLS need not answer it before we have a
 * nickname, and what does not know CAP need not answer that; CAP END, for registration
 * must not wait for a second one behind TLS. */
static enum parley_status irc_start(struct starttls *s, struct err *e)
{
	return starttls_ask(s, "STARTTLS", irc_line, e, "CAP LS\r\nCAP END\r\nSTARTTLS");
}

const struct starttls_proto starttls_irc = { .verb = "STARTTLS", .port = 6667, .start = irc_start };
