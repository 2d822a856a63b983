/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <event2/event.h>
#include <gnutls/gnutls.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "cli/version.h"
#include "lib/tls/aead.h"

void version_print(FILE *out)
{
	const struct aead_choice *c;

	fprintf(out, "tlskit %s\n", PACKAGE_VERSION);
	fprintf(out, "GnuTLS %s\n", gnutls_check_version(NULL));
	fprintf(out, "libevent %s\n", event_get_version());
#ifdef HAVE_SODIUM
	fprintf(out, "libsodium %s\n", sodium_version_string());
#endif
	c = aead_chacha_choice();
	if (c->sodium_mb_s > 0)
		fprintf(out, "ChaCha20-Poly1305 by %s (here: GnuTLS %.0f MB/s, libsodium %.0f MB/s)\n", c->engine,
			c->gnutls_mb_s, c->sodium_mb_s);
	else
		fprintf(out, "ChaCha20-Poly1305 by %s\n", c->engine);
}
