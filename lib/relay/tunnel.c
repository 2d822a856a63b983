/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/relay/tunnel.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/net/limit.h"
#include "lib/net/service.h"
#include "lib/net/stdio.h"
#include "lib/relay/acceptor.h"
#include "lib/relay/report.h"
#include "lib/relay/worker.h"
#include "lib/tls/aead.h"
#include "lib/tls/ktls.h"
#include "lib/tls/x25519.h"

#define FILES_RESERVED  64 /* log, libraries, listeners, resolver */
#define HEAP_KEEP       (8 * 1024 * 1024)
#define LOG_FLUSH_MS    10000
#define CONNS_MIN       8

struct tunnel {
	struct relay_setup setup;
	struct target *targets;
	struct acceptor acceptor;
	/* workers[0 .. n_flow) carry data, the first one accepts, too; those behind
	 * them, if any, do the handshakes */
	struct worker *workers;
	unsigned n_workers, n_flow;
	struct stdio *stdio;
	int stdio_fd;
	bool single; /* one connection, then the end */
	bool single_taken;
	bool signals;
	void (*on_close)(void *arg, const struct relay_report *r);
	void *on_close_arg;
	uint64_t max_conns, drain_ms;
	atomic_ullong total; /* connections there are */
	atomic_bool full; /* accepting waits for an end */
	bool warned_full;
	atomic_bool stopping, aborted;
	struct loop_timer *drain_timer, *log_timer;
	struct loop_task resume_task, stop_task, ended_task, log_task;
	atomic_bool log_armed;
	struct err failure; /* of the single connection */
};

/* --- accepting -------------------------------------------------------------------- */

static void on_resume(void *arg)
{
	struct tunnel *t = arg;

	if (atomic_load(&t->total) >= t->max_conns)
		return;
	atomic_store(&t->full, false);
	acceptor_hold(&t->acceptor, t->single && t->single_taken);
}

/* Beyond the limit connections wait in the backlog. */
static bool may_accept(void *arg)
{
	struct tunnel *t = arg;

	if (t->single && t->single_taken)
		return false;
	if (atomic_load(&t->total) < t->max_conns)
		return true;
	if (!t->warned_full) {
		t->warned_full = true;
		log_msg(LOG_WARN, "%llu connections (--max-conns): further ones wait", (unsigned long long)t->max_conns);
	}
	atomic_store(&t->full, true);
	if (atomic_load(&t->total) >= t->max_conns)
		return false;
	atomic_store(&t->full, false); /* one ended just before `full` was set */
	return true;
}

/* Of the workers from first on, up to end. */
static struct worker *least_busy(struct tunnel *t, unsigned first, unsigned end)
{
	struct worker *best = &t->workers[first];
	unsigned i, n, least = atomic_load_explicit(&best->active, memory_order_relaxed);

	for (i = first + 1; i < end && least; i++) {
		n = atomic_load_explicit(&t->workers[i].active, memory_order_relaxed);
		if (n < least) {
			least = n;
			best = &t->workers[i];
		}
	}
	return best;
}

static void give(void *arg, int fd, const char *peer)
{
	struct tunnel *t = arg;
	struct worker *w = least_busy(t, 0, t->n_flow);

	atomic_fetch_add(&t->total, 1);
	atomic_fetch_add(&w->active, 1);
	if (t->single)
		t->single_taken = true;
	if (worker_give(w, fd, peer, w == &t->workers[0]) < 0) {
		atomic_fetch_sub(&w->active, 1);
		atomic_fetch_sub(&t->total, 1);
		close(fd);
	}
}

static struct relay_group *move(struct worker *from, struct worker *to)
{
	atomic_fetch_sub(&from->active, 1);
	atomic_fetch_add(&to->active, 1);
	return &to->group;
}

/* A handshake is about to sign, which others do... */
static struct relay_group *sign(struct relay_group *g)
{
	struct worker *from = (struct worker *)g;
	struct tunnel *t = from->owner;

	return move(from, least_busy(t, t->n_flow, t->n_workers));
}

