/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/report/check_int.h"
#include "lib/report/scan_int.h"

/* A scan for people: the verdict, then a table a section, then what was not tested. */

/* --- the verdict ------------------------------------------------------------------------ */

static char *name_of(const struct scan *s)
{
	char *out = NULL;

	if (!s->host)
		return strdup(s->target);
	return asprintf(&out, strchr(s->host, ':') ? "[%s]:%u" : "%s:%u", s->host, s->port) < 0 ? NULL : out;
}

static bool takes_any(const struct scan *s)
{
	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		if (s->versions[v].taken == CHECK_YES)
			return true;
	return false;
}

static void put_fault(struct check_page *p, const struct scan *s)
{
	if (s->fault.code == CHECK_OK)
		return;
	check_page_line(p, 2, 4);
	check_page_mark(p, REPORT_BAD);
	check_page_words(p, check_message(&s->fault));
	check_page_end(p);
	if (s->fault.detail) {
		check_page_line(p, 4, 4);
		check_page_words(p, s->fault.detail);
		check_page_end(p);
	}
	if (s->fault.hint) {
		check_page_line(p, 4, 6);
		check_page_mark(p, REPORT_PLAIN);
		check_page_words(p, s->fault.hint);
		check_page_end(p);
	}
}

static void put_verdict(struct check_page *p, const struct scan *s)
{
	char *name = name_of(s), *weak = scan_weak_text(s);
	bool any = takes_any(s);

	check_page_line(p, 0, 2);
	if (!name || !weak) {
		p->failed = true;
	} else if (!any) {
		check_page_mark(p, REPORT_BAD);
		check_page_printf(p, "%s: no TLS was found", name);
	} else {
		check_page_mark(p, *weak ? REPORT_BAD : s->complete ? REPORT_GOOD : REPORT_DOUBTFUL);
		check_page_printf(p, *weak ? "%s: weak: %s" : "%s: nothing weak found%s", name,
			*weak ? weak : s->complete ? "" : " so far");
	}
	check_page_end(p);
	put_fault(p, s);
	free(name);
	free(weak);
}

static void put_way(struct check_page *p, const struct scan *s)
{
	if (s->address)
		check_page_item(p, "%s", s->address);
	if (s->via)
		check_page_item(p, "through %s", s->via);
	if (s->servername && (!s->host || strcmp(s->servername, s->host) != 0))
		check_page_item(p, "server name %s", s->servername);
	if (s->starttls)
		check_page_item(p, "STARTTLS %s", s->starttls);
	if (!p->list)
		return;
	check_page_label(p, "Address");
	check_page_items(p);
	check_page_end(p);
}

static void put_effort(struct check_page *p, const struct scan *s)
{
	char took[CHECK_DECIMAL_SIZE];

	if (!s->handshakes)
		return;
	check_page_label(p, "Scan");
	check_page_item(p, "%u handshake%s%s%s%s", s->handshakes, s->handshakes == 1 ? "" : "s",
		isfinite(s->total_ms) ? " in " : "", isfinite(s->total_ms) ? check_decimal(s->total_ms / 1000, 1, took) : "",
		isfinite(s->total_ms) ? " s" : "");
	check_page_item(p, "certificates were not verified");
	check_page_items(p);
	check_page_end(p);
}

/* --- tables ----------------------------------------------------------------------------- */

static void write_table(struct check_page *p, struct report_table *t)
{
	struct report_style style = { .width = p->width, .colour = p->colour };

	if (t->failed) {
		p->failed = true;
	} else {
		putc('\n', p->out);
		report_table_text(t, p->out, &style);
	}
	report_table_free(t);
}

/* "DH 1024, 3DES, CBC": what goes with it, what is weak, then the notes. Names stay
 * whole, since this goes below them where there is no room. */
