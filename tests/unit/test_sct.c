/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <gnutls/x509-ext.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/sct.h"
#include "tests/unit/timeout.h"

TestSuite(sct, .timeout = TEST_TIMEOUT);

#define TIME_MS 1700000000123u

struct bytes {
	uint8_t data[4096];
	size_t n;
};

static void put(struct bytes *b, uint64_t v, unsigned bytes)
{
	while (bytes-- > 0)
		b->data[b->n++] = (uint8_t)(v >> 8 * bytes);
}

static void put_many(struct bytes *b, uint8_t v, size_t n)
{
	memset(b->data + b->n, v, n);
	b->n += n;
}

/* RFC 6962, 3.2; with the length that precedes it in a list. */
static void put_sct(struct bytes *b, unsigned version, unsigned algorithm, size_t extensions)
{
	put(b, 1 + 32 + 8 + 2 + extensions + 2 + 2 + 70, 2);
	put(b, version, 1);
	put_many(b, 0xab, 32);
	put(b, TIME_MS, 8);
	put(b, extensions, 2);
	put_many(b, 1, extensions);
	put(b, algorithm, 2);
	put(b, 70, 2);
	put_many(b, 2, 70);
}

/* With the list's own length before it. */
static struct bytes list_of(const struct bytes *scts)
{
	struct bytes l = { .n = 0 };

	put(&l, scts->n, 2);
	memcpy(l.data + 2, scts->data, scts->n);
	l.n += scts->n;
	return l;
}

static struct bytes octet_string(const struct bytes *list)
{
	struct bytes o = { .n = 0 };

	put(&o, 4, 1);
	if (list->n < 128)
		put(&o, list->n, 1);
	else
		put(&o, 0x820000u + list->n, 3);
	memcpy(o.data + o.n, list->data, list->n);
	o.n += list->n;
	return o;
}

/* In an allocation of the very size, for AddressSanitizer. */
static int parse(const struct bytes *b, size_t n, struct sct_list *l, struct err *e)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);
	int r;

	cr_assert_not_null(copy);
	memcpy(copy, b->data, n);
	r = sct_parse(copy, n, l, e);
	free(copy);
	return r;
}

Test(sct, several)
{
	struct bytes s = { .n = 0 }, l;
	struct sct_list out;
	struct err e;

	put_sct(&s, 0, 0x0403, 0);
	put_sct(&s, 0, 0x0401, 8); /* a leaf's index */
	put_sct(&s, 0, 0xfefe, 0); /* an algorithm that nobody knows */
	l = list_of(&s);
	cr_assert_eq(parse(&l, l.n, &out, &e), 0, "%s", e.msg);
	cr_assert_eq(out.n, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(out.v[i].version, 1);
		cr_expect_eq(out.v[i].timestamp_ms, TIME_MS);
		cr_expect_str_eq(out.v[i].log, "q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=");
	}
	sct_list_free(&out);
	cr_expect_eq(out.n, 0);
	sct_list_free(&out);
}

Test(sct, of_an_unknown_version)
{
	struct bytes s = { .n = 0 }, l;
	struct sct_list out;
	struct err e;

	put_sct(&s, 1, 0, 0);
	put(&s, 1, 2);
	put(&s, 255, 1);
	put_sct(&s, 0, 0x0403, 0);
	l = list_of(&s);
	cr_assert_eq(parse(&l, l.n, &out, &e), 0, "%s", e.msg);
	cr_assert_eq(out.n, 3);
	cr_expect_eq(out.v[0].version, 2);
	cr_expect_str_eq(out.v[0].log, "");
	cr_expect_eq(out.v[1].version, 256);
	cr_expect_eq(out.v[2].version, 1);
	sct_list_free(&out);
}

