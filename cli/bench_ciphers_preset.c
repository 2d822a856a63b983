/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* The rows of `gnutls-cli --benchmark-ciphers` (3.7.9 to 3.8.13 have the same), in
 * that program's order and layout. Its faults are left out: each rate has the unit
 * that fits it, and a row that fails says why and the next one comes. */

#include "cli/bench_ciphers.h"

#include <stdlib.h>
#include <string.h>

#define PAYLOAD 16384

struct section {
	const char *heading;
	enum crypto_kind kind;
	int width; /* of the names' column */
	const char *names[9];
};

static const struct section sections[] = {
	{ "Checking AEAD ciphers", CRYPTO_AEAD, 24, { "AES-128-GCM", "AES-128-CCM", "CHACHA20-POLY1305", NULL } },
	{ "Checking cipher-MAC combinations", CRYPTO_PAIR, 24,
		{ "SALSA20-256-SHA1", "AES-128-CBC-SHA1", "AES-128-CBC-SHA256", "GOST28147-TC26Z-CNT-GOST28147-TC26Z-IMIT", NULL } },
	{ "Checking MAC algorithms", CRYPTO_MAC, 16,
		{ "SHA1", "SHA256", "SHA512", "GOST28147-TC26Z-IMIT", "GOSTR341194", "STREEBOG-512", NULL } },
	{ "Checking ciphers", CRYPTO_CIPHER, 24,
		{ "3DES-CBC", "AES-128-CBC", "AES-128-XTS", "AES-256-XTS", "SALSA20-256", "NULL", "GOST28147-TC26Z-CNT", NULL } },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROWS_MAX     (COUNT(sections) * 8)

static const struct crypto_algorithm *find(const struct crypto_engine *engine, enum crypto_kind kind, const char *name)
{
	const struct crypto_algorithm *list;
	size_t n = engine->list(&list), i;

	for (i = 0; i < n; i++) {
		if (list[i].kind == kind && strcmp(list[i].name, name) == 0)
			return &list[i];
	}
	return NULL;
}

/* `absent` stands for an algorithm that is not there. */
static struct ciphers_choice choice(const struct crypto_engine *engine, const struct section *s, const char *name,
	struct crypto_algorithm *absent)
{
	const struct crypto_algorithm *found = find(engine, s->kind, name);
	bool digest = s->kind == CRYPTO_MAC;

	if (found == NULL)
		*absent = (struct crypto_algorithm){ .name = name, .kind = s->kind };
	return (struct ciphers_choice){ engine, found ? found : absent, digest ? CRYPTO_DIGEST : CRYPTO_ENCRYPT, PAYLOAD, 1,
		!bench_ciphers_accel_is_off(), found ? NULL : "this GnuTLS does not have it" };
}

int bench_ciphers_preset_choose(const struct ciphers_options *o, struct ciphers_rows *out, struct err *e)
{
	static struct crypto_algorithm absent[ROWS_MAX];
	const struct crypto_engine *gnutls = crypto_engine_find("gnutls");

	if (o->engine.n + o->kind.n + o->size.n + o->op.n + o->threads.n + o->accel.n > 0)
		return err_set(e, ERR_CONFIG, "--preset says which rows: --engine, --kind, --size, --op, --threads and --accel do not go "
					      "with it");
	out->v = calloc(ROWS_MAX, sizeof(*out->v));
	if (out->v == NULL)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (size_t i = 0; i < COUNT(sections); i++) {
		for (const char *const *name = sections[i].names; *name != NULL; name++) {
			out->v[out->n] = choice(gnutls, &sections[i], *name, &absent[out->n]);
			out->n++;
		}
	}
	out->n_here = out->n;
	return 0;
}

static const struct row *row_of(const struct doc *d, const struct section *s, const char *name)
{
	for (size_t i = 0; i < d->n_rows; i++) {
		if (strcmp(d->rows[i]->kind, crypto_kind_name(s->kind)) == 0 && strcmp(d->rows[i]->title, name) == 0)
			return d->rows[i];
	}
	return NULL;
}

static void print_row(FILE *out, int width, const char *name, const struct row *r)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	double rate;
	size_t u = 0;

	if (r == NULL || r->status != ROW_OK) {
		fprintf(out, "%*s %s: %s\n", width, name, r ? row_status_name(r->status) : "unavailable",
			r && r->reason ? r->reason : "not measured");
		return;
	}
	for (rate = r->stats.median; rate >= 1000 && u + 1 < COUNT(units); u++)
		rate /= 1000;
	fprintf(out, "%*s %.2f %s/sec\n", width, name, rate, units[u]);
}

int bench_ciphers_preset_layout(FILE *out, const struct doc *d, struct err *e)
{
	(void)e;
	for (size_t i = 0; i < COUNT(sections); i++) {
		fprintf(out, "%s%s, payload size: %d\n", i ? "\n" : "", sections[i].heading, PAYLOAD);
		for (const char *const *name = sections[i].names; *name != NULL; name++)
			print_row(out, sections[i].width, *name, row_of(d, &sections[i], *name));
	}
	return 0;
}
