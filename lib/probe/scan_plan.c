/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/probe/scan_int.h"

/* What is looked at when: the suites of each version, which tells whether the version is
 * taken; the groups and signatures of those that are. */

#define V(version) (1u << (version))

static void on_done(struct scan_strike *s, const struct scan_answer *a);

static struct scan_version *version_of(const struct scan_job *j, enum offer_version v)
{
	return &j->scan->versions[v];
}

static struct scan_strike *new_strike(struct scan_job *j, enum scan_kind kind, enum offer_version v, struct scan_rows *rows)
{
	struct scan_strike *s = &j->strikes[j->n_strikes++];

	s->job = j;
	s->kind = kind;
	s->version = v;
	s->rows = rows;
	s->first = rows->n;
	s->done = on_done;
	return s;
}

static void add(struct scan_strike *s, union scan_piece piece, const char *name, unsigned id, unsigned traits)
{
	if (scan_add_row(s->rows, name, id, traits) < 0)
		scan_fail(s->job);
	else
		s->pieces[s->n++] = piece;
}

/* A list without anything in it is not begun. */
static void start(struct scan_strike *s)
{
	if (s->n && !s->job->failed)
		scan_strike_start(s);
	else
		s->over = true;
}

/* --- what goes along -------------------------------------------------------------------- */

/* Suites that the server takes, of these kinds of key exchange. */
static void with_suites(struct scan_strike *s, unsigned kxs)
{
	const struct offer_list *l = s->job->list;
	const struct scan_rows *r = &version_of(s->job, s->version)->suites;

	for (size_t i = 0; i < l->n_suites; i++)
		for (size_t k = 0; (kxs & V(l->suites[i].kx)) && k < r->n; k++)
			if (r->rows[k].id == l->suites[i].id && r->rows[k].taken == CHECK_YES)
				s->suites[s->offer.n_suites++] = &l->suites[i];
}

static void with_groups(struct scan_strike *s)
{
	const struct offer_list *l = s->job->list;

	for (size_t i = 0; i < l->n_groups; i++)
		if (l->groups[i].versions & V(s->version))
			s->groups[s->offer.n_groups++] = &l->groups[i];
}

static void with_signatures(struct scan_strike *s)
{
	const struct offer_list *l = s->job->list;

	for (size_t i = 0; i < l->n_signatures; i++)
		if (l->signatures[i].versions & V(s->version))
			s->signatures[s->offer.n_signatures++] = &l->signatures[i];
}

/* --- groups and signatures ----------------------------------------------------------------- */

static void add_groups(struct scan_strike *s, bool curves, bool ffdhe)
{
	const struct offer_list *l = s->job->list;

	for (size_t i = 0; i < l->n_groups; i++) {
		const struct offer_group *g = &l->groups[i];

		if ((g->versions & V(s->version)) && (g->ffdhe ? ffdhe : curves))
			add(s, (union scan_piece){ .group = g }, g->name, g->id, g->traits);
	}
}

static void begin_groups(struct scan_job *j, enum offer_version v, unsigned kxs, bool curves, bool ffdhe)
{
	struct scan_strike *s = new_strike(j, SCAN_GROUPS, v, &version_of(j, v)->groups);

	s->no_order = !curves; /* a list of its own, behind the curves */
	with_suites(s, kxs);
	with_signatures(s);
	if (s->offer.n_suites)
		add_groups(s, curves, ffdhe);
	start(s);
}

static void begin_signatures(struct scan_job *j, enum offer_version v, unsigned kxs)
{
	struct scan_strike *s = new_strike(j, SCAN_SIGNATURES, v, &version_of(j, v)->signatures);
	const struct offer_list *l = j->list;

	with_suites(s, kxs);
	with_groups(s);
	for (size_t i = 0; s->offer.n_suites && i < l->n_signatures; i++) {
		const struct offer_signature *x = &l->signatures[i];

		if (x->versions & V(v))
			add(s, (union scan_piece){ .signature = x }, offer_signature_name(x, v), x->id, x->traits);
	}
	start(s);
}

static const struct scan_strike *suites_of(const struct scan_job *j, enum offer_version v)
{
	for (size_t i = 0; i < j->n_strikes; i++)
		if (j->strikes[i].kind == SCAN_SUITES && j->strikes[i].version == v)
			return &j->strikes[i];
	return NULL;
}

/* Of the versions before TLS 1.3 the newest that is taken, once that is known. */
static void begin_old_groups(struct scan_job *j)
{
	for (int v = OFFER_TLS1_2; v >= 0 && !j->groups_begun; v--) {
		const struct scan_strike *s = suites_of(j, (enum offer_version)v);

		if (s && !s->over)
			return;
		if (version_of(j, (enum offer_version)v)->taken != CHECK_YES)
			continue;
		j->groups_begun = true;
		begin_groups(j, (enum offer_version)v, V(OFFER_KX_ECDHE), true, false);
		begin_groups(j, (enum offer_version)v, V(OFFER_KX_DHE), false, true);
	}
}

static void go_on(struct scan_job *j, const struct scan_strike *s)
{
	bool taken = version_of(j, s->version)->taken == CHECK_YES;

	if (s->kind != SCAN_SUITES)
		return;
	if (taken && s->version == OFFER_TLS1_3)
		begin_groups(j, s->version, V(OFFER_KX_TLS1_3), true, true);
	if (taken && s->version == OFFER_TLS1_3)
		begin_signatures(j, s->version, V(OFFER_KX_TLS1_3));
	if (taken && s->version == OFFER_TLS1_2)
		begin_signatures(j, s->version, V(OFFER_KX_ECDHE) | V(OFFER_KX_DHE));
	begin_old_groups(j);
}

