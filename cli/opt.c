/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "cli/opt.h"
#include "lib/base/near.h"
#include "lib/base/units.h"

/* Values are quoted up to this much, so that the reason stays in the message. */
#define SHOWN "%.120s"

struct parser {
	const struct opt_spec *spec;
	const char *command;
	char *values;
	struct opt_list *operands;
	struct err *e;
};

/* An option and where its value lies in this command's struct. */
struct hit {
	const struct opt *o;
	size_t offset;
};

/* --- the table ------------------------------------------------------------- */

/* Long name of len bytes, or with name NULL the letter. */
static bool find(const struct opt_spec *spec, const char *name, size_t len, char letter, struct hit *hit)
{
	for (const struct opt_group *g = spec->groups; g->title != NULL; g++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++) {
			if (name != NULL ? strncmp(o->name, name, len) != 0 || o->name[len] != '\0' :
					   o->letter != letter)
				continue;
			hit->o = o;
			hit->offset = g->base + o->offset;
			return true;
		}
	}
	return false;
}

const struct opt *opt_find(const struct opt_spec *spec, const char *name)
{
	struct hit hit;

	return find(spec, name, strlen(name), 0, &hit) ? hit.o : NULL;
}

#define NEAR_MAX 128

static const char *near_option(const struct opt_spec *spec, const char *typed)
{
	const char *names[NEAR_MAX] = { "help" };
	size_t n = 1;

	for (const struct opt_group *g = spec->groups; g->title != NULL; g++) {
		for (const struct opt *o = g->opts; o->name != NULL && n < NEAR_MAX; o++)
			names[n++] = o->name;
	}
	return near_match(typed, names, n);
}

/* --- lists ----------------------------------------------------------------- */

static int list_add(struct opt_list *l, const char *s, struct err *e)
{
	/* the array doubles when its length reaches a power of two */
	if ((l->n & (l->n - 1)) == 0) {
		const char **v = realloc(l->v, (l->n == 0 ? 1 : 2 * l->n) * sizeof(*v));

		if (v == NULL)
			return err_set(e, ERR_RUNTIME, "out of memory");
		l->v = v;
	}
	l->v[l->n++] = s;
	return 0;
}

static void list_free(struct opt_list *l, bool owned)
{
	for (size_t i = 0; owned && i < l->n; i++)
		free((char *)l->v[i]);
	free(l->v);
	*l = (struct opt_list){ 0 };
}

/* --- values ---------------------------------------------------------------- */

static int set_uint(const struct opt *o, uint64_t *at, const char *text, struct err *e)
{
	uint64_t max = o->max == 0 ? UINT64_MAX : o->max;

	if (units_parse_uint(text, o->min, max, at) == 0)
		return 0;
	if (o->max == 0)
		return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" is not a whole number of %llu or more", o->name,
			       text, (unsigned long long)o->min);
	return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" is not a whole number from %llu to %llu", o->name, text,
		       (unsigned long long)o->min, (unsigned long long)o->max);
}

static int set_duration(const struct opt *o, uint64_t *at, const char *text, struct err *e)
{
	char limit[32];
	uint64_t ms;

	if (units_parse_duration(text, &ms) != 0)
		return err_set(e, ERR_CONFIG,
			       "--%s: \"" SHOWN "\" is not a duration; write 10s, 250ms, 5m, 2h, 1d or 0", o->name,
			       text);
	if (ms < o->min)
		return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" is too short; the least is %s", o->name, text,
			       units_duration(o->min, limit, sizeof(limit)));
	if (o->max != 0 && ms > o->max)
		return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" is too long; the most is %s", o->name, text,
			       units_duration(o->max, limit, sizeof(limit)));
	*at = ms;
	return 0;
}

static int set_enum(const struct opt *o, int *at, const char *text, struct err *e)
{
	const char *word = o->choices;
	size_t len = strlen(text);

	for (int i = 0;; i++) {
		size_t n = strcspn(word, "|");

		if (n == len && memcmp(word, text, n) == 0) {
			*at = i;
			return 0;
		}
		if (word[n] == '\0')
			return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" is none of %s", o->name, text, o->choices);
		word += n + 1;
	}
}

