/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Which path counts, what was sent in vain, and what the texts say. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/utf8.h"
#include "tests/unit/chain_util.h"
#include "tests/unit/timeout.h"

TestSuite(chain_path, .init = chain_make, .fini = chain_drop, .timeout = TEST_TIMEOUT);

/* --- trust --------------------------------------------------------------------------------- */

Test(chain_path, self_signed)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=www", .names = { "dns:www.example" } });
	LOOK(&extra[0]);
	EXPECT_FAULTS(chain, 0, "self-signed");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect(chain->complete && chain->n_path == 1 && chain->n == 1 && !chain->has_root);
	/* trusted as such it is fine */
	chain_trust(trust, &extra[0]);
	LOOK(&extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->complete && chain->n_path == 1);
}

/* With the name of something trusted it is not trusted. */
Test(chain_path, self_signed_in_the_name_of_a_root)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=root", .names = { "dns:www.example" } });
	LOOK(&extra[0]);
	EXPECT_FAULTS(chain, 0, "self-signed");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

Test(chain_path, trusted_leaf_without_its_issuer)
{
	chain_leaf(&extra[0], (struct pki_spec){ .issuer = &other_root });
	EXPECT_FAULTS(LOOK(&extra[0]), 0, "issuer-missing");
	chain_trust(trust, &extra[0]);
	LOOK(&extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_CAUSES(chain, 0);
}

Test(chain_path, untrusted_root)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=other inter", LONG_CA, .issuer = &other_root });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &extra[0], &other_root);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_FAULTS(chain, 2, "untrusted-root extra-root");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect(chain->complete && chain->has_root && chain->ordered && chain->n_path == 3);
	/* without the root nobody knows whether it is one that is missing */
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 1, "issuer-missing");
	cr_expect(!chain->complete && !chain->has_root);
}

Test(chain_path, missing_intermediate)
{
	LOOK(&leaf);
	EXPECT_FAULTS(chain, 0, "issuer-missing");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect(!chain->complete && chain->n_path == 1 && chain->ordered);
}

Test(chain_path, missing_intermediate_with_the_root)
{
	LOOK(&leaf, &root);
	EXPECT_FAULTS(chain, 0, "issuer-missing");
	EXPECT_FAULTS(chain, 1, "useless");
	cr_expect(!chain->complete);
}

Test(chain_path, nothing_is_trusted)
{
	request.trust = NULL;
	LOOK(&leaf, &inter, &root);
	EXPECT_FAULTS(chain, 2, "untrusted-root extra-root");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect_str_eq(chain->matched_name, "dns:www.example");
}

Test(chain_path, trusted_intermediate)
{
	gnutls_x509_trust_list_t only;

	cr_assert(gnutls_x509_trust_list_init(&only, 0) == 0);
	chain_trust(only, &inter);
	request.trust = only;
	LOOK(&leaf);
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->n_path == 2 && chain->n == 2 && !chain->certs[1].sent);
	LOOK(&leaf, &inter);
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->n_path == 2 && chain->n == 2 && chain->complete);
	gnutls_x509_trust_list_deinit(only, 1);
}

/* --- order ------------------------------------------------------------------------------------ */

Test(chain_path, extra_root)
{
	LOOK(&leaf, &inter, &root);
	EXPECT_FAULTS(chain, 2, "extra-root");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->has_root && chain->n == 3 && chain->n_path == 3 && chain->path[2] == 2 && chain->certs[2].on_path);
}

Test(chain_path, wrong_order)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=lower", LONG_CA, .issuer = &inter });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[1], &inter, &extra[0]);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "out-of-order");
	EXPECT_FAULTS(chain, 2, "out-of-order");
	EXPECT_CAUSES(chain, 0);
	cr_expect(!chain->ordered && chain->complete && chain->n_path == 4 && chain->path[1] == 2 && chain->path[2] == 1);
	LOOK(&extra[1], &extra[0], &inter);
	cr_expect(chain->ordered);
}

