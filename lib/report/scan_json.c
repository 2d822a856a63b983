/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/check_json_int.h"
#include "lib/report/scan_int.h"

/* docs/schema/connect-scan.json. Every member is always there; what is not known is
 * null. Each value is NULL when memory ran out. */

static json_t *text(const char *t)
{
	return report_json_text(t);
}

static json_t *answer(enum check_answer a)
{
	return a == CHECK_UNKNOWN ? json_null() : json_boolean(a == CHECK_YES);
}

/* --- how it went ------------------------------------------------------------------------ */

static json_t *schema(const struct scan *s)
{
	(void)s;
	return json_string("tlskit/connect-scan/1");
}

static json_t *result(const struct scan *s)
{
	return json_string(check_code_name(s->fault.code));
}

static json_t *exit_code(const struct scan *s)
{
	return json_integer(scan_exit_code(s));
}

static json_t *errors(const struct scan *s)
{
	const struct check_fault *f = &s->fault;
	json_t *a = json_array();

	if (!a || f->code == CHECK_OK)
		return a;
	return check_json_append(a, json_pack("{s:i, s:s, s:o, s:o, s:o}", "code", (int)f->code, "stage",
		check_stage_name(f->stage), "message", text(check_message(f)), "detail", text(f->detail), "hint", text(f->hint)));
}

static json_t *started(const struct scan *s)
{
	char when[CLOCK_RFC3339_SIZE];

	return s->started_ms > 0 ? json_string(clock_rfc3339(s->started_ms, when)) : json_null();
}

static json_t *started_epoch(const struct scan *s)
{
	return s->started_ms > 0 ? json_integer(s->started_ms / 1000) : json_null();
}

static json_t *target(const struct scan *s)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "text", text(s->target), "host", text(s->host),
		"port", s->port ? json_integer(s->port) : json_null(), "servername", text(s->servername));
}

static json_t *address(const struct scan *s)
{
	return json_pack("{s:o, s:o}", "text", text(s->address),
		"family", s->family ? json_integer(s->family) : json_null());
}

static json_t *via(const struct scan *s)
{
	return text(s->via);
}

static json_t *starttls(const struct scan *s)
{
	return text(s->starttls);
}

static json_t *timing(const struct scan *s)
{
	return json_pack("{s:o}", "total", check_json_number(s->total_ms));
}

static json_t *handshakes(const struct scan *s)
{
	return json_integer((json_int_t)s->handshakes);
}

static json_t *complete(const struct scan *s)
{
	return json_boolean(s->complete);
}

static json_t *verified(const struct scan *s)
{
	(void)s;
	return json_false();
}

static json_t *library(const struct scan *s)
{
	return text(s->library);
}

/* --- what it takes ------------------------------------------------------------------------ */

static json_t *traits(unsigned set)
{
	json_t *a = json_array();

	for (unsigned bit = scan_trait_next(set, 0); a && bit; bit = scan_trait_next(set, bit))
		a = check_json_append(a, json_string(scan_trait_name(bit)));
	return a;
}

static json_t *id(unsigned number)
{
	char hex[16];

	if (!number)
		return json_null();
	snprintf(hex, sizeof(hex), "0x%04x", number);
	return json_string(hex);
}

static json_t *row(const struct scan_row *r, const char *with)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", text(r->name), "id", id(r->id), "accepted",
		answer(r->taken), "place", r->place ? json_integer(r->place) : json_null(), "weak", traits(r->traits & OFFER_WEAK),
		"notes", traits(r->traits & ~OFFER_WEAK), "reason", text(r->why));

	if (o && with && json_object_set_new(o, with, text(r->with)) < 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* with: the name of what goes with a row; NULL: nothing does. */
static json_t *rows(const struct scan_rows *r, const char *with)
{
	static const char *const orders[] = { [SCAN_ORDER_SERVER] = "server", [SCAN_ORDER_CLIENT] = "client" };
	json_t *a = json_array();

	if (r->n == 0) {
		json_decref(a);
		return json_null();
	}
	for (size_t i = 0; a && i < r->n; i++)
		a = check_json_append(a, row(&r->rows[i], with));
	return a ? json_pack("{s:o, s:o}", "order", text(orders[r->order]), "list", a) : NULL;
}

static json_t *versions(const struct scan *s)
{
	json_t *a = json_array();

	for (int v = OFFER_VERSIONS - 1; a && v >= 0; v--) {
		const struct scan_version *x = &s->versions[v];

		a = check_json_append(a, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o}",
			"name", offer_version_name((enum offer_version)v), "offered", (int)x->offered, "accepted", answer(x->taken),
			"weak", traits(x->traits & OFFER_WEAK), "reason", text(x->why), "ciphersuites", rows(&x->suites, "group"),
			"groups", rows(&x->groups, NULL), "signatures", rows(&x->signatures, "key")));
	}
	return a;
}

static json_t *weak(const struct scan *s)
{
	return traits(scan_weak(s));
}

static json_t *not_tested(const struct scan *s)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < s->n_untested; i++)
		a = check_json_append(a, text(s->untested[i]));
	return a;
}

/* --- writing ---------------------------------------------------------------------------------- */

static json_t *document(const struct scan *s)
{
	static const struct {
		const char *name;
		json_t *(*make)(const struct scan *s);
	} members[] = {
		{ "schema", schema }, { "result", result }, { "exit_code", exit_code }, { "errors", errors },
		{ "started", started }, { "started_epoch_s", started_epoch }, { "target", target }, { "address", address },
		{ "via", via }, { "starttls", starttls }, { "timing_ms", timing }, { "handshakes", handshakes },
		{ "complete", complete }, { "verified", verified }, { "library", library }, { "weak", weak },
		{ "versions", versions }, { "not_tested", not_tested },
	};
	json_t *o = json_object();

	for (size_t i = 0; o && i < sizeof(members) / sizeof(members[0]); i++) {
		if (json_object_set_new(o, members[i].name, members[i].make(s)) < 0) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

int scan_write_json(FILE *out, const struct scan *s)
{
	return check_json_write(out, document(s));
}
