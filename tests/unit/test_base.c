/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/near.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- err ------------------------------------------------------------------- */

Test(err, set)
{
	struct err e = { 0 };

	cr_assert_eq(err_set(&e, ERR_CONNECT, "cannot connect to %s", "[::1]:1"), -1);
	cr_assert_eq(e.kind, ERR_CONNECT);
	cr_assert_str_eq(e.msg, "cannot connect to [::1]:1");
}

Test(err, arguments_may_be_the_old_message)
{
	struct err e = { 0 };

	err_set(&e, ERR_IO, "reset");
	err_set(&e, ERR_RUNTIME, "worker 3: %s, %s", e.msg, e.msg);
	cr_assert_str_eq(e.msg, "worker 3: reset, reset");
	err_prefix(&e, "%s", e.msg);
	cr_assert_str_eq(e.msg, "worker 3: reset, reset: worker 3: reset, reset");
}

Test(err, message_is_one_harmless_line)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "The TLS connection was non-properly terminated.", "The TLS connection was non-properly terminated" },
		{ "failed (again).\n", "failed (again)" },
		{ "cannot open ..", "cannot open .." },
		{ "cannot open .", "cannot open ." },
		{ ".", "." },
		{ "wait\xe2\x80\xa6", "wait\xe2\x80\xa6" },
		{ "one\r\ntwo\tthree\n\n", "one  two three" },
		{ "\x1b[2Jgone\x07\x7f", "?[2Jgone??" },
		{ "c1 \xc2\x9b" "2J", "c1 ?2J" },
		{ "bidi \xe2\x80\xaegpj.exe\xe2\x81\xa6", "bidi ?gpj.exe?" },
		{ "bytes \xff\xc3(\xed\xa0\x80", "bytes ?" "?(?" "??" },
		{ "cut off \xe2\x80", "cut off ??" },
		{ "", "" },
		{ "\n", "" },
		{ "M\xc3\xbcller, \xe6\x97\xa5\xe6\x9c\xac, \xf0\x9f\x94\x92",
		  "M\xc3\xbcller, \xe6\x97\xa5\xe6\x9c\xac, \xf0\x9f\x94\x92" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		err_set(&e, ERR_CONFIG, "%s", rows[i].in);
		cr_expect_str_eq(e.msg, rows[i].out, "row %zu: got \"%s\"", i, e.msg);
	}
}

static bool is_utf8(const char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(s, left, &cp);

		if (n == 0)
			return false;
		s += n;
		left -= n;
	}
	return true;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* Text of n bytes, of characters that are unit long; the first ones are x. */
static char *long_text(size_t n, const char *unit)
{
	size_t len = strlen(unit);
	char *s = malloc(n + 1);

	cr_assert_not_null(s);
	memset(s, 'x', n % len);
	for (size_t i = n % len; i < n; i += len)
		memcpy(s + i, unit, len);
	s[n] = '\0';
	return s;
}

Test(err, long_messages_end_in_an_ellipsis)
{
	static const char *const units[] = { "a", "\xc3\xbc", "\xe6\x97\xa5", "\xf0\x9f\x94\x92" };

	for (size_t u = 0; u < COUNT(units); u++) {
		for (size_t n = 495; n < 3000; n += n < 530 ? 1 : 411) {
			char *text = long_text(n, units[u]);
			struct err e;

			memset(&e, 'z', sizeof(e));
			err_set(&e, ERR_IO, "%s", text);
			cr_assert(memchr(e.msg, '\0', sizeof(e.msg)) != NULL);
			cr_assert(is_utf8(e.msg), "unit %zu, %zu bytes", u, n);
			if (n < sizeof(e.msg)) {
				cr_assert_str_eq(e.msg, text);
			} else {
				cr_assert(ends_with(e.msg, "\xe2\x80\xa6"), "unit %zu, %zu bytes", u, n);
				cr_assert_geq(strlen(e.msg), sizeof(e.msg) - 8);
			}
			free(text);
		}
	}
}

Test(err, many_wide_controls_still_show_the_cut)
{
	char *text = long_text(6000, "\xe2\x80\xae");
	struct err e;

	err_set(&e, ERR_IO, "%s", text);
	cr_assert_eq(strlen(e.msg), sizeof(e.msg) - 1);
	cr_assert(ends_with(e.msg, "?\xe2\x80\xa6"));
	free(text);
}

