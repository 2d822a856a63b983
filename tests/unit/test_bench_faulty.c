/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* bench-ciphers with an engine that is broken, beside one that is not: a row of wrong
 * results has no rate, says why, and the others go on. */

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench_ciphers.h"
#include "cli/cmd.h"
#include "lib/crypto/crypto_int.h"
#include "tests/unit/timeout.h"

TestSuite(bench_faulty, .timeout = TEST_TIMEOUT);

#define SOUND_CALLS 40 /* what opening and checking an object take, and more */

/* --- the engine ------------------------------------------------------------------- */

static enum { SOUND, FORGED, IDLE, WRONG, FAILS, NOT_KEYED, NOT_CHECKED, ABSENT } fault;
static unsigned opened; /* messages */

static int set_key(void *state, const struct crypto_way *w, enum crypto_op op, const uint8_t *key, size_t key_size)
{
	(void)state;
	(void)w;
	(void)op;
	(void)key;
	(void)key_size;
	return fault == NOT_KEYED ? -7 : 0;
}

/* "Encrypts" by changing the first byte, of which the tag is a copy. */
static int seal(void *state, const struct crypto_message *m)
{
	(void)state;
	memmove(m->out, m->in, m->size);
	m->out[0] ^= 1;
	m->out[m->size] = m->out[0];
	return 0;
}

static int unseal(void *state, const struct crypto_message *m)
{
	bool sound = ++opened <= SOUND_CALLS;

	(void)state;
	if (!sound && fault == IDLE)
		return 0;
	if (!sound && fault == FAILS)
		return -7;
	if ((!sound && fault == FORGED) || (m->in[m->size] != m->in[0] && fault != NOT_CHECKED))
		return CRYPTO_FORGED;
	memmove(m->out, m->in, m->size);
	m->out[0] ^= !sound && fault == WRONG ? 0 : 1;
	return 0;
}

static const char *why(int code)
{
	return code == -7 ? "it is Sunday" : "?";
}

static struct crypto_way ways[] = { { .name = "COPY",
	.kind = CRYPTO_AEAD,
	.shape = { .nonce_size = 12, .tag_size = 1, .block = 1, .min = 1 },
	.state_size = 1,
	.key = set_key,
	.seal = seal,
	.open = unseal } };
static struct crypto_algorithm algorithms[] = { { .name = "COPY", .kind = CRYPTO_AEAD } };
static const struct crypto_table table = { ways, algorithms, 1, 1, why };

static const struct crypto_table *get_table(void)
{
	return &table;
}

static size_t list(const struct crypto_algorithm **out)
{
	*out = algorithms;
	return 1;
}

static const char *version(void)
{
	return "0.1";
}

static struct crypto_object *open_object(const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e);
static const struct crypto_engine faulty = { "faulty", "Faulty", version, list, open_object, object_run, object_close,
	get_table, NULL };

static struct crypto_object *open_object(const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	opened = 0;
	if (fault == ABSENT) {
		err_set(e, ERR_CONFIG, "there is none today");
		return NULL;
	}
	return object_open(&faulty, a, op, size, e);
}

/* --- the command ------------------------------------------------------------------- */

/* The whole command with that engine and GnuTLS; what it stored. *code: its exit code. */
static struct doc *measured(int what, int *code)
{
	static const struct crypto_engine *const engines[] = { &faulty, &gnutls_engine, NULL };
	char path[] = "/tmp/tlskit-test-XXXXXX";
	int fd = mkstemp(path);
	char *argv[] = { (char *)"bench-ciphers", (char *)"COPY", (char *)"AES-128-GCM", (char *)"--kind", (char *)"aead",
		(char *)"--samples", (char *)"2", (char *)"--time", (char *)"1ms", (char *)"--json", (char *)"-o", path, NULL };
	struct doc *d;
	struct err e;

	cr_assert_geq(fd, 0);
	close(fd);
	fault = what;
	crypto_engines_set(engines);
	*code = cmd_bench_ciphers.run(&cmd_bench_ciphers, (int)(sizeof(argv) / sizeof(*argv)) - 1, argv);
	crypto_engines_set(NULL);
	d = report_read(path, "bench-ciphers", &e);
	unlink(path);
	cr_assert(d, "%s", e.msg);
	cr_assert_eq(d->n_rows, 4);
	return d;
}