Test(chain_path, turned_round)
{
	char text[CHAIN_TEXT_SIZE];

	LOOK(&root, &inter, &leaf);
	EXPECT_FAULTS(chain, 0, "wrong-name no-san");
	EXPECT_FAULTS(chain, 1, "out-of-order");
	EXPECT_FAULTS(chain, 2, "out-of-order");
	cr_expect(!chain->ordered);
	chain_fault_text(chain, 2, CHAIN_OUT_OF_ORDER, &request, text, sizeof(text));
	cr_expect(strstr(text, "must come first"), "%s", text);
}

Test(chain_path, duplicate)
{
	LOOK(&leaf, &leaf, &inter, &inter);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "duplicate");
	EXPECT_FAULTS(chain, 2, "");
	EXPECT_FAULTS(chain, 3, "duplicate");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->path[1] == 2 && chain->ordered);
}

Test(chain_path, useless)
{
	LOOK(&leaf, &inter, &other_root);
	EXPECT_FAULTS(chain, 2, "useless");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->ordered && !chain->has_root);
	LOOK(&leaf, &other_root, &inter);
	EXPECT_FAULTS(chain, 1, "useless");
	EXPECT_FAULTS(chain, 2, "out-of-order");
	EXPECT_CAUSES(chain, 0);
}

/* --- cross-signed ------------------------------------------------------------------------------- */

/* A root that is trusted was once certified by an older one: that certificate is
 * still sent, and has expired. */
Test(chain_path, expired_cross_signed)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=root", .ca = true, .issuer = &other_root, .same_key = &root,
				  .from_days = -600, .to_days = -3 });
	LOOK(&leaf, &inter, &extra[0], &other_root);
	EXPECT_FAULTS(chain, 0, "");
	EXPECT_FAULTS(chain, 1, "");
	EXPECT_FAULTS(chain, 2, "expired");
	EXPECT_FAULTS(chain, 3, "extra-root");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->n_path == 3 && !chain->certs[2].on_path && !chain->certs[3].on_path && chain->ordered);
	/* where both roots are trusted as well */
	chain_trust(trust, &other_root);
	EXPECT_CAUSES(LOOK(&leaf, &inter, &extra[0], &other_root), 0);
}

/* Two certificates of one intermediate: the first that comes has expired. */
Test(chain_path, two_paths)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=inter", .ca = true, .issuer = &other_root, .same_key = &inter,
				  .from_days = -600, .to_days = -3 });
	chain_trust(trust, &other_root);
	LOOK(&leaf, &extra[0], &inter);
	EXPECT_FAULTS(chain, 1, "expired");
	EXPECT_FAULTS(chain, 2, "");
	EXPECT_CAUSES(chain, 0);
	cr_expect(chain->path[1] == 2 && chain->ordered);
	LOOK(&leaf, &inter, &extra[0]);
	EXPECT_FAULTS(chain, 2, "expired");
	EXPECT_CAUSES(chain, 0);
	/* the only one there is counts */
	LOOK(&leaf, &extra[0]);
	EXPECT_CAUSES(chain, CHAIN_TIME);
}

/* One of the two leads to trust, the other does not. */
Test(chain_path, cross_signed_by_an_unknown_root)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=inter", LONG_CA, .issuer = &other_root, .same_key = &inter });
	EXPECT_CAUSES(LOOK(&leaf, &extra[0], &inter), 0);
	EXPECT_CAUSES(LOOK(&leaf, &extra[0], &other_root, &inter), 0);
	LOOK(&leaf, &extra[0]);
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	EXPECT_FAULTS(chain, 1, "issuer-missing");
}

/* A wrong certificate with the right name does not hide the right one. */
Test(chain_path, impostor)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=inter", LONG_CA, .issuer = &root });
	LOOK(&leaf, &extra[0], &inter);
	EXPECT_CAUSES(chain, 0);
	EXPECT_FAULTS(chain, 1, "useless");
}

