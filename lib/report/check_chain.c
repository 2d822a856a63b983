/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/report/check_int.h"

/* The certificates for people: two lines each, or all that is known, and what is
 * wrong with each. */

#define INDENT  5 /* behind a certificate's number */
#define LABEL   15 /* the column behind labels of all that is known */
#define ROOM    3 /* certificates of a chain in which each gets two lines */
#define MOST    4 /* that are shown when nothing is wrong with them */
#define UNTIL   18 /* columns that an end of validity takes behind a name */
#define FAULTS  1024 /* characters of a fault's text */

static const char *text_or(const char *text, const char *other)
{
	return text && *text ? text : other;
}

static bool is_all_zero(const uint8_t *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* --- short ---------------------------------------------------------------------------------- */

/* The number and the name; room: columns to leave behind it. */
static void put_subject(struct check_page *p, const struct chain *chain, size_t i, int room)
{
	const struct chain_cert *cert = &chain->certs[i];
	const char *subject = cert->faults & CHAIN_UNREADABLE ? "(unreadable)" : text_or(cert->subject, "(no subject)");
	char number[24] = "+";

	if (cert->sent)
		snprintf(number, sizeof(number), "%zu", i);
	check_page_row(p, 2, INDENT, number);
	p->width -= room;
	check_page_cut(p, subject);
	p->width += room;
}

static void days_item(struct check_page *p, const struct check *c, const struct chain_cert *cert)
{
	int64_t days;

	if (!check_days_until(c, cert->not_after, &days) || days < 0)
		return;
	if (days == 0)
		check_page_item(p, "less than a day left");
	else
		check_page_item(p, "%" PRId64 " day%s left", days, days == 1 ? "" : "s");
}

static void put_summary(struct check_page *p, const struct check *c, const struct chain_cert *cert)
{
	char from[CLOCK_RFC3339_SIZE], to[CLOCK_RFC3339_SIZE];

	check_page_line(p, INDENT, INDENT);
	if (!cert->sent)
		check_page_item(p, "trusted here, not sent");
	if (cert->key && *cert->key)
		check_page_item(p, "%s", cert->key);
	check_page_item(p, "%s to %s", check_date(cert->not_before, from), check_date(cert->not_after, to));
	days_item(p, c, cert);
	if (cert->must_staple)
		check_page_item(p, "must-staple");
	check_page_items(p);
	check_page_end(p);
}

static void put_line_cut(struct check_page *p, const char *before, const char *text)
{
	check_page_line(p, INDENT, INDENT);
	check_page_words(p, before);
	check_page_cut(p, text);
	check_page_end(p);
}

static void put_names_cut(struct check_page *p, const struct chain_cert *cert)
{
	for (size_t i = 0; cert->names && cert->names[i]; i++) {
		const char *name = check_bare_name(cert->names[i]);

		if (*name)
			check_page_item(p, "%s", name);
	}
	if (!p->list)
		return;
	check_page_line(p, INDENT, INDENT);
	check_page_words(p, "for");
	check_page_items_cut(p);
	check_page_end(p);
}

/* Who issued it, unless the next one did or it did so itself. */
static void put_issuer(struct check_page *p, const struct chain *chain, size_t i)
{
	const struct chain_cert *cert = &chain->certs[i];

	if (same(cert->issuer, cert->subject))
		return;
	if (i + 1 < chain->n && same(cert->issuer, chain->certs[i + 1].subject))
		return;
	put_line_cut(p, "issued by", text_or(cert->issuer, "(no name)"));
}

static void put_short(struct check_page *p, const struct check *c, size_t i)
{
	const struct chain_cert *cert = &c->chain->certs[i];
	bool brief = i > 0 && c->chain->n > ROOM && cert->faults == 0;
	char until[CLOCK_RFC3339_SIZE];

	put_subject(p, c->chain, i, brief ? UNTIL : 0);
	if (brief)
		check_page_printf(p, "until %s", check_date(cert->not_after, until));
	check_page_end(p);
	if (brief || (cert->faults & CHAIN_UNREADABLE))
		return;
	if (i == 0)
		put_names_cut(p, cert);
	put_summary(p, c, cert);
	put_issuer(p, c->chain, i);
}

/* --- in full ------------------------------------------------------------------------------------ */

static void put_row(struct check_page *p, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	check_page_row(p, INDENT, LABEL, label);
	check_page_words(p, text);
	check_page_end(p);
}

static char *hex(const uint8_t *bytes, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return out;
}

static void put_validity(struct check_page *p, const struct check *c, const struct chain_cert *cert)
{
	char from[CLOCK_RFC3339_SIZE], to[CLOCK_RFC3339_SIZE];

	check_page_row(p, INDENT, LABEL, "Valid");
	check_page_item(p, "%s to %s", check_time(cert->not_before, from), check_time(cert->not_after, to));
	days_item(p, c, cert);
	check_page_items(p);
	check_page_end(p);
}

static void put_names(struct check_page *p, const struct chain_cert *cert)
{
	if (!cert->names || !cert->names[0])
		return;
	for (size_t i = 0; cert->names[i]; i++) /* with their kinds, for they may be equal otherwise */
		check_page_item(p, "%s", cert->names[i]);
	check_page_row(p, INDENT, LABEL, "Names");
	check_page_items(p);
	check_page_end(p);
}

static void put_uses(struct check_page *p, const struct chain_cert *cert)
{
	if (!cert->sent)
		check_page_item(p, "trusted here, not sent");
	if (cert->is_ca)
		check_page_item(p, "a CA");
	if (cert->must_staple)
		check_page_item(p, "must-staple");
	check_page_item(p, cert->on_path ? "on the path" : "not on the path");
	check_page_row(p, INDENT, LABEL, "Is");
	check_page_items(p);
	check_page_end(p);
}

static void put_full(struct check_page *p, const struct check *c, size_t i)
{
	const struct chain_cert *cert = &c->chain->certs[i];
	char pin[CERT_PIN_TEXT], digest[2 * sizeof(cert->sha256) + 1];

	put_subject(p, c->chain, i, 0);
	check_page_end(p);
	if (!(cert->faults & CHAIN_UNREADABLE)) {
		put_row(p, "Issuer", text_or(cert->issuer, "(no name)"));
		put_row(p, "Serial", cert->serial);
		put_validity(p, c, cert);
		put_row(p, "Key", cert->key);
		put_row(p, "Signature", cert->signature);
		put_names(p, cert);
		put_uses(p, cert);
		put_row(p, "OCSP", cert->ocsp_url);
		put_row(p, "Issuer at", cert->issuer_url);
		if (!is_all_zero(cert->pin, sizeof(cert->pin)))
			put_row(p, "Pin", cert_pin_format(cert->pin, pin));
	}
	put_row(p, "SHA-256", hex(cert->sha256, sizeof(cert->sha256), digest));
}

/* --- all of them ------------------------------------------------------------------------------------ */

/* Red is what verification failed for; the rest only stands there. */
static enum report_tint tint_of(const struct check *c, const struct chain_cert *cert, unsigned fault)
{
	const unsigned notes = CHAIN_OUT_OF_ORDER | CHAIN_USELESS | CHAIN_EXTRA_ROOT | CHAIN_LONG_LIFE | CHAIN_DUPLICATE;

	if (c->verify_ok != CHECK_NO || !cert->on_path || (fault & notes))
		return REPORT_DOUBTFUL;
	if (fault == CHAIN_NO_SAN && !(c->chain->causes & CHAIN_NAME))
		return REPORT_DOUBTFUL;
	return REPORT_BAD;
}

static void put_faults(struct check_page *p, const struct check *c, size_t i)
{
	const struct chain_cert *cert = &c->chain->certs[i];
	char text[FAULTS];

	for (unsigned f = 0; (f = check_next_fault(cert->faults, f)) != 0;) {
		check_page_line(p, INDENT, INDENT + 2);
		check_page_mark(p, tint_of(c, cert, f));
		check_page_words(p, chain_fault_text(c->chain, i, f, &c->chain_request, text, sizeof(text)));
		check_page_end(p);
	}
}

/* Until the first one on the path expires. */
static void left_item(struct check_page *p, const struct check *c)
{
	double days = floor(c->days_left);
	char number[CHECK_DECIMAL_SIZE], percent[CHECK_DECIMAL_SIZE];

	if (!(days >= 0)) /* NAN too */
		return;
	check_decimal(days, 0, number);
	if (isfinite(c->percent_left))
		check_page_item(p, "valid for %s day%s (%s %% left)", number, days == 1 ? "" : "s",
			check_decimal(floor(c->percent_left), 0, percent));
	else
		check_page_item(p, "valid for %s day%s", number, days == 1 ? "" : "s");
}

static void put_head(struct check_page *p, const struct check *c)
{
	const struct chain *chain = c->chain;

	check_page_label(p, "Chain");
	check_page_item(p, "%zu certificate%s", chain->n_sent, chain->n_sent == 1 ? "" : "s");
	if (chain->n_sent > 1)
		check_page_item(p, chain->ordered ? "in order" : "out of order");
	check_page_item(p, chain->complete ? "complete" : "incomplete");
	if (chain->has_root)
		check_page_item(p, "with the root");
	left_item(p, c);
	check_page_items(p);
	check_page_end(p);
}

void check_chain_text(struct check_page *p, const struct check *c, bool full)
{
	const struct chain *chain = c->chain;
	size_t left_out = 0;

	if (!chain) {
		if (check_has_tls(c)) {
			check_page_label(p, "Chain");
			check_page_words(p, "no certificates came");
			check_page_end(p);
		}
		return;
	}
	put_head(p, c);
	for (size_t i = 0; i < chain->n; i++) {
		if (!full && i >= MOST && chain->certs[i].faults == 0) {
			left_out++;
			continue;
		}
		if (full)
			put_full(p, c, i);
		else
			put_short(p, c, i);
		put_faults(p, c, i);
	}
	if (left_out) {
		check_page_line(p, INDENT, INDENT);
		check_page_printf(p, "and %zu more with nothing wrong", left_out);
		check_page_end(p);
	}
}
