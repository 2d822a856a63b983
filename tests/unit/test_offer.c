/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/hello.h"
#include "lib/tls/offer.h"
#include "tests/unit/timeout.h"

TestSuite(offer, .timeout = TEST_TIMEOUT);
TestSuite(hello, .timeout = TEST_TIMEOUT);

/* --- offers ------------------------------------------------------------------------------ */

static gnutls_priority_t priority(int version, enum offer_kind kind, const char *const *names, size_t n)
{
	char *text = offer_priority(version, kind, names, n);
	gnutls_priority_t p;

	cr_assert_not_null(text);
	cr_assert_eq(gnutls_priority_init(&p, text, NULL), 0, "%s", text);
	free(text);
	return p;
}

/* How many suites of this version the priorities have, and the number of the last. */
static size_t suites_of(gnutls_priority_t p, int version, uint16_t *number)
{
	unsigned index;
	size_t n = 0;

	for (unsigned i = 0;; i++) {
		unsigned char id[2];
		gnutls_protocol_t min;
		int r = gnutls_priority_get_cipher_suite_index(p, i, &index);

		if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			return n;
		if (r < 0 || !gnutls_cipher_suite_info(index, id, NULL, NULL, NULL, &min) ||
			(min == GNUTLS_TLS1_3) != (version == 13))
			continue;
		*number = (uint16_t)(id[0] << 8 | id[1]);
		n++;
	}
}

Test(offer, a_suite_alone_is_exact)
{
	struct offer v[OFFER_MAX];

	for (int version = 10; version <= 13; version++) {
		size_t n = offer_list(OFFER_SUITE, version, v);

		cr_assert_geq(n, version == 13 ? 3 : 10);
		for (size_t i = 0; i < n; i++) {
			gnutls_priority_t p = priority(version, OFFER_SUITE, &v[i].name, 1);
			uint16_t number = 0;

			cr_expect_eq(suites_of(p, version, &number), 1, "%s", v[i].name);
			cr_expect_eq(number, v[i].suite, "%s", v[i].name);
			cr_expect_eq(offer_suite(v[i].name), v[i].suite);
			gnutls_priority_deinit(p);
		}
	}
}

