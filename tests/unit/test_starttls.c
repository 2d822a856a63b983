/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/net/starttls.h"
#include "tests/unit/talk.h"

/* What servers say that go over to TLS, and what is said to them. Every way of cutting
 * it into pieces has the same outcome; and wherever the server hangs up, that is told
 * with the step. (An answer ahead of its question is as good: only a go-ahead must be
 * the last.) */

#define SAYS(text) .says = text, .n = sizeof(text) - 1
#define IRC	   "CAP LS\r\nCAP END\r\nSTARTTLS\r\n"

static const struct row {
	const char *proto, *says;
	size_t n;
	const char *sent;
	size_t sent_n; /* 0: a string */
} rows[] = {
	/* smtp, lmtp */
	{ "smtp",
		SAYS("220 mail.example.com ESMTP\r\n250-mail.example.com\r\n250-SIZE 10240000\r\n250 STARTTLS\r\n220 "
		     "go\r\n"),
		"EHLO tlskit.invalid\r\nSTARTTLS\r\n" },
	{ "smtp",
		SAYS("220-a\r\n220-b\r\n220 c\r\n250-x\r\n250-STARTTLS\r\n250-AUTH PLAIN\r\n250 HELP\r\n220-a\r\n220 "
		     "b\r\n"),
		"EHLO tlskit.invalid\r\nSTARTTLS\r\n" },
	{ "smtp", SAYS("220\n250-x\n250 starttls \n220\n"), "EHLO tlskit.invalid\r\nSTARTTLS\r\n" },
	{ "smtp",
		SAYS("220-500 not a refusal\r\n220 554\r\n250-502\r\n250 STARTTLS\r\n220 454 only the code counts\r\n"),
		"EHLO tlskit.invalid\r\nSTARTTLS\r\n" },
	{ "lmtp", SAYS("220 lmtp\r\n250-x\r\n250 STARTTLS\r\n220 go\r\n"), "LHLO tlskit.invalid\r\nSTARTTLS\r\n" },
	/* pop3 */
	{ "pop3", SAYS("+OK hello\r\n+OK\r\nTOP\r\nSTLS\r\nUIDL\r\n.\r\n+OK begin\r\n"), "CAPA\r\nSTLS\r\n" },
	{ "pop3", SAYS("+OK\r\n-ERR unknown command\r\n+OK\r\n"), "CAPA\r\nSTLS\r\n" },
	/* imap */
	{ "imap", SAYS("* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED] ready\r\na2 OK begin\r\n"),
		"a2 STARTTLS\r\n" },
	{ "imap",
		SAYS("* OK ready\r\n* CAPABILITY IMAP4rev1 STARTTLS\r\na1 OK done\r\n* OK still here\r\na2 OK go\r\n"),
		"a1 CAPABILITY\r\na2 STARTTLS\r\n" },
	{ "imap",
		SAYS("* OK [CAPABILITY IMAP4rev1] some\r\n* 3 EXISTS\r\n* CAPABILITY IMAP4rev1 starttls\r\n* 4 "
		     "EXISTS\r\n"
		     "a1 ok done\r\na2 ok go\r\n"),
		"a1 CAPABILITY\r\na2 STARTTLS\r\n" },
	/* ftp */
	{ "ftp", SAYS("220 ftp\r\n234 go\r\n"), "AUTH TLS\r\n" },
	{ "ftp",
		SAYS("220-Welcome\r\n 220 inside\r\n220x\r\n500 nor this\r\n\r\n220-nor this\r\n220 "
		     "end\r\n234-a\r\n234 b\r\n"),
		"AUTH TLS\r\n" },
	{ "ftp", SAYS("120 ready in 1 minute\r\n220 ftp\r\n234 go\r\n"), "AUTH TLS\r\n" },
	/* nntp */
	{ "nntp", SAYS("200 news\r\n101 list\r\nVERSION 2\r\nSTARTTLS\r\n.\r\n382 go\r\n"),
		"CAPABILITIES\r\nSTARTTLS\r\n" },
	{ "nntp", SAYS("201 no posting\r\n500 what?\r\n382 go\r\n"), "CAPABILITIES\r\nSTARTTLS\r\n" },
	/* sieve */
	{ "sieve",
		SAYS("\"IMPLEMENTATION\" \"x\"\r\n\"SASL\" \"\"\r\n\"STARTTLS\"\r\nOK \"ready\"\r\nOK \"begin\"\r\n"),
		"STARTTLS\r\n" },
	{ "sieve",
		SAYS("\"IMPLEMENTATION\" {11}\r\nOK\r\nNO\r\nBYE\r\n{8}\r\nstarttls\r\n\"SIEVE\" {0}\r\n\r\nOK\r\nOK "
		     "{3+}\r\nNO\n\r\n"),
		"STARTTLS\r\n" },
	/* xmpp */
	{ "xmpp",
		SAYS("<?xml version='1.0'?><stream:stream xmlns='jabber:client' "
		     "xmlns:stream='http://etherx.jabber.org/streams' id='1' from='h' version='1.0'>"
		     "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls>"
		     "</stream:features><proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
		"<?xml version='1.0'?><stream:stream xmlns='jabber:client' "
		"xmlns:stream='http://etherx.jabber.org/streams' "
		"to='host.example' version='1.0'><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>" },
	/* other prefixes and quotes, the stream's namespace as the default, blanks */
	{ "xmpp-server",
		SAYS("\r\n<stream xmlns=\"http://etherx.jabber.org/streams\" xmlns:t = "
		     "'urn:ietf:params:xml:ns:xmpp-tls'\n"
		     " a='>' b=\"'/>\" version=\"1.0\" >\n "
		     "<features\t>x<![CDATA[</features>]]><other><t:starttls/></other>"
		     "<t:starttls /></features >\n<t:proceed></t:proceed>"),
		"<?xml version='1.0'?><stream:stream xmlns='jabber:server' "
		"xmlns:stream='http://etherx.jabber.org/streams' "
		"to='host.example' version='1.0'><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>" },
	/* ldap: lengths of one byte, and of more, with name and controls behind it */
	{ "ldap", SAYS("\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00"),
		"\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
		"1.3.6.1.4.1.1466.20037" },
	{ "ldap",
		SAYS("\x30\x84\x00\x00\x00\x1a\x02\x01\x01\x78\x84\x00\x00\x00\x0b\x0a\x01\x00\x04\x00\x04\x00\x8a\x02"
		     "12\xa0\x04\x30\x02\x04\x00"),
		"\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
		"1.3.6.1.4.1.1466.20037" },
	/* postgres, mysql */
	{ "postgres", SAYS("S"), "\0\0\0\x08\x04\xd2\x16\x2f", 8 },
	{ "mysql",
		SAYS("\x1e\0\0\0\x0a"
		     "8.0.1\0\1\0\0\0saltsalt\0\xff\xff\x2d\2\0\xff\xff\x15\0\0"),
		"\x20\0\0\1\x05\xaa\x08\0\0\0\0\1\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 36 },
	/* irc */
	{ "irc", SAYS(":irc.example 670 * :STARTTLS successful\r\n"), IRC },
	{ "irc", SAYS(":irc CAP * LS :a tlsx tls b\r\n:irc CAP * ACK :a\r\n:irc 670 * :go\r\n"), IRC },
	{ "irc",
		SAYS("NOTICE AUTH :*** Looking up your hostname\r\n:irc 020 * :Please wait\r\n\r\nPING :12 34\r\n"
		     ":irc 421 * CAP :Unknown command\r\n:irc 451 * CAP :You have not registered\r\n"
		     ":irc.example NOTICE * :670 is not here\r\n@time=1;a=b  :irc.example  670 nick :go\r\n"),
		IRC "PONG :12 34\r\n" },
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static void run(struct talk *t, const struct row *r, size_t n, size_t first, size_t rest, bool end)
{
	struct err e = { 0 };
	struct parley *p = starttls_new(r->proto, "host.example", NULL, &e);

	cr_assert_not_null(p, "%s: %s", r->proto, e.msg);
	talk_through(t, p, r->says, n, first, rest, end);
}

static void check_done(const struct row *r, size_t first, size_t rest)
{
	size_t sent_n = r->sent_n > 0 ? r->sent_n : strlen(r->sent);
	struct talk t;

	run(&t, r, r->n, first, rest, false);
	cr_assert_eq(
		t.status, PARLEY_DONE, "row %zu, %s, %zu %zu: %s", (size_t)(r - rows), r->proto, first, rest, t.e.msg);
	cr_assert_eq(t.used, r->n);
	cr_assert(t.sent_n == sent_n && memcmp(t.sent, r->sent, sent_n) == 0, "row %zu, %s: sent %s",
		(size_t)(r - rows), r->proto, t.sent);
}

Test(starttls, every_way_of_cutting)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		for (size_t first = 0; first <= rows[i].n; first++) {
			check_done(&rows[i], first, rows[i].n); /* two pieces */
			check_done(&rows[i], first, 1);
		}
		for (size_t piece = 1; piece < 20; piece++)
			check_done(&rows[i], piece, piece);
	}
}

Test(starttls, the_server_hangs_up_anywhere)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		for (size_t n = 0; n < rows[i].n; n++) {
			struct talk t;
			size_t len = strlen(rows[i].proto);

			run(&t, &rows[i], n, n, 1, true);
			cr_assert_eq(t.status, PARLEY_FAILED, "row %zu, %s: %zu bytes", i, rows[i].proto, n);
			cr_assert_eq(t.e.kind, ERR_IO, "row %zu, %s: %zu bytes: %s", i, rows[i].proto, n, t.e.msg);
			cr_assert(strncmp(t.e.msg, rows[i].proto, len) == 0 && strncmp(t.e.msg + len, ": ", 2) == 0,
				"%s", t.e.msg);
			cr_assert_not_null(strstr(t.e.msg, ": the other side ended the connection"), "%s", t.e.msg);
		}
	}
}

