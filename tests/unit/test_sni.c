/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Which of its certificates a server shows, by the name that the client asks for; and that
 * whatever else its credentials are for holds with each of them. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/story_pair.h"

#define MOST 6

static char files[2 * MOST][100];
static const char *certs[MOST], *keys[MOST];

static void leaf(const char *name, const char *dns, bool rsa)
{
	char dn[32];

	snprintf(dn, sizeof(dn), "CN=%s", name);
	pki_leaf(&story_pki, name, &(struct pki_leaf){ .dn = dn, .dns = dns, .rsa = rsa });
}

static void make(void)
{
	story_make();
	leaf("rsa-a", "a.test", true);
	leaf("ec-a", "a.test", false);
	leaf("ec-b", "B.test", false);
	leaf("rsa-wild", "*.example.test", true);
	leaf("ec-wild", "*.example.test", false);
	leaf("rsa-www", "www.example.test", true);
	leaf("cn.test", NULL, false);
	story_co.insecure_no_verify = true;
	story_co.ca = NULL;
}

TestSuite(sni, .init = make, .fini = story_drop);

/* The server's certificates: words with a blank between. */
static void serve(const char *words)
{
	char text[100], *rest = text, *word;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", words);
	while ((word = strsep(&rest, " "))) {
		cr_assert_lt(n, MOST);
		snprintf(files[2 * n], sizeof(files[0]), "%s/%s.pem", story_pki.dir, word);
		snprintf(files[2 * n + 1], sizeof(files[0]), "%s/%s.key", story_pki.dir, word);
		certs[n] = files[2 * n];
		keys[n] = files[2 * n + 1];
		n++;
	}
	story_so.certs = (struct names_list){ certs, n };
	story_so.keys = (struct names_list){ keys, n };
}

/* The common name of what a client is shown that asks for `name`; "": it came to none. */
static const char *shown(const char *name)
{
	static struct session_certificate c;

	story_pair.peer.sni = name;
	pair_open(&story_pair, story_client, story_server);
	if (!pair_shake(&story_pair))
		return "";
	cr_assert_eq(session_certificate(story_pair.s[0], &c), 0);
	cr_assert(strncmp(c.subject, "CN=", 3) == 0, "%s", c.subject);
	return c.subject + 3;
}

static void check(const char *name, const char *want)
{
	cr_assert_str_eq(shown(name), want, "%s: %s / %s", name ? name : "no name", story_pair.err[0].msg,
		story_pair.err[1].msg);
	pair_close(&story_pair);
}

/* --- names, in each kind of handshake ------------------------------------------------------- */

struct kind {
	int version;
	bool again; /* with a HelloRetryRequest */
};

static struct kind kinds[] = { { 12, false }, { 13, false }, { 13, true } };
static const char *const two_groups[] = { "P-384", "X25519" }, *const one_group[] = { "X25519" };

static void configure(const struct kind *k)
{
	if (k->again) {
		story_co.groups = (struct names_list){ two_groups, 2 };
		story_so.groups = (struct names_list){ one_group, 1 };
	}
	story_configure(k->version);
}

static void unconfigure(void)
{
	config_unref(story_client);
	config_unref(story_server);
	story_client = story_server = NULL;
}

ParameterizedTestParameters(sni, names)
{
	return cr_make_param_array(struct kind, kinds, sizeof(kinds) / sizeof(*kinds));
}

/* The first is RSA alone: in TLS 1.2 it must not lose against another name's ECDSA. */
ParameterizedTest(struct kind *k, sni, names)
{
	serve("rsa-a ec-b ec-wild rsa-www cn.test");
	configure(k);
	check("a.test", "rsa-a");
	check("b.test", "ec-b");
	check("A.Test", "rsa-a");
	check("b.test.", "ec-b");
	check("www.example.test", "rsa-www");
	check("mail.example.test", "ec-wild");
	check("MAIL.EXAMPLE.TEST", "ec-wild");
	check("xn--mnchen-3ya.example.test", "ec-wild");
	check("cn.test", "cn.test");
	check("example.test", "rsa-a");
	check("a.b.example.test", "rsa-a");
	check("unknown.test", "rsa-a");
	check(NULL, "rsa-a");
	unconfigure();
}

ParameterizedTestParameters(sni, hello_retry)
{
	return cr_make_param_array(struct kind, kinds, sizeof(kinds) / sizeof(*kinds));
}

/* The kinds are what they are called. */
ParameterizedTest(struct kind *k, sni, hello_retry)
{
	serve("rsa-a ec-wild");
	configure(k);
	cr_assert_str_eq(shown("www.example.test"), "ec-wild");
	cr_assert_eq(story_of(0).hello_retry, k->again);
	pair_close(&story_pair);
	unconfigure();
}

