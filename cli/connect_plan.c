/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* From options to what is to be done. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect.h"
#include "lib/base/units.h"
#include "lib/net/starttls.h"
#include "lib/tls/names.h"

#define DAY_MS 86400000.0

/* --- single options ---------------------------------------------------------------- */

/* "30", "30d", "20%", "36h". */
static int parse_limit(const char *option, const char *text, struct probe_limit *out, struct err *e)
{
	size_t n = text ? strlen(text) : 0;
	char digits[24];
	uint64_t v;

	*out = (struct probe_limit){ .value = NAN };
	if (!text)
		return 0;
	if (n > 1 && n < sizeof(digits) && text[n - 1] == '%') {
		memcpy(digits, text, n - 1);
		digits[n - 1] = '\0';
		if (units_parse_uint(digits, 0, 100, &v) == 0) {
			*out = (struct probe_limit){ .value = (double)v, .percent = true };
			return 0;
		}
	} else if (units_parse_uint(text, 0, 100000, &v) == 0) {
		out->value = (double)v;
		return 0;
	} else if (units_parse_duration(text, &v) == 0) {
		out->value = (double)v / DAY_MS;
		return 0;
	}
	return err_set(e, ERR_CONFIG, "%s \"%.60s\": expected days (30 or 30d) or a part of the lifetime (20%%)", option, text);
}

static int parse_reaching(struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;
	struct line_options *l = &p->goal.line;
	struct parley *test;

	if (o->v4 && o->v6)
		return err_set(e, ERR_CONFIG, "-4 and -6 together leave no address: give neither for both");
	l->family = o->v4 ? RESOLVE_V4 : o->v6 ? RESOLVE_V6 : RESOLVE_ANY;
	if (o->proxy) {
		if (proxy_parse(o->proxy, &p->proxy, e) < 0)
			return -1;
		l->proxy = &p->proxy;
	}
	if (o->resolve) {
		if (addr_parse(&p->resolve, o->resolve, ADDR_CONNECT, e) < 0)
			return err_prefix(e, "--resolve");
		l->resolve = &p->resolve;
	}
	if (o->starttls_name && !o->starttls)
		return err_set(e, ERR_CONFIG, "--starttls-name has no effect without --starttls");
	if (!o->starttls)
		return 0;
	test = starttls_new(o->starttls, "localhost", o->starttls_name, e); /* its errors, before anything is begun */
	if (!test)
		return -1;
	parley_free(test);
	l->starttls = o->starttls;
	l->starttls_name = o->starttls_name;
	return 0;
}

static int parse_vouching(struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;

	for (size_t i = 0; i < o->tlsa.n; i++)
		if (tlsa_parse("--tlsa", o->tlsa.v[i], &p->tlsa, e) < 0)
			return -1;
	if (o->dane && o->tlsa.n)
		return err_set(e, ERR_CONFIG, "--dane looks records up and --tlsa gives them: one of both");
	if (o->dane && !tlsa_can_lookup())
		return err_set(e, ERR_CONFIG, "--dane: there is no libgnutls-dane here (or tlskit was built without it); install it, or give the record with --tlsa");
	if ((o->dane || o->tlsa.n || o->ocsp || o->must_staple) && o->tls.psk_file)
		return err_set(e, ERR_CONFIG, "%s is about a certificate, and with --psk-file there is none",
			o->dane ? "--dane" : o->tlsa.n ? "--tlsa" : o->ocsp ? "--ocsp" : "--must-staple");
	p->goal.tlsa = &p->tlsa;
	p->goal.dane = o->dane;
	p->goal.ocsp = o->ocsp;
	p->goal.ocsp_timeout_ms = o->ocsp_timeout_ms;
	p->goal.must_staple = o->must_staple;
	return 0;
}

static int parse_sessions(struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;

	p->goal.resume = o->resume || o->early_data;
	if (!o->early_data)
		return 0;
	if (cert_read_file("--early-data", o->early_data, &p->early, e) < 0)
		return -1;
	if (p->early.size == 0)
		return err_set(e, ERR_CONFIG, "--early-data %s: the file is empty", o->early_data);
	if (!o->tls.max_tls)
		return err_set(e, ERR_CONFIG, "--early-data needs TLS 1.3, which --max-tls forbids");
	p->goal.early = p->early.data;
	p->goal.early_size = p->early.size;
	return 0;
}

static struct probe_names names(const struct opt_list *l)
{
	return (struct probe_names){ .v = (const char *const *)l->v, .n = l->n };
}

