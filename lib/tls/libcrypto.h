/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_LIBCRYPTO_H
#define TLSKIT_TLS_LIBCRYPTO_H

#include <stdbool.h>

#include "lib/base/lazy.h"

/* OpenSSL's libcrypto, for what it is faster at: ciphers (aead_engines.c) and
 * signatures (signer.c). Loaded when it is asked for (lazy.h), and never configured:
 * openssl.cnf is for programs that are OpenSSL's. False: it is not in this build or not
 * on this machine. Once a table; the caller sees to that. */
bool libcrypto_load(const struct lazy_symbol *symbols);

#endif
