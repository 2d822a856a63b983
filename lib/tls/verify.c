/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/verify.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

/* --- rules ------------------------------------------------------------------ */

static const struct {
	const char *prefix;
	enum verify_rule_kind kind;
} rule_kinds[] = {
	{ "cn:", VERIFY_CN }, { "ou:", VERIFY_OU }, { "dns:", VERIFY_DNS }, { "uri:", VERIFY_URI },
	{ "email:", VERIFY_EMAIL }, { "pin:", VERIFY_PIN },
};

int verify_rule_parse(const char *text, struct verify_rule *out, struct err *e)
{
	size_t i, n;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < sizeof(rule_kinds) / sizeof(*rule_kinds); i++) {
		n = strlen(rule_kinds[i].prefix);
		if (strncmp(text, rule_kinds[i].prefix, n) != 0)
			continue;
		out->kind = rule_kinds[i].kind;
		if (out->kind == VERIFY_PIN)
			return cert_pin_parse("--allow pin:", text + n, out->pin, e);
		if (!text[n])
			break;
		out->value = strdup(text + n);
		return out->value ? 0 : err_set(e, ERR_RUNTIME, "no memory");
	}
	return err_set(e, ERR_CONFIG,
		"--allow \"%.80s\": expected cn:NAME, ou:NAME, dns:NAME, uri:URI, email:ADDRESS or pin:sha256:BASE64",
		text);
}

void verify_rules_free(struct verify_rule *rules, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(rules[i].value);
	free(rules);
}

/* GnuTLS gives a name's value in the string form of RFC 4514, with its escapes.
 * Back to the bytes, in place; the new length. */
static size_t unescape(char *s, size_t n)
{
	uint8_t byte;
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		if (s[i] != '\\' || i + 1 == n) {
			s[k++] = s[i];
		} else if (i + 2 < n && units_parse_hex(s + i + 1, 2, &byte, 1) == 1) {
			s[k++] = (char)byte;
			i += 2;
		} else {
			s[k++] = s[++i];
		}
	}
	return k;
}

static bool dn_has(gnutls_x509_crt_t crt, const char *oid, const char *value)
{
	char have[256];
	size_t size;
	unsigned i;

	for (i = 0;; i++) {
		size = sizeof(have);
		int r = gnutls_x509_crt_get_dn_by_oid(crt, oid, i, 0, have, &size);

		if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			return false;
		if (r == 0)
			size = unescape(have, size);
		/* a name with a NUL inside must not pass for what stands before it */
		if (r == 0 && strlen(value) == size && memcmp(have, value, size) == 0)
			return true;
		if (r < 0 && r != GNUTLS_E_SHORT_MEMORY_BUFFER)
			return false;
	}
}

