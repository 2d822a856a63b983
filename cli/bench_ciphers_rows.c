/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/bench_ciphers.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/near.h"
#include "lib/base/units.h"

#define SIZE_MAX_BYTES (16 * 1024 * 1024)
#define NUMBERS_MAX    32
#define THREADS_MAX    1024

static const enum crypto_kind kinds[] = { CRYPTO_AEAD, CRYPTO_RECORD, CRYPTO_PAIR, CRYPTO_MAC, CRYPTO_HASH, CRYPTO_CIPHER };
static const size_t usual_sizes[] = { 16384 };
static const size_t record_sizes[] = { 1400, 16384 }; /* a packet's worth, the largest record */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What was asked for, parsed. */
struct wanted {
	const struct crypto_engine *engines[8];
	unsigned n_engines;
	bool all_kinds; /* of every engine; else GnuTLS's alone beyond AEADs */
	unsigned kinds; /* bits */
	bool digest_ops, encrypt, decrypt;
	size_t sizes[NUMBERS_MAX];
	unsigned n_sizes; /* 0: the usual ones */
	unsigned threads[NUMBERS_MAX], n_threads;
	bool accel_on, accel_off;
	const struct opt_list *names;
	bool *matched; /* by name: some algorithm fits */
};

/* --- parsing --------------------------------------------------------------------- */

static int no_such(struct err *e, const char *option, const char *text, const char *const *words, size_t n)
{
	const char *near = near_match(text, words, n);
	char list[200] = "";

	for (size_t i = 0; i < n; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", words[i]);
	return err_set(e, ERR_CONFIG, "--%s: \"%.60s\" is none of %s%s%s%s", option, text, list, near ? "; did you mean \"" : "",
		near ? near : "", near ? "\"?" : "");
}

static int parse_engines(const struct opt_list *l, struct wanted *w, struct err *e)
{
	const struct crypto_engine *const *all = crypto_engines();
	const char *names[COUNT(w->engines)];
	size_t n = 0, i, k;

	for (; all[n] != NULL && n < COUNT(names); n++)
		names[n] = all[n]->name;
	for (i = 0; i < l->n; i++) {
		const struct crypto_engine *engine = crypto_engine_find(l->v[i]);

		if (engine == NULL)
			return no_such(e, "engine", l->v[i], names, n);
		for (k = 0; k < w->n_engines && w->engines[k] != engine; k++)
			;
		w->engines[k] = engine; /* no more of them than there are engines */
		w->n_engines += k == w->n_engines;
	}
	w->all_kinds = l->n > 0;
	if (l->n == 0) {
		memcpy(w->engines, all, n * sizeof(*all));
		w->n_engines = (unsigned)n;
	}
	return 0;
}

static int parse_kinds(const struct ciphers_options *o, struct wanted *w, struct err *e)
{
	const char *names[COUNT(kinds)];
	size_t i, k;

	for (k = 0; k < COUNT(kinds); k++)
		names[k] = crypto_kind_name(kinds[k]);
	for (i = 0; i < o->kind.n; i++) {
		for (k = 0; k < COUNT(kinds) && strcmp(o->kind.v[i], names[k]) != 0; k++)
			;
		if (k == COUNT(kinds))
			return no_such(e, "kind", o->kind.v[i], names, COUNT(kinds));
		w->kinds |= 1u << kinds[k];
	}
	if (w->kinds == 0 && o->bench.quick && w->names->n == 0)
		w->kinds = 1u << CRYPTO_AEAD | 1u << CRYPTO_RECORD;
	if (w->kinds == 0)
		w->kinds = ~0u;
	return 0;
}

static int parse_ops(const struct opt_list *l, struct wanted *w, struct err *e)
{
	static const char *const words[] = { "encrypt", "decrypt", "digest" };

	w->encrypt = w->decrypt = w->digest_ops = l->n == 0;
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i], "encrypt") == 0)
			w->encrypt = true;
		else if (strcmp(l->v[i], "decrypt") == 0)
			w->decrypt = true;
		else if (strcmp(l->v[i], "digest") == 0)
			w->digest_ops = true;
		else
			return no_such(e, "op", l->v[i], words, COUNT(words));
	}
	return 0;
}

static int parse_sizes(const struct opt_list *l, struct wanted *w, struct err *e)
{
	uint64_t n;
	unsigned k;

	if (l->n > NUMBERS_MAX)
		return err_set(e, ERR_CONFIG, "--size: at most %d sizes", NUMBERS_MAX);
	for (size_t i = 0; i < l->n; i++) {
		if (units_parse_size(l->v[i], &n) < 0)
			return err_set(e, ERR_CONFIG, "--size: \"%.60s\" is not a number of bytes (16384, 16K, 1M)", l->v[i]);
		if (n < 1 || n > SIZE_MAX_BYTES)
			return err_set(e, ERR_CONFIG, "--size: %.60s is not between 1 and 16M bytes", l->v[i]);
		for (k = 0; k < w->n_sizes && w->sizes[k] != n; k++)
			;
		w->sizes[k] = (size_t)n;
		w->n_sizes += k == w->n_sizes;
	}
	return 0;
}

