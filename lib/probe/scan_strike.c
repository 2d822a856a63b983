/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/probe/scan_int.h"

/* Which pieces of a list a server takes, and in which order: all are offered, what it
 * picks is struck off, and again, until it refuses. Then what it took is offered the other
 * way round: a server with an order of its own picks the same one first. */

static struct scan_row *row(const struct scan_strike *s, size_t i)
{
	return &s->rows->rows[s->first + i];
}

/* --- offers ------------------------------------------------------------------------------ */

static void put(struct scan_strike *s, size_t at, size_t piece)
{
	switch (s->kind) {
	case SCAN_SUITES:
		s->suites[at] = s->pieces[piece].suite;
		s->offer.n_suites = at + 1;
		break;
	case SCAN_GROUPS:
		s->groups[at] = s->pieces[piece].group;
		s->offer.n_groups = at + 1;
		break;
	case SCAN_SIGNATURES:
		s->signatures[at] = s->pieces[piece].signature;
		s->offer.n_signatures = at + 1;
		break;
	}
}

static void ask(struct scan_strike *s, const size_t *pieces, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(s, i, pieces[i]);
	s->ask.exact = s->kind == SCAN_SUITES && s->version <= OFFER_TLS1_2;
	scan_ask(&s->ask);
}

/* --- what came of them ---------------------------------------------------------------------- */

static bool is_pick(const struct scan_strike *s, size_t piece, const struct scan_answer *a)
{
	const union scan_piece *p = &s->pieces[piece];
	const char *name;

	switch (s->kind) {
	case SCAN_SUITES:
		return p->suite->id == a->suite;
	case SCAN_GROUPS:
		return a->group && strcmp(a->group, p->group->name) == 0;
	case SCAN_SIGNATURES:
		name = offer_signature_name(p->signature, s->version);
		return a->signature && strcmp(a->signature, name) == 0;
	}
	return false;
}

/* Where in a list of pieces the server's choice is; n: not there. */
static size_t find_pick(const struct scan_strike *s, const size_t *list, size_t n, const struct scan_answer *a)
{
	size_t i;

	for (i = 0; i < n && !(a->hello && is_pick(s, list[i], a)); i++)
		;
	return i;
}

static void set(struct scan_strike *s, char **place, const char *text)
{
	if (check_set(place, text) < 0)
		scan_fail(s->job);
}

/* What goes with the piece, and what of that is weak. */
static void note_company(struct scan_strike *s, struct scan_row *r, const struct scan_answer *a)
{
	char prime[32];

	if (s->kind == SCAN_SIGNATURES) {
		set(s, &r->with, a->key[0] ? a->key : NULL);
	} else if (s->kind == SCAN_SUITES && a->group) {
		set(s, &r->with, a->group);
	} else if (s->kind == SCAN_SUITES && a->dh_bits) {
		snprintf(prime, sizeof(prime), "DH %u", a->dh_bits);
		set(s, &r->with, prime);
		r->traits |= a->dh_bits < 2048 ? OFFER_SMALL_GROUP : 0;
	}
	if (a->small_key && (s->kind == SCAN_SIGNATURES || (r->traits & OFFER_STATIC_RSA)))
		r->traits |= OFFER_SMALL_KEY;
}

static void note_pick(struct scan_strike *s, size_t piece, const struct scan_answer *a)
{
	struct scan_row *r = row(s, piece);

	r->taken = CHECK_YES;
	set(s, &r->why, NULL);
	s->picks[s->n_picks++] = piece;
	if (!s->no_order)
		r->place = (unsigned)s->n_picks;
	note_company(s, r, a);
}

static void note_rest(struct scan_strike *s, enum check_answer taken, const char *why)
{
	for (size_t i = 0; i < s->n_left; i++) {
		row(s, s->left[i])->taken = taken;
		set(s, &row(s, s->left[i])->why, why);
	}
}

static void finish(struct scan_strike *s)
{
	s->over = true;
	s->done(s, NULL);
}

