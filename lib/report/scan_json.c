/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "lib/report/check_json_int.h"
#include "lib/report/scan.h"

/* docs/schema/connect-scan.json. Every member is always there; what is not known is
 * null. Each returns NULL when memory ran out. */

static json_t *answer(enum check_answer a)
{
	return a == CHECK_UNKNOWN ? json_null() : json_boolean(a == CHECK_YES);
}

static json_t *items(const struct scan_list *l)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < l->n; i++) {
		const struct scan_item *it = &l->v[i];

		a = check_json_append(a, json_pack("{s:s, s:o, s:o, s:o}", "name", it->name, "taken", answer(it->taken),
			"reason", report_json_text(it->reason), "weak", report_json_text(it->weak)));
	}
	return a;
}

static json_t *lists(const struct scan_list *all)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < SCAN_VERSIONS; i++) {
		if (all[i].n == 0)
			continue;
		a = check_json_append(a, json_pack("{s:s, s:o, s:o, s:o}", "version", all[i].version, "servers_order",
			answer(all[i].servers_order), "ordered", json_integer((json_int_t)all[i].n_ordered), "list",
			items(&all[i])));
	}
	return a;
}

static void add_weakness(void *arg, const char *weak)
{
	json_t **a = arg;

	if (*a)
		*a = check_json_append(*a, report_json_text(weak));
}

static json_t *weaknesses(const struct scan *s)
{
	json_t *a = json_array();

	scan_each_weakness(s, add_weakness, &a);
	return a;
}

static json_t *not_tried(void)
{
	json_t *a = json_array();

	for (const char *const *n = scan_not_tried(); a && *n; n++)
		a = check_json_append(a, json_string(*n));
	return a;
}

static json_t *fault(const struct scan *s)
{
	if (s->code == CHECK_OK)
		return json_null();
	return json_pack("{s:i, s:s, s:o}", "code", (int)s->code, "stage", check_stage_name(s->stage), "message",
		report_json_text(s->message));
}

static json_t *target(const struct scan *s)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "text", report_json_text(s->target), "host", report_json_text(s->host),
		"port", s->port ? json_integer(s->port) : json_null(), "servername", report_json_text(s->servername));
}

int scan_write_json(FILE *out, const struct scan *s)
{
	char when[CLOCK_RFC3339_SIZE];
	json_t *o = json_pack("{s:s, s:s, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
		"schema", "tlskit/connect-scan/1", "result", check_code_name((enum check_code)scan_exit_code(s)),
		"exit_code", scan_exit_code(s), "error", fault(s), "started", clock_rfc3339(s->started_ms, when),
		"started_epoch_s", json_integer(s->started_ms / 1000), "target", target(s), "address",
		report_json_text(s->address), "via", report_json_text(s->via), "starttls", report_json_text(s->starttls),
		"took_ms", check_json_number(s->took_ms), "handshakes", json_integer(s->handshakes), "interrupted",
		json_boolean(s->interrupted), "library", s->library);

	if (o && (json_object_set_new(o, "versions", items(&s->versions)) < 0 ||
			 json_object_set_new(o, "suites", lists(s->suites)) < 0 ||
			 json_object_set_new(o, "groups", lists(s->groups)) < 0 ||
			 json_object_set_new(o, "signatures", lists(s->signatures)) < 0 ||
			 json_object_set_new(o, "weak", weaknesses(s)) < 0 ||
			 json_object_set_new(o, "not_tried", not_tried()) < 0)) {
		json_decref(o);
		o = NULL;
	}
	return check_json_write(out, o);
}
