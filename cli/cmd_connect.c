/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/connect.h"
#include "lib/report/check.h"
#include "lib/report/scan.h"

/* --- options ------------------------------------------------------------------ */

#define AT(field) .offset = offsetof(struct connect_options, field)

static const struct opt modes[] = {
	{ .name = "check", .type = OPT_FLAG, AT(check),
		.help = "Look at the server, say what was found, and exit with a code that tells. Standard input is not read." },
	{ .name = "json", .type = OPT_FLAG, AT(json), .help = "Check, and write a JSON object for each target, on a line of its own." },
	{ .name = "nagios", .type = OPT_FLAG, AT(nagios), .help = "Check, with the line and the exit codes of a Nagios plugin." },
	{ .name = "prometheus", .type = OPT_FLAG, AT(prometheus), .help = "Check, and write metrics in Prometheus' text format." },
	{ .name = "print-pin", .type = OPT_FLAG, AT(print_pin),
		.help = "Check, and write only the pin of the server's key, for --pin. What is wrong with it is "
			"said on standard error." },
	{ .name = "scan", .type = OPT_FLAG, AT(scan),
		.help = "Find out which versions, cipher suites, groups and signatures the server takes, by a handshake each. Nothing is verified." },
	{ .name = NULL },
};

static const struct opt reaching[] = {
	{ .name = "timeout", .type = OPT_DURATION, .arg = "TIME", AT(timeout_ms), .def = "10s",
		.help = "For all of a check, from the look-up of the name on; in a talk, until the handshake is "
			"over. 0: no limit." },
	{ .name = "ipv4", .letter = '4', .type = OPT_FLAG, AT(v4), .help = "Use IPv4 addresses only." },
	{ .name = "ipv6", .letter = '6', .type = OPT_FLAG, AT(v6), .help = "Use IPv6 addresses only." },
	{ .name = "starttls", .type = OPT_STRING, .arg = "PROTO", AT(starttls),
		.choices = "smtp|lmtp|imap|pop3|ftp|nntp|sieve|xmpp|xmpp-server|ldap|postgres|mysql|irc",
		.complete = OPT_COMPLETE_CHOICES,
		.help = "Speak this protocol first and have it go over to TLS: smtp, lmtp, imap, pop3, ftp, nntp, sieve, "
			"xmpp, xmpp-server, ldap, postgres, mysql or irc. Its usual port is taken where none is typed." },
	{ .name = "starttls-name", .type = OPT_STRING, .arg = "NAME", AT(starttls_name), .def_text = "the target's for xmpp",
		.help = "Name to say before TLS: the domain with xmpp, our own with smtp and lmtp." },
	{ .name = "proxy", .type = OPT_STRING, .arg = "URL", AT(proxy),
		.help = "Go through this proxy: http://[USER:PASSWORD@]HOST:PORT, socks5://… (names are resolved "
			"here) or socks5h://… (by the proxy)." },
	{ .name = "resolve", .type = OPT_STRING, .arg = "ADDRESS", AT(resolve),
		.help = "Connect to this IP address or host, IP:PORT too, in place of the target's; name and "
			"verification stay the target's." },
	{ .name = "all-addresses", .type = OPT_FLAG, AT(all_addresses),
		.help = "Check each address of a name by itself; the worst gives the exit code." },
	{ .name = "targets", .type = OPT_STRING, .arg = "FILE", AT(targets), .complete = OPT_COMPLETE_FILE,
		.help = "Check the addresses of this file as well, one a line (# begins a comment); - is standard input." },
	{ .name = "jobs", .letter = 'j', .type = OPT_UINT, .arg = "N", AT(jobs), .def = "16", .min = 1, .max = 4096,
		.help = "How many targets are checked at the same time." },
	{ .name = NULL },
};

