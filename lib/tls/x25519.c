/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/x25519.h"

#include <stddef.h>

#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#if defined(HAVE_SODIUM) && defined(HAVE_GMP) && !defined(SODIUM_LIBRARY_MINIMAL) && defined(__ELF__)
#include <dlfcn.h>
#include <gmp.h>
#include <gnutls/crypto.h>
#include <nettle/curve25519.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/base/clock.h"

#define SIZE    CURVE25519_SIZE
#define CLEARLY 1.15 /* times as fast */
#define TRIALS  3 /* the best counts: what disturbs only slows down */
#define REPEATS 4 /* in a trial */
#define PROBES  8 /* keys on which both libraries must agree */

/* q = n * p, and q = n * 9: keys and points as RFC 7748 encodes them, n not clamped yet. */
struct engine {
	void (*mul)(uint8_t *q, const uint8_t *n, const uint8_t *p);
	void (*mul_g)(uint8_t *q, const uint8_t *n);
};

/* --- libsodium ----------------------------------------------------------------------- */

/* It refuses the points of small order, whose every multiple by a clamped number is the
 * point that is encoded as 0. Whoever asked has to look for that (RFC 8446, 7.4.2). */
static void sodium_mul(uint8_t *q, const uint8_t *n, const uint8_t *p)
{
	if (crypto_scalarmult_curve25519(q, n, p) != 0)
		memset(q, 0, SIZE);
}

/* The point on edwards25519 with this y becomes that on curve25519 with
 * u = (1 + y) / (1 - y) mod 2^255 - 19 (RFC 7748, 4.1). Nothing here is secret: it is the
 * public key, written in two ways. */
static bool to_montgomery(uint8_t *u, const uint8_t *point)
{
	uint8_t y_bytes[SIZE];
	mpz_t y, p, above, below;
	bool ok;

	memcpy(y_bytes, point, SIZE);
	y_bytes[SIZE - 1] &= 0x7f; /* the sign of x */
	mpz_inits(y, p, above, below, NULL);
	mpz_import(y, SIZE, -1, 1, 0, 0, y_bytes);
	mpz_setbit(p, 255);
	mpz_sub_ui(p, p, 19);
	mpz_add_ui(above, y, 1);
	mpz_ui_sub(below, 1, y);
	ok = mpz_invert(below, below, p) != 0;
	mpz_mul(above, above, below);
	mpz_mod(above, above, p);
	memset(u, 0, SIZE);
	mpz_export(u, NULL, -1, 1, 0, 0, above);
	mpz_clears(y, p, above, below, NULL);
	return ok;
}

/* By way of edwards25519, for whose base point libsodium has tables. */
static void sodium_mul_g(uint8_t *q, const uint8_t *n)
{
	uint8_t point[SIZE];

	if (crypto_scalarmult_ed25519_base(point, n) != 0 || !to_montgomery(q, point))
		(void)crypto_scalarmult_curve25519_base(q, n);
}

static const struct engine sodium = { sodium_mul, sodium_mul_g };

/* --- in Nettle's place ------------------------------------------------------------------ */

static struct engine nettle; /* without functions: not found */
static _Atomic(const struct engine *) in_use = &nettle;

static void find_nettle(void)
{
	void *mul = dlsym(RTLD_NEXT, "nettle_curve25519_mul"), *mul_g = dlsym(RTLD_NEXT, "nettle_curve25519_mul_g");

	if (!mul || !mul_g) { /* GnuTLS has it in itself, and does not call us */
		atomic_store(&in_use, &sodium);
		return;
	}
	memcpy(&nettle.mul, &mul, sizeof(mul));
	memcpy(&nettle.mul_g, &mul_g, sizeof(mul_g));
}

static const struct engine *engine(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_nettle);
	return atomic_load_explicit(&in_use, memory_order_relaxed);
}

__attribute__((visibility("default"))) void curve25519_mul(uint8_t *q, const uint8_t *n, const uint8_t *p)
{
	engine()->mul(q, n, p);
}

