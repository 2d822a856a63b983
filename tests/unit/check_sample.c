/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/check_sample.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOW    1796040000 /* 2026-11-30T12:00:00Z */
#define DAY    86400
#define BEFORE (NOW - 9 * DAY)
#define AFTER  (NOW + 81 * DAY + 3600)

void check_sample_text(char **place, const char *text)
{
	cr_assert_eq(check_set(place, text), 0);
}

/* --- chains --------------------------------------------------------------------------- */

static void fill_cert(struct chain_cert *cert, size_t i, size_t n)
{
	char name[32];

	snprintf(name, sizeof(name), "CN=%zu", i);
	check_sample_text(&cert->subject, name);
	snprintf(name, sizeof(name), "CN=%zu", i + 1 < n ? i + 1 : i);
	check_sample_text(&cert->issuer, name);
	check_sample_text(&cert->serial, "04a1b2");
	check_sample_text(&cert->key, i == 0 ? "ECDSA P-256" : "RSA 2048");
	check_sample_text(&cert->signature, "RSA-SHA256");
	cert->not_before = BEFORE;
	cert->not_after = AFTER + (int64_t)i * 365 * DAY;
	memset(cert->pin, (int)i + 1, sizeof(cert->pin));
	memset(cert->sha256, (int)i + 0xa0, sizeof(cert->sha256));
	cert->is_ca = i > 0;
	cert->on_path = true;
}

struct chain *check_sample_chain(size_t n, size_t n_sent)
{
	struct chain *c = calloc(1, sizeof(*c));

	cr_assert_not_null(c);
	c->certs = calloc(n + 1, sizeof(*c->certs));
	c->path = calloc(n, sizeof(*c->path));
	cr_assert(c->certs && c->path);
	for (size_t i = 0; i < n; i++) {
		fill_cert(&c->certs[i], i, n);
		c->certs[i].sent = i < n_sent;
		c->path[i] = i;
	}
	c->n = c->n_path = n;
	c->n_sent = n_sent;
	c->ordered = c->complete = true;
	return c;
}

/* names end with NULL. */
static void set_names(struct chain_cert *cert, const char *const *names)
{
	size_t n = 0;

	while (names[n])
		n++;
	cert->names = calloc(n + 1, sizeof(*cert->names));
	cr_assert_not_null(cert->names);
	for (size_t i = 0; i < n; i++)
		check_sample_text(&cert->names[i], names[i]);
}

static void rename_cert(struct chain *chain, size_t i, const char *subject)
{
	check_sample_text(&chain->certs[i].subject, subject);
	if (i > 0)
		check_sample_text(&chain->certs[i - 1].issuer, subject);
	if (i + 1 == chain->n)
		check_sample_text(&chain->certs[i].issuer, subject);
}

/* --- parts of a check ------------------------------------------------------------------- */

static struct check *new_check(const char *target, const char *host, unsigned port)
{
	struct check *c = check_new(target);

	cr_assert_not_null(c);
	check_sample_text(&c->host, host);
	c->port = port;
	c->started_ms = (int64_t)NOW * 1000 + 250;
	return c;
}

static void set_reached(struct check *c)
{
	check_sample_text(&c->servername, c->host);
	check_sample_text(&c->address, "192.0.2.1:443");
	c->family = 4;
	c->dns_ms = 2.0625;
	c->connect_ms = 8;
	c->handshake_ms = 23.95;
	c->total_ms = 34.0125;
}

static void set_tls(struct check *c)
{
	set_reached(c);
	check_sample_text(&c->version, "TLS1.3");
	check_sample_text(&c->ciphersuite, "TLS_AES_256_GCM_SHA384");
	check_sample_text(&c->group, "X25519MLKEM768");
	check_sample_text(&c->signature, "ECDSA-SECP256R1-SHA256");
	c->hello_retry = c->resumed = CHECK_NO;
	c->client_cert_requested = CHECK_NO;
	c->verified = true;
	c->verify_ok = CHECK_YES;
	check_sample_text(&c->by, "certificate");
	c->chain_request.now = NOW;
}

static void set_chain(struct check *c, struct chain *chain)
{
	c->chain = chain;
	c->chain_request.name = c->host;
	c->days_left = (double)(chain->certs[0].not_after - NOW) / DAY;
	c->percent_left = 100 * c->days_left / 90;
}

