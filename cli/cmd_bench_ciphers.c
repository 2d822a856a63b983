/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_ciphers.h"
#include "cli/cmd.h"
#include "lib/base/log.h"

#define QUICK_S 14.0 /* what is begun by then still ends below 15 */

/* --- options -------------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct ciphers_options, field)

static const struct opt what[] = {
	{ .name = "engine", .type = OPT_COMMA, .arg = "LIST", AT(engine), .choices = "gnutls|nettle|sodium",
		.complete = OPT_COMPLETE_CHOICES, .def_text = "all for AEADs, gnutls for the rest",
		.help = "Libraries to measure: gnutls, nettle, sodium." },
	{ .name = "kind", .type = OPT_COMMA, .arg = "LIST", AT(kind), .choices = "aead|record|pair|mac|hash|cipher",
		.complete = OPT_COMPLETE_CHOICES, .def_text = "all",
		.help = "aead: in bulk; record: as TLS 1.3 uses them; pair: cipher and MAC; mac; hash; cipher: without authentication." },
	{ .name = "size", .type = OPT_COMMA, .arg = "LIST", AT(size), .def_text = "16384; for records 1400 and 16384",
		.help = "Bytes of a message, 1 to 16M." },
	{ .name = "op", .type = OPT_COMMA, .arg = "LIST", AT(op), .choices = "encrypt|decrypt|digest",
		.complete = OPT_COMPLETE_CHOICES, .def_text = "all", .help = "encrypt, decrypt; digest is what MACs and hashes do." },
	{ .name = "threads", .letter = 't', .type = OPT_COMMA, .arg = "LIST", AT(threads), .def_text = "1",
		.help = "How many at a time, as in 1,2,N. N: all processors." },
	{ .name = "accel", .type = OPT_COMMA, .arg = "LIST", AT(accel), .choices = "on|off", .complete = OPT_COMPLETE_CHOICES,
		.def_text = "on", .help = "With the processor's instructions for cryptography, without, or both (on,off)." },
	{ .name = "preset", .type = OPT_ENUM, .arg = "NAME", AT(preset), .choices = "none|gnutls-cli", .def = "none",
		.help = "gnutls-cli: the rows of gnutls-cli --benchmark-ciphers, in its order and layout." },
	{ .name = "list", .type = OPT_FLAG, AT(list), .help = "Print the rows that would be measured, and measure nothing." },
	{ .name = NULL },
};

static const struct opt_group groups[] = {
	{ "What is measured", what, 0 },
	{ "How", benchopt_method, offsetof(struct ciphers_options, bench) },
	{ "What becomes of it", benchopt_output, offsetof(struct ciphers_options, bench) },
	{ NULL, NULL, 0 },
};

static const struct opt_operand operand_rows[] = {
	{ "NAME", "Algorithms, as GnuTLS spells them; *, ? and [...] match several (quote them). Without: all." },
	{ NULL, NULL },
};

static const struct opt_example examples[] = {
	{ "tlskit bench-ciphers --quick", "Which AEAD is fastest here, in 15 seconds." },
	{ "tlskit bench-ciphers 'AES-*-GCM' CHACHA20-POLY1305 --threads 1,N", "Some of them, on one and on all processors." },
	{ "tlskit bench-ciphers --kind record --size 64,256,1K,4K,16K --svg records.svg", "Throughput over the size, as a picture." },
	{ "tlskit bench-ciphers --json -o before.json; tlskit bench-ciphers --compare before.json", "What an update changed." },
	{ "tlskit bench-ciphers --preset gnutls-cli", "The table that gnutls-cli prints." },
	{ NULL, NULL },
};

static const struct opt_spec spec = {
	.synopsis = "[OPTION…] [NAME…]",
	.description =
		"Measures ciphers, MACs and hashes on this machine. Every algorithm that a library lists is tried first; known answers "
		"are checked before anything is timed, and what is decrypted is compared with what was encrypted.\n\n"
		"Rows are measured in turns, so that a machine that slows down does so for all of them. Each is reported as the median of "
		"its samples with their spread, and marked when something disturbed it.",
	.groups = groups,
	.operands = operand_rows,
	.examples = examples,
	.size = sizeof(struct ciphers_options),
	.operands_min = 0,
	.operands_max = 0,
	.operands_complete = OPT_COMPLETE_ALGORITHMS,
};

/* --- cases ------------------------------------------------------------------------- */

struct object {
	const struct crypto_engine *engine;
	struct crypto_object *object;
};

static void *case_open(const void *arg, unsigned thread, struct err *e)
{
	const struct ciphers_choice *c = arg;
	struct object *o = malloc(sizeof(*o));

	(void)thread;
	if (o == NULL) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	o->engine = c->engine;
	o->object = c->engine->open(c->algorithm, c->op, c->size_bytes, e);
	if (o->object != NULL)
		return o;
	free(o);
	return NULL;
}

static int case_run(void *arg, uint64_t n, struct err *e)
{
	struct object *o = arg;

	return o->engine->run(o->object, n, e);
}

static void case_close(void *arg)
{
	struct object *o = arg;

	o->engine->close(o->object);
	free(o);
}

static struct bench_case *make_cases(const struct ciphers_rows *rows)
{
	struct bench_case *cases = calloc(rows->n_here + 1, sizeof(*cases));
	size_t i;

