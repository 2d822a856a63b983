/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "tests/unit/check_sample.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(check_json, .timeout = TEST_TIMEOUT);

static json_t *schema(void)
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	json_error_t wrong;
	json_t *s;

	snprintf(path, sizeof(path), "%s/docs/schema/connect.json", srcdir ? srcdir : ".");
	s = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
	cr_assert_not_null(s, "%s:%d: %s", path, wrong.line, wrong.text);
	return s;
}

static json_t *parsed(const struct check *c)
{
	char *text = check_sample_json(c);
	json_error_t wrong;
	json_t *v = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);

	cr_assert_not_null(v, "%s in %s", wrong.text, text);
	cr_assert(strlen(text) > 0 && strchr(text, '\n') == text + strlen(text) - 1, "not one line: %s", text);
	free(text);
	return v;
}

static void expect_valid(json_t *s, const struct check *c, const char *name)
{
	json_t *v = parsed(c);
	char wrong[1024];

	cr_expect_eq(json_schema_check(s, v, wrong, sizeof(wrong)), 0, "%s: %s", name, wrong);
	json_decref(v);
}

Test(check_json, schema)
{
	json_t *s = schema();
	const char *name;
	struct check *c;

	for (size_t i = 0; (c = check_sample(i, &name)) != NULL; i++) {
		expect_valid(s, c, name);
		check_free(c);
	}
	c = check_new("");
	expect_valid(s, c, "empty");
	check_free(c);
	json_decref(s);
}

/* Every code and stage, alone. */
Test(check_json, codes)
{
	static const int codes[] = { 1, 2, 10, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 25, 26, 30, 31, 32 };
	json_t *s = schema();

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct check *c = check_new("x");
		json_t *v;

		check_fault_add(c, (enum check_code)codes[i], (enum check_stage)(i % 8), "x");
		expect_valid(s, c, "codes");
		v = parsed(c);
		cr_expect_eq(json_integer_value(json_object_get(v, "exit_code")), codes[i]);
		cr_expect_str_eq(json_string_value(json_object_get(v, "result")), check_code_name((enum check_code)codes[i]));
		json_decref(v);
		check_free(c);
	}
	json_decref(s);
}

/* The words that lib/tls has for causes and for answers are those of the schema. */
Test(check_json, words)
{
	static const unsigned causes[] = { CHAIN_REVOKED, CHAIN_UNTRUSTED, CHAIN_NAME, CHAIN_TIME, CHAIN_WEAK };
	json_t *s = schema();
	struct check *c = check_sample_full();

	for (int status = OCSP_NONE; status <= OCSP_MALFORMED; status++) {
		c->staple.status = c->ocsp.status = (enum ocsp_status)status;
		expect_valid(s, c, ocsp_status_name((enum ocsp_status)status));
	}
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		c->chain->causes = causes[i];
		expect_valid(s, c, chain_cause_name(causes[i]));
	}
	check_free(c);
	json_decref(s);
}

/* --- exact ----------------------------------------------------------------------------------- */

#define NO_OCSP "\"ocsp\": {\"stapled\": null, \"asked\": null}, \"sct\": {\"count\": null, \"list\": null}, "
#define NO_DANE "\"dane\": {\"result\": null, \"record\": null}, "
#define NO_CLIENT "\"client_auth\": {\"requested\": null, \"sent\": null, \"accepted\": null}, "
#define NO_VERIFY "\"verify\": {\"performed\": false, \"ok\": null, \"by\": null, \"status\": null, " \
	"\"matched_name\": null, \"path\": null}, \"chain_sent\": null, " \
	"\"chain\": {\"ordered\": null, \"complete\": null, \"has_root\": null, \"days_left\": null, \"percent_left\": null}, "

static void expect_json(struct check *c, const char *expected)
{
	char *text = check_sample_json(c);

	sample_same(text, expected);
	free(text);
	check_free(c);
}

Test(check_json, dns)
{
	expect_json(check_sample_dns(),
		"{\"schema\": \"tlskit/connect/1\", \"result\": \"dns\", \"exit_code\": 10, "
		"\"errors\": [{\"code\": 10, \"stage\": \"dns\", \"message\": \"no.example has no address: Name or service not "
		"known\", \"detail\": null, \"hint\": \"check the spelling\"}], \"warnings\": [], "
		"\"started\": \"2026-11-30T12:00:00.250Z\", \"started_epoch_s\": 1796040000, "
		"\"target\": {\"text\": \"https://no.example/\", \"host\": \"no.example\", \"port\": 443, "
		"\"servername\": null}, "
		"\"address\": {\"text\": null, \"family\": null}, \"via\": null, "
		"\"starttls\": {\"protocol\": null, \"done\": null}, "
		"\"timing_ms\": {\"dns\": 1.25, \"connect\": null, \"proxy\": null, \"starttls\": null, \"handshake\": null, "
		"\"total\": 1.25}, \"tls\": null, " NO_VERIFY NO_OCSP NO_DANE NO_CLIENT
		"\"alert\": null, \"close_notify\": null}\n");
}

