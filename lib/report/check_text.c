/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/report/check_int.h"

/* --- the verdict -------------------------------------------------------------------------- */

/* Of the path's certificates: is one not valid yet, and none expired? */
static bool not_yet_valid(const struct check *c)
{
	unsigned faults = 0;

	for (size_t i = 0; c->chain && i < c->chain->n_path; i++)
		faults |= c->chain->certs[c->chain->path[i]].faults;
	return (faults & (CHAIN_NOT_YET | CHAIN_EXPIRED)) == CHAIN_NOT_YET;
}

static const char *phrase(const struct check *c, enum check_code code)
{
	static const struct {
		enum check_code code;
		const char *text;
	} phrases[] = {
		{ CHECK_USAGE, "asked for in a wrong way" }, { CHECK_DNS, "no address" }, { CHECK_CONNECT, "no connection" },
		{ CHECK_DEADLINE, "no answer in time" }, { CHECK_PROXY, "the proxy failed" },
		{ CHECK_STARTTLS, "STARTTLS failed" }, { CHECK_HANDSHAKE, "the TLS handshake failed" },
		{ CHECK_CLIENT_CERT, "our certificate was rejected" }, { CHECK_UNTRUSTED, "not trusted" },
		{ CHECK_NAME, "wrong name" }, { CHECK_TIME, "expired" }, { CHECK_REVOKED, "revoked" },
		{ CHECK_STAPLE, "no valid OCSP staple" }, { CHECK_WEAK, "weak key or signature" },
		{ CHECK_PIN, "not the key that was pinned" },
		{ CHECK_EXPIRY, "expires soon" }, { CHECK_EXPECT, "not as expected" }, { CHECK_TRUNCATED, "cut off" },
	};

	if (code == CHECK_TIME && not_yet_valid(c))
		return "not yet valid";
	if (code == CHECK_CLIENT_CERT && c->client_cert_sent != CHECK_YES)
		return "a client certificate is wanted";
	if (code == CHECK_PIN && c->dane && strcmp(c->dane, "matched") != 0)
		return "not what DANE says";
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (phrases[i].code == code)
			return phrases[i].text;
	}
	return "failed";
}

static enum report_tint tint_of(int code)
{
	static const enum report_tint tints[] = { REPORT_GOOD, REPORT_DOUBTFUL, REPORT_BAD, REPORT_BAD };

	return tints[check_nagios_code(code)];
}

static bool told_before(const struct check *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c->faults[i].code == c->faults[n].code)
			return true;
	}
	return false;
}

/* Each sort of fault once, the one that decides first. */
static void put_phrases(struct check_page *p, const struct check *c)
{
	const struct check_fault *first = check_deciding(c);

	check_page_item(p, "%s", phrase(c, first->code));
	for (size_t i = 0; i < c->n_faults; i++) {
		if (c->faults[i].code != first->code && !told_before(c, i))
			check_page_item(p, "%s", phrase(c, c->faults[i].code));
	}
	check_page_items(p);
}

/* Its name, and among many the address that the check is of. */
static char *name_of(const struct check *c, bool brief)
{
	char *name = check_name(c), *both;

	if (!name || !brief || !c->address || strcmp(name, c->address) == 0)
		return name;
	if (asprintf(&both, "%s (%s)", name, c->address) < 0)
		both = NULL;
	free(name);
	return both;
}

static void verdict(struct check_page *p, const struct check *c, bool brief)
{
	char *name = name_of(c, brief);

	if (!name) {
		p->failed = true;
		return;
	}
	check_page_line(p, 0, 2);
	check_page_mark(p, tint_of(check_exit_code(c)));
	if (c->n_faults) {
		check_page_printf(p, "%s:", name);
		put_phrases(p, c);
	} else if (c->verified) {
		check_page_printf(p, "%s is fine", name);
	} else {
		check_page_printf(p, "%s answers; who it is was not verified", name);
	}
	check_page_end(p);
	free(name);
}

static void put_fault(struct check_page *p, const struct check_fault *f)
{
	check_page_line(p, 2, 4);
	check_page_mark(p, tint_of(f->code));
	check_page_words(p, check_message(f));
	check_page_end(p);
	if (f->detail) {
		check_page_line(p, 4, 4);
		check_page_words(p, f->detail);
		check_page_end(p);
	}
	if (f->hint) {
		check_page_line(p, 4, 6);
		check_page_mark(p, REPORT_PLAIN);
		check_page_words(p, f->hint);
		check_page_end(p);
	}
}

/* --- how it was reached ------------------------------------------------------------------------ */

