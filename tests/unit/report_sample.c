/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "tests/unit/report_sample.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct row *sample_row(struct doc *d, const char *id, const char *kind, const char *title, const char *unit,
	double middle)
{
	struct row *r = row_new(id, kind, title, unit);

	cr_assert_not_null(r);
	for (int i = 98; i <= 102; i++)
		cr_assert_eq(row_add_sample(r, middle / 100 * i), 0);
	r->cpu_s = r->wall_s = 2.5;
	cr_assert_eq(row_finish(r, 1), 0);
	cr_assert_eq(r->flags, 0u);
	cr_assert_eq(doc_add_row(d, r), 0);
	return r;
}

static struct row *aead(struct doc *d, const char *id, const char *title, double size, double middle)
{
	struct row *r = sample_row(d, id, "aead", title, "bytes/s", middle);

	row_param_text(r, "engine", "gnutls");
	row_param_number(r, "size_bytes", size);
	return r;
}

static void fail(struct row *r, enum row_status status, const char *reason)
{
	r->n_samples = 0;
	cr_assert_eq(row_finish(r, 1), 0);
	cr_assert_eq(row_fail(r, status, reason), 0);
}

static struct row *echo(struct doc *d, const char *id, double conns, double middle, uint64_t p50)
{
	struct row *r = sample_row(d, id, "echo", "shared", "operations/s", middle);

	row_param_number(r, "conns", conns);
	r->latency = malloc(sizeof(*r->latency));
	*r->latency = (struct row_latency){ 1000, p50 / 2, p50, p50 * 2, p50 * 3, p50 * 4, p50 * 5, 1.5 * (double)p50 };
	r->negotiated = malloc(sizeof(*r->negotiated));
	*r->negotiated = (struct row_negotiated){ strdup("TLS1.3"), strdup("TLS_AES_128_GCM_SHA256"), strdup("X25519"),
		strdup("ecdsa_secp256r1_sha256"), strdup("direct"), 256, 0 };
	return r;
}

static struct host *host(void)
{
	struct host *h = calloc(1, sizeof(*h));

	h->cpu = strdup("ARM Cortex-A72 r0p3");
	h->board = strdup("Raspberry Pi 4 Model B Rev 1.4");
	h->architecture = strdup("aarch64");
	h->features = strdup("neon");
	h->cores_online = h->cores_usable = 4;
	h->freq_max_hz = 1.5e9;
	h->temp_before_c = 41.5;
	h->temp_after_c = 63;
	h->memory_bytes = -1;
	h->kernel = strdup("Linux 6.1.0");
	h->virtualization = strdup("none");
	return h;
}

struct doc *sample_doc(void)
{
	struct doc *d = doc_new("bench-tls");
	struct row *r;

	cr_assert_not_null(d);
	doc_set(&d->tool, "tlskit 0.1.0");
	doc_set(&d->arguments, "tlskit bench-tls mem");
	d->started_ms = 1796064572624;
	d->duration_s = 65.25;
	d->sample_s = 0.5;
	d->n_samples = 5;
	doc_add_library(d, "GnuTLS", "3.7.9");
	d->host = host();
	aead(d, "aead/aes/16384", "AES-128-GCM", 16384, 1.25e9)->flags = ROW_NOISY | ROW_FREQUENCY;
	echo(d, "echo/1", 1, 12345, 81000);
	aead(d, "aead/aes/1400", "AES-128-GCM", 1400, 62.5e6);
	fail(aead(d, "aead/ccm/1400", "AES-128-CCM", 1400, 1), ROW_ERROR,
		"decryption gave back another text than the one that was encrypted before");
	fail(aead(d, "aead/gost/1400", "ГОСТ", 1400, 1), ROW_UNAVAILABLE, "not in this library");
	r = echo(d, "echo/16", 16, 45678, 350000);
	r->negotiated->resumed = 1;
	r->mem = malloc(sizeof(*r->mem));
	*r->mem = (struct row_mem){ 40960, -1 };
	r->env.freq_before_hz = 1.5e9;
	doc_add_advice(d, "No AES instructions here: prefer ChaCha20-Poly1305, it is three times as fast as AES-128-GCM.");
	return d;
}

char *sample_written(const struct doc *d, enum report_format f, int width)
{
	struct report_style s = { .width = width };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert_eq(report_write(out, d, f, &s, &e), 0, "%s", e.msg);
	fclose(out);
	return text;
}

void sample_same(const char *is, const char *expected)
{
	size_t line = 1, start = 0, i = 0;

	for (; is[i] && is[i] == expected[i]; i++) {
		if (is[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	cr_assert(is[i] == expected[i], "line %zu is\n%.*s\nand not\n%.*s\nof\n%s", line, (int)strcspn(is + start, "\n"),
		is + start, (int)strcspn(expected + start, "\n"), expected + start, is);
}
