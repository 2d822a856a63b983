/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/tls/tlsa.h"
#include "tests/unit/timeout.h"

/* Records as text, lists of them, and the look-up. */

TestSuite(tlsa, .timeout = TEST_TIMEOUT);

#define HEX8 "0123456789abcdef"
#define HEX32 HEX8 HEX8 HEX8 HEX8
#define HEX64 HEX32 HEX32

Test(tlsa, good_records)
{
	static const struct {
		const char *text;
		int usage, selector, matching;
		size_t n;
	} good[] = {
		{ "3 1 1 " HEX32, 3, 1, 1, 32 },
		{ "  2\t0  2 \n" HEX64 " ", 2, 0, 2, 64 },
		{ "0 0 1 0123456789ABCDEF " HEX8 "\t" HEX8 " 0123456 789abcdef", 0, 0, 1, 32 },
		{ "1 1 0 30", 1, 1, 0, 1 },
		{ "03 01 00 3 0", 3, 1, 0, 1 },
	};
	struct tlsa_list l = { NULL, 0 };
	struct err e;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct tlsa *r;

		cr_assert_eq(tlsa_parse("--tlsa", good[i].text, &l, &e), 0, "%s: %s", good[i].text, e.msg);
		cr_assert_eq(l.n, i + 1);
		r = &l.v[i];
		cr_expect_eq((int)r->usage, good[i].usage);
		cr_expect_eq((int)r->selector, good[i].selector);
		cr_expect_eq((int)r->matching, good[i].matching);
		cr_expect_eq(r->n, good[i].n);
		for (size_t k = 0; r->n > 1 && k < r->n; k++)
			cr_expect_eq(r->data[k], (uint8_t)(2 * (k % 8) * 16 + 2 * (k % 8) + 1));
	}
	cr_expect_eq(l.v[4].data[0], 0x30);
	tlsa_list_free(&l);
	cr_expect_eq(l.n, 0);
	tlsa_list_free(&l);
}

static const struct {
	const char *text, *reason;
} bad[] = {
	{ "", "no usage; expected USAGE SELECTOR MATCHING HEX" },
	{ "  ", "no usage" },
	{ "3", "no selector" },
	{ "3 1", "no matching type" },
	{ "3 1 1", "no data" },
	{ "3 1 1 ", "no data" },
	{ "4 1 1 " HEX32, "the usage is \"4\"; expected 0 (PKIX-TA), 1 (PKIX-EE), 2 (DANE-TA) or 3 (DANE-EE)" },
	{ "-1 1 1 " HEX32, "the usage is \"-1\"" },
	{ "DANE-EE 1 1 " HEX32, "the usage is \"DANE-EE\"" },
	{ "255 1 1 " HEX32, "the usage is" },
	{ "99999999999999999999999 1 1 " HEX32, "the usage is" },
	{ "3 2 1 " HEX32, "the selector is \"2\"; expected 0 (certificate) or 1 (public key)" },
	{ "3 1 3 " HEX32, "the matching type is \"3\"; expected 0 (all of it), 1 (SHA-256) or 2 (SHA-512)" },
	{ "3 1 1 " HEX32 "00", "33 bytes; matching 1 is SHA-256, which has 32" },
	{ "3 1 1 " HEX64, "64 bytes; matching 1 is SHA-256" },
	{ "3 1 2 " HEX32, "32 bytes; matching 2 is SHA-512, which has 64" },
	{ "3 1 1 " HEX8, "8 bytes" },
	{ "3 1 1 " HEX32 "0", "odd number of hexadecimal digits: 65" },
	{ "3 1 1 xyz", "no hexadecimal digit: \"xyz\"" },
	{ "3 1 1 sha256:ab", "no hexadecimal digit: \"sha256:ab\"" },
	{ "3 1 1 01:23", "no hexadecimal digit: \":23\"" },
	{ "3 1 1 0@", "no hexadecimal digit" },
	{ "3 1 1 0`", "no hexadecimal digit" },
	{ "311 " HEX32, "the usage is" },
};

