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

static void check(const struct vector *v)
{
	uint8_t key_bytes[32], nonce[12], aad[32], data[256], plain[256], sealed[256];
	gnutls_datum_t key = { key_bytes, (unsigned)hex(v->key, key_bytes, sizeof(key_bytes)) };
	size_t aad_size, n, i;
	struct aead *a;
	struct err e;

	hex(v->nonce, nonce, sizeof(nonce));
	aad_size = hex(v->aad, aad, sizeof(aad));
	n = hex(v->plain, plain, sizeof(plain));
	cr_assert_eq(hex(v->sealed, sealed, sizeof(sealed)), n + AEAD_TAG_SIZE);
	a = aead_new(v->cipher, &key, &e);
	cr_assert(a, "%s", e.msg);
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
	memcpy(data, sealed, n + AEAD_TAG_SIZE);
	aad[0] ^= 1;
	cr_assert_eq(aead_open(a, nonce, aad, aad_size, data, n), -1);
	aead_free(a);
}

Test(aead, published_vectors)
{
	size_t i;

	for (i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		check(&vectors[i]);
}

Test(aead, what_it_knows)
{
	cr_assert(aead_knows(GNUTLS_CIPHER_AES_256_GCM) && aead_knows(GNUTLS_CIPHER_AES_128_CCM));
	cr_assert_not(aead_knows(GNUTLS_CIPHER_AES_128_CBC) || aead_knows(GNUTLS_CIPHER_AES_128_CCM_8) ||
		      aead_knows(GNUTLS_CIPHER_NULL));
}

Test(aead, the_choice_is_the_faster_one)
{
	const struct aead_choice *c = aead_chacha_choice();

	cr_assert_str_eq(c->engine, c->sodium_mb_s > c->gnutls_mb_s ? "libsodium" : "GnuTLS");
	cr_assert_eq(c, aead_chacha_choice());
}