static void put_notes(struct report_table *t, size_t column, const char *with, unsigned traits)
{
	char text[256];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", with ? with : "");

	for (unsigned bit = scan_trait_next(traits, 0); bit && n < sizeof(text); bit = scan_trait_next(traits, bit))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "", scan_trait_text(bit));
	if (n)
		report_table_rest(t, column, "%s", text);
}

static enum report_tint tint_of(unsigned traits)
{
	return traits & OFFER_WEAK ? REPORT_BAD : REPORT_PLAIN;
}

static void put_versions(struct check_page *p, const struct scan *s)
{
	struct report_table t = { 0 };
	size_t name = report_table_column(&t, "Version", false, REPORT_KEEP_ALWAYS);
	size_t taken = report_table_column(&t, "Taken", false, REPORT_KEEP_ALWAYS);
	size_t notes = report_table_column(&t, "", false, REPORT_KEEP_ALWAYS);

	for (int v = OFFER_VERSIONS - 1; v >= 0; v--) {
		const struct scan_version *x = &s->versions[v];

		if (!x->offered)
			continue;
		report_table_line(&t, x->taken == CHECK_YES ? tint_of(x->traits) : REPORT_PLAIN);
		report_table_cell(&t, name, "%s", offer_version_name((enum offer_version)v));
		report_table_cell(&t, taken, "%s", x->taken == CHECK_YES ? "yes" : x->taken == CHECK_NO ? "no" : "unknown");
		if (x->taken == CHECK_YES)
			put_notes(&t, notes, NULL, x->traits);
		else if (x->why)
			report_table_rest(&t, notes, "%s", x->why);
	}
	write_table(p, &t);
}

/* --- cipher suites ------------------------------------------------------------------------- */

/* "84 others: refused". */
static void put_others(struct check_page *p, const struct scan_rows *r)
{
	const char *why = NULL;
	size_t refused = scan_count(r, CHECK_NO), unknown = scan_count(r, CHECK_UNKNOWN);
	bool others = refused + unknown < r->n;

	for (size_t i = 0; i < r->n && !why; i++)
		why = r->rows[i].taken == CHECK_UNKNOWN ? r->rows[i].why : NULL;
	if (refused)
		check_page_item(p, "%zu%s refused", refused, others ? refused == 1 ? " other" : " others" : "");
	if (unknown)
		check_page_item(p, "%zu%s unknown%s%s", unknown, others && !refused ? " others" : "", why ? ": " : "",
			why ? why : "");
	if (!p->list)
		return;
	check_page_line(p, 2, 4);
	check_page_items(p);
	check_page_end(p);
}

static const char *order_text(enum scan_order o)
{
	static const char *const texts[] = { [SCAN_ORDER_UNKNOWN] = "", [SCAN_ORDER_SERVER] = ", the server's order",
		[SCAN_ORDER_CLIENT] = ", the client's choice" };

	return texts[o];
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Versions that are taken with the same suites are told together. */
static bool same_suites(const struct scan_version *a, const struct scan_version *b)
{
	const struct scan_rows *x = &a->suites, *y = &b->suites;

	if (a->taken != CHECK_YES || b->taken != CHECK_YES || x->n != y->n || x->order != y->order)
		return false;
	for (size_t i = 0; i < x->n; i++) {
		const struct scan_row *p = &x->rows[i], *q = &y->rows[i];

		if (p->id != q->id || p->taken != q->taken || p->place != q->place || p->traits != q->traits ||
			!same_text(p->with, q->with))
			return false;
	}
	return true;
}

static void put_suites(struct check_page *p, const struct scan *s, int v)
{
	struct report_table t = { 0 };
	char head[80];
	size_t n, name, notes;
	const struct scan_rows *r = &s->versions[v].suites;
	const struct scan_row **list = scan_sorted(r, &n);
	int least = v;

	while (least > 0 && same_suites(&s->versions[v], &s->versions[least - 1]))
		least--;
	snprintf(head, sizeof(head), least < v ? "%s to %s suites%s" : "%s%.0s suites%s",
		offer_version_name((enum offer_version)v), offer_version_name((enum offer_version)least) + 4,
		order_text(r->order));
	name = report_table_column(&t, head, false, REPORT_KEEP_ALWAYS);
	notes = report_table_column(&t, "Group, notes", false, REPORT_KEEP_ALWAYS);
	for (size_t i = 0; list && i < n && list[i]->taken == CHECK_YES; i++) {
		report_table_line(&t, tint_of(list[i]->traits));
		report_table_cell(&t, name, "%s", list[i]->name);
		put_notes(&t, notes, list[i]->with, list[i]->traits);
	}
	t.failed |= !list;
	free(list);
	write_table(p, &t);
	put_others(p, r);
}

/* --- groups and signatures, versions side by side ------------------------------------------- */

static const struct scan_rows *groups_of(const struct scan_version *v)
{
	return &v->groups;
}

static const struct scan_rows *signatures_of(const struct scan_version *v)
{
	return &v->signatures;
}

typedef const struct scan_rows *rows_fn(const struct scan_version *v);

static const struct scan_row *find(const struct scan_rows *r, unsigned id)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].id == id)
			return &r->rows[i];
	return NULL;
}