	for (i = 0; cases != NULL && i < rows->n_here; i++) {
		const struct ciphers_choice *c = &rows->v[i];

		cases[i] = (struct bench_case){ .row = bench_ciphers_row(c), .threads = c->threads, .amount = (double)c->size_bytes,
			.what = c, .open = case_open, .run = case_run, .close = case_close };
		if (cases[i].row == NULL)
			break;
	}
	if (cases == NULL || i == rows->n_here)
		return cases;
	while (i-- > 0)
		row_free(cases[i].row);
	free(cases);
	return NULL;
}

/* --- the run ------------------------------------------------------------------------ */

static int add_libraries(struct doc *d)
{
	for (const struct crypto_engine *const *en = crypto_engines(); *en != NULL; en++) {
		if (doc_add_library(d, (*en)->title, (*en)->version()) < 0)
			return -1;
	}
	return 0;
}

/* Those of this process. */
static int measure(const struct ciphers_rows *rows, const struct bench_plan *plan, struct doc *d, struct err *e)
{
	struct bench_case *cases = make_cases(rows);
	int r;

	if (cases == NULL)
		return err_set(e, ERR_RUNTIME, "no memory");
	r = bench_run(cases, (unsigned)rows->n_here, plan, d, e);
	free(cases);
	return r;
}

/* Here, and in a process without acceleration. */
static int measure_all(const struct ciphers_options *o, const struct opt_list *names, const struct ciphers_rows *rows,
	struct doc *d, struct err *e)
{
	struct bench_plan plan = { 0 };
	int r = 0;

	benchopt_watch(&plan);
	if (rows->n_here > 0) {
		benchopt_plan(&o->bench, (unsigned)rows->n_here, (unsigned)(rows->n - rows->n_here), QUICK_S, &plan);
		r = measure(rows, &plan, d, e);
	}
	if (r == 0 && rows->n > rows->n_here)
		r = bench_ciphers_accel_run(d, o, names, rows, e);
	benchopt_unwatch(&plan);
	return r;
}

static int fill(const struct ciphers_options *o, const struct opt_list *names, const struct ciphers_rows *rows, struct doc *d,
	struct err *e)
{
	if (add_libraries(d) < 0 || bench_ciphers_accel_note(d) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (measure_all(o, names, rows, d, e) < 0)
		return -1;
	if (bench_ciphers_advise(d) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	return 0;
}

static int list_rows(const struct ciphers_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct row *r = bench_ciphers_row(&rows->v[i]);

		if (r == NULL)
			return 1;
		puts(r->id);
		row_free(r);
	}
	return 0;
}

static int say(const struct err *e)
{
	log_msg(LOG_ERROR, "%s", e->msg);
	return err_exit_code(e);
}

/* The rows are chosen: -1 with e, or the exit code. */
static int run_chosen(struct ciphers_options *o, const struct opt_list *names, const struct ciphers_rows *rows, int argc,
	char **argv, struct err *e)
{
	benchopt_layout *layout = o->preset == CIPHERS_GNUTLS_CLI ? bench_ciphers_preset_layout : NULL;
	struct doc *d;
	int r;

	if (o->list)
		return list_rows(rows);
	if (benchopt_open(&o->bench, argv[0], e) < 0)
		return -1;
	d = benchopt_doc(argv[0], argc, argv);
	r = d == NULL ? err_set(e, ERR_RUNTIME, "no memory") : fill(o, names, rows, d, e);
	if (r == 0)
		r = benchopt_finish(&o->bench, d, layout);
	doc_free(d);
	return r;
}

static int run_stored(struct ciphers_options *o, const char *command, struct err *e)
{
	if (benchopt_open(&o->bench, command, e) < 0)
		return -1;
	return benchopt_finish(&o->bench, o->bench.stored, o->preset == CIPHERS_GNUTLS_CLI ? bench_ciphers_preset_layout : NULL);
}

static int run_rows(struct ciphers_options *o, const struct opt_list *names, int argc, char **argv, struct err *e)
{
	struct ciphers_rows rows = { 0 };
	int r;

	if (o->bench.from != NULL && (names->n > 0 || o->list))
		return err_set(e, ERR_CONFIG, "--from prints a stored run as it is; %s has no say there", o->list ? "--list" : "NAME");
	if (o->bench.from != NULL)
		return run_stored(o, argv[0], e);
	if (o->preset && names->n > 0)
		return err_set(e, ERR_CONFIG, "--preset says which rows; it takes no names");
	r = o->preset ? bench_ciphers_preset_choose(o, &rows, e) : bench_ciphers_choose(o, names, &rows, e);
	if (r == 0)
		r = run_chosen(o, names, &rows, argc, argv, e);
	bench_ciphers_rows_free(&rows);
	return r;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	struct ciphers_options o;
	struct opt_list operands = { NULL, 0 };
	struct err e;
	int code;

	if (opt_parse(cmd->spec, argc, argv, &o, &operands, &e) < 0)
		return say(&e);
	code = run_rows(&o, &operands, argc, argv, &e);
	if (code < 0)
		code = say(&e);
	benchopt_close(&o.bench);
	opt_free(cmd->spec, &o, &operands);
	return code;
}

const struct cmd cmd_bench_ciphers = {
	.name = "bench-ciphers",
	.summary = "measure ciphers, MACs and hashes on this machine",
	.spec = &spec,
	.run = run,
};
