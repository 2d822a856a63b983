/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"

int report_no_memory(struct err *e)
{
	return err_set(e, ERR_RUNTIME, "no memory for the report");
}

static int write_format(FILE *out, const struct doc *d, enum report_format f, const struct report_style *s,
	struct err *e)
{
	switch (f) {
	case REPORT_TEXT:
		return report_text(out, d, s, e);
	case REPORT_JSON:
		return report_json(out, d, e);
	case REPORT_CSV:
		return report_csv(out, d, e);
	case REPORT_MARKDOWN:
		return report_markdown(out, d, s, e);
	case REPORT_SVG:
		return report_svg(out, d, s, e);
	}
	return err_set(e, ERR_CONFIG, "there is no such format of a report");
}

int report_write(FILE *out, const struct doc *d, enum report_format f, const struct report_style *s, struct err *e)
{
	errno = 0; /* stays that of the first write that failed, if any did */
	if (write_format(out, d, f, s, e) < 0)
		return -1;
	return report_flush(out, e);
}

int report_flush(FILE *out, struct err *e)
{
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return err_sys(e, ERR_RUNTIME, errno ? errno : EIO, "cannot write the report");
}

char *report_clean(const char *text)
{
	size_t left = text ? strlen(text) : 0;
	char *copy = malloc(left + 1), *to = copy;

	if (!copy)
		return NULL;
	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(text, left, &cp);

		if (n == 0 || utf8_is_control(cp)) {
			*to++ = '?';
			n = n ? n : 1;
		} else {
			memcpy(to, text, n);
			to += n;
		}
		text += n;
		left -= n;
	}
	*to = '\0';
	return copy;
}

char *report_number(double v, char out[REPORT_NUMBER_SIZE])
{
	out[0] = '\0';
	if (!isfinite(v))
		return out;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, REPORT_NUMBER_SIZE, "%.*g", digits, v);
		if (strtod(out, NULL) == v)
			break;
	}
	return out;
}

void report_wrap(FILE *out, int width, int indent, int column, const char *text)
{
	bool first = true; /* on its line */

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " ");
		int columns = (int)utf8_columns(text, n);

		if (!first && width > 0 && column + 1 + columns > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text);
		column += columns + !first;
		first = false;
		text += n;
	}
	putc('\n', out);
}
