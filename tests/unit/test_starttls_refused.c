/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/net/starttls.h"
#include "tests/unit/talk.h"

/* Servers that refuse, lack TLS, speak something else or nonsense: a failure at once,
 * whatever the pieces, that names the step and what was said. */

#define SAYS(text) .says = text, .n = sizeof(text) - 1
#define STREAM	   "<s:stream xmlns:s='http://etherx.jabber.org/streams' version='1.0'>"
#define TLS	   "xmlns='urn:ietf:params:xml:ns:xmpp-tls'"
#define NOT_XML	   "xmpp: stream: the server's XML is not well formed, or too intricate"
#define ODD_XML	   "xmpp: stream: the server's XML has a comment, a document type, or a tag without end"
#define BAD_LENGTH "ldap: StartTLS: what the server says is not ldap: a message with a length that is not allowed"
#define NOT_ANSWER "ldap: StartTLS: what the server says is not the answer to an extended request of ldap"
#define ERRORS	   "xmlns='urn:ietf:params:xml:ns:xmpp-streams'"

static const struct row {
	const char *proto, *says;
	size_t n;
	const char *msg;
} rows[] = {
	{ "smtp", SAYS("554 no service for you\r\n"), "smtp: greeting: the server answered 554 no service for you" },
	{ "smtp", SAYS("220 x\r\n502 what?\r\n"), "smtp: EHLO: the server answered 502 what?" },
	{ "smtp", SAYS("220 x\r\n250-x\r\n250-SIZE 1\r\n250 AUTH STARTTLS\r\n"),
		"smtp: STARTTLS is not offered (capabilities: SIZE AUTH)" },
	{ "smtp", SAYS("220 x\r\n250 STARTTLS\r\n"), "smtp: STARTTLS is not offered (capabilities: none)" },
	{ "smtp", SAYS("220 x\r\n250-x\r\n250-STARTTLSX\r\n250 XSTARTTLS\r\n"),
		"smtp: STARTTLS is not offered (capabilities: STARTTLSX XSTARTTLS)" },
	{ "smtp", SAYS("220 x\r\n250-x\r\n250 STARTTLS\r\n454-no\r\n454 TLS not available\r\n"),
		"smtp: STARTTLS: the server answered 454 TLS not available" },
	{ "smtp", SAYS("220 x\r\n250-x\r\nhello\r\n"), "smtp: EHLO: what the server says is not smtp: hello" },
	{ "smtp", SAYS("\r\n"), "smtp: greeting: what the server says is not smtp: an empty line" },
	{ "smtp", SAYS("2200 x\r\n"), "smtp: greeting: what the server says is not smtp: 2200 x" },
	{ "smtp", SAYS("220 a\0b\r\n"), "smtp: greeting: what the server says is not smtp: 220 a?b" },
	{ "smtp", SAYS("554 \x1b[2J\xff\r\n"), "smtp: greeting: the server answered 554 ?[2J?" },
	{ "smtp", SAYS("HTTP/1.1 400 Bad Request\r\n"),
		"smtp: greeting: what the server says is not smtp, this looks like HTTP: HTTP/1.1 400 Bad Request" },
	{ "smtp", SAYS("SSH-2.0-OpenSSH_9.2\r\n"),
		"smtp: greeting: what the server says is not smtp, this looks like SSH: SSH-2.0-OpenSSH_9.2" },
	{ "smtp", SAYS("\x15"), "smtp: greeting: the server speaks TLS at once: leave --starttls away" },
	{ "lmtp", SAYS("220 x\r\n500 LHLO?\r\n"), "lmtp: LHLO: the server answered 500 LHLO?" },

	{ "pop3", SAYS("-ERR busy\r\n"), "pop3: greeting: the server answered -ERR busy" },
	{ "pop3", SAYS("* OK IMAP\r\n"),
		"pop3: greeting: what the server says is not pop3, this looks like IMAP: * OK IMAP" },
	{ "pop3", SAYS("+OK\r\n+OK\r\nTOP\r\nUSER\r\n.\r\n"), "pop3: STLS is not offered (capabilities: TOP USER)" },
	{ "pop3", SAYS("+OK\r\n-ERR\r\n-ERR unknown\r\n"), "pop3: STLS: the server answered -ERR unknown" },
	{ "pop3", SAYS("+OK\r\n-ERR\r\nSTLS\r\n"), "pop3: STLS: what the server says is not pop3: STLS" },
	{ "pop3", SAYS("\x16\x03\x01"), "pop3: greeting: the server speaks TLS at once: leave --starttls away" },

	{ "imap", SAYS("* BYE full\r\n"), "imap: greeting: the server answered * BYE full" },
	{ "imap", SAYS("* PREAUTH hello\r\n"),
		"imap: greeting: the server takes us for logged in already (PREAUTH), and then STARTTLS is not "
		"allowed" },
	{ "imap", SAYS("+OK pop\r\n"),
		"imap: greeting: what the server says is not imap, this looks like POP3: +OK pop" },
	{ "imap", SAYS("* OK [CAPABILITY A] x\r\n* CAPABILITY IMAP4rev1 AUTH=STARTTLS\r\na1 OK\r\n"),
		"imap: STARTTLS is not offered (capabilities: IMAP4rev1 AUTH=STARTTLS)" },
	{ "imap", SAYS("* OK x\r\na1 BAD what?\r\n"), "imap: CAPABILITY: the server answered a1 BAD what?" },
	{ "imap", SAYS("* OK [CAPABILITY STARTTLS] x\r\n* BYE\r\n"), "imap: STARTTLS: the server answered * BYE" },
	{ "imap", SAYS("* OK [CAPABILITY STARTTLS] x\r\na2 NO not now\r\n"),
		"imap: STARTTLS: the server answered a2 NO not now" },
	{ "imap", SAYS("* OK [CAPABILITY STARTTLS] x\r\na1 OK go\r\n"),
		"imap: STARTTLS: what the server says is not imap: a1 OK go" },
	{ "imap", SAYS("* OK [CAPABILITY STARTTLS] x\r\n+ go on\r\n"),
		"imap: STARTTLS: what the server says is not imap: + go on" },

	{ "ftp", SAYS("421 too many\r\n"), "ftp: greeting: the server answered 421 too many" },
	{ "ftp", SAYS("220 x\r\n530 log in first\r\n"), "ftp: AUTH TLS: the server answered 530 log in first" },
	{ "ftp", SAYS("220-x\r\n220 y\r\nyes\r\n"), "ftp: AUTH TLS: what the server says is not ftp: yes" },

	{ "nntp", SAYS("400 closed\r\n"), "nntp: greeting: the server answered 400 closed" },
	{ "nntp", SAYS("200 x\r\n101\r\nVERSION 2\r\nREADER\r\n.\r\n"),
		"nntp: STARTTLS is not offered (capabilities: VERSION READER)" },
	{ "nntp", SAYS("200 x\r\n480 log in\r\n"), "nntp: CAPABILITIES: the server answered 480 log in" },
	{ "nntp", SAYS("200 x\r\n500\r\n580 cannot\r\n"), "nntp: STARTTLS: the server answered 580 cannot" },

	{ "sieve", SAYS("BYE \"go\"\r\n"), "sieve: greeting: the server answered BYE \"go\"" },
	{ "sieve", SAYS("\"SIEVE\" \"STARTTLS\"\r\n\"SASL\" {8}\r\nSTARTTLS\r\nOK\r\n"),
		"sieve: STARTTLS is not offered (capabilities: SIEVE SASL)" },
	{ "sieve", SAYS("\"STARTTLS\"\r\nOK\r\nNO {9}\r\nnot\r\nnow.\r\n"),
		"sieve: STARTTLS: the server answered NO {9}  not  now" },
	{ "sieve", SAYS("220 x\r\n"),
		"sieve: greeting: what the server says is not sieve, this looks like SMTP or FTP: 220 x" },
	{ "sieve", SAYS("\"STARTTLS\r\n"), "sieve: greeting: what the server says is not sieve: \"STARTTLS" },

	{ "xmpp", SAYS("HTTP/1.1 400\r\n"),
		"xmpp: stream: what the server says is not xmpp: it begins with byte 0x48, perhaps this is HTTP" },
	{ "xmpp", SAYS(" \x15\x03\x01"), "xmpp: stream: the server speaks TLS at once: leave --starttls away" },
	{ "xmpp", SAYS("<!DOCTYPE html>"), "xmpp: stream: what the server says is not xmpp: it begins with byte 0x3c" },
	{ "xmpp", SAYS("<html>"), "xmpp: stream: what the server says is not xmpp: html" },
	{ "xmpp", SAYS("<stream version='1.0'>"), "xmpp: stream: what the server says is not xmpp: stream" },
	{ "xmpp", SAYS("<s:stream xmlns:s='http://etherx.jabber.org/streams'>"),
		"xmpp: stream: the server's XMPP is older than version 1.0, which brought STARTTLS" },
	{ "xmpp", SAYS(STREAM "</s:stream>"), "xmpp: stream: the server ended the stream" },
	{ "xmpp",
		SAYS(STREAM "<s:error><host-unknown " ERRORS "/><text " ERRORS ">not here</text></s:error></s:stream>"),
		"xmpp: stream: the server answered with a stream error: host-unknown: not here; --starttls-name NAME "
		"asks for another host" },
	{ "xmpp", SAYS(STREAM "<s:error><reset " ERRORS "></reset></s:error>"),
		"xmpp: stream: the server answered with a stream error: reset" },
	{ "xmpp", SAYS(STREAM "<s:error></s:error>"),
		"xmpp: stream: the server answered with a stream error: undefined" },
	/* the word in a text, an attribute, another namespace or another place */
	{ "xmpp", SAYS(STREAM "<s:features a=\"<starttls " TLS "/>\"></s:features>"), ODD_XML },
	{ "xmpp",
		SAYS(STREAM "<s:features a=\"starttls " TLS "/\"><![CDATA[<starttls " TLS "/>]]>&lt;starttls " TLS "/>"
			    "<starttls/><x " TLS "/><y><starttls " TLS "/></y></s:features>"),
		"xmpp: STARTTLS is not offered (capabilities: starttls x y)" },
	{ "xmpp", SAYS(STREAM "<features " TLS "><starttls/></features><s:features/>"),
		"xmpp: STARTTLS is not offered (capabilities: none)" },
	{ "xmpp", SAYS(STREAM "<proceed " TLS "/><s:features/>"),
		"xmpp: STARTTLS is not offered (capabilities: none)" },
	{ "xmpp", SAYS(STREAM "<a xmlns:t='urn:ietf:params:xml:ns:xmpp-tls'/><s:features><t:starttls/></s:features>"),
		"xmpp: STARTTLS is not offered (capabilities: starttls)" },
	{ "xmpp", SAYS(STREAM "<s:features><starttls " TLS "/></s:features><proceed/><failure " TLS "/>"),
		"xmpp: STARTTLS: the server answered with <failure/>" },
	{ "xmpp", SAYS(STREAM "<s:features><starttls " TLS "/></s:features></s:stream>"),
		"xmpp: STARTTLS: the server ended the stream" },
	{ "xmpp", SAYS(STREAM "<!-- -->"), ODD_XML },
	{ "xmpp", SAYS(STREAM "<s:features></s:stream>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "<a b=c>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "<>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "</>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "<a / b='c'>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "<a\0b>"), NOT_XML },
	{ "xmpp", SAYS(STREAM "<a><b><c><d><e><f><g><h><i><j><k><l><m><n><o><p>"), NOT_XML },

	{ "ldap", SAYS("\x30\x11\x02\x01\x01\x78\x0c\x0a\x01\x02\x04\x00\x04\x05no\x1b\0!"),
		"ldap: StartTLS: the server answered protocolError (2): no?" },
	{ "ldap", SAYS("\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x34\x04\x00\x04\x00"),
		"ldap: StartTLS: the server answered unavailable (52); it hangs up" },
	{ "ldap", SAYS("\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x00\x04\x00\x04\x00"),
		"ldap: StartTLS: the server answered success (0); it hangs up" },
	{ "ldap", SAYS("\x30\x0c\x02\x01\x02\x78\x07\x0a\x01\x00\x04\x00\x04\x00"), NOT_ANSWER },
	{ "ldap", SAYS("\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"), NOT_ANSWER },
	{ "ldap", SAYS("\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x01"), NOT_ANSWER },
	{ "ldap", SAYS("\x30\x00"), NOT_ANSWER },
	{ "ldap", SAYS("\x30\x80"), BAD_LENGTH },
	{ "ldap", SAYS("\x30\x84\xff\xff\xff\xff"), BAD_LENGTH },
	{ "ldap", SAYS("\x30\x85"), BAD_LENGTH },
	{ "ldap", SAYS("220"), "ldap: StartTLS: what the server says is not ldap: it begins with byte 0x32" },
	{ "ldap", SAYS("\x15\x03\x03"), "ldap: StartTLS: the server speaks TLS at once: leave --starttls away" },

	{ "postgres", SAYS("N"), "postgres: SSLRequest: the server answered N: it does not do TLS on this address" },
	{ "postgres", SAYS("EFATAL:  unsupported frontend protocol\n\0"),
		"postgres: SSLRequest: the server answered FATAL:  unsupported frontend protocol" },
	{ "postgres", SAYS("E\0\0\0\x1cSFATAL\0C53300\0Mtoo many\0\0"),
		"postgres: SSLRequest: the server answered too many" },
	{ "postgres", SAYS("E\0\0\0\x04"), "postgres: SSLRequest: the server answered E" },
	{ "postgres", SAYS("E\0\0\0\x06M\0"), "postgres: SSLRequest: the server answered E" },
	{ "postgres", SAYS("E\0\x7f\0\0"),
		"postgres: SSLRequest: the server answered with an error of endless length" },
	{ "postgres", SAYS("E\0\xff\xff\xff"), NULL },
	{ "postgres", SAYS("HTTP"),
		"postgres: SSLRequest: what the server says is not postgres: it begins with byte 0x48, perhaps this is "
		"HTTP" },
	{ "postgres", SAYS("\x15\x03\x01"),
		"postgres: SSLRequest: the server speaks TLS at once: leave --starttls away" },

	{ "mysql",
		SAYS("\x1e\0\0\0\x0a"
		     "8.0.1\0\1\0\0\0saltsalt\0\xff\xf7\x2d\2\0\xff\xff\x15\0\0"),
		"mysql: TLS is not offered (server 8.0.1)" },
	{ "mysql", SAYS("\x0a\0\0\0\xff\x10\x04Too man"), "mysql: greeting: the server answered Too man" },
	{ "mysql", SAYS("\x0d\0\0\1\xff\x10\x04#08004bloc"), "mysql: greeting: the server answered bloc" },
	{ "mysql", SAYS("\x03\0\0\0\xff\x10\x04"), "mysql: greeting: the server answered with an error" },
	{ "mysql", SAYS("\x02\0\0\0\x09x"),
		"mysql: greeting: the server speaks version 9 of the protocol, and only version 10 has TLS" },
	{ "mysql", SAYS("\x03\0\0\0\x0axx"),
		"mysql: greeting: what the server says is not mysql: a handshake packet of 3 bytes" },
	{ "mysql",
		SAYS("\x13\0\0\0\x0a"
		     "8.0\0\1\0\0\0saltsalt\0\xff"),
		"mysql: greeting: what the server says is not mysql: a handshake packet of 19 bytes" },
	{ "mysql", SAYS("\0\0\0\0"), "mysql: greeting: what the server says is not mysql: ????" },
	{ "mysql", SAYS("\x16\x03\x03\0"), "mysql: greeting: the server speaks TLS at once: leave --starttls away" },
	{ "mysql", SAYS("220 "),
		"mysql: greeting: what the server says is not mysql, this looks like SMTP or FTP: 220" },

	{ "irc", SAYS(":irc CAP * LS :a tlsx sts=port=6697\r\n"),
		"irc: STARTTLS is not offered (capabilities: a tlsx sts=port=6697)" },
	{ "irc", SAYS(":irc CAP * LS :\r\n"), "irc: STARTTLS is not offered (capabilities: none)" },
	{ "irc", SAYS(":irc 691 * :no\r\n"), "irc: STARTTLS: the server answered :irc 691 * :no" },
	{ "irc", SAYS(":irc 421 * STARTTLS :Unknown command\r\n"),
		"irc: STARTTLS: the server answered :irc 421 * STARTTLS :Unknown command" },
	{ "irc", SAYS("ERROR :Closing Link\r\n"), "irc: STARTTLS: the server answered ERROR :Closing Link" },
	{ "irc", SAYS("220 x\r\n"),
		"irc: STARTTLS: what the server says is not irc, this looks like SMTP or FTP: 220 x" },
	{ "irc", SAYS("HTTP/1.0 400 Bad\r\n"),
		"irc: STARTTLS: what the server says is not irc, this looks like HTTP: HTTP/1.0 400 Bad" },
	{ "irc", SAYS(":irc\r\n"), "irc: STARTTLS: what the server says is not irc: :irc" },
};

static void run(struct talk *t, const char *proto, const char *says, size_t n, size_t first, size_t rest)
{
	struct err e = { 0 };
	struct parley *p = starttls_new(proto, "host.example", NULL, &e);

	cr_assert_not_null(p, "%s: %s", proto, e.msg);
	talk_through(t, p, says, n, first, rest, false);
}

Test(starttls_refused, every_way_of_cutting)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct talk whole, t;

		run(&whole, r->proto, r->says, r->n, r->n, 1);
		cr_assert_eq(whole.status, PARLEY_FAILED, "row %zu, %s", i, r->proto);
		cr_assert_eq(whole.e.kind, ERR_HANDSHAKE, "row %zu", i);
		cr_expect(r->msg == NULL || strcmp(whole.e.msg, r->msg) == 0, "row %zu: %s", i, whole.e.msg);
		for (size_t first = 0; first <= r->n; first++) {
			for (size_t rest = 1; rest <= r->n + 1; rest += r->n) {
				run(&t, r->proto, r->says, r->n, first, rest);
				cr_assert_eq(t.status, PARLEY_FAILED, "row %zu, %zu %zu", i, first, rest);
				cr_assert_str_eq(t.e.msg, whole.e.msg, "row %zu, %zu %zu: %s", i, first, rest, t.e.msg);
				cr_assert_str_eq(t.sent, whole.sent, "row %zu, %zu %zu", i, first, rest);
			}
		}
	}
}

