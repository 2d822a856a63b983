/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/check_int.h"
#include "tests/unit/check_sample.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(check_text, .timeout = TEST_TIMEOUT);

static void expect_screen(struct check *c, int width, bool full, const char *expected)
{
	char *text = check_sample_screen(c, width, false, full);

	sample_same(text, expected);
	free(text);
	check_free(c);
}

/* --- whole screens ----------------------------------------------------------------------- */

Test(check_text, ok)
{
	expect_screen(check_sample_ok(), 80, false,
		"✓ example.com:443 is fine\n"
		"\n"
		"  Address   192.0.2.1:443\n"
		"  Time      34 ms: DNS 2.1, connect 8.0, handshake 24\n"
		"  TLS       TLS1.3, TLS_AES_256_GCM_SHA384, X25519MLKEM768, signature\n"
		"            ECDSA-SECP256R1-SHA256, ALPN h2, 2 tickets for 2h\n"
		"  Verified  by certificate for example.com\n"
		"  Chain     2 certificates, in order, complete, valid for 81 days (90 % left)\n"
		"  0  CN=example.com\n"
		"     for example.com, www.example.com, 192.0.2.1\n"
		"     ECDSA P-256, 2026-11-21 to 2027-02-19, 81 days left\n"
		"  1  CN=R3,O=Let's Encrypt,C=US\n"
		"     RSA 2048, 2026-11-21 to 2028-02-19, 446 days left\n"
		"  +  CN=ISRG Root X1,O=Internet Security Research Group,C=US\n"
		"     trusted here, not sent, RSA 2048, 2026-11-21 to 2029-02-18, 811 days left\n"
		"  OCSP      stapled: good, until 2026-12-06\n"
		"  SCTs      3: 2 in the certificate, 1 from TLS\n"
		"  DANE      matched: 3 1 1 0101010101010101010101010101010101010101010101010101…\n");
}

/* The words for a certificate's faults are lib/tls/chain's. */
static char *bad_screen(const struct check *c)
{
	char text[3][1024], *expected;
	static const unsigned faults[] = { CHAIN_EXPIRED, CHAIN_WRONG_NAME, CHAIN_SELF_SIGNED };

	for (size_t i = 0; i < 3; i++)
		chain_fault_text(c->chain, 0, faults[i], &c->chain_request, text[i], sizeof(text[i]));
	cr_assert(asprintf(&expected,
		"✗ example.com:8443: not trusted, expired, wrong name\n"
		"  ✗ the certificate expired on 2026-05-01, 213 days ago\n"
		"    → renew it\n"
		"  ✗ the certificate is not for example.com\n"
		"    it is for other.example\n"
		"    → connect to that name, or get a certificate for this one\n"
		"  ✗ the certificate is self-signed and not trusted here\n"
		"    → trust it with --ca FILE or --pin sha256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
		"\n"
		"  Address   192.0.2.1:443\n"
		"  Time      34 ms: DNS 2.1, connect 8.0, handshake 24\n"
		"  TLS       TLS1.3, TLS_AES_256_GCM_SHA384, X25519MLKEM768, signature ECDSA-SECP256R1-SHA256\n"
		"  Verified  no\n"
		"  Chain     1 certificate, complete, with the root\n"
		"  0  CN=other.example\n"
		"     for other.example\n"
		"     ECDSA P-256, 2025-05-01 to 2026-05-01\n"
		"     ✗ %s\n"
		"     ✗ %s\n"
		"     ✗ %s\n"
		"  OCSP      no staple came\n"
		"  SCTs      0\n"
		"\n"
		"  ! the server speaks TLS 1.0 too\n", text[0], text[1], text[2]) > 0);
	return expected;
}

Test(check_text, bad)
{
	struct check *c = check_sample_bad();
	char *expected = bad_screen(c);

	expect_screen(c, 0, false, expected);
	free(expected);
}

Test(check_text, dns)
{
	expect_screen(check_sample_dns(), 80, false,
		"✗ no.example:443: no address\n"
		"  ✗ no.example has no address: Name or service not known\n"
		"    → check the spelling\n"
		"\n"
		"  Time      1.3 ms: DNS 1.3\n");
}

