/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Who the server is: its chain, pins, TLSA records, and what its CA says of it. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/probe/probe_int.h"
#include "lib/tls/sct.h"

#define DAY_S     86400.0
#define BEHIND_MS 1000 /* so much later a look-up gives up than the deadline, which has a code of its own */

/* --- faults ---------------------------------------------------------------------------- */

/* A fault of identity; with --insecure-no-verify, or where the pin alone counts, a
 * warning. */
static void note(struct probe *p, bool counts, enum check_code code, const char *who, const char *text)
{
	if (!counts || p->goal->no_verify) {
		check_warn(p->check, "%s%s", who, text);
		return;
	}
	check_fault_add(p->check, code, CHECK_AT_VERIFY, "%s%s", who, text);
	p->check->verify_ok = CHECK_NO; /* the responder's answer comes behind the judge's */
}

static const struct {
	unsigned cause, faults;
	enum check_code code;
} kinds[] = {
	{ CHAIN_REVOKED, CHAIN_IS_REVOKED, CHECK_REVOKED },
	{ CHAIN_UNTRUSTED,
		CHAIN_UNREADABLE | CHAIN_SELF_SIGNED | CHAIN_ISSUER_MISSING | CHAIN_UNTRUSTED_ROOT | CHAIN_BAD_SIGNATURE |
			CHAIN_NOT_CA | CHAIN_CONSTRAINED | CHAIN_CRITICAL | CHAIN_WRONG_PURPOSE,
		CHECK_UNTRUSTED },
	{ CHAIN_NAME, CHAIN_WRONG_NAME | CHAIN_NO_SAN, CHECK_NAME },
	{ CHAIN_TIME, CHAIN_EXPIRED | CHAIN_NOT_YET, CHECK_TIME },
	{ CHAIN_WEAK, CHAIN_WEAK_KEY | CHAIN_WEAK_SIGNATURE, CHECK_WEAK },
};

/* How a sentence about one of its certificates begins. */
static char *subject_of(const struct chain *c, size_t i)
{
	char *out;

	if (i == 0)
		return strdup("the server's certificate ");
	return asprintf(&out, "the certificate of %s ", c->certs[i].subject[0] ? c->certs[i].subject : "a CA") < 0 ? NULL : out;
}

static void note_certificate(struct probe *p, size_t i, unsigned faults, bool counts, enum check_code code)
{
	struct check *c = p->check;
	char text[CHAIN_TEXT_SIZE], *who = subject_of(c->chain, i);
	unsigned f = 0;

	while ((f = chain_fault_next(faults, f)) != 0)
		note(p, counts, code, who ? who : "", chain_fault_text(c->chain, i, f, &c->chain_request, text, sizeof(text)));
	free(who);
}

/* causes: those that count. The others are told as warnings, but for trust, which
 * nobody asked for then. */
static void note_chain(struct probe *p, unsigned causes)
{
	const struct chain *c = p->check->chain;
	size_t before, k, i;
	bool counts;

	for (k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		counts = causes & kinds[k].cause;
		if (!(c->causes & kinds[k].cause) || (!counts && kinds[k].cause == CHAIN_UNTRUSTED))
			continue;
		before = p->check->n_faults + p->check->n_warnings;
		for (i = 0; i < c->n; i++)
			if (i == 0 || c->certs[i].on_path)
				note_certificate(p, i, c->certs[i].faults & kinds[k].faults, counts, kinds[k].code);
		if (before == p->check->n_faults + p->check->n_warnings)
			note(p, counts, kinds[k].code, "the server's certificate: ", chain_cause_name(kinds[k].cause));
	}
}

/* --- pins and TLSA records ----------------------------------------------------------------- */

static void note_pin(struct probe *p)
{
	const struct chain_cert *leaf = &p->check->chain->certs[0];
	char pin[CERT_PIN_TEXT], text[CERT_PIN_TEXT + 64];

	if (config_is_pinned(p->goal->tls, leaf->pin))
		return;
	snprintf(text, sizeof(text), "is not the pinned one: it has %s", cert_pin_format(leaf->pin, pin));
	note(p, true, CHECK_PIN, "the server's key ", text);
}

static size_t path_ders(const struct chain *c, gnutls_datum_t *out)
{
	for (size_t i = 0; i < c->n_path; i++)
		out[i] = c->certs[c->path[i]].der;
	return c->n_path;
}

static void describe_record(struct probe *p, const struct tlsa *r)
{
	char *text, *at;

	if (!(text = malloc(16 + 2 * r->n)))
		return;
	at = text + sprintf(text, "%d %d %d ", (int)r->usage, (int)r->selector, (int)r->matching);
	for (size_t i = 0; i < r->n; i++)
		at += sprintf(at, "%02x", r->data[i]);
	free(p->check->dane_record);
	p->check->dane_record = text;
}

