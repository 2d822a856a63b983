/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Every algorithm of every engine: what open() and run() promise. */

#include <criterion/criterion.h>
#include <string.h>

#include "lib/crypto/crypto_int.h"
#include "tests/unit/timeout.h"

TestSuite(crypto, .timeout = TEST_TIMEOUT);

static const size_t sizes[] = { 1, 16, 1400, 16384 };

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static bool is_digest(const struct crypto_algorithm *a)
{
	return a->kind == CRYPTO_MAC || a->kind == CRYPTO_HASH;
}

/* Opens, runs twice, closes; true: ran, false: said that it cannot be. */
static bool try_it(const struct crypto_engine *g, const struct crypto_algorithm *a, enum crypto_op op, size_t size)
{
	struct err e = { 0 };
	struct crypto_object *o = g->open(a, op, size, &e);

	if (!o) {
		cr_assert_eq(e.kind, ERR_CONFIG, "%s %s %s %zu: %s", g->name, a->name, crypto_op_name(op), size, e.msg);
		cr_assert(e.msg[0]);
		return false;
	}
	cr_assert_eq(g->run(o, 3, &e), 0, "%s %s %s %zu: %s", g->name, a->name, crypto_op_name(op), size, e.msg);
	cr_assert_eq(g->run(o, 1, &e), 0, "%s", e.msg);
	cr_assert_eq(g->run(o, 0, &e), 0, "%s", e.msg);
	g->close(o);
	return true;
}

Test(crypto, everything_that_is_listed_runs)
{
	const struct crypto_engine *const *g;
	const struct crypto_algorithm *a;
	size_t n, i, k, ran;

	for (g = crypto_engines(); *g; g++) {
		n = (*g)->list(&a);
		cr_assert_gt(n, 10, "%s", (*g)->name);
		for (i = 0; i < n; i++) {
			for (k = ran = 0; k < COUNT(sizes); k++) {
				ran += try_it(*g, &a[i], is_digest(&a[i]) ? CRYPTO_DIGEST : CRYPTO_ENCRYPT, sizes[k]);
				if (!is_digest(&a[i]))
					try_it(*g, &a[i], CRYPTO_DECRYPT, sizes[k]);
			}
			cr_assert_geq(ran, 2, "%s %s", (*g)->name, a[i].name);
		}
	}
}

/* A cipher whose stream goes on decrypts one byte right now and then, by chance. */
Test(crypto, one_byte_is_not_decrypted_by_chance)
{
	const struct crypto_engine *const *g;
	const struct crypto_algorithm *a;
	size_t n, i, k;

	for (g = crypto_engines(); *g; g++) {
		n = (*g)->list(&a);
		for (i = 0; i < n; i++)
			for (k = 0; a[i].kind == CRYPTO_CIPHER && k < 1500; k++)
				try_it(*g, &a[i], CRYPTO_DECRYPT, 1);
	}
}

Test(crypto, authenticated_ways_run_at_any_size_in_both_directions)
{
	const struct crypto_engine *const *g;
	const struct crypto_algorithm *a;
	size_t n, i, k;

	for (g = crypto_engines(); *g; g++) {
		n = (*g)->list(&a);
		for (i = 0; i < n; i++)
			for (k = 0; (a[i].kind == CRYPTO_AEAD || a[i].kind == CRYPTO_RECORD) && k < COUNT(sizes); k++)
				cr_assert(try_it(*g, &a[i], CRYPTO_ENCRYPT, sizes[k]) &&
						try_it(*g, &a[i], CRYPTO_DECRYPT, sizes[k]),
					"%s %s", (*g)->name, a[i].name);
	}
}

Test(crypto, lists_have_no_duplicates)
{
	const struct crypto_engine *const *g;
	const struct crypto_algorithm *a, *again;
	size_t n, i, k;

	for (g = crypto_engines(); *g; g++) {
		n = (*g)->list(&a);
		cr_assert_eq((*g)->list(&again), n);
		cr_assert_eq(a, again);
		for (i = 0; i < n; i++)
			for (k = 0; k < i; k++)
				cr_assert(a[i].kind != a[k].kind || strcmp(a[i].name, a[k].name) != 0, "%s: %s",
					(*g)->name, a[i].name);
	}
}