static bool all_over(const struct scan_job *j)
{
	for (size_t i = 0; i < j->n_strikes; i++)
		if (!j->strikes[i].over)
			return false;
	return true;
}

static void on_done(struct scan_strike *s, const struct scan_answer *a)
{
	(void)a;
	if (!s->job->over)
		go_on(s->job, s);
	if (!s->job->over && all_over(s->job))
		scan_end(s->job);
}

/* --- versions and suites ---------------------------------------------------------------------- */

static void begin_suites(struct scan_job *j, enum offer_version v);

static void begin_others(struct scan_job *j)
{
	for (int v = OFFER_VERSIONS - 1; v >= 0; v--)
		if (version_of(j, (enum offer_version)v)->offered && !suites_of(j, (enum offer_version)v))
			begin_suites(j, (enum offer_version)v);
}

static void note_way(struct scan_job *j, const struct line_story *s)
{
	j->scan->family = s->family;
	if (s->address[0] && check_set(&j->scan->address, s->address) < 0)
		scan_fail(j);
}

void scan_plan_reached(const struct scan_ask *a)
{
	struct line_story s;

	a->job->reached = true;
	line_story(a->line, &s);
	note_way(a->job, &s);
	begin_others(a->job);
}

/* Whether the version is taken. When nobody could be reached so far, nobody is asked
 * anything more. */
static void on_heard(struct scan_strike *s, const struct scan_answer *a)
{
	struct scan_job *j = s->job;
	struct scan_version *v = version_of(j, s->version);

	v->taken = a->hello ? CHECK_YES : a->reached && !a->silent ? CHECK_NO : CHECK_UNKNOWN;
	if (v->taken != CHECK_YES && check_set(&v->why, a->why) < 0)
		scan_fail(j);
	if (j->reached)
		return;
	note_way(j, &a->story);
	scan_set_fault(j->scan, a->code, a->stage, "%s", a->why);
	scan_end(j);
}

static void begin_suites(struct scan_job *j, enum offer_version v)
{
	struct scan_strike *s = new_strike(j, SCAN_SUITES, v, &version_of(j, v)->suites);

	s->heard = on_heard;
	for (size_t i = 0; i < j->list->n_suites; i++) {
		const struct offer_suite *x = &j->list->suites[i];

		if (x->versions & V(v))
			add(s, (union scan_piece){ .suite = x }, x->name, x->id, x->traits);
	}
	with_groups(s);
	with_signatures(s);
	start(s);
}

void scan_plan_begin(struct scan_job *j)
{
	int newest = -1;

	for (int v = 0; v < OFFER_VERSIONS; v++)
		for (size_t i = 0; i < j->list->n_suites; i++)
			if (j->list->suites[i].versions & V(v)) {
				version_of(j, (enum offer_version)v)->offered = true;
				newest = v;
			}
	if (newest >= 0) {
		begin_suites(j, (enum offer_version)newest);
		return;
	}
	scan_set_fault(j->scan, CHECK_FAILED, CHECK_AT_HANDSHAKE, "this GnuTLS can offer no version of TLS");
	scan_end(j);
}

/* --- what is left out ---------------------------------------------------------------------------- */

static void put_name(FILE *out, const char *name, size_t *n)
{
	fprintf(out, "%s%s", (*n)++ ? ", " : "", name);
}

static void put_versions(FILE *out, const struct scan_job *j, size_t *n)
{
	for (enum offer_version v = 0; v < OFFER_VERSIONS; v++)
		if (!version_of(j, v)->offered)
			put_name(out, offer_version_name(v), n);
}

static void put_groups(FILE *out, const struct scan_job *j, size_t *n)
{
	for (size_t i = 0; i < j->list->n_groups; i++)
		if (!j->list->groups[i].versions)
			put_name(out, j->list->groups[i].name, n);
}

static void put_signatures(FILE *out, const struct scan_job *j, size_t *n)
{
	for (size_t i = 0; i < j->list->n_signatures; i++)
		if (!j->list->signatures[i].versions)
			put_name(out, j->list->signatures[i].name12, n);
}

/* What the lists name and this GnuTLS does not have, and what no GnuTLS has. */
int scan_plan_untested(struct scan_job *j)
{
	static const struct {
		const char *what;
		void (*put)(FILE *out, const struct scan_job *j, size_t *n);
		const char *always;
	} lines[] = {
		{ "versions", put_versions, "SSL 2, SSL 3" },
		{ "suites", NULL, "PSK, SRP, Kerberos, GOST, export strength, static DH and ECDH, DES, RC2, IDEA, SEED, ARIA" },
		{ "groups", put_groups, "Brainpool and binary curves" },
		{ "signatures", put_signatures, "Brainpool, GOST, SM2 and ML-DSA" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = NULL;
		size_t size, n = 0;
		FILE *out = open_memstream(&text, &size);
		int r = -1;

		if (!out)
			return -1;
		if (lines[i].put)
			lines[i].put(out, j, &n);
		put_name(out, lines[i].always, &n);
		if (fclose(out) == 0)
			r = scan_add_untested(j->scan, "%s: %s", lines[i].what, text);
		free(text);
		if (r < 0)
			return -1;
	}
	return 0;
}