Test(tlsa, bad_records)
{
	struct tlsa_list l = { NULL, 0 };
	struct err e;

	cr_assert_eq(tlsa_parse("--tlsa", "3 1 0 00", &l, &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(tlsa_parse("--tlsa", bad[i].text, &l, &e), -1, "%s", bad[i].text);
		cr_expect_eq(e.kind, ERR_CONFIG);
		cr_expect_eq(strncmp(e.msg, "--tlsa \"", 8), 0, "%s", e.msg);
		cr_expect(strstr(e.msg, bad[i].reason), "%s: %s", bad[i].text, e.msg);
		cr_expect_eq(l.n, 1, "the list is as it was");
	}
	tlsa_list_free(&l);
}

Test(tlsa, too_much_data)
{
	struct tlsa_list l = { NULL, 0 };
	struct err e;
	char *text = malloc(6 + 2 * 65536 + 1);

	memset(text, '0', 6 + 2 * 65536);
	memcpy(text, "3 0 0 ", 6);
	text[6 + 2 * 65535] = '\0';
	cr_assert_eq(tlsa_parse("--tlsa", text, &l, &e), 0, "%s", e.msg);
	text[6 + 2 * 65535] = '0';
	text[6 + 2 * 65536] = '\0';
	cr_assert_eq(tlsa_parse("--tlsa", text, &l, &e), -1);
	cr_expect(strstr(e.msg, "has 65536 bytes; a record has room for 65535"), "%s", e.msg);
	free(text);
	tlsa_list_free(&l);
}

Test(tlsa, records_of_numbers)
{
	struct tlsa_list l = { NULL, 0 };
	uint8_t data[64] = { 1, 2, 3 };

	cr_expect_eq(tlsa_add(&l, 3, 1, 1, data, 32), 1);
	cr_expect_eq(tlsa_add(&l, 3, 1, 2, data, 64), 1);
	cr_expect_eq(tlsa_add(&l, 3, 1, 0, data, 3), 1);
	cr_expect_eq(tlsa_add(&l, 4, 1, 1, data, 32), 0);
	cr_expect_eq(tlsa_add(&l, 255, 1, 1, data, 32), 0);
	cr_expect_eq(tlsa_add(&l, 3, 2, 1, data, 32), 0);
	cr_expect_eq(tlsa_add(&l, 3, 1, 3, data, 32), 0);
	cr_expect_eq(tlsa_add(&l, 3, 1, 1, data, 31), 0);
	cr_expect_eq(tlsa_add(&l, 3, 1, 2, data, 32), 0);
	cr_expect_eq(tlsa_add(&l, 3, 1, 0, data, 0), 0);
	cr_expect_eq(l.n, 3);
	tlsa_list_free(&l);
}

/* Whatever the DNS is like here: it comes back in time and says what it found. */
Test(tlsa, lookup_is_bounded)
{
	struct tlsa_answer a;
	struct err e = { 0 };
	uint64_t start = clock_mono_ns();
	int r = tlsa_lookup("tlskit-test.invalid", 443, "tcp", 300, &a, &e);

	cr_expect_lt(clock_mono_ns() - start, 10 * NS_PER_S);
	cr_expect_eq(a.list.n, 0);
	if (!tlsa_can_lookup()) {
		cr_expect_eq(r, -1);
		cr_expect_eq(e.kind, ERR_CONFIG);
		cr_expect(strstr(e.msg, "not built in"), "%s", e.msg);
	} else if (r != 0) {
		cr_expect(e.kind == ERR_RESOLVE || e.kind == ERR_TIMEOUT, "%s", e.msg);
		cr_expect(strstr(e.msg, "tlskit-test.invalid"), "%s", e.msg);
	}
	tlsa_list_free(&a.list);
}

Test(tlsa, lookup_of_a_long_name)
{
	struct tlsa_answer a;
	struct err e = { 0 };
	char host[400];

	memset(host, 'a', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	cr_expect_eq(tlsa_lookup(host, 443, "tcp", 1000, &a, &e), -1);
	cr_expect_eq(a.list.n, 0);
	if (tlsa_can_lookup())
		cr_expect(strstr(e.msg, "too long"), "%s", e.msg);
}

Test(tlsa, names)
{
	cr_expect_str_eq(tlsa_dnssec_name(TLSA_UNKNOWN), "unknown");
	cr_expect_str_eq(tlsa_dnssec_name(TLSA_SECURE), "secure");
	cr_expect_str_eq(tlsa_dnssec_name(TLSA_INSECURE), "insecure");
	cr_expect_str_eq(tlsa_dnssec_name(TLSA_BOGUS), "bogus");
}
