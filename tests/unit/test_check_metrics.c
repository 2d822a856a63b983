/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "tests/unit/check_sample.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(check_metrics, .timeout = TEST_TIMEOUT);

/* --- Nagios ------------------------------------------------------------------------------- */

static void expect_line(struct check *c, double warn, double crit, const char *expected)
{
	char *line = check_sample_nagios(c, warn, crit);

	sample_same(line, expected);
	free(line);
	check_free(c);
}

Test(check_metrics, nagios)
{
	struct check *c;

	expect_line(check_sample_ok(), 30, 14, "TLS OK - example.com:443 TLS1.3, certificate valid for 81 days (until "
		"2027-02-19) | days_left=81.04;30:;14: time=0.034s;;;0\n");
	expect_line(check_sample_ok(), NAN, NAN, "TLS OK - example.com:443 TLS1.3, certificate valid for 81 days (until "
		"2027-02-19) | days_left=81.04;; time=0.034s;;;0\n");
	expect_line(check_sample_soon(), 30, 7.5, "TLS WARNING - example.com:443: the certificate expires in 13 days, on "
		"2026-12-14 | days_left=13.96;30:;7.50: time=0.034s;;;0\n");
	expect_line(check_sample_bad(), 30, 14, "TLS CRITICAL - example.com:8443: the certificate is self-signed and not "
		"trusted here; the certificate expired on 2026-05-01, 213 days ago; the certificate is not for example.com | "
		"days_left=-213.01;30:;14: time=0.034s;;;0\n");
	expect_line(check_sample_dns(), 30, 14, "TLS CRITICAL - no.example:443: no.example has no address: Name or service "
		"not known | days_left=U;30:;14: time=0.001s;;;0\n");
	expect_line(check_sample_psk(), 30, 14, "TLS OK - unix:/run/app.sock TLS1.3 | days_left=U;30:;14: time=0.034s;;;0\n");
	c = check_new("x");
	check_fault_add(c, CHECK_USAGE, CHECK_AT_DNS, "no such option");
	expect_line(c, NAN, NAN, "TLS UNKNOWN - x: no such option | days_left=U;; time=U;;;0\n");
	c = check_sample_ok();
	c->verified = false;
	c->days_left = 1.5;
	expect_line(c, 30, 14, "TLS OK - example.com:443 TLS1.3, not verified, certificate valid for 1 day (until "
		"2027-02-19) | days_left=1.50;30:;14: time=0.034s;;;0\n");
	c = check_sample_ok();
	c->days_left = -0.5; /* and a pin that fits */
	expect_line(c, 30, 14, "TLS OK - example.com:443 TLS1.3, certificate expired on 2027-02-19 | days_left=-0.50;30:;14: "
		"time=0.034s;;;0\n");
}

/* One line with one bar, whatever is in it, and of a bounded length. */
Test(check_metrics, nagios_line)
{
	const char *name;
	struct check *c;

	for (size_t i = 0; (c = check_sample(i, &name)) != NULL; i++) {
		char *line = check_sample_nagios(c, 30, 14);
		size_t n = strlen(line), len;

		cr_expect(strchr(line, '\n') == line + n - 1, "%s: %s", name, line);
		cr_expect(strchr(line, '|') && strchr(line, '|') == strrchr(line, '|'), "%s: %s", name, line);
		cr_expect_lt(n, 4096u);
		for (size_t k = 0; k < n - 1; k += len) {
			uint32_t cp = 0;

			len = utf8_decode(line + k, n - k, &cp);
			cr_assert(len > 0 && !utf8_is_control(cp), "%s: %s", name, line);
		}
		free(line);
		check_free(c);
	}
}

/* The text and the figure are of the same day, and percents are as exact as their limit. */
Test(check_metrics, nagios_days)
{
	struct check *c = check_sample_ok();

	c->days_left = -10.008;
	expect_line(c, NAN, NAN, "TLS OK - example.com:443 TLS1.3, certificate expired on 2027-02-19 | days_left=-10.01;; "
		"time=0.034s;;;0\n");
	c = check_sample_ok();
	c->days_left = 5.419;
	expect_line(c, 5.4, NAN, "TLS OK - example.com:443 TLS1.3, certificate valid for 5 days (until 2027-02-19) | "
		"days_left=5.41;5.40:; time=0.034s;;;0\n");
	c = check_sample_ok();
	c->days_left = 29.9999;
	expect_line(c, 30, NAN, "TLS OK - example.com:443 TLS1.3, certificate valid for 29 days (until 2027-02-19) | "
		"days_left=29.99;30:; time=0.034s;;;0\n");
}

