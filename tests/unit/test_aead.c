/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The AEADs of the direct path against published vectors: the GCM specification
 * (McGrew and Viega, test case 4) and RFC 8439, 2.8.2. */

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/tls/aead.h"

struct vector {
	gnutls_cipher_algorithm_t cipher;
	const char *key, *nonce, *aad, *plain, *sealed; /* hexadecimal; sealed: ciphertext and tag, or their head */
};

static const struct vector vectors[] = {
	{ GNUTLS_CIPHER_AES_128_GCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
		"feedfacedeadbeeffeedfacedeadbeefabaddad2",
		"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
		"5bc94fbc3221a5db94fae95ae7121a47" },
	{ GNUTLS_CIPHER_CHACHA20_POLY1305, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
		"50515253c0c1c2c3c4c5c6c7",
		"4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966204920636f756c64206f6666657220796f75"
		"206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73637265656e20776f756c642062652069742e",
		"d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd"
		"3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116"
		"1ae10b594f09e26a7e902ecbd0600691" },
};

static size_t hex(const char *text, uint8_t *out, size_t size)
{
	long n = units_parse_hex(text, strlen(text), out, size);

	cr_assert(n >= 0, "%s", text);
	return (size_t)n;
}

/* False: this engine is not there, or has no such cipher. */
static bool check(const struct vector *v, const char *engine)
{
	uint8_t key_bytes[32], nonce[12], aad[32], data[256], plain[256], sealed[256];
	gnutls_datum_t key = { key_bytes, (unsigned)hex(v->key, key_bytes, sizeof(key_bytes)) };
	size_t aad_size, n, i;
	struct aead *a;

	hex(v->nonce, nonce, sizeof(nonce));
	aad_size = hex(v->aad, aad, sizeof(aad));
	n = hex(v->plain, plain, sizeof(plain));
	cr_assert_eq(hex(v->sealed, sealed, sizeof(sealed)), n + AEAD_TAG_SIZE);
	a = aead_new_by(engine, v->cipher, &key);
	if (!a)
		return false;
	memcpy(data, plain, n);
	cr_assert_eq(aead_seal(a, nonce, aad, aad_size, data, n), 0);
	cr_assert_eq(memcmp(data, sealed, n + AEAD_TAG_SIZE), 0);
	cr_assert_eq(aead_open(a, nonce, aad, aad_size, data, n), 0);
	cr_assert_eq(memcmp(data, plain, n), 0);
	for (i = 0; i < n + AEAD_TAG_SIZE; i++) { /* each byte counts */
		memcpy(data, sealed, n + AEAD_TAG_SIZE);
		data[i] ^= 0x80;
		cr_assert_eq(aead_open(a, nonce, aad, aad_size, data, n), -1, "byte %zu", i);
	}
	memcpy(data, plain, n); /* sealing goes on behind all that */
	cr_assert_eq(aead_seal(a, nonce, aad, aad_size, data, n), 0);
	cr_assert_eq(memcmp(data, sealed, n + AEAD_TAG_SIZE), 0);
	aad[0] ^= 1;
	cr_assert_eq(aead_open(a, nonce, aad, aad_size, data, n), -1);
	aead_free(a);
	return true;
}

static void check_engine(const char *engine, size_t at_least)
{
	size_t i, n = 0;

	for (i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		n += check(&vectors[i], engine);
	cr_assert_geq(n, at_least, "%s: %zu", engine, n);
}

Test(aead, published_vectors)
{
	check_engine("GnuTLS", sizeof(vectors) / sizeof(*vectors));
#ifdef HAVE_SODIUM
	check_engine("libsodium", 1);
#endif
#ifdef HAVE_LIBCRYPTO
	check_engine("libcrypto", sizeof(vectors) / sizeof(*vectors));
#endif
	if (aead_ipsec_mb_version())
		check_engine("ipsec-mb", sizeof(vectors) / sizeof(*vectors));
	check_engine("none", 0);
}

/* Engines may change in the middle of a stream: what one sealed each other opens. */
Test(aead, engines_agree)
{
	static const char *const engines[] = { "GnuTLS", "libsodium", "libcrypto", "ipsec-mb" };
	static const gnutls_cipher_algorithm_t ciphers[] = { GNUTLS_CIPHER_AES_128_GCM, GNUTLS_CIPHER_AES_256_GCM,
		GNUTLS_CIPHER_CHACHA20_POLY1305 };
	static uint8_t key_bytes[32] = { 7 }, nonce[12] = { 9 }, aad[13] = { 23 }, data[16401 + AEAD_TAG_SIZE];
	size_t c, i, k, n;

	for (c = 0; c < sizeof(ciphers) / sizeof(*ciphers); c++) {
		gnutls_datum_t key = { key_bytes, (unsigned)gnutls_cipher_get_key_size(ciphers[c]) };

		for (i = 0; i < AEAD_ENGINES; i++)
			for (k = 0; k < AEAD_ENGINES; k++)
				for (n = 1; n <= 16401; n = n * 3 + 1) {
					struct aead *a = aead_new_by(engines[i], ciphers[c], &key), *b = aead_new_by(engines[k], ciphers[c], &key);

					memset(data, (int)n, sizeof(data));
					if (a && b) {
						cr_assert_eq(aead_seal(a, nonce, aad, sizeof(aad), data, n), 0);
						cr_assert_eq(aead_open(b, nonce, aad, sizeof(aad), data, n), 0, "%s, %s, %zu", engines[i],
							engines[k], n);
						cr_assert(data[0] == (uint8_t)n && data[n - 1] == (uint8_t)n);
					}
					aead_free(a);
					aead_free(b);
				}
	}
}

Test(aead, what_it_knows)
{
	cr_assert(aead_knows(GNUTLS_CIPHER_AES_256_GCM) && aead_knows(GNUTLS_CIPHER_AES_128_CCM));
	cr_assert_not(aead_knows(GNUTLS_CIPHER_AES_128_CBC) || aead_knows(GNUTLS_CIPHER_AES_128_CCM_8) ||
		      aead_knows(GNUTLS_CIPHER_NULL));
}

Test(aead, the_choice_is_a_fast_one)
{
	const struct aead_choice *c;
	size_t i, k;

	for (i = 0; (c = aead_choice(i)); i++) {
		double best = 0, ours = 0;

		cr_assert_str_eq(c->tried[0].engine, "GnuTLS");
		for (k = 0; k < c->n; k++) {
			best = c->tried[k].mb_s > best ? c->tried[k].mb_s : best;
			ours = strcmp(c->tried[k].engine, c->engine) == 0 ? c->tried[k].mb_s : ours;
		}
		cr_assert(ours > 0 && ours * 1.16 > best, "%s by %s: %f of %f", c->cipher, c->engine, ours, best);
		cr_assert_eq(c, aead_choice(i));
	}
	cr_assert_eq(i, 3);
}
