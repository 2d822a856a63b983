/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What users write: names, files, pins, keys. Each mistake is told in one line
 * that names the option, the value and the reason. */

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/tls/psk.h"
#include "tests/unit/pair.h"
#include "tests/unit/pki.h"

static struct pki pki;

static void make_pki(void)
{
	pki_make(&pki);
	pki_leaf(&pki, "srv", &(struct pki_leaf){ .dn = "CN=srv", .dns = "srv.example" });
	pki_leaf(&pki, "rsa", &(struct pki_leaf){ .dn = "CN=srv", .dns = "srv.example", .rsa = true });
}

static void drop_pki(void)
{
	pki_free(&pki);
}

TestSuite(config, .init = make_pki, .fini = drop_pki);

/* --- names --------------------------------------------------------------------------- */

static char *priority(struct names_wanted w, struct err *e)
{
	if (!w.min_version)
		w.min_version = 12;
	if (!w.max_version)
		w.max_version = 13;
	w.certificates = !w.psk;
	return names_priority(&w, e);
}

static void accepted(const char *text)
{
	gnutls_priority_t p;

	cr_assert(gnutls_priority_init(&p, text, NULL) == 0, "%s", text);
	gnutls_priority_deinit(p);
}

Test(names, spellings_of_one_suite)
{
	static const char *const one[] = { "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_AES_128_GCM_SHA256",
		"ecdhe-rsa-aes128-gcm-sha256", "GNUTLS_ECDHE_RSA_AES_128_GCM_SHA256" };
	struct err e;
	char *first = NULL, *s;
	size_t i;

	for (i = 0; i < sizeof(one) / sizeof(*one); i++) {
		s = priority((struct names_wanted){ .suites = { &one[i], 1 } }, &e);
		cr_assert(s, "%s", e.msg);
		accepted(s);
		cr_assert(!first || strcmp(first, s) == 0, "%s / %s", first, s);
		cr_assert(strstr(s, "+VERS-TLS1.2") && !strstr(s, "+VERS-TLS1.3") && strstr(s, "+AES-128-GCM") &&
			  strstr(s, "+ECDHE-RSA") && !strstr(s, "+ECDHE-ECDSA"), "%s", s);
		if (first)
			free(s);
		else
			first = s;
	}
	free(first);
}

Test(names, iana_spelling_of_each_kind)
{
	static const char *const suites[] = { "TLS_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
		"TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_AES_128_CCM_SHA256", "AES-256-GCM" };
	static const char *const groups[] = { "x25519", "X25519", "secp256r1", "P-256", "prime256v1", "GROUP-SECP384R1", "ffdhe2048" };
	static const char *const signatures[] = { "ed25519", "ecdsa_secp256r1_sha256", "rsa_pss_rsae_sha256", "rsa_pkcs1_sha256",
		"SIGN-RSA-SHA384" };
	struct err e;
	size_t i;
	char *s;

	for (i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		s = priority((struct names_wanted){ .suites = { &suites[i], 1 } }, &e);
		cr_assert(s, "%s", e.msg);
		accepted(s);
		free(s);
	}
	for (i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		s = priority((struct names_wanted){ .groups = { &groups[i], 1 } }, &e);
		cr_assert(s, "%s", e.msg);
		accepted(s);
		free(s);
	}
	for (i = 0; i < sizeof(signatures) / sizeof(*signatures); i++) {
		s = priority((struct names_wanted){ .signatures = { &signatures[i], 1 } }, &e);
		cr_assert(s, "%s", e.msg);
		accepted(s);
		free(s);
	}
}

