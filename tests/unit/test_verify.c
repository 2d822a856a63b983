/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Who is let in, and who is believed. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "tests/unit/pair.h"
#include "tests/unit/pki.h"

static struct pki pki;
static struct pair pair;
static struct tls_config *client, *server;

static void make_pki(void)
{
	pki_make(&pki);
	pki_leaf(&pki, "srv", &(struct pki_leaf){ .dn = "CN=srv", .dns = "srv.example" });
	pki_leaf(&pki, "app", &(struct pki_leaf){ .dn = "CN=app,OU=web", .dns = "app.example", .uri = "spiffe://x/app",
					  .email = "app@x.example", .client = true });
}

static void drop_pki(void)
{
	pki_free(&pki);
}

TestSuite(verify, .init = make_pki, .fini = drop_pki);

static struct names_list one(const char **v)
{
	return (struct names_list){ v, *v != NULL };
}

static struct tls_config *must(const struct tls_options *o)
{
	struct err e = { 0 };
	struct tls_config *c = config_new(o, &e);

	cr_assert(c, "%s", e.msg);
	return c;
}

/* --- the server's proof ------------------------------------------------------------------ */

static bool believe(const struct pki_leaf *leaf, const char *name, struct tls_options o)
{
	struct tls_options so = pair_options(TLS_SERVER);
	const char *cert[] = { pki_path(&pki, "leaf.pem") }, *key[] = { pki_path(&pki, "leaf.key") };
	bool ok;

	pki_leaf(&pki, "leaf", leaf);
	so.certs = one(cert);
	so.keys = one(key);
	server = must(&so);
	client = must(&o);
	pair = (struct pair){ .peer = { .name = name } };
	pair_open(&pair, client, server);
	ok = pair_shake(&pair);
	pair_close(&pair);
	config_unref(server);
	config_unref(client);
	return ok;
}

static struct tls_options with_ca(void)
{
	struct tls_options o = pair_options(TLS_CLIENT);

	o.ca = pki_path(&pki, "ca.pem");
	return o;
}

static const struct pki_leaf good = { .dn = "CN=a", .dns = "a.example" };

Test(verify, a_good_chain_and_name)
{
	cr_assert(believe(&good, "a.example", with_ca()), "%s", pair.err[0].msg);
	cr_assert(believe(&(struct pki_leaf){ .dn = "CN=a", .dns = "a.example", .rsa = true }, "A.example", with_ca()), "%s",
		pair.err[0].msg);
}

