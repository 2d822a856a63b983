/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/report/report_int.h"
#include "tests/unit/report_sample.h"
#include "tests/unit/timeout.h"

TestSuite(report, .timeout = TEST_TIMEOUT);

/* --- rates ----------------------------------------------------------------------------- */

Test(report, rate)
{
	static const struct {
		double rate;
		const char *unit;
		enum report_unit u;
		const char *text;
	} cases[] = {
		{ 1.234e9, "bytes/s", REPORT_UNIT_AUTO, "1.23 GB/s" },
		{ 12.34e6, "bytes/s", REPORT_UNIT_AUTO, "12.3 MB/s" },
		{ 123456, "bytes/s", REPORT_UNIT_AUTO, "123 kB/s" },
		{ 7, "bytes/s", REPORT_UNIT_AUTO, "7.00 B/s" },
		{ 5e15, "bytes/s", REPORT_UNIT_AUTO, "5000 TB/s" },
		/* what rounds up to the next digit or unit */
		{ 999.4e6, "bytes/s", REPORT_UNIT_AUTO, "999 MB/s" },
		{ 999.6e6, "bytes/s", REPORT_UNIT_AUTO, "1.00 GB/s" },
		{ 9.996e6, "bytes/s", REPORT_UNIT_AUTO, "10.0 MB/s" },
		{ 99.96e6, "bytes/s", REPORT_UNIT_AUTO, "100 MB/s" },
		{ 1.234e9, "bytes/s", REPORT_UNIT_MB, "1234 MB/s" },
		{ 12345, "bytes/s", REPORT_UNIT_MB, "0.0123 MB/s" },
		{ 851443712, "bytes/s", REPORT_UNIT_MIB, "812 MiB/s" },
		{ 1.225e9, "bytes/s", REPORT_UNIT_GBIT, "9.80 Gbit/s" },
		{ 12345, "operations/s", REPORT_UNIT_AUTO, "12.3 k/s" },
		{ 812, "operations/s", REPORT_UNIT_GBIT, "812/s" },
		{ 1.5e6, "operations/s", REPORT_UNIT_AUTO, "1.50 M/s" },
		{ 12345, "handshakes/s", REPORT_UNIT_AUTO, "12.3 k handshakes/s" },
		{ 812, "handshakes/s", REPORT_UNIT_AUTO, "812 handshakes/s" },
		{ 0, "bytes/s", REPORT_UNIT_AUTO, "0 B/s" },
		{ NAN, "bytes/s", REPORT_UNIT_AUTO, "unknown" },
		{ INFINITY, "operations/s", REPORT_UNIT_AUTO, "unknown" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[64];

		report_rate(cases[i].rate, cases[i].unit, cases[i].u, out, sizeof(out));
		cr_expect_str_eq(out, cases[i].text, "%g %s: %s, not %s", cases[i].rate, cases[i].unit, out, cases[i].text);
	}
}

/* One unit for many: the least value keeps three digits. */
Test(report, scale)
{
	static const struct {
		double middle, least;
		const char *name;
		int decimals;
	} cases[] = {
		{ 3e9, 1.2e9, "GB/s", 2 },
		{ 3e9, 0.2e9, "GB/s", 3 },
		{ 3e9, 50e6, "MB/s", 1 },
		{ 3e9, 0.5e6, "MB/s", 3 },
		{ 3e9, 50e3, "kB/s", 1 },
		{ 500e6, 120e6, "MB/s", 0 },
		{ NAN, NAN, "B/s", 0 },
	};
	struct report_scale s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		report_scale_rate(&s, "bytes/s", REPORT_UNIT_AUTO, cases[i].middle, cases[i].least);
		cr_expect_str_eq(s.name, cases[i].name, "%zu: %s", i, s.name);
		cr_expect_eq(s.decimals, cases[i].decimals, "%zu: %d", i, s.decimals);
	}
	report_scale_rate(&s, "bytes/s", REPORT_UNIT_GBIT, 1e9, 1e9);
	cr_expect(strcmp(s.name, "Gbit/s") == 0 && s.divisor == 125e6 && s.decimals == 2);
	report_scale_rate(&s, "operations/s", REPORT_UNIT_GBIT, 99999, 5000);
	cr_expect(strcmp(s.name, "op/s") == 0 && s.decimals == 0);
	report_scale_rate(&s, "operations/s", REPORT_UNIT_AUTO, 100e3, 5000);
	cr_expect(strcmp(s.name, "k op/s") == 0 && s.decimals == 2);
	report_scale_ns(&s, 812, 3);
	cr_expect(strcmp(s.name, "ns") == 0 && s.decimals == 0);
}