static void is_row(const struct doc *d, const char *id, enum row_status status, const char *says)
{
	const struct row *r = doc_find(d, id);

	cr_assert(r, "%s", id);
	cr_expect_eq(r->status, status, "%s: %s", id, row_status_name(r->status));
	if (says) {
		cr_expect(r->reason && strstr(r->reason, says), "%s: %s", id, r->reason);
		cr_expect_eq(r->n_samples, 0, "%s: a rate of what went wrong", id);
		cr_expect_eq(r->flags, 0U);
	} else {
		cr_expect_null(r->reason);
		cr_expect_eq(r->n_samples, 2);
		cr_expect_gt(r->stats.median, 0);
	}
}

/* What becomes of the rows of both operations. */
static const struct {
	int fault;
	int code;
	enum row_status encrypt, decrypt;
	const char *encrypt_says, *decrypt_says;
} cases[] = {
	{ SOUND, 0, ROW_OK, ROW_OK, NULL, NULL },
	{ FORGED, 1, ROW_OK, ROW_ERROR, NULL, "the tag does not match" },
	{ IDLE, 1, ROW_OK, ROW_ERROR, NULL, "the plaintext is not what was encrypted" },
	{ WRONG, 1, ROW_OK, ROW_ERROR, NULL, "the plaintext is not what was encrypted" },
	{ FAILS, 1, ROW_OK, ROW_ERROR, NULL, "failed: it is Sunday" },
	{ NOT_KEYED, 1, ROW_ERROR, ROW_ERROR, "cannot set the key: it is Sunday", "cannot set the key: it is Sunday" },
	{ NOT_CHECKED, 1, ROW_ERROR, ROW_ERROR, "a forged message was accepted", "a forged message was accepted" },
	{ ABSENT, 0, ROW_UNAVAILABLE, ROW_UNAVAILABLE, "there is none today", "there is none today" },
};

Test(bench_faulty, a_row_of_wrong_results_is_an_error_and_the_others_go_on)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int code;
		struct doc *d = measured(cases[i].fault, &code);

		cr_expect_eq(code, cases[i].code, "%zu: exit code %d", i, code);
		is_row(d, "aead/COPY/faulty/encrypt/16384", cases[i].encrypt, cases[i].encrypt_says);
		is_row(d, "aead/COPY/faulty/decrypt/16384", cases[i].decrypt, cases[i].decrypt_says);
		is_row(d, "aead/AES-128-GCM/gnutls/encrypt/16384", ROW_OK, NULL);
		is_row(d, "aead/AES-128-GCM/gnutls/decrypt/16384", ROW_OK, NULL);
		cr_expect_not(d->interrupted);
		doc_free(d);
	}
}

/* For people and for programs. */
Test(bench_faulty, every_format_tells_why)
{
	static const enum report_format formats[] = { REPORT_TEXT, REPORT_CSV, REPORT_MARKDOWN, REPORT_SVG };
	const struct report_style style = { .width = 80 };
	int code;
	struct doc *d = measured(FORGED, &code);
	struct err e;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		cr_assert_eq(report_write(out, d, formats[i], &style, &e), 0, "%s", e.msg);
		fclose(out);
		cr_expect(strstr(text, "error") && strstr(text, "the tag does"), "%s", text);
		free(text);
	}
	doc_free(d);
}

/* --- a library that lacks what a preset names ----------------------------------------- */

Test(bench_faulty, what_a_preset_names_and_nobody_has_is_a_row)
{
	static const struct crypto_engine bare = { "gnutls", "GnuTLS", version, list, open_object, object_run, object_close,
		get_table, NULL };
	static const struct crypto_engine *const engines[] = { &bare, NULL };
	struct ciphers_options o = { .preset = CIPHERS_GNUTLS_CLI };
	struct ciphers_rows rows = { 0 };
	struct err e;

	crypto_engines_set(engines);
	algorithms[0].name = "AES-128-CCM";
	cr_assert_eq(bench_ciphers_preset_choose(&o, &rows, &e), 0);
	cr_assert_eq(rows.n, 20);
	cr_assert_eq(rows.n_here, rows.n);
	for (size_t i = 0; i < rows.n; i++) {
		struct row *r = bench_ciphers_row(&rows.v[i]);

		cr_assert_not_null(r);
		cr_expect_eq(r->status, i == 1 ? ROW_OK : ROW_UNAVAILABLE, "%s", r->id);
		cr_expect(i == 1 || strcmp(r->reason, "this GnuTLS does not have it") == 0, "%s", r->id);
		row_free(r);
	}
	bench_ciphers_rows_free(&rows);
	crypto_engines_set(NULL);
}
