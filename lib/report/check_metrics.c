/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/check_int.h"

/* Prometheus' text format 0.0.4. A series must be there once only: two checks of one
 * target differ in their address, and where they do not the first one counts. */

/* --- labels --------------------------------------------------------------------------------- */

/* A label's value; quotes and backslashes are escaped, control characters are gone. */
static int put_value(FILE *out, const char *text)
{
	char *clean = report_clean(text);

	if (!clean)
		return -1;
	for (const char *p = clean; *p; p++) {
		if (*p == '"' || *p == '\\')
			putc('\\', out);
		putc(*p, out);
	}
	free(clean);
	return 0;
}

static int put_label(FILE *out, const char *name, const char *text)
{
	int r;

	fprintf(out, "%s=\"", name);
	r = put_value(out, text);
	putc('"', out);
	return r;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

struct probe {
	FILE *out;
	const struct check *check;
	bool with_address; /* several of its target */
	bool failed;
};

/* NAME{target="…" and leaves the braces open. */
static void put_name(struct probe *p, const char *name)
{
	fprintf(p->out, "%s{", name);
	if (put_label(p->out, "target", p->check->target) < 0)
		p->failed = true;
	if (p->with_address) {
		putc(',', p->out);
		if (put_label(p->out, "address", p->check->address) < 0)
			p->failed = true;
	}
}

static void put_more(struct probe *p, const char *name, const char *text)
{
	putc(',', p->out);
	if (put_label(p->out, name, text) < 0)
		p->failed = true;
}

static void put_integer(struct probe *p, int64_t v)
{
	fprintf(p->out, "} %" PRId64 "\n", v);
}

static void put_seconds(struct probe *p, double ms)
{
	char number[CHECK_DECIMAL_SIZE];

	fprintf(p->out, "} %s\n", check_decimal(ms / 1000, 6, number));
}

/* --- metrics: each puts its lines for one check, or none where nothing is known --------------- */

static void success(struct probe *p, const char *name)
{
	put_name(p, name);
	put_integer(p, check_exit_code(p->check) == CHECK_OK);
}

static void exit_code(struct probe *p, const char *name)
{
	put_name(p, name);
	put_integer(p, check_exit_code(p->check));
}

static void fault(struct probe *p, const char *name)
{
	const struct check *c = p->check;

	for (size_t i = 0; i < c->n_faults; i++) {
		const char *result = check_code_name(c->faults[i].code);
		size_t k = 0;

		while (k < i && strcmp(check_code_name(c->faults[k].code), result) != 0)
			k++;
		if (k < i)
			continue; /* was told */
		put_name(p, name);
		put_more(p, "result", result);
		put_integer(p, 1);
	}
}

static void warnings(struct probe *p, const char *name)
{
	put_name(p, name);
	put_integer(p, (int64_t)p->check->n_warnings);
}

static void phases(struct probe *p, const char *name)
{
	const struct check *c = p->check;
	const struct {
		const char *name;
		double ms;
	} all[] = { { "dns", c->dns_ms }, { "connect", c->connect_ms }, { "proxy", c->proxy_ms },
		{ "starttls", c->starttls_ms }, { "handshake", c->handshake_ms } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!isfinite(all[i].ms))
			continue;
		put_name(p, name);
		put_more(p, "phase", all[i].name);
		put_seconds(p, all[i].ms);
	}
}

static void elapsed(struct probe *p, const char *name)
{
	if (!isfinite(p->check->total_ms))
		return;
	put_name(p, name);
	put_seconds(p, p->check->total_ms);
}

static void tls_info(struct probe *p, const char *name)
{
	const struct check *c = p->check;

	if (!check_has_tls(c))
		return;
	put_name(p, name);
	put_more(p, "version", c->version);
	put_more(p, "ciphersuite", c->ciphersuite);
	put_more(p, "group", c->group);
	put_integer(p, 1);
}