Test(err, sys_names_the_errno)
{
	struct err e = { 0 };

	cr_assert_eq(err_sys(&e, ERR_CONFIG, ENOENT, "cannot read %s", "/etc/x"), -1);
	cr_assert_eq(e.kind, ERR_CONFIG);
	cr_assert_str_eq(e.msg, "cannot read /etc/x: No such file or directory");
}

Test(err, sys_keeps_the_reason_of_a_long_message)
{
	char *path = long_text(4000, "\xc3\xbc");
	struct err e;

	err_sys(&e, ERR_CONFIG, EACCES, "cannot read %s", path);
	cr_assert(ends_with(e.msg, "\xe2\x80\xa6: Permission denied"), "%s", e.msg);
	cr_assert(is_utf8(e.msg));
	cr_assert_leq(strlen(e.msg), sizeof(e.msg) - 1);
	free(path);
}

Test(err, prefix)
{
	struct err e = { 0 };

	err_set(&e, ERR_AUTH, "no certificate");
	cr_assert_eq(err_prefix(&e, "peer %d", 7), -1);
	cr_assert_eq(e.kind, ERR_AUTH);
	cr_assert_str_eq(e.msg, "peer 7: no certificate");
}

Test(err, prefix_and_message_both_long)
{
	char *head = long_text(700, "h"), *tail = long_text(700, "t");
	struct err e;

	err_set(&e, ERR_IO, "%s", tail);
	for (int i = 0; i < 5; i++)
		err_prefix(&e, "%s", head);
	cr_assert_leq(strlen(e.msg), sizeof(e.msg) - 1);
	cr_assert_geq(strspn(e.msg, "h"), 150);
	cr_assert(is_utf8(e.msg));
	free(head);
	free(tail);
}