/* CAs that certify each other make endless paths. */
/* A root that got another key and kept its name, and neither has an identifier: the one that
 * signed is the path's end. (Of the older one GnuTLS takes no certificate then.) */
Test(chain_path, two_roots_of_one_name)
{
	const struct chain *c;

	for (size_t i = 0; i < 2; i++) {
		pki_node(&extra[i], &(struct pki_spec){ .dn = "CN=twin", LONG_CA, .no_key_ids = true });
		chain_trust(trust, &extra[i]);
	}
	chain_leaf(&extra[2], (struct pki_spec){ .issuer = &extra[1], .no_key_ids = true });
	c = LOOK(&extra[2]);
	EXPECT_FAULTS(c, 0, "");
	EXPECT_CAUSES(c, 0);
	cr_assert(c->n_path == 2 && c->certs[c->path[1]].der.size == extra[1].der.size);
	cr_expect_eq(memcmp(c->certs[c->path[1]].der.data, extra[1].der.data, extra[1].der.size), 0);
}

Test(chain_path, circles)
{
	const struct pki_node *list[CHAIN_MAX + 1] = { 0 };
	struct pki_spec spec = { .dn = "CN=ring", LONG_CA };
	size_t i;

	pki_node(&extra[0], &spec);
	spec.same_key = &extra[0];
	spec.issuer = &extra[0];
	for (i = 1; i < CHAIN_MAX - 1; i++)
		pki_node(&extra[i], &spec);
	chain_leaf(&extra[CHAIN_MAX - 1], (struct pki_spec){ .issuer = &extra[0] });
	list[0] = &extra[CHAIN_MAX - 1];
	for (i = 1; i < CHAIN_MAX; i++)
		list[i] = &extra[i - 1];
	chain_look(list);
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
}

Test(chain_path, circle_of_two)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=a", LONG_CA });
	pki_node(&extra[1], &(struct pki_spec){ .dn = "CN=b", LONG_CA, .issuer = &extra[0] });
	pki_node(&extra[2], &(struct pki_spec){ .dn = "CN=a", LONG_CA, .issuer = &extra[1], .same_key = &extra[0] });
	chain_leaf(&extra[3], (struct pki_spec){ .issuer = &extra[0] });
	LOOK(&extra[3], &extra[2], &extra[1]);
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	chain_trust(trust, &extra[1]);
	LOOK(&extra[3], &extra[2], &extra[1]);
	EXPECT_CAUSES(chain, 0);
}

/* --- many, none, garbage ---------------------------------------------------------------------------- */

Test(chain_path, long_chain)
{
	const struct pki_node *list[CHAIN_MAX + 1] = { 0 }, *up = &root;
	size_t i;

	for (i = 0; i < 20; i++) {
		char dn[32];

		snprintf(dn, sizeof(dn), "CN=ca %zu", i);
		pki_node(&extra[i], &(struct pki_spec){ .dn = dn, LONG_CA, .issuer = up });
		up = &extra[i];
	}
	chain_leaf(&extra[20], (struct pki_spec){ .issuer = up });
	for (i = 0; i <= 20; i++)
		list[i] = &extra[20 - i];
	EXPECT_CAUSES(chain_look(list), CHAIN_UNTRUSTED); /* too long for a path */
	cr_expect(chain->ordered);
	/* the longest that is followed: fifteen sent, and the root */
	chain_leaf(&extra[21], (struct pki_spec){ .issuer = &extra[13] });
	for (list[0] = &extra[21], i = 1; i <= 14; i++)
		list[i] = &extra[14 - i];
	list[15] = NULL;
	EXPECT_CAUSES(chain_look(list), 0);
	cr_expect(chain->n_path == 16);
}

