/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <event2/event.h>
#include <gnutls/gnutls.h>
#ifdef HAVE_SODIUM
#include <sodium.h>
#endif

#include "cli/version.h"

void version_print(FILE *out)
{
	fprintf(out, "tlskit %s\n", PACKAGE_VERSION);
	fprintf(out, "GnuTLS %s\n", gnutls_check_version(NULL));
	fprintf(out, "libevent %s\n", event_get_version());
#ifdef HAVE_SODIUM
	fprintf(out, "libsodium %s\n", sodium_version_string());
#endif
}