Test(verify, what_is_wrong_is_told)
{
	static const struct {
		struct pki_leaf leaf;
		const char *name, *says;
	} cases[] = {
		{ { .dn = "CN=a", .dns = "a.example" }, "b.example", "it is not for b.example (but for a.example)" },
		{ { .dn = "CN=a.example" }, "b.example", "not for b.example" },
		{ { .dn = "CN=a", .dns = "a.example" }, "127.0.0.1", "not for 127.0.0.1" },
		{ { .dn = "CN=a", .dns = "a.example", .from_days = -20, .to_days = -10 }, "a.example", "expired on " },
		{ { .dn = "CN=a", .dns = "a.example", .from_days = 5, .to_days = 10 }, "a.example", "not valid before " },
		{ { .dn = "CN=a", .dns = "a.example", .self_signed = true }, "a.example", "self-signed" },
		{ { .dn = "CN=a", .dns = "a.example", .client = true }, "a.example", "not for this purpose" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert_not(believe(&cases[i].leaf, cases[i].name, with_ca()), "case %zu", i);
		cr_assert_eq(pair.err[0].kind, ERR_AUTH, "case %zu: %s", i, pair.err[0].msg);
		cr_assert(strstr(pair.err[0].msg, cases[i].says), "case %zu: %s", i, pair.err[0].msg);
		cr_assert(strstr(pair.err[0].msg, "--pin sha256:"), "case %zu: %s", i, pair.err[0].msg);
		cr_assert(strstr(pair.err[1].msg, "alert"), "the server is told, case %zu: %s", i, pair.err[1].msg);
	}
}

Test(verify, a_pin_alone_or_beside_a_ca)
{
	static char pin[CERT_PIN_TEXT];
	const char *pins[] = { pin };
	struct tls_options o = pair_options(TLS_CLIENT), so = pair_options(TLS_SERVER);
	struct err e;
	char *p;

	server = must(&so); /* ephemeral: nobody's CA knows it */
	cert_pin_format(config_ephemeral_pin(server), pin);
	o.pins = one(pins);
	client = must(&o);
	pair = (struct pair){ .peer = { .name = "whatever.example" } };
	pair_open(&pair, client, server);
	cr_assert(pair_shake(&pair), "%s", pair.err[0].msg);
	pair_close(&pair);
	config_unref(client);

	o.ca = pki_path(&pki, "ca.pem");
	client = must(&o);
	pair_open(&pair, client, server);
	cr_assert_not(pair_shake(&pair), "the pin must not do for the chain");
	pair_close(&pair);
	config_unref(client);
	config_unref(server);

	p = pin + 10;
	*p = *p == 'A' ? 'B' : 'A';
	o = pair_options(TLS_CLIENT);
	o.pins = one(pins);
	cr_assert_not(believe(&good, "a.example", o));
	cr_assert_eq(pair.err[0].kind, ERR_AUTH);
	cr_assert(strstr(pair.err[0].msg, "not the pinned one"), "%s", pair.err[0].msg);
	o = with_ca();
	o.pins = one(pins);
	cr_assert_not(believe(&good, "a.example", o), "the chain must not do for the pin");
	(void)e;
}

/* --- the client's proof --------------------------------------------------------------------- */

struct rule_case {
	char rule[64]; /* "PIN": of app's key */
	bool ok;
};

ParameterizedTestParameters(verify, allow_rules)
{
	static struct rule_case cases[] = {
		{ "", true },
		{ "cn:app", true },
		{ "cn:ap", false },
		{ "cn:app2", false },
		{ "cn:App", false },
		{ "ou:web", true },
		{ "ou:we", false },
		{ "dns:app.example", true },
		{ "dns:APP.example", true },
		{ "dns:example", false },
		{ "dns:spiffe://x/app", false },
		{ "uri:spiffe://x/app", true },
		{ "uri:spiffe://x/ap", false },
		{ "email:app@x.example", true },
		{ "email:app@x.exampl", false },
		{ "PIN", true },
		{ "pin:sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", false },
	};

	return cr_make_param_array(struct rule_case, cases, sizeof(cases) / sizeof(*cases));
}

static void app_pin(char out[80])
{
	char text[CERT_PIN_TEXT];
	gnutls_x509_crt_t crt;
	gnutls_datum_t d;
	uint8_t pin[32];

	cr_assert(gnutls_load_file(pki_path(&pki, "app.pem"), &d) == 0 && gnutls_x509_crt_init(&crt) == 0);
	cr_assert(gnutls_x509_crt_import(crt, &d, GNUTLS_X509_FMT_PEM) == 0 && cert_pin(crt, pin) == 0);
	snprintf(out, 80, "pin:%s", cert_pin_format(pin, text));
	gnutls_x509_crt_deinit(crt);
	gnutls_free(d.data);
}

static bool let_in(const char *cert_name, const char *rule, bool with_chain, int version)
{
	struct tls_options so = pair_options(TLS_SERVER), co = with_ca();
	static char scert[192], skey[192], ccert[192], ckey[192];
	const char *sc[] = { scert }, *sk[] = { skey }, *cc[] = { ccert }, *ck[] = { ckey }, *rules[] = { rule };
	bool ok;

	snprintf(scert, sizeof(scert), "%s/srv.pem", pki.dir);
	snprintf(skey, sizeof(skey), "%s/srv.key", pki.dir);
	snprintf(ccert, sizeof(ccert), "%s/%s.pem", pki.dir, cert_name ? cert_name : "");
	snprintf(ckey, sizeof(ckey), "%s/%s.key", pki.dir, cert_name ? cert_name : "");
	so.certs = one(sc);
	so.keys = one(sk);
	so.client_ca = with_chain ? pki_path(&pki, "ca.pem") : NULL;
	if (rule && *rule)
		so.allow = one(rules);
	if (cert_name) {
		co.certs = one(cc);
		co.keys = one(ck);
	}
	co.max_version = version;
	server = must(&so);
	client = must(&co);
	pair = (struct pair){ .peer = { .name = "srv.example" } };
	pair_open(&pair, client, server);
	pair_shake(&pair);
	ok = pair.done[1] == 1; /* the server's word counts */
	pair_close(&pair);
	config_unref(server);
	config_unref(client);
	return ok;
}

ParameterizedTest(struct rule_case *c, verify, allow_rules)
{
	char rule[80];
	int version;

	snprintf(rule, sizeof(rule), "%s", c->rule);
	if (strcmp(rule, "PIN") == 0)
		app_pin(rule);
	for (version = 12; version <= 13; version++) {
		cr_assert_eq(let_in("app", rule, true, version), c->ok, "%s, %d: %s", rule, version, pair.err[1].msg);
		if (!c->ok)
			cr_assert_eq(pair.err[1].kind, ERR_AUTH, "%s", pair.err[1].msg);
	}
}

Test(verify, clients_without_the_right_certificate)
{
	int version;

	pki_leaf(&pki, "self", &(struct pki_leaf){ .dn = "CN=app", .dns = "app.example", .client = true, .self_signed = true });
	pki_leaf(&pki, "old", &(struct pki_leaf){ .dn = "CN=app", .client = true, .from_days = -9, .to_days = -2 });
	pki_leaf(&pki, "web", &(struct pki_leaf){ .dn = "CN=app", .dns = "app.example" });
	for (version = 12; version <= 13; version++) {
		cr_assert_not(let_in(NULL, "cn:app", true, version));
		cr_assert_not(let_in("self", "cn:app", true, version));
		cr_assert_not(let_in("old", "cn:app", true, version));
		cr_assert_not(let_in("web", "cn:app", true, version), "a server's certificate is none for clients");
		cr_assert(let_in("app", "cn:app", true, version), "%s", pair.err[1].msg);
	}
}

Test(verify, client_pins_need_no_ca)
{
	char rule[80];

	app_pin(rule);
	cr_assert(let_in("app", rule, false, 13), "%s", pair.err[1].msg);
	cr_assert_not(let_in("srv", rule, false, 13));
	cr_assert_not(let_in(NULL, rule, false, 13));
}

/* Values that have to be escaped in the string form of a name (RFC 4514). */
Test(verify, names_with_special_characters)
{
	static const char *const values[][2] = {
		{ "CN=Smith\\, Anna", "cn:Smith, Anna" }, { "CN=a\\+b", "cn:a+b" }, { "CN=a\\\\b", "cn:a\\b" },
		{ "CN=a\\;b,OU=x\\,y", "ou:x,y" },
	};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
		pki_leaf(&pki, "odd", &(struct pki_leaf){ .dn = values[i][0], .client = true });
		cr_assert(let_in("odd", values[i][1], true, 13), "%s: %s", values[i][0], pair.err[1].msg);
		cr_assert_not(let_in("odd", "cn:Smith", true, 13));
	}
}