static void expect_all(struct check **checks, size_t n, bool addresses, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(check_write_nagios_all(out, (const struct check *const *)checks, n, addresses), 0);
	fclose(out);
	sample_same(text, expected);
	free(text);
	for (size_t i = 0; i < n; i++)
		check_free(checks[i]);
}

/* Of several lines Nagios takes what stands behind a bar in the first, and all behind the
 * next bar, for figures. */
Test(check_metrics, nagios_of_several)
{
	struct check *one[] = { check_sample_dns() }, *two[] = { check_sample_dns(), check_sample_ok() };
	struct check *three[] = { check_new("it's=a|b"), check_sample_psk(), check_sample_ok() };

	expect_all(one, 1, false, "TLS CRITICAL - no.example:443: no.example has no address: Name or service not known | "
		"'https://no.example/ days_left'=U;; 'https://no.example/ time'=0.001s;;;0\n");
	two[1]->warn_days = 30;
	expect_all(two, 2, true, "TLS CRITICAL - no.example:443: no.example has no address: Name or service not known | "
		"'https://no.example/ days_left'=U;; 'https://no.example/ time'=0.001s;;;0\n"
		"TLS OK - example.com:443 TLS1.3, certificate valid for 81 days (until 2027-02-19) | "
		"'example.com 192.0.2.1:443 days_left'=81.04;30:; 'example.com 192.0.2.1:443 time'=0.034s;;;0\n");
	expect_all(three, 3, false, "TLS OK - it's=a?b, not verified | 'it?s?a?b days_left'=U;; 'it?s?a?b time'=U;;;0\n"
		"TLS OK - unix:/run/app.sock TLS1.3\n"
		"TLS OK - example.com:443 TLS1.3, certificate valid for 81 days (until 2027-02-19) | "
		"'unix:/run/app.sock days_left'=U;; 'unix:/run/app.sock time'=0.034s;;;0\n"
		"'example.com days_left'=81.04;; 'example.com time'=0.034s;;;0\n");
}

/* --- Prometheus ------------------------------------------------------------------------------ */

static char *metrics(struct check **checks, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(check_write_prometheus(out, (const struct check *const *)checks, n), 0);
	fclose(out);
	cr_assert_eq(strlen(text), size);
	return text;
}