static void verified(struct probe *p, const char *name)
{
	if (!p->check->verified || p->check->verify_ok == CHECK_UNKNOWN)
		return;
	put_name(p, name);
	put_integer(p, p->check->verify_ok == CHECK_YES);
}

static void path_not_after(struct probe *p, const char *name)
{
	int64_t until;

	if (!check_expiry(p->check, &until))
		return;
	put_name(p, name);
	put_integer(p, until);
}

static void certificate_not_after(struct probe *p, const char *name)
{
	const struct chain *chain = p->check->chain;

	for (size_t i = 0; chain && i < chain->n_sent; i++) {
		char number[24];

		if ((chain->certs[i].faults & CHAIN_UNREADABLE) || chain->certs[i].not_after == -1)
			continue;
		snprintf(number, sizeof(number), "%zu", i);
		put_name(p, name);
		put_more(p, "position", number);
		put_more(p, "on_path", chain->certs[i].on_path ? "yes" : "no");
		put_integer(p, chain->certs[i].not_after);
	}
}

static void stapled(struct probe *p, const char *name)
{
	if (!p->check->chain)
		return;
	put_name(p, name);
	put_integer(p, p->check->staple.status != OCSP_NONE);
}

static void staple_next_update(struct probe *p, const char *name)
{
	const struct check *c = p->check;

	if (!c->chain || c->staple.status == OCSP_NONE || c->staple.next_update == -1)
		return;
	put_name(p, name);
	put_integer(p, c->staple.next_update);
}

static void scts(struct probe *p, const char *name)
{
	if (!p->check->chain)
		return;
	put_name(p, name);
	put_integer(p, (int64_t)p->check->n_scts);
}

static const struct {
	const char *name, *help;
	void (*put)(struct probe *p, const char *name);
} metrics[] = {
	{ "tlskit_probe_success", "Whether the check found nothing wrong.", success },
	{ "tlskit_probe_exit_code", "Exit code of tlskit connect --check.", exit_code },
	{ "tlskit_probe_fault", "What was wrong, a series a kind.", fault },
	{ "tlskit_probe_warnings", "How many warnings there were.", warnings },
	{ "tlskit_probe_duration_seconds", "Time that each phase took.", phases },
	{ "tlskit_probe_elapsed_seconds", "Time that the whole check took.", elapsed },
	{ "tlskit_tls_info", "What was agreed on.", tls_info },
	{ "tlskit_verify_success", "Whether the server is who it must be.", verified },
	{ "tlskit_path_not_after_seconds", "When the first certificate of the path expires, since the epoch.",
		path_not_after },
	{ "tlskit_certificate_not_after_seconds", "When each certificate that was sent expires, since the epoch.",
		certificate_not_after },
	{ "tlskit_ocsp_stapled", "Whether an OCSP answer was stapled.", stapled },
	{ "tlskit_ocsp_staple_next_update_seconds", "When the stapled answer is over, since the epoch.",
		staple_next_update },
	{ "tlskit_scts", "How many signed certificate timestamps came.", scts },
};

/* --- all checks ----------------------------------------------------------------------------------- */

/* Whether other checks [from, to) have its target, or its target and address. */
static bool others(const struct check *const *checks, size_t i, size_t from, size_t to, bool address)
{
	for (size_t k = from; k < to; k++) {
		if (k != i && same(checks[k]->target, checks[i]->target) &&
			(!address || same(checks[k]->address, checks[i]->address)))
			return true;
	}
	return false;
}

int check_write_prometheus(FILE *out, const struct check *const *checks, size_t n)
{
	bool failed = false;

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", metrics[m].name, metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < n; i++) {
			struct probe p = { .out = out, .check = checks[i], .with_address = others(checks, i, 0, n, false) };

			if (others(checks, i, 0, i, true))
				continue;
			metrics[m].put(&p, metrics[m].name);
			failed = failed || p.failed;
		}
	}
	return fflush(out) != 0 || ferror(out) || failed ? -1 : 0;
}