Test(err, exit_codes)
{
	static const struct {
		enum err_kind kind;
		int code;
		const char *name;
	} rows[] = {
		{ ERR_NONE, 0, "none" },	   { ERR_CONFIG, 2, "config" },	  { ERR_RUNTIME, 1, "runtime" },
		{ ERR_RESOLVE, 1, "resolve" },	   { ERR_CONNECT, 1, "connect" }, { ERR_TIMEOUT, 1, "timeout" },
		{ ERR_HANDSHAKE, 1, "handshake" }, { ERR_AUTH, 3, "auth" },	  { ERR_IO, 1, "io" },
		{ ERR_TRUNCATED, 1, "truncated" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { .kind = rows[i].kind };

		cr_expect_eq(err_exit_code(&e), rows[i].code, "kind %s", rows[i].name);
		cr_expect_str_eq(err_kind_name(rows[i].kind), rows[i].name);
	}
	cr_assert_str_eq(err_kind_name((enum err_kind)99), "unknown");
}

/* --- utf8 ------------------------------------------------------------------ */

Test(utf8, decode)
{
	static const struct {
		const char *in;
		size_t n, len;
		uint32_t cp;
	} rows[] = {
		{ "a", 1, 1, 'a' },
		{ "\0", 1, 1, 0 },
		{ "\xc2\x80", 2, 2, 0x80 },
		{ "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 3, 0x800 },
		{ "\xef\xbf\xbf", 3, 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc0\x80", 2, 0, 0 }, /* overlong NUL */
		{ "\xc1\xbf", 2, 0, 0 },
		{ "\xe0\x9f\xbf", 3, 0, 0 },
		{ "\xf0\x8f\xbf\xbf", 4, 0, 0 },
		{ "\xed\xa0\x80", 3, 0, 0 }, /* surrogates */
		{ "\xed\xbf\xbf", 3, 0, 0 },
		{ "\xf4\x90\x80\x80", 4, 0, 0 }, /* above U+10FFFF */
		{ "\xf8\x88\x80\x80\x80", 5, 0, 0 },
		{ "\x80", 1, 0, 0 },
		{ "\xff", 1, 0, 0 },
		{ "\xe2\x80", 2, 0, 0 }, /* cut off */
		{ "\xe2\x80\xa6", 2, 0, 0 },
		{ "\xe2(\xa6", 3, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint32_t cp = 0;

		cr_expect_eq(utf8_decode(rows[i].in, rows[i].n, &cp), rows[i].len, "row %zu", i);
		cr_expect_eq(cp, rows[i].cp, "row %zu: U+%04x", i, (unsigned)cp);
	}
}

Test(utf8, controls)
{
	static const uint32_t controls[] = { 0,	     '\n',   0x1b,   0x1f,   0x7f,   0x80,   0x85,   0x9b,
					     0x9f,   0x61c,  0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e,
					     0x2066, 0x2069 };
	static const uint32_t shown[] = { ' ', '~', 0xa0, 0xfc, 0x200d, 0x2026, 0x2027, 0x202f, 0x2065, 0x206a, 0x1f512 };

	for (size_t i = 0; i < COUNT(controls); i++)
		cr_expect(utf8_is_control(controls[i]), "U+%04x", (unsigned)controls[i]);
	for (size_t i = 0; i < COUNT(shown); i++)
		cr_expect_not(utf8_is_control(shown[i]), "U+%04x", (unsigned)shown[i]);
}

Test(utf8, columns)
{
	static const char text[] = "a\xe2\x80\xa6\xff\xe2\x80";

	cr_assert_eq(utf8_columns(text, strlen(text)), 5);
	cr_assert_eq(utf8_columns("", 0), 0);
	cr_assert_eq(utf8_fit(text, strlen(text), 0), 0);
	cr_assert_eq(utf8_fit(text, strlen(text), 1), 1);
	cr_assert_eq(utf8_fit(text, strlen(text), 2), 4);
	cr_assert_eq(utf8_fit(text, strlen(text), 3), 5);
	cr_assert_eq(utf8_fit(text, strlen(text), 99), strlen(text));
}

/* --- clock ----------------------------------------------------------------- */

Test(clock, runs)
{
	uint64_t start = clock_mono_ns(), then;
	struct timespec wait = { .tv_nsec = 20 * 1000 * 1000 };

	cr_assert_eq(nanosleep(&wait, NULL), 0);
	then = clock_mono_ns();
	cr_assert_geq(then - start, 20 * NS_PER_MS);
	cr_assert_lt(then - start, 20 * NS_PER_S);
	cr_assert_leq(llabs(clock_real_ms() - (long long)time(NULL) * 1000), 2000);
}

Test(clock, rfc3339)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1, "1970-01-01T00:00:00.001Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ -1000, "1969-12-31T23:59:59.000Z" },
		{ 951782400123, "2000-02-29T00:00:00.123Z" },
		{ 1709251199999, "2024-02-29T23:59:59.999Z" },
		{ 2147483648000, "2038-01-19T03:14:08.000Z" },
		{ 4107542400000, "2100-03-01T00:00:00.000Z" },
		{ 253402300799999, "9999-12-31T23:59:59.999Z" },
		{ 253402300800000, "9999-12-31T23:59:59.999Z" },
		{ INT64_MAX, "9999-12-31T23:59:59.999Z" },
		{ -62167219200000, "0000-01-01T00:00:00.000Z" },
		{ INT64_MIN, "0000-01-01T00:00:00.000Z" },
	};

	cr_assert_eq(setenv("TZ", "America/St_Johns", 1), 0);
	tzset();
	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[CLOCK_RFC3339_SIZE];

		cr_expect_eq(clock_rfc3339(rows[i].ms, out), out);
		cr_expect_str_eq(out, rows[i].text, "%lld: got %s", (long long)rows[i].ms, out);
	}
}

/* --- units ----------------------------------------------------------------- */

Test(units, durations)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{ "0", 0 },
		{ "0ms", 0 },
		{ "0.000", 0 },
		{ "10", 10000 },
		{ "10s", 10000 },
		{ "250ms", 250 },
		{ "5m", 300000 },
		{ "2h", 7200000 },
		{ "1d", 86400000 },
		{ "1.5s", 1500 },
		{ "0.25", 250 },
		{ "1.5d", 129600000 },
		{ "007s", 7000 },
		{ "0.1ms", 1 }, /* never 0, which means none */
		{ "0.0000000000000000001s", 1 },
		{ "1.0000000000000000000s", 1000 },
		{ "1.0000000001s", 1001 },
		{ "18446744073709551615ms", UINT64_MAX },
		{ "18446744073709551.615s", UINT64_MAX },
	};
	static const char *const bad[] = {
		"",	"s",	"-1",  "+1",  " 1",   "1 ",    "1 s",  "1S",  "1ss", "1.",    "1.s",
		".5s",	"1.5.5", "1e3", "0x10", "1,5s", "1h30m", "10sec", "1w", "inf", "1\n", "\xd9\xa1s",
		"18446744073709551616ms", "18446744073709551.616s", "18446744073709552s", "99999999999999999999d",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t ms = 77;

		cr_expect_eq(units_parse_duration(rows[i].text, &ms), 0, "%s", rows[i].text);
		cr_expect_eq(ms, rows[i].ms, "%s: got %llu", rows[i].text, (unsigned long long)ms);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		uint64_t ms = 77;

		cr_expect_eq(units_parse_duration(bad[i], &ms), -1, "\"%s\" was taken", bad[i]);
		cr_expect_eq(ms, 77, "\"%s\" changed the result", bad[i]);
	}
}