Test(check_metrics, prometheus)
{
	struct check *checks[] = { check_sample_ok(), check_sample_dns(), check_sample_bad() };
	char *text = metrics(checks, 3);

	sample_same(text,
		"# HELP tlskit_probe_success Whether the check found nothing wrong.\n"
		"# TYPE tlskit_probe_success gauge\n"
		"tlskit_probe_success{target=\"example.com\"} 1\n"
		"tlskit_probe_success{target=\"https://no.example/\"} 0\n"
		"tlskit_probe_success{target=\"example.com:8443\"} 0\n"
		"# HELP tlskit_probe_exit_code Exit code of tlskit connect --check.\n"
		"# TYPE tlskit_probe_exit_code gauge\n"
		"tlskit_probe_exit_code{target=\"example.com\"} 0\n"
		"tlskit_probe_exit_code{target=\"https://no.example/\"} 10\n"
		"tlskit_probe_exit_code{target=\"example.com:8443\"} 20\n"
		"# HELP tlskit_probe_fault What was wrong, a series a kind.\n"
		"# TYPE tlskit_probe_fault gauge\n"
		"tlskit_probe_fault{target=\"https://no.example/\",result=\"dns\"} 1\n"
		"tlskit_probe_fault{target=\"example.com:8443\",result=\"expired\"} 1\n"
		"tlskit_probe_fault{target=\"example.com:8443\",result=\"name-mismatch\"} 1\n"
		"tlskit_probe_fault{target=\"example.com:8443\",result=\"untrusted\"} 1\n"
		"# HELP tlskit_probe_warnings How many warnings there were.\n"
		"# TYPE tlskit_probe_warnings gauge\n"
		"tlskit_probe_warnings{target=\"example.com\"} 0\n"
		"tlskit_probe_warnings{target=\"https://no.example/\"} 0\n"
		"tlskit_probe_warnings{target=\"example.com:8443\"} 1\n"
		"# HELP tlskit_probe_duration_seconds Time that each phase took.\n"
		"# TYPE tlskit_probe_duration_seconds gauge\n"
		"tlskit_probe_duration_seconds{target=\"example.com\",phase=\"dns\"} 0.002063\n"
		"tlskit_probe_duration_seconds{target=\"example.com\",phase=\"connect\"} 0.008000\n"
		"tlskit_probe_duration_seconds{target=\"example.com\",phase=\"handshake\"} 0.023950\n"
		"tlskit_probe_duration_seconds{target=\"https://no.example/\",phase=\"dns\"} 0.001250\n"
		"tlskit_probe_duration_seconds{target=\"example.com:8443\",phase=\"dns\"} 0.002063\n"
		"tlskit_probe_duration_seconds{target=\"example.com:8443\",phase=\"connect\"} 0.008000\n"
		"tlskit_probe_duration_seconds{target=\"example.com:8443\",phase=\"handshake\"} 0.023950\n"
		"# HELP tlskit_probe_elapsed_seconds Time that the whole check took.\n"
		"# TYPE tlskit_probe_elapsed_seconds gauge\n"
		"tlskit_probe_elapsed_seconds{target=\"example.com\"} 0.034013\n"
		"tlskit_probe_elapsed_seconds{target=\"https://no.example/\"} 0.001250\n"
		"tlskit_probe_elapsed_seconds{target=\"example.com:8443\"} 0.034013\n"
		"# HELP tlskit_tls_info What was agreed on.\n"
		"# TYPE tlskit_tls_info gauge\n"
		"tlskit_tls_info{target=\"example.com\",version=\"TLS1.3\",ciphersuite=\"TLS_AES_256_GCM_SHA384\","
		"group=\"X25519MLKEM768\"} 1\n"
		"tlskit_tls_info{target=\"example.com:8443\",version=\"TLS1.3\",ciphersuite=\"TLS_AES_256_GCM_SHA384\","
		"group=\"X25519MLKEM768\"} 1\n"
		"# HELP tlskit_verify_success Whether the server is who it must be.\n"
		"# TYPE tlskit_verify_success gauge\n"
		"tlskit_verify_success{target=\"example.com\"} 1\n"
		"tlskit_verify_success{target=\"example.com:8443\"} 0\n"
		"# HELP tlskit_path_not_after_seconds When the first certificate of the path expires, since the epoch.\n"
		"# TYPE tlskit_path_not_after_seconds gauge\n"
		"tlskit_path_not_after_seconds{target=\"example.com\"} 1803042000\n"
		"tlskit_path_not_after_seconds{target=\"example.com:8443\"} 1777636793\n"
		"# HELP tlskit_certificate_not_after_seconds When each certificate that was sent expires, since the epoch.\n"
		"# TYPE tlskit_certificate_not_after_seconds gauge\n"
		"tlskit_certificate_not_after_seconds{target=\"example.com\",position=\"0\",on_path=\"yes\"} 1803042000\n"
		"tlskit_certificate_not_after_seconds{target=\"example.com\",position=\"1\",on_path=\"yes\"} 1834578000\n"
		"tlskit_certificate_not_after_seconds{target=\"example.com:8443\",position=\"0\",on_path=\"yes\"} 1777636793\n"
		"# HELP tlskit_ocsp_stapled Whether an OCSP answer was stapled.\n"
		"# TYPE tlskit_ocsp_stapled gauge\n"
		"tlskit_ocsp_stapled{target=\"example.com\"} 1\n"
		"tlskit_ocsp_stapled{target=\"example.com:8443\"} 0\n"
		"# HELP tlskit_ocsp_staple_next_update_seconds When the stapled answer is over, since the epoch.\n"
		"# TYPE tlskit_ocsp_staple_next_update_seconds gauge\n"
		"tlskit_ocsp_staple_next_update_seconds{target=\"example.com\"} 1796558400\n"
		"# HELP tlskit_scts How many signed certificate timestamps came.\n"
		"# TYPE tlskit_scts gauge\n"
		"tlskit_scts{target=\"example.com\"} 3\n"
		"tlskit_scts{target=\"example.com:8443\"} 0\n");
	free(text);
	for (size_t i = 0; i < 3; i++)
		check_free(checks[i]);
}