static void fault(struct check *c, enum check_code code, enum check_stage stage, const char *message,
	const char *detail, const char *hint)
{
	struct check_fault *f = check_fault_add(c, code, stage, "%s", message);

	check_sample_text(&f->detail, detail);
	check_sample_text(&f->hint, hint);
}

static void set_scts(struct check *c, const char *log_id, const char *const *origins, size_t n)
{
	c->scts = calloc(n, sizeof(*c->scts));
	cr_assert_not_null(c->scts);
	for (size_t i = 0; i < n; i++) {
		check_sample_text(&c->scts[i].log_id, log_id);
		c->scts[i].timestamp_ms = (int64_t)BEFORE * 1000 + 624;
		c->scts[i].origin = origins[i];
	}
	c->n_scts = n;
}

static void set_staple(struct ocsp_result *o, enum ocsp_status status, const char *text)
{
	o->status = status;
	o->this_update = o->produced = NOW - DAY;
	o->next_update = NOW + 6 * DAY;
	snprintf(o->text, sizeof(o->text), "%s", text);
}

/* --- checks ---------------------------------------------------------------------------------- */

struct check *check_sample_ok(void)
{
	static const char *const names[] = { "dns:example.com", "dns:www.example.com", "ip:192.0.2.1", NULL };
	static const char *const origins[] = { "certificate", "certificate", "tls" };
	struct check *c = new_check("example.com", "example.com", 443);
	struct chain *chain = check_sample_chain(3, 2);

	set_tls(c);
	rename_cert(chain, 0, "CN=example.com");
	rename_cert(chain, 1, "CN=R3,O=Let's Encrypt,C=US");
	rename_cert(chain, 2, "CN=ISRG Root X1,O=Internet Security Research Group,C=US");
	set_names(&chain->certs[0], names);
	check_sample_text(&chain->matched_name, "dns:example.com");
	set_chain(c, chain);
	check_sample_text(&c->alpn, "h2");
	c->tickets = 2;
	c->ticket_lifetime_s = 7200;
	set_staple(&c->staple, OCSP_GOOD, "good, until 2026-12-06");
	set_scts(c, "pLkJkLQYWBSHuxOizGdwCjw1mAT5G9+443fNDsgN3BA=", origins, 3);
	check_sample_text(&c->dane, "matched");
	check_sample_text(&c->dane_record, "3 1 1 0101010101010101010101010101010101010101010101010101010101010101");
	c->close_notify = CHECK_YES;
	return c;
}

struct check *check_sample_bad(void)
{
	static const char *const names[] = { "dns:other.example", NULL };
	struct check *c = new_check("example.com:8443", "example.com", 8443);
	struct chain *chain = check_sample_chain(1, 1);

	set_tls(c);
	rename_cert(chain, 0, "CN=other.example");
	set_names(&chain->certs[0], names);
	chain->certs[0].not_after = NOW - 213 * DAY - 7;
	chain->certs[0].not_before = NOW - 578 * DAY;
	chain->certs[0].faults = CHAIN_EXPIRED | CHAIN_WRONG_NAME | CHAIN_SELF_SIGNED;
	chain->causes = CHAIN_UNTRUSTED | CHAIN_NAME | CHAIN_TIME;
	chain->has_root = true;
	set_chain(c, chain);
	c->verify_ok = CHECK_NO;
	check_sample_text(&c->by, NULL);
	fault(c, CHECK_TIME, CHECK_AT_VERIFY, "the certificate expired on 2026-05-01, 213 days ago", NULL, "renew it");
	fault(c, CHECK_NAME, CHECK_AT_VERIFY, "the certificate is not for example.com", "it is for other.example",
		"connect to that name, or get a certificate for this one");
	fault(c, CHECK_UNTRUSTED, CHECK_AT_VERIFY, "the certificate is self-signed and not trusted here", NULL,
		"trust it with --ca FILE or --pin sha256:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
	check_warn(c, "the server speaks TLS 1.0 too");
	return c;
}

struct check *check_sample_dns(void)
{
	struct check *c = new_check("https://no.example/", "no.example", 443);

	c->dns_ms = c->total_ms = 1.25;
	fault(c, CHECK_DNS, CHECK_AT_DNS, "no.example has no address: Name or service not known", NULL,
		"check the spelling");
	return c;
}

struct check *check_sample_alert(void)
{
	struct check *c = new_check("[2001:db8::1]:443", "2001:db8::1", 443);