/* --- RSA or ECDSA: GnuTLS's choice ------------------------------------------------------------ */

static const char *const only_rsa[] = { "rsa_pss_rsae_sha256", "rsa_pkcs1_sha256" },
	   *const only_ecdsa[] = { "ecdsa_secp256r1_sha256", "SIGN-ECDSA-SHA256" };

struct taste {
	int version;
	bool rsa;
};

static struct taste tastes[] = { { 12, true }, { 12, false }, { 13, true }, { 13, false } };

ParameterizedTestParameters(sni, both_kinds_of_key)
{
	return cr_make_param_array(struct taste, tastes, sizeof(tastes) / sizeof(*tastes));
}

ParameterizedTest(struct taste *t, sni, both_kinds_of_key)
{
	serve("rsa-a ec-wild ec-a ec-b rsa-wild");
	story_co.signatures = t->rsa ? (struct names_list){ only_rsa, 2 } : (struct names_list){ only_ecdsa, 2 };
	story_configure(t->version);
	check("a.test", t->rsa ? "rsa-a" : "ec-a");
	check(NULL, t->rsa ? "rsa-a" : "ec-a");
	check("unknown.test", t->rsa ? "rsa-a" : "ec-a");
	check("www.example.test", t->rsa ? "rsa-wild" : "ec-wild");
	/* one that cannot verify the name's certificate is shown no other name's */
	check("b.test", t->rsa ? "" : "ec-b");
	cr_assert(!t->rsa || strstr(story_pair.err[1].msg, "certificates for the name"), "%s", story_pair.err[1].msg);
	unconfigure();
}

/* --- what is no work for us -------------------------------------------------------------------- */

static bool chooses(const char *words)
{
	bool is;

	serve(words);
	story_configure(0);
	is = story_server->sni != NULL;
	unconfigure();
	return is;
}

Test(sni, only_where_names_differ)
{
	cr_assert_not(chooses("rsa-a"));
	cr_assert_not(chooses("rsa-wild"));
	cr_assert_not(chooses("rsa-a ec-a"));
	cr_assert_not(chooses("rsa-wild ec-wild"));
	cr_assert(chooses("rsa-a ec-b"));
	cr_assert(chooses("rsa-a rsa-wild"));
}

Test(sni, first_without_a_name)
{
	pki_leaf(&story_pki, "none", &(struct pki_leaf){ .dn = "OU=none" });
	pki_leaf(&story_pki, "nil", &(struct pki_leaf){ .dn = "OU=nil", .rsa = true });
	serve("none ec-b nil");
	story_configure(13);
	check("b.test", "ec-b");
	story_pair.peer.sni = NULL;
	pair_open(&story_pair, story_client, story_server);
	story_shake();
	{
		struct session_certificate c;

		cr_assert_eq(session_certificate(story_pair.s[0], &c), 0);
		cr_assert_str_eq(c.subject, "OU=none");
	}
	pair_close(&story_pair);
	unconfigure();
}

/* --- client certificates ------------------------------------------------------------------------ */

/* The server asks for those of its CA, takes one, and none without, whatever the name. */
static void check_clients(const char *name, const char *want, int version)
{
	story_co.certs = (struct names_list){ &story_app[0], 1 };
	story_co.keys = (struct names_list){ &story_app[1], 1 };
	story_configure(version);
	cr_assert_str_eq(shown(name), want, "%s", story_pair.err[1].msg);
	cr_assert(story_of(0).certificate_requested && story_of(0).certificate_sent);
	pair_carry(&story_pair, 0, 100, 100, 100);
	story_shut();
	story_co.certs.n = story_co.keys.n = 0;
	story_configure(version);
	shown(name);
	cr_assert_eq(story_pair.done[1], SOCK_FAILED, "%s", name);
	cr_assert_eq(story_pair.err[1].kind, ERR_AUTH, "%s", story_pair.err[1].msg);
	story_shut();
}

ParameterizedTestParameters(sni, client_certificates)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, sni, client_certificates)
{
	serve("rsa-a ec-wild rsa-www");
	story_so.client_ca = story_path(5, "ca.pem");
	check_clients("a.test", "rsa-a", *version);
	check_clients("mail.example.test", "ec-wild", *version);
	check_clients("www.example.test", "rsa-www", *version);
}