Test(check_text, alert)
{
	expect_screen(check_sample_alert(), 80, false,
		"✗ [2001:db8::1]:443: the TLS handshake failed\n"
		"  ✗ the server ended the handshake with the alert handshake_failure (40)\n"
		"    → it may want an older version, another ciphersuite or a server name: try\n"
		"      --min-tls and --servername\n"
		"\n"
		"  Address   [2001:db8::1]:443\n"
		"  Time      34 ms: connect 8.0, handshake 24\n"
		"  Alert     handshake_failure (40), from the server\n");
}

Test(check_text, plain)
{
	expect_screen(check_sample_plain(), 80, false,
		"✗ mail.example:25: the TLS handshake failed\n"
		"  ✗ the server does not speak TLS: this looks like HTTP\n"
		"    it said \"HTTP/1.1 400 Bad Request\"\n"
		"\n"
		"  Address   192.0.2.1:443, through socks5h://proxy.example:1080, STARTTLS smtp\n"
		"  Time      34 ms: DNS 2.1, connect 8.0, proxy 3.0, STARTTLS 42\n");
}

Test(check_text, psk)
{
	expect_screen(check_sample_psk(), 80, false,
		"✓ unix:/run/app.sock is fine\n"
		"\n"
		"  Address   unix:/run/app.sock\n"
		"  Time      34 ms: connect 8.0, handshake 24\n"
		"  TLS       TLS1.3, TLS_AES_256_GCM_SHA384, X25519MLKEM768\n"
		"  Verified  by the pre-shared key\n"
		"  Chain     no certificates came\n");
}

Test(check_text, full_chain)
{
	struct check *c = check_sample_full();
	char *text = check_sample_screen(c, 80, false, true), *at = strstr(text, "\n  0  "), *end = strstr(text, "\n  1  ");

	cr_assert(at && end);
	end[1] = '\0';
	sample_same(at + 1,
		"  0  CN=example.com\n"
		"     Issuer    CN=R3,O=Let's Encrypt,C=US\n"
		"     Serial    04a1b2\n"
		"     Valid     2026-11-21T12:00:00Z to 2027-02-19T13:00:00Z, 81 days left\n"
		"     Key       ECDSA P-256\n"
		"     Signature RSA-SHA256\n"
		"     Names     dns:example.com, dns:www.example.com, ip:192.0.2.1\n"
		"     Is        must-staple, on the path\n"
		"     OCSP      http://r3.o.lencr.org\n"
		"     Issuer at http://r3.i.lencr.org/\n"
		"     Pin       sha256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
		"     SHA-256   a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0\n");
	at = strstr(end + 2, "\n  +  ");
	cr_assert_not_null(at);
	sample_same(at + 1,
		"  +  CN=ISRG Root X1,O=Internet Security Research Group,C=US\n"
		"     Issuer    CN=ISRG Root X1,O=Internet Security Research Group,C=US\n"
		"     Serial    04a1b2\n"
		"     Valid     2026-11-21T12:00:00Z to 2029-02-18T13:00:00Z, 811 days left\n"
		"     Key       RSA 2048\n"
		"     Signature RSA-SHA256\n"
		"     Is        trusted here, not sent, a CA, on the path\n"
		"     Pin       sha256:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n"
		"     SHA-256   a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2\n"
		"  OCSP      stapled: good, until 2026-12-06\n"
		"  OCSP      http://r3.o.lencr.org says: good, until 2026-12-06\n"
		"  SCTs      3: 2 in the certificate, 1 from TLS\n"
		"  DANE      matched: 3 1 1\n"
		"            0101010101010101010101010101010101010101010101010101010101010101\n"
		"\n"
		"  ! the server prefers X25519MLKEM768 but asks for another round trip\n");
	free(text);
	check_free(c);
}

/* --- verdicts ------------------------------------------------------------------------------ */

static void expect_first(struct check *c, const char *expected)
{
	char *text = check_sample_screen(c, 80, false, false);

	text[strcspn(text, "\n")] = '\0';
	cr_expect_str_eq(text, expected);
	free(text);
	check_free(c);
}