/* What nobody knows will never be agreed on. */
static int check_expected(const char *option, struct names_wanted w, struct err *e)
{
	const char *unknown;
	char *priority;
	bool known;

	w.min_version = 12;
	w.max_version = 13;
	w.certificates = w.psk = true;
	priority = names_priority(&w, e);
	known = priority != NULL;
	free(priority);
	if (known)
		return 0;
	unknown = strstr(e->msg, ": unknown "); /* behind the option that it is for elsewhere */
	return err_set(e, e->kind, "%s%s", option, unknown ? unknown : e->msg);
}

static int parse_expecting(struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;

	p->goal.expect_alpn = names(&o->expect_alpn);
	p->goal.expect_group = names(&o->expect_group);
	p->goal.expect_suite = names(&o->expect_suite);
	p->goal.expect_issuer = names(&o->expect_issuer);
	if (check_expected("--expect-group", (struct names_wanted){ .groups = { o->expect_group.v, o->expect_group.n } }, e) < 0)
		return -1;
	if (check_expected("--expect-ciphersuite", (struct names_wanted){ .suites = { o->expect_suite.v, o->expect_suite.n } }, e) < 0)
		return -1;
	if (parse_limit("--warn", o->warn, &p->goal.warn, e) < 0 || parse_limit("--crit", o->crit, &p->goal.crit, e) < 0)
		return -1;
	if (p->goal.warn.percent == p->goal.crit.percent && p->goal.warn.value < p->goal.crit.value)
		return err_set(e, ERR_CONFIG, "--warn %s would never be told, since --crit %s comes before it: swap them", o->warn, o->crit);
	return 0;
}

/* --- what would be without effect, although somebody counts on it ------------------------- */

/* A scan decides itself what is offered, and verifies nothing. */
static int check_scan(const struct connect_options *o, struct err *e)
{
	const struct tlsopt *t = &o->tls;
	const struct {
		bool given;
		const char *name;
	} pointless[] = { { t->ca, "--ca" }, { t->crl, "--crl" }, { t->pin.n, "--pin" }, { t->verify_name, "--verify-name" },
		{ t->psk_file, "--psk-file" }, { t->min_tls, "--min-tls" }, { !t->max_tls, "--max-tls" },
		{ t->alpn.n, "--alpn" }, { t->ciphersuite.n, "--ciphersuite" }, { t->group.n, "--group" },
		{ t->signature.n, "--signature" }, { t->priority, "--priority" }, { t->keylog, "--keylog" },
		{ o->expect_alpn.n, "--expect-alpn" }, { o->expect_group.n, "--expect-group" },
		{ o->expect_suite.n, "--expect-ciphersuite" }, { o->expect_issuer.n, "--expect-issuer" }, { o->warn, "--warn" },
		{ o->crit, "--crit" }, { o->must_staple, "--must-staple" }, { o->ocsp, "--ocsp" }, { o->tlsa.n, "--tlsa" },
		{ o->dane, "--dane" }, { o->resume, "--resume" }, { o->early_data, "--early-data" },
		{ o->show_chain, "--show-chain" }, { o->save_chain, "--save-chain" } };

	for (size_t i = 0; i < sizeof(pointless) / sizeof(*pointless); i++)
		if (pointless[i].given)
			return err_set(e, ERR_CONFIG, "%s has no effect with --scan, which offers all there is and verifies nothing",
				pointless[i].name);
	return 0;
}

static int check_modes(const struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;
	int forms = o->json + o->nagios + o->prometheus + o->print_pin;
	const struct {
		bool given;
		const char *name;
	} talk[] = { { o->crlf, "--crlf" }, { o->ignore_eof, "--ignore-eof" }, { o->allow_truncation, "--allow-truncation" },
		{ o->verbose, "--verbose" } };

	if (o->scan ? o->nagios + o->prometheus + o->print_pin > 0 : forms > 1)
		return err_set(e, ERR_CONFIG, o->scan ? "--scan writes text or --json" :
			"only one of --json, --nagios, --prometheus and --print-pin can be written");
	for (size_t i = 0; !p->goal.keep && i < sizeof(talk) / sizeof(*talk); i++)
		if (talk[i].given)
			return err_set(e, ERR_CONFIG, "%s is about talking, and a check sends nothing", talk[i].name);
	if (p->goal.keep && (o->targets || o->all_addresses))
		return err_set(e, ERR_CONFIG, "%s needs --check: there can be one server only to talk with",
			o->targets ? "--targets" : "--all-addresses");
	if (p->goal.keep && o->show_chain && !o->verbose)
		return err_set(e, ERR_CONFIG, "--show-chain needs --check or --verbose");
	if (o->scan && check_scan(o, e) < 0)
		return -1;
	if (o->scan && (o->targets || o->all_addresses))
		return err_set(e, ERR_CONFIG, "--scan looks at one server: leave out %s", o->targets ? "--targets" : "--all-addresses");
	return 0;
}

