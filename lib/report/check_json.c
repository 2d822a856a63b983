/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/check_json_int.h"

/* docs/schema/connect.json. Every member is always there; what is not known is null. */

#define DIGITS 15 /* of numbers: as many as any decimal survives with */

/* --- values: each returns NULL when memory ran out ------------------------------------- */

static json_t *text(const char *t)
{
	return report_json_text(t);
}

json_t *check_json_time(int64_t epoch_s)
{
	char when[CLOCK_RFC3339_SIZE];

	return epoch_s == -1 ? json_null() : json_string(check_time(epoch_s, when));
}

json_t *check_json_epoch(int64_t epoch_s)
{
	return epoch_s == -1 ? json_null() : json_integer(epoch_s);
}

json_t *check_json_number(double v)
{
	return report_json_number(round(v * 1000) / 1000);
}

static json_t *answer(enum check_answer a)
{
	return a == CHECK_UNKNOWN ? json_null() : json_boolean(a == CHECK_YES);
}

/* Negative is unknown. */
static json_t *count(int64_t v)
{
	return v < 0 ? json_null() : json_integer(v);
}

/* --- the verdict ------------------------------------------------------------------------- */

static json_t *schema(const struct check *c)
{
	(void)c;
	return json_string("tlskit/connect/1");
}

static json_t *result(const struct check *c)
{
	return json_string(check_code_name((enum check_code)check_exit_code(c)));
}

static json_t *exit_code(const struct check *c)
{
	return json_integer(check_exit_code(c));
}

static json_t *errors(const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < c->n_faults; i++) {
		const struct check_fault *f = &c->faults[i];

		a = check_json_append(a, json_pack("{s:i, s:s, s:o, s:o, s:o}", "code", (int)f->code,
			"stage", check_stage_name(f->stage), "message", text(check_message(f)), "detail", text(f->detail),
			"hint", text(f->hint)));
	}
	return a;
}

static json_t *warnings(const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < c->n_warnings; i++)
		a = check_json_append(a, text(c->warnings[i]));
	return a;
}

/* --- how it was reached --------------------------------------------------------------------- */

static json_t *started(const struct check *c)
{
	char when[CLOCK_RFC3339_SIZE];

	return c->started_ms > 0 ? json_string(clock_rfc3339(c->started_ms, when)) : json_null();
}

static json_t *started_epoch(const struct check *c)
{
	return c->started_ms > 0 ? json_integer(c->started_ms / 1000) : json_null();
}

static json_t *target(const struct check *c)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "text", text(c->target), "host", text(c->host),
		"port", c->port ? json_integer(c->port) : json_null(), "servername", text(c->servername));
}

static json_t *address(const struct check *c)
{
	return json_pack("{s:o, s:o}", "text", text(c->address),
		"family", c->family ? json_integer(c->family) : json_null());
}

static json_t *via(const struct check *c)
{
	return text(c->via);
}

static json_t *starttls(const struct check *c)
{
	return json_pack("{s:o, s:o}", "protocol", text(c->starttls), "done", answer(c->starttls_done));
}

static json_t *timing(const struct check *c)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "dns", check_json_number(c->dns_ms),
		"connect", check_json_number(c->connect_ms), "proxy", check_json_number(c->proxy_ms),
		"starttls", check_json_number(c->starttls_ms), "handshake", check_json_number(c->handshake_ms),
		"total", check_json_number(c->total_ms));
}

/* --- what was agreed on ------------------------------------------------------------------------- */

static json_t *tls(const struct check *c)
{
	if (!check_has_tls(c))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", text(c->version),
		"ciphersuite", text(c->ciphersuite), "group", text(c->group), "signature", text(c->signature),
		"alpn", text(c->alpn), "hello_retry", answer(c->hello_retry), "resumed", answer(c->resumed),
		"early_data", answer(c->early_data), "tickets", count(c->tickets),
		"ticket_lifetime_s", count(c->ticket_lifetime_s));
}

/* --- what others say ------------------------------------------------------------------------------ */

static json_t *ocsp_result(const struct ocsp_result *o, const char *url)
{
	bool there = o->status != OCSP_NONE; /* else its times say nothing */
	int64_t this_update = there ? o->this_update : -1, next_update = there ? o->next_update : -1;
	int64_t produced = there ? o->produced : -1, revoked_at = there ? o->revoked_at : -1;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"status", text(ocsp_status_name(o->status)), "message", text(o->text[0] ? o->text : NULL), "url", text(url),
		"this_update", check_json_time(this_update), "this_update_epoch_s", check_json_epoch(this_update),
		"next_update", check_json_time(next_update), "next_update_epoch_s", check_json_epoch(next_update),
		"produced", check_json_time(produced), "produced_epoch_s", check_json_epoch(produced),
		"revoked_at", check_json_time(revoked_at), "revoked_at_epoch_s", check_json_epoch(revoked_at),
		"reason", text(there ? o->reason : NULL));
}