Test(chain_path, too_many)
{
	gnutls_datum_t der[CHAIN_MAX + 1];
	struct err e = { 0 };
	size_t i;

	for (i = 0; i <= CHAIN_MAX; i++)
		der[i] = i == 1 ? inter.der : leaf.der;
	cr_expect(chain_inspect(der, CHAIN_MAX + 1, &request, &e) == NULL);
	cr_expect_str_eq(e.msg, "the server sent 65 certificates; 64 are enough for anybody");
	cr_expect(chain_inspect(der, 0, &request, &e) == NULL);
	cr_expect_str_eq(e.msg, "the server sent no certificate");
	chain = chain_inspect(der, CHAIN_MAX, &request, &e);
	EXPECT_CAUSES(chain, 0);
}

Test(chain_path, garbage)
{
	struct pki_node junk = { .der = { (unsigned char *)"\x30\x82\x01\x00rubbish", 11 } }, none = { .der = { NULL, 0 } };

	request.now++;
	LOOK(&junk);
	EXPECT_FAULTS(chain, 0, "unreadable");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	cr_expect(chain->n_path == 0 && !chain->complete && chain->certs[0].crt == NULL && chain->certs[0].subject[0] == '\0');
	LOOK(&none, &leaf, &inter);
	EXPECT_FAULTS(chain, 0, "unreadable");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED);
	LOOK(&leaf, &junk, &inter);
	EXPECT_FAULTS(chain, 1, "unreadable");
	EXPECT_FAULTS(chain, 2, "");
	EXPECT_CAUSES(chain, 0);
}

/* Every certificate cut off anywhere, and every byte of it changed. */
Test(chain_path, damaged)
{
	unsigned char *copy = malloc(leaf.der.size);
	gnutls_datum_t der[2] = { { copy, 0 }, inter.der };
	struct err e;
	size_t i;

	for (i = 0; i < leaf.der.size; i++) {
		memcpy(copy, leaf.der.data, leaf.der.size);
		der[0].size = (unsigned)i;
		chain_free(chain);
		chain = chain_inspect(der, 2, &request, &e);
		cr_expect(chain && (chain->causes & CHAIN_UNTRUSTED));
		der[0].size = leaf.der.size;
		copy[i] ^= 0x55;
		chain_free(chain);
		chain = chain_inspect(der, 2, &request, &e);
		cr_expect(chain && (chain->causes & CHAIN_UNTRUSTED), "byte %zu", i);
	}
	free(copy);
}

/* --- together ------------------------------------------------------------------------------------ */

Test(chain_path, all_faults_are_listed)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=old", .names = { "dns:old.example" },
				  .from_days = -100, .to_days = -50, .key = PKI_RSA_1024 });
	LOOK(&extra[0]);
	EXPECT_FAULTS(chain, 0, "self-signed wrong-name expired weak-key");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED | CHAIN_NAME | CHAIN_TIME | CHAIN_WEAK);
}

/* A forged leaf and an intermediate that may not sign: GnuTLS stops at the first. */
Test(chain_path, faults_on_two_levels)
{
	pki_node(&extra[0], &(struct pki_spec){ .dn = "CN=no CA", .issuer = &root, .names = { "dns:x.example" } });
	chain_leaf(&extra[1], (struct pki_spec){ .issuer = &extra[0], .forged_by = &other_root,
				      .from_days = -20, .to_days = -10 });
	LOOK(&extra[1], &extra[0]);
	EXPECT_FAULTS(chain, 0, "bad-signature expired");
	EXPECT_FAULTS(chain, 1, "not-ca");
	EXPECT_CAUSES(chain, CHAIN_UNTRUSTED | CHAIN_TIME);
}

/* --- texts --------------------------------------------------------------------------------------- */

static const char *text_of(size_t i, unsigned fault)
{
	static char text[CHAIN_TEXT_SIZE];

	return chain_fault_text(chain, i, fault, &request, text, sizeof(text));
}