static void put_address(struct check_page *p, const struct check *c)
{
	if (c->address)
		check_page_item(p, "%s", c->address);
	if (c->via)
		check_page_item(p, "through %s", c->via);
	if (c->servername && (!c->host || strcmp(c->servername, c->host) != 0))
		check_page_item(p, "server name %s", c->servername);
	if (c->starttls)
		check_page_item(p, "STARTTLS %s%s", c->starttls, c->starttls_done == CHECK_YES ? "" :
			c->starttls_done == CHECK_NO ? " failed" : " not reached");
	if (!p->list)
		return;
	check_page_label(p, "Address");
	check_page_items(p);
	check_page_end(p);
}

/* "8.1", "34": nobody reads more. */
static char *short_ms(double ms, char out[CHECK_DECIMAL_SIZE])
{
	return check_decimal(ms, ms < 9.95 ? 1 : 0, out);
}

static void put_time(struct check_page *p, const struct check *c)
{
	const struct {
		const char *name;
		double ms;
	} phases[] = { { "DNS", c->dns_ms }, { "connect", c->connect_ms }, { "proxy", c->proxy_ms },
		{ "STARTTLS", c->starttls_ms }, { "handshake", c->handshake_ms } };
	bool total = isfinite(c->total_ms);
	char number[CHECK_DECIMAL_SIZE];

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		if (isfinite(phases[i].ms))
			check_page_item(p, "%s %s%s", phases[i].name, short_ms(phases[i].ms, number), total ? "" : " ms");
	}
	if (!p->list && !total)
		return;
	check_page_label(p, "Time");
	if (total)
		check_page_printf(p, "%s ms%s", short_ms(c->total_ms, number), p->list ? ":" : "");
	check_page_items(p);
	check_page_end(p);
}

/* --- what was agreed on ---------------------------------------------------------------------------- */

static void tickets_item(struct check_page *p, const struct check *c)
{
	char lifetime[32];

	if (c->tickets < 0)
		return;
	if (c->tickets == 0)
		check_page_item(p, "no tickets");
	else if (c->ticket_lifetime_s < 0)
		check_page_item(p, "%d ticket%s", c->tickets, c->tickets == 1 ? "" : "s");
	else
		check_page_item(p, "%d ticket%s for %s", c->tickets, c->tickets == 1 ? "" : "s",
			units_duration((uint64_t)c->ticket_lifetime_s * 1000, lifetime, sizeof(lifetime)));
}

static void put_tls(struct check_page *p, const struct check *c)
{
	if (!check_has_tls(c))
		return;
	check_page_label(p, "TLS");
	check_page_item(p, "%s", c->version ? c->version : "unknown version");
	if (c->ciphersuite)
		check_page_item(p, "%s", c->ciphersuite);
	if (c->group)
		check_page_item(p, "%s", c->group);
	if (c->signature)
		check_page_item(p, "signature %s", c->signature);
	if (c->alpn)
		check_page_item(p, "ALPN %s", c->alpn);
	if (c->hello_retry == CHECK_YES)
		check_page_item(p, "after HelloRetryRequest");
	if (c->resumed == CHECK_YES)
		check_page_item(p, "resumed");
	if (c->early_data != CHECK_UNKNOWN)
		check_page_item(p, "early data %s", c->early_data == CHECK_YES ? "accepted" : "rejected");
	tickets_item(p, c);
	check_page_items(p);
	check_page_end(p);
}

/* By what, as one says it. */
static const char *means(const struct check *c)
{
	static const struct {
		const char *by, *text;
	} all[] = { { "pin", "the pin of its key" }, { "psk", "the pre-shared key" }, { "dane", "DANE" } };

	for (size_t i = 0; c->by && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].by, c->by) == 0)
			return all[i].text;
	}
	return c->by ? c->by : "certificate";
}

/* A name is verified where the certificate is. */
static void put_verified(struct check_page *p, const struct check *c)
{
	if (!check_has_tls(c) && !c->chain)
		return;
	check_page_label(p, "Verified");
	if (!c->verified) {
		check_page_words(p, "no, nobody asked for it");
	} else if (c->verify_ok == CHECK_YES) {
		check_page_printf(p, "by %s", means(c));
		if (c->chain && c->chain->matched_name && !(c->by && strcmp(c->by, "pin") == 0))
			check_page_printf(p, "for %s", check_bare_name(c->chain->matched_name));
	} else {
		check_page_words(p, c->verify_ok == CHECK_NO ? "no" : "unknown");
	}
	check_page_end(p);
}