Test(check_json, alert)
{
	expect_json(check_sample_alert(),
		"{\"schema\": \"tlskit/connect/1\", \"result\": \"handshake\", \"exit_code\": 15, "
		"\"errors\": [{\"code\": 15, \"stage\": \"handshake\", \"message\": \"the server ended the handshake with the "
		"alert handshake_failure (40)\", \"detail\": null, \"hint\": \"it may want an older version, another "
		"ciphersuite or a server name: try --min-tls and --servername\"}], \"warnings\": [], "
		"\"started\": \"2026-11-30T12:00:00.250Z\", \"started_epoch_s\": 1796040000, "
		"\"target\": {\"text\": \"[2001:db8::1]:443\", \"host\": \"2001:db8::1\", \"port\": 443, "
		"\"servername\": null}, "
		"\"address\": {\"text\": \"[2001:db8::1]:443\", \"family\": 6}, \"via\": null, "
		"\"starttls\": {\"protocol\": null, \"done\": null}, "
		"\"timing_ms\": {\"dns\": null, \"connect\": 8, \"proxy\": null, \"starttls\": null, \"handshake\": 23.95, "
		"\"total\": 34.013}, \"tls\": null, " NO_VERIFY NO_OCSP NO_DANE NO_CLIENT
		"\"alert\": {\"description\": 40, \"name\": \"handshake_failure\", \"received\": true}, "
		"\"close_notify\": null}\n");
}

/* Without a certificate nothing was sent, which is not the same as unknown. */
Test(check_json, psk)
{
	expect_json(check_sample_psk(),
		"{\"schema\": \"tlskit/connect/1\", \"result\": \"ok\", \"exit_code\": 0, \"errors\": [], \"warnings\": [], "
		"\"started\": \"2026-11-30T12:00:00.250Z\", \"started_epoch_s\": 1796040000, "
		"\"target\": {\"text\": \"unix:/run/app.sock\", \"host\": null, \"port\": null, \"servername\": null}, "
		"\"address\": {\"text\": \"unix:/run/app.sock\", \"family\": null}, \"via\": null, "
		"\"starttls\": {\"protocol\": null, \"done\": null}, "
		"\"timing_ms\": {\"dns\": null, \"connect\": 8, \"proxy\": null, \"starttls\": null, \"handshake\": 23.95, "
		"\"total\": 34.013}, "
		"\"tls\": {\"version\": \"TLS1.3\", \"ciphersuite\": \"TLS_AES_256_GCM_SHA384\", "
		"\"group\": \"X25519MLKEM768\", "
		"\"signature\": null, \"alpn\": null, \"hello_retry\": false, \"resumed\": false, \"early_data\": null, "
		"\"tickets\": null, \"ticket_lifetime_s\": null}, "
		"\"verify\": {\"performed\": true, \"ok\": true, \"by\": \"psk\", \"status\": null, \"matched_name\": null, "
		"\"path\": null}, \"chain_sent\": [], \"chain\": {\"ordered\": null, \"complete\": null, \"has_root\": null, "
		"\"days_left\": null, \"percent_left\": null}, " NO_OCSP NO_DANE
		"\"client_auth\": {\"requested\": false, \"sent\": null, \"accepted\": null}, "
		"\"alert\": null, \"close_notify\": null}\n");
}