/* 128 KiB without an end, of what each could take for the beginning of something. */
Test(starttls_refused, no_end_of_it)
{
	static const char *const beginnings[] = {
		"",
		"220-",
		"220-\r\n",
		"250-a\r\n",
		"+OK ",
		"* OK ",
		"* OK\r\n* ",
		"\"X\" \"",
		"{99999999999999999999}\r\n",
		"{60000}\r\n",
		"<",
		"<a b='",
		"<?",
		STREAM,
		STREAM "<![CDATA[",
		STREAM "<a/>",
		"\x30\x83\x01\x00\x00",
		"\x30\x83\x00\xff\xff",
		"E\0\0\x1f\xff",
		"Ex",
		"\xff\x3f\0\0\x0a",
		":a 001 x",
		":a 001 x\r\n",
		"PING ",
	};
	static const size_t pieces[] = { 7, 4096, 1 << 17 };
	size_t n = 1 << 17;
	char *says = malloc(n);

	cr_assert_not_null(says);
	for (const char *const *proto = starttls_names(); *proto != NULL; proto++) {
		for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
			size_t len = strlen(beginnings[i]);
			char msg[512] = "";

			memset(says, 'x', n);
			for (size_t at = 0; len > 1 && at + len <= 100000;
				at += beginnings[i][len - 1] == '\n' ? len : n)
				memcpy(says + at, beginnings[i], len);
			for (size_t k = 0; k < sizeof(pieces) / sizeof(pieces[0]); k++) {
				struct talk t;

				run(&t, *proto, says, n, pieces[k], pieces[k]);
				cr_assert_eq(t.status, PARLEY_FAILED, "%s, %zu", *proto, i);
				cr_assert(k == 0 || strcmp(msg, t.e.msg) == 0, "%s, %zu: %s / %s", *proto, i, msg,
					t.e.msg);
				strcpy(msg, t.e.msg);
			}
		}
	}
	free(says);
}