static const struct opt expecting[] = {
	{ .name = "warn", .type = OPT_STRING, .arg = "LIMIT", AT(warn),
		.help = "Fail with code 30 when the certificate expires within so many days (30, 30d), or when "
			"less than that part of its lifetime is left (20%)." },
	{ .name = "crit", .type = OPT_STRING, .arg = "LIMIT", AT(crit),
		.help = "Likewise; with --nagios it is CRITICAL then and not WARNING." },
	{ .name = "expect-alpn", .type = OPT_COMMA, .arg = "LIST", AT(expect_alpn),
		.help = "Fail with code 31 unless one of these protocols is agreed on. They are offered, unless --alpn says what is." },
	{ .name = "expect-group", .type = OPT_COMMA, .arg = "LIST", AT(expect_group), .complete = OPT_COMPLETE_GROUPS,
		.help = "Likewise the group of the key exchange." },
	{ .name = "expect-ciphersuite", .type = OPT_COMMA, .arg = "LIST", AT(expect_suite), .complete = OPT_COMPLETE_SUITES,
		.help = "Likewise the cipher suite." },
	{ .name = "expect-issuer", .type = OPT_LIST, .arg = "TEXT", AT(expect_issuer),
		.help = "Likewise the issuer of the server's certificate, whose name must have this text in it. Repeatable, any will do." },
	{ .name = NULL },
};

static const struct opt vouching[] = {
	{ .name = "must-staple", .type = OPT_FLAG, AT(must_staple), .help = "The server must staple an OCSP answer, whatever its certificate says." },
	{ .name = "ocsp", .type = OPT_FLAG, AT(ocsp),
		.help = "Ask the OCSP responder that the certificate names whether it is revoked." },
	{ .name = "ocsp-timeout", .type = OPT_DURATION, .arg = "TIME", AT(ocsp_timeout_ms), .def = "5s", .min = 1,
		.help = "How long to wait for it." },
	{ .name = "tlsa", .type = OPT_LIST, .arg = "RECORD", AT(tlsa),
		.help = "A TLSA record, as \"3 1 1 HEX\", that the certificate must match (DANE). Repeatable, any will do." },
	{ .name = "dane", .type = OPT_FLAG, AT(dane), .help = "Look the TLSA records up, with DNSSEC." },
	{ .name = NULL },
};

static const struct opt sessions[] = {
	{ .name = "resume", .type = OPT_FLAG, AT(resume),
		.help = "Connect a second time and resume the session; when the server does not, that is an error (31)." },
	{ .name = "early-data", .type = OPT_STRING, .arg = "FILE", AT(early_data), .complete = OPT_COMPLETE_FILE,
		.help = "Resume, and send this with the first flight, before the handshake is over. Anybody on "
			"the way can have it arrive twice." },
	{ .name = NULL },
};

static const struct opt showing[] = {
	{ .name = "show-chain", .type = OPT_FLAG, AT(show_chain),
		.help = "Show every certificate in full: serial number, pin, fingerprint and what else there is." },
	{ .name = "save-chain", .type = OPT_STRING, .arg = "FILE", AT(save_chain), .complete = OPT_COMPLETE_FILE,
		.help = "Write the certificates that the server sent to this file, as PEM." },
	{ .name = NULL },
};

static const struct opt talking[] = {
	{ .name = "crlf", .type = OPT_FLAG, AT(crlf),
		.help = "End each line that is sent with CR LF, as SMTP, IMAP, HTTP and others want it." },
	{ .name = "ignore-eof", .type = OPT_FLAG, AT(ignore_eof),
		.help = "Do not tell the server that standard input has ended, and wait for its end. Without this it is "
			"sent close_notify, upon which some servers leave at once." },
	{ .name = "allow-truncation", .type = OPT_FLAG, AT(allow_truncation),
		.help = "A server that ends without close_notify has ended well. Without this it is an error "
			"(32), as data may be missing." },
	{ .name = "verbose", .letter = 'v', .type = OPT_FLAG, AT(verbose),
		.help = "Write the report of a check to standard error first." },
	{ .name = NULL },
};

