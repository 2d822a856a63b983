/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/report/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/check_int.h"

#define ROOM 16 /* for faults from the start, so that the first ones need no memory */

/* --- a check ------------------------------------------------------------------------- */

struct check *check_new(const char *target)
{
	struct check *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dns_ms = c->connect_ms = c->proxy_ms = c->starttls_ms = c->handshake_ms = c->total_ms = NAN;
	c->days_left = c->percent_left = c->warn_days = c->crit_days = NAN;
	c->starttls_done = c->hello_retry = c->resumed = c->early_data = CHECK_UNKNOWN;
	c->verify_ok = c->close_notify = CHECK_UNKNOWN;
	c->client_cert_requested = c->client_cert_sent = c->client_cert_accepted = CHECK_UNKNOWN;
	c->tickets = c->alert = -1;
	c->ticket_lifetime_s = -1;
	c->staple.this_update = c->staple.next_update = c->staple.produced = c->staple.revoked_at = -1;
	c->ocsp = c->staple;
	c->faults = calloc(ROOM, sizeof(*c->faults));
	if (!c->faults || check_set(&c->target, target) < 0) {
		check_free(c);
		return NULL;
	}
	return c;
}

static void free_fault(struct check_fault *f)
{
	free(f->message);
	free(f->detail);
	free(f->hint);
}

static void free_lists(struct check *c)
{
	size_t i;

	for (i = 0; i < c->n_scts; i++)
		free(c->scts[i].log_id);
	free(c->scts);
	for (i = 0; i < c->n_faults; i++)
		free_fault(&c->faults[i]);
	free(c->faults);
	for (i = 0; i < c->n_warnings; i++)
		free(c->warnings[i]);
	free(c->warnings);
}

void check_free(struct check *c)
{
	if (!c)
		return;

	char *texts[] = { c->target, c->host, c->servername, c->address, c->via, c->starttls, c->version, c->ciphersuite,
		c->group, c->signature, c->alpn, c->by, c->ocsp_url, c->dane, c->dane_record, c->alert_name };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	chain_free(c->chain);
	free_lists(c);
	free(c);
}

int check_set(char **place, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -1;
	free(*place);
	*place = copy;
	return 0;
}

/* --- faults ---------------------------------------------------------------------------- */

/* A place at the end. Where there is no memory for one, the last gives up its own:
 * what came first decides more. */
static struct check_fault *place_for_fault(struct check *c)
{
	if (c->n_faults >= ROOM && (c->n_faults & (c->n_faults - 1)) == 0) {
		struct check_fault *more = realloc(c->faults, 2 * c->n_faults * sizeof(*more));

		if (more)
			c->faults = more;
		else
			free_fault(&c->faults[--c->n_faults]);
	}
	return &c->faults[c->n_faults++];
}

struct check_fault *check_fault_add(struct check *c, enum check_code code, enum check_stage stage, const char *fmt, ...)
{
	struct check_fault *f;
	char *message;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&message, fmt, args) < 0)
		message = NULL;
	va_end(args);
	f = place_for_fault(c);
	*f = (struct check_fault){ .code = code, .stage = stage, .message = message };
	return f;
}

int check_warn(struct check *c, const char *fmt, ...)
{
	char **all = realloc(c->warnings, (c->n_warnings + 1) * sizeof(*all));
	va_list args;
	int r;

	if (!all)
		return -1;
	c->warnings = all;
	va_start(args, fmt);
	r = vasprintf(&all[c->n_warnings], fmt, args);
	va_end(args);
	if (r < 0)
		return -1;
	c->n_warnings++;
	return 0;
}

const char *check_message(const struct check_fault *f)
{
	return f->message && f->message[0] ? f->message : "failed, and there is nothing to say how";
}

/* --- codes ------------------------------------------------------------------------------- */

int check_rank(int code)
{
	static const int order[] = { CHECK_REVOKED, CHECK_UNTRUSTED, CHECK_NAME, CHECK_TIME, CHECK_WEAK, CHECK_STAPLE,
		CHECK_PIN };
	size_t i = 0;

	while (i < sizeof(order) / sizeof(order[0]) && order[i] != code)
		i++;
	return (int)i;
}

const struct check_fault *check_deciding(const struct check *c)
{
	const struct check_fault *best = NULL;

	for (size_t i = 0; i < c->n_faults; i++) {
		if (!best || check_rank(c->faults[i].code) < check_rank(best->code))
			best = &c->faults[i];
	}
	return best;
}

int check_exit_code(const struct check *c)
{
	const struct check_fault *f = check_deciding(c);

	return f ? (int)f->code : CHECK_OK;
}

enum { NAGIOS_OK, NAGIOS_WARNING, NAGIOS_CRITICAL, NAGIOS_UNKNOWN };

int check_nagios_code(int code)
{
	if (code == CHECK_OK)
		return NAGIOS_OK;
	if (code == CHECK_EXPIRY)
		return NAGIOS_WARNING;
	if ((code >= 10 && code <= 29) || code == CHECK_EXPECT || code == CHECK_TRUNCATED)
		return NAGIOS_CRITICAL;
	return NAGIOS_UNKNOWN;
}

int check_nagios_state(const struct check *c)
{
	return c->critical && check_exit_code(c) == CHECK_EXPIRY ? NAGIOS_CRITICAL : check_nagios_code(check_exit_code(c));
}

int check_worse(int a, int b)
{
	static const int weight[] = { [NAGIOS_OK] = 0, [NAGIOS_WARNING] = 1, [NAGIOS_UNKNOWN] = 2, [NAGIOS_CRITICAL] = 3 };
	int wa = weight[check_nagios_code(a)], wb = weight[check_nagios_code(b)];

	if (wa != wb)
		return wa > wb ? a : b;
	if (check_rank(a) != check_rank(b))
		return check_rank(a) < check_rank(b) ? a : b;
	return a < b ? a : b;
}

const char *check_stage_name(enum check_stage s)
{
	static const char *const names[] = { "dns", "connect", "proxy", "starttls", "handshake", "verify", "expect",
		"close" };

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}

const char *check_code_name(enum check_code c)
{
	static const struct {
		enum check_code code;
		const char *name;
	} names[] = {
		{ CHECK_OK, "ok" }, { CHECK_FAILED, "failed" }, { CHECK_USAGE, "usage" }, { CHECK_DNS, "dns" },
		{ CHECK_CONNECT, "connect" }, { CHECK_DEADLINE, "deadline" }, { CHECK_PROXY, "proxy" },
		{ CHECK_STARTTLS, "starttls" }, { CHECK_HANDSHAKE, "handshake" },
		{ CHECK_CLIENT_CERT, "client-certificate-rejected" }, { CHECK_UNTRUSTED, "untrusted" },
		{ CHECK_NAME, "name-mismatch" }, { CHECK_TIME, "expired" }, { CHECK_REVOKED, "revoked" },
		{ CHECK_STAPLE, "staple" }, { CHECK_WEAK, "weak" }, { CHECK_PIN, "pin-mismatch" },
		{ CHECK_EXPIRY, "near-expiry" }, { CHECK_EXPECT, "unexpected" }, { CHECK_TRUNCATED, "truncated" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == c)
			return names[i].name;
	}
	return "failed";
}