/* One of another CA, that the client shows all the same. */
ParameterizedTestParameters(sni, foreign_client)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, sni, foreign_client)
{
	const char *foreign[2] = { strdup(pki_path(&story_pki, "foreign.pem")), strdup(pki_path(&story_pki, "foreign.key")) };

	pki_leaf(&story_pki, "foreign", &(struct pki_leaf){ .dn = "CN=app", .client = true, .self_signed = true });
	serve("rsa-a ec-wild");
	story_so.client_ca = story_path(5, "ca.pem");
	story_co.certs = (struct names_list){ &foreign[0], 1 };
	story_co.keys = (struct names_list){ &foreign[1], 1 };
	story_configure(*version);
	shown("www.example.test");
	cr_assert_eq(story_pair.done[1], SOCK_FAILED);
	cr_assert_eq(story_pair.err[1].kind, ERR_AUTH, "%s", story_pair.err[1].msg);
	free((char *)foreign[0]);
	free((char *)foreign[1]);
}

/* --- resumption --------------------------------------------------------------------------------- */

static void check_carries(const char *name)
{
	story_pair.peer.sni = name;
	pair_open(&story_pair, story_client, story_server);
	story_shake();
	pair_carry(&story_pair, 0, 100, 100, 100);
	pair_carry(&story_pair, 1, 100, 100, 100);
}

static bool resumes(const char *name)
{
	struct session_info info;

	check_carries(name);
	session_info(story_pair.s[1], &info);
	pair_close(&story_pair);
	return info.resumed;
}

ParameterizedTestParameters(sni, resumption)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

/* With the name's ticket it resumes, with another name's it comes through at least; the
 * client's certificate, which the ticket has, is verified each time. */
ParameterizedTest(int *version, sni, resumption)
{
	static const char *const names[] = { "mail.example.test", "a.test", NULL, "unknown.test", "mail.example.test" };
	struct tickets *t = tickets_new(4);
	size_t i;

	serve("rsa-a ec-wild");
	story_so.client_ca = story_path(5, "ca.pem");
	story_co.certs = (struct names_list){ &story_app[0], 1 };
	story_co.keys = (struct names_list){ &story_app[1], 1 };
	story_pair.peer.tickets = t;
	story_configure(*version);
	cr_assert_not(resumes(names[0]));
	cr_assert(resumes(names[0]));
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		resumes(names[i]);
	unconfigure();
	tickets_free(t);
}

/* A client whose ticket was given before its rules: refused, whatever the name. */
ParameterizedTestParameters(sni, resumed_clients_are_verified)
{
	static int versions[] = { 12, 13 };

	return cr_make_param_array(int, versions, 2);
}

ParameterizedTest(int *version, sni, resumed_clients_are_verified)
{
	const char *rule[] = { "cn:somebody-else" };
	struct tickets *t = tickets_new(4);
	unsigned char key[64];

	memset(key, 7, sizeof(key));
	pki_write(&story_pki, "ticket-key", key, sizeof(key));
	serve("rsa-a ec-wild");
	story_so.client_ca = story_path(5, "ca.pem");
	story_so.ticket_key_file = strdup(pki_path(&story_pki, "ticket-key"));
	story_co.certs = (struct names_list){ &story_app[0], 1 };
	story_co.keys = (struct names_list){ &story_app[1], 1 };
	story_pair.peer.tickets = t;
	story_configure(*version);
	resumes("mail.example.test");
	unconfigure();
	story_so.allow = (struct names_list){ rule, 1 };
	story_configure(*version);
	shown("mail.example.test");
	cr_assert_eq(story_pair.done[1], SOCK_FAILED);
	cr_assert_eq(story_pair.err[1].kind, ERR_AUTH, "%s", story_pair.err[1].msg);
	story_shut();
	free((char *)story_so.ticket_key_file);
	tickets_free(t);
}

/* --- configurations that end ---------------------------------------------------------------------- */

/* A session keeps the certificates that it was begun with. */
Test(sni, configuration_swapped_amid_a_handshake)
{
	serve("rsa-a ec-wild");
	story_configure(13);
	story_pair.peer.sni = "www.example.test";
	pair_open(&story_pair, story_client, story_server);
	config_unref(story_server);
	serve("rsa-a rsa-www");
	{
		struct err e = { 0 };

		story_server = config_new(&story_so, &e);
		cr_assert(story_server, "%s", e.msg);
	}
	story_shake();
	{
		struct session_certificate c;

		cr_assert_eq(session_certificate(story_pair.s[0], &c), 0);
		cr_assert_str_eq(c.subject, "CN=ec-wild");
	}
	pair_close(&story_pair);
	check("www.example.test", "rsa-www");
	unconfigure();
}

Test(sni, a_key_of_another_certificate)
{
	struct err e = { 0 };

	serve("rsa-a ec-wild rsa-www");
	keys[1] = files[1];
	cr_assert_null(config_new(&story_so, &e));
	cr_assert(e.kind == ERR_CONFIG && strstr(e.msg, "--key") && strstr(e.msg, "ec-wild.pem"), "%s", e.msg);
}