/* Tickets carry the client's certificate, and can be long. */
Test(verify, tickets_with_a_certificate_in_them)
{
	const char *sc[] = { pki_path(&pki, "srv.pem") }, *sk[] = { pki_path(&pki, "srv.key") };
	const char *cc[] = { pki_path(&pki, "big.pem") }, *ck[] = { pki_path(&pki, "big.key") };
	struct tls_options so = pair_options(TLS_SERVER), co = with_ca();
	struct tickets *t = tickets_new(32);
	struct session_info info;
	int i;

	pki_leaf(&pki, "big", &(struct pki_leaf){ .dn = "CN=big", .rsa = true, .client = true });
	so.certs = one(sc);
	so.keys = one(sk);
	so.client_ca = pki_path(&pki, "ca.pem");
	so.tickets = 16;
	co.certs = one(cc);
	co.keys = one(ck);
	server = must(&so);
	client = must(&co);
	for (i = 0; i < 3; i++) {
		pair = (struct pair){ .peer = { .name = "srv.example", .tickets = t } };
		pair_open(&pair, client, server);
		cr_assert(pair_shake(&pair), "%s", pair.err[1].msg);
		session_info(pair.s[1], &info);
		cr_assert_str_eq(info.plane, "direct");
		cr_assert_eq(info.resumed, i > 0);
		pair_carry(&pair, 1, 40000, 9000, 9000);
		pair_carry(&pair, 0, 40000, 9000, 9000);
		pair_close(&pair);
	}
	tickets_free(t);
	config_unref(server);
	config_unref(client);
}