static const struct opt_group groups[] = {
	{ "What to do (without any of these: talk)", modes, 0 },
	{ "Reaching the server", reaching, 0 },
	{ "Verifying the server", tlsopt_server, offsetof(struct connect_options, tls) },
	{ "What others say of its certificate", vouching, 0 },
	{ "What is expected", expecting, 0 },
	{ "Certificates and keys of this side", tlsopt_identity, offsetof(struct connect_options, tls) },
	{ "TLS", tlsopt_protocol, offsetof(struct connect_options, tls) },
	{ "Resumption", sessions, 0 },
	{ "The report", showing, 0 },
	{ "Talking", talking, 0 },
	{ NULL, NULL, 0 },
};

static const struct opt_operand operand_rows[] = {
	{ "ADDRESS", "HOST (port 443), HOST:PORT, https://HOST[:PORT]/…, [IPV6]:PORT, PORT (loopback), unix:PATH or unix:@NAME. With --check several." },
	{ NULL, NULL },
};

static const struct opt_example examples[] = {
	{ "tlskit connect --check www.example.org", "Is all well with this server? The exit code tells a script." },
	{ "tlskit connect --json --warn 20% --targets hosts.txt", "Check many, side by side, one JSON object a line." },
	{ "tlskit connect --check --starttls smtp mail.example.org", "A mail server, by STARTTLS on port 587." },
	{ "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | tlskit connect --ignore-eof www.example.org", "Send a request, print the reply." },
	{ "tlskit connect --check db.example:5433 --ca ca.pem -c app.pem -k app.key", "Does it let this client certificate in?" },
	{ "tlskit connect --scan www.example.org", "Which versions and cipher suites does it take?" },
	{ NULL, NULL },
};

/* docs/connect.md has more of it. */
static const struct opt_foreign foreign[] = {
	/* openssl s_client */
	{ "connect", "an operand: tlskit connect HOST:PORT" },
	{ "host", "an operand: tlskit connect HOST:PORT" },
	{ "port", "an operand: tlskit connect HOST:PORT" },
	{ "CAfile", "--ca FILE" },
	{ "CApath", "--ca FILE, with all of them in one file" },
	{ "verify_hostname", "--verify-name NAME" },
	{ "verify_return_error", "what it does anyhow" },
	{ "showcerts", "--show-chain, or --save-chain FILE" },
	{ "brief", "--check" },
	{ "status", "what it does anyhow; --must-staple where it must be there" },
	{ "quiet", "--ignore-eof with a request piped in, or --check with none" },
	{ "ign_eof", "--ignore-eof" },
	{ "tls1_2", "--max-tls 1.2" },
	{ "tls1_3", "--min-tls 1.3" },
	{ "curves", "--group LIST" },
	{ "groups", "--group LIST" },
	{ "sigalgs", "--signature LIST" },
	{ "cipher", "--ciphersuite LIST" },
	{ "ciphersuites", "--ciphersuite LIST" },
	{ "CRL", "--crl FILE" },
	{ "sess_in", "--resume" },
	{ "sess_out", "--resume" },
	{ "reconnect", "--resume" },
	{ "early_data", "--early-data FILE" },
	{ "keylogfile", "--keylog FILE" },
	{ "xmpphost", "--starttls-name NAME" },
	{ "dane_tlsa_rrdata", "--tlsa RECORD" },
	/* gnutls-cli */
	{ "x509cafile", "--ca FILE" },
	{ "x509crlfile", "--crl FILE" },
	{ "x509certfile", "--cert FILE" },
	{ "x509keyfile", "--key FILE" },
	{ "starttls-proto", "--starttls NAME" },
	{ "earlydata", "--early-data FILE" },
	{ "print-cert", "--show-chain" },
	{ "save-cert", "--save-chain FILE" },
	{ "sni-hostname", "--servername NAME" },
	{ "verify-hostname", "--verify-name NAME" },
	{ "insecure", "--insecure-no-verify, or better --pin sha256:…" },
	{ NULL, NULL },
};