Test(sct, cut_anywhere)
{
	struct bytes s = { .n = 0 }, l;
	struct sct_list out;
	struct err e;

	put_sct(&s, 0, 0x0403, 5);
	put_sct(&s, 0, 0x0403, 0);
	l = list_of(&s);
	for (size_t i = 0; i < l.n; i++) {
		cr_assert_eq(parse(&l, i, &out, &e), -1, "%zu", i);
		cr_assert_eq(out.n, 0);
		cr_assert_null(out.v);
	}
}

/* The same with the outer lengths made to fit. */
Test(sct, cut_inside)
{
	struct bytes s = { .n = 0 };

	put_sct(&s, 0, 0x0403, 5);
	for (size_t i = 0; i < s.n - 2; i++) {
		struct bytes cut = { .n = 0 }, l;
		struct sct_list out;
		struct err e;

		put(&cut, i, 2);
		memcpy(cut.data + 2, s.data + 2, i);
		cut.n += i;
		l = list_of(&cut);
		cr_assert_eq(parse(&l, l.n, &out, &e), -1, "%zu", i);
		cr_assert(strstr(e.msg, i == 0 ? "number 1: it is empty" : "number 1: it ends early"), "%s", e.msg);
	}
}

static void must_refuse(const struct bytes *l, const char *reason)
{
	struct sct_list out;
	struct err e;

	cr_assert_eq(parse(l, l->n, &out, &e), -1);
	cr_expect(strstr(e.msg, reason), "%s", e.msg);
	cr_expect_null(out.v);
}

Test(sct, malformed)
{
	struct bytes s = { .n = 0 }, l;

	l = list_of(&s);
	must_refuse(&l, "it is empty");
	put_sct(&s, 0, 0x0403, 0);
	l = list_of(&s);
	put(&l, 0, 3);
	must_refuse(&l, "3 bytes behind it");
	put(&s, 0, 1);
	l = list_of(&s);
	must_refuse(&l, "number 2 is cut off");
	s.n--;
	put(&s, 500, 2);
	l = list_of(&s);
	must_refuse(&l, "number 2 is cut off");
	s.n = 0;
	put_sct(&s, 0, 0x0403, 0);
	s.data[1]++;
	put(&s, 0, 1);
	l = list_of(&s);
	must_refuse(&l, "more behind its signature");
}

Test(sct, as_many_as_there_is_room_for)
{
	size_t n = 65535 / 3;
	uint8_t *data = calloc(n + 1, 3);
	struct sct_list out;
	struct err e;

	data[0] = (uint8_t)(3 * n >> 8);
	data[1] = (uint8_t)(3 * n);
	for (size_t i = 0; i < n; i++) {
		data[2 + 3 * i + 1] = 1;
		data[2 + 3 * i + 2] = 7;
	}
	cr_assert_eq(sct_parse(data, 2 + 3 * n, &out, &e), 0, "%s", e.msg);
	cr_assert_eq(out.n, n);
	cr_assert_eq(out.v[n - 1].version, 8);
	sct_list_free(&out);
	free(data);
}

/* --- in a certificate ---------------------------------------------------------- */

