/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Rounds of turns: which case is measured when, how long, and what of the
 * machine's state is held against it. */

#include "lib/bench/bench.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/bench/bench_int.h"

#define TURN_COST_S	 0.01 /* threads, open, touch, the machine's state: as a rule less */
#define TOUCH_NS	 (5 * NS_PER_MS) /* untimed, so that caches and the clock frequency are up again */
#define BATCH_S		 0.1 /* of the warm-up: between two of them it can be interrupted */
#define MAX_GROWTH	 10 /* from a batch to the next one: the first ones are slower than the rest */
#define MAX_ITERATIONS	 (1ULL << 40) /* a sample and thread; times ten it is no overflow yet */
#define PROGRESS_NS	 (NS_PER_S / 4)
#define STEAL_SHARE	 0.01 /* of the wall time */
#define FREQUENCY_SHARE	 0.05 /* of the highest frequency */
#define LONGEST_S	 1e9 /* so that any plan's seconds are nanoseconds in 64 bits */
#define THROTTLED_NOW	 ((1u << HOST_HAPPENED_SHIFT) - 1)

/* What is kept of a case from turn to turn. */
struct course {
	uint64_t n; /* iterations of a thread in a sample; 0: not calibrated yet */
	double iteration_ns;
	double planned_s; /* of its part of the plan, what is over */
	double freq_low_hz, freq_high_hz; /* NAN: unknown */
	bool throttled;
};

struct runner {
	struct bench_case *cases;
	struct course *courses;
	unsigned n;
	const struct bench_plan *p;
	struct doc *d;
	double planned_s; /* of the whole plan, what is over */
	uint64_t told_ns; /* when progress was last told; 0: never */
	uint64_t start_ns;
	unsigned throttle_bits; /* all that was seen */
	bool throttle_known;
};

static double turn_s(const struct bench_plan *p)
{
	return p->sample_s + TURN_COST_S;
}

static double case_s(const struct bench_plan *p)
{
	return p->warmup_s + p->samples * turn_s(p);
}

double bench_estimate(const struct bench_plan *p, unsigned n_cases)
{
	return n_cases * case_s(p);
}

static uint64_t to_ns(double s)
{
	return s > 0 ? (uint64_t)llround(fmin(s, LONGEST_S) * NS_PER_S) : 0;
}

static bool stopped(const struct runner *run)
{
	return run->p->stop && atomic_load(run->p->stop);
}

/* Each row has its turn in the first round, however late it is. */
static bool late(const struct runner *run, unsigned round)
{
	return round > 0 && run->p->limit_s > 0 && bench_source.wall_ns() - run->start_ns > to_ns(run->p->limit_s);
}

/* --- progress ------------------------------------------------------------------- */

/* `ahead_s` of a warm-up that goes on. */
static void tell(struct runner *run, unsigned i, double ahead_s)
{
	uint64_t now;

	if (!run->p->progress)
		return;
	now = bench_source.wall_ns();
	if (run->told_ns && now - run->told_ns < PROGRESS_NS)
		return;
	run->told_ns = now;
	run->p->progress(run->p->progress_arg, run->planned_s + fmin(ahead_s, run->p->warmup_s),
			 bench_estimate(run->p, run->n), run->cases[i].row->id);
}

static void pass(struct runner *run, unsigned i, double s)
{
	run->courses[i].planned_s += s;
	run->planned_s += s;
}

/* --- a turn --------------------------------------------------------------------- */

/* A case that failed has no samples: a figure whose next repetition was wrong is
 * no figure. The rest of its time falls away. */
static void fail(struct runner *run, unsigned i, enum row_status status, const char *reason)
{
	struct row *r = run->cases[i].row;

	row_fail(r, status, reason); /* without memory the status alone */
	r->n_samples = 0;
	r->cpu_s = r->wall_s = 0;
	pass(run, i, case_s(run->p) - run->courses[i].planned_s);
}

/* How many iterations take `aim_ns`, when n of them took `took_ns`. */
static double scaled(uint64_t n, uint64_t aim_ns, uint64_t took_ns)
{
	return (double)n * (double)aim_ns / (double)(took_ns ? took_ns : 1);
}

static uint64_t next_batch(uint64_t n, uint64_t aim_ns, uint64_t took_ns)
{
	double next = fmin(fmin(scaled(n, aim_ns, took_ns), (double)n * MAX_GROWTH), (double)MAX_ITERATIONS);

	return next > 1 ? (uint64_t)next : 1;
}

