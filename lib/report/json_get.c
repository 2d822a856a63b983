/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <string.h>

#include "lib/report/json_int.h"
#include "lib/report/report_int.h"

int report_wrong(struct report_reader *r, const char *key, const char *fmt, ...)
{
	size_t n = strlen(r->where);
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!*key && n > 0) /* of the object itself, without the dot */
		n--;
	return err_set(r->e, ERR_CONFIG, "%s: %.*s%s %s", r->file, (int)n, r->where, key, text);
}

/* --- members: missing or null leaves *out as it is --------------------------------------- */

int report_get_text(struct report_reader *r, const json_t *o, const char *key, char **out)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return report_wrong(r, key, "is not a string");
	return doc_set(out, json_string_value(v)) < 0 ? report_no_memory(r->e) : 0;
}

/* A string that must be there and say something. */
int report_need_text(struct report_reader *r, const json_t *o, const char *key, const char **out)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return report_wrong(r, key, "is missing");
	if (!json_is_string(v) || json_string_length(v) == 0)
		return report_wrong(r, key, "is not a string that says something");
	*out = json_string_value(v);
	return 0;
}

int report_get_number(struct report_reader *r, const json_t *o, const char *key, double least, double *out)
{
	const json_t *v = json_object_get(o, key);
	double n = json_number_value(v);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_number(v))
		return report_wrong(r, key, "is not a number");
	if (n < least || n > REPORT_LARGEST)
		return report_wrong(r, key, "is %g, out of range", n);
	*out = n;
	return 0;
}

int report_get_integer(struct report_reader *r, const json_t *o, const char *key, int64_t most, int64_t *out)
{
	const json_t *v = json_object_get(o, key);
	json_int_t n = json_integer_value(v);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_integer(v))
		return report_wrong(r, key, "is not a whole number");
	if (n < 0 || n > most)
		return report_wrong(r, key, "is %lld, out of range", (long long)n);
	*out = n;
	return 0;
}

int report_get_bool(struct report_reader *r, const json_t *o, const char *key, int *out)
{
	const json_t *v = json_object_get(o, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_boolean(v))
		return report_wrong(r, key, "is neither true nor false");
	*out = json_is_true(v);
	return 0;
}

/* An object or NULL in *out. */
int report_get_object(struct report_reader *r, const json_t *o, const char *key, json_t **out)
{
	json_t *v = json_object_get(o, key);

	*out = NULL;
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_object(v))
		return report_wrong(r, key, "is not an object");
	*out = v;
	return 0;
}

int report_get_array(struct report_reader *r, const json_t *o, const char *key, size_t most, json_t **out)
{
	json_t *v = json_object_get(o, key);

	*out = NULL;
	if (!v)
		return 0;
	if (!json_is_array(v))
		return report_wrong(r, key, "is not an array");
	if (json_array_size(v) > most)
		return report_wrong(r, key, "has %zu elements, more than %zu", json_array_size(v), most);
	*out = v;
	return 0;
}
