/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* What a handshake brought, and whether that is what was expected. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/utf8.h"
#include "lib/probe/probe_int.h"
#include "lib/tls/names.h"

/* --- what was agreed on ---------------------------------------------------------------- */

static enum check_answer answer(bool yes)
{
	return yes ? CHECK_YES : CHECK_NO;
}

/* Whoever gave a certificate thinks that it counts. */
static void warn_of_unsent(struct probe *p, const struct session_story *s)
{
	if (!config_has_cert(p->goal->tls) || s->certificate_sent)
		return;
	check_warn(p->check, "our certificate (--cert) was not sent: %s", s->certificate_requested
		? "it is not of a CA, or not of a kind, that the server asks for"
		: "the server did not ask for one");
}

void probe_note_session(struct probe *p)
{
	struct check *c = p->check;
	struct session_info i;
	struct session_story s;

	session_info(p->conn->session, &i);
	session_story(p->conn->session, &s);
	probe_set(p, &c->version, i.version);
	probe_set(p, &c->ciphersuite, i.ciphersuite);
	probe_set(p, &c->group, i.group);
	probe_set(p, &c->signature, i.signature);
	probe_set(p, &c->alpn, i.alpn[0] ? i.alpn : NULL);
	c->hello_retry = answer(s.hello_retry);
	c->resumed = answer(i.resumed);
	c->client_cert_requested = answer(s.certificate_requested);
	c->client_cert_sent = answer(s.certificate_sent);
	if (i.version && strcmp(i.version, "TLS1.3") != 0) {
		c->tickets = (int)s.tickets;
		c->ticket_lifetime_s = (long)s.ticket_lifetime_s;
		if (s.certificate_sent)
			c->client_cert_accepted = CHECK_YES; /* its Finished says so */
	}
	warn_of_unsent(p, &s);
	if (i.by_psk) {
		probe_set(p, &c->by, "psk");
		c->verified = true;
		c->verify_ok = CHECK_YES;
	}
}

void probe_note_resumption(struct probe *p)
{
	struct check *c = p->check;
	struct session_info i;
	struct session_story s;

	session_info(p->conn->session, &i);
	session_story(p->conn->session, &s);
	c->resumed = answer(i.resumed);
	if (!i.resumed)
		check_fault_add(c, CHECK_EXPECT, CHECK_AT_EXPECT, "%s", !session_offered_ticket(p->conn->session)
			? "the session was not resumed: the server gave nothing to resume it with (no ticket, no session id)"
			: "the session was not resumed: the server took our ticket for nothing and did a full handshake");
	if (!p->goal->early_size)
		return;
	c->early_data = s.early_sent ? answer(s.early_accepted) : CHECK_UNKNOWN;
	if (!s.early_sent)
		check_fault_add(c, CHECK_EXPECT, CHECK_AT_EXPECT,
			"--early-data: the server's tickets allow none, or not so much (%zu bytes)", p->goal->early_size);
	else if (!s.early_accepted)
		check_fault_add(c, CHECK_EXPECT, CHECK_AT_EXPECT, "--early-data: the server rejected it");
}

/* "h2, http/1.1" */
static char *join(const struct probe_names *names)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < names->n; i++)
		fprintf(out, "%s%s", i ? ", " : "", names->v[i]);
	return fclose(out) == 0 ? text : NULL;
}

static void unexpected(struct probe *p, const char *option, const char *what, const char *have,
	const struct probe_names *wanted)
{
	char *names = join(wanted);

	if (have)
		check_fault_add(p->check, CHECK_EXPECT, CHECK_AT_EXPECT, "the %s is %s, not %s (%s)", what, have,
			names ? names : "what was expected", option);
	else
		check_fault_add(p->check, CHECK_EXPECT, CHECK_AT_EXPECT, "there is no %s, where %s was expected (%s)", what,
			names ? names : "one", option);
	free(names);
}

/* --- what went wrong ------------------------------------------------------------------------ */

bool probe_is_refusal(const struct session_story *s)
{
	if (!s->alert_received || !s->certificate_requested)
		return false;
	switch (s->alert) {
	case GNUTLS_A_CERTIFICATE_REQUIRED:
	case GNUTLS_A_BAD_CERTIFICATE:
	case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
	case GNUTLS_A_CERTIFICATE_REVOKED:
	case GNUTLS_A_CERTIFICATE_EXPIRED:
	case GNUTLS_A_CERTIFICATE_UNKNOWN:
	case GNUTLS_A_UNKNOWN_CA:
	case GNUTLS_A_ACCESS_DENIED:
		return true;
	case GNUTLS_A_HANDSHAKE_FAILURE: /* before TLS 1.3 there was no other one for "I want one" (RFC 5246, 7.4.6) */
	case GNUTLS_A_DECODE_ERROR: /* a GnuTLS server's in its place */
		return !s->certificate_sent;
	default:
		return false;
	}
}

static void note_alert(struct probe *p, const struct session_story *s)
{
	if (s->alert < 0)
		return;
	p->check->alert = s->alert;
	p->check->alert_received = s->alert_received;
	probe_set(p, &p->check->alert_name, s->alert_name);
}

/* Of our certificate, or of having none. GnuTLS sends none that is not of a CA which the
 * server names. */
