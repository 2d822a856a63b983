/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/aead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/tls/aead_int.h"

struct aead {
	const struct aead_engine *engine;
	void *state;
};

/* --- the choice ---------------------------------------------------------------------- */

#define TRIAL_SIZE 16384
#define TRIAL_NS   200000 /* long enough for a clock, short enough for the slowest processor */
#define TRIAL_MAX  64 /* seals, should the clock stand */
#define TRIALS     3 /* the best counts: what disturbs only slows down */

/* GnuTLS has the least to do around a short record, and is on the handshake's side
 * anyway: another has to be clearly faster in long ones. */
#define CLEARLY 1.15

struct choice {
	gnutls_cipher_algorithm_t cipher;
	const struct aead_engine *engine;
	pthread_once_t once;
	struct aead_choice shown;
};

static struct choice choices[] = {
	{ .cipher = GNUTLS_CIPHER_AES_128_GCM, .once = PTHREAD_ONCE_INIT, .shown = { .cipher = "AES-128-GCM" } },
	{ .cipher = GNUTLS_CIPHER_AES_256_GCM, .once = PTHREAD_ONCE_INIT, .shown = { .cipher = "AES-256-GCM" } },
	{ .cipher = GNUTLS_CIPHER_CHACHA20_POLY1305, .once = PTHREAD_ONCE_INIT, .shown = { .cipher = "CHACHA20-POLY1305" } },
};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))

/* MB/s; 0: it does not work. */
static double measure(const struct aead_engine *en, gnutls_cipher_algorithm_t cipher, uint8_t *data)
{
	uint8_t key_bytes[AEAD_KEY_MAX] = { 1 }, nonce[AEAD_NONCE_SIZE] = { 0 }, aad[5] = { 23, 3, 3 };
	gnutls_datum_t key = { key_bytes, (unsigned)gnutls_cipher_get_key_size(cipher) };
	void *state = en->key(cipher, &key);
	double best = 0, speed;
	uint64_t start, spent;
	int i, k, r = 0;

	for (i = 0; state && i < TRIALS && r == 0; i++) {
		start = clock_mono_ns();
		k = 0;
		do {
			r = en->seal(state, nonce, aad, sizeof(aad), data, TRIAL_SIZE);
			k++;
			spent = clock_mono_ns() - start;
		} while (r == 0 && spent < TRIAL_NS && k < TRIAL_MAX);
		speed = k * TRIAL_SIZE * 1e3 / (double)(spent + 1);
		if (r == 0 && speed > best)
			best = speed;
	}
	if (state)
		en->unkey(state);
	return best;
}

static void choose(struct choice *c)
{
	const struct aead_engine *const *en;
	uint8_t *data = calloc(1, TRIAL_SIZE + AEAD_TAG_SIZE);
	double best = 0, speed;

	c->engine = aead_engines[0];
	for (en = aead_engines; data && *en; en++) {
		if (!(*en)->knows(c->cipher))
			continue;
		speed = measure(*en, c->cipher, data);
		if (c->shown.n < AEAD_ENGINES) {
			c->shown.tried[c->shown.n].engine = (*en)->name;
			c->shown.tried[c->shown.n++].mb_s = speed;
		}
		if (speed > best * (c->engine == aead_engines[0] ? CLEARLY : 1)) {
			c->engine = *en;
			best = speed;
		}
	}
	c->shown.engine = c->engine->name;
	free(data);
}

/* pthread_once takes no argument */
static void choose_0(void) { choose(&choices[0]); }
static void choose_1(void) { choose(&choices[1]); }
static void choose_2(void) { choose(&choices[2]); }

static struct choice *choice_at(size_t i)
{
	static void (*const all[CHOICES])(void) = { choose_0, choose_1, choose_2 };

	pthread_once(&choices[i].once, all[i]);
	return &choices[i];
}

const struct aead_choice *aead_choice(size_t i)
{
	return i < CHOICES ? &choice_at(i)->shown : NULL;
}

static const struct aead_engine *engine_for(gnutls_cipher_algorithm_t cipher)
{
	size_t i;

	for (i = 0; i < CHOICES; i++)
		if (choices[i].cipher == cipher)
			return choice_at(i)->engine;
	return aead_engines[0];
}

/* --- use -------------------------------------------------------------------------------- */

bool aead_knows(gnutls_cipher_algorithm_t cipher)
{
	switch (cipher) {
	case GNUTLS_CIPHER_AES_128_GCM:
	case GNUTLS_CIPHER_AES_256_GCM:
	case GNUTLS_CIPHER_AES_128_CCM:
	case GNUTLS_CIPHER_AES_256_CCM:
	case GNUTLS_CIPHER_CHACHA20_POLY1305:
		return true;
	default:
		return false;
	}
}

static struct aead *aead_with(const struct aead_engine *en, gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	struct aead *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->engine = en;
	a->state = en->key(cipher, key);
	if (a->state)
		return a;
	free(a);
	return NULL;
}

struct aead *aead_new(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key, struct err *e)
{
	struct aead *a = aead_with(engine_for(cipher), cipher, key);

	if (!a)
		err_set(e, ERR_RUNTIME, "cannot set up the cipher");
	return a;
}

struct aead *aead_new_by(const char *engine, gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	const struct aead_engine *const *en;

	for (en = aead_engines; *en; en++)
		if (strcmp((*en)->name, engine) == 0)
			return (*en)->knows(cipher) ? aead_with(*en, cipher, key) : NULL;
	return NULL;
}

void aead_free(struct aead *a)
{
	if (!a)
		return;
	a->engine->unkey(a->state);
	free(a);
}

int aead_seal(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return a->engine->seal(a->state, nonce, aad, aad_size, data, n);
}

int aead_open(struct aead *a, const uint8_t nonce[AEAD_NONCE_SIZE], const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	return a->engine->open(a->state, nonce, aad, aad_size, data, n);
}