/* --- a certificate's own curve ------------------------------------------------------------------ */

/* Up to TLS 1.2 the groups are also the curves that an ECDSA certificate may have (RFC
 * 8422, 5.1.1), so that its own must be on offer, and others can be seen beside it only;
 * unless the server has an RSA certificate as well. */
static void note_curve(struct scan_strike *s, const struct scan_answer *a)
{
	static const char *const curves[][2] = { { "ECDSA P-256", "SECP256R1" }, { "ECDSA P-384", "SECP384R1" },
		{ "ECDSA P-521", "SECP521R1" }, { "ECDSA P-224", "SECP224R1" }, { "ECDSA P-192", "SECP192R1" } };

	if (s->kind != SCAN_GROUPS || s->version == OFFER_TLS1_3)
		return;
	for (size_t i = 0; i < s->offer.n_suites; i++)
		if (strcmp(s->suites[i]->kx_part, "ECDHE-ECDSA") != 0)
			return;
	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++)
		for (size_t k = 0; strcmp(a->key, curves[i][0]) == 0 && k < s->n; k++)
			if (strcmp(s->pieces[k].group->name, curves[i][1]) == 0)
				s->curve = k;
}

/* The next of those refused is offered along with that curve. */
static void aid_next(struct scan_strike *s)
{
	for (; s->curve < s->n && s->aided < s->n; s->aided++) {
		if (row(s, s->aided)->taken != CHECK_NO)
			continue;
		s->phase = SCAN_AIDING;
		ask(s, (size_t[]){ s->aided, s->curve }, 2);
		return;
	}
	finish(s);
}

static void heard_aided(struct scan_strike *s, const struct scan_answer *a)
{
	struct scan_row *r = row(s, s->aided);

	if (find_pick(s, &s->aided, 1, a) == 0) {
		note_pick(s, s->aided, a);
	} else if (find_pick(s, &s->curve, 1, a) == 0 && s->rows->order != SCAN_ORDER_CLIENT) {
		r->taken = CHECK_UNKNOWN;
		set(s, &r->why, "it can be offered with the curve of the server's certificate only, which is taken first");
	} else if (!a->reached || a->silent) {
		r->taken = CHECK_UNKNOWN;
		set(s, &r->why, a->why);
	}
	s->aided++;
	aid_next(s);
}

/* --- the other way round --------------------------------------------------------------------------- */

/* Some servers put ChaCha20 first when a client does, and have an order of their own
 * otherwise (OpenSSL's PRIORITIZE_CHACHA): it must not stand first. */
static bool is_chacha(const struct scan_strike *s, size_t piece)
{
	return s->kind == SCAN_SUITES && strstr(s->pieces[piece].suite->name, "CHACHA20") != NULL;
}

static void turn(struct scan_strike *s)
{
	size_t order[SCAN_PIECES_MAX], n = s->n_picks, first = 0;

	s->phase = SCAN_TURNING;
	for (size_t i = 0; i < n; i++)
		order[i] = s->picks[n - 1 - i];
	while (first + 2 < n && is_chacha(s, order[first]))
		first++;
	for (; first > 0; first--) {
		size_t piece = order[first];

		order[first] = order[first - 1];
		order[first - 1] = piece;
	}
	s->left[0] = order[0]; /* what a server without an order picks */
	ask(s, order, n);
}

/* Whether the picks came as they were offered, which an order of its own explains only by
 * chance. */
static bool as_offered(const struct scan_strike *s)
{
	for (size_t i = 1; i < s->n_picks; i++)
		if (s->picks[i] < s->picks[i - 1])
			return false;
	return true;
}

static void heard_turned(struct scan_strike *s, const struct scan_answer *a)
{
	enum scan_order order = SCAN_ORDER_UNKNOWN;

	if (find_pick(s, s->picks, 1, a) == 0)
		order = SCAN_ORDER_SERVER;
	else if (find_pick(s, s->left, 1, a) == 0 && as_offered(s))
		order = SCAN_ORDER_CLIENT;
	if (!s->no_order)
		s->rows->order = order;
	aid_next(s);
}