static void note_refusal(struct probe *p, const struct session_story *s)
{
	bool kept = !s->certificate_sent && config_has_cert(p->goal->tls);
	struct check_fault *f = check_fault_add(p->check, CHECK_CLIENT_CERT, CHECK_AT_HANDSHAKE, "%s: it answers with the alert %s (%d)",
		s->certificate_sent ? "the server rejects our certificate"
		: kept ? "the server wants a client certificate of other CAs than that of ours, which was not sent"
		       : "the server wants a client certificate, and none was given",
		s->alert_name, s->alert);

	p->check->client_cert_accepted = CHECK_NO;
	probe_set(p, &f->hint, s->certificate_sent ? "is it of a CA that this server trusts, and still valid?"
		: kept ? "is its CA one that this server trusts, and are the CAs between them in the --cert file?"
		       : "give one with --cert and --key");
}

void probe_note_failure(struct probe *p, const struct err *e)
{
	struct check *c = p->check;
	struct session_story s;

	session_story(p->conn->session, &s);
	note_alert(p, &s);
	if (!c->version) {
		c->hello_retry = answer(s.hello_retry);
		c->client_cert_requested = answer(s.certificate_requested);
		c->client_cert_sent = answer(s.certificate_sent && !p->refused); /* ours is chosen earlier */
	}
	if (p->refused)
		return; /* by us, and the reasons are there */
	if (probe_is_refusal(&s)) {
		note_refusal(p, &s);
		return;
	}
	if (s.alert_received && s.alert == GNUTLS_A_NO_APPLICATION_PROTOCOL && p->goal->expect_alpn.n) {
		unexpected(p, "--expect-alpn", "protocol that the server takes", NULL, &p->goal->expect_alpn);
		return;
	}
	check_fault_add(c, p->second ? CHECK_EXPECT : e->kind == ERR_AUTH ? CHECK_UNTRUSTED : CHECK_HANDSHAKE,
		p->second ? CHECK_AT_EXPECT : CHECK_AT_HANDSHAKE, "%s%s", p->second ? "while resuming: " : "", e->msg);
}

/* --- what was expected ------------------------------------------------------------------------- */

static bool same(const char *have, const char *wanted)
{
	return strcmp(have, wanted) == 0;
}

static bool same_suite(const char *have, const char *wanted)
{
	return names_suite_wanted(&(struct names_list){ &wanted, 1 }, have);
}

static bool same_issuer(const char *have, const char *wanted)
{
	return strstr(have, wanted) != NULL;
}

static void expect(struct probe *p, const char *option, const char *what, const char *have,
	const struct probe_names *wanted, bool (*fits)(const char *have, const char *wanted))
{
	if (!wanted->n)
		return;
	for (size_t i = 0; have && i < wanted->n; i++)
		if (fits(have, wanted->v[i]))
			return;
	unexpected(p, option, what, have, wanted);
}

static double days_of(const struct probe_limit *l, const struct check *c)
{
	if (!l->percent || isnan(l->value) || isnan(c->percent_left) || c->percent_left == 0)
		return l->percent ? NAN : l->value;
	return l->value / 100 * c->days_left / (c->percent_left / 100);
}

static bool is_below(const struct probe_limit *l, const struct check *c)
{
	return !isnan(l->value) && (l->percent ? c->percent_left : c->days_left) < l->value;
}

/* "3 days", and on the last one "5 hours". */
static void time_left(double days, char *out, size_t size)
{
	int n = (int)(days < 1 ? 24 * days : days);

	snprintf(out, size, "%d %s%s", n, days < 1 ? "hour" : "day", n == 1 ? "" : "s");
}

static void expect_validity(struct probe *p)
{
	const struct probe_goal *g = p->goal;
	struct check *c = p->check;
	const struct probe_limit *l = is_below(&g->crit, c) ? &g->crit : is_below(&g->warn, c) ? &g->warn : NULL;
	const char *option = l == &g->crit ? "--crit" : "--warn";
	char left[32];

	c->warn_days = days_of(&g->warn, c);
	c->crit_days = days_of(&g->crit, c);
	if (!l || c->days_left < 0)
		return; /* expired is another fault */
	c->critical = l == &g->crit;
	time_left(c->days_left, left, sizeof(left));
	if (l->percent)
		check_fault_add(c, CHECK_EXPIRY, CHECK_AT_EXPECT,
			"the certificate expires in %s, with %d %% of its lifetime left (%s %g%%)", left, (int)c->percent_left,
			option, l->value);
	else
		check_fault_add(c, CHECK_EXPIRY, CHECK_AT_EXPECT, "the certificate expires in %s (%s %g)", left, option,
			l->value);
}

void probe_judge_rest(struct probe *p)
{
	const struct probe_goal *g = p->goal;
	struct check *c = p->check;

	if (c->chain)
		expect_validity(p);
	if (!c->version)
		return;
	expect(p, "--expect-alpn", "protocol by ALPN", c->alpn, &g->expect_alpn, same);
	expect(p, "--expect-group", "group", c->group, &g->expect_group, names_same_group);
	expect(p, "--expect-ciphersuite", "suite", c->ciphersuite, &g->expect_suite, same_suite);
	expect(p, "--expect-issuer", "issuer", c->chain ? c->chain->certs[0].issuer : NULL, &g->expect_issuer, same_issuer);
}