static const struct crypto_algorithm *find(const struct crypto_engine *g, const char *name, enum crypto_kind kind)
{
	const struct crypto_algorithm *a;
	size_t n = g->list(&a), i;

	for (i = 0; i < n; i++)
		if (a[i].kind == kind && !strcmp(a[i].name, name))
			return &a[i];
	return NULL;
}

/* Those that gnutls-cli measures and a distribution does not switch off. */
Test(crypto, gnutls_has_what_gnutls_cli_has)
{
	static const struct {
		const char *name;
		enum crypto_kind kind;
	} wanted[] = {
		{ "AES-128-GCM", CRYPTO_AEAD },
		{ "AES-128-CCM", CRYPTO_AEAD },
		{ "CHACHA20-POLY1305", CRYPTO_AEAD },
		{ "AES-256-GCM", CRYPTO_RECORD },
		{ "AES-128-CBC-SHA1", CRYPTO_PAIR },
		{ "AES-128-CBC-SHA256", CRYPTO_PAIR },
		{ "SHA1", CRYPTO_MAC },
		{ "SHA256", CRYPTO_MAC },
		{ "SHA512", CRYPTO_MAC },
		{ "SHA256", CRYPTO_HASH },
		{ "AES-128-CBC", CRYPTO_CIPHER },
		{ "AES-256-XTS", CRYPTO_CIPHER },
		{ "NULL", CRYPTO_CIPHER },
	};
	const struct crypto_engine *g = crypto_engine_find("gnutls");
	size_t i;

	cr_assert(g);
	for (i = 0; i < COUNT(wanted); i++)
		cr_assert(find(g, wanted[i].name, wanted[i].kind), "%s", wanted[i].name);
	cr_assert_not(find(g, "AEAD", CRYPTO_MAC));
}

Test(crypto, what_cannot_be_is_a_matter_of_configuration)
{
	static const struct {
		const char *name;
		enum crypto_kind kind;
		enum crypto_op op;
		size_t size;
		const char *says;
	} cases[] = {
		{ "AES-128-CBC", CRYPTO_CIPHER, CRYPTO_ENCRYPT, 1400, "16-byte blocks: 1400 is not a multiple" },
		{ "AES-128-CBC", CRYPTO_CIPHER, CRYPTO_DECRYPT, 1, "16-byte blocks" },
		{ "AES-128-XTS", CRYPTO_CIPHER, CRYPTO_ENCRYPT, 1, "16 bytes" },
		{ "AES-128-GCM", CRYPTO_AEAD, CRYPTO_ENCRYPT, 0, "not 0" },
		{ "AES-128-GCM", CRYPTO_AEAD, CRYPTO_ENCRYPT, CRYPTO_SIZE_MAX + 1U, "16 MiB" },
		{ "AES-128-GCM", CRYPTO_AEAD, CRYPTO_DIGEST, 16, "no digest" },
		{ "SHA256", CRYPTO_HASH, CRYPTO_ENCRYPT, 16, "hash" },
		{ "SHA256", CRYPTO_MAC, CRYPTO_DECRYPT, 16, "mac" },
	};
	const struct crypto_engine *g = crypto_engine_find("gnutls");
	struct err e;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		cr_assert_null(g->open(find(g, cases[i].name, cases[i].kind), cases[i].op, cases[i].size, &e));
		cr_assert_eq(e.kind, ERR_CONFIG, "%s", e.msg);
		cr_assert(strstr(e.msg, cases[i].says), "%s", e.msg);
	}
}

Test(crypto, the_longest_message)
{
	const struct crypto_engine *const *g;
	const struct crypto_algorithm *a;

	for (g = crypto_engines(); *g; g++) {
		a = find(*g, "CHACHA20-POLY1305", CRYPTO_RECORD);
		cr_assert(try_it(*g, a, CRYPTO_ENCRYPT, CRYPTO_SIZE_MAX));
		cr_assert(try_it(*g, a, CRYPTO_DECRYPT, CRYPTO_SIZE_MAX));
	}
}

