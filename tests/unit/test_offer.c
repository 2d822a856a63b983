/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/hello.h"
#include "lib/tls/offer.h"
#include "tests/unit/timeout.h"

TestSuite(hello, .timeout = TEST_TIMEOUT);

/* --- offers ------------------------------------------------------------------------------ */

static struct offer_list *list;

static void make_list(void)
{
	list = offer_list_new();
	cr_assert_not_null(list);
}

static void drop_list(void)
{
	offer_list_free(list);
}

TestSuite(offer, .init = make_list, .fini = drop_list, .timeout = TEST_TIMEOUT);

static gnutls_priority_t priority(const struct offer *o)
{
	char *text = offer_priority(o);
	gnutls_priority_t p;

	cr_assert_not_null(text);
	cr_assert_eq(gnutls_priority_init(&p, text, NULL), 0, "%s", text);
	free(text);
	return p;
}

/* How many suites of this version the priorities have, and the number of the last. */
static size_t suites_of(gnutls_priority_t p, enum offer_version version, unsigned *number)
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
			(min == GNUTLS_TLS1_3) != (version == OFFER_TLS1_3))
			continue;
		*number = (unsigned)id[0] << 8 | id[1];
		n++;
	}
}

Test(offer, a_suite_alone_is_exact)
{
	size_t seen[OFFER_VERSIONS] = { 0 };

	for (size_t i = 0; i < list->n_suites; i++)
		for (enum offer_version v = 0; v < OFFER_VERSIONS; v++) {
			const struct offer_suite *s = &list->suites[i];
			struct offer o = { .version = v, .suites = &s, .n_suites = 1 };
			gnutls_priority_t p;
			unsigned number = 0;

			if (!(s->versions & 1u << v))
				continue;
			p = priority(&o);
			cr_expect_eq(suites_of(p, v, &number), 1, "%s in %s", s->name, offer_version_name(v));
			cr_expect_eq(number, s->id, "%s is not %04x", s->name, number);
			cr_expect(offer_is_exact(&o));
			gnutls_priority_deinit(p);
			seen[v]++;
		}
	cr_expect_geq(seen[OFFER_TLS1_3], 3);
	cr_expect_geq(seen[OFFER_TLS1_2], 30);
	cr_expect_geq(seen[OFFER_TLS1_0], 10);
}

static const struct offer_suite *suite(unsigned id)
{
	for (size_t i = 0; i < list->n_suites; i++)
		if (list->suites[i].id == id)
			return &list->suites[i];
	cr_assert_fail("%04x is not in the list", id);
	return NULL;
}

/* Two key exchanges and two ciphers make four suites. */
Test(offer, parts_of_several_are_more_than_those)
{
	const struct offer_suite *square[] = { suite(0xc02f), suite(0x009f), suite(0xc030), suite(0x009e) };
	struct offer o = { .version = OFFER_TLS1_2, .suites = square, .n_suites = 2 };

	cr_expect_not(offer_is_exact(&o));
	o.n_suites = 4;
	cr_expect(offer_is_exact(&o));
}

Test(offer, suites_of_tls13_are_always_exact)
{
	const struct offer_suite *two[] = { suite(0x1303), suite(0x1301) };
	struct offer o = { .version = OFFER_TLS1_3, .suites = two, .n_suites = 2 };

	cr_expect(offer_is_exact(&o));
}