static const struct opt_spec spec = {
	.synopsis = "[OPTION…] ADDRESS…",
	.description = "Connects to a TLS server. Standard input goes to the server and what it says to standard output, byte for byte; "
		       "diagnostics go to standard error.\n\n"
		       "With --check nothing is sent: the server is verified, a report is written, and the exit code says what is "
		       "wrong: 10 no address, 11 no connection, 12 out of time, 13 the proxy, 14 STARTTLS, 15 the handshake, or no "
		       "TLS at all, 16 our certificate was rejected, 20 not trusted, 21 wrong name, 22 expired or not yet valid, "
		       "23 revoked, 24 OCSP answer missing or invalid, 25 weak key or signature, 26 not the pinned key, or not what "
		       "DANE says, 30 near expiry, 31 not as expected, 32 cut off.\n\n"
		       "A server is verified by its certificate chain and name unless --ca, --pin or --psk-file says how else.",
	.groups = groups,
	.operands = operand_rows,
	.examples = examples,
	.size = sizeof(struct connect_options),
	.operands_min = 0,
	.foreign = foreign,
};

/* --- running ---------------------------------------------------------------------- */

void connect_complain(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "tlskit connect: %s\n", text);
}

void connect_cannot_write(void)
{
	int why = errno;

	if (!ferror(stdout))
		connect_complain("no memory for the report");
	else if (why != EPIPE)
		connect_complain("cannot write to standard output: %s", strerror(why ? why : EIO));
	clearerr(stdout); /* is told */
}

bool connect_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* Whoever reads JSON gets an object of what was asked for, whatever was wrong. */
static void refusal_as_json(bool scan, const struct err *e)
{
	enum check_code code = e->kind == ERR_CONFIG ? CHECK_USAGE : CHECK_FAILED;
	struct check *c = scan ? NULL : check_new("");
	struct scan *s = scan ? scan_new("") : NULL;

	if (c) {
		check_fault_add(c, code, CHECK_AT_DNS, "%s", e->msg);
		check_write_json(stdout, c);
	}
	if (s) {
		scan_set_fault(s, code, CHECK_AT_DNS, "%s", e->msg);
		scan_write_json(stdout, s);
	}
	check_free(c);
	scan_free(s);
}

/* Behind a bar Nagios looks for figures. */
static void refusal_as_nagios(const struct err *e)
{
	fputs("TLS UNKNOWN - ", stdout);
	for (const char *p = e->msg; *p; p++)
		putchar(*p == '|' ? '?' : *p);
	putchar('\n');
}

int connect_refuse(struct connect_forms f, const struct err *e)
{
	connect_complain("%s", e->msg);
	if (f.json)
		refusal_as_json(f.scan, e);
	else if (f.nagios)
		refusal_as_nagios(e);
	return f.nagios && !f.json ? check_nagios_code(CHECK_USAGE) : err_exit_code(e);
}

/* Before the options are known. */
static int refuse(int argc, char **argv, const struct err *e)
{
	struct connect_forms f = { 0 };

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		f.json |= strcmp(argv[i], "--json") == 0;
		f.nagios |= strcmp(argv[i], "--nagios") == 0;
		f.scan |= strcmp(argv[i], "--scan") == 0;
	}
	return connect_refuse(f, e);
}

static int run_mode(const struct connect_plan *p)
{
	if (p->o->scan)
		return connect_scan(p);
	return p->goal.keep ? connect_talk(p) : connect_check(p);
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	struct connect_options o;
	struct connect_plan p = { 0 };
	struct opt_list operands = { NULL, 0 };
	struct err e = { 0 };
	int code;

	if (opt_parse(cmd->spec, argc, argv, &o, &operands, &e) < 0)
		return refuse(argc, argv, &e);
	if (connect_plan_make(&p, &o, &operands, &e) == 0)
		code = run_mode(&p);
	else
		code = refuse(argc, argv, &e);
	connect_plan_free(&p);
	opt_free(cmd->spec, &o, &operands);
	return code;
}

const struct cmd cmd_connect = {
	.name = "connect",
	.summary = "Talk to a TLS server, or check it",
	.spec = &spec,
	.run = run,
};
