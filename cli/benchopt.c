/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/benchopt.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define AT(field) .offset = offsetof(struct benchopt, field)

#define WARMUP_S      0.3
#define QUICK_SAMPLES 3
#define QUICK_TURNS   (QUICK_SAMPLES + 1) /* the warm-up is as long as a sample */
#define QUICK_LONGEST 0.1 /* of few rows: there is nothing to be had from a longer look */
#define OVERHEAD      1.4 /* what opening, checking and changing over adds to a short plan */

const struct opt benchopt_method[] = {
	{ .name = "time", .type = OPT_DURATION, .arg = "TIME", AT(time_ms), .def = "500ms", .min = 1, .max = 600000,
		.help = "How long a sample lasts." },
	{ .name = "samples", .type = OPT_UINT, .arg = "N", AT(samples), .def = "11", .min = 1, .max = 10000,
		.help = "Samples of a row. The median is reported; from 6 on with a 95 % interval." },
	{ .name = "quick", .letter = 'q', .type = OPT_FLAG, AT(quick),
		.help = "A look: few, short samples. --time and --samples have no say." },
	{ .name = NULL },
};

const struct opt benchopt_output[] = {
	{ .name = "json", .type = OPT_FLAG, AT(json), .help = "Write everything as one JSON document." },
	{ .name = "csv", .type = OPT_FLAG, AT(csv), .help = "Write every sample as a line of CSV." },
	{ .name = "markdown", .type = OPT_FLAG, AT(markdown), .help = "Write tables in Markdown." },
	{ .name = "svg", .type = OPT_STRING, .arg = "FILE", AT(svg), .complete = OPT_COMPLETE_FILE,
		.help = "Draw a picture into FILE as well." },
	{ .name = "output", .letter = 'o', .type = OPT_STRING, .arg = "FILE", AT(output), .def_text = "standard output",
		.complete = OPT_COMPLETE_FILE, .help = "Where to write." },
	{ .name = "unit", .type = OPT_ENUM, .arg = "UNIT", AT(unit), .choices = "auto|MB|MiB|Gbit", .def = "auto",
		.help = "Unit of rates in text, Markdown and pictures; JSON and CSV have bytes a second." },
	{ .name = "from", .type = OPT_STRING, .arg = "FILE", AT(from), .complete = OPT_COMPLETE_FILE,
		.help = "Measure nothing; print a run that was stored with --json again. -: standard input." },
	{ .name = "compare", .type = OPT_STRING, .arg = "FILE", AT(compare), .complete = OPT_COMPLETE_FILE,
		.help = "Show how each row changed against a run that was stored with --json. Exit code 1 when one got worse." },
	{ .name = "threshold", .type = OPT_STRING, .arg = "PERCENT", AT(threshold), .def = "5%",
		.help = "With --compare: changes up to this are none." },
	{ .name = NULL },
};

/* --- before the run ------------------------------------------------------------ */

static int parse_threshold(struct benchopt *v, struct err *e)
{
	char *end;
	double percent = strtod(v->threshold, &end);

	if (end != v->threshold && *end == '%')
		end++;
	if (end == v->threshold || *end != '\0' || !isfinite(percent) || percent < 0 || percent > 100)
		return err_set(e, ERR_CONFIG, "--threshold: \"%s\" is not a percentage (as in 5%%)", v->threshold);
	v->threshold_share = percent / 100;
	return 0;
}

/* Not emptied yet: it may be the only copy of an older run. */
static FILE *open_output(const char *option, const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (f == NULL) {
		err_sys(e, ERR_CONFIG, errno, "--%s: cannot write %s", option, path);
		if (fd >= 0)
			close(fd);
	}
	return f;
}

static bool same_file(FILE *a, FILE *b)
{
	struct stat x, y;

	return fstat(fileno(a), &x) == 0 && fstat(fileno(b), &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
		x.st_ino == y.st_ino;
}

int benchopt_open(struct benchopt *v, const char *command, struct err *e)
{
	if (v->json + v->csv + v->markdown > 1)
		return err_set(e, ERR_CONFIG, "--json, --csv and --markdown: choose one");
	if (parse_threshold(v, e) < 0)
		return -1;
	if (v->from != NULL) {
		v->stored = report_read(v->from, command, e);
		if (v->stored == NULL)
			return err_prefix(e, "--from");
	}
	if (v->compare != NULL) {
		v->base = report_read(v->compare, command, e);
		if (v->base == NULL)
			return err_prefix(e, "--compare");
	}
	v->out = stdout;
	if (v->output != NULL && (v->out = open_output("output", v->output, e)) == NULL)
		return -1;
	if (v->svg != NULL && (v->svg_out = open_output("svg", v->svg, e)) == NULL)
		return -1;
	if (v->svg_out != NULL && v->out != stdout && same_file(v->out, v->svg_out))
		return err_set(e, ERR_CONFIG, "--output and --svg are one file, %s", v->svg);
	return 0;
}

void benchopt_close(struct benchopt *v)
{
	if (v->out != NULL && v->out != stdout)
		fclose(v->out);
	if (v->svg_out != NULL)
		fclose(v->svg_out);
	doc_free(v->stored);
	doc_free(v->base);
	v->out = v->svg_out = NULL;
	v->stored = v->base = NULL;
}

/* As a shell reads it. */
static void put_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";

	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word != '\0'; word++)
		fputs(*word == '\'' ? "'\\''" : (const char[]){ *word, '\0' }, out);
	putc('\'', out);
}

