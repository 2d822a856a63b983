/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/report/check_json_int.h"

#define FAULT_TEXT 1024

static json_t *text(const char *t)
{
	return report_json_text(t);
}

/* --- certificates ------------------------------------------------------------------------- */

static json_t *faults(const struct check *c, size_t i)
{
	json_t *a = json_array();
	unsigned all = c->chain->certs[i].faults;

	for (unsigned f = 0; a && (f = check_next_fault(all, f)) != 0;) {
		char message[FAULT_TEXT];

		chain_fault_text(c->chain, i, f, &c->chain_request, message, sizeof(message));
		a = check_json_append(a, json_pack("{s:s, s:o}", "name", chain_fault_name(f), "message", text(message)));
	}
	return a;
}

static json_t *names(const struct chain_cert *cert)
{
	json_t *a = cert->names ? json_array() : json_null();

	for (size_t i = 0; a && cert->names && cert->names[i]; i++)
		a = check_json_append(a, text(cert->names[i]));
	return a;
}

static json_t *fingerprint(const struct chain_cert *cert)
{
	char hex[2 * sizeof(cert->sha256) + 1];

	for (size_t i = 0; i < sizeof(cert->sha256); i++)
		snprintf(hex + 2 * i, 3, "%02x", cert->sha256[i]);
	return json_string(hex);
}

/* Base64 alone, as in RFC 7469; zeros stand for a key that cannot be read. */
static json_t *pin(const struct chain_cert *cert)
{
	static const uint8_t none[CERT_PIN_SIZE];
	char out[CERT_PIN_TEXT];

	if (memcmp(cert->pin, none, sizeof(none)) == 0)
		return json_null();
	return json_string(strchr(cert_pin_format(cert->pin, out), ':') + 1);
}

/* What does not parse has a digest, and faults. */
static json_t *certificate(const struct check *c, size_t i)
{
	static const struct chain_cert nothing = { .not_before = -1, .not_after = -1 };
	const struct chain_cert *cert = &c->chain->certs[i];
	bool readable = !(cert->faults & CHAIN_UNREADABLE);
	const struct chain_cert *known = readable ? cert : &nothing;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
		"subject", text(known->subject), "issuer", text(known->issuer), "serial", text(known->serial),
		"names", names(known), "key", text(known->key), "signature", text(known->signature),
		"not_before", check_json_time(known->not_before), "not_before_epoch_s", check_json_epoch(known->not_before),
		"not_after", check_json_time(known->not_after), "not_after_epoch_s", check_json_epoch(known->not_after),
		"pin_sha256", pin(known), "fingerprint_sha256", fingerprint(cert),
		"is_ca", readable ? json_boolean(cert->is_ca) : json_null(),
		"must_staple", readable ? json_boolean(cert->must_staple) : json_null(),
		"ocsp_url", text(known->ocsp_url), "issuer_url", text(known->issuer_url), "on_path", (int)cert->on_path,
		"faults", faults(c, i));
}

/* Null: nobody knows; empty: none came. */
json_t *check_json_sent(const struct check *c)
{
	json_t *a = c->chain || check_has_tls(c) ? json_array() : json_null();

	for (size_t i = 0; a && c->chain && i < c->chain->n_sent; i++)
		a = check_json_append(a, certificate(c, i));
	return a;
}

/* --- the chain as a whole --------------------------------------------------------------------- */

json_t *check_json_chain(const struct check *c)
{
	const struct chain *chain = c->chain;

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "ordered", chain ? json_boolean(chain->ordered) : json_null(),
		"complete", chain ? json_boolean(chain->complete) : json_null(),
		"has_root", chain ? json_boolean(chain->has_root) : json_null(),
		"days_left", check_json_number(c->days_left), "percent_left", check_json_number(c->percent_left));
}

static json_t *status(const struct chain *chain)
{
	json_t *a = json_array();

	for (unsigned cause = 1; a && cause && cause <= chain->causes; cause <<= 1) {
		if ((chain->causes & cause) && chain_cause_name(cause))
			a = check_json_append(a, json_string(chain_cause_name(cause)));
	}
	return a;
}

/* One step, as far as it is not told in chain_sent already. */
static json_t *step(const struct check *c, size_t i)
{
	const struct chain_cert *cert = &c->chain->certs[i];

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
		"sent_index", cert->sent ? json_integer((json_int_t)i) : json_null(),
		"subject", text(cert->subject), "not_after", check_json_time(cert->not_after),
		"not_after_epoch_s", check_json_epoch(cert->not_after), "fingerprint_sha256", fingerprint(cert),
		"faults", faults(c, i));
}

static json_t *path(const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < c->chain->n_path; i++)
		a = check_json_append(a, step(c, c->chain->path[i]));
	return a;
}

json_t *check_json_verify(const struct check *c)
{
	bool performed = c->verified;

	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "performed", (int)performed,
		"ok", performed && c->verify_ok != CHECK_UNKNOWN ? json_boolean(c->verify_ok == CHECK_YES) : json_null(),
		"by", text(c->by), "status", c->chain ? status(c->chain) : json_null(),
		"matched_name", text(c->chain ? c->chain->matched_name : NULL), "path", c->chain ? path(c) : json_null());
}
