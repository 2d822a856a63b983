/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* X25519 by libsodium, in Nettle's place: the answers of RFC 7748, those of Nettle itself
 * wherever the two could differ, and that GnuTLS comes to us. */

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <gnutls/crypto.h>
#include <nettle/curve25519.h>
#include <string.h>

#include "lib/tls/x25519.h"
#include "tests/unit/pair.h"

#define SIZE CURVE25519_SIZE

static unsigned sodium_muls, sodium_base_muls;

#if defined(TK_LD_WRAP) && defined(HAVE_SODIUM)
int __real_crypto_scalarmult_curve25519(unsigned char *q, const unsigned char *n, const unsigned char *p);
int __wrap_crypto_scalarmult_curve25519(unsigned char *q, const unsigned char *n, const unsigned char *p);
int __real_crypto_scalarmult_ed25519_base(unsigned char *q, const unsigned char *n);
int __wrap_crypto_scalarmult_ed25519_base(unsigned char *q, const unsigned char *n);

int __wrap_crypto_scalarmult_curve25519(unsigned char *q, const unsigned char *n, const unsigned char *p)
{
	sodium_muls++;
	return __real_crypto_scalarmult_curve25519(q, n, p);
}

int __wrap_crypto_scalarmult_ed25519_base(unsigned char *q, const unsigned char *n)
{
	sodium_base_muls++;
	return __real_crypto_scalarmult_ed25519_base(q, n);
}
#endif

static struct {
	void (*mul)(uint8_t *q, const uint8_t *n, const uint8_t *p);
	void (*mul_g)(uint8_t *q, const uint8_t *n);
} nettle;

/* Only what our own functions do is tested, so they are to be in Nettle's place. */
static void use_sodium(void)
{
	void *mul = dlsym(RTLD_NEXT, "nettle_curve25519_mul"), *mul_g = dlsym(RTLD_NEXT, "nettle_curve25519_mul_g");

	if (!x25519_use("libsodium"))
		cr_skip_test("no libsodium or no GMP in this build, or Nettle is not to be found");
	memcpy(&nettle.mul, &mul, sizeof(mul));
	memcpy(&nettle.mul_g, &mul_g, sizeof(mul_g));
	cr_assert(nettle.mul != curve25519_mul);
}

static void from_hex(uint8_t *out, const char *hex)
{
	size_t n = SIZE;

	cr_assert_eq(gnutls_hex2bin(hex, strlen(hex), out, &n), 0);
	cr_assert_eq(n, SIZE);
}

static void expect(const uint8_t *got, const char *hex)
{
	uint8_t want[SIZE];

	from_hex(want, hex);
	cr_assert_arr_eq(got, want, SIZE, "%s", hex);
}

/* --- RFC 7748 ------------------------------------------------------------------------ */