static void put_client(struct check_page *p, const struct check *c)
{
	if (c->client_cert_requested != CHECK_YES && c->client_cert_sent != CHECK_YES)
		return;
	check_page_label(p, "Client");
	if (c->client_cert_requested == CHECK_YES)
		check_page_item(p, "was asked for a certificate");
	if (c->client_cert_sent != CHECK_UNKNOWN)
		check_page_item(p, c->client_cert_sent == CHECK_YES ? "sent one" : "sent none");
	if (c->client_cert_accepted != CHECK_UNKNOWN)
		check_page_item(p, c->client_cert_accepted == CHECK_YES ? "was accepted" : "was rejected");
	check_page_items(p);
	check_page_end(p);
}

/* --- what others say about the certificate ------------------------------------------------------------- */

static void put_ocsp(struct check_page *p, const struct check *c)
{
	if (check_has_tls(c) && c->chain) {
		const char *name = ocsp_status_name(c->staple.status);

		check_page_label(p, "OCSP");
		if (c->staple.status == OCSP_NONE)
			check_page_words(p, "no staple came");
		else
			check_page_printf(p, "stapled: %s", c->staple.text[0] ? c->staple.text : name ? name : "unknown");
		check_page_end(p);
	}
	if (c->ocsp_asked) {
		const char *name = ocsp_status_name(c->ocsp.status);

		check_page_label(p, "OCSP");
		check_page_printf(p, "%s says: %s", c->ocsp_url ? c->ocsp_url : "the responder",
			c->ocsp.text[0] ? c->ocsp.text : name ? name : "unknown");
		check_page_end(p);
	}
}

static void put_scts(struct check_page *p, const struct check *c)
{
	static const struct {
		const char *origin, *text;
	} origins[] = { { "certificate", "in the certificate" }, { "ocsp", "in the OCSP staple" }, { "tls", "from TLS" } };

	if (!c->chain)
		return;
	for (size_t k = 0; k < sizeof(origins) / sizeof(origins[0]); k++) {
		size_t n = 0;

		for (size_t i = 0; i < c->n_scts; i++)
			n += c->scts[i].origin && strcmp(c->scts[i].origin, origins[k].origin) == 0;
		if (n > 0)
			check_page_item(p, "%zu %s", n, origins[k].text);
	}
	check_page_label(p, "SCTs");
	check_page_printf(p, "%zu%s", c->n_scts, p->list ? ":" : "");
	check_page_items(p);
	check_page_end(p);
}

static void put_dane(struct check_page *p, const struct check *c)
{
	if (!c->dane)
		return;
	check_page_label(p, "DANE");
	check_page_printf(p, "%s%s", c->dane, c->dane_record ? ":" : "");
	if (c->dane_record)
		check_page_cut(p, c->dane_record);
	check_page_end(p);
}

/* --- the end ---------------------------------------------------------------------------------------------- */

static void put_end(struct check_page *p, const struct check *c)
{
	if (c->alert >= 0) {
		check_page_label(p, "Alert");
		check_page_printf(p, "%s (%d), %s", c->alert_name ? c->alert_name : "unknown", c->alert,
			c->alert_received ? "from the server" : "from here");
		check_page_end(p);
	}
	if (c->close_notify == CHECK_NO) {
		check_page_label(p, "End");
		check_page_words(p, "the server closed the connection without close_notify");
		check_page_end(p);
	}
}

static void put_warning(struct check_page *p, const char *text)
{
	check_page_line(p, 2, 4);
	check_page_mark(p, REPORT_DOUBTFUL);
	check_page_words(p, text);
	check_page_end(p);
}

typedef void part(struct check_page *p, const struct check *c);

int check_write_text(FILE *out, const struct check *c, const struct check_style *s)
{
	static part *const before[] = { put_address, put_time, put_tls, put_verified, put_client };
	static part *const behind[] = { put_ocsp, put_scts, put_dane, put_end };
	struct check_page p = check_page_start(out, s);
	size_t i;

	verdict(&p, c, s->brief);
	for (i = 0; i < c->n_faults; i++)
		put_fault(&p, &c->faults[i]);
	if (s->brief)
		return check_page_finish(&p);
	check_page_gap(&p);
	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		before[i](&p, c);
	check_chain_text(&p, c, s->show_chain);
	for (i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
		behind[i](&p, c);
	check_page_gap(&p);
	for (i = 0; i < c->n_warnings; i++)
		put_warning(&p, c->warnings[i]);
	return check_page_finish(&p);
}