Test(report, param_values)
{
	static const struct {
		const char *name;
		double number;
		const char *label, *value;
	} cases[] = {
		{ "size_bytes", 16384, "size", "16 KiB" },
		{ "size_bytes", 1400, "size", "1400 B" },
		{ "size_bytes", 0, "size", "0 B" },
		{ "size_bytes", 1048576, "size", "1 MiB" },
		{ "size_bytes", 1.5, "size", "1.5 B" },
		{ "size_bytes", 1e30, "size", "1e+30 B" },
		{ "pause_ms", 2.5, "pause", "2.5 ms" },
		{ "key_bits", 2048, "key", "2048 bits" },
		{ "io_threads", 4, "io threads", "4" },
		{ "_bytes", 4, " bytes", "4" },
		{ "s", 0.1, "s", "0.1" },
	};
	struct row_param unknown = { (char *)"a", NULL, NAN };
	char out[REPORT_VALUE_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct row_param p = { (char *)cases[i].name, NULL, cases[i].number };

		cr_expect_str_eq(report_param_label(p.name, out), cases[i].label, "%zu: %s", i, out);
		cr_expect_str_eq(report_param_value(&p, out), cases[i].value, "%zu: %s", i, out);
	}
	cr_expect_null(report_param_value(&unknown, out));
}

Test(report, wrap)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_wrap(out, 20, 4, 0, "One two three  four fünfünf six");
	report_wrap(out, 20, 4, 0, "averyveryverylongwordindeed b");
	report_wrap(out, 20, 4, 15, "abcde f");
	report_wrap(out, 0, 4, 0, "as wide as it gets, whatever that is");
	report_wrap(out, 20, 4, 0, "");
	fclose(out);
	sample_same(text, "One two three four\n    fünfünf six\naveryveryverylongwordindeed\n    b\nabcde\n    f\n"
		"as wide as it gets, whatever that is\n\n");
	free(text);
}

/* --- whole documents ------------------------------------------------------------------- */