/* A piece is told in the first version that has it. */
static bool told_before(const struct scan *s, rows_fn *rows, int version, unsigned id)
{
	for (int v = OFFER_VERSIONS - 1; v > version; v--) {
		const struct scan_row *row = find(rows(&s->versions[v]), id);

		if (row && row->taken != CHECK_NO)
			return true;
	}
	return false;
}

static void put_answer(struct report_table *t, size_t column, const struct scan_rows *r, const struct scan_row *row)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };

	if (!row)
		report_table_cell(t, column, "-");
	else if (row->taken == CHECK_YES && r->order == SCAN_ORDER_SERVER && row->place)
		report_table_cell(t, column, "%u%s", row->place,
			ends[row->place % 10 < 4 && row->place / 10 != 1 ? row->place % 10 : 0]);
	else
		report_table_cell(t, column, "%s",
			row->taken == CHECK_YES ? "yes" : row->taken == CHECK_NO ? "no" : "unknown");
}

struct side_by_side {
	const struct scan *s;
	rows_fn *rows;
	struct report_table table;
	size_t name, versions[OFFER_VERSIONS], with, notes;
};

static void put_piece(struct side_by_side *x, const struct scan_row *row)
{
	unsigned traits = 0;
	const char *with = NULL;

	for (int v = OFFER_VERSIONS - 1; v >= 0; v--) {
		const struct scan_row *other = find(x->rows(&x->s->versions[v]), row->id);

		if (!other || other->taken != CHECK_YES)
			continue;
		traits |= other->traits;
		with = with ? with : other->with;
	}
	report_table_line(&x->table, tint_of(traits));
	report_table_cell(&x->table, x->name, "%s", row->name);
	for (int v = OFFER_VERSIONS - 1; v >= 0; v--)
		if (x->rows(&x->s->versions[v])->n)
			put_answer(&x->table, x->versions[v], x->rows(&x->s->versions[v]),
				find(x->rows(&x->s->versions[v]), row->id));
	if (x->with && with)
		report_table_cell(&x->table, x->with, "%s", with);
	put_notes(&x->table, x->notes, NULL, traits);
}

/* Whose order it is: once, where the versions agree. */
static void put_orders(struct check_page *p, const struct scan *s, rows_fn *rows)
{
	enum scan_order first = SCAN_ORDER_UNKNOWN;
	bool differ = false;

	for (int v = OFFER_VERSIONS - 1; v >= 0; v--) {
		enum scan_order o = rows(&s->versions[v])->order;

		first = first ? first : o;
		differ |= o && o != first;
	}
	for (int v = OFFER_VERSIONS - 1; v >= 0 && differ; v--) {
		enum scan_order o = rows(&s->versions[v])->order;

		if (o)
			check_page_item(p, "%s in %s", order_text(o) + 2, offer_version_name((enum offer_version)v));
	}
	if (first && !differ)
		check_page_item(p, "%s", order_text(first) + 2);
	if (!p->list)
		return;
	check_page_line(p, 2, 4);
	check_page_items(p);
	check_page_end(p);
}