Test(x25519, vectors)
{
	uint8_t n[SIZE], p[SIZE], q[SIZE];

	use_sodium();
	from_hex(n, "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
	from_hex(p, "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
	curve25519_mul(q, n, p);
	expect(q, "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
	from_hex(n, "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d");
	from_hex(p, "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493");
	curve25519_mul(q, n, p);
	expect(q, "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
}

Test(x25519, iterated)
{
	uint8_t k[SIZE] = { 9 }, u[SIZE] = { 9 }, q[SIZE];
	int i;

	use_sodium();
	for (i = 1; i <= 1000; i++) {
		curve25519_mul(q, k, u);
		memcpy(u, k, SIZE);
		memcpy(k, q, SIZE);
		if (i == 1)
			expect(k, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
	}
	expect(k, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
}

Test(x25519, key_exchange)
{
	uint8_t a[SIZE], b[SIZE], a_public[SIZE], b_public[SIZE], secret[SIZE];

	use_sodium();
	from_hex(a, "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
	from_hex(b, "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
	curve25519_mul_g(a_public, a);
	expect(a_public, "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
	curve25519_mul_g(b_public, b);
	expect(b_public, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
	curve25519_mul(secret, a, b_public);
	expect(secret, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
	curve25519_mul(secret, b, a_public);
	expect(secret, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

/* --- as Nettle does it ---------------------------------------------------------------- */

static void compare(const uint8_t *n, const uint8_t *p)
{
	uint8_t ours[SIZE], theirs[SIZE];

	memset(ours, 0xaa, SIZE);
	curve25519_mul(ours, n, p);
	nettle.mul(theirs, n, p);
	cr_assert_arr_eq(ours, theirs, SIZE, "a point that begins %02x%02x, ends %02x", p[0], p[1], p[SIZE - 1]);
}

static void compare_base(const uint8_t *n)
{
	uint8_t ours[SIZE], theirs[SIZE];

	memset(ours, 0xaa, SIZE);
	curve25519_mul_g(ours, n);
	nettle.mul_g(theirs, n);
	cr_assert_arr_eq(ours, theirs, SIZE, "a key that begins %02x%02x, ends %02x", n[0], n[1], n[SIZE - 1]);
}

/* The points of small order, in each encoding (0, 1, the two of order 8, p - 1, and the
 * first three plus p), and every number from p on, which is no encoding but is taken. */
Test(x25519, strange_points)
{
	static const char *const small[] = {
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	};
	uint8_t n[SIZE], p[SIZE], q[SIZE];
	static const uint8_t zero[SIZE];
	size_t i;
	int k;

	use_sodium();
	cr_assert_eq(gnutls_rnd(GNUTLS_RND_NONCE, n, SIZE), 0);
	for (i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		for (k = 0; k < 2; k++) { /* the uppermost bit does not count */
			from_hex(p, small[i]);
			p[SIZE - 1] |= (uint8_t)(k << 7);
			compare(n, p);
			curve25519_mul(q, n, p);
			cr_assert_arr_eq(q, zero, SIZE);
		}
	}
	for (i = 0xed; i <= 0xff; i++) {
		for (k = 0; k < 2; k++) {
			memset(p, 0xff, SIZE);
			p[0] = (uint8_t)i;
			p[SIZE - 1] = (uint8_t)(0x7f | k << 7);
			compare(n, p);
		}
	}
}

/* All bits set or none, each bit alone: what clamping does with them. */
Test(x25519, strange_keys)
{
	uint8_t n[SIZE], p[SIZE];
	int bit;

	use_sodium();
	cr_assert_eq(gnutls_rnd(GNUTLS_RND_NONCE, p, SIZE), 0);
	memset(n, 0, SIZE);
	compare_base(n);
	compare(n, p);
	memset(n, 0xff, SIZE);
	compare_base(n);
	compare(n, p);
	for (bit = 0; bit < 256; bit++) {
		memset(n, 0, SIZE);
		n[bit / 8] = (uint8_t)(1 << bit % 8);
		compare_base(n);
		compare(n, p);
	}
}

Test(x25519, random_keys_and_points)
{
	uint8_t n[SIZE], p[SIZE];
	int i;

	use_sodium();
	for (i = 0; i < 500; i++) {
		cr_assert_eq(gnutls_rnd(GNUTLS_RND_NONCE, n, SIZE), 0);
		cr_assert_eq(gnutls_rnd(GNUTLS_RND_NONCE, p, SIZE), 0); /* half of them on the twist */
		compare(n, p);
		compare_base(n);
	}
}

/* --- in its place ----------------------------------------------------------------------- */

Test(x25519, gnutls_comes_to_us)
{
	struct tls_options o[2] = { pair_options(TLS_CLIENT), pair_options(TLS_SERVER) };
	struct tls_config *config[2];
	struct pair p = { 0 };
	struct err e;
	int i;

#ifndef TK_LD_WRAP
	cr_skip_test("the linker does not hand calls over");
#endif
	use_sodium();
	o[0].insecure_no_verify = true;
	for (i = 0; i < 2; i++) {
		config[i] = config_new(&o[i], &e);
		cr_assert(config[i], "%s", e.msg);
	}
	pair_open(&p, config[0], config[1]);
	cr_assert(pair_shake(&p));
	cr_assert_geq(sodium_base_muls, 2, "of a key share each; %u were seen", sodium_base_muls);
	cr_assert_eq(sodium_muls, 2, "of a shared secret each; %u were seen", sodium_muls);
	pair_close(&p);
	for (i = 0; i < 2; i++)
		config_unref(config[i]);
}

Test(x25519, a_choice_is_told)
{
	const struct x25519_choice *c = x25519_choose();

	if (!c)
		cr_skip_test("no libsodium or no GMP in this build, FIPS mode, or Nettle is not to be found");
	cr_assert_gt(c->nettle_us, 0, "libsodium's answers are not right");
	cr_assert_gt(c->sodium_us, 0);
	cr_assert_str_eq(c->engine, c->sodium_us * 1.15 < c->nettle_us ? "libsodium" : "Nettle");
}