Test(check_text, verdicts)
{
	struct check *c = check_sample_ok();

	c->verified = false;
	c->verify_ok = CHECK_UNKNOWN;
	expect_first(c, "✓ example.com:443 answers; who it is was not verified");
	expect_first(check_sample_soon(), "! example.com:443: expires soon");
	c = check_sample_bad();
	c->chain->certs[0].faults = CHAIN_NOT_YET;
	expect_first(c, "✗ example.com:8443: not trusted, not yet valid, wrong name");
	c = check_sample_ok();
	check_sample_text(&c->dane, "no-match");
	check_fault_add(c, CHECK_PIN, CHECK_AT_VERIFY, "x");
	check_fault_add(c, CHECK_PIN, CHECK_AT_VERIFY, "y");
	expect_first(c, "✗ example.com:443: not what DANE says");
}

/* A check of which nothing is known says so, and nothing else. */
Test(check_text, nothing)
{
	struct check *c = check_new("x");

	check_fault_add(c, CHECK_FAILED, CHECK_AT_DNS, "%s", "");
	expect_screen(c, 80, false, "✗ x: failed\n  ✗ failed, and there is nothing to say how\n");
}

static void expect_row(struct check *c, const char *row)
{
	char *text = check_sample_screen(c, 80, false, false);

	cr_expect(strstr(text, row), "no %s in:\n%s", row, text);
	free(text);
	check_free(c);
}

/* A pin says nothing about a name, whatever the certificate has. */
Test(check_text, verified)
{
	static const struct {
		const char *by, *row;
	} rows[] = { { NULL, "by certificate for example.com\n" }, { "certificate", "by certificate for example.com\n" },
		{ "pin", "by the pin of its key\n" }, { "dane", "by DANE for example.com\n" } };
	char row[80];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check *c = check_sample_ok();

		check_set(&c->by, rows[i].by);
		snprintf(row, sizeof(row), "\n  Verified  %s", rows[i].row);
		expect_row(c, row);
	}
}

Test(check_text, no_close_notify)
{
	struct check *c = check_sample_ok();

	c->close_notify = CHECK_NO;
	expect_row(c, "\n  End       the server closed the connection without close_notify\n");
}

/* --- the shape of all of them ------------------------------------------------------------------ */

static void expect_lines(const char *text, int width, const char *name)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		int columns = (int)utf8_columns(text, n);

		cr_expect_leq(columns, width, "%s: %d columns: %.*s", name, columns, (int)n, text);
		cr_expect(n == 0 || text[n - 1] != ' ', "%s: a blank at the end of: %.*s", name, (int)n, text);
		for (size_t i = 0; i < n;) {
			uint32_t cp = 0;
			size_t len = utf8_decode(text + i, n - i, &cp);

			cr_assert(len > 0, "%s: not UTF-8: %.*s", name, (int)n, text);
			cr_assert(!utf8_is_control(cp), "%s: U+%04X in: %.*s", name, cp, (int)n, text);
			i += len;
		}
		cr_assert_eq(text[n], '\n', "%s: no newline at the end", name);
		text += n + 1;
	}
}

Test(check_text, widths)
{
	static const int widths[] = { 40, 60, 79, 80, 81, 100, 132, 200 };
	const char *name;
	struct check *c;

	for (size_t i = 0; (c = check_sample(i, &name)) != NULL; i++) {
		for (size_t k = 0; k < 2 * sizeof(widths) / sizeof(widths[0]); k++) {
			char *text = check_sample_screen(c, widths[k / 2], false, k % 2);

			expect_lines(text, widths[k / 2], name);
			free(text);
		}
		check_free(c);
	}
}

/* Blanks and newlines gone, for comparing. */
static char *squeezed(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p != ' ' && *p != '\n')
			*to++ = *p;
	}
	*to = '\0';
	return text;
}

/* Wrapping loses nothing, where nothing is cut. */
Test(check_text, wrapped)
{
	const char *name;
	struct check *c;

	for (size_t i = 0; (c = check_sample(i, &name)) != NULL; i++) {
		char *wide = squeezed(check_sample_screen(c, 0, false, true));
		char *narrow = squeezed(check_sample_screen(c, 50, false, true));

		cr_expect_str_eq(narrow, wide, "%s", name);
		free(wide);
		free(narrow);
		check_free(c);
	}
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		n++;
		text++;
	}
	return n;
}

