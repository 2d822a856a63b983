/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TESTS_SAMPLE_CMD_H
#define TLSKIT_TESTS_SAMPLE_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cmd.h"

/* A command that has one option of each kind, for the tests of the tables. */

struct sample_shared {
	const char *servername;
	struct opt_list cert;
};

struct sample {
	bool v4, v6;
	const char *dir;
	struct opt_list allow, alpn, groups;
	uint64_t threads, conns, idle, drain;
	int log, balance;
	struct sample_shared tls;
};

#define SAMPLE_OPTIONS 15 /* --help among them */

extern const struct opt_spec sample_spec;
extern const struct cmd sample_cmd;

#endif