/* ...and done, and the data is not theirs. */
static struct relay_group *place(struct relay_group *g)
{
	struct worker *from = (struct worker *)g;
	struct tunnel *t = from->owner;

	return move(from, least_busy(t, 0, t->n_flow));
}

/* --- the end ------------------------------------------------------------------------- */

static void stop_workers(struct tunnel *t)
{
	unsigned i;

	for (i = 0; i < t->n_workers; i++)
		worker_stop(&t->workers[i]);
}

/* Whoever sees the last connection end, on the first worker. */
static void on_ended(void *arg)
{
	struct tunnel *t = arg;

	if (t->single && t->single_taken)
		atomic_store(&t->stopping, true);
	if (atomic_load(&t->stopping) && atomic_load(&t->total) == 0)
		stop_workers(t);
}

static void abort_workers(struct tunnel *t)
{
	unsigned i;

	if (atomic_load(&t->total) == 0 || atomic_exchange(&t->aborted, true))
		return;
	for (i = 0; i < t->n_workers; i++)
		worker_abort(&t->workers[i]);
}

static void on_drain_over(void *arg)
{
	struct tunnel *t = arg;

	log_msg(LOG_WARN, "the drain ran out (--drain): %llu connections are cut off",
		(unsigned long long)atomic_load(&t->total));
	abort_workers(t);
}

static void on_stop(void *arg)
{
	struct tunnel *t = arg;

	if (atomic_exchange(&t->stopping, true)) {
		abort_workers(t); /* the second time: at once */
		return;
	}
	if (t->signals)
		service_notify("STOPPING=1");
	acceptor_close(&t->acceptor);
	if (t->single)
		abort_workers(t); /* who ended it waits for it, and for nobody else */
	if (atomic_load(&t->total))
		log_msg(LOG_INFO, "stopping: waiting for %llu connections", (unsigned long long)atomic_load(&t->total));
	loop_timer_set(t->drain_timer, t->drain_ms);
	on_ended(t);
}

void tunnel_stop(struct tunnel *t)
{
	loop_post(t->workers[0].loop, &t->stop_task);
}

static void on_log_timer(void *arg)
{
	struct tunnel *t = arg;

	atomic_store(&t->log_armed, false);
	log_limit_flush(false);
}

static void on_log_task(void *arg)
{
	struct tunnel *t = arg;

	loop_timer_set(t->log_timer, LOG_FLUSH_MS);
}

static void tell(struct tunnel *t, const struct relay_report *r)
{
	/* of a single connection the command tells how it ended */
	bool quiet = t->single && !log_is_json() && !log_on(LOG_DEBUG);

	if (t->on_close)
		t->on_close(t->on_close_arg, r);
	else if (!quiet && !report_log(r) && !atomic_exchange(&t->log_armed, true))
		loop_post(t->workers[0].loop, &t->log_task);
}

/* On the thread of the worker whose relay ended. */
static void on_relay_end(struct relay_group *g, const struct relay_report *r)
{
	struct worker *w = (struct worker *)g;
	struct tunnel *t = w->owner;
	bool last;

	tell(t, r);
	if (t->single && r->stage)
		t->failure = *r->why;
	atomic_fetch_sub(&w->active, 1);
	last = atomic_fetch_sub(&t->total, 1) == 1;
	if (atomic_load(&t->full))
		loop_post(t->workers[0].loop, &t->resume_task);
	if (last && (t->single || atomic_load(&t->stopping)))
		loop_post(t->workers[0].loop, &t->ended_task);
}

/* --- set-up ------------------------------------------------------------------------- */

static int setup_relays(struct tunnel *t, const struct tunnel_options *o, struct err *e)
{
	struct relay_setup *s = &t->setup;
	unsigned i;

	t->targets = calloc(o->n_targets, sizeof(*t->targets));
	if (!t->targets)
		return err_set(e, ERR_RUNTIME, "no memory");
	s->targets = t->targets;
	for (i = 0; i < o->n_targets; i++, s->n_targets++)
		if (target_init(&t->targets[i], &o->targets[i], o->back_tls, e) < 0)
			return -1;
	s->front_tls = o->front_tls ? config_ref(o->front_tls) : NULL;
	s->back_tls = o->back_tls ? config_ref(o->back_tls) : NULL;
	s->balance = o->balance;
	s->handshake_timeout_ms = o->handshake_timeout_ms;
	s->connect_timeout_ms = o->connect_timeout_ms;
	s->idle_timeout_ms = o->idle_timeout_ms;
	s->allow_truncation = o->allow_truncation;
	return 0;
}