	set_reached(c);
	check_sample_text(&c->servername, NULL);
	check_sample_text(&c->address, "[2001:db8::1]:443");
	c->family = 6;
	c->dns_ms = NAN;
	c->alert = 40;
	c->alert_received = true;
	check_sample_text(&c->alert_name, "handshake_failure");
	fault(c, CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE,
		"the server ended the handshake with the alert handshake_failure (40)", NULL,
		"it may want an older version, another ciphersuite or a server name: try --min-tls and --servername");
	return c;
}

struct check *check_sample_plain(void)
{
	struct check *c = new_check("mail.example:25", "mail.example", 25);

	set_reached(c);
	check_sample_text(&c->via, "socks5h://proxy.example:1080");
	check_sample_text(&c->starttls, "smtp");
	c->starttls_done = CHECK_YES;
	c->proxy_ms = 3;
	c->starttls_ms = 41.5;
	c->handshake_ms = NAN;
	fault(c, CHECK_HANDSHAKE, CHECK_AT_HANDSHAKE, "the server does not speak TLS: this looks like HTTP",
		"it said \"HTTP/1.1 400 Bad Request\"", NULL);
	return c;
}

struct check *check_sample_soon(void)
{
	struct check *c = check_sample_ok();

	c->days_left = 13.96;
	c->percent_left = 15.5;
	c->chain->certs[0].not_after = NOW + 13 * DAY + 83000;
	fault(c, CHECK_EXPIRY, CHECK_AT_EXPECT, "the certificate expires in 13 days, on 2026-12-14", "--warn 30",
		"renew it");
	return c;
}

struct check *check_sample_psk(void)
{
	struct check *c = new_check("unix:/run/app.sock", NULL, 0);

	set_tls(c);
	check_sample_text(&c->address, "unix:/run/app.sock");
	check_sample_text(&c->signature, NULL);
	c->family = 0;
	check_sample_text(&c->by, "psk");
	c->dns_ms = NAN;
	return c;
}

struct check *check_sample_long(void)
{
	static const char label[] = "a-label-that-is-as-long-as-the-domain-name-system-allows-it-be1";
	struct check *c;
	struct chain *chain = check_sample_chain(12, 12);
	char *names[101] = { NULL }, host[256], *word = calloc(1, 401);

	cr_assert_not_null(word);
	snprintf(host, sizeof(host), "%s.%s.%s.example", label, label, label);
	c = new_check(host, host, 443);
	set_tls(c);
	for (size_t i = 0; i < 100; i++)
		cr_assert(asprintf(&names[i], "dns:%zu.%s", i, host) > 0);
	set_names(&chain->certs[0], (const char *const *)names);
	for (size_t i = 0; i < 100; i++)
		free(names[i]);
	memset(word, 'x', 400);
	rename_cert(chain, 0,
		"CN=täst,OU=Департамент информационных технологий и чрезвычайно длинных названий,O=例え,C=DE");
	rename_cert(chain, 1, word);
	check_sample_text(&chain->certs[0].ocsp_url, "http://ocsp.example/a/very/long/path/that/no/line/of/eighty/columns/"
		"has/room/for/whatever/one/does");
	chain->certs[3].faults = CHAIN_USELESS | CHAIN_EXTRA_ROOT;
	chain->certs[11].faults = CHAIN_DUPLICATE;
	set_chain(c, chain);
	check_sample_text(&c->alpn, word);
	fault(c, CHECK_PIN, CHECK_AT_VERIFY, word, word, word);
	fault(c, CHECK_EXPECT, CHECK_AT_EXPECT, host, NULL, host);
	check_warn(c, "%s and %s", word, word);
	free(word);
	return c;
}

struct check *check_sample_hostile(void)
{
	/* a newline, a bell, a colour, CSI as C1, quotes, what ends figures and labels, a mark that turns text
	 * round, overlong and cut UTF-8 */
	static const char evil[] = "a\nb\r\t\x07\x1b[31m\xc2\x9b|\"'\\{}`$(id)%s<b>&\xe2\x80\xae\xe2\x80\xa8\x7f"
		"\xff\xc0\xaf\xe2\x82";
	const char *const names[] = { evil, "", "dns:", NULL };
	static const char *const origins[] = { "certificate", NULL };
	struct check *c = new_check(evil, evil, 65535);
	struct chain *chain = check_sample_chain(2, 2);
	char **const all[] = { &c->servername, &c->address, &c->via, &c->starttls, &c->version, &c->ciphersuite, &c->group,
		&c->signature, &c->alpn, &c->by, &c->ocsp_url, &c->dane_record, &c->alert_name, &chain->matched_name,
		&chain->certs[0].subject, &chain->certs[0].issuer, &chain->certs[0].serial, &chain->certs[0].key,
		&chain->certs[0].signature, &chain->certs[0].ocsp_url, &chain->certs[0].issuer_url };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		check_sample_text(all[i], evil);
	set_names(&chain->certs[0], names);
	chain->certs[0].not_before = INT64_MIN;
	chain->certs[0].not_after = INT64_MAX;
	chain->certs[1].faults = CHAIN_UNREADABLE | 1u << 31;
	chain->certs[1].not_after = 0;
	chain->causes = ~0u;
	c->chain = chain;
	c->chain_request.now = NOW;
	c->verified = true;
	c->starttls_done = CHECK_YES;
	c->ocsp_asked = true;
	c->alert = 255;
	set_staple(&c->staple, OCSP_REVOKED, evil);
	c->staple.reason = "key compromise";
	c->staple.revoked_at = INT64_MIN;
	set_staple(&c->ocsp, OCSP_MALFORMED, "");
	set_scts(c, evil, origins, 2);
	c->scts[0].timestamp_ms = -1;
	c->scts[1].timestamp_ms = INT64_MAX;
	c->days_left = -1e300;
	c->percent_left = INFINITY;
	c->total_ms = 1e300;
	fault(c, CHECK_REVOKED, CHECK_AT_VERIFY, evil, evil, evil);
	check_warn(c, "%s", evil);
	return c;
}

struct check *check_sample_full(void)
{
	struct check *c = check_sample_ok();

