/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "lib/report/check_int.h"
#include "lib/report/scan.h"

#define INDENT 4
#define NOTE   48 /* the column of what is said of an item, where its name is shorter */

/* --- items ---------------------------------------------------------------------------- */

static void item(struct check_page *p, const struct scan_item *it)
{
	static const enum report_tint tints[] = { REPORT_DOUBTFUL, REPORT_PLAIN, REPORT_GOOD };
	enum report_tint tint = it->taken == CHECK_YES && it->weak ? REPORT_BAD : tints[it->taken - CHECK_UNKNOWN];

	check_page_line(p, 2, INDENT);
	if (it->taken == CHECK_NO)
		check_page_words(p, "-");
	else
		check_page_mark(p, tint);
	check_page_words(p, it->name);
	if (it->taken == CHECK_YES && it->weak)
		check_page_printf(p, " weak: %s", it->weak);
	if (it->taken == CHECK_UNKNOWN)
		check_page_printf(p, " unknown: %s", it->reason ? it->reason : "not tried");
	check_page_end(p);
}

/* Whether any was left without an answer. */
static size_t unknown_of(const struct scan_list *l)
{
	size_t n = 0;

	for (size_t i = l->n_taken; i < l->n; i++)
		n += l->v[i].taken == CHECK_UNKNOWN;
	return n;
}

static const char *order_of(const struct scan_list *l)
{
	if (l->n_taken < 2 || l->servers_order == CHECK_UNKNOWN)
		return "";
	return l->servers_order == CHECK_YES ? ", the server's order" : ", the client chooses";
}

/* What is taken, then what is not known; what is refused is counted. */
static void list(struct check_page *p, const char *what, const struct scan_list *l)
{
	if (l->n == 0)
		return;
	check_page_gap(p);
	check_page_line(p, 0, 2);
	check_page_printf(p, "%s in %s: %zu of %zu%s", what, l->version, l->n_taken, l->n, order_of(l));
	if (l->servers_order == CHECK_YES && l->n_ordered < l->n_taken)
		check_page_printf(p, " as far as the first %zu", l->n_ordered);
	check_page_end(p);
	for (size_t i = 0; i < l->n_taken; i++)
		item(p, &l->v[i]);
	if (unknown_of(l) > 0)
		for (size_t i = l->n_taken; i < l->n; i++)
			if (l->v[i].taken == CHECK_UNKNOWN)
				item(p, &l->v[i]);
}

/* --- the screen -------------------------------------------------------------------------- */

static void head(struct check_page *p, const struct scan *s)
{
	char ms[CHECK_DECIMAL_SIZE];

	check_page_line(p, 0, 2);
	check_page_mark(p, s->code ? REPORT_BAD : s->interrupted ? REPORT_DOUBTFUL : REPORT_PLAIN);
	check_page_printf(p, "%s", s->target);
	if (s->address)
		check_page_printf(p, "(%s)", s->address);
	if (s->starttls)
		check_page_printf(p, "by STARTTLS %s", s->starttls);
	if (s->via)
		check_page_printf(p, "through %s", s->via);
	check_page_printf(p, "%u handshakes in %s ms by %s", s->handshakes, check_decimal(s->took_ms, 0, ms), s->library);
	check_page_end(p);
	if (s->message) {
		check_page_line(p, 2, INDENT);
		check_page_words(p, s->message);
		check_page_end(p);
	}
	if (s->interrupted) {
		check_page_line(p, 2, INDENT);
		check_page_words(p, "interrupted: what is unknown was not tried");
		check_page_end(p);
	}
}

static void add_weakness(void *arg, const char *weak)
{
	check_page_item(arg, "%s", weak);
}

static void foot(struct check_page *p, const struct scan *s)
{
	check_page_gap(p);
	scan_each_weakness(s, add_weakness, p);
	check_page_line(p, 0, 2);
	if (p->list) {
		check_page_mark(p, REPORT_BAD);
		check_page_words(p, "Weak:");
		check_page_items(p);
	} else {
		check_page_mark(p, REPORT_GOOD);
		check_page_words(p, "Nothing weak was found");
	}
	check_page_end(p);
	for (const char *const *n = scan_not_tried(); *n; n++)
		check_page_item(p, "%s", *n);
	check_page_line(p, 0, 2);
	check_page_mark(p, REPORT_PLAIN);
	check_page_printf(p, "Not tried, since %s cannot, or is not asked to: ", s->library);
	check_page_items(p);
	check_page_end(p);
	check_page_line(p, 0, 2);
	check_page_mark(p, REPORT_PLAIN);
	check_page_words(p, "Nothing was verified; --check does that");
	check_page_end(p);
}

int scan_write_text(FILE *out, const struct scan *s, const struct check_style *style)
{
	struct check_page p = check_page_start(out, style);

	head(&p, s);
	if (s->versions.n == 0 || s->code)
		return check_page_finish(&p);
	check_page_gap(&p);
	check_page_line(&p, 0, 2);
	check_page_words(&p, "Versions");
	check_page_end(&p);
	for (size_t i = 0; i < s->versions.n; i++)
		item(&p, &s->versions.v[i]);
	for (size_t i = 0; i < SCAN_VERSIONS; i++)
		list(&p, "Suites", &s->suites[i]);
	for (size_t i = 0; i < SCAN_VERSIONS; i++)
		list(&p, "Groups", &s->groups[i]);
	for (size_t i = 0; i < SCAN_VERSIONS; i++)
		list(&p, "Signatures of the server", &s->signatures[i]);
	foot(&p, s);
	return check_page_finish(&p);
}
