/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/report/check_int.h"
#include "tests/unit/check_sample.h"
#include "tests/unit/timeout.h"

TestSuite(check, .timeout = TEST_TIMEOUT);

/* --- a check ----------------------------------------------------------------------------- */

/* All is unknown, which is not the same as zero. */
Test(check, fresh)
{
	struct check *c = check_new("x");

	cr_assert_str_eq(c->target, "x");
	cr_assert(isnan(c->dns_ms) && isnan(c->total_ms) && isnan(c->days_left) && isnan(c->percent_left));
	cr_assert(c->hello_retry == CHECK_UNKNOWN && c->verify_ok == CHECK_UNKNOWN && c->close_notify == CHECK_UNKNOWN);
	cr_assert(c->client_cert_accepted == CHECK_UNKNOWN && c->starttls_done == CHECK_UNKNOWN);
	cr_assert(c->alert == -1 && c->tickets == -1 && c->ticket_lifetime_s == -1);
	cr_assert(c->staple.status == OCSP_NONE && c->staple.next_update == -1 && c->ocsp.revoked_at == -1);
	cr_assert_eq(check_exit_code(c), 0);
	check_free(c);
	check_free(NULL);
}

Test(check, set)
{
	char *text = NULL;

	cr_assert(check_set(&text, "a") == 0 && strcmp(text, "a") == 0);
	cr_assert(check_set(&text, text) == 0 && strcmp(text, "a") == 0);
	cr_assert(check_set(&text, NULL) == 0 && !text);
}

/* Beyond the room that is there from the start. */
Test(check, many_faults)
{
	struct check *c = check_new("x");

	for (int i = 0; i < 100; i++) {
		struct check_fault *f = check_fault_add(c, CHECK_EXPECT, CHECK_AT_EXPECT, "fault %d", i);

		cr_assert(check_set(&f->hint, "hint") == 0 && !f->detail);
		cr_assert_eq(check_warn(c, "warning %d", i), 0);
	}
	cr_assert(c->n_faults == 100 && c->n_warnings == 100);
	for (size_t i = 0; i < 100; i++) {
		char text[32];

		snprintf(text, sizeof(text), "fault %zu", i);
		cr_assert_str_eq(c->faults[i].message, text);
		snprintf(text, sizeof(text), "warning %zu", i);
		cr_assert_str_eq(c->warnings[i], text);
	}
	check_free(c);
}

/* --- codes -------------------------------------------------------------------------------- */

static int code_of(const int *codes, size_t n)
{
	struct check *c = check_new("x");
	int code;

	for (size_t i = 0; i < n; i++)
		check_fault_add(c, (enum check_code)codes[i], CHECK_AT_VERIFY, "x");
	code = check_exit_code(c);
	check_free(c);
	return code;
}

Test(check, exit_code)
{
	static const int order[] = { 23, 20, 21, 22, 25, 24, 26 };
	static const int others[] = { 1, 2, 10, 11, 12, 13, 14, 15, 16, 30, 31, 32 };

	for (size_t i = 0; i < 7; i++) {
		cr_expect_eq(code_of(&order[i], 1), order[i]);
		for (size_t k = 0; k < 7; k++)
			cr_expect_eq(code_of((int[]){ order[i], order[k] }, 2), order[i < k ? i : k]);
		for (size_t k = 0; k < 12; k++) {
			cr_expect_eq(code_of((int[]){ others[k], order[i] }, 2), order[i]);
			cr_expect_eq(code_of((int[]){ order[i], others[k] }, 2), order[i]);
		}
	}
	for (size_t i = 0; i < 12; i++) {
		for (size_t k = 0; k < 12; k++)
			cr_expect_eq(code_of((int[]){ others[i], others[k] }, 2), others[i]);
	}
	cr_expect_eq(code_of((int[]){ 31, 24, 22, 26, 30 }, 5), 22);
}