	check_sample_text(&c->servername, "sni.example");
	check_sample_text(&c->via, "http://proxy.example:3128");
	check_sample_text(&c->starttls, "imap");
	c->starttls_done = c->hello_retry = c->resumed = c->early_data = CHECK_YES;
	c->proxy_ms = 12.34;
	c->starttls_ms = 56.78;
	c->client_cert_requested = c->client_cert_sent = c->client_cert_accepted = CHECK_YES;
	c->chain->certs[0].must_staple = true;
	check_sample_text(&c->chain->certs[0].ocsp_url, "http://r3.o.lencr.org");
	check_sample_text(&c->chain->certs[0].issuer_url, "http://r3.i.lencr.org/");
	c->ocsp_asked = true;
	check_sample_text(&c->ocsp_url, "http://r3.o.lencr.org");
	set_staple(&c->ocsp, OCSP_GOOD, "good, until 2026-12-06");
	check_warn(c, "the server prefers X25519MLKEM768 but asks for another round trip");
	return c;
}

struct check *check_sample(size_t i, const char **name)
{
	static const struct {
		const char *name;
		struct check *(*make)(void);
	} all[] = {
		{ "ok", check_sample_ok }, { "bad", check_sample_bad }, { "dns", check_sample_dns },
		{ "alert", check_sample_alert }, { "plain", check_sample_plain }, { "soon", check_sample_soon },
		{ "psk", check_sample_psk }, { "long", check_sample_long }, { "hostile", check_sample_hostile },
		{ "full", check_sample_full },
	};

	if (i >= sizeof(all) / sizeof(all[0]))
		return NULL;
	*name = all[i].name;
	return all[i].make();
}

/* --- forms -------------------------------------------------------------------------------------- */

char *check_sample_json(const struct check *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(check_write_json(out, c), 0);
	fclose(out);
	cr_assert_eq(strlen(text), size);
	return text;
}

char *check_sample_screen(const struct check *c, int width, bool colour, bool full)
{
	struct check_style s = { .width = width, .colour = colour, .show_chain = full };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(check_write_text(out, c, &s), 0);
	fclose(out);
	cr_assert_eq(strlen(text), size);
	return text;
}

char *check_sample_nagios(struct check *c, double warn_days, double crit_days)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	c->warn_days = warn_days;
	c->crit_days = crit_days;
	cr_assert_eq(check_write_nagios(out, c), 0);
	fclose(out);
	cr_assert_eq(strlen(text), size);
	return text;
}
