/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_HELP_H
#define TLSKIT_CLI_HELP_H

#include <stdio.h>

#include "cli/cmd.h"

/* `tlskit NAME --help`: usage, description, each option with its default,
 * examples; wrapped to `width` columns. */
void help_command(FILE *out, const struct cmd *c, unsigned width);

/* `tlskit --help`: the commands. cmds ends with NULL. */
void help_overview(FILE *out, const struct cmd *const *cmds);

/* The OPERANDS, OPTIONS and EXAMPLES sections of the man page in man(7)
 * macros, in ASCII. */
void help_man(FILE *out, const struct cmd *c);

/* Rows for the completion scripts: "--name<TAB>kind<TAB>choices<TAB>help", kind
 * one of flag none file dir user choices suites groups, with "comma-" in front
 * where a value is a list parted by commas; choices as "a|b", or "-" (a shell
 * that splits at TABs loses empty columns); help is its first sentence. */
void help_complete(FILE *out, const struct cmd *c);

/* What the printers above share. The groups of a command and, behind them, the
 * one with --help; NULL behind the last. */
const struct opt_group *help_group_at(const struct opt_spec *spec, size_t i);
const char *help_metavar(const struct opt *o); /* NULL: takes no value */
const char *help_default(const struct opt *o); /* NULL: none to speak of */
#define HELP_WORDS_SIZE 512
/* "first, roundrobin": the words of an OPT_ENUM whose metavariable does not show
 * them. Returns out, or NULL. */
const char *help_words(const struct opt *o, char *out, size_t size);

/* The columns of the terminal at fd, else $COLUMNS, else 80; 60 to 100. */
unsigned help_width(int fd);

#endif