Test(crypto, names)
{
	const struct crypto_engine *const *g;

	for (g = crypto_engines(); *g; g++) {
		cr_assert_eq(crypto_engine_find((*g)->name), *g);
		cr_assert((*g)->version()[0] >= '0' && (*g)->version()[0] <= '9');
		(*g)->close(NULL);
	}
	cr_assert_null(crypto_engine_find("none"));
	cr_assert_str_eq(crypto_kind_name(CRYPTO_RECORD), "record");
	cr_assert_str_eq(crypto_op_name(CRYPTO_DIGEST), "digest");
	cr_assert(crypto_is_weak("3DES-CBC", CRYPTO_CIPHER) && crypto_is_weak("SHA1", CRYPTO_HASH) &&
		crypto_is_weak("MD5", CRYPTO_MAC));
	cr_assert_not(crypto_is_weak("SHA1", CRYPTO_MAC) || crypto_is_weak("AES-128-GCM", CRYPTO_AEAD));
}

/* --- an engine that is broken in the way that a test asks for ------------------------------- */

static enum {
	SOUND,
	NO_KEY,
	NO_TAG,
	FORGETS,
	FAILS_LATER,
	FORGED_LATER,
	WRONG_LATER,
	IDLE_LATER,
	DIGEST_CHANGES
} fault;
static uint64_t calls;

static bool later(void)
{
	return ++calls > 8;
}

static int faulty_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)state;
	(void)w;
	(void)op;
	(void)key;
	(void)key_size;
	return fault == NO_KEY ? -7 : 0;
}

/* "Encrypts" by adding 1; the tag is the sum. */
static int faulty_seal(void *state, const struct crypto_message *m)
{
	uint8_t sum = 0;
	size_t i;

	(void)state;
	for (i = 0; i < m->size; i++)
		sum = (uint8_t)(sum + (m->out[i] = (uint8_t)(m->in[i] + 1)));
	m->out[m->size] = sum;
	return later() && fault == FAILS_LATER ? -7 : 0;
}

static int faulty_open(void *state, const struct crypto_message *m)
{
	uint8_t sum = 0;
	size_t i;

	(void)state;
	if (later() && fault == IDLE_LATER)
		return 0;
	for (i = 0; i < m->size; i++) {
		sum = (uint8_t)(sum + m->in[i]);
		m->out[i] = (uint8_t)(m->in[i] - (fault == FORGETS ? 0 : 1));
	}
	if (calls > 8 && fault == FAILS_LATER)
		return -7;
	if (calls > 8 && fault == WRONG_LATER)
		m->out[m->size / 2] ^= 1;
	if (calls > 8 && fault == FORGED_LATER)
		sum++;
	return fault == NO_TAG || sum == m->in[m->size] ? 0 : CRYPTO_FORGED;
}

static int faulty_digest(void *state, const struct crypto_message *m)
{
	(void)state;
	m->out[0] = (uint8_t)(m->in[0] + (later() && fault == DIGEST_CHANGES));
	return 0;
}

static const char *faulty_why(int code)
{
	return code == -7 ? "it is Sunday" : "?";
}

static struct crypto_way faulty_ways[] = {
	{ .name = "SUM",
		.kind = CRYPTO_AEAD,
		.shape = { .nonce_size = 12, .tag_size = 1, .block = 1, .min = 1 },
		.state_size = 1,
		.key = faulty_key,
		.seal = faulty_seal,
		.open = faulty_open },
	{ .name = "FIRST",
		.kind = CRYPTO_HASH,
		.shape = { .tag_size = 1, .block = 1, .min = 1 },
		.state_size = 1,
		.seal = faulty_digest },
};
static struct crypto_algorithm faulty_list[] = { { .name = "SUM", .kind = CRYPTO_AEAD },
	{ .name = "FIRST", .kind = CRYPTO_HASH, .id = 1 } };
static const struct crypto_table faulty_table = { faulty_ways, faulty_list, 2, 2, faulty_why };