static void expect_member(const json_t *v, const char *name, const char *expected)
{
	char *text = json_dumps(json_object_get(v, name), JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	sample_same(text, expected);
	free(text);
}

Test(check_json, ok)
{
	struct check *c = check_sample_ok();
	json_t *v = parsed(c);
	const json_t *sent = json_object_get(v, "chain_sent");

	cr_assert_eq(json_array_size(sent), 2u);
	cr_assert_eq(json_array_size(json_object_get(json_object_get(v, "verify"), "path")), 3u);
	expect_member(json_array_get(sent, 0), "names", "[\"dns:example.com\", \"dns:www.example.com\", \"ip:192.0.2.1\"]");
	expect_member(json_array_get(sent, 0), "not_after", "\"2027-02-19T13:00:00Z\"");
	expect_member(json_array_get(sent, 0), "not_after_epoch_s", "1803042000");
	expect_member(json_array_get(sent, 0), "pin_sha256", "\"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\"");
	expect_member(json_array_get(sent, 0), "is_ca", "false");
	expect_member(json_array_get(sent, 1), "names", "null");
	expect_member(json_array_get(sent, 1), "is_ca", "true");
	expect_member(json_array_get(json_object_get(json_object_get(v, "verify"), "path"), 2), "sent_index", "null");
	expect_member(json_object_get(v, "verify"), "matched_name", "\"dns:example.com\"");
	expect_member(v, "chain", "{\"ordered\": true, \"complete\": true, \"has_root\": false, \"days_left\": 81.042, "
		"\"percent_left\": 90.046}");
	expect_member(json_object_get(v, "ocsp"), "stapled",
		"{\"status\": \"good\", \"message\": \"good, until 2026-12-06\", \"url\": null, "
		"\"this_update\": \"2026-11-29T12:00:00Z\", \"this_update_epoch_s\": 1795953600, "
		"\"next_update\": \"2026-12-06T12:00:00Z\", \"next_update_epoch_s\": 1796558400, "
		"\"produced\": \"2026-11-29T12:00:00Z\", \"produced_epoch_s\": 1795953600, "
		"\"revoked_at\": null, \"revoked_at_epoch_s\": null, \"reason\": null}");
	expect_member(json_array_get(json_object_get(json_object_get(v, "sct"), "list"), 2), "origin", "\"tls\"");
	expect_member(json_array_get(json_object_get(json_object_get(v, "sct"), "list"), 2), "timestamp",
		"\"2026-11-21T12:00:00.624Z\"");
	expect_member(v, "close_notify", "true");
	json_decref(v);
	check_free(c);
}

Test(check_json, bad)
{
	struct check *c = check_sample_bad();
	json_t *v = parsed(c), *first;
	json_t *faults = json_object_get(json_array_get(json_object_get(v, "chain_sent"), 0), "faults");
	char text[1024];

	expect_member(v, "result", "\"untrusted\"");
	expect_member(v, "exit_code", "20");
	expect_member(json_object_get(v, "verify"), "ok", "false");
	cr_expect_eq(json_array_size(json_object_get(json_object_get(v, "verify"), "status")), 3u);
	cr_assert_eq(json_array_size(faults), 3u);
	first = json_array_get(faults, 0);
	cr_expect_str_eq(json_string_value(json_object_get(first, "name")), chain_fault_name(CHAIN_EXPIRED));
	chain_fault_text(c->chain, 0, CHAIN_EXPIRED, &c->chain_request, text, sizeof(text));
	cr_expect_str_eq(json_string_value(json_object_get(first, "message")), text);
	expect_member(v, "warnings", "[\"the server speaks TLS 1.0 too\"]");
	json_decref(v);
	check_free(c);
}

/* What was not asked for is not true. */
Test(check_json, not_verified)
{
	struct check *c = check_sample_bad();
	json_t *v;

	c->verified = false; /* though somebody set verify_ok */
	v = parsed(c);
	expect_member(json_object_get(v, "verify"), "performed", "false");
	expect_member(json_object_get(v, "verify"), "ok", "null");
	json_decref(v);
	check_free(c);
}

Test(check_json, unreadable)
{
	struct check *c = check_sample_hostile();
	json_t *v = parsed(c), *cert = json_array_get(json_object_get(v, "chain_sent"), 1);

	expect_member(cert, "subject", "null");
	expect_member(cert, "not_after", "null");
	expect_member(cert, "not_after_epoch_s", "null");
	expect_member(cert, "pin_sha256", "null");
	expect_member(cert, "is_ca", "null");
	cr_expect_eq(json_array_size(json_object_get(cert, "faults")), 1u);
	cr_expect_eq(json_string_length(json_object_get(cert, "fingerprint_sha256")), 64u);
	json_decref(v);
	check_free(c);
}

/* --- hostile ------------------------------------------------------------------------------------- */

/* The line has nothing a terminal acts on, and reads back as it was but for what is
 * not UTF-8. */
Test(check_json, hostile)
{
	struct check *c = check_sample_hostile();
	char *text = check_sample_json(c);
	size_t n = strlen(text) - 1, len;
	json_t *v = parsed(c);

	for (size_t i = 0; i < n; i += len) {
		uint32_t cp = 0;

		len = utf8_decode(text + i, n - i, &cp);
		cr_assert(len > 0 && !utf8_is_control(cp), "U+%04X at %zu", cp, i);
	}
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(v, "warnings"), 0)),
		"a\nb\r\t\x07\x1b[31m\xc2\x9b|\"'\\{}`$(id)%s<b>&\xe2\x80\xae\xe2\x80\xa8\x7f\xef\xbf\xbd\xef\xbf\xbd"
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	expect_member(json_object_get(v, "chain"), "percent_left", "null");
	json_decref(v);
	free(text);
	check_free(c);
}

/* --- no memory -------------------------------------------------------------------------------------- */

static size_t left; /* allocations of jansson's that succeed */

static void *scarce(size_t size)
{
	return left && left-- ? malloc(size) : NULL;
}

/* Wherever memory runs out, it is said; what was allocated is freed (by LeakSanitizer),
 * and no half a document is written. */
Test(check_json, no_memory)
{
	struct check *c = check_sample_full();
	int r = -1;

	check_fault_add(c, CHECK_EXPECT, CHECK_AT_EXPECT, "x");
	c->chain->certs[0].faults = CHAIN_EXPIRED;
	json_set_alloc_funcs(scarce, free);
	for (size_t n = 0; r < 0; n++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		left = n;
		r = check_write_json(out, c);
		fclose(out);
		cr_assert(r == 0 ? size > 0 : size == 0);
		cr_assert_lt(n, 100000u);
		free(text);
	}
	check_free(c);
}