Test(starttls, bytes_behind_the_go_ahead)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		char says[1024];
		struct row r = rows[i];
		struct talk t;

		cr_assert_lt(r.n, sizeof(says));
		memcpy(says, r.says, r.n);
		says[r.n] = '\n';
		r.says = says;
		for (size_t first = 0; first < r.n; first++) {
			run(&t, &r, r.n + 1, first, r.n + 1, false);
			cr_assert_eq(t.status, PARLEY_FAILED, "row %zu, %s", i, r.proto);
			cr_assert_not_null(strstr(t.e.msg, ": injected data: 1 bytes in the clear"), "%s", t.e.msg);
			cr_assert_eq(t.e.kind, ERR_HANDSHAKE);
		}
		run(&t, &r, r.n + 1, r.n, 1, false); /* it was not there yet: TLS will find it */
		cr_assert_eq(t.status, PARLEY_DONE, "row %zu, %s", i, r.proto);
	}
}

/* Greetings above 1 KB, replies of many lines. */
Test(starttls, long_replies)
{
	char says[16000] = "";
	size_t n = 0;
	struct talk t;
	struct row r = { .proto = "smtp", .says = says };

	for (int i = 0; i < 100; i++)
		n += (size_t)sprintf(says + n, "220-%080d\r\n", i);
	n += (size_t)sprintf(says + n, "220 %02000d\r\n250-x\r\n", 0);
	for (int i = 0; i < 20; i++)
		n += (size_t)sprintf(says + n, "250-X%d %060d\r\n", i, i);
	n += (size_t)sprintf(says + n, "250 STARTTLS\r\n220 go\r\n");
	for (size_t piece = 1; piece < n; piece += 97) {
		run(&t, &r, n, piece, piece, false);
		cr_assert_eq(t.status, PARLEY_DONE, "%s", t.e.msg);
		cr_assert_str_eq(t.sent, "EHLO tlskit.invalid\r\nSTARTTLS\r\n");
	}
}