static const struct crypto_table *faulty_get(void)
{
	return &faulty_table;
}

static size_t faulty_all(const struct crypto_algorithm **out)
{
	*out = faulty_list;
	return 2;
}

static struct crypto_object *faulty_object(
	const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e);
static const struct crypto_engine faulty = { "faulty", "Faulty", NULL, faulty_all, faulty_object, object_run,
	object_close, faulty_get, NULL };

static struct crypto_object *faulty_object(
	const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	return object_open(&faulty, a, op, size, e);
}

/* open and a run of 20; what e says, "" when all went well. *opened: how far it came. */
static const char *outcome(int what, size_t which, enum crypto_op op, bool *opened)
{
	static struct err e;
	struct crypto_object *o;

	memset(&e, 0, sizeof(e));
	fault = what;
	calls = 0;
	o = faulty.open(&faulty_list[which], op, 100, &e);
	*opened = o != NULL;
	if (o && faulty.run(o, 20, &e) == 0)
		e.msg[0] = '\0';
	else
		cr_assert_eq(e.kind, ERR_RUNTIME, "%s", e.msg);
	faulty.close(o);
	return e.msg;
}

Test(crypto, a_fault_is_an_error)
{
	static const struct {
		int fault;
		size_t which;
		enum crypto_op op;
		bool opens;
		const char *says;
	} cases[] = {
		{ SOUND, 0, CRYPTO_ENCRYPT, true, "" },
		{ SOUND, 0, CRYPTO_DECRYPT, true, "" },
		{ SOUND, 1, CRYPTO_DIGEST, true, "" },
		{ NO_KEY, 0, CRYPTO_ENCRYPT, false, "cannot set the key: it is Sunday" },
		{ NO_TAG, 0, CRYPTO_ENCRYPT, false, "a forged message was accepted" },
		{ NO_TAG, 0, CRYPTO_DECRYPT, false, "a forged message was accepted" },
		{ FORGETS, 0, CRYPTO_ENCRYPT, false, "decryption does not give what was encrypted" },
		{ FAILS_LATER, 0, CRYPTO_ENCRYPT, true, "failed: it is Sunday" },
		{ FAILS_LATER, 0, CRYPTO_DECRYPT, true, "failed: it is Sunday" },
		{ FORGED_LATER, 0, CRYPTO_DECRYPT, true, "failed: the tag does not match" },
		{ WRONG_LATER, 0, CRYPTO_DECRYPT, true, "the plaintext is not what was encrypted" },
		{ DIGEST_CHANGES, 1, CRYPTO_DIGEST, true, "the digest changes" },
	};
	const char *says;
	bool opened;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		says = outcome(cases[i].fault, cases[i].which, cases[i].op, &opened);
		cr_assert_eq(opened, cases[i].opens, "%zu: %s", i, says);
		cr_assert(cases[i].says[0] ? strstr(says, cases[i].says) != NULL : !says[0], "%zu: %s", i, says);
	}
}

/* The plaintext of the run before must not pass for that of this one. */
Test(crypto, a_run_that_does_nothing_is_an_error)
{
	struct crypto_object *o;
	struct err e;

	fault = SOUND;
	o = faulty.open(&faulty_list[0], CRYPTO_DECRYPT, 100, &e);
	cr_assert(o, "%s", e.msg);
	cr_assert_eq(faulty.run(o, 20, &e), 0, "%s", e.msg);
	fault = IDLE_LATER;
	cr_assert_eq(faulty.run(o, 20, &e), -1);
	cr_assert(strstr(e.msg, "the plaintext is not"), "%s", e.msg);
	faulty.close(o);
}

Test(crypto, engines_can_be_others)
{
	static const struct crypto_engine *const others[] = { &faulty, NULL };

	crypto_engines_set(others);
	cr_assert_eq(crypto_engine_find("faulty"), &faulty);
	cr_assert_null(crypto_engine_find("gnutls"));
	crypto_engines_set(NULL);
	cr_assert(crypto_engine_find("gnutls"));
}
