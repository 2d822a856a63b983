/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/report/check_int.h"

/* What several forms of a report say of a check, and how they write it. */

#define DAY_S 86400

bool check_has_tls(const struct check *c)
{
	return c->version || c->ciphersuite;
}

bool check_expiry(const struct check *c, int64_t *epoch_s)
{
	const struct chain *chain = c->chain;
	bool found = false;

	for (size_t i = 0; chain && i < chain->n_path; i++) {
		const struct chain_cert *cert = &chain->certs[chain->path[i]];

		if ((cert->faults & CHAIN_UNREADABLE) || cert->not_after == -1)
			continue;
		if (!found || cert->not_after < *epoch_s)
			*epoch_s = cert->not_after;
		found = true;
	}
	return found;
}

bool check_days_until(const struct check *c, int64_t epoch_s, int64_t *days)
{
	int64_t now = c->chain_request.now > 0 ? c->chain_request.now : c->started_ms / 1000, left;

	if (now <= 0 || __builtin_sub_overflow(epoch_s, now, &left))
		return false;
	*days = left / DAY_S - (left % DAY_S < 0);
	return true;
}

char *check_name(const struct check *c)
{
	const char *host = c->host;
	bool brackets = host && strchr(host, ':') && host[0] != '[';
	char *name;

	if (!host || c->port == 0)
		return strdup(c->target);
	return asprintf(&name, "%s%s%s:%u", brackets ? "[" : "", host, brackets ? "]" : "", c->port) < 0 ? NULL : name;
}

const char *check_bare_name(const char *name)
{
	return strncmp(name, "dns:", 4) == 0 ? name + 4 : strncmp(name, "ip:", 3) == 0 ? name + 3 : name;
}

unsigned check_next_fault(unsigned faults, unsigned last)
{
	for (unsigned bit = last ? last << 1 : 1; bit && bit <= faults; bit <<= 1) {
		if ((faults & bit) && chain_fault_name(bit))
			return bit;
	}
	return 0;
}

/* --- times and numbers ----------------------------------------------------------------- */

char *check_time(int64_t epoch_s, char out[CLOCK_RFC3339_SIZE])
{
	int64_t ms;

	if (epoch_s == -1) {
		snprintf(out, CLOCK_RFC3339_SIZE, "unknown");
		return out;
	}
	if (__builtin_mul_overflow(epoch_s, (int64_t)1000, &ms))
		ms = epoch_s < 0 ? INT64_MIN : INT64_MAX;
	clock_rfc3339(ms, out);
	memcpy(strchr(out, '.'), "Z", 2); /* certificates know no milliseconds */
	return out;
}

char *check_date(int64_t epoch_s, char out[CLOCK_RFC3339_SIZE])
{
	check_time(epoch_s, out);
	out[strcspn(out, "T")] = '\0';
	return out;
}

char *check_decimal(double v, int decimals, char out[CHECK_DECIMAL_SIZE])
{
	int64_t scale = 1, n;

	if (!isfinite(v)) {
		snprintf(out, CHECK_DECIMAL_SIZE, "unknown");
		return out;
	}
	for (int i = 0; i < decimals; i++)
		scale *= 10;
	n = llround(fmin(fabs(v) * (double)scale, 1e18));
	if (decimals == 0)
		snprintf(out, CHECK_DECIMAL_SIZE, "%s%" PRId64, v < 0 && n ? "-" : "", n);
	else
		snprintf(out, CHECK_DECIMAL_SIZE, "%s%" PRId64 ".%0*" PRId64, v < 0 && n ? "-" : "", n / scale, decimals,
			n % scale);
	return out;
}