static char *join(int argc, char **argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (out == NULL)
		return NULL;
	fputs("tlskit", out);
	for (int i = 0; i < argc; i++) {
		putc(' ', out);
		put_word(out, argv[i]);
	}
	failed = ferror(out);
	if (fclose(out) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}

struct doc *benchopt_doc(const char *command, int argc, char **argv)
{
	struct doc *d = doc_new(command);

	if (d == NULL)
		return NULL;
	d->started_ms = clock_real_ms();
	d->arguments = join(argc, argv);
	d->host = host_read("");
	if (doc_set(&d->tool, PACKAGE_NAME " " PACKAGE_VERSION) == 0 && d->arguments != NULL && d->host != NULL)
		return d;
	doc_free(d);
	return NULL;
}

/* --- the run -------------------------------------------------------------------- */

static char *clock_text(double seconds, char *out, size_t size)
{
	long s = lround(seconds);

	if (s < 60)
		snprintf(out, size, "%ld s", s);
	else
		snprintf(out, size, "%ld min %02ld s", s / 60, s % 60);
	return out;
}

static struct bench_plan plan_of(const struct benchopt *v, unsigned n_rows, double quick_s)
{
	double quick_sample_s = quick_s / OVERHEAD / (n_rows ? n_rows : 1) / QUICK_TURNS;

	if (!v->quick)
		return (struct bench_plan){ .samples = (unsigned)v->samples, .sample_s = (double)v->time_ms / 1000,
			.warmup_s = WARMUP_S };
	quick_sample_s = fmin(quick_sample_s, QUICK_LONGEST);
	return (struct bench_plan){ .samples = QUICK_SAMPLES, .sample_s = quick_sample_s, .warmup_s = quick_sample_s,
		.limit_s = quick_s };
}

static double seconds_of(const struct bench_plan *p, unsigned n_rows)
{
	double estimate = bench_estimate(p, n_rows);

	return p->limit_s > 0 ? fmin(estimate, p->limit_s) : estimate;
}

void benchopt_plan(const struct benchopt *v, unsigned n_rows, unsigned n_later, double quick_s, struct bench_plan *p)
{
	struct bench_plan now = plan_of(v, n_rows, quick_s), later = plan_of(v, n_later, quick_s);
	double seconds = seconds_of(&now, n_rows) + seconds_of(&later, n_later);
	unsigned n = n_rows + n_later;
	char text[32] = "less than 1 s";

	p->samples = now.samples;
	p->sample_s = now.sample_s;
	p->warmup_s = now.warmup_s;
	p->limit_s = now.limit_s;
	if (seconds >= 1)
		clock_text(seconds, text, sizeof(text));
	fprintf(stderr, "tlskit: %u row%s, %s%s%s\n", n, n == 1 ? "" : "s", seconds < 1 ? "" : "about ", text,
		v->quick ? "" : "; Ctrl-C prints what is done by then, --quick takes a short look");
}

static atomic_bool interrupted;
static atomic_int passed_to; /* a process; 0: none */

bool benchopt_interrupted(void)
{
	return atomic_load(&interrupted);
}

/* The second signal of a kind ends the process, and the one that it waits for. A
 * terminal sends Ctrl-C to both: so the first is passed on as the other kind. */
static void on_interrupt(int signo)
{
	static atomic_bool seen[2];
	int pid = atomic_load(&passed_to), before = errno;
	bool again = atomic_exchange(&seen[signo == SIGINT], true);

	atomic_store(&interrupted, true);
	if (pid > 0)
		kill(pid, again ? SIGKILL : signo == SIGINT ? SIGTERM : SIGINT);
	if (again) {
		signal(signo, SIG_DFL);
		raise(signo); /* comes when this returns */
	}
	errno = before;
}

static void interrupts(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
}

void benchopt_hold_signals(sigset_t *before)
{
	sigset_t set;

	interrupts(&set);
	sigprocmask(SIG_BLOCK, &set, before);
}

void benchopt_pass_signals(pid_t pid)
{
	atomic_store(&passed_to, (int)pid);
}

/* \r and "clear to the end of the line" */
static void show_progress(void *arg, double done_s, double total_s, const char *what)
{
	char left[32];

	(void)arg;
	fprintf(stderr, "\r%3.0f %%, %s left: %.54s\033[K", total_s > 0 ? 100 * done_s / total_s : 0,
		clock_text(total_s > done_s ? total_s - done_s : 0, left, sizeof(left)), what);
	fflush(stderr);
}

void benchopt_watch(struct bench_plan *p)
{
	struct sigaction sa = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
	sigset_t set;

	p->stop = &interrupted;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	interrupts(&set); /* who started this process may have held them */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (isatty(STDERR_FILENO))
		p->progress = show_progress;
}

void benchopt_unwatch(const struct bench_plan *p)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (p->progress != NULL)
		fputs("\r\033[K", stderr);
}