static const struct {
	const char *proto, *host, *name, *sent; /* at the start, or after a greeting */
} named[] = {
	{ "smtp", "server.example", NULL, "EHLO tlskit.invalid\r\n" },
	{ "smtp", "server.example", "me.example", "EHLO me.example\r\n" },
	{ "smtp", NULL, NULL, "EHLO tlskit.invalid\r\n" },
	{ "smtp", "not asked <for>", "[192.0.2.1]", "EHLO [192.0.2.1]\r\n" },
	{ "lmtp", NULL, "me", "LHLO me\r\n" },
	{ "ftp", NULL, NULL, "AUTH TLS\r\n" },
	{ "xmpp", "h", NULL, " to='h' " },
	{ "xmpp", "h", "n.example", " to='n.example' " },
	{ "xmpp", NULL, "a'b\"<&>\xc3\xa4", " to='a&apos;b&quot;&lt;&amp;&gt;\xc3\xa4' " },
};

Test(starttls, names)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		struct err e = { 0 };
		struct parley *p = starttls_new(named[i].proto, named[i].host, named[i].name, &e);
		struct talk t;

		cr_assert_not_null(p, "%zu: %s", i, e.msg);
		talk_through(&t, p, "220 hello\r\n", named[i].sent[0] == ' ' ? 0 : 11, 11, 1, false);
		cr_expect_eq(t.status, PARLEY_MORE);
		cr_expect_not_null(strstr(t.sent, named[i].sent), "%zu: %s", i, t.sent);
	}
}

