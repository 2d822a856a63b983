/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/report/report_int.h"

static const char *const agreed_names[] = { "version", "suite", "group", "signature", "cert_bits", "resumed",
	"dataplane" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *agreed_value(const struct row_negotiated *n, size_t which, char out[REPORT_VALUE_SIZE])
{
	if (!n)
		return NULL;
	switch (which) {
	case 0:
		return n->version;
	case 1:
		return n->suite;
	case 2:
		return n->group;
	case 3:
		return n->signature;
	case 4:
		snprintf(out, REPORT_VALUE_SIZE, "%ld bits", n->cert_bits);
		return n->cert_bits >= 0 ? out : NULL;
	case 5:
		return n->resumed < 0 ? NULL : n->resumed ? "yes" : "no";
	default:
		return n->dataplane;
	}
}

static const struct row_param *param_of(const struct row *r, const char *name)
{
	for (size_t i = 0; i < r->n_params; i++) {
		if (strcmp(r->params[i].name, name) == 0)
			return &r->params[i];
	}
	return NULL;
}

const char *report_trait_value(const struct report_trait *t, const struct row *r, char out[REPORT_VALUE_SIZE])
{
	const struct row_param *p;

	if (t->agreed)
		return agreed_value(r->negotiated, t->agreed - 1, out);
	p = param_of(r, t->name);
	return p ? report_param_value(p, out) : NULL;
}

const char *report_trait_common(const struct report_trait *t, const struct report_group *g, char out[REPORT_VALUE_SIZE])
{
	const char *shared = NULL;

	for (size_t i = 0; i < g->n; i++) {
		char space[REPORT_VALUE_SIZE];
		const char *v;

		if (t->agreed && !g->rows[i]->negotiated)
			continue; /* it failed and has no say in what was agreed */
		v = report_trait_value(t, g->rows[i], shared ? space : out);
		if (!v || (shared && strcmp(v, shared) != 0))
			return NULL;
		if (!shared)
			shared = v;
	}
	return shared;
}

/* Whether no row has it, or each row says the same in a param of that name. */
static bool needless(const struct report_trait *t, const struct report_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct row_param *p = param_of(g->rows[i], t->name);
		char a[REPORT_VALUE_SIZE], b[REPORT_VALUE_SIZE];
		const char *v = report_trait_value(t, g->rows[i], a), *said = p ? report_param_value(p, b) : NULL;

		if (v && (!said || strcasecmp(v, said) != 0))
			return false;
	}
	return true;
}

static int add_trait(struct report_traits *t, const char *name, size_t agreed, bool number)
{
	struct report_trait *more = realloc(t->all, (t->n + 1) * sizeof(*more));

	if (!more)
		return -1;
	t->all = more;
	more[t->n++] = (struct report_trait){ name, agreed, number, 0 };
	return 0;
}

static int add_params(struct report_traits *t, const struct row *r)
{
	for (size_t k = 0; k < r->n_params; k++) {
		const struct row_param *p = &r->params[k];
		size_t i = 0;

		while (i < t->n && strcmp(t->all[i].name, p->name) != 0)
			i++;
		if (i < t->n)
			t->all[i].numbers &= !p->text;
		else if (add_trait(t, p->name, 0, !p->text) < 0)
			return -1;
	}
	return 0;
}

int report_traits_of(const struct report_group *g, struct report_traits *t)
{
	for (size_t i = 0; i < g->n; i++) {
		if (add_params(t, g->rows[i]) < 0)
			return -1;
	}
	for (size_t k = 0; k < COUNT(agreed_names); k++) {
		struct report_trait agreed = { agreed_names[k], k + 1, false, 0 };

		if (!needless(&agreed, g) && add_trait(t, agreed.name, agreed.agreed, false) < 0)
			return -1;
	}
	return 0;
}