Test(check_text, one_screen)
{
	struct check *c = check_sample_full();
	char *text = check_sample_screen(c, 80, false, false);

	cr_expect_leq(lines_of(text), 24u, "%s", text);
	free(text);
	chain_free(c->chain);
	c->chain = check_sample_chain(64, 64);
	text = check_sample_screen(c, 80, false, false);
	cr_expect_leq(lines_of(text), 24u, "%s", text);
	cr_expect_not_null(strstr(text, "  1  CN=1 until 2028-02-19\n"), "%s", text);
	cr_expect_not_null(strstr(text, "     and 60 more with nothing wrong\n"), "%s", text);
	free(text);
	check_free(c);
}

/* --- colour --------------------------------------------------------------------------------------- */

/* Marks alone, and each is followed by what ends it. */
Test(check_text, colour)
{
	const char *name;
	struct check *c;

	for (size_t i = 0; (c = check_sample(i, &name)) != NULL; i++) {
		char *plain = check_sample_screen(c, 80, false, false), *tinted = check_sample_screen(c, 80, true, false);
		char *to = tinted;

		for (const char *p = tinted; *p;) {
			if (*p != '\033') {
				*to++ = *p++;
				continue;
			}
			p += 5;
			cr_assert_eq(p[-1], 'm');
			size_t n = *p == '!' ? 1 : strlen("✓");

			memcpy(to, p, n);
			to += n;
			p += n;
			cr_assert(strncmp(p, "\033[0m", 4) == 0, "%s", name);
			p += 4;
		}
		*to = '\0';
		cr_expect_str_eq(tinted, plain, "%s", name);
		free(plain);
		free(tinted);
		check_free(c);
	}
}

static bool has(const struct check *c, const char *piece)
{
	char *text = check_sample_screen(c, 0, true, false);
	bool found = strstr(text, piece) != NULL;

	free(text);
	return found;
}

/* A fault of a certificate is red only where verification failed for it. */
Test(check_text, tints)
{
	struct check *c = check_sample_bad();

	cr_expect(has(c, "     \033[31m✗\033[0m "));
	cr_expect(!has(c, "     \033[33m!\033[0m "));
	c->chain->certs[0].on_path = false;
	cr_expect(!has(c, "     \033[31m✗\033[0m "));
	c->chain->certs[0].on_path = true;
	c->verify_ok = CHECK_YES; /* by a pin, say */
	cr_expect(!has(c, "     \033[31m✗\033[0m "));
	cr_expect(has(c, "     \033[33m!\033[0m "));
	check_free(c);
	c = check_sample_ok();
	cr_expect(has(c, "\033[32m✓\033[0m example.com:443 is fine\n"));
	check_free(c);
}

/* --- one of many --------------------------------------------------------------------------------- */

static void expect_brief(struct check *c, const char *expected)
{
	struct check_style s = { .width = 80, .brief = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(check_write_text(out, c, &s), 0);
	fclose(out);
	sample_same(text, expected);
	free(text);
	check_free(c);
}

/* The verdict with the address, and the faults. */
Test(check_text, brief)
{
	struct check *c = check_sample_ok();

	check_warn(c, "this is for those who look at it alone");
	expect_brief(c, "✓ example.com:443 (192.0.2.1:443) is fine\n");
	expect_brief(check_sample_dns(),
		"✗ no.example:443: no address\n"
		"  ✗ no.example has no address: Name or service not known\n"
		"    → check the spelling\n");
	c = check_sample_soon();
	check_sample_text(&c->target, "192.0.2.1:443");
	check_sample_text(&c->host, "192.0.2.1");
	c->port = 443;
	check_sample_text(&c->address, "192.0.2.1:443");
	expect_brief(c,
		"! 192.0.2.1:443: expires soon\n" /* an address that was typed is told once */
		"  ! the certificate expires in 13 days, on 2026-12-14\n"
		"    --warn 30\n"
		"    → renew it\n");
}

/* --- failures ---------------------------------------------------------------------------------------- */

Test(check_text, full_device)
{
	struct check_style s = { .width = 80 };
	struct check *c = check_sample_ok();
	FILE *out = fopen("/dev/full", "w");

	if (!out)
		cr_skip_test("no /dev/full here");
	cr_expect_eq(check_write_text(out, c, &s), -1);
	cr_expect_eq(check_write_json(out, c), -1);
	cr_expect_eq(check_write_nagios(out, c), -1);
	cr_expect_eq(check_write_prometheus(out, (const struct check *const *)&c, 1), -1);
	fclose(out);
	check_free(c);
}
