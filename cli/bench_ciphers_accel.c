/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/bench_ciphers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* GnuTLS and nettle look at these when they are loaded, on x86 and arm64 with the
 * same values for "nothing" (the other values differ). libsodium has no such
 * switch; its rows say so. */
#define GNUTLS_SWITCH "GNUTLS_CPUID_OVERRIDE"
#define GNUTLS_OFF    "0x1"
#define NETTLE_SWITCH "NETTLE_FAT_OVERRIDE"
#define NETTLE_OFF    "none"

bool bench_ciphers_accel_is_off(void)
{
	const char *v = getenv(GNUTLS_SWITCH);

	return v != NULL && strcmp(v, GNUTLS_OFF) == 0;
}

/* What GnuTLS has code for (3.7.9 to 3.8) and this processor has too. The library
 * itself does not tell. */
int bench_ciphers_accel_note(struct doc *d)
{
	static const char *const used[] = { "aes", "pclmulqdq", "ssse3", "avx", "sha_ni", "pmull", "sha1", "sha2", NULL };
	const char *f = d->host->features, *v = getenv(GNUTLS_SWITCH);
	char text[128] = "", words[256];
	size_t n;

	if (v != NULL) {
		snprintf(text, sizeof(text), "%s" GNUTLS_SWITCH "=%.40s%s", strcmp(v, GNUTLS_OFF) == 0 ? "off (" : "", v,
			strcmp(v, GNUTLS_OFF) == 0 ? ")" : "");
		return doc_set(&d->host->acceleration, text);
	}
	if (f == NULL)
		return 0;
	snprintf(words, sizeof(words), " %s ", f);
	for (const char *const *u = used; *u != NULL; u++) {
		char word[32];

		snprintf(word, sizeof(word), " %s ", *u);
		n = strlen(text);
		if (strstr(words, word) != NULL)
			snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", *u);
	}
	return doc_set(&d->host->acceleration, text[0] ? text : "none");
}

/* --- the other process ------------------------------------------------------------- */

#define ARGS_MAX 200

struct args {
	const char *v[ARGS_MAX + 1];
	int n;
};

static void add_arg(struct args *a, const char *text)
{
	if (a->n < ARGS_MAX)
		a->v[a->n++] = text;
	a->v[a->n] = NULL;
}

static void add_list(struct args *a, const char *option, const struct opt_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		add_arg(a, option);
		add_arg(a, l->v[i]);
	}
}

struct numbers {
	char time[32], samples[32];
};

static void make_args(struct args *a, const struct ciphers_options *o, const struct opt_list *names, struct numbers *text)
{
	snprintf(text->time, sizeof(text->time), "%llums", (unsigned long long)o->bench.time_ms);
	snprintf(text->samples, sizeof(text->samples), "%llu", (unsigned long long)o->bench.samples);
	add_arg(a, PACKAGE_NAME);
	add_arg(a, "bench-ciphers");
	add_arg(a, "--json");
	add_arg(a, "--time");
	add_arg(a, text->time);
	add_arg(a, "--samples");
	add_arg(a, text->samples);
	if (o->bench.quick)
		add_arg(a, "--quick");
	add_list(a, "--engine", &o->engine);
	add_list(a, "--kind", &o->kind);
	add_list(a, "--size", &o->size);
	add_list(a, "--op", &o->op);
	add_list(a, "--threads", &o->threads);
	add_arg(a, "--accel");
	add_arg(a, "off");
	add_arg(a, "--");
	for (size_t i = 0; i < names->n; i++)
		add_arg(a, names->v[i]);
}

static void become(const struct args *a, int out)
{
	dup2(out, STDOUT_FILENO);
	setenv(GNUTLS_SWITCH, GNUTLS_OFF, 1);
	setenv(NETTLE_SWITCH, NETTLE_OFF, 1);
	execv("/proc/self/exe", (char *const *)a->v);
	execvp(PACKAGE_NAME, (char *const *)a->v); /* a system without /proc */
	_exit(127);
}

/* Takes the rows over. */
static int adopt(struct doc *d, struct doc *from, struct err *e)
{
	for (size_t i = 0; i < from->n_rows; i++) {
		struct row *r = from->rows[i];

		from->rows[i] = NULL;
		if (doc_add_row(d, r) < 0)
			return err_set(e, ERR_RUNTIME, "no memory");
	}
	d->interrupted |= from->interrupted;
	return 0;
}

static int collect(struct doc *d, int fd, pid_t pid, struct err *e)
{
	char path[32];
	struct doc *theirs;
	int status, r = -1;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	theirs = report_read(path, d->command, e);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (theirs != NULL)
		r = adopt(d, theirs, e);
	doc_free(theirs);
	return r < 0 ? err_prefix(e, "--accel off: no rows from the process that measures without acceleration") : 0;
}

int bench_ciphers_accel_run(struct doc *d, const struct ciphers_options *o, const struct opt_list *names, struct err *e)
{
	struct args a = { .n = 0 };
	struct numbers text;
	int fd[2], r;
	pid_t pid;

	make_args(&a, o, names, &text);
	if (pipe(fd) < 0)
		return err_sys(e, ERR_RUNTIME, errno, "--accel off");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		become(&a, fd[1]);
	}
	close(fd[1]);
	r = pid < 0 ? err_sys(e, ERR_RUNTIME, errno, "--accel off") : collect(d, fd[0], pid, e);
	close(fd[0]);
	return r;
}