Test(check, nagios_code)
{
	static const int all[][2] = { { 0, 0 }, { 1, 3 }, { 2, 3 }, { 3, 3 }, { 10, 2 }, { 16, 2 }, { 20, 2 }, { 26, 2 },
		{ 29, 2 }, { 30, 1 }, { 31, 2 }, { 32, 2 }, { 33, 3 }, { -1, 3 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cr_expect_eq(check_nagios_code(all[i][0]), all[i][1], "%d", all[i][0]);
}

/* Near expiry is more where the second limit is passed; nothing else is. */
Test(check, nagios_state)
{
	struct check *c = check_new("x");

	cr_expect_eq(check_nagios_state(c), 0);
	c->critical = true;
	cr_expect_eq(check_nagios_state(c), 0, "without a fault");
	check_fault_add(c, CHECK_EXPIRY, CHECK_AT_EXPECT, "x");
	cr_expect_eq(check_nagios_state(c), 2);
	c->critical = false;
	cr_expect_eq(check_nagios_state(c), 1);
	check_fault_add(c, CHECK_NAME, CHECK_AT_VERIFY, "x");
	cr_expect_eq(check_nagios_state(c), 2);
	check_free(c);
	c = check_new("x");
	c->critical = true;
	check_fault_add(c, CHECK_FAILED, CHECK_AT_CLOSE, "x");
	check_fault_add(c, CHECK_EXPIRY, CHECK_AT_EXPECT, "x");
	cr_expect_eq(check_nagios_state(c), 3, "the first fault decides");
	check_free(c);
}

/* From the best to the worst; of each two the later one counts, in either order. */
Test(check, worse)
{
	static const int all[] = { 0, 30, 2, 1, 32, 31, 16, 15, 14, 13, 12, 11, 10, 26, 24, 25, 22, 21, 20, 23 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (size_t k = 0; k <= i; k++) {
			cr_expect_eq(check_worse(all[i], all[k]), all[i], "%d, %d", all[i], all[k]);
			cr_expect_eq(check_worse(all[k], all[i]), all[i], "%d, %d", all[k], all[i]);
		}
}

Test(check, names)
{
	cr_expect_str_eq(check_stage_name(CHECK_AT_DNS), "dns");
	cr_expect_str_eq(check_stage_name(CHECK_AT_CLOSE), "close");
	cr_expect_str_eq(check_stage_name((enum check_stage)99), "unknown");
	cr_expect_str_eq(check_code_name(CHECK_OK), "ok");
	cr_expect_str_eq(check_code_name(CHECK_TIME), "expired");
	cr_expect_str_eq(check_code_name(CHECK_TRUNCATED), "truncated");
	cr_expect_str_eq(check_code_name((enum check_code)99), "failed");
}

/* --- facts ---------------------------------------------------------------------------------- */

static void expect_name(const char *target, const char *host, unsigned port, const char *expected)
{
	struct check *c = check_new(target);
	char *name;

	check_sample_text(&c->host, host);
	c->port = port;
	name = check_name(c);
	cr_expect_str_eq(name, expected);
	free(name);
	check_free(c);
}

Test(check, name)
{
	expect_name("https://a.example/x", "a.example", 443, "a.example:443");
	expect_name("::1", "::1", 443, "[::1]:443");
	expect_name("[::1]:1", "[::1]", 1, "[::1]:1");
	expect_name("unix:/x", NULL, 0, "unix:/x");
}

Test(check, decimal)
{
	static const struct {
		double v;
		int decimals;
		const char *text;
	} all[] = { { 0, 0, "0" }, { 0.034512, 3, "0.035" }, { -0.5, 1, "-0.5" }, { -213, 0, "-213" }, { -0.04, 1, "0.0" },
		{ 1.999, 2, "2.00" },
		{ 12, 6, "12.000000" }, { NAN, 1, "unknown" }, { INFINITY, 0, "unknown" } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char out[CHECK_DECIMAL_SIZE];

		cr_expect_str_eq(check_decimal(all[i].v, all[i].decimals, out), all[i].text);
	}
	for (int decimals = 0; decimals < 10; decimals++) {
		char out[CHECK_DECIMAL_SIZE];

		cr_expect_gt(strlen(check_decimal(-1e300, decimals, out)), 18u);
	}
}

Test(check, times)
{
	char out[CLOCK_RFC3339_SIZE];

	cr_expect_str_eq(check_time(1803042000, out), "2027-02-19T13:00:00Z");
	cr_expect_str_eq(check_date(1803042000, out), "2027-02-19");
	cr_expect_str_eq(check_time(INT64_MAX, out), "9999-12-31T23:59:59Z");
	cr_expect_str_eq(check_time(INT64_MIN, out), "0000-01-01T00:00:00Z");
	cr_expect_str_eq(check_date(-1, out), "unknown");
}

/* Whole days, rounded down on both sides of now. */
Test(check, days)
{
	static const struct {
		int64_t at, days;
	} all[] = { { 1000000, 0 }, { 1086399, 0 }, { 1086400, 1 }, { 999999, -1 }, { 913600, -1 }, { 913599, -2 } };
	struct check *c = check_new("x");
	int64_t days;

	cr_assert(!check_days_until(c, 1, &days));
	c->started_ms = 1000000000;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		cr_expect(check_days_until(c, all[i].at, &days) && days == all[i].days, "%zu", i);
	cr_expect(!check_days_until(c, INT64_MIN, &days));
	check_free(c);
}

/* The path's first, not that of what stands beside it. */
Test(check, expiry)
{
	struct check *c = check_new("x");
	int64_t at;

	cr_assert(!check_expiry(c, &at));
	c->chain = check_sample_chain(3, 3);
	cr_assert(check_expiry(c, &at) && at == c->chain->certs[0].not_after);
	c->chain->certs[2].not_after = 5;
	cr_assert(check_expiry(c, &at) && at == 5);
	c->chain->n_path = 2;
	cr_assert(check_expiry(c, &at) && at == c->chain->certs[0].not_after);
	c->chain->certs[0].faults = CHAIN_UNREADABLE;
	cr_assert(check_expiry(c, &at) && at == c->chain->certs[1].not_after);
	check_free(c);
}

Test(check, next_fault)
{
	unsigned f = check_next_fault(CHAIN_WRONG_NAME | CHAIN_EXPIRED | 1u << 31, 0);

	cr_expect_eq(f, (unsigned)CHAIN_EXPIRED);
	f = check_next_fault(CHAIN_WRONG_NAME | CHAIN_EXPIRED | 1u << 31, f);
	cr_expect_eq(f, (unsigned)CHAIN_WRONG_NAME);
	cr_expect_eq(check_next_fault(CHAIN_WRONG_NAME | CHAIN_EXPIRED | 1u << 31, f), 0u);
	cr_expect_eq(check_next_fault(0, 0), 0u);
}