static void struck(struct scan_strike *s)
{
	if (s->n_picks >= 2 && !s->no_order)
		turn(s);
	else
		aid_next(s);
}

/* --- striking off --------------------------------------------------------------------------------------- */

/* A server that has a prime of its own takes it whatever groups it is offered. */
static void note_prime(struct scan_strike *s, const struct scan_answer *a)
{
	char name[40];
	struct scan_row *r;

	note_rest(s, CHECK_NO, "it has a prime of its own");
	snprintf(name, sizeof(name), "DH %u, its own prime", a->dh_bits);
	if (scan_add_row(s->rows, name, 0, a->dh_bits < 2048 ? OFFER_SMALL_GROUP : 0) < 0) {
		scan_fail(s->job);
		return;
	}
	r = &s->rows->rows[s->rows->n - 1];
	r->taken = CHECK_YES;
}

/* Whether this side gave a handshake up before it saw what the server picked, and never saw
 * it do so: a prime or a key that GnuTLS will not have hides what stands behind it. */
static bool is_hidden(const struct scan_strike *s, const struct scan_answer *a)
{
	bool seen = s->kind == SCAN_SIGNATURES ? a->signature != NULL : s->kind == SCAN_GROUPS ? a->group != NULL : true;

	return a->hello && !seen && s->n_picks == 0;
}

static void heard_strike(struct scan_strike *s, const struct scan_answer *a)
{
	size_t at = find_pick(s, s->left, s->n_left, a);

	if (at < s->n_left) {
		note_curve(s, a);
		note_pick(s, s->left[at], a);
		memmove(s->left + at, s->left + at + 1, (s->n_left - at - 1) * sizeof(*s->left));
		if (--s->n_left > 0)
			ask(s, s->left, s->n_left);
		else
			struck(s);
	} else if (s->kind == SCAN_GROUPS && a->hello && a->dh_bits) {
		note_prime(s, a);
		finish(s);
	} else if (!a->reached || a->silent || is_hidden(s, a)) {
		note_rest(s, CHECK_UNKNOWN, a->why);
		finish(s);
	} else {
		note_rest(s, CHECK_NO, a->why[0] ? a->why : "the server took what was not offered");
		struck(s);
	}
}

static void on_answer(void *arg, const struct scan_answer *a)
{
	static void (*const phases[])(struct scan_strike *s, const struct scan_answer *a) = {
		[SCAN_STRIKING] = heard_strike, [SCAN_TURNING] = heard_turned, [SCAN_AIDING] = heard_aided };
	struct scan_strike *s = arg;

	if (s->heard && !s->begun)
		s->heard(s, a);
	s->begun = true;
	if (!s->job->over)
		phases[s->phase](s, a);
}

/* --- the beginning ------------------------------------------------------------------------------------------ */

void scan_strike_start(struct scan_strike *s)
{
	s->offer.version = s->version;
	s->offer.suites = s->suites;
	s->offer.groups = s->groups;
	s->offer.signatures = s->signatures;
	s->ask = (struct scan_ask){ .job = s->job, .offer = &s->offer, .fn = on_answer, .arg = s };
	s->curve = SIZE_MAX;
	s->n_left = s->n;
	for (size_t i = 0; i < s->n; i++)
		s->left[i] = i;
	ask(s, s->left, s->n);
}

/* Rows that were refused on the way to something else are what they are. */
void scan_strike_stop(struct scan_strike *s)
{
	if (s->over)
		return;
	scan_ask_cancel(&s->ask);
	s->over = true;
	if (s->phase == SCAN_STRIKING)
		note_rest(s, CHECK_UNKNOWN, "it was not looked at any more");
	for (; s->phase == SCAN_AIDING && s->aided < s->n; s->aided++)
		if (row(s, s->aided)->taken == CHECK_NO)
			row(s, s->aided)->taken = CHECK_UNKNOWN;
}
