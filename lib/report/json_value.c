/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/json_int.h"

json_t *report_json_text(const char *text)
{
	size_t left = text ? strlen(text) : 0, n = 0;
	char *copy;
	json_t *v;

	if (!text)
		return json_null();
	copy = malloc(3 * left + 1);
	if (!copy)
		return NULL;
	while (left > 0) {
		uint32_t cp;
		size_t len = utf8_decode(text, left, &cp);

		memcpy(copy + n, len ? text : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		len = len ? len : 1;
		text += len;
		left -= len;
	}
	v = json_stringn(copy, n);
	free(copy);
	return v;
}

json_t *report_json_number(double v)
{
	if (!isfinite(v))
		return json_null();
	if (v == floor(v) && fabs(v) < 0x1p53 && !(v == 0 && signbit(v)))
		return json_integer((json_int_t)v);
	return json_real(v);
}