static const struct {
	enum report_format format;
	int width;
	const char *text;
} prints[] = {
	{ REPORT_TEXT, 80,
	  "tlskit 0.1.0, bench-tls\n"
	  "processor  ARM Cortex-A72 r0p3, aarch64, cores: 4, up to 1.50 GHz\n"
	  "board      Raspberry Pi 4 Model B Rev 1.4\n"
	  "features   neon\n"
	  "state      41.5 °C before, 63.0 °C after\n"
	  "system     Linux 6.1.0, virtual: no\n"
	  "libraries  GnuTLS 3.7.9\n"
	  "samples    5 a row, 0.5 s each, shown as their median, ±% is 1.4826 MAD of it\n"
	  "started    2026-11-30 18:49:32 UTC, took 65 s\n"
	  "command    tlskit bench-tls mem\n"
	  "\n"
	  "aead: engine gnutls\n"
	  "                 size    MB/s   ±%     min     max  cpu/wall\n"
	  "  AES-128-GCM  16 KiB  1250.0  1.5  1225.0  1275.0      1.00  NF\n"
	  "  AES-128-GCM  1400 B    62.5  1.5    61.2    63.8      1.00\n"
	  "  AES-128-CCM  1400 B\n"
	  "      error: decryption gave back another text than the one that was encrypted\n"
	  "      before\n"
	  "  ГОСТ         1400 B  unavailable: not in this library\n"
	  "\n"
	  "echo: version TLS1.3, suite TLS_AES_128_GCM_SHA256, group X25519, signature\n"
	  "  ecdsa_secp256r1_sha256, cert 256 bits, dataplane direct\n"
	  "          conns  resumed   op/s   ±%  p50 µs  p99 µs  p99.9 µs  client KiB\n"
	  "  shared      1  no       12345  1.5    81.0   243.0     324.0           -\n"
	  "  shared     16  yes      45678  1.5   350.0  1050.0    1400.0        40.0\n"
	  "\n"
	  "  N  noisy: the deviation is above 2 % of the median\n"
	  "  F  the clock frequency moved meanwhile\n"
	  "\n"
	  "No AES instructions here: prefer ChaCha20-Poly1305, it is three times as fast as\n"
	  "  AES-128-GCM.\n" },
	{ REPORT_TEXT, 0,
	  "tlskit 0.1.0, bench-tls\n"
	  "processor  ARM Cortex-A72 r0p3, aarch64, cores: 4, up to 1.50 GHz\n"
	  "board      Raspberry Pi 4 Model B Rev 1.4\n"
	  "features   neon\n"
	  "state      41.5 °C before, 63.0 °C after\n"
	  "system     Linux 6.1.0, virtual: no\n"
	  "libraries  GnuTLS 3.7.9\n"
	  "samples    5 a row, 0.5 s each, shown as their median, ±% is 1.4826 MAD of it\n"
	  "started    2026-11-30 18:49:32 UTC, took 65 s\n"
	  "command    tlskit bench-tls mem\n"
	  "\n"
	  "aead: engine gnutls\n"
	  "                 size    MB/s   ±%     min     max  cpu/wall\n"
	  "  AES-128-GCM  16 KiB  1250.0  1.5  1225.0  1275.0      1.00  NF\n"
	  "  AES-128-GCM  1400 B    62.5  1.5    61.2    63.8      1.00\n"
	  "  AES-128-CCM  1400 B  error: decryption gave back another text than the one that was encrypted before\n"
	  "  ГОСТ         1400 B  unavailable: not in this library\n"
	  "\n"
	  "echo: version TLS1.3, suite TLS_AES_128_GCM_SHA256, group X25519, signature ecdsa_secp256r1_sha256, cert 256 bits, dataplane direct\n"
	  "          conns  resumed   op/s   ±%    min    max  cpu/wall  p50 µs  p90 µs  p99 µs  p99.9 µs  longest µs  client KiB\n"
	  "  shared      1  no       12345  1.5  12098  12592      1.00    81.0   162.0   243.0     324.0       405.0           -\n"
	  "  shared     16  yes      45678  1.5  44764  46592      1.00   350.0   700.0  1050.0    1400.0      1750.0        40.0\n"
	  "\n"
	  "  N  noisy: the deviation is above 2 % of the median\n"
	  "  F  the clock frequency moved meanwhile\n"
	  "\n"
	  "No AES instructions here: prefer ChaCha20-Poly1305, it is three times as fast as AES-128-GCM.\n" },
	{ REPORT_TEXT, 36,
	  "tlskit 0.1.0, bench-tls\n"
	  "processor  ARM Cortex-A72 r0p3,\n"
	  "           aarch64, cores: 4, up to\n"
	  "           1.50 GHz\n"
	  "board      Raspberry Pi 4 Model B\n"
	  "           Rev 1.4\n"
	  "features   neon\n"
	  "state      41.5 °C before, 63.0 °C\n"
	  "           after\n"
	  "system     Linux 6.1.0, virtual: no\n"
	  "libraries  GnuTLS 3.7.9\n"
	  "samples    5 a row, 0.5 s each,\n"
	  "           shown as their median, ±%\n"
	  "           is 1.4826 MAD of it\n"
	  "started    2026-11-30 18:49:32 UTC,\n"
	  "           took 65 s\n"
	  "command    tlskit bench-tls mem\n"
	  "\n"
	  "aead: engine gnutls\n"
	  "                 size    MB/s\n"
	  "  AES-128-GCM  16 KiB  1250.0  NF\n"
	  "  AES-128-GCM  1400 B    62.5\n"
	  "  AES-128-CCM  1400 B\n"
	  "      error: decryption gave back\n"
	  "      another text than the one that\n"
	  "      was encrypted before\n"
	  "  ГОСТ         1400 B\n"
	  "      unavailable: not in this\n"
	  "      library\n"
	  "\n"
	  "echo: version TLS1.3, suite\n"
	  "  TLS_AES_128_GCM_SHA256, group\n"
	  "  X25519, signature\n"
	  "  ecdsa_secp256r1_sha256, cert 256\n"
	  "  bits, dataplane direct\n"
	  "          conns  resumed   op/s   ±%\n"
	  "  shared      1  no       12345  1.5\n"
	  "  shared     16  yes      45678  1.5\n"
	  "\n"
	  "  N  noisy: the deviation is above 2\n"
	  "     % of the median\n"
	  "  F  the clock frequency moved\n"
	  "     meanwhile\n"
	  "\n"
	  "No AES instructions here: prefer\n"
	  "  ChaCha20-Poly1305, it is three\n"
	  "  times as fast as AES-128-GCM.\n" },
	{ REPORT_MARKDOWN, 0,
	  "# bench-tls\n"
	  "\n"
	  "- tool: tlskit 0.1.0\n"
	  "- processor: ARM Cortex-A72 r0p3, aarch64, cores: 4, up to 1.50 GHz\n"
	  "- board: Raspberry Pi 4 Model B Rev 1.4\n"
	  "- features: neon\n"
	  "- state: 41.5 °C before, 63.0 °C after\n"
	  "- system: Linux 6.1.0, virtual: no\n"
	  "- libraries: GnuTLS 3.7.9\n"
	  "- samples: 5 a row, 0.5 s each, shown as their median, ±% is 1.4826 MAD of it\n"
	  "- started: 2026-11-30 18:49:32 UTC, took 65 s\n"
	  "- command: tlskit bench-tls mem\n"
	  "\n"
	  "## aead: engine gnutls\n"
	  "\n"
	  "|  | size | MB/s | ±% | min | max | cpu/wall |  |\n"
	  "| :-- | --: | --: | --: | --: | --: | --: | :-- |\n"
	  "| AES-128-GCM | 16 KiB | 1250.0 | 1.5 | 1225.0 | 1275.0 | 1.00 | NF |\n"
	  "| AES-128-GCM | 1400 B | 62.5 | 1.5 | 61.2 | 63.8 | 1.00 |  |\n"
	  "| AES-128-CCM | 1400 B | error: decryption gave back another text than the one that was encrypted before |  |  |  |  |  |\n"
	  "| ГОСТ | 1400 B | unavailable: not in this library |  |  |  |  |  |\n"
	  "\n"
	  "## echo: version TLS1.3, suite TLS_AES_128_GCM_SHA256, group X25519, signature ecdsa_secp256r1_sha256, cert 256 bits, dataplane direct\n"
	  "\n"
	  "|  | conns | resumed | op/s | ±% | min | max | cpu/wall | p50 µs | p90 µs | p99 µs | p99.9 µs | longest µs | client KiB |\n"
	  "| :-- | --: | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
	  "| shared | 1 | no | 12345 | 1.5 | 12098 | 12592 | 1.00 | 81.0 | 162.0 | 243.0 | 324.0 | 405.0 | - |\n"
	  "| shared | 16 | yes | 45678 | 1.5 | 44764 | 46592 | 1.00 | 350.0 | 700.0 | 1050.0 | 1400.0 | 1750.0 | 40.0 |\n"
	  "\n"
	  "- N: noisy: the deviation is above 2 % of the median\n"
	  "- F: the clock frequency moved meanwhile\n"
	  "\n"
	  "No AES instructions here: prefer ChaCha20-Poly1305, it is three times as fast as AES-128-GCM.\n" },
	{ REPORT_CSV, 0,
	  "id,kind,title,status,reason,engine,size_bytes,conns,negotiated_version,negotiated_suite,negotiated_group,negotiated_signature,negotiated_cert_bits,negotiated_resumed,negotiated_dataplane,cpu_s,wall_s,latency_count,latency_min_ns,latency_mean_ns,latency_p50_ns,latency_p90_ns,latency_p99_ns,latency_p999_ns,latency_max_ns,mem_client_bytes,mem_server_bytes,flags,unit,sample,value\n"
	  "aead/aes/16384,aead,AES-128-GCM,ok,,gnutls,16384,,,,,,,,,2.5,2.5,,,,,,,,,,,noisy frequency-moved,bytes/s,0,1225000000\n"
	  "aead/aes/16384,aead,AES-128-GCM,ok,,gnutls,16384,,,,,,,,,2.5,2.5,,,,,,,,,,,noisy frequency-moved,bytes/s,1,1237500000\n"
	  "aead/aes/16384,aead,AES-128-GCM,ok,,gnutls,16384,,,,,,,,,2.5,2.5,,,,,,,,,,,noisy frequency-moved,bytes/s,2,1250000000\n"
	  "aead/aes/16384,aead,AES-128-GCM,ok,,gnutls,16384,,,,,,,,,2.5,2.5,,,,,,,,,,,noisy frequency-moved,bytes/s,3,1262500000\n"
	  "aead/aes/16384,aead,AES-128-GCM,ok,,gnutls,16384,,,,,,,,,2.5,2.5,,,,,,,,,,,noisy frequency-moved,bytes/s,4,1275000000\n"
	  "echo/1,echo,shared,ok,,,,1,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,false,direct,2.5,2.5,1000,40500,121500,81000,162000,243000,324000,405000,,,,operations/s,0,12098.1\n"
	  "echo/1,echo,shared,ok,,,,1,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,false,direct,2.5,2.5,1000,40500,121500,81000,162000,243000,324000,405000,,,,operations/s,1,12221.550000000001\n"
	  "echo/1,echo,shared,ok,,,,1,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,false,direct,2.5,2.5,1000,40500,121500,81000,162000,243000,324000,405000,,,,operations/s,2,12345\n"
	  "echo/1,echo,shared,ok,,,,1,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,false,direct,2.5,2.5,1000,40500,121500,81000,162000,243000,324000,405000,,,,operations/s,3,12468.45\n"
	  "echo/1,echo,shared,ok,,,,1,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,false,direct,2.5,2.5,1000,40500,121500,81000,162000,243000,324000,405000,,,,operations/s,4,12591.9\n"
	  "aead/aes/1400,aead,AES-128-GCM,ok,,gnutls,1400,,,,,,,,,2.5,2.5,,,,,,,,,,,,bytes/s,0,61250000\n"
	  "aead/aes/1400,aead,AES-128-GCM,ok,,gnutls,1400,,,,,,,,,2.5,2.5,,,,,,,,,,,,bytes/s,1,61875000\n"
	  "aead/aes/1400,aead,AES-128-GCM,ok,,gnutls,1400,,,,,,,,,2.5,2.5,,,,,,,,,,,,bytes/s,2,62500000\n"
	  "aead/aes/1400,aead,AES-128-GCM,ok,,gnutls,1400,,,,,,,,,2.5,2.5,,,,,,,,,,,,bytes/s,3,63125000\n"
	  "aead/aes/1400,aead,AES-128-GCM,ok,,gnutls,1400,,,,,,,,,2.5,2.5,,,,,,,,,,,,bytes/s,4,63750000\n"
	  "aead/ccm/1400,aead,AES-128-CCM,error,decryption gave back another text than the one that was encrypted before,gnutls,1400,,,,,,,,,,,,,,,,,,,,,,bytes/s,,\n"
	  "aead/gost/1400,aead,ГОСТ,unavailable,not in this library,gnutls,1400,,,,,,,,,,,,,,,,,,,,,,bytes/s,,\n"
	  "echo/16,echo,shared,ok,,,,16,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,true,direct,2.5,2.5,1000,175000,525000,350000,700000,1050000,1400000,1750000,40960,,,operations/s,0,44764.439999999995\n"
	  "echo/16,echo,shared,ok,,,,16,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,true,direct,2.5,2.5,1000,175000,525000,350000,700000,1050000,1400000,1750000,40960,,,operations/s,1,45221.219999999994\n"
	  "echo/16,echo,shared,ok,,,,16,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,true,direct,2.5,2.5,1000,175000,525000,350000,700000,1050000,1400000,1750000,40960,,,operations/s,2,45678\n"
	  "echo/16,echo,shared,ok,,,,16,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,true,direct,2.5,2.5,1000,175000,525000,350000,700000,1050000,1400000,1750000,40960,,,operations/s,3,46134.78\n"
	  "echo/16,echo,shared,ok,,,,16,TLS1.3,TLS_AES_128_GCM_SHA256,X25519,ecdsa_secp256r1_sha256,256,true,direct,2.5,2.5,1000,175000,525000,350000,700000,1050000,1400000,1750000,40960,,,operations/s,4,46591.56\n" },
};

