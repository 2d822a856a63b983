/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/libcrypto.h"

#ifdef HAVE_LIBCRYPTO
#include <openssl/crypto.h>

#define LIBCRYPTO_SONAME "libcrypto.so.3"

bool libcrypto_load(const struct lazy_symbol *symbols)
{
	static typeof(OPENSSL_init_crypto) *init;
	static const struct lazy_symbol first[] = { { "OPENSSL_init_crypto", &init }, { NULL, NULL } };

	return lazy_load(LIBCRYPTO_SONAME, first) && init(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1 &&
		lazy_load(LIBCRYPTO_SONAME, symbols);
}
#else
bool libcrypto_load(const struct lazy_symbol *symbols)
{
	(void)symbols;
	return false;
}
#endif
