/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/report/scan.h"

#include <stdlib.h>
#include <string.h>

#define WEAKNESSES 64 /* kinds of them that are remembered */

struct scan *scan_new(const char *target)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->versions.servers_order = CHECK_UNKNOWN;
	for (size_t i = 0; i < SCAN_VERSIONS; i++)
		s->suites[i].servers_order = s->groups[i].servers_order = s->signatures[i].servers_order = CHECK_UNKNOWN;
	if (check_set(&s->target, target) == 0)
		return s;
	scan_free(s);
	return NULL;
}

static void free_list(struct scan_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].reason);
	free(l->v);
}

void scan_free(struct scan *s)
{
	if (!s)
		return;

	char *texts[] = { s->target, s->host, s->servername, s->address, s->via, s->starttls, s->message };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	free_list(&s->versions);
	for (size_t i = 0; i < SCAN_VERSIONS; i++) {
		free_list(&s->suites[i]);
		free_list(&s->groups[i]);
		free_list(&s->signatures[i]);
	}
	free(s);
}

int scan_exit_code(const struct scan *s)
{
	return s->code != CHECK_OK ? (int)s->code : s->interrupted ? CHECK_FAILED : CHECK_OK;
}

/* --- weak things ---------------------------------------------------------------------- */

struct told {
	const char *v[WEAKNESSES];
	size_t n;
};

static void tell(const struct scan_list *l, struct told *t, void (*say)(void *arg, const char *weak), void *arg)
{
	size_t i, k;

	for (i = 0; i < l->n; i++) {
		const char *weak = l->v[i].taken == CHECK_YES ? l->v[i].weak : NULL;

		for (k = 0; weak && k < t->n && strcmp(t->v[k], weak) != 0; k++)
			;
		if (!weak || k < t->n || t->n == WEAKNESSES)
			continue;
		t->v[t->n++] = weak;
		say(arg, weak);
	}
}

void scan_each_weakness(const struct scan *s, void (*say)(void *arg, const char *weak), void *arg)
{
	struct told t = { .n = 0 };

	tell(&s->versions, &t, say, arg);
	for (size_t i = 0; i < SCAN_VERSIONS; i++) {
		tell(&s->suites[i], &t, say, arg);
		tell(&s->groups[i], &t, say, arg);
		tell(&s->signatures[i], &t, say, arg);
	}
}

const char *const *scan_not_tried(void)
{
	static const char *const names[] = { "SSL 2 and 3", "export suites", "anonymous suites", "pre-shared keys", "SRP",
		"compression", NULL };

	return names;
}