Test(starttls_refused, a_long_text_is_cut)
{
	char says[60000];
	struct talk t;

	memset(says, 'x', sizeof(says));
	memcpy(says, "554 ", 4);
	memcpy(says + sizeof(says) - 2, "\r\n", 2);
	run(&t, "smtp", says, sizeof(says), 1000, 1000);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect(strncmp(t.e.msg, "smtp: greeting: the server answered 554 xxxx", 44) == 0, "%s", t.e.msg);
	cr_expect_lt(strlen(t.e.msg), 250);
	cr_expect_str_eq(t.e.msg + strlen(t.e.msg) - 4, "x\xe2\x80\xa6");
}

Test(starttls_refused, many_capabilities_are_cut)
{
	char says[10000] = "220 x\r\n250-x\r\n";
	size_t n = strlen(says);
	struct talk t;

	for (int i = 0; i < 500; i++)
		n += (size_t)sprintf(says + n, "250-CAP%d\r\n", i);
	n += (size_t)sprintf(says + n, "250 HELP\r\n");
	run(&t, "smtp", says, n, n, 1);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect_not_null(strstr(t.e.msg, "CAP0 CAP1 "), "%s", t.e.msg);
	cr_expect_not_null(strstr(t.e.msg, " \xe2\x80\xa6)"), "%s", t.e.msg);
}

/* A server that pings and does not wait for answers. */
Test(starttls_refused, no_room_for_answers)
{
	static char says[60000];
	size_t n = 0;
	struct talk t;

	while (n + 8 < sizeof(says))
		n += (size_t)sprintf(says + n, "PING x\r\n");
	run(&t, "irc", says, n, n, 1);
	cr_expect_eq(t.status, PARLEY_FAILED);
	cr_expect_str_eq(t.e.msg, "irc: STARTTLS: the server asks for more answers than there is room for");
}