static int add_items(const struct opt *o, struct opt_list *l, const char *text, struct err *e)
{
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		char *item;

		if (n == 0)
			return err_set(e, ERR_CONFIG, "--%s: \"" SHOWN "\" has an empty item between its commas",
				       o->name, text);
		item = strndup(p, n);
		if (item == NULL)
			return err_set(e, ERR_RUNTIME, "out of memory");
		if (list_add(l, item, e) != 0) {
			free(item);
			return -1;
		}
		p += n;
		if (*p == '\0')
			return 0;
	}
}

static int set_value(const struct parser *p, const struct hit *hit, const char *text)
{
	void *at = p->values + hit->offset;

	/* nearly always a shell variable that was never set */
	if (*text == '\0')
		return err_set(p->e, ERR_CONFIG, "--%s: the value is empty", hit->o->name);
	switch (hit->o->type) {
	case OPT_FLAG:
		return err_set(p->e, ERR_CONFIG, "--%s takes no value, but got \"" SHOWN "\"", hit->o->name, text);
	case OPT_STRING:
		*(const char **)at = text;
		return 0;
	case OPT_LIST:
		return list_add(at, text, p->e);
	case OPT_COMMA:
		return add_items(hit->o, at, text, p->e);
	case OPT_UINT:
		return set_uint(hit->o, at, text, p->e);
	case OPT_DURATION:
		return set_duration(hit->o, at, text, p->e);
	case OPT_ENUM:
		return set_enum(hit->o, at, text, p->e);
	}
	return err_set(p->e, ERR_RUNTIME, "--%s has no type", hit->o->name);
}

/* Lists take their default behind argv, and only where argv gave them nothing:
 * what is typed replaces the default and does not add to it. */
static int set_defaults(const struct parser *p, bool lists)
{
	for (const struct opt_group *g = p->spec->groups; g->title != NULL; g++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++) {
			struct hit hit = { o, g->base + o->offset };
			bool is_list = o->type == OPT_LIST || o->type == OPT_COMMA;

			if (o->def == NULL || is_list != lists)
				continue;
			if (is_list && ((struct opt_list *)(void *)(p->values + hit.offset))->n > 0)
				continue;
			if (set_value(p, &hit, o->def) != 0)
				return err_prefix(p->e, "the default of --%s", o->name);
		}
	}
	return 0;
}

/* --- arguments ------------------------------------------------------------- */

static const char *foreign_option(const struct opt_spec *spec, const char *typed)
{
	typed += strspn(typed, "-");
	for (const struct opt_foreign *f = spec->foreign; f != NULL && f->name != NULL; f++) {
		if (strcmp(f->name, typed) == 0)
			return f->here;
	}
	return NULL;
}

static int unknown_option(const struct parser *p, const char *shown, const char *typed)
{
	const char *here = foreign_option(p->spec, typed), *near = near_option(p->spec, typed);

	if (here != NULL)
		return err_set(p->e, ERR_CONFIG, "unknown option " SHOWN "; here that is %s", shown, here);
	if (near != NULL)
		return err_set(p->e, ERR_CONFIG, "unknown option " SHOWN "; did you mean --%s?", shown, near);
	return err_set(p->e, ERR_CONFIG, "unknown option " SHOWN "; see tlskit %s --help", shown, p->command);
}

/* Whether an argument reads as "--" or as an option of this command. */
static bool is_option(const struct parser *p, const char *arg)
{
	struct hit hit;

	if (strncmp(arg, "--", 2) != 0)
		return false;
	return arg[2] == '\0' || find(p->spec, arg + 2, strcspn(arg + 2, "="), 0, &hit);
}

/* The value that stands in the next argument. argv ends with NULL. */
static int next_value(const struct parser *p, const struct hit *hit, const char *next)
{
	const char *arg = hit->o->arg != NULL ? hit->o->arg : hit->o->choices;

	if (next == NULL)
		return err_set(p->e, ERR_CONFIG, "--%s needs a value (%s)", hit->o->name, arg != NULL ? arg : "VALUE");
	/* "--cert --key k.pem": a forgotten value, not a file named "--key" */
	if (is_option(p, next))
		return err_set(p->e, ERR_CONFIG,
			       "--%s needs a value (%s), but the option " SHOWN " follows; write --%s=" SHOWN
			       " if that is the value",
			       hit->o->name, arg != NULL ? arg : "VALUE", next, hit->o->name, next);
	return set_value(p, hit, next);
}

/* "--name", "--name=value", "--name value". Returns how many arguments it took,
 * or -1. */
