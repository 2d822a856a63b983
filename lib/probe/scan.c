/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/scan.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/probe/scan_int.h"

#define POOL_KEEP (1024 * 1024) /* bytes of unused buffers */

/* --- the end ---------------------------------------------------------------------------- */

void scan_end(struct scan_job *j)
{
	if (j->over)
		return;
	j->over = true;
	for (size_t i = 0; i < j->n_strikes; i++)
		scan_strike_stop(&j->strikes[i]);
	loop_stop(j->loop);
}

void scan_fail(struct scan_job *j)
{
	j->failed = true;
	scan_end(j);
}

static void on_deadline(void *arg)
{
	struct scan_job *j = arg;
	char limit[32];

	scan_set_fault(j->scan, CHECK_DEADLINE, CHECK_AT_HANDSHAKE, "timed out after %s (--timeout): this is not all",
		units_duration(j->goal->timeout_ms, limit, sizeof(limit)));
	scan_end(j);
}

static void on_signal(void *arg)
{
	struct scan_job *j = arg;

	scan_set_fault(j->scan, CHECK_FAILED, CHECK_AT_HANDSHAKE, "interrupted: this is not all");
	scan_end(j);
}

/* --- the verdict -------------------------------------------------------------------------- */

/* A server that takes no version: whether that is one at all. */
static void judge(struct scan_job *j)
{
	const struct scan_version *newest = NULL;

	for (size_t v = 0; v < OFFER_VERSIONS; v++) {
		if (j->scan->versions[v].taken == CHECK_YES)
			return;
		if (j->scan->versions[v].offered)
			newest = &j->scan->versions[v];
	}
	const char *why = newest && newest->why ? newest->why : "nothing is known";

	if (j->scan->fault.code != CHECK_OK)
		return;
	if (j->alerts)
		scan_set_fault(j->scan, CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "it takes no version of TLS that can be offered: %s",
			why);
	else if (newest && newest->taken == CHECK_UNKNOWN && j->silent)
		scan_set_fault(j->scan, CHECK_DEADLINE, CHECK_AT_HANDSHAKE, "nothing was said to any ClientHello: %s", why);
	else
		scan_set_fault(j->scan, CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "%s", why);
	if (!j->alerts)
		j->scan->fault.hint = strdup("is it TLS that is spoken there, and not asked for first (--starttls)?");
}

/* --- the beginning --------------------------------------------------------------------------- */

static int describe(struct scan_job *j, struct err *e)
{
	const struct scan_goal *g = j->goal;
	struct scan *s = j->scan;
	char library[40], via[LINE_VIA_SIZE];
	int r = 0;

	s->started_ms = clock_real_ms();
	j->sni = g->servername ? g->servername : addr_sni(j->target);
	if (j->target->kind == ADDR_TCP) {
		r |= check_set(&s->host, j->target->loopback ? "localhost" : j->target->host);
		s->port = j->target->port;
	}
	r |= check_set(&s->servername, j->sni);
	r |= check_set(&s->starttls, g->line.starttls);
	r |= check_set(&s->library, offer_library(library, sizeof(library)));
	if (g->line.proxy)
		r |= check_set(&s->via, line_via(g->line.proxy, via));
	return r < 0 ? err_set(e, ERR_RUNTIME, "no memory") : 0;
}

/* What can be wrong with them is said before anything is begun. */
static int try_cert(const struct scan_goal *g, struct err *e)
{
	struct tls_options o = { .role = TLS_CLIENT, .insecure_no_verify = true, .min_version = 12, .max_version = 13 };
	struct tls_config *c;

	if (!g->cert && !g->key)
		return 0;
	o.certs = (struct names_list){ &g->cert, g->cert != NULL };
	o.keys = (struct names_list){ &g->key, g->key != NULL };
	c = config_new(&o, e);
	config_unref(c);
	return c ? 0 : -1;
}

static int set_up(struct scan_job *j, struct err *e)
{
	if (try_cert(j->goal, e) < 0 || describe(j, e) < 0)
		return -1;
	j->loop = loop_new(e);
	if (!j->loop)
		return -1;
	j->pool = buf_pool_new(POOL_KEEP);
	j->list = offer_list_new();
	j->deadline = loop_timer_new(j->loop, on_deadline, j);
	if (!j->pool || !j->list || !j->deadline)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (loop_signal(j->loop, SIGINT, on_signal, j, e) < 0 || loop_signal(j->loop, SIGTERM, on_signal, j, e) < 0)
		return -1;
	if (j->goal->timeout_ms)
		loop_timer_set(j->deadline, j->goal->timeout_ms);
	return 0;
}

static int run(struct scan_job *j, struct err *e)
{
	uint64_t started = clock_mono_ns();

	if (set_up(j, e) < 0)
		return -1;
	scan_plan_begin(j);
	if (loop_run(j->loop, e) < 0)
		return -1;
	if (j->failed || scan_plan_untested(j) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	j->scan->complete = j->scan->fault.code == CHECK_OK;
	j->scan->total_ms = (double)(clock_mono_ns() - started) / 1e6;
	judge(j);
	return 0;
}

static void job_free(struct scan_job *j)
{
	for (size_t i = 0; i < j->n_strikes; i++)
		scan_strike_stop(&j->strikes[i]);
	loop_timer_free(j->deadline);
	offer_list_free(j->list);
	buf_pool_free(j->pool);
	loop_free(j->loop);
	free(j);
}

struct scan *scan_run(const struct scan_goal *g, const char *text, const struct addr *target, struct err *e)
{
	struct scan_job *j = calloc(1, sizeof(*j));
	struct scan *s = scan_new(text);

	if (!j || !s) {
		scan_free(s);
		free(j);
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	*j = (struct scan_job){ .goal = g, .target = target, .queue_end = &j->queue, .scan = s,
		.quickest_ms = NAN };
	if (run(j, e) < 0) {
		job_free(j);
		scan_free(s);
		return NULL;
	}
	job_free(j);
	return s;
}
