/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/fake_bench.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"

struct fake_world fake = {
	.wall_ns = NS_PER_S,
	.state = { NAN, NAN, NAN, 0, false },
	.plan = { .samples = 4, .sample_s = 0.03, .warmup_s = 0.05, .stop = &fake.stop },
};
_Thread_local uint64_t fake_cpu_ns, fake_ahead_ns;

static uint64_t read_wall(void)
{
	return atomic_fetch_add(&fake.wall_ns, fake.step_ns) + fake.step_ns + fake_ahead_ns;
}

static uint64_t read_cpu(void)
{
	fake.wall_ns += fake.cpu_read_ns;
	return fake_cpu_ns;
}

static void read_moment(const char *root, struct host_moment *m)
{
	cr_assert_str_eq(root, "");
	fake.moments++;
	*m = fake.state;
}

void fake_set_up(void)
{
	fake.real = bench_source;
	bench_source = (struct bench_source){ read_wall, read_cpu, read_moment };
	fake.doc = doc_new("bench-fake");
	cr_assert_not_null(fake.doc);
}

void fake_tear_down(void)
{
	doc_free(fake.doc);
}

static void *open_fake(const void *what, unsigned thread, struct err *e)
{
	struct fake_case *f = &fake.fakes[*(const unsigned *)what];
	unsigned call = f->opened + 1;

	(void)thread;
	if (call == f->stop_open)
		fake.stop = true;
	if (call == f->unavailable) {
		err_set(e, ERR_CONFIG, "no such group");
		return NULL;
	}
	if (call == f->fail_open) {
		err_set(e, ERR_RUNTIME, "known answer: differs");
		return NULL;
	}
	f->opened++;
	return f;
}

static int spin(uint64_t n)
{
	volatile uint64_t sum = 0;

	while (n-- > 0)
		sum = sum + n;
	return 0;
}

static int run_fake(void *object, uint64_t n, struct err *e)
{
	struct fake_case *f = object;
	unsigned call;

	if (f->spin)
		return spin(n);
	call = ++f->runs;
	cr_assert_lt(fake.n_calls, FAKE_RUNS);
	fake.calls[fake.n_calls].fake = (unsigned)(f - fake.fakes);
	fake.calls[fake.n_calls++].n = n;
	fake.wall_ns += n * f->wall_ns;
	fake_cpu_ns += n * f->cpu_ns;
	if (f->in_run)
		f->in_run(call);
	if (call == f->stop_run)
		fake.stop = true;
	return call == f->fail_run ? err_set(e, ERR_CONFIG, "tag: differs") : 0;
}

static void close_fake(void *object)
{
	struct fake_case *f = object;

	f->closed++;
	if (f->spin)
		return;
	cr_assert_lt(fake.n_turns, FAKE_RUNS);
	fake.turns[fake.n_turns++] = (unsigned)(f - fake.fakes);
}

struct fake_case *fake_add(const char *id)
{
	static const unsigned numbers[FAKE_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct fake_case *f = &fake.fakes[fake.n_cases];
	struct bench_case *c = &fake.cases[fake.n_cases];

	cr_assert_lt(fake.n_cases, FAKE_MAX);
	f->wall_ns = f->cpu_ns = 3 * NS_PER_MS;
	*c = (struct bench_case){ .row = row_new(id, "fake", id, "bytes/s"), .threads = 1, .amount = 1000,
		.what = &numbers[fake.n_cases], .open = open_fake, .run = run_fake, .close = close_fake };
	cr_assert_not_null(c->row);
	fake.n_cases++;
	return f;
}

struct host *fake_add_host(int cores_usable)
{
	struct host *h = fake.doc->host = calloc(1, sizeof(*h));

	cr_assert_not_null(h);
	h->cores_usable = cores_usable;
	h->temp_after_c = NAN;
	return h;
}

void fake_run(void)
{
	struct err e;
	unsigned i;

	cr_assert_eq(bench_run(fake.cases, fake.n_cases, &fake.plan, fake.doc, &e), 0);
	cr_assert_eq(fake.doc->n_rows, fake.n_cases);
	for (i = 0; i < fake.n_cases; i++) {
		cr_expect_eq(fake.doc->rows[i], fake.cases[i].row, "rows come in the order of the cases");
		cr_expect_eq(fake.fakes[i].opened, fake.fakes[i].closed, "%s: what is opened is closed",
			     fake.doc->rows[i]->id);
	}
}

void fake_expect_near(double got, double want)
{
	cr_expect(fabs(got - want) <= 1e-9 * fabs(want), "got %.12g, not %.12g", got, want);
}

void fake_expect_row(unsigned i, enum row_status status, const char *reason, size_t n_samples, unsigned flags)
{
	const struct row *r = fake.doc->rows[i];

	cr_expect_eq(r->status, status, "%s: %s", r->id, row_status_name(r->status));
	if (reason)
		cr_expect_str_eq(r->reason, reason);
	else
		cr_expect_null(r->reason);
	cr_expect_eq(r->n_samples, n_samples, "%s: %zu samples", r->id, r->n_samples);
	cr_expect_eq(r->stats.n, n_samples, "%s: statistics of %zu", r->id, r->stats.n);
	cr_expect_eq(r->flags, flags, "%s: flags %#x", r->id, r->flags);
}
