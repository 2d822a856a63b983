/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What a server prefers. */

#include <stdlib.h>
#include <string.h>

#include "lib/probe/scan_int.h"

/* Those taken that are not placed yet, and those that are. */
struct order {
	struct scanner *s;
	struct scan_list *l;
	int version;
	enum offer_kind kind;
	size_t placed;
};

static void names_of(const struct scan_item *v, size_t n, const char **out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = v[i].name;
}

/* What the server picks when these are offered; NULL: nothing, or no answer. */
static int pick(struct order *o, const char *const *names, size_t n, const char **out, struct err *e)
{
	struct scan_try t = { .version = o->version, .kind = o->kind, .names = names, .n = n,
		.exact = o->kind == OFFER_SUITE && o->version < 13 };

	*out = NULL;
	if (scan_wave(o->s, &t, 1, e) < 0)
		return -1;
	if (t.taken == CHECK_YES)
		*out = t.pick;
	return 0;
}

static size_t find(const struct scan_list *l, size_t from, const char *name)
{
	size_t i = from;

	while (i < l->n_taken && (!name || strcmp(l->v[i].name, name) != 0))
		i++;
	return i;
}

static void place(struct order *o, size_t at)
{
	struct scan_item it = o->l->v[at];

	memmove(&o->l->v[o->placed + 1], &o->l->v[o->placed], (at - o->placed) * sizeof(it));
	o->l->v[o->placed++] = it;
}

/* One after the other, until it cannot be told. */
static int strike(struct order *o, struct err *e)
{
	const char *names[OFFER_MAX] = { NULL }, *picked;
	size_t at;

	while (o->placed < o->l->n_taken) {
		names_of(o->l->v + o->placed, o->l->n_taken - o->placed, names);
		if (pick(o, names, o->l->n_taken - o->placed, &picked, e) < 0)
			return -1;
		at = find(o->l, o->placed, picked);
		if (at == o->l->n_taken)
			return 0;
		place(o, at);
	}
	return 0;
}

/* The other way round the server picks the same, or the client has its way. */
static int ask_whose(struct order *o, struct err *e)
{
	const char *names[OFFER_MAX] = { NULL }, *forward, *backward;
	size_t n = o->l->n_taken;

	names_of(o->l->v, n, names);
	if (pick(o, names, n, &forward, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		names[i] = o->l->v[n - 1 - i].name;
	if (pick(o, names, n, &backward, e) < 0)
		return -1;
	if (forward && backward)
		o->l->servers_order = strcmp(forward, backward) == 0 ? CHECK_YES : CHECK_NO;
	return 0;
}

int scan_order(struct scanner *s, struct scan_list *l, int version, enum offer_kind kind, struct err *e)
{
	struct order o = { .s = s, .l = l, .version = version, .kind = kind };

	if (l->n_taken < 2 || s->stopped)
		return 0;
	if (ask_whose(&o, e) < 0)
		return -1;
	if (l->servers_order != CHECK_YES)
		return 0;
	if (strike(&o, e) < 0)
		return -1;
	l->n_ordered = o.placed;
	return 0;
}
