/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/seals.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/tls/aead.h"

#define AEADS_MAX 4096

struct seals seals = {
#ifdef TK_LD_WRAP
	.wrapped = true,
#endif
};

static struct {
	const struct aead *a;
	uint8_t key[AEAD_KEY_MAX];
	unsigned size;
} aeads[AEADS_MAX];
static size_t n_aeads;

void seals_start(void)
{
	seals_stop();
	seals.on = true;
}

void seals_stop(void)
{
	tap_book_free(&seals.book);
	seals.calls = seals.reused = n_aeads = 0;
	seals.on = false;
}

#ifdef TK_LD_WRAP /* the linker gives us the calls of the library */
struct aead *__real_aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e);
struct aead *__wrap_aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e);
int __real_aead_seal(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);
int __wrap_aead_seal(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n);

struct aead *__wrap_aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e)
{
	struct aead *a = __real_aead_new(cipher, key, e);

	if (a && seals.on) {
		cr_assert(n_aeads < AEADS_MAX);
		aeads[n_aeads].a = a;
		aeads[n_aeads].size = key->size;
		memcpy(aeads[n_aeads++].key, key->data, key->size);
	}
	return a;
}

static gnutls_datum_t key_of(const struct aead *a)
{
	size_t i;

	for (i = n_aeads; i-- > 0;) /* an address may have been another one's before */
		if (aeads[i].a == a)
			return (gnutls_datum_t){ aeads[i].key, aeads[i].size };
	cr_assert(0, "an aead that nobody made");
	return (gnutls_datum_t){ NULL, 0 };
}

int __wrap_aead_seal(struct aead *a, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	int r = __real_aead_seal(a, nonce, aad, aad_size, data, n);
	gnutls_datum_t key;

	if (r == 0 && seals.on) {
		key = key_of(a);
		seals.calls++;
		seals.reused += tap_book_add(&seals.book, &key, nonce, aad, aad_size, data, n + AEAD_TAG_SIZE) < 0;
	}
	return r;
}
#endif