Test(offer, names_are_the_registrys)
{
	static const struct {
		const char *name;
		uint16_t number;
	} known[] = { /* of the registry */
		{ "TLS_RSA_WITH_AES_128_CBC_SHA", 0x002f }, { "TLS_RSA_WITH_AES_256_CBC_SHA256", 0x003d },
		{ "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02b }, { "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", 0xc030 },
		{ "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca8 }, { "TLS_AES_128_GCM_SHA256", 0x1301 },
		{ "TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0x000a }, { "TLS_RSA_WITH_RC4_128_SHA", 0x0005 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		cr_expect_eq(offer_suite(known[i].name), known[i].number, "%s", known[i].name);
	cr_expect_eq(offer_suite("TLS_NO_SUCH"), 0);
}

Test(offer, groups_and_signatures_alone)
{
	static const enum offer_kind kinds[] = { OFFER_GROUP, OFFER_SIGNATURE };
	struct offer v[OFFER_MAX];

	for (int version = 12; version <= 13; version++)
		for (size_t k = 0; k < 2; k++) {
			size_t n = offer_list(kinds[k], version, v);

			cr_assert_geq(n, 4);
			for (size_t i = 0; i < n; i++) {
				gnutls_priority_t p = priority(version, kinds[k], &v[i].name, 1);
				const unsigned *list;
				int count = k == 0 ? gnutls_priority_group_list(p, &list) : gnutls_priority_sign_list(p, &list);

				cr_expect_eq(count, 1, "%s", v[i].name);
				gnutls_priority_deinit(p);
			}
		}
	cr_assert_eq(offer_list(OFFER_SIGNATURE, 11, v), 0);
}

static const char *weak(enum offer_kind kind, int version, const char *name)
{
	static struct offer v[OFFER_MAX];
	size_t n = offer_list(kind, version, v);

	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].weak ? v[i].weak : "";
	cr_assert_fail("%s is not offered", name);
	return NULL;
}

Test(offer, weak_things)
{
	cr_expect_str_eq(weak(OFFER_SUITE, 12, "TLS_RSA_WITH_AES_128_GCM_SHA256"), "no forward secrecy");
	cr_expect_str_eq(weak(OFFER_SUITE, 12, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "");
	cr_expect_str_eq(weak(OFFER_SUITE, 13, "TLS_AES_128_GCM_SHA256"), "");
	cr_expect_str_eq(weak(OFFER_GROUP, 13, "X25519"), "");
	cr_expect_str_eq(weak(OFFER_GROUP, 13, "FFDHE8192"), "");
	cr_expect_str_eq(weak(OFFER_SIGNATURE, 12, "RSA-SHA1"), "SHA-1 signatures");
	cr_expect_str_eq(offer_version_weak(11), "TLS 1.1");
	cr_expect_null(offer_version_weak(12));
}

/* --- a narrower hello ------------------------------------------------------------------------ */

/* A ClientHello with these suites and some bytes behind them. */
static size_t make_hello(uint8_t *b, const uint16_t *suites, size_t n, size_t behind)
{
	size_t at = 5 + 4 + 2 + 32, body;

	memset(b, 7, 1024);
	b[at++] = 4; /* session id */
	at += 4;
	b[at++] = (uint8_t)(2 * n >> 8);
	b[at++] = (uint8_t)(2 * n);
	for (size_t i = 0; i < n; i++) {
		b[at++] = (uint8_t)(suites[i] >> 8);
		b[at++] = (uint8_t)suites[i];
	}
	for (size_t i = 0; i < behind; i++)
		b[at++] = (uint8_t)(100 + i);
	body = at - 9;
	memcpy(b, (uint8_t[]){ 22, 3, 1, (uint8_t)((at - 5) >> 8), (uint8_t)(at - 5), 1, 0, (uint8_t)(body >> 8), (uint8_t)body },
		9);
	return at;
}

static void must_become(const uint16_t *from, size_t n_from, const uint16_t *left, size_t n_left, const uint16_t *to, size_t n_to)
{
	uint8_t hello[1024], wanted[1024];
	size_t n = make_hello(hello, from, n_from, 20), n_wanted = make_hello(wanted, to, n_to, 20);

	cr_assert_eq(hello_narrow(hello, n, left, n_left), n_wanted);
	cr_assert_arr_eq(hello, wanted, n_wanted);
}

#define LIST(...) (const uint16_t[]){ __VA_ARGS__ }, sizeof((const uint16_t[]){ __VA_ARGS__ }) / sizeof(uint16_t)

Test(hello, suites_and_their_order)
{
	must_become(LIST(1, 2, 3, 4), LIST(3), LIST(3));
	must_become(LIST(1, 2, 3, 4), LIST(4, 1), LIST(4, 1));
	must_become(LIST(1, 2, 3, 4), LIST(4, 3, 2, 1), LIST(4, 3, 2, 1));
}

/* TLS_EMPTY_RENEGOTIATION_INFO_SCSV and TLS_FALLBACK_SCSV stay. */
Test(hello, signals_stay)
{
	must_become(LIST(1, 0x00ff, 2, 0x5600), LIST(2), LIST(2, 0x00ff, 0x5600));
	must_become(LIST(0x00ff, 1, 2), LIST(2, 1), LIST(2, 1, 0x00ff));
}

Test(hello, what_does_not_fit)
{
	must_become(LIST(1, 2), LIST(1, 2, 3), LIST(1, 2));
	must_become(LIST(1, 0x00ff), LIST(1, 2), LIST(1, 0x00ff));
}

/* Cut anywhere, or another record: nothing is touched, and nothing beyond is read. */
Test(hello, what_is_none)
{
	uint8_t hello[1024], *cut;
	size_t n = make_hello(hello, LIST(1, 2, 3), 20);

	for (size_t k = 0; k < n; k++) {
		cut = malloc(k + 1);
		cr_assert_not_null(cut);
		memcpy(cut, hello, k);
		cr_assert_eq(hello_narrow(cut, k, LIST(3)), k);
		cr_assert_arr_eq(cut, hello, k);
		free(cut);
	}
	hello[0] = 23;
	cr_assert_eq(hello_narrow(hello, n, LIST(3)), n);
	hello[0] = 22;
	hello[5] = 2;
	cr_assert_eq(hello_narrow(hello, n, LIST(3)), n);
}