Test(names, unknown_ones_are_errors_that_help)
{
	static const char *const suite[] = { "TLS_AES_128_GCM_SHA257" }, *const group[] = { "X25591" }, *const sig[] = { "rsa_md4" };
	struct err e;

	cr_assert_null(priority((struct names_wanted){ .suites = { suite, 1 } }, &e));
	cr_assert(strstr(e.msg, "--ciphersuite") && strstr(e.msg, "TLS_AES_128_GCM_SHA257") &&
		  strstr(e.msg, "did you mean TLS_AES_128_GCM_SHA256"), "%s", e.msg);
	cr_assert_null(priority((struct names_wanted){ .groups = { group, 1 } }, &e));
	cr_assert(strstr(e.msg, "--group") && strstr(e.msg, "X25591") && strstr(e.msg, "X25519") && strstr(e.msg, "FFDHE8192"), "%s",
		e.msg);
	cr_assert_null(priority((struct names_wanted){ .signatures = { sig, 1 } }, &e));
	cr_assert(strstr(e.msg, "--signature") && strstr(e.msg, "rsa_md4"), "%s", e.msg);
	cr_assert_eq(e.kind, ERR_CONFIG);
}

Test(names, the_defaults_are_modern)
{
	static const char *const weak[] = { "CBC", "SHA1", "+RSA:", "TLS1.0", "TLS1.1", "3DES", "NULL", "ANON" };
	struct err e;
	char *s = priority((struct names_wanted){ 0 }, &e);
	size_t i;

	cr_assert(s, "%s", e.msg);
	accepted(s);
	for (i = 0; i < sizeof(weak) / sizeof(*weak); i++)
		cr_assert_not(strstr(s, weak[i]), "%s in %s", weak[i], s);
	cr_assert_eq(strstr(s, "MLKEM") != NULL, names_has_mlkem());
	free(s);
}

Test(names, versions_that_leave_nothing)
{
	static const char *const suite[] = { "TLS_AES_128_GCM_SHA256" };
	struct err e;

	cr_assert_null(priority((struct names_wanted){ .suites = { suite, 1 }, .max_version = 12 }, &e));
	cr_assert(strstr(e.msg, "--ciphersuite"), "%s", e.msg);
	cr_assert_null(priority((struct names_wanted){ .min_version = 13, .max_version = 12 }, &e));
	cr_assert(strstr(e.msg, "--min-tls"), "%s", e.msg);
}

