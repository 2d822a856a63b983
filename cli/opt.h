/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_OPT_H
#define TLSKIT_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* One table of options per command. From it come parsing, --help, the man
 * page's rows and completion, so a name and a default are written once. */

enum opt_type {
	OPT_FLAG,     /* bool; no value */
	OPT_STRING,   /* const char *, borrowed from argv */
	OPT_LIST,     /* struct opt_list; the option may be repeated */
	OPT_COMMA,    /* struct opt_list; repeatable, each value split at commas */
	OPT_UINT,     /* uint64_t within [min, max] */
	OPT_DURATION, /* uint64_t milliseconds within [min, max] */
	OPT_ENUM,     /* int; index of the word in choices ("text|json") */
};

/* What completion offers for the value. */
enum opt_complete {
	OPT_COMPLETE_NONE,
	OPT_COMPLETE_FILE,
	OPT_COMPLETE_DIR,
	OPT_COMPLETE_USER,
	OPT_COMPLETE_CHOICES, /* `choices`; given for every OPT_ENUM */
	OPT_COMPLETE_SUITES, /* what `tlskit complete suites` prints, and so on */
	OPT_COMPLETE_GROUPS,
	OPT_COMPLETE_ALGORITHMS,
};

struct opt_list {
	const char **v; /* borrowed strings (OPT_COMMA: owned); the array is owned */
	size_t n;
};

struct opt {
	const char *name; /* "idle-timeout"; NULL ends the table */
	char letter; /* short form, 0 for none */
	enum opt_type type;
	const char *arg; /* metavariable: "FILE"; NULL: choices */
	const char *def; /* default as one would type it, parsed before argv; NULL: zero/empty */
	const char *def_text; /* what help says instead of def ("online CPUs"); NULL: def */
	const char *choices; /* "text|json": OPT_ENUM knows these words only; for others completion offers them */
	uint64_t min, max; /* OPT_UINT, OPT_DURATION; max 0: no limit */
	enum opt_complete complete;
	size_t offset; /* of the value in the command's options struct */
	const char *help; /* one sentence or two, no trailing blank; wrapped by help */
};

/* A heading with its options; the same table may serve several commands (the
 * shared TLS options). base: offset in the command's struct that is added to
 * each row's. */
struct opt_group {
	const char *title; /* "TLS" */
	const struct opt *opts;
	size_t base;
};

/* What an operand of the synopsis means. */
struct opt_operand {
	const char *name; /* "LISTEN"; NULL ends the rows */
	const char *help;
};

struct opt_example {
	const char *command;
	const char *what;
};

/* What another program's option is called here: for who types it out of habit. */
struct opt_foreign {
	const char *name; /* without dashes; NULL ends the rows */
	const char *here; /* "--ca FILE" */
};

struct opt_spec {
	const char *synopsis; /* "[OPTION…] LISTEN TARGET [TARGET…]" */
	const char *description; /* paragraphs parted by \n\n */
	const struct opt_group *groups; /* ends with title NULL */
	const struct opt_operand *operands; /* ends with name NULL; NULL: none */
	const struct opt_example *examples; /* ends with command NULL; NULL: none */
	size_t size; /* of the options struct */
	/* The operands; at most max (0: no limit) and at least min. */
	size_t operands_min, operands_max;
	enum opt_complete operands_complete; /* what completion offers for them */
	const struct opt_foreign *foreign; /* NULL: none; consulted before a wrong option is refused */
};

/* Fills `values` (spec->size bytes, zeroed here) with defaults and argv[1…].
 * Operands go to *operands (array owned by the caller's opt_list). "--" ends
 * options; "--name=value" and "--name value", "-xVALUE", "-x VALUE"; options may
 * stand behind operands; "-" is an operand; short flags may stand together
 * ("-46"). A name cut short is NOT taken for the option that it starts
 * (scripts would break when an option is added).
 * A default of a list holds only while argv gives that list nothing. An empty
 * value is an error, and so is an option of this table where a value should
 * stand ("--cert --key k.pem"); "--cert=--key" is still a value.
 * 0; -1 with ERR_CONFIG naming option, value and reason; an unknown option
 * names the nearest one. Then there is nothing to free.
 * --help is found by opt_wants_help before. */
int opt_parse(const struct opt_spec *spec, int argc, char **argv, void *values, struct opt_list *operands,
	struct err *e);

/* Frees what opt_parse allocated in values and operands. */
void opt_free(const struct opt_spec *spec, void *values, struct opt_list *operands);

/* Whether --help or -h stands among the options before "--". */
bool opt_wants_help(int argc, char **argv);

/* Looks one option up by name, for tests and help. NULL when there is none. */
const struct opt *opt_find(const struct opt_spec *spec, const char *name);

#endif
