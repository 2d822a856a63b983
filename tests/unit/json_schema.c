/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/json_schema.h"

#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct place {
	json_t *root; /* of the schema */
	char path[256];
	char *wrong;
	size_t size;
};

static int check(struct place *p, json_t *s, json_t *v);

__attribute__((format(printf, 2, 3))) static int fail(struct place *p, const char *fmt, ...)
{
	int n = snprintf(p->wrong, p->size, "%s ", p->path);
	va_list args;

	va_start(args, fmt);
	vsnprintf(p->wrong + n, p->size - (size_t)n, fmt, args);
	va_end(args);
	return -1;
}

/* The same, one step further down. */
static int below(struct place *p, const char *step, json_t *s, json_t *v)
{
	size_t n = strlen(p->path);
	int r;

	snprintf(p->path + n, sizeof(p->path) - n, "/%s", step);
	r = check(p, s, v);
	p->path[n] = '\0';
	return r;
}

static bool is_type(const char *name, const json_t *v)
{
	static const char *const names[] = { [JSON_OBJECT] = "object", [JSON_ARRAY] = "array", [JSON_STRING] = "string",
		[JSON_INTEGER] = "integer", [JSON_REAL] = "number", [JSON_TRUE] = "boolean", [JSON_FALSE] = "boolean",
		[JSON_NULL] = "null" };

	return strcmp(names[json_typeof(v)], name) == 0 || (json_is_integer(v) && strcmp(name, "number") == 0);
}

static int check_type(struct place *p, json_t *k, json_t *v)
{
	if (json_is_string(k))
		return is_type(json_string_value(k), v) ? 0 : fail(p, "is no %s", json_string_value(k));
	for (size_t i = 0; i < json_array_size(k); i++) {
		if (is_type(json_string_value(json_array_get(k, i)), v))
			return 0;
	}
	return fail(p, "is of another type");
}

static int check_enum(struct place *p, json_t *k, json_t *v)
{
	for (size_t i = 0; i < json_array_size(k); i++) {
		if (json_equal(json_array_get(k, i), v))
			return 0;
	}
	return fail(p, "is none of the values");
}

static int check_const(struct place *p, json_t *k, json_t *v)
{
	return json_equal(k, v) ? 0 : fail(p, "is another value");
}

static int check_pattern(struct place *p, json_t *k, json_t *v)
{
	regex_t re;
	int r;

	if (!json_is_string(v))
		return 0;
	if (regcomp(&re, json_string_value(k), REG_EXTENDED | REG_NOSUB) != 0)
		return fail(p, "has a pattern that is none");
	r = regexec(&re, json_string_value(v), 0, NULL, 0);
	regfree(&re);
	return r == 0 ? 0 : fail(p, "does not match %s", json_string_value(k));
}

static int check_min_length(struct place *p, json_t *k, json_t *v)
{
	return !json_is_string(v) || (json_int_t)json_string_length(v) >= json_integer_value(k) ? 0
		: fail(p, "is too short");
}

static int check_minimum(struct place *p, json_t *k, json_t *v)
{
	return !json_is_number(v) || json_number_value(v) >= json_number_value(k) ? 0 : fail(p, "is too small");
}

static int check_items(struct place *p, json_t *k, json_t *v)
{
	for (size_t i = 0; i < json_array_size(v); i++) {
		char step[24];

		snprintf(step, sizeof(step), "%zu", i);
		if (below(p, step, k, json_array_get(v, i)) < 0)
			return -1;
	}
	return 0;
}

static int check_min_items(struct place *p, json_t *k, json_t *v)
{
	return !json_is_array(v) || (json_int_t)json_array_size(v) >= json_integer_value(k) ? 0
		: fail(p, "has too few elements");
}

static int check_max_items(struct place *p, json_t *k, json_t *v)
{
	return (json_int_t)json_array_size(v) <= json_integer_value(k) ? 0 : fail(p, "has too many elements");
}

static int check_unique(struct place *p, json_t *k, json_t *v)
{
	(void)k;
	for (size_t i = 0; i < json_array_size(v); i++) {
		for (size_t j = 0; j < i; j++) {
			if (json_equal(json_array_get(v, i), json_array_get(v, j)))
				return fail(p, "has an element twice");
		}
	}
	return 0;
}

static int check_required(struct place *p, json_t *k, json_t *v)
{
	for (size_t i = 0; json_is_object(v) && i < json_array_size(k); i++) {
		const char *name = json_string_value(json_array_get(k, i));

		if (!json_object_get(v, name))
			return fail(p, "lacks %s", name);
	}
	return 0;
}

static int check_properties(struct place *p, json_t *k, json_t *v)
{
	const char *name;
	json_t *s;

	json_object_foreach(k, name, s) {
		json_t *member = json_object_get(v, name);

		if (member && below(p, name, s, member) < 0)
			return -1;
	}
	return 0;
}

static int check_names(struct place *p, json_t *k, json_t *v)
{
	const char *name;
	json_t *member;

	json_object_foreach(v, name, member) {
		json_t *text = json_string(name);
		int r = below(p, name, k, text);

		json_decref(text);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int check_ref(struct place *p, json_t *k, json_t *v)
{
	const char *to = json_string_value(k);

	if (strncmp(to, "#/$defs/", 8) != 0 || !json_object_get(json_object_get(p->root, "$defs"), to + 8))
		return fail(p, "refers to %s", to);
	return check(p, json_object_get(json_object_get(p->root, "$defs"), to + 8), v);
}

static int ignore(struct place *p, json_t *k, json_t *v)
{
	(void)p;
	(void)k;
	(void)v;
	return 0;
}

static const struct {
	const char *name;
	int (*check)(struct place *p, json_t *k, json_t *v);
} keywords[] = {
	{ "$schema", ignore }, { "$id", ignore }, { "$defs", ignore }, { "title", ignore },
	{ "additionalProperties", ignore }, /* check_additional: it needs the properties beside it */
	{ "$ref", check_ref }, { "type", check_type }, { "enum", check_enum }, { "const", check_const },
	{ "pattern", check_pattern }, { "minLength", check_min_length }, { "minimum", check_minimum },
	{ "items", check_items }, { "minItems", check_min_items }, { "maxItems", check_max_items },
	{ "uniqueItems", check_unique }, { "required", check_required }, { "properties", check_properties },
	{ "propertyNames", check_names },
};

static int check_keyword(struct place *p, const char *name, json_t *k, json_t *v)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcmp(keywords[i].name, name) == 0)
			return keywords[i].check(p, k, v);
	}
	return fail(p, "has a schema with %s, which this check does not know", name);
}

static int check_additional(struct place *p, json_t *s, json_t *v)
{
	json_t *k = json_object_get(s, "additionalProperties"), *member;
	const char *name;

	json_object_foreach(v, name, member) {
		if (!k || json_object_get(json_object_get(s, "properties"), name))
			continue;
		if (json_is_false(k))
			return fail(p, "has %s, which the schema does not know", name);
		if (below(p, name, k, member) < 0)
			return -1;
	}
	return 0;
}

static int check(struct place *p, json_t *s, json_t *v)
{
	const char *name;
	json_t *k;

	json_object_foreach(s, name, k) {
		if (check_keyword(p, name, k, v) < 0)
			return -1;
	}
	return check_additional(p, s, v);
}

int json_schema_check(json_t *schema, json_t *v, char *wrong, size_t size)
{
	struct place p = { .root = schema, .wrong = wrong, .size = size };

	return check(&p, schema, v);
}