Test(report, printed)
{
	struct doc *d = sample_doc();

	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]); i++) {
		char *text = sample_written(d, prints[i].format, prints[i].width);

		sample_same(text, prints[i].text);
		free(text);
	}
	doc_free(d);
}

Test(report, colour)
{
	static const char *const pieces[] = { "\033[1mtlskit 0.1.0, bench-tls\n\033[0m", "\033[31merror: decryption",
		"\033[33mNF\033[0m\n" };
	struct doc *d = sample_doc();
	struct report_style s = { .width = 0, .colour = true };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(report_write(out, d, REPORT_TEXT, &s, &e), 0);
	fclose(out);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		cr_expect_not_null(strstr(text, pieces[i]), "%zu in %s", i, text);
	free(text);
	text = sample_written(d, REPORT_TEXT, 0);
	cr_expect_null(strchr(text, '\033'));
	free(text);
	doc_free(d);
}

static void check_lines(const char *text, int width)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		cr_expect_leq((int)utf8_columns(text, n), width, "%d columns of %d: %.*s", (int)utf8_columns(text, n), width,
			(int)n, text);
		cr_expect(n == 0 || text[n - 1] != ' ', "a blank at the end of \"%.*s\"", (int)n, text);
		text += n + (text[n] != '\0');
	}
}