/* What a record that matches makes of the chain's causes (RFC 7671, 5). */
static unsigned excused(enum tlsa_usage usage)
{
	switch (usage) {
	case TLSA_DANE_EE:
		return CHAIN_UNTRUSTED | CHAIN_NAME | CHAIN_TIME;
	case TLSA_DANE_TA:
		return CHAIN_UNTRUSTED | CHAIN_TIME;
	default:
		return 0;
	}
}

/* Returns the causes that count with these records. */
static unsigned match_records(struct probe *p, const struct tlsa_list *records, const gnutls_datum_t *sent, size_t n)
{
	const struct chain *c = p->check->chain;
	gnutls_datum_t path[CHAIN_MAX + 1];
	struct tlsa_chain chain = { .sent = sent, .n_sent = n };
	struct tlsa_result r;

	if (!(c->causes & CHAIN_UNTRUSTED)) {
		chain.path = path;
		chain.n_path = path_ders(c, path);
	}
	tlsa_match(records, &chain, &r);
	probe_set(p, &p->check->dane, r.ok ? "matched" : "no-match");
	if (!r.ok) {
		note(p, true, CHECK_PIN, "DANE: ", r.text);
		return c->causes;
	}
	describe_record(p, &records->v[r.record]);
	probe_set(p, &p->check->by, "dane");
	return c->causes & ~excused(r.usage);
}

/* Without a connection, that is what is wrong: what the DNS said waits for one. */
static void dane_failed(struct probe *p, const char *result, enum check_code code)
{
	p->dane_result = result;
	p->dane_code = code;
	err_prefix(&p->dane_err, "DANE");
}

static void dane_answered(void *arg, struct tlsa_answer *a, const struct err *e)
{
	struct probe *p = arg;
	const char *host = p->check->host;

	p->dane = NULL;
	if (!a) {
		p->dane_err = *e;
		dane_failed(p, "error", CHECK_DNS);
	} else if (a->dnssec == TLSA_BOGUS) {
		err_set(&p->dane_err, ERR_AUTH, "the TLSA records of %s ought to be signed, and the signature is wrong or missing: "
			"somebody may have changed them, or the resolver does not pass DNSSEC on", host);
		dane_failed(p, "bogus", CHECK_PIN);
	} else if (a->list.n == 0) {
		bool insecure = a->n_found && a->dnssec == TLSA_INSECURE;

		err_set(&p->dane_err, ERR_AUTH, "there are no TLSA records for %s that %s", host,
			insecure ? "DNSSEC vouches for" : "could be used");
		dane_failed(p, insecure ? "insecure" : "no-records", CHECK_PIN);
	} else {
		p->records = a->list;
		a->list = (struct tlsa_list){ NULL, 0 };
	}
	probe_go_on(p);
}

void probe_note_dane(struct probe *p)
{
	if (!p->dane_result)
		return;
	probe_set(p, &p->check->dane, p->dane_result);
	check_fault_add(p->check, p->dane_code, CHECK_AT_DNS, "%s", p->dane_err.msg);
}

void probe_ask_dane(struct probe *p)
{
	uint64_t limit = p->goal->timeout_ms ? p->goal->timeout_ms + BEHIND_MS : 0;
	struct err e = { 0 };

	if (!p->check->host) {
		check_warn(p->check, "--dane: a unix socket has no TLSA records");
		return;
	}
	p->dane = dane_ask_start(p->loop, p->check->host, p->check->port, limit, dane_answered, p, &e);
	if (p->dane)
		return;
	probe_set(p, &p->check->dane, "error");
	check_fault_add(p->check, CHECK_FAILED, CHECK_AT_DNS, "DANE: %s", e.msg);
}

/* A list that is out of date says nothing of what was revoked since. */
static void note_lists(struct probe *p)
{
	int64_t until = config_has_crl(p->goal->tls) ? config_crl_until(p->goal->tls) : -1;
	char day[CLOCK_RFC3339_SIZE];

	if (until == -1 || until >= p->check->chain_request.now)
		return;
	clock_rfc3339(until * 1000, day);
	day[10] = '\0'; /* the day says enough */
	check_warn(p->check, "--crl: the revocation list was to be renewed by %s: get the present one", day);
}

/* --- what its CA says ------------------------------------------------------------------------- */

/* The certificate that issued the leaf; NULL: it is not here. One that only has the issuer's
 * name is not it, which nobody else would notice where the chain does not count. */
