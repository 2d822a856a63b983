/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "cli/bench_ciphers.h"

#include <string.h>

#include "lib/base/cpu.h"

/* TLS 1.3's suites, by their AEAD (RFC 8446, 9.1): what there is to choose from.
 * The short tags of CCM-8 are for devices that must have them. */
static bool is_choice(const struct row *r)
{
	static const char *const names[] = { "AES-128-GCM", "AES-256-GCM", "CHACHA20-POLY1305", "AES-128-CCM", NULL };

	for (const char *const *n = names; *n != NULL; n++) {
		if (strcmp(r->title, *n) == 0)
			return true;
	}
	return false;
}

/* The fastest record row of one thread at a size, sealing; NULL: none. */
static const struct row *fastest(const struct doc *d, double size_bytes)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < d->n_rows; i++) {
		const struct row *r = d->rows[i];
		const char *op = row_text(r, "op"), *accel = row_text(r, "accel");

		if (r->status != ROW_OK || strcmp(r->kind, "record") != 0 || !is_choice(r) || row_number(r, "size_bytes") != size_bytes ||
			row_number(r, "threads") != 1 || !op || strcmp(op, "encrypt") != 0 || !accel || strcmp(accel, "on") != 0)
			continue;
		if (best == NULL || r->stats.median > best->stats.median)
			best = r;
	}
	return best;
}

static int say_fastest(struct doc *d, double size_bytes, const char *size_text)
{
	const struct row *r = fastest(d, size_bytes);
	char rate[32], text[200];

	if (r == NULL)
		return 0;
	snprintf(text, sizeof(text), "Fastest AEAD for TLS records of %s: %s by %s, %s.", size_text, r->title, row_text(r, "engine"),
		report_rate(r->stats.median, r->unit, REPORT_UNIT_AUTO, rate, sizeof(rate)));
	return doc_add_advice(d, text);
}

int bench_ciphers_advise(struct doc *d)
{
	if (say_fastest(d, 16384, "16 KiB") < 0 || say_fastest(d, 1400, "1400 bytes") < 0)
		return -1;
	if (!cpu_has_aes() && doc_add_advice(d, "This processor has no AES instructions: prefer CHACHA20-POLY1305, which also takes "
						"the same time for every key and text.") < 0)
		return -1;
	return 0;
}