Test(names, a_suite_is_held_against_the_list)
{
	static const char *const v[] = { "TLS_AES_128_GCM_SHA256", "CHACHA20-POLY1305" };
	struct names_list l = { v, 2 }, none = { NULL, 0 };

	cr_assert(names_suite_wanted(&l, "TLS_AES_128_GCM_SHA256"));
	cr_assert(names_suite_wanted(&l, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"));
	cr_assert_not(names_suite_wanted(&l, "TLS_AES_256_GCM_SHA384"));
	cr_assert_not(names_suite_wanted(&l, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
	cr_assert_not(names_suite_wanted(&l, "no such suite"));
	cr_assert(names_suite_wanted(&none, "TLS_AES_256_GCM_SHA384"));
}

Test(names, one_group_in_its_spellings)
{
	static const char *const same[][2] = { { "P-256", "SECP256R1" }, { "secp256r1", "GROUP-SECP256R1" },
		{ "x25519", "X25519" }, { "GROUP-X25519", "x25519" }, { "X25519MLKEM768", "GROUP-X25519-MLKEM768" },
		{ "p384", "SECP384R1" }, { "ffdhe2048", "FFDHE2048" }, { "P_521", "secp521r1" } };
	static const char *const other[][2] = { { "P-256", "P-384" }, { "X25519", "X448" }, { "X25519", "X25519MLKEM768" },
		{ "", "X25519" }, { "P-256", "256" } };

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		cr_expect(names_same_group(same[i][0], same[i][1]), "%s %s", same[i][0], same[i][1]);
		cr_expect(names_same_group(same[i][1], same[i][0]), "%s %s", same[i][1], same[i][0]);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		cr_expect_not(names_same_group(other[i][0], other[i][1]), "%s %s", other[i][0], other[i][1]);
		cr_expect_not(names_same_group(other[i][1], other[i][0]), "%s %s", other[i][1], other[i][0]);
	}
}

/* --- files that are not what they should be --------------------------------------------- */

static void refused(const struct tls_options *o, const char *option, const char *value, const char *reason)
{
	struct err e = { 0 };
	struct tls_config *c = config_new(o, &e);

	cr_assert_null(c, "%s %s", option, value);
	cr_assert_eq(e.kind, ERR_CONFIG, "%s", e.msg);
	cr_assert(strstr(e.msg, option) && strstr(e.msg, value) && strstr(e.msg, reason), "%s", e.msg);
	cr_assert_not(strchr(e.msg, '\n'));
}

static void refused_cert(const char *cert_file, const char *key_file, const char *option, const char *reason)
{
	struct tls_options o = pair_options(TLS_SERVER);
	const char *cert[] = { pki_path(&pki, cert_file) }, *key[] = { key_file ? pki_path(&pki, key_file) : NULL };

	o.certs = (struct names_list){ cert, 1 };
	o.keys = (struct names_list){ key, key_file != NULL };
	refused(&o, option, strcmp(option, "--cert") == 0 ? cert_file : key_file, reason);
}

Test(config, certificates_and_keys)
{
	static const char encrypted[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGb\n-----END ENCRYPTED PRIVATE KEY-----\n";

	pki_write(&pki, "empty", "", 0);
	pki_write(&pki, "junk", "no certificate\n", 15);
	pki_write(&pki, "half", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", 59);
	pki_write(&pki, "locked", encrypted, sizeof(encrypted) - 1);
	refused_cert("none", "srv.key", "--cert", "No such file");
	refused_cert("empty", "srv.key", "--cert", "empty");
	refused_cert("junk", "srv.key", "--cert", "");
	refused_cert("half", "srv.key", "--cert", "");
	refused_cert("srv.key", "srv.key", "--cert", "no certificate");
	refused_cert("srv.pem", "none", "--key", "No such file");
	refused_cert("srv.pem", "junk", "--key", "");
	refused_cert("srv.pem", "locked", "--key", "encrypted");
	refused_cert("srv.pem", "srv.pem", "--key", "no private key");
	refused_cert("srv.pem", "rsa.key", "--key", "does not belong to");
	refused_cert("srv.pem", NULL, "--cert", "--key");
}

Test(config, trust)
{
	struct tls_options o = pair_options(TLS_CLIENT);

	pki_write(&pki, "junk", "no certificate\n", 15);
	o.ca = pki_path(&pki, "none");
	refused(&o, "--ca", "none", "No such file");
	o.ca = pki_path(&pki, "junk");
	refused(&o, "--ca", "junk", "");
	o.ca = pki_path(&pki, "srv.key");
	refused(&o, "--ca", "srv.key", "no certificate");
	o.ca = pki_path(&pki, "ca.pem");
	o.crl = pki_path(&pki, "junk");
	refused(&o, "--crl", "junk", "");
	o = pair_options(TLS_SERVER);
	o.client_ca = pki_path(&pki, "junk");
	refused(&o, "--client-ca", "junk", "");
	o = pair_options(TLS_CLIENT);
	o.insecure_no_verify = true;
	o.ca = pki_path(&pki, "ca.pem");
	refused(&o, "--insecure-no-verify", "--ca", "");
}

Test(config, pins_and_rules)
{
	static const char *const pins[] = { "", "sha256", "sha256:", "sha1:AAAA", "sha256:AAAA",
		"sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "sha256:!!!!AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
	static const char *const rules[] = { "", "cn", "cn:", "host:x", "pin:sha256:AA", ":x" };
	struct tls_options o = pair_options(TLS_CLIENT), so = pair_options(TLS_SERVER);
	size_t i;

	for (i = 0; i < sizeof(pins) / sizeof(*pins); i++) {
		o.pins = (struct names_list){ &pins[i], 1 };
		refused(&o, "--pin", i == 7 ? "AAAAAAAA" : pins[i], "");
	}
	so.client_ca = pki_path(&pki, "ca.pem");
	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		so.allow = (struct names_list){ &rules[i], 1 };
		refused(&so, "--allow", "", "");
	}
	so.client_ca = NULL;
}

/* Each of them, and none that differs in a bit. */
Test(config, what_is_pinned)
{
	struct tls_options o = pair_options(TLS_CLIENT);
	uint8_t pin[3][CERT_PIN_SIZE] = { { 1 }, { 8, 4 }, { 3 } };
	char text[2][CERT_PIN_TEXT];
	const char *pins[2];
	struct tls_config *c;
	struct err e;

	for (size_t i = 0; i < 2; i++)
		pins[i] = cert_pin_format(pin[i], text[i]);
	o.pins = (struct names_list){ pins, 2 };
	c = config_new(&o, &e);
	cr_assert(c, "%s", e.msg);
	cr_assert(config_has_pins(c));
	cr_assert(config_is_pinned(c, pin[0]) && config_is_pinned(c, pin[1]));
	cr_assert_not(config_is_pinned(c, pin[2]));
	for (size_t bit = 0; bit < CERT_PIN_SIZE * 8; bit++) {
		pin[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect_not(config_is_pinned(c, pin[0]), "bit %zu", bit);
		pin[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	config_unref(c);
	o.pins = (struct names_list){ NULL, 0 };
	o.ca = pki_path(&pki, "ca.pem");
	c = config_new(&o, &e);
	cr_assert(c, "%s", e.msg);
	cr_assert(!config_has_pins(c) && !config_is_pinned(c, pin[1]));
	config_unref(c);
}

/* Base64 may begin with a slash, which must not be taken for curl's second one. */
Test(config, a_pin_in_the_spellings_there_are)
{
	static const char *const same[] = { "sha256:", "sha256/", "sha256//" };
	char text[96], formatted[CERT_PIN_TEXT];
	uint8_t want[32] = { 0 }, got[32];
	struct err e;
	size_t i;

	for (i = 0; i < 3 * 256; i++) {
		want[0] = (uint8_t)(i / 3);
		want[1] = (uint8_t)(i * 7);
		snprintf(text, sizeof(text), "%s%s", same[i % 3], cert_pin_format(want, formatted) + 7);
		cr_assert_eq(cert_pin_parse("--pin", text, got, &e), 0, "%s", e.msg);
		cr_assert_eq(memcmp(want, got, 32), 0);
	}
}

Test(config, combinations_that_would_let_in_too_many)
{
	struct tls_options o = pair_options(TLS_SERVER);
	const char *rule[] = { "cn:app" }, *cert[] = { pki_path(&pki, "srv.pem") }, *key[] = { pki_path(&pki, "srv.key") };

	o.allow = (struct names_list){ rule, 1 };
	refused(&o, "--allow", "cn:app", "--client-ca");
	pki_write(&pki, "psk", "a:000102030405060708090a0b0c0d0e0f\n", 35);
	o = pair_options(TLS_SERVER);
	o.psk_file = pki_path(&pki, "psk");
	o.certs = (struct names_list){ cert, 1 };
	o.keys = (struct names_list){ key, 1 };
	refused(&o, "--psk-file", "--cert", "");
	o.certs.n = o.keys.n = 0;
	o.client_ca = pki_path(&pki, "ca.pem");
	refused(&o, "--psk-file", "--client-ca", "");
	o = pair_options(TLS_CLIENT);
	o.psk_file = pki_path(&pki, "psk");
	o.insecure_no_verify = true;
	refused(&o, "--psk-file", "--insecure-no-verify", "");
	o.insecure_no_verify = false;
	o.ca = pki_path(&pki, "ca.pem");
	refused(&o, "--psk-file", "--ca", "");
}

Test(config, what_would_have_no_effect)
{
	static const char *const pin[] = { "sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" };
	struct tls_options o = pair_options(TLS_CLIENT);

	o.priority = "NORMAL";
	o.min_version = 13;
	refused(&o, "--priority", "--min-tls", "");
	o = pair_options(TLS_CLIENT);
	o.pins = (struct names_list){ pin, 1 };
	o.verify_name = "x.example";
	refused(&o, "--verify-name", "--pin", "");
	o = pair_options(TLS_SERVER);
	o.crl = pki_path(&pki, "none");
	refused(&o, "--crl", "--client-ca", "");
	o = pair_options(TLS_SERVER);
	o.tickets = 0;
	o.ticket_key_file = pki_path(&pki, "none");
	refused(&o, "--ticket-key-file", "--tickets 0", "");
}

/* --- pre-shared keys -------------------------------------------------------------------------- */

static void psk_refused(const char *text, size_t size, const char *reason)
{
	struct err e = { 0 };

	pki_write(&pki, "psk", text, size);
	cr_assert_null(psk_load(pki_path(&pki, "psk"), &e), "%s", text);
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert(strstr(e.msg, "--psk-file") && strstr(e.msg, reason), "%s", e.msg);
	cr_assert_not(strstr(e.msg, "00010203"), "a key in a message: %s", e.msg);
}

#define KEY "000102030405060708090a0b0c0d0e0f"

Test(config, psk_files)
{
	struct psk_table *t;
	const char *id;
	struct err e;
	char text[] = "# comment\r\n\nz:" KEY "\r\nname:with:colons:" KEY "00\na:" KEY;

	pki_write(&pki, "psk", text, sizeof(text) - 1);
	t = psk_load(pki_path(&pki, "psk"), &e);
	cr_assert(t, "%s", e.msg);
	cr_assert_eq(psk_first(t, &id)->size, 16);
	cr_assert_str_eq(id, "z");
	cr_assert_eq(psk_find(t, "name:with:colons", 16)->size, 17);
	cr_assert_null(psk_find(t, "name", 4));
	cr_assert_null(psk_find(t, "a\0b", 3));
	cr_assert_null(psk_find(t, "", 0));
	psk_free(t);
	psk_refused("a" KEY "\n", 34, "line 1");
	psk_refused(":" KEY "\n", 34, "line 1");
	psk_refused("# x\na:0001020\n", 14, "line 2");
	psk_refused("a:" "00010203" "\n", 11, "at least 16");
	psk_refused("a:xx" KEY "\n", 37, "hexadecimal");
	psk_refused("a:" KEY "\na:" KEY "\n", 70, "twice");
	psk_refused("# nothing\n", 10, "no key");
	psk_refused("a\0b:" KEY "\n", 37, "line 1");
}

/* --- what is kept ------------------------------------------------------------------------------- */

Test(config, a_certificate_that_is_kept)
{
	struct tls_options o = pair_options(TLS_SERVER);
	struct tls_config *a, *b;
	struct stat st;
	struct err e;

	o.cert_dir = pki.dir;
	a = config_new(&o, &e);
	cr_assert(a, "%s", e.msg);
	b = config_new(&o, &e);
	cr_assert(b, "%s", e.msg);
	cr_assert_eq(memcmp(config_ephemeral_pin(a), config_ephemeral_pin(b), 32), 0);
	cr_assert(stat(pki_path(&pki, "key.pem"), &st) == 0 && (st.st_mode & 0777) == 0600);
	config_unref(a);
	config_unref(b);
	o.cert_dir = NULL;
	a = config_new(&o, &e);
	b = config_new(&o, &e);
	cr_assert_neq(memcmp(config_ephemeral_pin(a), config_ephemeral_pin(b), 32), 0);
	config_unref(a);
	config_unref(b);
}

Test(config, key_log_is_private)
{
	struct tls_options o = pair_options(TLS_SERVER);
	struct tls_config *c;
	struct stat st;
	struct err e;

	pki_write(&pki, "keys", "", 0);
	o.keylog = pki_path(&pki, "keys");
	cr_assert(chmod(o.keylog, 0644) == 0); /* as it may stand there already */
	c = config_new(&o, &e);
	cr_assert(c, "%s", e.msg);
	cr_assert(stat(o.keylog, &st) == 0 && (st.st_mode & 0777) == 0600);
	config_unref(c);
}