Test(units, durations_print_as_they_parse)
{
	static const struct {
		uint64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0" },	    { 1, "1ms" },	  { 999, "999ms" },    { 1000, "1s" },	  { 1500, "1.5s" },
		{ 1050, "1.05s" },  { 61001, "61.001s" }, { 90000, "90s" },    { 60000, "1m" },	  { 5400000, "90m" },
		{ 3600000, "1h" },  { 129600000, "36h" }, { 86400000, "1d" },  { UINT64_MAX, "18446744073709551.615s" },
		{ 1000000, "1000s" },
	};
	uint64_t v = 1;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[40];

		cr_expect_str_eq(units_duration(rows[i].ms, out, sizeof(out)), rows[i].text);
	}
	for (int i = 0; i < 20000; i++) {
		uint64_t back = 0;
		char out[40];

		v = v * 6364136223846793005ULL + 1442695040888963407ULL;
		units_duration(v >> (i % 64), out, sizeof(out));
		cr_assert_eq(units_parse_duration(out, &back), 0, "%s", out);
		cr_assert_eq(back, v >> (i % 64), "%s", out);
	}
}

Test(units, short_buffers_are_kept_to)
{
	char out[8] = "zzzzzzz";

	units_duration(UINT64_MAX, out, 4);
	cr_assert_str_eq(out, "184");
	units_bytes(64 << 20, out, 5);
	cr_assert_str_eq(out, "64.0");
}

Test(units, whole_numbers)
{
	static const char *const bad[] = { "",	 "-1",	 "+1",	 " 1",	 "1 ", "0x1",
					   "1.0", "1e2", "a", "1a", "18446744073709551616", "99999999999999999999999" };
	uint64_t v = 77;

	cr_assert_eq(units_parse_uint("0", 0, UINT64_MAX, &v), 0);
	cr_assert_eq(v, 0);
	cr_assert_eq(units_parse_uint("18446744073709551615", 0, UINT64_MAX, &v), 0);
	cr_assert_eq(v, UINT64_MAX);
	cr_assert_eq(units_parse_uint("010", 10, 10, &v), 0);
	cr_assert_eq(v, 10);
	cr_assert_eq(units_parse_uint("9", 10, 20, &v), -1);
	cr_assert_eq(units_parse_uint("21", 10, 20, &v), -1);
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_eq(units_parse_uint(bad[i], 0, UINT64_MAX, &v), -1, "\"%s\" was taken", bad[i]);
	cr_assert_eq(v, 10);
}

Test(units, sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "1M", 1 << 20 },
		{ "2G", UINT64_C(2) << 30 },
		{ "3t", UINT64_C(3) << 40 },
		{ "18446744073709551615", UINT64_MAX },
		{ "18014398509481983K", UINT64_MAX - 1023 },
	};
	static const char *const bad[] = { "",	 "K",	"-1K", "1 K", "1KB", "1Ki", "1.5M",
					   "1X", "1K ", "18014398509481984K", "18446744073709551616", "16777216T" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t v = 77;

		cr_expect_eq(units_parse_size(rows[i].text, &v), 0, "%s", rows[i].text);
		cr_expect_eq(v, rows[i].bytes, "%s", rows[i].text);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		uint64_t v = 77;

		cr_expect_eq(units_parse_size(bad[i], &v), -1, "\"%s\" was taken", bad[i]);
		cr_expect_eq(v, 77);
	}
}