Test(starttls, names_that_no_protocol_could_carry)
{
	static const char *const bad[] = { "", "a b", "a\r\nRCPT", "a\nb", "a\tb", "\x7f", "a\001" };
	char long_name[257];
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_null(starttls_new("smtp", NULL, bad[i], &e), "%zu", i);
		cr_expect_eq(e.kind, ERR_CONFIG);
		cr_expect_null(starttls_new("xmpp", bad[i], NULL, &e), "%zu", i);
	}
	cr_expect_null(starttls_new("xmpp", NULL, NULL, &e));
	memset(long_name, '\'', sizeof(long_name) - 1);
	long_name[256] = '\0';
	cr_expect_null(starttls_new("smtp", NULL, long_name, &e));
	for (int i = 0; i < 2; i++) { /* the longest there may be */
		struct parley *p;
		struct talk t;

		long_name[255] = '\0';
		p = starttls_new(i == 0 ? "smtp" : "xmpp-server", NULL, long_name, &e);
		cr_assert_not_null(p, "%s", e.msg);
		talk_through(&t, p, "220 hello\r\n", i == 0 ? 11 : 0, 11, 1, false);
		cr_expect_eq(t.status, PARLEY_MORE, "%s", t.e.msg);
	}
}

Test(starttls, protocols)
{
	const char *const *names = starttls_names();
	struct err e = { 0 };
	size_t n = 0;

	for (; names[n] != NULL; n++) {
		struct parley *p = starttls_new(names[n], "h", NULL, &e);

		cr_expect_not_null(p, "%s: %s", names[n], e.msg);
		cr_expect_neq(starttls_port(names[n]), 0);
		parley_free(p); /* before its start */
	}
	cr_expect_eq(n, 13);
	cr_expect_eq(starttls_port("smtp"), 587);
	cr_expect_eq(starttls_port("xmpp-server"), 5269);
	cr_expect_eq(starttls_port("sieve"), 4190);
	cr_expect_eq(starttls_port("gopher"), 0);
	cr_expect_null(starttls_new("impa", NULL, NULL, &e));
	cr_expect_eq(e.kind, ERR_CONFIG);
	cr_expect_str_eq(e.msg, "no STARTTLS is known for 'impa', did you mean imap?; there is smtp, lmtp, imap, pop3, "
				"ftp, nntp, sieve, "
				"xmpp, xmpp-server, ldap, postgres, mysql, irc");
	cr_expect_null(starttls_new("", NULL, NULL, &e));
}
