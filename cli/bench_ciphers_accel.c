/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/bench_ciphers.h"

#include <errno.h>
#include <signal.h>
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

#define FIXED_ARGS 16 /* more than there are without lists and names */

struct args {
	const char **v;
	size_t n;
	char time[32], samples[32];
};

static void add_arg(struct args *a, const char *text)
{
	a->v[a->n++] = text;
}

static void add_list(struct args *a, const char *option, const struct opt_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		add_arg(a, option);
		add_arg(a, l->v[i]);
	}
}

/* v ends with NULL. -1: no memory. */
static int make_args(struct args *a, const struct ciphers_options *o, const struct opt_list *names)
{
	size_t listed = o->engine.n + o->kind.n + o->size.n + o->op.n + o->threads.n;

	a->v = calloc(FIXED_ARGS + 2 * listed + names->n, sizeof(*a->v));
	if (a->v == NULL)
		return -1;
	snprintf(a->time, sizeof(a->time), "%llums", (unsigned long long)o->bench.time_ms);
	snprintf(a->samples, sizeof(a->samples), "%llu", (unsigned long long)o->bench.samples);
	add_arg(a, PACKAGE_NAME);
	add_arg(a, "bench-ciphers");
	add_arg(a, "--json");
	add_arg(a, "--time");
	add_arg(a, a->time);
	add_arg(a, "--samples");
	add_arg(a, a->samples);
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
	return 0;
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

/* What it wrote. NULL with e. */
static struct doc *read_child(int fd, const char *command, struct err *e)
{
	char path[32];
	struct doc *theirs;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	theirs = report_read(path, command, e);
	if (theirs == NULL)
		err_prefix(e, "nothing from the process that measures without acceleration");
	return theirs;
}

/* Its document; NULL with e. No signal gets lost between the two processes: those
 * that come before the other one can be told wait, and it takes them over. */
static struct doc *run_child(const struct args *a, const char *command, struct err *e)
{
	struct doc *theirs = NULL;
	sigset_t before;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0) {
		err_sys(e, ERR_RUNTIME, errno, "--accel off");
		return NULL;
	}
	fflush(NULL);
	benchopt_hold_signals(&before);
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		become(a, fd[1]);
	}
	benchopt_pass_signals(pid > 0 ? pid : 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd[1]);
	if (pid < 0)
		err_sys(e, ERR_RUNTIME, errno, "--accel off");
	else
		theirs = read_child(fd[0], command, e);
	close(fd[0]);
	benchopt_hold_signals(&before);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	benchopt_pass_signals(0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return theirs;
}

/* --- its rows ------------------------------------------------------------------------ */

/* Takes the row of this id out of a document; they are in the order in which they
 * are asked for. NULL: not there. */
static struct row *take(struct doc *theirs, size_t *from, const char *id)
{
	for (size_t i = *from; i < theirs->n_rows; i++) {
		struct row *r = theirs->rows[i];

		if (r == NULL || strcmp(r->id, id) != 0)
			continue;
		theirs->rows[i] = NULL;
		*from = i + 1;
		return r;
	}
	return NULL;
}

/* theirs: NULL, there is none. reason: of the rows that are missing there. */
static int adopt(struct doc *d, struct doc *theirs, const struct ciphers_rows *rows, enum row_status status,
	const char *reason)
{
	size_t from = 0;

	for (size_t i = rows->n_here; i < rows->n; i++) {
		struct row *r = bench_ciphers_row(&rows->v[i]);
		struct row *measured = r && theirs ? take(theirs, &from, r->id) : NULL;

		if (measured != NULL) {
			row_free(r);
			r = measured;
		} else if (r == NULL || (r->status == ROW_OK && row_fail(r, status, reason) < 0)) {
			row_free(r);
			return -1;
		}
		if (doc_add_row(d, r) < 0)
			return -1;
	}
	return 0;
}

/* What the document says of the run, where nothing was measured in this process. */
static void adopt_facts(struct doc *d, struct doc *theirs)
{
	struct host *h = d->host;

	if (theirs->host != NULL) {
		d->host = theirs->host;
		theirs->host = h;
	}
	d->clock_resolution_ns = theirs->clock_resolution_ns;
	d->clock_overhead_ns = theirs->clock_overhead_ns;
	d->sample_s = theirs->sample_s;
	d->n_samples = theirs->n_samples;
	d->duration_s = 0;
}

int bench_ciphers_accel_run(struct doc *d, const struct ciphers_options *o, const struct opt_list *names,
	const struct ciphers_rows *rows, struct err *e)
{
	struct args a = { .n = 0 };
	struct doc *theirs = NULL;
	struct err why;
	int r;

	err_set(&why, ERR_RUNTIME, "interrupted");
	if (!benchopt_interrupted()) {
		if (make_args(&a, o, names) < 0)
			return err_set(e, ERR_RUNTIME, "no memory");
		theirs = run_child(&a, d->command, &why);
		free(a.v);
	}
	if (theirs != NULL) {
		if (rows->n_here == 0)
			adopt_facts(d, theirs);
		d->duration_s += theirs->duration_s;
	}
	d->interrupted |= benchopt_interrupted() || (theirs && theirs->interrupted);
	r = adopt(d, theirs, rows, d->interrupted ? ROW_SKIPPED : ROW_ERROR, d->interrupted ? "interrupted" : why.msg);
	doc_free(theirs);
	return r < 0 ? err_set(e, ERR_RUNTIME, "no memory") : 0;
}
