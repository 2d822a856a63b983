/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/probe/scan.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/probe/scan_int.h"

#define POOL_KEEP   (1024 * 1024) /* bytes of unused buffers */
#define LIMIT_TIMES 10 /* of the quickest handshake, */
#define LIMIT_MORE  1000 /* and so many ms more, is enough for any */
#define VERSION_TOP 13

/* --- lists ------------------------------------------------------------------------------- */

static int copy_result(struct scan_item *it, const struct scan_try *t)
{
	it->taken = t->taken;
	return t->taken == CHECK_YES || !t->reason[0] ? 0 : check_set(&it->reason, t->reason);
}

/* A stable one: what is taken, in the order in which it was listed. */
static void sort_taken(struct scan_list *l)
{
	size_t i, k;

	l->n_taken = 0;
	for (i = 0; i < l->n; i++) {
		struct scan_item it = l->v[i];

		if (it.taken != CHECK_YES)
			continue;
		for (k = i; k > l->n_taken; k--)
			l->v[k] = l->v[k - 1];
		l->v[l->n_taken++] = it;
	}
}

/* Offers each by itself. */
static int try_each(struct scanner *s, struct scan_list *l, struct scan_try *tries, struct err *e)
{
	int r = scan_wave(s, tries, l->n, e);

	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = copy_result(&l->v[i], &tries[i]) < 0 ? err_set(e, ERR_RUNTIME, "no memory") : 0;
	return r;
}

/* Once one succeeded, it is known how long they take. */
static void settle_limit(struct scanner *s)
{
	uint64_t enough;

	if (isnan(s->quickest_ms))
		return;
	enough = (uint64_t)(LIMIT_TIMES * s->quickest_ms) + LIMIT_MORE;
	if (!s->limit_ms || enough < s->limit_ms)
		s->limit_ms = enough;
}

/* --- versions ------------------------------------------------------------------------------ */

static int scan_versions(struct scanner *s, struct scan_try tries[SCAN_VERSIONS], struct err *e)
{
	struct scan_list *l = &s->scan->versions;

	l->v = calloc(SCAN_VERSIONS, sizeof(*l->v));
	if (!l->v)
		return err_set(e, ERR_RUNTIME, "no memory");
	l->n = SCAN_VERSIONS;
	for (int i = 0; i < SCAN_VERSIONS; i++) {
		l->v[i] = (struct scan_item){ .name = offer_version_name(VERSION_TOP - i),
			.weak = offer_version_weak(VERSION_TOP - i) };
		tries[i] = (struct scan_try){ .version = VERSION_TOP - i };
	}
	return try_each(s, l, tries, e);
}

/* Nothing at all was found: why. */
static int note_fault(struct scanner *s, const struct scan_try *tries)
{
	struct scan *scan = s->scan;
	size_t i;

	for (i = 0; i < SCAN_VERSIONS; i++)
		if (tries[i].taken == CHECK_YES || tries[i].refused)
			return 0;
	if (s->stopped)
		return 0;
	for (i = 0; i + 1 < SCAN_VERSIONS && !tries[i].reached; i++)
		;
	scan->code = tries[i].taken == CHECK_NO ? CHECK_HANDSHAKE : tries[i].code;
	scan->stage = tries[i].stage;
	return check_set(&scan->message, tries[i].reason[0] ? tries[i].reason : "no handshake came about");
}

/* --- what a version takes ------------------------------------------------------------------------ */

/* Before TLS 1.3 a client that does not name the curve of the server's own key cannot have
 * that key (RFC 8422, 5.1). So what was refused alone is tried once more, with the usual
 * curves behind it. */
static int try_groups_again(struct scanner *s, struct scan_list *l, struct scan_try *tries, struct err *e)
{
	static const char *const usual[] = { "SECP256R1", "SECP384R1", "SECP521R1" };
	const char *names[OFFER_MAX][4];
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].taken != CHECK_NO || strncmp(l->v[i].name, "FFDHE", 5) == 0)
			continue;
		names[n][0] = l->v[i].name;
		memcpy(&names[n][1], usual, sizeof(usual));
		tries[n] = (struct scan_try){ .version = 12, .kind = OFFER_GROUP, .names = names[n], .n = 4, .first = true };
		n++;
	}
	if (scan_wave(s, tries, n, e) < 0)
		return -1;
	for (size_t i = 0, k = 0; i < l->n && k < n; i++)
		if (l->v[i].name == tries[k].names[0])
			l->v[i].taken = tries[k++].taken == CHECK_YES ? CHECK_YES : l->v[i].taken;
	return 0;
}