static int parse_threads(const struct opt_list *l, struct wanted *w, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n;
	unsigned k;

	if (l->n > NUMBERS_MAX)
		return err_set(e, ERR_CONFIG, "--threads: at most %d numbers", NUMBERS_MAX);
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i], "N") == 0)
			n = cpus > 0 ? (uint64_t)cpus : 1;
		else if (units_parse_uint(l->v[i], 1, THREADS_MAX, &n) < 0)
			return err_set(e, ERR_CONFIG, "--threads: \"%.60s\" is no number from 1 to %d, nor N for all processors", l->v[i],
				THREADS_MAX);
		for (k = 0; k < w->n_threads && w->threads[k] != n; k++)
			;
		w->threads[k] = (unsigned)n;
		w->n_threads += k == w->n_threads;
	}
	if (l->n == 0)
		w->threads[w->n_threads++] = 1;
	return 0;
}

static int parse_accel(const struct opt_list *l, struct wanted *w, struct err *e)
{
	static const char *const words[] = { "on", "off" };

	w->accel_on = l->n == 0;
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i], "on") == 0)
			w->accel_on = true;
		else if (strcmp(l->v[i], "off") == 0)
			w->accel_off = true;
		else
			return no_such(e, "accel", l->v[i], words, COUNT(words));
	}
	return 0;
}

/* --- choosing ---------------------------------------------------------------------- */