/* A signature with RSA takes longer than everything else that a turn of a loop
 * does. Such handshakes have threads of their own, as many as the data has, so
 * that they stall nobody; those that resume need none. */
static int setup_workers(struct tunnel *t, const struct tunnel_options *o, struct err *e)
{
	bool apart = !t->single && o->front_tls && config_signs_slowly(o->front_tls);
	unsigned n;

	t->n_flow = t->single ? 1 : o->threads;
	n = apart ? 2 * t->n_flow : t->n_flow;
	t->workers = calloc(n, sizeof(*t->workers));
	if (!t->workers)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (t->n_workers = 0; t->n_workers < n; t->n_workers++) {
		struct worker *w = &t->workers[t->n_workers];

		if (worker_init(w, &t->setup, e) < 0) {
			worker_free(w);
			return -1;
		}
		w->owner = t;
		w->group.on_end = on_relay_end;
		if (t->n_workers >= t->n_flow) {
			w->group.place = place;
			w->gives_way = true;
		} else if (apart) {
			w->group.sign = sign;
		}
	}
	return 0;
}

static int setup_timers(struct tunnel *t, struct err *e)
{
	struct loop *l = t->workers[0].loop;

	t->resume_task = (struct loop_task){ .fn = on_resume, .arg = t };
	t->stop_task = (struct loop_task){ .fn = on_stop, .arg = t };
	t->ended_task = (struct loop_task){ .fn = on_ended, .arg = t };
	t->log_task = (struct loop_task){ .fn = on_log_task, .arg = t };
	t->drain_timer = loop_timer_new(l, on_drain_over, t);
	t->log_timer = loop_timer_new(l, on_log_timer, t);
	if (!t->drain_timer || !t->log_timer)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (t->signals && (loop_signal(l, SIGTERM, on_stop, t, e) < 0 || loop_signal(l, SIGINT, on_stop, t, e) < 0))
		return -1;
	return 0;
}

static int setup_ends(struct tunnel *t, const struct tunnel_options *o, struct err *e)
{
	if (t->single) {
		t->stdio = stdio_open(STDIN_FILENO, STDOUT_FILENO, NULL, &t->stdio_fd, e);
		if (!t->stdio)
			return -1;
	}
	if (o->listen->kind == ADDR_STDIO)
		return 0;
	t->acceptor.may = may_accept;
	t->acceptor.take = give;
	t->acceptor.arg = t;
	return acceptor_open(&t->acceptor, t->workers[0].loop, o->listen, e);
}

static uint64_t connection_limit(uint64_t wanted)
{
	uint64_t files = limit_raise_files();
	uint64_t possible = files > FILES_RESERVED + 2 * CONNS_MIN ? (files - FILES_RESERVED) / 2 : CONNS_MIN;

	if (!wanted)
		return possible;
	if (wanted > possible)
		log_msg(LOG_WARN, "--max-conns %llu: the descriptor limit of %llu allows about %llu",
			(unsigned long long)wanted, (unsigned long long)files, (unsigned long long)possible);
	return wanted;
}

/* The measurement is made now, and not on the first connection's time. */
static void choose_engines(void)
{
	const struct x25519_choice *x = x25519_choose();
	const struct aead_choice *c;
	size_t i, k;

	for (i = 0; (c = aead_choice(i)); i++)
		for (k = 0; k < c->n; k++)
			log_msg(LOG_DEBUG, "%s by %s: %.0f MB/s%s", c->cipher, c->tried[k].engine, c->tried[k].mb_s,
				c->tried[k].engine == c->engine ? ", the one in use" : "");
	if (x)
		log_msg(LOG_DEBUG, "X25519: Nettle %.1f µs, libsodium %.1f µs a key share and secret; %s is in use", x->nettle_us,
			x->sodium_us, x->engine);
}

