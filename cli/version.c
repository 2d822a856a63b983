/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <event2/event.h>
#include <gnutls/gnutls.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "cli/version.h"
#include "lib/tls/aead.h"
#include "lib/tls/x25519.h"

void version_print(FILE *out)
{
	const struct x25519_choice *x = x25519_choose();
	const struct aead_choice *c;

	fprintf(out, "tlskit %s\n", PACKAGE_VERSION);
	fprintf(out, "GnuTLS %s\n", gnutls_check_version(NULL));
	fprintf(out, "libevent %s\n", event_get_version());
#ifdef HAVE_SODIUM
	fprintf(out, "libsodium %s\n", sodium_version_string());
#endif
	if (aead_libcrypto_version())
		fprintf(out, "libcrypto (OpenSSL) %s, for ciphers and signatures\n", aead_libcrypto_version());
	if (aead_ipsec_mb_version())
		fprintf(out, "ipsec-mb %s, for ciphers alone\n", aead_ipsec_mb_version());
	for (size_t i = 0; (c = aead_choice(i)) != NULL; i++) {
		fprintf(out, "%s by %s (here", c->cipher, c->engine);
		for (size_t k = 0; k < c->n; k++)
			fprintf(out, "%s %s %.0f MB/s", k ? "," : ":", c->tried[k].engine, c->tried[k].mb_s);
		fputs(")\n", out);
	}
	if (x)
		fprintf(out, "X25519 by %s (here: Nettle %.0f µs, libsodium %.0f µs)\n", x->engine, x->nettle_us, x->sodium_us);
}