static int check_operands(const struct connect_plan *p, struct err *e)
{
	const struct connect_options *o = p->o;

	if (p->n == 0 && !o->targets)
		return err_set(e, ERR_CONFIG, "ADDRESS is missing: which server? (tlskit connect --help)");
	if (p->n > 1 && p->goal.keep)
		return err_set(e, ERR_CONFIG, "one ADDRESS only to talk with; --check takes several");
	if (p->n > 1 && o->scan)
		return err_set(e, ERR_CONFIG, "--scan takes one ADDRESS");
	if ((p->n > 1 || o->targets || o->all_addresses) && o->save_chain)
		return err_set(e, ERR_CONFIG, "--save-chain is for one target");
	if (o->tls.psk_file && strcmp(o->tls.psk_file, "-") == 0 && (p->goal.keep || (o->targets && strcmp(o->targets, "-") == 0)))
		return err_set(e, ERR_CONFIG, "--psk-file -: standard input is needed for something else here");
	return 0;
}

/* --- TLS ---------------------------------------------------------------------------------------- */

/* A check without verification still tells what is wrong, so the configuration is one
 * that verifies, and the probe does not insist. */
static int make_tls(struct connect_plan *p, struct err *e)
{
	const struct tlsopt *v = &p->o->tls;
	const struct {
		bool given;
		const char *name;
	} pointless[] = { { v->ca, "--ca" }, { v->pin.n, "--pin" }, { v->verify_name, "--verify-name" }, { v->crl, "--crl" },
		{ v->psk_file, "--psk-file" } };
	struct tls_options t;

	for (size_t i = 0; v->insecure_no_verify && i < sizeof(pointless) / sizeof(*pointless); i++)
		if (pointless[i].given)
			return err_set(e, ERR_CONFIG, "%s cannot go with --insecure-no-verify", pointless[i].name);
	if (p->o->scan)
		return 0; /* one for each handshake */
	tlsopt_fill(v, TLS_CLIENT, &t);
	if (!t.alpn.n) /* what is expected must be offered */
		t.alpn = (struct names_list){ p->goal.expect_alpn.v, p->goal.expect_alpn.n };
	t.trust_optional = v->insecure_no_verify || p->o->tlsa.n || p->o->dane;
	t.insecure_no_verify = false;
	t.dataplane = p->goal.keep ? TLS_DATAPLANE_AUTO : TLS_DATAPLANE_GNUTLS;
	p->goal.no_verify = v->insecure_no_verify;
	p->goal.tls = config_new(&t, e);
	return p->goal.tls ? 0 : -1;
}

/* --- targets -------------------------------------------------------------------------------------- */

int connect_parse(const struct connect_options *o, const char *text, struct addr *out, struct err *e)
{
	if (addr_parse(out, text, ADDR_CONNECT, e) < 0)
		return -1;
	if (out->kind != ADDR_TCP && out->kind != ADDR_UNIX)
		return err_set(e, ERR_CONFIG, "\"%.120s\" is nothing to connect to; expected HOST, HOST:PORT or unix:PATH", text);
	if (out->kind == ADDR_TCP && out->port_implied && o->starttls && strncmp(text, "https:", 6) != 0)
		out->port = (uint16_t)starttls_port(o->starttls);
	return 0;
}

static int parse_operands(struct connect_plan *p, const struct opt_list *operands, struct err *e)
{
	p->texts = (const char *const *)operands->v;
	p->addrs = calloc(operands->n + 1, sizeof(*p->addrs));
	if (!p->addrs)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (size_t i = 0; i < operands->n; i++, p->n++)
		if (connect_parse(p->o, operands->v[i], &p->addrs[i], e) < 0)
			return -1;
	return 0;
}

int connect_plan_make(struct connect_plan *p, const struct connect_options *o, const struct opt_list *operands,
	struct err *e)
{
	p->o = o;
	p->goal.keep = !(o->check || o->json || o->nagios || o->prometheus || o->print_pin || o->scan);
	p->goal.timeout_ms = o->timeout_ms;
	if (parse_operands(p, operands, e) < 0 || check_operands(p, e) < 0 || check_modes(p, e) < 0)
		return -1;
	if (parse_reaching(p, e) < 0 || parse_vouching(p, e) < 0 || parse_sessions(p, e) < 0 || parse_expecting(p, e) < 0)
		return -1;
	return make_tls(p, e);
}

void connect_plan_free(struct connect_plan *p)
{
	config_unref(p->goal.tls);
	proxy_wipe(&p->proxy);
	tlsa_list_free(&p->tlsa);
	cert_wipe_datum(&p->early);
	free(p->addrs);
}