static gnutls_x509_crt_t issuer_of_leaf(const struct chain *c)
{
	if (c->certs[0].faults & CHAIN_BAD_SIGNATURE)
		return NULL;
	if (c->n_path > 1)
		return c->certs[c->path[1]].crt;
	return c->certs[0].crt && (c->certs[0].faults & CHAIN_SELF_SIGNED) ? c->certs[0].crt : NULL;
}

static void judge_staple(struct probe *p, struct session *s)
{
	struct check *c = p->check;
	const struct chain_cert *leaf = &c->chain->certs[0];
	gnutls_x509_crt_t issuer = issuer_of_leaf(c->chain);
	bool must = leaf->must_staple || p->goal->must_staple;
	gnutls_datum_t der;

	if (session_staple(s, 0, &der) < 0) {
		if (must)
			note(p, true, CHECK_STAPLE, "the server ", leaf->must_staple
				? "staples no OCSP answer, and its certificate says that it must (must-staple): switch stapling on"
				: "staples no OCSP answer (--must-staple): switch stapling on");
		return;
	}
	ocsp_check(&der, leaf->crt, issuer, c->chain_request.now, &c->staple);
	if (c->staple.status == OCSP_GOOD)
		return;
	if (!issuer && !must && c->staple.status == OCSP_BAD_SIGNATURE)
		check_warn(c, "the OCSP staple cannot be verified without the certificate's issuer");
	else
		note(p, true, c->staple.status == OCSP_REVOKED ? CHECK_REVOKED : CHECK_STAPLE, "the OCSP staple: ",
			c->staple.text);
}

/* Its answer comes after all else was judged. */
static void note_responder(struct probe *p, enum check_code code, const char *text)
{
	note(p, true, code, "the OCSP responder: ", text);
	if (p->check->verified)
		p->check->verify_ok = CHECK_NO;
}

static void responder_answered(void *arg, const struct ocsp_result *r)
{
	struct probe *p = arg;

	p->ocsp = NULL;
	p->check->ocsp = *r;
	if (r->status != OCSP_GOOD)
		note_responder(p, r->status == OCSP_REVOKED ? CHECK_REVOKED : CHECK_STAPLE, r->text);
	probe_go_on(p);
}

static void ask_responder(struct probe *p)
{
	struct check *c = p->check;
	const struct chain_cert *leaf = &c->chain->certs[0];
	gnutls_x509_crt_t issuer = issuer_of_leaf(c->chain);
	struct err e = { 0 };

	if (!leaf->ocsp_url) {
		check_warn(c, "--ocsp: the certificate names no OCSP responder");
		return;
	}
	if (!issuer) {
		check_warn(c, "--ocsp: without the certificate's issuer nobody can be asked");
		return;
	}
	c->ocsp_asked = true;
	probe_set(p, &c->ocsp_url, leaf->ocsp_url);
	p->ocsp = ocsp_ask_start(p->loop, leaf->ocsp_url, leaf->crt, issuer, c->chain_request.now, p->goal->ocsp_timeout_ms,
		responder_answered, p, &e);
	if (p->ocsp)
		return;
	c->ocsp.status = OCSP_ERROR;
	snprintf(c->ocsp.text, sizeof(c->ocsp.text), "%.*s", (int)sizeof(c->ocsp.text) - 1, e.msg);
	note_responder(p, CHECK_STAPLE, e.msg);
}

static void note_scts(struct probe *p)
{
	struct check *c = p->check;
	struct sct_list l = { NULL, 0 };
	struct err e = { 0 };

	if (sct_of_cert(c->chain->certs[0].crt, &l, &e) < 0)
		check_warn(c, "the certificate's list of SCTs: %s", e.msg);
	c->scts = calloc(l.n + 1, sizeof(*c->scts));
	for (size_t i = 0; c->scts && i < l.n; i++) {
		c->scts[i] = (struct check_sct){ .timestamp_ms = (int64_t)l.v[i].timestamp_ms, .origin = "certificate" };
		probe_set(p, &c->scts[i].log_id, l.v[i].log);
		c->n_scts++;
	}
	sct_list_free(&l);
}

/* --- the judge ------------------------------------------------------------------------------------ */

static void note_days(struct check *c)
{
	const struct chain *chain = c->chain;
	const struct chain_cert *first = NULL, *cc;
	double now = (double)c->chain_request.now;

	for (size_t i = 0; i < chain->n_path; i++) {
		cc = &chain->certs[chain->path[i]];
		if (cc->not_after != -1 && (!first || cc->not_after < first->not_after))
			first = cc;
	}
	if (!first)
		return;
	c->days_left = ((double)first->not_after - now) / DAY_S;
	if (first->not_after > first->not_before)
		c->percent_left = 100 * ((double)first->not_after - now) / (double)(first->not_after - first->not_before);
}