/* A ticket must not outlive the rules that its holder was let in by. */
Test(verify, a_resumed_client_is_checked_again)
{
	char key[64] = "0123456789012345678901234567890123456789012345678901234567890123";
	const char *sc[] = { pki_path(&pki, "srv.pem") }, *sk[] = { pki_path(&pki, "srv.key") };
	const char *cc[] = { pki_path(&pki, "app.pem") }, *ck[] = { pki_path(&pki, "app.key") };
	const char *rule[] = { "cn:app" };
	struct tls_options so = pair_options(TLS_SERVER), co = with_ca();
	struct session_info info;
	struct tickets *t;
	int version, i;

	pki_write(&pki, "ticket.key", key, sizeof(key));
	so.certs = one(sc);
	so.keys = one(sk);
	so.client_ca = pki_path(&pki, "ca.pem");
	so.ticket_key_file = pki_path(&pki, "ticket.key");
	so.allow = one(rule);
	co.certs = one(cc);
	co.keys = one(ck);
	for (version = 12; version <= 13; version++) {
		co.max_version = version;
		client = must(&co);
		t = tickets_new(8);
		for (i = 0; i < 3; i++) {
			rule[0] = i < 2 ? "cn:app" : "cn:somebody-else";
			server = must(&so);
			pair = (struct pair){ .peer = { .name = "srv.example", .tickets = t } };
			pair_open(&pair, client, server);
			pair_shake(&pair);
			cr_assert_eq(pair.done[1] == 1, i < 2, "version %d, connection %d: %s", version, i, pair.err[1].msg);
			if (i < 2) {
				session_info(pair.s[1], &info);
				cr_assert_eq(info.resumed, i == 1);
				pair_carry(&pair, 1, 10, 10, 10);
			}
			pair_close(&pair);
			config_unref(server);
		}
		config_unref(client);
		tickets_free(t);
	}
}

/* --- pre-shared keys --------------------------------------------------------------------------- */

#define KEY_A "a:000102030405060708090a0b0c0d0e0f\n"
#define KEY_B "b:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\n"

static bool psk(const char *server_keys, const char *client_keys, const char *identity, int version)
{
	struct tls_options so = pair_options(TLS_SERVER), co = pair_options(TLS_CLIENT);
	bool ok;

	if (server_keys) {
		pki_write(&pki, "s.psk", server_keys, strlen(server_keys));
		so.psk_file = pki_path(&pki, "s.psk");
	}
	if (client_keys) {
		pki_write(&pki, "c.psk", client_keys, strlen(client_keys));
		co.psk_file = pki_path(&pki, "c.psk");
		co.psk_identity = identity;
	} else {
		co.insecure_no_verify = true;
	}
	so.max_version = co.max_version = version;
	server = must(&so);
	client = must(&co);
	pair = (struct pair){ 0 };
	pair_open(&pair, client, server);
	pair_shake(&pair);
	ok = server_keys ? pair.done[1] == 1 : pair.done[0] == 1; /* of the side that asks for the key */
	if (ok && pair.done[0] == 1 && pair.done[1] == 1) {
		pair_carry(&pair, 0, 1000, 1000, 1000);
		pair_carry(&pair, 1, 1000, 1000, 1000);
	}
	pair_close(&pair);
	config_unref(server);
	config_unref(client);
	return ok;
}

Test(verify, psk_lets_in_its_holders_and_nobody_else)
{
	int v;

	for (v = 12; v <= 13; v++) {
		cr_assert(psk(KEY_A KEY_B, KEY_A, NULL, v), "%d: %s / %s", v, pair.err[0].msg, pair.err[1].msg);
		cr_assert(psk(KEY_A KEY_B, KEY_B, NULL, v), "%d: %s", v, pair.err[1].msg);
		cr_assert(psk(KEY_B, KEY_A KEY_B, "b", v), "%d: %s", v, pair.err[1].msg);
		cr_assert_not(psk(KEY_A, KEY_B, NULL, v), "an unknown identity");
		cr_assert_not(psk(KEY_A, "a:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\n", NULL, v), "a wrong key");
		cr_assert_not(psk(KEY_A, NULL, NULL, v), "a client without a key");
		cr_assert_not(psk(NULL, KEY_A, NULL, v), "a server without the key, but with a certificate");
	}
}