/* No line is longer than the screen, at any width in which the columns that must
 * stay have room. */
Test(report, widths)
{
	struct doc *d = sample_doc();

	doc_set(&d->rows[2]->title, "a-title-that-is-longer-than-many-a-terminal-is-wide-and-must-be-cut-short");
	for (int width = 40; width < 250; width++) {
		char *text = sample_written(d, REPORT_TEXT, width);

		check_lines(text, width);
		free(text);
	}
	doc_free(d);
}

/* Names that came from a file do nothing to a terminal or a page. */
Test(report, hostile_names)
{
	static const char name[] = "a\033[2J|b\n<i>*\xff\"\u202e";
	struct doc *d = doc_new(name);
	char *text;

	row_param_text(sample_row(d, name, name, name, "bytes/s", 1e6), name, name);
	sample_row(d, "2", name, "b", "bytes/s", 1e6);
	doc_add_advice(d, name);
	doc_set(&d->tool, name);
	text = sample_written(d, REPORT_TEXT, 0);
	cr_expect_null(strpbrk(text, "\033\xff"));
	cr_expect_not_null(strstr(text, "\na?[2J|b?<i>*?\"?\n"), "%s", text);
	cr_expect_not_null(strstr(text, "  a?[2J|b?<i>*?\"?  a?[2J|b?<i>*?\"?  1.00  "), "%s", text);
	free(text);
	text = sample_written(d, REPORT_MARKDOWN, 0);
	cr_expect_null(strpbrk(text, "\033\xff"));
	cr_expect_not_null(strstr(text, "\n| a?\\[2J\\|b?\\<i\\>\\*?\"? | a?\\[2J\\|b?\\<i\\>\\*?\"? | 1.00 |"), "%s", text);
	free(text);
	text = sample_written(d, REPORT_CSV, 0);
	cr_expect_not_null(strstr(text, "\n\"a\033[2J|b\n<i>*\xff\"\"\u202e\",\"a\033[2J"), "%s", text);
	free(text);
	doc_free(d);
}