static int inspect(struct probe *p, struct session *s, const gnutls_datum_t *der, size_t n, struct err *e)
{
	struct check *c = p->check;
	enum config_trust trust = config_trust(p->goal->tls);
	const struct tlsa_list *records = p->goal->tlsa && p->goal->tlsa->n ? p->goal->tlsa : p->records.n ? &p->records : NULL;
	unsigned causes;

	c->chain = chain_inspect(der, n, &c->chain_request, e);
	if (!c->chain)
		return -1;
	causes = trust == CONFIG_TRUST_PIN || trust == CONFIG_TRUST_NONE ? 0 : c->chain->causes;
	probe_set(p, &c->by, p->goal->no_verify ? "nothing" : trust == CONFIG_TRUST_PIN ? "pin" : "certificate");
	if (records)
		causes &= match_records(p, records, der, n);
	note_chain(p, causes);
	if (config_has_pins(p->goal->tls))
		note_pin(p);
	note_lists(p);
	note_days(c);
	if (!c->chain->certs[0].crt)
		return 0;
	judge_staple(p, s);
	note_scts(p);
	return 0;
}

/* The alert for what was found first in order of weight. */
static int alert_for(const struct check *c)
{
	switch (check_exit_code(c)) {
	case CHECK_REVOKED:
		return GNUTLS_A_CERTIFICATE_REVOKED;
	case CHECK_UNTRUSTED:
		return GNUTLS_A_UNKNOWN_CA;
	case CHECK_TIME:
		return GNUTLS_A_CERTIFICATE_EXPIRED;
	case CHECK_NAME:
		return GNUTLS_A_CERTIFICATE_UNKNOWN;
	default:
		return GNUTLS_A_BAD_CERTIFICATE;
	}
}

/* The second connection was not resumed, so anybody may have answered it: who shows the
 * certificate that was judged is the server that was judged. */
static int judge_again(struct probe *p, const gnutls_datum_t *der, size_t n, struct err *e)
{
	const gnutls_datum_t *leaf = &p->check->chain->certs[0].der;

	if (n && der[0].size == leaf->size && memcmp(der[0].data, leaf->data, leaf->size) == 0)
		return 0;
	p->refused = true;
	err_set(e, ERR_AUTH, "another certificate than before");
	check_fault_add(p->check, CHECK_EXPECT, CHECK_AT_EXPECT,
		"the session was not resumed: the second connection was answered with another certificate than the first");
	return GNUTLS_A_BAD_CERTIFICATE;
}

/* Whether something would be shown or sent to the server that the responder's answer may
 * forbid. A connection that is kept is used when the answer is here. */
static bool has_to_wait(const struct probe *p)
{
	return p->ocsp && (config_has_cert(p->goal->tls) || p->goal->resume);
}

/* A check goes on in spite of faults, to find them all; but nobody shows his own
 * certificate to a server that is not who it should be. */
static int verdict(struct probe *p, struct err *e)
{
	struct check *c = p->check;

	if (!c->n_faults || !(p->goal->keep || config_has_cert(p->goal->tls)))
		return 0;
	p->refused = true;
	err_set(e, ERR_AUTH, "the server's certificate is refused");
	return alert_for(c);
}

int probe_judge(void *arg, struct session *s, struct err *e)
{
	struct probe *p = arg;
	struct check *c = p->check;
	size_t n;
	const gnutls_datum_t *der = session_chain(s, &n);
	int alert;

	if (p->judging) {
		p->judging = p->ocsp != NULL;
		return p->judging ? SESSION_JUDGE_LATER : verdict(p, e);
	}
	if (p->judged)
		return judge_again(p, der, n, e);
	p->judged = true;
	c->verified = !p->goal->no_verify;
	if (inspect(p, s, der, n, e) < 0) {
		check_fault_add(c, e->kind == ERR_AUTH ? CHECK_UNTRUSTED : CHECK_FAILED, CHECK_AT_VERIFY, "%s", e->msg);
		p->refused = true;
		return GNUTLS_A_BAD_CERTIFICATE;
	}
	if (c->verified)
		c->verify_ok = c->n_faults ? CHECK_NO : CHECK_YES;
	if ((alert = verdict(p, e)) != 0)
		return alert;
	if (p->goal->ocsp && c->chain->certs[0].crt)
		ask_responder(p);
	p->judging = has_to_wait(p);
	p->paused = clock_mono_ns();
	return p->judging ? SESSION_JUDGE_LATER : verdict(p, e);
}
