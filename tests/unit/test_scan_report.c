/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/scan.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

/* Scans as they are told. */

TestSuite(scan_report, .timeout = TEST_TIMEOUT);

static void set(char **place, const char *text)
{
	cr_assert_eq(check_set(place, text), 0);
}

/* with: what goes with a row, or why it is not taken. */
static void add(struct scan_rows *r, const char *name, unsigned id, unsigned traits, enum check_answer taken, unsigned place,
	const char *with)
{
	struct scan_row *x;

	cr_assert_eq(scan_add_row(r, name, id, traits), 0);
	x = &r->rows[r->n - 1];
	x->taken = taken;
	x->place = place;
	set(taken == CHECK_YES ? &x->with : &x->why, with);
}

static struct scan *empty(void)
{
	struct scan *s = scan_new("www.example");

	cr_assert_not_null(s);
	set(&s->host, "www.example");
	set(&s->servername, "www.example");
	set(&s->library, "GnuTLS 3.8.9");
	s->port = 443;
	s->started_ms = 1796040000250;
	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		s->versions[v].offered = true;
	return s;
}

static void take(struct scan *s, enum offer_version v, enum check_answer taken, const char *why)
{
	s->versions[v].taken = taken;
	set(&s->versions[v].why, why);
}

static void add_old_suites(struct scan_rows *r)
{
	add(r, "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0x000a, OFFER_STATIC_RSA | OFFER_3DES | OFFER_CBC, CHECK_YES, 2, NULL);
	add(r, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA", 0x0033, OFFER_CBC | OFFER_SMALL_GROUP, CHECK_YES, 1, "DH 1024");
	add(r, "TLS_RSA_WITH_NULL_MD5", 0x0001, OFFER_NULL | OFFER_MD5, CHECK_NO, 0, "alert handshake_failure (40)");
	r->order = SCAN_ORDER_SERVER;
}

static struct scan *sample(void)
{
	struct scan *s = empty();
	struct scan_version *v = s->versions;

	set(&s->address, "192.0.2.1:443");
	s->family = 4;
	s->total_ms = 2345.6;
	s->handshakes = 87;
	s->complete = true;
	take(s, OFFER_TLS1_3, CHECK_YES, NULL);
	take(s, OFFER_TLS1_2, CHECK_UNKNOWN, "no answer within 2s");
	take(s, OFFER_TLS1_1, CHECK_YES, NULL);
	take(s, OFFER_TLS1_0, CHECK_YES, NULL);
	add(&v[OFFER_TLS1_3].suites, "TLS_AES_128_GCM_SHA256", 0x1301, 0, CHECK_YES, 1, "X25519");
	add(&v[OFFER_TLS1_3].suites, "TLS_AES_128_CCM_8_SHA256", 0x1305, OFFER_SHORT_TAG, CHECK_YES, 2, "X25519");
	v[OFFER_TLS1_3].suites.order = SCAN_ORDER_CLIENT;
	add(&v[OFFER_TLS1_2].suites, "TLS_RSA_WITH_AES_128_GCM_SHA256", 0x009c, OFFER_STATIC_RSA, CHECK_UNKNOWN, 0, "silence");
	add_old_suites(&v[OFFER_TLS1_1].suites);
	add_old_suites(&v[OFFER_TLS1_0].suites);
	add(&v[OFFER_TLS1_3].groups, "X25519", 29, 0, CHECK_YES, 2, NULL);
	add(&v[OFFER_TLS1_3].groups, "SECP256R1", 23, 0, CHECK_YES, 1, NULL);
	add(&v[OFFER_TLS1_3].groups, "X448", 30, 0, CHECK_NO, 0, "alert handshake_failure (40)");
	v[OFFER_TLS1_3].groups.order = SCAN_ORDER_SERVER;
	add(&v[OFFER_TLS1_1].groups, "SECP256R1", 23, 0, CHECK_YES, 1, NULL);
	add(&v[OFFER_TLS1_1].groups, "X25519", 29, 0, CHECK_UNKNOWN, 0, "it is hidden");
	add(&v[OFFER_TLS1_1].groups, "DH 1024, its own prime", 0, OFFER_SMALL_GROUP, CHECK_YES, 0, NULL);
	add(&v[OFFER_TLS1_3].signatures, "RSA-PSS-RSAE-SHA256", 0x0804, OFFER_SMALL_KEY, CHECK_YES, 1, "RSA 1024");
	cr_assert_eq(scan_add_untested(s, "versions: SSL 2, SSL 3"), 0);
	return s;
}

static char *screen(const struct scan *s, int width, bool colour)
{
	struct check_style style = { .width = width, .colour = colour };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(scan_write_text(out, s, &style), 0);
	fclose(out);
	return text;
}

static void expect_screen(struct scan *s, const char *expected)
{
	char *text = screen(s, 80, false);

	sample_same(text, expected);
	free(text);
	scan_free(s);
}

Test(scan_report, screen)
{
	expect_screen(sample(),
		"✗ www.example:443: weak: TLS 1.0, TLS 1.1, 3DES, no forward secrecy, small\n"
		"  group, small key\n"
		"\n"
		"  Address   192.0.2.1:443\n"
		"  Scan      87 handshakes in 2.3 s, certificates were not verified\n"
		"\n"
		"  Version  Taken\n"
		"  TLS 1.3  yes\n"
		"  TLS 1.2  unknown  no answer within 2s\n"
		"  TLS 1.1  yes      old version\n"
		"  TLS 1.0  yes      old version\n"
		"\n"
		"  TLS 1.3 suites, the client's choice  Group, notes\n"
		"  TLS_AES_128_GCM_SHA256               X25519\n"
		"  TLS_AES_128_CCM_8_SHA256             X25519, 64-bit tag\n"
		"\n"
		"  TLS 1.1 to 1.0 suites, the server's order  Group, notes\n"
		"  TLS_DHE_RSA_WITH_AES_128_CBC_SHA           DH 1024, small group, CBC\n"
		"  TLS_RSA_WITH_3DES_EDE_CBC_SHA              3DES, no forward secrecy, CBC\n"
		"  1 other refused\n"
		"\n"
		"  Group                   TLS 1.3  TLS 1.1  Notes\n"
		"  SECP256R1               1st      yes\n"
		"  X25519                  2nd      unknown\n"
		"  DH 1024, its own prime  -        yes      small group\n"
		"  the server's order\n"
		"  unknown in TLS 1.1: it is hidden\n"
		"\n"
		"  Signature scheme     TLS 1.3  Key       Notes\n"
		"  RSA-PSS-RSAE-SHA256  yes      RSA 1024  small key\n"
		"\n"
		"  Not tested, since GnuTLS 3.8.9 cannot offer it:\n"
		"    versions: SSL 2, SSL 3\n");
}

Test(scan_report, nobody)
{
	struct scan *s = empty();

	s->handshakes = 1;
	scan_set_fault(s, CHECK_CONNECT, CHECK_AT_CONNECT, "cannot connect to %s", "www.example:443");
	scan_set_fault(s, CHECK_DNS, CHECK_AT_DNS, "the first fault stays");
	cr_expect_eq(scan_exit_code(s), CHECK_CONNECT);
	expect_screen(s,
		"✗ www.example:443: no TLS was found\n"
		"  ✗ cannot connect to www.example:443\n"
		"\n"
		"  Scan      1 handshake, certificates were not verified\n");
}

Test(scan_report, not_all_of_it)
{
	struct scan *s = empty();
	char *text;

	s->handshakes = 9;
	take(s, OFFER_TLS1_3, CHECK_YES, NULL);
	scan_set_fault(s, CHECK_DEADLINE, CHECK_AT_HANDSHAKE, "timed out");
	text = screen(s, 80, false);
	cr_expect(strstr(text, "! www.example:443: nothing weak found so far\n  ✗ timed out\n"), "%s", text);
	free(text);
	scan_free(s);
}

/* Colour says what is weak; without it the text is the same. */
Test(scan_report, colour)
{
	struct scan *s = sample();
	char *plain = screen(s, 80, false), *text = screen(s, 80, true), *in, *out;

	cr_expect(strstr(text, "\033[31m3DES, no forward secrecy, CBC\033[0m") || strstr(text, "\033[31m3DES"), "%s", text);
	cr_expect(strstr(text, "\033[31mX25519") == NULL);
	for (in = out = text; *in;)
		if (*in == '\033')
			in = strchr(in, 'm') + 1;
		else
			*out++ = *in++;
	*out = '\0';
	cr_expect_str_eq(text, plain);
	free(plain);
	free(text);
	scan_free(s);
}

/* What a server says about itself may be meant for the terminal. */
Test(scan_report, nothing_acts)
{
	struct scan *s = sample();
	char *text;

	set(&s->versions[OFFER_TLS1_2].why, "\033[2J\x9b" "2J\xe2\x80\xae");
	set(&s->target, "\033]0;x\007");
	set(&s->host, NULL);
	set(&s->address, "\033[1m");
	set(&s->versions[OFFER_TLS1_3].signatures.rows[0].with, "\033[5m");
	text = screen(s, 80, false);
	cr_expect_null(strchr(text, '\033'), "%s", text);
	cr_expect_null(strstr(text, "\xe2\x80\xae"));
	free(text);
	scan_free(s);
}

/* --- JSON ------------------------------------------------------------------------------- */

static json_t *document(const struct scan *s)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_error_t wrong;
	json_t *v;

	cr_assert_eq(scan_write_json(out, s), 0);
	fclose(out);
	cr_assert(size > 1 && strchr(text, '\n') == text + size - 1, "not one line: %s", text);
	v = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
	cr_assert_not_null(v, "%s", wrong.text);
	free(text);
	return v;
}

static void expect_valid(json_t *v)
{
	const char *srcdir = getenv("srcdir");
	char path[4096], wrong[1024];
	json_error_t e;
	json_t *schema;

	snprintf(path, sizeof(path), "%s/docs/schema/connect-scan.json", srcdir ? srcdir : ".");
	schema = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
	cr_assert_not_null(schema, "%s:%d: %s", path, e.line, e.text);
	cr_expect_eq(json_schema_check(schema, v, wrong, sizeof(wrong)), 0, "%s", wrong);
	json_decref(schema);
}

static json_t *at(json_t *v, size_t version, const char *kind, size_t i)
{
	return json_array_get(json_object_get(json_object_get(json_array_get(json_object_get(v, "versions"), version), kind),
				      "list"), i);
}

Test(scan_report, json)
{
	struct scan *s = sample();
	json_t *v = document(s), *row = at(v, 2, "ciphersuites", 1);

	expect_valid(v);
	cr_expect_str_eq(json_string_value(json_object_get(v, "result")), "ok");
	cr_expect_eq(json_array_size(json_object_get(v, "weak")), 5);
	cr_expect_str_eq(json_string_value(json_object_get(row, "group")), "DH 1024");
	cr_expect_str_eq(json_string_value(json_object_get(row, "id")), "0x0033");
	cr_expect_eq(json_integer_value(json_object_get(row, "place")), 1);
	cr_expect(json_is_null(json_object_get(at(v, 1, "ciphersuites", 0), "accepted")));
	cr_expect(json_is_false(json_object_get(at(v, 2, "ciphersuites", 2), "accepted")));
	cr_expect(json_is_null(json_object_get(at(v, 2, "groups", 2), "id")));
	cr_expect(json_is_null(json_object_get(json_array_get(json_object_get(v, "versions"), 1), "groups")));
	json_decref(v);
	scan_free(s);
}

Test(scan_report, json_of_nothing)
{
	struct scan *s = scan_new("nowhere");
	json_t *v;

	scan_set_fault(s, CHECK_DNS, CHECK_AT_DNS, "no address");
	v = document(s);
	expect_valid(v);
	cr_expect_eq(json_integer_value(json_object_get(v, "exit_code")), 10);
	cr_expect_eq(json_array_size(json_object_get(v, "errors")), 1);
	cr_expect(json_is_null(json_object_get(json_object_get(v, "timing_ms"), "total")));
	json_decref(v);
	scan_free(s);
}

Test(scan_report, cannot_be_written)
{
	struct scan *s = sample();
	FILE *full = fopen("/dev/full", "w");

	cr_assert_not_null(full);
	cr_expect_eq(scan_write_text(full, s, &(struct check_style){ .width = 80 }), -1);
	cr_expect_eq(scan_write_json(full, s), -1);
	fclose(full);
	scan_free(s);
}
