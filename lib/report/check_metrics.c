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

/* A label; quotes and backslashes are escaped. The text is clean. */
static void put_label(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s=\"", name);
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			putc('\\', out);
		putc(*p, out);
	}
	putc('"', out);
}

/* A check and what tells its series from others. */
struct probe {
	FILE *out;
	const struct check *check;
	size_t at; /* its place among all */
	char *target, *address; /* clean; address "" where there is none */
	bool with_address; /* several of its target */
	bool again; /* one before it has its target and address */
	bool failed;
};

/* NAME{target="…" and leaves the braces open. */
static void put_name(struct probe *p, const char *name)
{
	fprintf(p->out, "%s{", name);
	put_label(p->out, "target", p->target);
	if (p->with_address) {
		putc(',', p->out);
		put_label(p->out, "address", p->address);
	}
}

static void put_more(struct probe *p, const char *name, const char *text)
{
	char *clean = report_clean(text);

	putc(',', p->out);
	put_label(p->out, name, clean ? clean : "");
	p->failed = p->failed || !clean;
	free(clean);
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

static int by_series(const void *a, const void *b)
{
	const struct probe *x = a, *y = b;
	int r = strcmp(x->target, y->target);

	r = r ? r : strcmp(x->address, y->address);
	return r ? r : x->at < y->at ? -1 : x->at > y->at;
}

static int by_place(const void *a, const void *b)
{
	const struct probe *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorted, those that have something in common are neighbours. */
static void tell_apart(struct probe *probes, size_t n)
{
	qsort(probes, n, sizeof(*probes), by_series);
	for (size_t i = 1; i < n; i++) {
		struct probe *one = &probes[i - 1], *next = &probes[i];

		if (strcmp(one->target, next->target) != 0)
			continue;
		one->with_address = next->with_address = true;
		next->again = strcmp(one->address, next->address) == 0;
	}
	qsort(probes, n, sizeof(*probes), by_place);
}

static void free_probes(struct probe *probes, size_t n)
{
	for (size_t i = 0; probes && i < n; i++) {
		free(probes[i].target);
		free(probes[i].address);
	}
	free(probes);
}

/* NULL: no memory. */
static struct probe *make_probes(FILE *out, const struct check *const *checks, size_t n)
{
	struct probe *probes = calloc(n + 1, sizeof(*probes));

	for (size_t i = 0; probes && i < n; i++) {
		probes[i] = (struct probe){ .out = out, .check = checks[i], .at = i,
			.target = report_clean(checks[i]->target), .address = report_clean(checks[i]->address) };
		if (probes[i].target && probes[i].address)
			continue;
		free_probes(probes, n);
		return NULL;
	}
	if (probes)
		tell_apart(probes, n);
	return probes;
}

int check_write_prometheus(FILE *out, const struct check *const *checks, size_t n)
{
	struct probe *probes = make_probes(out, checks, n);
	bool failed = !probes;

	for (size_t m = 0; probes && m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", metrics[m].name, metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < n; i++) {
			if (!probes[i].again)
				metrics[m].put(&probes[i], metrics[m].name);
			failed = failed || probes[i].failed;
		}
	}
	free_probes(probes, n);
	return fflush(out) != 0 || ferror(out) || failed ? -1 : 0;
}
