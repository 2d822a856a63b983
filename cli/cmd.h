/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_CMD_H
#define TLSKIT_CLI_CMD_H

#include "cli/opt.h"

/* A command: a row of the table in main.c and one file cli/cmd_NAME.c. */
struct cmd {
	const char *name;
	const char *summary; /* one line for `tlskit --help` */
	const struct opt_spec *spec; /* options, operands, texts */
	/* argv[0] is the command's name. Returns the exit code. */
	int (*run)(const struct cmd *cmd, int argc, char **argv);
};

extern const struct cmd cmd_bench_ciphers;
extern const struct cmd cmd_connect;
extern const struct cmd cmd_tunnel;

#endif