static gnutls_x509_crt_t cert_with(const struct bytes *ext)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;

	cr_assert(gnutls_x509_privkey_init(&key) == 0 && gnutls_x509_crt_init(&crt) == 0);
	cr_assert_eq(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	gnutls_x509_crt_set_version(crt, 3);
	gnutls_x509_crt_set_serial(crt, "\x01", 1);
	gnutls_x509_crt_set_activation_time(crt, 1700000000);
	gnutls_x509_crt_set_expiration_time(crt, 1800000000);
	cr_assert_eq(gnutls_x509_crt_set_dn(crt, "CN=a", NULL), 0);
	gnutls_x509_crt_set_key(crt, key);
	if (ext != NULL)
		cr_assert_eq(gnutls_x509_crt_set_extension_by_oid(crt, "1.3.6.1.4.1.11129.2.4.2", ext->data, ext->n, 0), 0);
	cr_assert_eq(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	gnutls_x509_privkey_deinit(key);
	return crt;
}

static int of_cert(const struct bytes *ext, struct sct_list *out, struct err *e)
{
	gnutls_x509_crt_t crt = cert_with(ext);
	int r = sct_of_cert(crt, out, e);

	gnutls_x509_crt_deinit(crt);
	return r;
}

Test(sct, of_certificates)
{
	struct bytes s = { .n = 0 }, l, o;
	struct sct_list out;
	struct err e;

	cr_assert_eq(of_cert(NULL, &out, &e), 0);
	cr_assert_eq(out.n, 0);
	put_sct(&s, 0, 0x0403, 0);
	for (size_t i = 1; i < 5; i++) { /* lengths in one byte and in three */
		l = list_of(&s);
		o = octet_string(&l);
		cr_assert_eq(of_cert(&o, &out, &e), 0, "%s", e.msg);
		cr_assert_eq(out.n, i);
		sct_list_free(&out);
		put_sct(&s, 0, 0x0403, 0);
	}
}

Test(sct, of_malformed_certificates)
{
	struct bytes s = { .n = 0 }, l, o;
	struct sct_list out;
	struct err e;

	put_sct(&s, 0, 0x0403, 0);
	l = list_of(&s);
	cr_assert_eq(of_cert(&l, &out, &e), -1);
	cr_expect(strstr(e.msg, "no octet string"), "%s", e.msg);
	o = octet_string(&l);
	put(&o, 0, 2);
	cr_assert_eq(of_cert(&o, &out, &e), -1);
	cr_expect(strstr(e.msg, "no octet string"), "%s", e.msg);
	o = octet_string(&l);
	o.data[1]++;
	cr_assert_eq(of_cert(&o, &out, &e), -1);
	o.data[1] = 0x80;
	cr_assert_eq(of_cert(&o, &out, &e), -1);
	o.data[1] = 0xff;
	cr_assert_eq(of_cert(&o, &out, &e), -1);
	l.data[1]++;
	o = octet_string(&l);
	cr_assert_eq(of_cert(&o, &out, &e), -1);
	cr_expect(strstr(e.msg, "cut off"), "%s", e.msg);
}

/* What both understand they understand alike. */
Test(sct, as_gnutls_reads_it)
{
	struct bytes s = { .n = 0 }, l, o;
	gnutls_x509_ct_scts_t theirs;
	struct sct_list ours;
	struct err e;

	for (unsigned i = 0; i < 3; i++)
		put_sct(&s, 0, 0x0403, 0);
	l = list_of(&s);
	o = octet_string(&l);
	cr_assert_eq(sct_parse(l.data, l.n, &ours, &e), 0);
	cr_assert_eq(gnutls_x509_ext_ct_scts_init(&theirs), 0);
	cr_assert_eq(gnutls_x509_ext_ct_import_scts(&(gnutls_datum_t){ o.data, (unsigned)o.n }, theirs, 0), 0);
	for (unsigned i = 0; i < 4; i++) {
		gnutls_datum_t log = { NULL, 0 }, signature = { NULL, 0 }, text = { NULL, 0 };
		gnutls_sign_algorithm_t algorithm;
		unsigned version;
		time_t t;

		cr_assert_eq(gnutls_x509_ct_sct_get(theirs, i, &t, &log, &algorithm, &signature) == 0, i < ours.n);
		if (i == ours.n)
			break;
		cr_assert_eq(gnutls_x509_ct_sct_get_version(theirs, i, &version), 0);
		cr_expect_eq(version, ours.v[i].version);
		cr_expect_eq((uint64_t)t, ours.v[i].timestamp_ms / 1000);
		cr_assert_eq(gnutls_base64_encode2(&log, &text), 0);
		cr_expect_eq(strncmp((char *)text.data, ours.v[i].log, text.size), 0);
		gnutls_free(text.data);
		gnutls_free(log.data);
		gnutls_free(signature.data);
	}
	gnutls_x509_ext_ct_scts_deinit(theirs);
	sct_list_free(&ours);
}