Test(chain_path, text_of_time)
{
	setenv("TZ", "Pacific/Kiritimati", 1);
	tzset();
	chain_leaf(&extra[0], (struct pki_spec){ .from_days = -300, .to_days = -213 });
	LOOK(&extra[0], &inter);
	cr_expect_str_eq(text_of(0, CHAIN_EXPIRED), "expired on 2025-06-02, 213 days ago: renew it");
	request.now -= 212 * 86400;
	LOOK(&extra[0], &inter);
	cr_expect_str_eq(text_of(0, CHAIN_EXPIRED), "expired on 2025-06-02, 1 day ago: renew it");
	request.now -= 86399;
	LOOK(&extra[0], &inter);
	cr_expect_str_eq(text_of(0, CHAIN_EXPIRED), "expired on 2025-06-02, less than a day ago: renew it");
	request.now = PKI_NOW - 310 * 86400;
	LOOK(&extra[0], &inter);
	cr_expect(strncmp(text_of(0, CHAIN_NOT_YET), "is not valid before 2025-03-07, which is 10 days from now: ", 59) == 0,
		"%s", text_of(0, CHAIN_NOT_YET));
}

Test(chain_path, text_of_names)
{
	request.name = "shop.example";
	LOOK(&leaf, &inter);
	cr_expect_str_eq(text_of(0, CHAIN_WRONG_NAME),
		"is not for shop.example, but for www.example, *.wild.example, 192.0.2.1 and 2001:db8::1: "
		"connect by a name that it has, or get a certificate that has this one too");
	chain_leaf(&extra[0], (struct pki_spec){ .names = { "dns:a", "dns:b", "dns:c", "uri:d", "dns:e", "dns:f", "dns:g" } });
	LOOK(&extra[0], &inter);
	cr_expect(strstr(text_of(0, CHAIN_WRONG_NAME), "but for a, b, c, uri:d, e and 2 more: "));
}

/* One line that a terminal shows, whole, for every fault of every certificate, and
 * cut anywhere without half a character. */
Test(chain_path, every_text)
{
	char text[CHAIN_TEXT_SIZE], dn[240], small[64];
	unsigned f;
	size_t i, size;

	memcpy(dn, "CN=", 4);
	for (i = 0; i < 30; i++)
		strcat(dn, "\xc3\xa4\xe2\x82\xac");
	pki_node(&extra[0], &(struct pki_spec){ .dn = dn, LONG_CA, .issuer = &other_root });
	chain_leaf(&extra[1], (struct pki_spec){ .dn = dn, .issuer = &extra[0], .issuer_url = "http://ca.example/x.cer" });
	request.name = "a-name-that-is-quite-long-and-does-not-fit.department.organisation.example";
	LOOK(&extra[1], &extra[0]);
	for (i = 0; i < chain->n; i++)
		for (f = 0; (f = chain_fault_next(~0U, f));) {
			chain_fault_text(chain, i, f, &request, text, sizeof(text));
			cr_expect(strlen(text) > 40 && strlen(text) < sizeof(text) - 1, "%s: %s", chain_fault_name(f), text);
			for (size = 1; size < sizeof(small); size++) {
				uint32_t cp;
				size_t at, n = strlen(chain_fault_text(chain, i, f, &request, small, size)), len;

				cr_expect(n < size && strncmp(small, text, n) == 0);
				for (at = 0; at < n; at += len)
					cr_assert((len = utf8_decode(small + at, n - at, &cp)) > 0 && !utf8_is_control(cp));
			}
		}
}

Test(chain_path, names_of_faults)
{
	unsigned bit;
	size_t n = 0;

	for (bit = 1; bit; bit <<= 1)
		n += chain_fault_name(bit) != NULL;
	cr_expect(n == 21);
	cr_expect(chain_fault_name(CHAIN_CRITICAL << 1) == NULL && chain_fault_name(0) == NULL);
	cr_expect_str_eq(chain_cause_name(CHAIN_REVOKED), "revoked");
	cr_expect_str_eq(chain_cause_name(CHAIN_WEAK), "weak");
	cr_expect(chain_cause_name(1 << 5) == NULL);
}