/* Why some are unknown: the first reason of a version stands for all. */
static void put_unknown(struct check_page *p, const struct scan_rows *r, enum offer_version v)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->rows[i].taken != CHECK_UNKNOWN || !r->rows[i].why)
			continue;
		check_page_line(p, 2, 4);
		check_page_printf(p, "unknown in %s: %s", offer_version_name(v), r->rows[i].why);
		check_page_end(p);
		return;
	}
}

static bool any_traits(const struct scan *s, rows_fn *rows)
{
	for (size_t v = 0; v < OFFER_VERSIONS; v++)
		for (size_t i = 0; i < rows(&s->versions[v])->n; i++)
			if (rows(&s->versions[v])->rows[i].taken == CHECK_YES && rows(&s->versions[v])->rows[i].traits)
				return true;
	return false;
}

static void put_side_by_side(struct check_page *p, const struct scan *s, rows_fn *rows, const char *head, const char *with)
{
	struct side_by_side x = { .s = s, .rows = rows };
	size_t n, looked = 0;

	x.name = report_table_column(&x.table, head, false, REPORT_KEEP_ALWAYS);
	for (int v = OFFER_VERSIONS - 1; v >= 0; v--)
		if (rows(&s->versions[v])->n) {
			x.versions[v] = report_table_column(&x.table, offer_version_name((enum offer_version)v), false,
				REPORT_KEEP_ALWAYS);
			looked++;
		}
	if (with)
		x.with = report_table_column(&x.table, with, false, REPORT_KEEP_DETAIL);
	x.notes = report_table_column(&x.table, any_traits(s, rows) ? "Notes" : "", false, REPORT_KEEP_ALWAYS);
	for (int v = OFFER_VERSIONS - 1; v >= 0; v--) {
		const struct scan_row **list = scan_sorted(rows(&s->versions[v]), &n);

		for (size_t i = 0; list && i < n; i++)
			if (!told_before(s, rows, v, list[i]->id))
				put_piece(&x, list[i]);
		x.table.failed |= !list;
		free(list);
	}
	if (looked) {
		write_table(p, &x.table);
		put_orders(p, s, rows);
		for (int v = OFFER_VERSIONS - 1; v >= 0; v--)
			put_unknown(p, rows(&s->versions[v]), (enum offer_version)v);
	} else {
		report_table_free(&x.table);
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static void put_untested(struct check_page *p, const struct scan *s)
{
	check_page_gap(p);
	check_page_line(p, 2, 4);
	check_page_printf(p, "Not tested, since %s cannot offer it:", s->library ? s->library : "GnuTLS");
	check_page_end(p);
	for (size_t i = 0; i < s->n_untested; i++) {
		check_page_line(p, 4, 6);
		check_page_words(p, s->untested[i]);
		check_page_end(p);
	}
}

int scan_write_text(FILE *out, const struct scan *s, const struct check_style *style)
{
	struct check_page p = check_page_start(out, style);

	put_verdict(&p, s);
	check_page_gap(&p);
	put_way(&p, s);
	put_effort(&p, s);
	if (s->handshakes > 1) { /* else nobody was there */
		p.gap = false;
		put_versions(&p, s);
		for (int v = OFFER_VERSIONS - 1; v >= 0; v--)
			if (s->versions[v].taken == CHECK_YES &&
				(v == OFFER_VERSIONS - 1 || !same_suites(&s->versions[v + 1], &s->versions[v])))
				put_suites(&p, s, v);
		put_side_by_side(&p, s, groups_of, "Group", NULL);
		put_side_by_side(&p, s, signatures_of, "Signature scheme", "Key");
	}
	if (takes_any(s))
		put_untested(&p, s);
	return check_page_finish(&p);
}