static void calibrate(const struct runner *run, struct course *course, uint64_t n, uint64_t took_ns)
{
	double want = ceil(scaled(n, to_ns(run->p->sample_s), took_ns));

	course->iteration_ns = (double)took_ns / (double)n;
	course->n = want > 1 ? (uint64_t)fmin(want, (double)MAX_ITERATIONS) : 1;
}

/* Batches that grow until one lasts long enough to be believed, and on until the
 * warm-up is over. The fastest of those says how many iterations a sample has:
 * what disturbs a batch makes it slower. 0, 1: stopped, -1 with e. */
static int warm_up(struct runner *run, unsigned i, struct bench_team *team, struct err *e)
{
	struct course *course = &run->courses[i];
	uint64_t warmup_ns = to_ns(run->p->warmup_s), aim_ns = to_ns(fmin(run->p->sample_s, BATCH_S));
	uint64_t n = 1, spent_ns = 0;
	struct bench_lap lap;

	for (;; n = next_batch(n, aim_ns, lap.wall_ns)) {
		if (stopped(run))
			return 1;
		if (bench_team_run(team, n, &lap, e) < 0)
			return -1;
		spent_ns += lap.wall_ns;
		if (n == MAX_ITERATIONS && lap.wall_ns == 0)
			return err_set(e, ERR_RUNTIME, "the clock does not move");
		if ((lap.wall_ns >= aim_ns / 2 || n == MAX_ITERATIONS) &&
			(course->n == 0 || (double)lap.wall_ns / (double)n < course->iteration_ns))
			calibrate(run, course, n, lap.wall_ns);
		if (course->n > 0 && spent_ns >= warmup_ns)
			break;
		tell(run, i, (double)spent_ns / NS_PER_S);
	}
	pass(run, i, run->p->warmup_s);
	return 0;
}

/* A few iterations on objects that are new, unless one alone lasts that long. */
static int touch(const struct course *course, struct bench_team *team, struct err *e)
{
	double n = fmin(TOUCH_NS / course->iteration_ns, (double)course->n);
	struct bench_lap lap;

	return n < 1 ? 0 : bench_team_run(team, (uint64_t)n, &lap, e);
}

static void moment(struct runner *run, struct host_moment *m)
{
	bench_source.moment("", m);
	if (m->throttle_known) {
		run->throttle_known = true;
		run->throttle_bits |= m->throttled;
	}
}

/* Whether it was throttled at either moment, or has been between them. */
static bool is_throttled(const struct host_moment *before, const struct host_moment *after)
{
	if (!before->throttle_known || !after->throttle_known)
		return false;
	return (before->throttled | after->throttled) & THROTTLED_NOW || (after->throttled & ~before->throttled);
}

static void note_state(struct course *course, struct row *r, const struct host_moment *before,
		       const struct host_moment *after)
{
	double steal_s = after->steal_s - before->steal_s;

	if (r->n_samples == 0) {
		r->env.freq_before_hz = before->freq_hz;
		r->env.temp_before_c = before->temp_c;
	}
	r->env.freq_after_hz = after->freq_hz;
	r->env.temp_after_c = after->temp_c;
	if (!isnan(steal_s)) /* the counter may step back, on a virtual machine that moved */
		r->env.steal_s = (isnan(r->env.steal_s) ? 0 : r->env.steal_s) + fmax(0, steal_s);
	course->freq_low_hz = fmin(course->freq_low_hz, fmin(before->freq_hz, after->freq_hz));
	course->freq_high_hz = fmax(course->freq_high_hz, fmax(before->freq_hz, after->freq_hz));
	course->throttled |= is_throttled(before, after);
}