/* By the registry. What is weak about them is no secret either. */
Test(offer, names_and_traits)
{
	static const struct {
		unsigned id;
		const char *name;
		unsigned traits;
	} known[] = {
		{ 0x1301, "TLS_AES_128_GCM_SHA256", 0 },
		{ 0x1305, "TLS_AES_128_CCM_8_SHA256", OFFER_SHORT_TAG },
		{ 0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0 },
		{ 0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0 },
		{ 0xc09e, "TLS_DHE_RSA_WITH_AES_128_CCM", 0 },
		{ 0xc024, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", OFFER_CBC },
		{ 0x002f, "TLS_RSA_WITH_AES_128_CBC_SHA", OFFER_STATIC_RSA | OFFER_CBC },
		{ 0x000a, "TLS_RSA_WITH_3DES_EDE_CBC_SHA", OFFER_STATIC_RSA | OFFER_3DES | OFFER_CBC },
		{ 0x0004, "TLS_RSA_WITH_RC4_128_MD5", OFFER_STATIC_RSA | OFFER_RC4 | OFFER_MD5 },
		{ 0x003b, "TLS_RSA_WITH_NULL_SHA256", OFFER_STATIC_RSA | OFFER_NULL },
		{ 0xc018, "TLS_ECDH_anon_WITH_AES_128_CBC_SHA", OFFER_ANON | OFFER_CBC },
		{ 0x0018, "TLS_DH_anon_WITH_RC4_128_MD5", OFFER_ANON | OFFER_RC4 | OFFER_MD5 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct offer_suite *s = suite(known[i].id);

		cr_expect_str_eq(s->name, known[i].name);
		cr_expect_eq(s->traits, known[i].traits, "%s: %x", s->name, s->traits);
	}
}

/* The best stand first, so that servers that follow their clients look good. */
Test(offer, the_worst_stand_last)
{
	bool weak = false;

	for (size_t i = 0; i < list->n_suites; i++) {
		cr_expect(!weak || (list->suites[i].traits & OFFER_WEAK), "%s", list->suites[i].name);
		weak |= (list->suites[i].traits & OFFER_WEAK) != 0;
	}
	cr_expect(weak);
}

Test(offer, groups_alone)
{
	const struct offer_suite *s[] = { suite(0xc02b), suite(0x1301) };
	size_t n = 0;

	for (size_t i = 0; i < list->n_groups; i++)
		for (enum offer_version v = OFFER_TLS1_2; v <= OFFER_TLS1_3; v++) {
			const struct offer_group *g = &list->groups[i];
			struct offer o = { .version = v, .suites = &s[v - OFFER_TLS1_2], .n_suites = 1, .groups = &g, .n_groups = 1 };
			const unsigned *ids;
			gnutls_priority_t p;

			if (!(g->versions & 1u << v))
				continue;
			p = priority(&o);
			cr_expect_eq(gnutls_priority_group_list(p, &ids), 1, "%s", g->name);
			cr_expect_str_eq(gnutls_group_get_name(ids[0]), g->name);
			gnutls_priority_deinit(p);
			n++;
		}
	cr_expect_geq(n, 8);
}

/* In TLS 1.3 those of certificates go along, and stand behind it. */
Test(offer, signatures_alone)
{
	const struct offer_suite *s[] = { suite(0xc02b), suite(0x1301) };
	size_t n = 0;

	for (size_t i = 0; i < list->n_signatures; i++)
		for (enum offer_version v = OFFER_TLS1_2; v <= OFFER_TLS1_3; v++) {
			const struct offer_signature *x = &list->signatures[i];
			struct offer o = { .version = v, .suites = &s[v - OFFER_TLS1_2], .n_suites = 1, .signatures = &x,
				.n_signatures = 1 };
			const unsigned *ids;
			gnutls_priority_t p;

			if (!(x->versions & 1u << v))
				continue;
			p = priority(&o);
			cr_expect_eq(gnutls_priority_sign_list(p, &ids), v == OFFER_TLS1_3 ? 5 : 1, "%s", x->name12);
			cr_expect_str_eq(gnutls_sign_get_name(ids[0]), offer_signature_name(x, v));
			gnutls_priority_deinit(p);
			n++;
		}
	cr_expect_geq(n, 12);
}

Test(offer, versions)
{
	cr_expect_str_eq(offer_version_name(OFFER_TLS1_0), "TLS 1.0");
	cr_expect_str_eq(offer_version_name(OFFER_TLS1_3), "TLS 1.3");
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

/* --- what it offers ------------------------------------------------------------------------- */

/* An extension of a hello: 0xffff is the end. */
struct extension {
	unsigned type;
	size_t size;
};

static size_t add_extensions(uint8_t *b, size_t n, const struct extension *e)
{
	size_t at = n + 2, length;

	for (; e->type != 0xffff; e++) {
		memcpy(b + at, (uint8_t[]){ (uint8_t)(e->type >> 8), (uint8_t)e->type, (uint8_t)(e->size >> 8), (uint8_t)e->size }, 4);
		memset(b + at + 4, 41, e->size);
		at += 4 + e->size;
	}
	length = at - n - 2;
	b[n] = (uint8_t)(length >> 8);
	b[n + 1] = (uint8_t)length;
	b[3] = (uint8_t)((at - 5) >> 8);
	b[4] = (uint8_t)(at - 5);
	return at;
}

static bool resumes(const struct extension *e)
{
	uint8_t hello[2048], *cut;
	size_t n = make_hello(hello, LIST(0x1301, 0x1302), 0);
	bool r;

	hello[n++] = 1; /* compression: none */
	hello[n++] = 0;
	n = add_extensions(hello, n, e);
	r = hello_resumes(hello, n);
	for (size_t k = 0; k < n; k++) { /* nothing beyond is read */
		cut = malloc(k + 1);
		cr_assert_not_null(cut);
		memcpy(cut, hello, k);
		cr_assert_not(hello_resumes(cut, k));
		free(cut);
	}
	return r;
}

#define EXTENSIONS(...) (const struct extension[]){ __VA_ARGS__ __VA_OPT__(,) { 0xffff, 0 } }

Test(hello, whether_it_resumes)
{
	cr_assert(resumes(EXTENSIONS({ 0, 9 }, { 41, 100 })));
	cr_assert(resumes(EXTENSIONS({ 35, 1 }, { 0, 9 })));
	cr_assert_not(resumes(EXTENSIONS({ 0, 9 }, { 35, 0 }, { 51, 38 })), "an empty one asks for a ticket");
	cr_assert_not(resumes(EXTENSIONS()));
}