/* A param that is called like a column of CSV is told from it. */
Test(report, csv_names)
{
	struct doc *d = doc_new("bench-kx");
	struct row *r = sample_row(d, "1", "k", "t", "bytes/s", 1e6);
	char *text;

	row_param_text(r, "unit", "mine");
	row_param_number(r, "value", 0.1);
	row_param_number(r, "void", NAN);
	text = sample_written(d, REPORT_CSV, 0);
	cr_expect_eq(strncmp(text, "id,kind,title,status,reason,param_unit,param_value,void,negotiated_version,", 75), 0,
		"%s", text);
	cr_expect_not_null(strstr(text, "\n1,k,t,ok,,mine,0.1,,,,"), "%s", text);
	free(text);
	doc_free(d);
}

Test(report, write_error)
{
	struct doc *d = sample_doc();
	struct report_style s = { 0 };

	for (int f = REPORT_TEXT; f <= REPORT_MARKDOWN; f++) {
		FILE *full = fopen("/dev/full", "w");
		struct err e = { 0 };

		if (!full)
			cr_skip_test("there is no /dev/full");
		cr_expect_eq(report_write(full, d, (enum report_format)f, &s, &e), -1);
		cr_expect_str_eq(e.msg, "cannot write the report: No space left on device");
		cr_expect_eq(e.kind, ERR_RUNTIME);
		fclose(full);
	}
	doc_free(d);
}

/* What was asked for and agreed on alike stands there once; what differs, twice. */
Test(report, asked_and_agreed)
{
	struct doc *d = doc_new("bench-kx");
	struct row *r = sample_row(d, "1", "handshake", "t", "operations/s", 1000);
	char *text;

	row_param_text(r, "group", "x25519");
	row_param_text(r, "version", "auto");
	r->negotiated = calloc(1, sizeof(*r->negotiated));
	*r->negotiated = (struct row_negotiated){ strdup("TLS1.3"), NULL, strdup("X25519"), NULL, NULL, -1, -1 };
	text = sample_written(d, REPORT_TEXT, 80);
	cr_expect_not_null(strstr(text, "\nhandshake: group x25519, version auto, version TLS1.3\n"), "%s", text);
	free(text);
	doc_free(d);
}

Test(report, interrupted)
{
	struct doc *d = doc_new("bench-kx");
	char *text;

	d->interrupted = true;
	text = sample_written(d, REPORT_TEXT, 80);
	sample_same(text, "bench-kx\nprocessor  unknown\n\nInterrupted: what was finished by then.\n");
	free(text);
	doc_free(d);
}