static int parse_long(const struct parser *p, char **argv)
{
	const char *name = argv[0] + 2;
	size_t len = strcspn(name, "=");
	struct hit hit;

	if (!find(p->spec, name, len, 0, &hit)) {
		char typed[80], shown[82];

		if (len >= sizeof(typed))
			len = sizeof(typed) - 1;
		memcpy(typed, name, len);
		typed[len] = '\0';
		memcpy(shown, "--", 2);
		memcpy(shown + 2, typed, len + 1);
		return unknown_option(p, shown, typed);
	}
	if (name[len] == '=')
		return set_value(p, &hit, name + len + 1) == 0 ? 1 : -1;
	if (hit.o->type == OPT_FLAG) {
		*(bool *)(p->values + hit.offset) = true;
		return 1;
	}
	return next_value(p, &hit, argv[1]) == 0 ? 2 : -1;
}

/* "-x", "-xVALUE", "-x VALUE", and several flags in one: "-46". */
static int parse_letters(const struct parser *p, char **argv)
{
	struct hit meant;

	/* "-crlf" was meant as "--crlf", and not as -c with a file "rlf"; "-connect" is openssl's */
	if (argv[0][2] != '\0' && (find(p->spec, argv[0] + 1, strlen(argv[0] + 1), 0, &meant) ||
					  foreign_option(p->spec, argv[0] + 1) != NULL))
		return unknown_option(p, argv[0], argv[0] + 1);
	for (const char *c = argv[0] + 1; *c != '\0'; c++) {
		const char shown[] = { '-', *c, '\0' };
		struct hit hit;

		if (!find(p->spec, NULL, 0, *c, &hit)) {
			/* "-cert" was meant as "--cert" */
			bool word = c == argv[0] + 1 && c[1] != '\0';

			return unknown_option(p, word ? argv[0] : shown, word ? c : shown);
		}
		if (hit.o->type == OPT_FLAG) {
			*(bool *)(p->values + hit.offset) = true;
			continue;
		}
		if (c[1] != '\0')
			return set_value(p, &hit, c + 1) == 0 ? 1 : -1;
		return next_value(p, &hit, argv[1]) == 0 ? 2 : -1;
	}
	return 1;
}

static int parse_args(const struct parser *p, int argc, char **argv)
{
	bool only_operands = false;

	for (int i = 1; i < argc;) {
		int used = 1;

		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (list_add(p->operands, argv[i], p->e) != 0)
				return -1;
		} else if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
		} else if (argv[i][1] == '-') {
			used = parse_long(p, argv + i);
		} else {
			used = parse_letters(p, argv + i);
		}
		if (used < 0)
			return -1;
		i += used;
	}
	return 0;
}

static int check_operands(const struct parser *p)
{
	const struct opt_spec *spec = p->spec;
	size_t n = p->operands->n;

	if (n < spec->operands_min)
		return err_set(p->e, ERR_CONFIG, "%s; usage: tlskit %s %s",
			       n == 0 ? "operands are missing" : "an operand is missing", p->command, spec->synopsis);
	if (spec->operands_max != 0 && n > spec->operands_max)
		return err_set(p->e, ERR_CONFIG, "unexpected operand \"" SHOWN "\"; usage: tlskit %s %s",
			       p->operands->v[spec->operands_max], p->command, spec->synopsis);
	return 0;
}

int opt_parse(const struct opt_spec *spec, int argc, char **argv, void *values, struct opt_list *operands,
	struct err *e)
{
	struct parser p = { spec, argc > 0 ? argv[0] : "", values, operands, e };

	memset(values, 0, spec->size);
	*operands = (struct opt_list){ 0 };
	if (set_defaults(&p, false) == 0 && parse_args(&p, argc, argv) == 0 && set_defaults(&p, true) == 0 &&
	    check_operands(&p) == 0)
		return 0;
	opt_free(spec, values, operands);
	return -1;
}

void opt_free(const struct opt_spec *spec, void *values, struct opt_list *operands)
{
	for (const struct opt_group *g = spec->groups; g->title != NULL; g++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++) {
			if (o->type == OPT_LIST || o->type == OPT_COMMA)
				list_free((void *)((char *)values + g->base + o->offset), o->type == OPT_COMMA);
		}
	}
	list_free(operands, false);
}

bool opt_wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	}
	return false;
}