static int sample(struct runner *run, unsigned i, struct bench_team *team, struct err *e)
{
	const struct bench_case *c = &run->cases[i];
	struct course *course = &run->courses[i];
	struct host_moment before, after;
	struct bench_lap lap;
	uint64_t n;
	double wall_s;

	moment(run, &before);
	if (bench_team_run(team, course->n, &lap, e) < 0)
		return -1;
	moment(run, &after);
	if (lap.wall_ns == 0)
		return err_set(e, ERR_RUNTIME, "the clock does not move");
	wall_s = (double)lap.wall_ns / NS_PER_S;
	note_state(course, c->row, &before, &after);
	c->row->wall_s += wall_s;
	c->row->cpu_s += (double)lap.cpu_ns / NS_PER_S;
	pass(run, i, turn_s(run->p));
	n = course->n;
	if (lap.wall_ns < to_ns(run->p->sample_s) / 2) /* all of the warm-up was disturbed, or throttled */
		calibrate(run, course, n, lap.wall_ns);
	if (row_add_sample(c->row, c->amount * (double)n * c->threads / wall_s) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	return 0;
}

static void take_turn(struct runner *run, unsigned i)
{
	const struct bench_case *c = &run->cases[i];
	struct bench_team *team;
	struct err e;
	int r;

	if (c->row->status != ROW_OK)
		return;
	tell(run, i, 0);
	team = bench_team_open(c, &e);
	if (!team) {
		fail(run, i, e.kind == ERR_CONFIG ? ROW_UNAVAILABLE : ROW_ERROR, e.msg);
		return;
	}
	if (run->courses[i].n == 0)
		r = warm_up(run, i, team, &e);
	else
		r = touch(&run->courses[i], team, &e);
	if (r == 0 && !stopped(run))
		r = sample(run, i, team, &e);
	if (r < 0)
		fail(run, i, ROW_ERROR, e.msg);
	bench_team_close(team);
}

/* --- the whole -------------------------------------------------------------------- */

/* Each round starts further on and goes the other way than the one before, so
 * that no row is always the first one or always behind the same other. */
static void run_round(struct runner *run, unsigned round)
{
	unsigned start = (unsigned)((uint64_t)round * run->n / run->p->samples), i;

	for (i = 0; i < run->n && !stopped(run) && !late(run, round); i++)
		take_turn(run, (start + (round % 2 ? run->n - i : i)) % run->n);
}

/* The flags that a row's samples do not show by themselves. */
static unsigned flags_of(const struct runner *run, unsigned i)
{
	const struct course *course = &run->courses[i];
	const struct row *r = run->cases[i].row;
	const struct host *h = run->d->host;
	unsigned flags = 0;

	if (r->env.steal_s > STEAL_SHARE * r->wall_s)
		flags |= ROW_STEAL;
	if (course->freq_high_hz - course->freq_low_hz > FREQUENCY_SHARE * course->freq_high_hz)
		flags |= ROW_FREQUENCY;
	if (course->throttled)
		flags |= ROW_THROTTLED;
	if (h && h->cores_usable > 0 && (int)run->cases[i].threads > h->cores_usable)
		flags |= ROW_OVERCOMMITTED;
	if (r->n_samples < run->p->samples)
		flags |= ROW_FEW;
	return flags;
}

static void finish_row(struct runner *run, unsigned i)
{
	struct row *r = run->cases[i].row;

	if (r->status != ROW_OK)
		return;
	if (r->n_samples < run->p->samples && stopped(run))
		run->d->interrupted = true;
	if (r->n_samples == 0) {
		row_fail(r, ROW_SKIPPED, "interrupted");
		return;
	}
	r->flags |= flags_of(run, i);
	if (row_finish(r, run->cases[i].threads) < 0)
		fail(run, i, ROW_ERROR, "no memory");
}

static void finish_host(struct runner *run, struct host *h)
{
	struct host_moment m;
	char words[256];

	if (!h)
		return;
	moment(run, &m);
	h->temp_after_c = m.temp_c;
	if (run->throttle_known)
		doc_set(&h->throttled, host_throttle_text(run->throttle_bits, words, sizeof(words)));
}

/* All rows to the document; none is left to the caller. */
static int take_rows(struct bench_case *cases, unsigned n, struct doc *d)
{
	int r = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		if (r == 0)
			r = doc_add_row(d, cases[i].row);
		else
			row_free(cases[i].row);
	}
	return r;
}

static void prepare(struct runner *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		run->courses[i].freq_low_hz = run->courses[i].freq_high_hz = NAN;
		if (run->cases[i].row->status != ROW_OK) /* nothing of it is to come */
			pass(run, i, case_s(run->p));
	}
	run->d->sample_s = run->p->sample_s;
	run->d->n_samples = run->p->samples;
	if (run->d->started_ms == 0)
		run->d->started_ms = clock_real_ms();
	bench_clock_facts(run->d);
}

int bench_run(struct bench_case *cases, unsigned n, const struct bench_plan *p, struct doc *d, struct err *e)
{
	struct runner run = { .cases = cases, .n = n, .p = p, .d = d };
	unsigned i;

	if (take_rows(cases, n, d) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	run.courses = calloc(n + 1, sizeof(*run.courses));
	if (!run.courses)
		return err_set(e, ERR_RUNTIME, "no memory");
	run.start_ns = bench_source.wall_ns();
	prepare(&run);
	for (i = 0; i < p->samples && !stopped(&run); i++)
		run_round(&run, i);
	for (i = 0; i < n; i++)
		finish_row(&run, i);
	finish_host(&run, d->host);
	free(run.courses);
	d->duration_s = (double)(bench_source.wall_ns() - run.start_ns) / NS_PER_S;
	return 0;
}