static bool wants_kernel(const struct tunnel_options *o)
{
	return (o->front_tls && config_wants_kernel(o->front_tls)) || (o->back_tls && config_wants_kernel(o->back_tls));
}

struct tunnel *tunnel_open(const struct tunnel_options *o, struct err *e)
{
	struct tunnel *t = calloc(1, sizeof(*t));

	if (!t) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	t->stdio_fd = -1;
	t->signals = o->signals;
	t->drain_ms = o->drain_ms;
	t->on_close = o->on_close;
	t->on_close_arg = o->on_close_arg;
	t->single = o->listen->kind == ADDR_STDIO || o->targets[0].kind == ADDR_STDIO;
	limit_keep_heap(HEAP_KEEP);
	choose_engines();
	t->setup.kernel = wants_kernel(o) && ktls_system->available();
	if (wants_kernel(o) && !t->setup.kernel)
		log_msg(LOG_WARN, "--dataplane ktls: this kernel offers no TLS (is its module loaded? modprobe tls); "
				  "this process seals and opens the records");
	t->max_conns = connection_limit(o->max_conns);
	if (setup_relays(t, o, e) < 0 || setup_workers(t, o, e) < 0 ||
		setup_timers(t, e) < 0 || setup_ends(t, o, e) < 0) {
		tunnel_free(t);
		return NULL;
	}
	return t;
}

void tunnel_free(struct tunnel *t)
{
	unsigned i;

	if (!t)
		return;
	acceptor_close(&t->acceptor);
	loop_timer_free(t->drain_timer);
	loop_timer_free(t->log_timer);
	for (i = 0; i < t->n_workers; i++)
		worker_free(&t->workers[i]);
	free(t->workers);
	for (i = 0; i < t->setup.n_targets; i++)
		target_free(&t->targets[i]);
	free(t->targets);
	config_unref(t->setup.front_tls);
	config_unref(t->setup.back_tls);
	if (t->stdio_fd >= 0)
		close(t->stdio_fd);
	free(t);
}

const struct listener *tunnel_listener(const struct tunnel *t)
{
	return &t->acceptor.listener;
}

/* --- running ----------------------------------------------------------------------------- */

static void hand_stdio(struct tunnel *t)
{
	int fd = t->stdio_fd;

	t->stdio_fd = -1;
	if (t->acceptor.listener.n)
		t->workers[0].group.stdio_fd = fd; /* for the target "-" */
	else
		give(t, fd, "-");
}

static enum tunnel_end verdict(struct tunnel *t, struct err *e)
{
	bool aborted = atomic_load(&t->aborted);
	int *unused = &t->workers[0].group.stdio_fd;

	if (t->single) {
		/* the loop is over: a signal must find its old meaning while
		 * stdout takes its time */
		if (t->signals) {
			signal(SIGTERM, SIG_DFL);
			signal(SIGINT, SIG_DFL);
		}
		if (*unused >= 0)
			close(*unused); /* no connection took it */
		*unused = -1;
		if (!aborted && stdio_finish(t->stdio, e) < 0)
			return TUNNEL_FAILED;
		if (!aborted && t->failure.kind != ERR_NONE) {
			*e = t->failure;
			return TUNNEL_FAILED;
		}
	}
	return aborted ? TUNNEL_DRAIN_OUT : TUNNEL_ENDED;
}

enum tunnel_end tunnel_run(struct tunnel *t, struct err *e)
{
	enum tunnel_end end;
	unsigned i;
	int r = 0;

	for (i = 1; i < t->n_workers && r == 0; i++)
		r = worker_start(&t->workers[i], e);
	if (r == 0) {
		if (t->single)
			hand_stdio(t);
		if (t->signals)
			service_notify("READY=1");
		r = loop_run(t->workers[0].loop, e);
	}
	for (i = 1; i < t->n_workers; i++) {
		worker_stop(&t->workers[i]);
		worker_join(&t->workers[i]);
	}
	end = r < 0 ? TUNNEL_FAILED : verdict(t, e);
	log_limit_flush(true);
	return end;
}