__attribute__((visibility("default"))) void curve25519_mul_g(uint8_t *q, const uint8_t *n)
{
	engine()->mul_g(q, n);
}

/* --- the choice --------------------------------------------------------------------------- */

/* RFC 7748, 6.1 */
static bool knows_the_answers(void)
{
	static const uint8_t a[SIZE] = { 0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2,
		0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a };
	static const uint8_t a_public[SIZE] = { 0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4,
		0x3e, 0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a };
	static const uint8_t b_public[SIZE] = { 0xde, 0x9e, 0xdb, 0x7d, 0x7b, 0x7d, 0xc1, 0xb4, 0xd3, 0x5b, 0x61, 0xc2, 0xec,
		0xe4, 0x35, 0x37, 0x3f, 0x83, 0x43, 0xc8, 0x5b, 0x78, 0x67, 0x4d, 0xad, 0xfc, 0x7e, 0x14, 0x6f, 0x88, 0x2b, 0x4f };
	static const uint8_t shared[SIZE] = { 0x4a, 0x5d, 0x9d, 0x5b, 0xa4, 0xce, 0x2d, 0xe1, 0x72, 0x8e, 0x3b, 0xf4, 0x80,
		0x35, 0x0f, 0x25, 0xe0, 0x7e, 0x21, 0xc9, 0x47, 0xd1, 0x9e, 0x33, 0x76, 0xf0, 0x9b, 0x3c, 0x1e, 0x16, 0x17, 0x42 };
	uint8_t got[SIZE];

	sodium_mul_g(got, a);
	if (memcmp(got, a_public, SIZE) != 0)
		return false;
	sodium_mul(got, a, b_public);
	return memcmp(got, shared, SIZE) == 0;
}

static bool agrees_with_nettle(void)
{
	uint8_t n[SIZE], p[SIZE], one[SIZE], other[SIZE];
	bool same = true;
	int i;

	for (i = 0; same && i < PROBES; i++) {
		same = gnutls_rnd(GNUTLS_RND_NONCE, n, SIZE) == 0;
		sodium_mul_g(p, n);
		nettle.mul_g(other, n);
		same = same && memcmp(p, other, SIZE) == 0 && gnutls_rnd(GNUTLS_RND_NONCE, n, SIZE) == 0;
		sodium_mul(one, n, p);
		nettle.mul(other, n, p);
		same = same && memcmp(one, other, SIZE) == 0;
	}
	return same;
}

static double time_us(const struct engine *e)
{
	uint8_t n[SIZE] = { 1 }, p[SIZE], q[SIZE];
	uint64_t start, spent, best = 0;
	int i, k;

	for (i = 0; i < TRIALS; i++) {
		start = clock_mono_ns();
		for (k = 0; k < REPEATS; k++) {
			e->mul_g(p, n);
			e->mul(q, n, p);
		}
		spent = clock_mono_ns() - start;
		if (!best || spent < best)
			best = spent;
	}
	return (double)best / REPEATS / 1e3;
}

static struct x25519_choice choice;

static void choose(void)
{
	if (engine() != &nettle || gnutls_fips140_mode_enabled())
		return;
	choice.engine = "Nettle";
	if (sodium_init() < 0 || !knows_the_answers() || !agrees_with_nettle())
		return;
	choice.nettle_us = time_us(&nettle);
	choice.sodium_us = time_us(&sodium);
	if (choice.sodium_us * CLEARLY >= choice.nettle_us)
		return;
	choice.engine = "libsodium";
	atomic_store(&in_use, &sodium);
}

const struct x25519_choice *x25519_choose(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return choice.engine ? &choice : NULL;
}

bool x25519_use(const char *name)
{
	if (!engine()->mul || !nettle.mul || sodium_init() < 0)
		return false;
	atomic_store(&in_use, strcmp(name, "libsodium") == 0 ? &sodium : &nettle);
	return true;
}

#else
const struct x25519_choice *x25519_choose(void)
{
	return NULL;
}

bool x25519_use(const char *engine)
{
	(void)engine;
	return false;
}
#endif