static bool san_has(gnutls_x509_crt_t crt, gnutls_x509_subject_alt_name_t type, const char *value, bool fold)
{
	char have[1024];
	size_t size;
	unsigned i;
	int r;

	for (i = 0;; i++) {
		size = sizeof(have);
		r = gnutls_x509_crt_get_subject_alt_name(crt, i, have, &size, NULL);
		if (r == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue;
		if (r < 0)
			return false;
		if ((gnutls_x509_subject_alt_name_t)r != type)
			continue;
		if (size && have[size - 1] == '\0')
			size--; /* GnuTLS ends some kinds with a NUL that it counts */
		if (size != strlen(value) || memchr(have, '\0', size))
			continue;
		if (fold ? strncasecmp(have, value, size) == 0 : memcmp(have, value, size) == 0)
			return true;
	}
}

static bool rule_matches(const struct verify_rule *rule, gnutls_x509_crt_t crt)
{
	uint8_t pin[CERT_PIN_SIZE];

	switch (rule->kind) {
	case VERIFY_CN:
		return dn_has(crt, GNUTLS_OID_X520_COMMON_NAME, rule->value);
	case VERIFY_OU:
		return dn_has(crt, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, rule->value);
	case VERIFY_DNS:
		return san_has(crt, GNUTLS_SAN_DNSNAME, rule->value, true);
	case VERIFY_URI:
		return san_has(crt, GNUTLS_SAN_URI, rule->value, false);
	case VERIFY_EMAIL:
		return san_has(crt, GNUTLS_SAN_RFC822NAME, rule->value, true);
	case VERIFY_PIN:
		return cert_pin(crt, pin) == 0 && gnutls_memcmp(pin, rule->pin, sizeof(pin)) == 0;
	}
	return false;
}

/* --- the reason -------------------------------------------------------------- */

static int refuse(struct session *s, gnutls_alert_description_t alert, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct session *s, gnutls_alert_description_t alert, const char *fmt, ...)
{
	va_list ap;

	if (!s->why)
		s->why = calloc(1, sizeof(*s->why));
	if (s->why) {
		s->why->kind = ERR_AUTH;
		va_start(ap, fmt);
		vsnprintf(s->why->msg, sizeof(s->why->msg), fmt, ap);
		va_end(ap);
	}
	s->refused_with = alert;
	return GNUTLS_E_CERTIFICATE_ERROR;
}

gnutls_alert_description_t verify_alert(const struct session *s)
{
	return s->refused_with ? s->refused_with : GNUTLS_A_BAD_CERTIFICATE;
}

static void add(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	if (used && used + 2 < size) {
		memcpy(text + used, ", ", 3);
		used += 2;
	}
	va_start(ap, fmt);
	vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

static void date(time_t t, char out[CLOCK_RFC3339_SIZE])
{
	clock_rfc3339((int64_t)t * 1000, out);
	out[10] = '\0'; /* the day says enough */
}

/* The names a certificate is for, for the message of a mismatch. */
static void names_of(gnutls_x509_crt_t crt, char *out, size_t size)
{
	char name[256], ip[INET6_ADDRSTRLEN];
	size_t len;
	unsigned i;
	int r;

	out[0] = '\0';
	for (i = 0; i < 4; i++) {
		len = sizeof(name) - 1;
		r = gnutls_x509_crt_get_subject_alt_name(crt, i, name, &len, NULL);
		name[len < sizeof(name) ? len : sizeof(name) - 1] = '\0';
		if (r == GNUTLS_SAN_DNSNAME)
			add(out, size, "%.64s", name);
		else if (r == GNUTLS_SAN_IPADDRESS && inet_ntop(len == 4 ? AF_INET : AF_INET6, name, ip, sizeof(ip)))
			add(out, size, "%s", ip);
	}
	if (!out[0])
		add(out, size, "no name");
}

static void explain(char *text, size_t size, unsigned status, gnutls_x509_crt_t leaf, const char *name)
{
	char day[CLOCK_RFC3339_SIZE], names[300];

	text[0] = '\0';
	if (status & GNUTLS_CERT_REVOKED)
		add(text, size, "it is revoked");
	if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
		add(text, size, gnutls_x509_crt_check_issuer(leaf, leaf) ? "it is self-signed" : "its issuer is not trusted");
	else if (status & (GNUTLS_CERT_SIGNER_NOT_CA | GNUTLS_CERT_SIGNER_CONSTRAINTS_FAILURE))
		add(text, size, "its issuer may not issue it");
	if (status & GNUTLS_CERT_UNEXPECTED_OWNER) {
		names_of(leaf, names, sizeof(names));
		add(text, size, "it is not for %s (but for %s)", name, names);
	}
	if (status & GNUTLS_CERT_EXPIRED) {
		date(gnutls_x509_crt_get_expiration_time(leaf), day);
		if (gnutls_x509_crt_get_expiration_time(leaf) < time(NULL))
			add(text, size, "it expired on %s", day);
		else
			add(text, size, "a certificate of its chain has expired");
	}
	if (status & GNUTLS_CERT_NOT_ACTIVATED) {
		date(gnutls_x509_crt_get_activation_time(leaf), day);
		add(text, size, "it is not valid before %s", day);
	}
	if (status & GNUTLS_CERT_INSECURE_ALGORITHM)
		add(text, size, "its key or signature is too weak");
	if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
		add(text, size, "it is not for this purpose");
	if (status & (GNUTLS_CERT_SIGNATURE_FAILURE))
		add(text, size, "its signature is wrong");
	if (status & (GNUTLS_CERT_MISSING_OCSP_STATUS | GNUTLS_CERT_INVALID_OCSP_STATUS))
		add(text, size, "its OCSP staple is missing or invalid");
	if (!text[0])
		add(text, size, "it is not valid");
}

static gnutls_alert_description_t alert_for(unsigned status)
{
	if (status & GNUTLS_CERT_REVOKED)
		return GNUTLS_A_CERTIFICATE_REVOKED;
	if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
		return GNUTLS_A_UNKNOWN_CA;
	if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
		return GNUTLS_A_CERTIFICATE_EXPIRED;
	if (status & GNUTLS_CERT_UNEXPECTED_OWNER)
		return GNUTLS_A_CERTIFICATE_UNKNOWN;
	return GNUTLS_A_BAD_CERTIFICATE;
}

/* --- the checks ---------------------------------------------------------------- */

static bool is_ip(const char *name)
{
	unsigned char a[16];

	return inet_pton(AF_INET, name, a) == 1 || inet_pton(AF_INET6, name, a) == 1;
}

static int check_chain(struct session *s, gnutls_x509_crt_t leaf, const char *name, const char *purpose, const char *hint)
{
	gnutls_typed_vdata_st data[2];
	unsigned char ip[16];
	unsigned status = 0, n = 0;
	char text[400];
	int r;

	data[n].type = GNUTLS_DT_KEY_PURPOSE_OID;
	data[n].data = (unsigned char *)purpose;
	data[n++].size = 0;
	if (name && is_ip(name)) {
		data[n].type = GNUTLS_DT_IP_ADDRESS;
		data[n].data = ip;
		data[n++].size = inet_pton(AF_INET, name, ip) == 1 ? 4 : (inet_pton(AF_INET6, name, ip), 16);
	} else if (name) {
		data[n].type = GNUTLS_DT_DNS_HOSTNAME;
		data[n].data = (unsigned char *)name;
		data[n++].size = 0;
	}
	r = gnutls_certificate_verify_peers(s->gs, data, n, &status);
	if (r < 0)
		return refuse(s, GNUTLS_A_BAD_CERTIFICATE, "the peer's certificate cannot be checked: %s",
			gnutls_strerror(r));
	if (!status)
		return 0;
	explain(text, sizeof(text), status, leaf, name ? name : "");
	return refuse(s, alert_for(status), "the peer's certificate is refused: %s%s", text, hint);
}

static int check_server(struct session *s, gnutls_x509_crt_t leaf)
{
	const struct tls_config *c = s->config;
	char text[CERT_PIN_TEXT], hint[CERT_PIN_TEXT + 80];
	uint8_t pin[CERT_PIN_SIZE];

	if (c->trust == CONFIG_TRUST_NONE)
		return 0;
	if (cert_pin(leaf, pin) < 0)
		return refuse(s, GNUTLS_A_BAD_CERTIFICATE, "the peer's public key cannot be read");
	cert_pin_format(pin, text);
	if (c->n_pins && !config_is_pinned(c, pin))
		return refuse(s, GNUTLS_A_BAD_CERTIFICATE, "the peer's key is not the pinned one: it has %s", text);
	if (c->trust == CONFIG_TRUST_PIN)
		return 0;
	snprintf(hint, sizeof(hint), "; to accept this key and no other: --pin %s", text);
	return check_chain(s, leaf, s->peer ? s->peer->name : NULL, GNUTLS_KP_TLS_WWW_SERVER, hint);
}

/* Who asked to judge by himself does. */
static int ask_judge(struct session *s)
{
	struct err e = { 0 };
	int alert = s->peer->judge(s->peer->arg, s, &e);

	s->judging = alert == SESSION_JUDGE_LATER;
	if (s->judging)
		return GNUTLS_E_AGAIN; /* GnuTLS calls back once more */
	return alert == 0 ? 0 : refuse(s, (gnutls_alert_description_t)alert, "%s", e.msg);
}

static int check_client(struct session *s, gnutls_x509_crt_t leaf)
{
	const struct tls_config *c = s->config;
	char dn[256] = "";
	size_t i, size = sizeof(dn);

	if (!c->client_certs)
		return 0;
	if (c->client_chain) {
		int r = check_chain(s, leaf, NULL, GNUTLS_KP_TLS_WWW_CLIENT, "");

		if (r < 0)
			return r;
	}
	if (!c->n_rules)
		return 0;
	for (i = 0; i < c->n_rules; i++)
		if (rule_matches(&c->rules[i], leaf))
			return 0;
	if (gnutls_x509_crt_get_dn(leaf, dn, &size) < 0)
		dn[0] = '\0';
	return refuse(s, GNUTLS_A_ACCESS_DENIED, "the peer's certificate \"%.200s\" matches no --allow", dn);
}

static int check_peer(struct session *s)
{
	const gnutls_datum_t *list;
	gnutls_x509_crt_t leaf;
	unsigned n = 0;
	int r;

	list = gnutls_certificate_get_peers(s->gs, &n);
	if (!list || !n)
		return refuse(s, GNUTLS_A_CERTIFICATE_REQUIRED, "the peer sent no certificate");
	if (s->peer && s->peer->judge)
		return ask_judge(s);
	if (gnutls_x509_crt_init(&leaf) < 0)
		return refuse(s, GNUTLS_A_INTERNAL_ERROR, "no memory");
	r = gnutls_x509_crt_import(leaf, &list[0], GNUTLS_X509_FMT_DER);
	if (r < 0)
		r = refuse(s, GNUTLS_A_BAD_CERTIFICATE, "the peer's certificate cannot be read: %s", gnutls_strerror(r));
	else
		r = s->config->role == TLS_CLIENT ? check_server(s, leaf) : check_client(s, leaf);
	gnutls_x509_crt_deinit(leaf);
	return r;
}

int verify_callback(gnutls_session_t gs)
{
	struct session *s = gnutls_session_get_ptr(gs);
	int r = check_peer(s);

	s->verified = r == 0;
	return r;
}

static bool by_psk(const struct session *s)
{
	gnutls_kx_algorithm_t kx = gnutls_kx_get(s->gs);
	const char *name;

	if (s->config->role == TLS_CLIENT)
		return kx == GNUTLS_KX_PSK || kx == GNUTLS_KX_ECDHE_PSK || kx == GNUTLS_KX_DHE_PSK;
	/* a ticket carries the identity of the first handshake: it must still be
	 * one of ours */
	name = gnutls_psk_server_get_username(s->gs);
	return name && psk_find(s->config->psk, name, strlen(name));
}

static bool server_is_known(struct session *s)
{
	/* a ticket came from a session that was verified with this configuration */
	if (s->config->trust == CONFIG_TRUST_NONE || s->verified || gnutls_session_is_resumed(s->gs))
		return true;
	if (s->config->psk && by_psk(s))
		return true;
	refuse(s, GNUTLS_A_HANDSHAKE_FAILURE, s->config->trust == CONFIG_TRUST_PSK
		? "the peer did not prove that it has the pre-shared key"
		: "the peer was not authenticated");
	return false;
}

static bool client_is_allowed(struct session *s)
{
	const struct tls_config *c = s->config;

	if ((!c->client_certs && !c->psk) || s->verified)
		return true;
	if (c->psk && by_psk(s))
		return true;
	if (c->client_certs && gnutls_session_is_resumed(s->gs))
		return check_peer(s) == 0;
	refuse(s, GNUTLS_A_ACCESS_DENIED, "the peer was not authenticated");
	return false;
}

int verify_done(struct session *s)
{
	return (s->config->role == TLS_CLIENT ? server_is_known(s) : client_is_allowed(s)) ? 0 : -1;
}