/* Every line is a comment or a sample by the grammar, and no series is there twice. */
static void expect_grammar(const char *text)
{
	regex_t re;

	cr_assert_eq(regcomp(&re, "^[a-z_]+\\{([a-z_]+=\"([^\"\\\\]|\\\\[\"\\\\n])*\",?)+\\} -?[0-9]+(\\.[0-9]+)?$",
		REG_EXTENDED | REG_NOSUB), 0);
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t n = strcspn(line, "\n");
		char *copy = strndup(line, n), *series;

		cr_assert_eq(line[n], '\n', "no newline at the end");
		if (line[0] != '#') {
			cr_expect_eq(regexec(&re, copy, 0, NULL, 0), 0, "%s", copy);
			*strrchr(copy, ' ') = '\0';
		}
		cr_assert(asprintf(&series, "\n%s%s", copy, line[0] == '#' ? "\n" : " ") > 0);
		cr_expect_null(strstr(line + n, series), "twice: %s", copy);
		free(series);
		free(copy);
	}
	regfree(&re);
}

Test(check_metrics, grammar)
{
	struct check *all[32];
	const char *name;
	size_t n = 0;
	char *text;

	while ((all[n] = check_sample(n, &name)) != NULL)
		n++;
	text = metrics(all, n);
	expect_grammar(text);
	free(text);
	text = metrics(all, 0);
	expect_grammar(text);
	free(text);
	for (size_t i = 0; i < n; i++)
		check_free(all[i]);
}

/* Addresses part the checks of one target; of two that are equal the first counts. */
Test(check_metrics, addresses)
{
	struct check *checks[] = { check_new("a"), check_new("a"), check_new("b"), check_new("a") };
	char *text;

	check_sample_text(&checks[0]->address, "192.0.2.1:443");
	check_sample_text(&checks[1]->address, "192.0.2.2:443");
	check_sample_text(&checks[3]->address, "192.0.2.1:443");
	check_fault_add(checks[3], CHECK_FAILED, CHECK_AT_DNS, "x");
	text = metrics(checks, 4);
	expect_grammar(text);
	cr_expect_not_null(strstr(text, "\ntlskit_probe_success{target=\"a\",address=\"192.0.2.1:443\"} 1\n"
		"tlskit_probe_success{target=\"a\",address=\"192.0.2.2:443\"} 1\n"
		"tlskit_probe_success{target=\"b\"} 1\n#"));
	free(text);
	for (size_t i = 0; i < 4; i++)
		check_free(checks[i]);
}

/* What is written tells series apart: these targets are one, once they are clean. */
Test(check_metrics, clean_targets)
{
	struct check *checks[] = { check_new("a\x01"), check_new("b"), check_new("a\x02"), check_new("a?") };
	char *text = metrics(checks, 4);

	expect_grammar(text);
	cr_expect_not_null(strstr(text, "\ntlskit_probe_success{target=\"a?\",address=\"\"} 1\n"
		"tlskit_probe_success{target=\"b\"} 1\n#"));
	free(text);
	for (size_t i = 0; i < 4; i++)
		check_free(checks[i]);
}

/* As they were given, however many there are. */
Test(check_metrics, order)
{
	enum { MANY = 1000 };
	struct check *checks[MANY];
	char *text, *at;

	for (size_t i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof(name), "h%zu", i * 7919 % MANY);
		checks[i] = check_new(name);
	}
	text = metrics(checks, MANY);
	at = strstr(text, "\ntlskit_probe_success{");
	for (size_t i = 0; i < MANY; i++) {
		char line[64];
		size_t n = (size_t)snprintf(line, sizeof(line), "\ntlskit_probe_success{target=\"%s\"} 1", checks[i]->target);

		cr_assert(at && strncmp(at, line, n) == 0, "%s", line);
		at += n;
	}
	cr_expect_eq(strncmp(at, "\n#", 2), 0);
	free(text);
	for (size_t i = 0; i < MANY; i++)
		check_free(checks[i]);
}

/* --- locale ------------------------------------------------------------------------------------ */

/* Whatever a program makes of the environment, a point stays one. */
Test(check_metrics, locale)
{
	static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8" };
	struct check *c;
	char *before[3], *after[3];
	size_t found = 0;

	while (found < sizeof(names) / sizeof(names[0]) && !setlocale(LC_ALL, names[found]))
		found++;
	if (found == sizeof(names) / sizeof(names[0]))
		cr_skip_test("no locale with another decimal point is installed");
	c = check_sample_ok();
	setlocale(LC_ALL, "C");
	before[0] = check_sample_json(c);
	before[1] = check_sample_nagios(c, 30, 14);
	before[2] = metrics(&c, 1);
	setlocale(LC_ALL, names[found]);
	after[0] = check_sample_json(c);
	after[1] = check_sample_nagios(c, 30, 14);
	after[2] = metrics(&c, 1);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_str_eq(after[i], before[i]);
		free(before[i]);
		free(after[i]);
	}
	check_free(c);
}