static json_t *ocsp(const struct check *c)
{
	return json_pack("{s:o, s:o}", "stapled", c->chain ? ocsp_result(&c->staple, NULL) : json_null(),
		"asked", c->ocsp_asked ? ocsp_result(&c->ocsp, c->ocsp_url) : json_null());
}

static json_t *sct_list(const struct check *c)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < c->n_scts; i++) {
		const struct check_sct *s = &c->scts[i];
		char when[CLOCK_RFC3339_SIZE];

		a = check_json_append(a, json_pack("{s:o, s:s, s:I, s:o}", "log_id", text(s->log_id),
			"timestamp", clock_rfc3339(s->timestamp_ms, when), "timestamp_epoch_s",
			(json_int_t)(s->timestamp_ms / 1000 - (s->timestamp_ms % 1000 < 0)), "origin", text(s->origin)));
	}
	return a;
}

static json_t *sct(const struct check *c)
{
	return json_pack("{s:o, s:o}", "count", c->chain ? json_integer((json_int_t)c->n_scts) : json_null(),
		"list", c->chain ? sct_list(c) : json_null());
}

static json_t *dane(const struct check *c)
{
	return json_pack("{s:o, s:o}", "result", text(c->dane), "record", text(c->dane_record));
}

/* --- the end --------------------------------------------------------------------------------------- */

static json_t *client_auth(const struct check *c)
{
	return json_pack("{s:o, s:o, s:o}", "requested", answer(c->client_cert_requested),
		"sent", answer(c->client_cert_sent), "accepted", answer(c->client_cert_accepted));
}

static json_t *alert(const struct check *c)
{
	if (c->alert < 0)
		return json_null();
	return json_pack("{s:i, s:o, s:b}", "description", c->alert, "name", text(c->alert_name),
		"received", (int)c->alert_received);
}

static json_t *close_notify(const struct check *c)
{
	return answer(c->close_notify);
}

/* --- writing ----------------------------------------------------------------------------------------- */

json_t *check_json_append(json_t *array, json_t *v)
{
	if (json_array_append_new(array, v) == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *document(const struct check *c)
{
	static const struct {
		const char *name;
		json_t *(*make)(const struct check *c);
	} members[] = {
		{ "schema", schema }, { "result", result }, { "exit_code", exit_code }, { "errors", errors },
		{ "warnings", warnings }, { "started", started }, { "started_epoch_s", started_epoch }, { "target", target },
		{ "address", address }, { "via", via }, { "starttls", starttls }, { "timing_ms", timing }, { "tls", tls },
		{ "verify", check_json_verify }, { "chain_sent", check_json_sent }, { "chain", check_json_chain },
		{ "ocsp", ocsp }, { "sct", sct }, { "dane", dane }, { "client_auth", client_auth }, { "alert", alert },
		{ "close_notify", close_notify },
	};
	json_t *o = json_object();

	for (size_t i = 0; o && i < sizeof(members) / sizeof(members[0]); i++) {
		if (json_object_set_new(o, members[i].name, members[i].make(c)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

/* jansson escapes control characters of ASCII. The others are in strings alone, and a
 * terminal would act on them. */
static void put_escaped(FILE *out, const char *s)
{
	size_t left = strlen(s), len;

	for (; left > 0; s += len, left -= len) {
		uint32_t cp = 0;

		len = utf8_decode(s, left, &cp);
		len = len ? len : 1;
		if (utf8_is_control(cp))
			fprintf(out, "\\u%04x", cp);
		else
			fwrite(s, 1, len, out);
	}
	putc('\n', out);
}

int check_json_write(FILE *out, json_t *o)
{
	char *line = o ? json_dumps(o, JSON_REAL_PRECISION(DIGITS)) : NULL;
	int r = line ? 0 : -1;

	if (line)
		put_escaped(out, line);
	free(line);
	json_decref(o);
	return fflush(out) != 0 || ferror(out) ? -1 : r;
}

int check_write_json(FILE *out, const struct check *c)
{
	return check_json_write(out, document(c));
}