static int scan_kind(struct scanner *s, struct scan_list *l, int version, enum offer_kind kind, struct err *e)
{
	struct offer offers[OFFER_MAX];
	struct scan_try *tries;
	int r = 0;

	l->version = offer_version_name(version);
	l->n = offer_list(kind, version, offers);
	l->v = calloc(l->n + 1, sizeof(*l->v));
	tries = calloc(l->n + 1, sizeof(*tries));
	for (size_t i = 0; l->v && tries && i < l->n; i++) {
		l->v[i] = (struct scan_item){ .name = offers[i].name, .weak = offers[i].weak, .taken = CHECK_UNKNOWN };
		tries[i] = (struct scan_try){ .version = version, .kind = kind, .names = &l->v[i].name, .n = 1 };
	}
	if (!l->v || !tries) {
		l->n = 0;
		r = err_set(e, ERR_RUNTIME, "no memory");
	}
	if (r == 0)
		r = try_each(s, l, tries, e);
	if (r == 0 && kind == OFFER_GROUP && version == 12)
		r = try_groups_again(s, l, tries, e);
	free(tries);
	if (r == 0)
		sort_taken(l);
	return r == 0 ? scan_order(s, l, version, kind, e) : -1;
}

static bool is_taken(const struct scan *scan, const char *version)
{
	for (size_t i = 0; i < scan->versions.n; i++)
		if (strcmp(scan->versions.v[i].name, version) == 0)
			return scan->versions.v[i].taken == CHECK_YES;
	return false;
}

/* Groups and signatures before TLS 1.2 are as they are there, or fixed. */
static int scan_parts(struct scanner *s, struct err *e)
{
	struct scan *scan = s->scan;

	for (int i = 0; i < SCAN_VERSIONS; i++) {
		int version = VERSION_TOP - i;

		if (!is_taken(scan, offer_version_name(version)))
			continue;
		if (scan_kind(s, &scan->suites[i], version, OFFER_SUITE, e) < 0)
			return -1;
		if (version >= 12 && (scan_kind(s, &scan->groups[i], version, OFFER_GROUP, e) < 0 ||
					     scan_kind(s, &scan->signatures[i], version, OFFER_SIGNATURE, e) < 0))
			return -1;
	}
	return 0;
}

/* --- the scan ----------------------------------------------------------------------------------------- */

static void on_signal(void *arg)
{
	struct scanner *s = arg;

	s->stopped = true;
	loop_stop(s->loop);
}

static int describe(struct scanner *s, struct err *e)
{
	const struct scan_goal *g = s->goal;
	struct scan *scan = s->scan;
	char via[LINE_VIA_SIZE];
	int r = 0;

	scan->started_ms = clock_real_ms();
	snprintf(scan->library, sizeof(scan->library), "%.31s", offer_library());
	if (s->target->kind == ADDR_TCP) {
		scan->port = s->target->port;
		r |= check_set(&scan->host, s->target->loopback ? "localhost" : s->target->host);
	}
	r |= check_set(&scan->servername, g->servername ? g->servername : addr_sni(s->target));
	r |= check_set(&scan->starttls, g->line.starttls);
	if (g->line.proxy)
		r |= check_set(&scan->via, line_via(g->line.proxy, via));
	return r ? err_set(e, ERR_RUNTIME, "no memory") : 0;
}

static int run(struct scanner *s, struct err *e)
{
	struct scan_try tries[SCAN_VERSIONS];

	s->loop = loop_new(e);
	if (!s->loop)
		return -1;
	s->pool = buf_pool_new(POOL_KEEP);
	if (!s->pool)
		return err_set(e, ERR_RUNTIME, "no memory");
	if (loop_signal(s->loop, SIGINT, on_signal, s, e) < 0 || loop_signal(s->loop, SIGTERM, on_signal, s, e) < 0 ||
		describe(s, e) < 0 || scan_versions(s, tries, e) < 0)
		return -1;
	settle_limit(s);
	if (note_fault(s, tries) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	return s->scan->code ? 0 : scan_parts(s, e);
}

struct scan *scan_run(const struct scan_goal *g, const char *text, const struct addr *target, struct err *e)
{
	struct scanner s = { .goal = g, .target = target, .limit_ms = g->timeout_ms, .quickest_ms = NAN };
	uint64_t began = clock_mono_ns();
	int r;

	s.scan = scan_new(text);
	if (!s.scan) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	r = run(&s, e);
	s.scan->took_ms = (double)(clock_mono_ns() - began) / 1e6;
	s.scan->interrupted = s.stopped;
	buf_pool_free(s.pool);
	loop_free(s.loop);
	if (r == 0)
		return s.scan;
	scan_free(s.scan);
	return NULL;
}
