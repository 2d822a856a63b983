/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/help.h"
#include "cli/version.h"
#include "lib/base/log.h"
#include "lib/base/near.h"
#include "lib/crypto/crypto.h"
#include "lib/tls/names.h"

/* The command table and dispatch, nothing else. A command is a row here. */

static const struct cmd *const commands[] = {
	&cmd_connect,
	&cmd_tunnel,
	&cmd_bench_ciphers,
	NULL,
};

static const struct cmd *find_command(const char *name)
{
	for (const struct cmd *const *c = commands; *c != NULL; c++) {
		if (strcmp((*c)->name, name) == 0)
			return *c;
	}
	return NULL;
}

/* --- what the program does besides its commands ---------------------------- */

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);
static int run_complete(int argc, char **argv);
static int run_man_rows(int argc, char **argv);

static const struct verb {
	const char *name;
	bool shown; /* the others are for completion and the man pages */
	int operands; /* at most */
	int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
} verbs[] = {
	{ "help", true, 1, run_help },
	{ "--help", true, 1, run_help },
	{ "-h", false, 1, run_help },
	{ "--version", true, 0, run_version },
	{ "-V", false, 0, run_version },
	{ "complete", false, 1, run_complete },
	{ "man-rows", false, 1, run_man_rows },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int unknown(const char *what, const char *typed)
{
	const char *names[COUNT(commands) + COUNT(verbs)];
	const char *near;
	size_t n = 0;

	for (const struct cmd *const *c = commands; *c != NULL; c++)
		names[n++] = (*c)->name;
	for (size_t i = 0; i < COUNT(verbs); i++) {
		if (verbs[i].shown)
			names[n++] = verbs[i].name;
	}
	near = near_match(typed, names, n);
	if (near != NULL)
		log_msg(LOG_ERROR, "unknown %s \"%.120s\"; did you mean \"%s\"?", what, typed, near);
	else
		log_msg(LOG_ERROR, "unknown %s \"%.120s\"; `tlskit --help` lists the commands", what, typed);
	return 2;
}

static int run_help(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2) {
		help_overview(stdout, commands);
		return 0;
	}
	c = find_command(argv[1]);
	if (c == NULL)
		return unknown("command", argv[1]);
	help_command(stdout, c, help_width(STDOUT_FILENO));
	return 0;
}

static int run_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	version_print(stdout);
	return 0;
}

/* The values of a kind that the completion scripts ask for. */
static int names_print(FILE *out, const char *what)
{
	if (strcmp(what, "suites") == 0)
		names_list_suites(out);
	else if (strcmp(what, "groups") == 0)
		names_list_groups(out);
	else if (strcmp(what, "algorithms") == 0)
		crypto_list_names(out);
	else
		return -1;
	return 0;
}

static int run_complete(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2) {
		for (const struct cmd *const *row = commands; *row != NULL; row++)
			printf("%s\t%s\n", (*row)->name, (*row)->summary);
		return 0;
	}
	if (names_print(stdout, argv[1]) == 0)
		return 0;
	c = find_command(argv[1]);
	if (c == NULL)
		return unknown("command", argv[1]);
	help_complete(stdout, c);
	return 0;
}

static int run_man_rows(int argc, char **argv)
{
	const struct cmd *c = argc > 1 ? find_command(argv[1]) : NULL;

	if (c == NULL)
		return unknown("command", argc > 1 ? argv[1] : "");
	help_man(stdout, c);
	return 0;
}

/* --- dispatch -------------------------------------------------------------- */

static int dispatch(int argc, char **argv)
{
	const struct cmd *c = find_command(argv[0]);

	if (c != NULL) {
		if (!opt_wants_help(argc, argv))
			return c->run(c, argc, argv);
		help_command(stdout, c, help_width(STDOUT_FILENO));
		return 0;
	}
	for (size_t i = 0; i < COUNT(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) != 0)
			continue;
		if (argc - 1 <= verbs[i].operands)
			return verbs[i].run(argc, argv);
		log_msg(LOG_ERROR, "unexpected operand \"%.120s\" behind %s", argv[verbs[i].operands + 1], argv[0]);
		return 2;
	}
	return unknown(argv[0][0] == '-' ? "option" : "command", argv[0]);
}

/* A closed stdin, stdout or stderr would be the number of the next socket, and
 * a log line would go to a peer. Each gets a descriptor that fails as a closed
 * one does: /dev/null opened for the other direction. */
static void hold_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
	}
}

/* What was printed counts only when it arrived. A reader that had enough
 * (`tlskit --help | head -1`) is told nothing. */
static int close_stdout(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno != EPIPE)
		log_msg(LOG_ERROR, "cannot write to standard output%s%s", errno != 0 ? ": " : "",
			errno != 0 ? strerror(errno) : "");
	return code != 0 ? code : 1;
}

int main(int argc, char **argv)
{
	hold_standard_fds();
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		help_overview(stderr, commands);
		return 2;
	}
	return close_stdout(dispatch(argc - 1, argv + 1));
}
