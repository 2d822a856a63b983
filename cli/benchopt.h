/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_BENCHOPT_H
#define TLSKIT_CLI_BENCHOPT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/opt.h"
#include "lib/bench/bench.h"
#include "lib/report/report.h"

/* What the three benches share: how they measure and what becomes of the rows.
 * Two tables to list as groups with `base` at the struct's place in the command's
 * own. */
struct benchopt {
	bool quick, json, csv, markdown;
	uint64_t time_ms, samples;
	const char *output, *svg, *from, *compare, *threshold;
	int unit; /* enum report_unit */
	/* not options: opened by benchopt_open */
	FILE *out, *svg_out;
	struct doc *stored; /* of --from; NULL: measure */
	struct doc *base; /* of --compare */
	double threshold_share;
};

extern const struct opt benchopt_method[]; /* --time … */
extern const struct opt benchopt_output[]; /* --json … */

/* Checks what stands in v, reads the files of --from and --compare and opens those to
 * write, so that nothing fails only when the measuring is done. What a file holds
 * stays until there is something to write. -1 with ERR_CONFIG. */
int benchopt_open(struct benchopt *v, const char *command, struct err *e);
void benchopt_close(struct benchopt *v);

/* The layout that a preset has of its own; writes d to out. */
typedef int benchopt_layout(FILE *out, const struct doc *d, struct err *e);

/* Writes d, and the comparison where one is asked for. layout: instead of the
 * usual text; NULL: none. The exit code; e is told to the user already. */
int benchopt_finish(struct benchopt *v, const struct doc *d, benchopt_layout *layout);

/* Fills in the method of a plan for so many rows: --quick fits them all into
 * `quick_s` seconds. Says on standard error what it will take, together with
 * n_later rows that another process measures in the same way behind it. */
void benchopt_plan(const struct benchopt *v, unsigned n_rows, unsigned n_later, double quick_s, struct bench_plan *p);

/* Ctrl-C from here on sets plan's stop; a second one ends the process. Progress
 * goes to standard error when that is a terminal. */
void benchopt_watch(struct bench_plan *p);
void benchopt_unwatch(const struct bench_plan *p);
bool benchopt_interrupted(void);

/* For a part of a run in another process. Ctrl-C is kept back until *before is set
 * again with sigprocmask; a process that starts meanwhile gets it when it calls
 * benchopt_watch. From benchopt_pass_signals on that process is told of Ctrl-C too, and
 * ended by a second one; 0: no more. */
void benchopt_hold_signals(sigset_t *before);
void benchopt_pass_signals(pid_t pid);

/* A document with tool, command line, host and time filled in; NULL: no memory. */
struct doc *benchopt_doc(const char *command, int argc, char **argv);

#endif