static bool name_fits(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static bool named(struct wanted *w, const char *name)
{
	bool fits = w->names->n == 0;

	for (size_t i = 0; i < w->names->n; i++) {
		if (name_fits(w->names->v[i], name))
			fits = w->matched[i] = true;
	}
	return fits;
}

static int add(struct ciphers_rows *rows, const struct ciphers_choice *c)
{
	struct ciphers_choice *v;

	if ((rows->n & (rows->n - 1)) == 0) { /* full at each power of two */
		v = realloc(rows->v, (rows->n ? 2 * rows->n : 1) * sizeof(*v));
		if (v == NULL)
			return -1;
		rows->v = v;
	}
	rows->v[rows->n++] = *c;
	return 0;
}

static int add_sizes_and_threads(const struct wanted *w, struct ciphers_choice *c, struct ciphers_rows *rows)
{
	bool record = c->algorithm->kind == CRYPTO_RECORD;
	const size_t *sizes = w->n_sizes ? w->sizes : record ? record_sizes : usual_sizes;
	size_t n = w->n_sizes ? w->n_sizes : record ? COUNT(record_sizes) : COUNT(usual_sizes);

	for (size_t i = 0; i < n; i++) {
		for (unsigned k = 0; k < w->n_threads; k++) {
			c->size_bytes = sizes[i];
			c->threads = w->threads[k];
			if (add(rows, c) < 0)
				return -1;
		}
	}
	return 0;
}

static int add_ops(const struct wanted *w, const struct crypto_engine *engine, const struct crypto_algorithm *a,
	struct ciphers_rows *rows)
{
	bool digest = a->kind == CRYPTO_MAC || a->kind == CRYPTO_HASH;
	struct ciphers_choice c = { .engine = engine, .algorithm = a, .accel = !bench_ciphers_accel_is_off() };
	const struct {
		bool wanted;
		enum crypto_op op;
	} ops[] = {
		{ digest && w->digest_ops, CRYPTO_DIGEST },
		{ !digest && w->encrypt, CRYPTO_ENCRYPT },
		{ !digest && w->decrypt, CRYPTO_DECRYPT },
	};

	for (size_t i = 0; i < COUNT(ops); i++) {
		c.op = ops[i].op;
		if (ops[i].wanted && add_sizes_and_threads(w, &c, rows) < 0)
			return -1;
	}
	return 0;
}

/* Without --engine the others are there for AEADs, where they differ most. */
static bool kind_fits(const struct wanted *w, unsigned engine, enum crypto_kind kind)
{
	if (!(w->kinds & 1u << kind))
		return false;
	return w->all_kinds || w->names->n > 0 || engine == 0 || kind == CRYPTO_AEAD || kind == CRYPTO_RECORD;
}

/* An algorithm of engine `first` and the same of the engines behind it, so that
 * they stand together; those that an engine before it has too are passed over. */
static int add_algorithm(struct wanted *w, unsigned first, const struct crypto_algorithm *a, struct ciphers_rows *rows)
{
	for (unsigned i = 0; i < w->n_engines; i++) {
		const struct crypto_algorithm *list;
		size_t n = w->engines[i]->list(&list), k;

		for (k = 0; k < n && (list[k].kind != a->kind || strcmp(list[k].name, a->name) != 0); k++)
			;
		if (k == n || !kind_fits(w, i, a->kind))
			continue;
		if (i < first)
			return 0;
		if (add_ops(w, w->engines[i], &list[k], rows) < 0)
			return -1;
	}
	return 0;
}

/* -1: no memory. */
static int add_kind(struct wanted *w, enum crypto_kind kind, struct ciphers_rows *rows)
{
	for (unsigned i = 0; i < w->n_engines; i++) {
		const struct crypto_algorithm *list;
		size_t n = w->engines[i]->list(&list);

		for (size_t k = 0; k < n; k++) {
			if (list[k].kind == kind && kind_fits(w, i, kind) && named(w, list[k].name) &&
				add_algorithm(w, i, &list[k], rows) < 0)
				return -1;
		}
	}
	return 0;
}

/* Those of this process, then the same without acceleration. Where it is off in this
 * process already there is nothing else to be had. */
static int add_rows(struct wanted *w, struct ciphers_rows *rows)
{
	bool off = bench_ciphers_accel_is_off();
	size_t i;

	for (size_t k = 0; k < COUNT(kinds); k++) {
		if (add_kind(w, kinds[k], rows) < 0)
			return -1;
	}
	rows->n_here = w->accel_on || off ? rows->n : 0;
	for (i = 0; !off && w->accel_off && i < rows->n_here; i++) {
		struct ciphers_choice c = rows->v[i];

		if (add(rows, &c) < 0)
			return -1;
	}
	for (i = off ? 0 : rows->n_here; i < rows->n; i++) {
		rows->v[i].accel = false;
		rows->v[i].unavailable = rows->v[i].engine->no_switch;
	}
	return 0;
}

/* --- names that fit nothing --------------------------------------------------------- */

static int unknown_name(const char *name, struct err *e)
{
	const struct crypto_engine *const *engines = crypto_engines();
	const char *all[1024], *near;
	size_t count = 0;

	for (; *engines != NULL; engines++) {
		const struct crypto_algorithm *list;
		size_t n = (*engines)->list(&list);

		for (size_t k = 0; k < n && count < COUNT(all); k++) {
			if (name_fits(name, list[k].name))
				return err_set(e, ERR_CONFIG, "\"%.60s\" fits %s, which --engine or --kind leaves out; --list shows what there is",
					name, list[k].name);
			all[count++] = list[k].name;
		}
	}
	near = near_match(name, all, count);
	if (near != NULL)
		return err_set(e, ERR_CONFIG, "no algorithm \"%.60s\" here; did you mean \"%s\"? --list shows all", name, near);
	return err_set(e, ERR_CONFIG, "no algorithm fits \"%.60s\"; --list shows all", name);
}

static int check_found(const struct wanted *w, const struct ciphers_rows *rows, struct err *e)
{
	for (size_t i = 0; i < w->names->n; i++) {
		if (!w->matched[i])
			return unknown_name(w->names->v[i], e);
	}
	if (rows->n == 0)
		return err_set(e, ERR_CONFIG, "no row fits --engine, --kind and --op together; --list shows all");
	return 0;
}

int bench_ciphers_choose(const struct ciphers_options *o, const struct opt_list *names, struct ciphers_rows *out,
	struct err *e)
{
	struct wanted w = { .names = names, .matched = calloc(names->n + 1, sizeof(bool)) };
	int r = w.matched ? 0 : err_set(e, ERR_RUNTIME, "no memory");

	if (r == 0)
		r = parse_engines(&o->engine, &w, e);
	if (r == 0)
		r = parse_kinds(o, &w, e);
	if (r == 0)
		r = parse_ops(&o->op, &w, e);
	if (r == 0)
		r = parse_sizes(&o->size, &w, e);
	if (r == 0)
		r = parse_threads(&o->threads, &w, e);
	if (r == 0)
		r = parse_accel(&o->accel, &w, e);
	if (r == 0 && add_rows(&w, out) < 0)
		r = err_set(e, ERR_RUNTIME, "no memory");
	if (r == 0)
		r = check_found(&w, out, e);
	free(w.matched);
	return r;
}

void bench_ciphers_rows_free(struct ciphers_rows *r)
{
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

/* --- rows ---------------------------------------------------------------------------- */

struct row *bench_ciphers_row(const struct ciphers_choice *c)
{
	const char *kind = crypto_kind_name(c->algorithm->kind), *op = crypto_op_name(c->op);
	char id[200], tail[32] = "";
	struct row *r;

	if (c->threads > 1)
		snprintf(tail, sizeof(tail), "/t%u", c->threads);
	snprintf(id, sizeof(id), "%s/%s/%s/%s/%zu%s%s", kind, c->algorithm->name, c->engine->name, op, c->size_bytes, tail,
		c->accel ? "" : "/accel-off");
	r = row_new(id, kind, c->algorithm->name, "bytes/s");
	if (r == NULL)
		return NULL;
	if (row_param_text(r, "engine", c->engine->name) < 0 || row_param_text(r, "op", op) < 0 ||
		row_param_number(r, "size_bytes", (double)c->size_bytes) < 0 ||
		row_param_number(r, "threads", c->threads) < 0 || row_param_text(r, "accel", c->accel ? "on" : "off") < 0 ||
		(c->unavailable && row_fail(r, ROW_UNAVAILABLE, c->unavailable) < 0)) {
		row_free(r);
		return NULL;
	}
	return r;
}