Test(units, bytes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 812, "812 B" },
		{ 999, "999 B" },
		{ 1000, "0.98 KiB" },
		{ 1023, "1.00 KiB" },
		{ 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" },
		{ 10234, "9.99 KiB" },
		{ 10239, "10.0 KiB" },
		{ 102348, "99.9 KiB" },
		{ 102399, "100 KiB" },
		{ 1022976, "999 KiB" },
		{ 1023487, "999 KiB" },
		{ 1023488, "0.98 MiB" }, /* 999.5 KiB */
		{ 64 << 20, "64.0 MiB" },
		{ UINT64_C(1) << 40, "1.00 TiB" },
		{ UINT64_C(3) << 49, "1.50 PiB" },
		{ UINT64_C(1) << 60, "1.00 EiB" },
		{ UINT64_C(3) << 59, "1.50 EiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[24];

		units_bytes(rows[i].bytes, out, sizeof(out));
		cr_expect_str_eq(out, rows[i].text, "%llu: got %s", (unsigned long long)rows[i].bytes, out);
	}
}

Test(units, hex)
{
	static const uint8_t want[] = { 0x00, 0xff, 0xAb, 0x10 };
	static const char *const bad[] = { "0", "0g", "g0", "0x", " 0", "0\n", "+1", "\xff\xff", "00:11:", "/0", ":0", "@0", "`0" };
	uint8_t out[4] = { 7, 7, 7, 7 };

	cr_assert_eq(units_parse_hex("00ffAb10", 8, out, sizeof(out)), 4);
	cr_assert_arr_eq(out, want, sizeof(want));
	cr_assert_eq(units_parse_hex("", 0, out, sizeof(out)), 0);
	cr_assert_eq(units_parse_hex("00ffAb1000", 10, out, sizeof(out)), -1);
	cr_assert_eq(units_parse_hex("00\0" "0", 4, out, sizeof(out)), -1);
	cr_assert_eq(units_parse_hex("ffzz", 2, out, sizeof(out)), 1);
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_eq(units_parse_hex(bad[i], strlen(bad[i]), out, sizeof(out)), -1, "\"%s\"", bad[i]);
}

/* --- near ------------------------------------------------------------------ */

Test(near, suggests_what_was_meant)
{
	static const char *const names[] = { "tunnel", "serve", "connect-timeout", "connect", "idle-timeout", "cert",
					     "cert-dir", "ca", "crl", "servername", "help" };
	static const struct {
		const char *typed, *want;
	} rows[] = {
		{ "tunel", "tunnel" },
		{ "tunnle", "tunnel" }, /* a swap counts once */
		{ "utnnel", "tunnel" },
		{ "TUNNEL", "tunnel" },
		{ "tunnels", "tunnel" },
		{ "idel-timeout", "idle-timeout" },
		{ "idle_timeout", "idle-timeout" },
		{ "idle", "idle-timeout" },
		{ "con", "connect" }, /* the shorter of two */
		{ "connect-", "connect-timeout" },
		{ "hlep", "help" },
		{ "crt", "cert" },
		{ "server", "servername" },
		{ "sevre", "serve" },
		{ "c", NULL },
		{ "", NULL },
		{ "xx", NULL },
		{ "banana", NULL },
		{ "leltun", NULL },
		{ "\xff\xfe\xfd", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *got = near_match(rows[i].typed, names, COUNT(names));

		if (rows[i].want == NULL)
			cr_expect_null(got, "\"%s\": got %s", rows[i].typed, got);
		else
			cr_expect(got != NULL && strcmp(got, rows[i].want) == 0, "\"%s\": got %s", rows[i].typed,
				  got != NULL ? got : "nothing");
	}
	cr_assert_null(near_match("tunnel", names, 0));
}

Test(near, lengths_at_the_limit)
{
	char typed[200], candidate[200];
	const char *const names[] = { candidate };

	for (size_t n = 60; n < 70; n++) {
		memset(typed, 'a', sizeof(typed));
		memset(candidate, 'a', sizeof(candidate));
		typed[n] = '\0';
		typed[n / 2] = 'b';
		candidate[n] = '\0';
		cr_expect_eq(near_match(typed, names, 1) != NULL, n <= 64, "%zu letters", n);
	}
	memset(typed, 'a', 66);
	typed[66] = '\0';
	memset(candidate, 'a', sizeof(candidate));
	candidate[64] = '\0';
	cr_assert_null(near_match(typed, names, 1), "near, but too long to be a name");
	candidate[64] = 'a';
	candidate[199] = '\0';
	cr_assert_null(near_match("baaaa", names, 1));
}
