/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/aead_int.h"

#ifdef HAVE_IPSEC_MB
#include <gnutls/gnutls.h>
#include <intel-ipsec-mb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/lazy.h"

/* Intel's Multi-Buffer Crypto for IPsec: AES-GCM and ChaCha20-Poly1305 with vector AES
 * instructions (VAES), which GnuTLS and OpenSSL 3.0 have no code for. Of its interface
 * only the direct functions are used, which keep nothing in the manager, so that all
 * threads share one. Loaded when it is asked for (lazy.h). */

static struct {
	typeof(imb_get_version) *version;
	typeof(imb_get_version_str) *version_text;
	typeof(alloc_mb_mgr) *new_manager;
	typeof(free_mb_mgr) *free_manager;
	typeof(init_mb_mgr_auto) *choose_code;
	typeof(imb_get_errno) *error;
} imb;

static IMB_MGR *manager; /* stays; NULL: of no use here */

static bool library_load(void)
{
	static const struct lazy_symbol symbols[] = {
		LAZY_SYMBOL(imb, version, imb_get_version),
		LAZY_SYMBOL(imb, version_text, imb_get_version_str),
		LAZY_SYMBOL(imb, new_manager, alloc_mb_mgr),
		LAZY_SYMBOL(imb, free_manager, free_mb_mgr),
		LAZY_SYMBOL(imb, choose_code, init_mb_mgr_auto),
		LAZY_SYMBOL(imb, error, imb_get_errno),
		{ NULL, NULL },
	};
	char soname[32];

	snprintf(soname, sizeof(soname), "libIPSec_MB.so.%d", IMB_VERSION_NUM >> 16);
	/* the manager's layout is that of the header: later versions only add to it */
	return lazy_load(soname, symbols) && imb.version() >= IMB_VERSION_NUM;
}

static void library_start(void)
{
	const uint64_t needed = IMB_FEATURE_AESNI | IMB_FEATURE_VAES;
	IMB_MGR *m = library_load() ? imb.new_manager(0) : NULL;
	IMB_ARCH code;

	if (!m)
		return;
	imb.choose_code(m, &code);
	/* without VAES others are as fast, and without AES instructions tables would tell of the key */
	if (imb.error(m) == 0 && (m->features & needed) == needed)
		manager = m;
	else
		imb.free_manager(m);
}

static bool ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, library_start);
	return manager != NULL;
}

/* --- a key ------------------------------------------------------------------------- */

struct keyed {
	gnutls_cipher_algorithm_t cipher;
	union { /* here and not on the stack, so that it is wiped */
		struct gcm_context_data gcm;
		struct chacha20_poly1305_context_data chacha;
	} record;
	union {
		_Alignas(64) struct gcm_key_data gcm; /* the code takes that for granted, the header does not say it */
		uint8_t chacha[AEAD_KEY_MAX];
	} key;
};

static bool ipsec_mb_knows(gnutls_cipher_algorithm_t cipher)
{
	return (cipher == GNUTLS_CIPHER_AES_128_GCM || cipher == GNUTLS_CIPHER_AES_256_GCM ||
		cipher == GNUTLS_CIPHER_CHACHA20_POLY1305) && ready();
}

static void *ipsec_mb_key(gnutls_cipher_algorithm_t cipher, const gnutls_datum_t *key)
{
	struct keyed *k = aligned_alloc(_Alignof(struct keyed), sizeof(*k));

	if (!k)
		return NULL;
	memset(k, 0, sizeof(*k));
	k->cipher = cipher;
	if (cipher == GNUTLS_CIPHER_AES_128_GCM)
		IMB_AES128_GCM_PRE(manager, key->data, &k->key.gcm);
	else if (cipher == GNUTLS_CIPHER_AES_256_GCM)
		IMB_AES256_GCM_PRE(manager, key->data, &k->key.gcm);
	else
		memcpy(k->key.chacha, key->data, AEAD_KEY_MAX);
	return k;
}

static void ipsec_mb_unkey(void *state)
{
	gnutls_memset(state, 0, sizeof(struct keyed));
	free(state);
}

/* --- records ------------------------------------------------------------------------ */

static int ipsec_mb_seal(void *state, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	struct keyed *k = state;

	if (k->cipher == GNUTLS_CIPHER_AES_128_GCM) {
		IMB_AES128_GCM_ENC(manager, &k->key.gcm, &k->record.gcm, data, data, n, nonce, aad, aad_size, data + n, AEAD_TAG_SIZE);
	} else if (k->cipher == GNUTLS_CIPHER_AES_256_GCM) {
		IMB_AES256_GCM_ENC(manager, &k->key.gcm, &k->record.gcm, data, data, n, nonce, aad, aad_size, data + n, AEAD_TAG_SIZE);
	} else {
		IMB_CHACHA20_POLY1305_INIT(manager, k->key.chacha, &k->record.chacha, nonce, aad, aad_size);
		IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, k->key.chacha, &k->record.chacha, data, data, n);
		IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager, &k->record.chacha, data + n, AEAD_TAG_SIZE);
	}
	return 0;
}

/* The library tells the tag that the record should have. */
static int ipsec_mb_open(void *state, const uint8_t *nonce, const void *aad, size_t aad_size, uint8_t *data, size_t n)
{
	struct keyed *k = state;
	uint8_t tag[AEAD_TAG_SIZE];

	if (k->cipher == GNUTLS_CIPHER_AES_128_GCM) {
		IMB_AES128_GCM_DEC(manager, &k->key.gcm, &k->record.gcm, data, data, n, nonce, aad, aad_size, tag, sizeof(tag));
	} else if (k->cipher == GNUTLS_CIPHER_AES_256_GCM) {
		IMB_AES256_GCM_DEC(manager, &k->key.gcm, &k->record.gcm, data, data, n, nonce, aad, aad_size, tag, sizeof(tag));
	} else {
		IMB_CHACHA20_POLY1305_INIT(manager, k->key.chacha, &k->record.chacha, nonce, aad, aad_size);
		IMB_CHACHA20_POLY1305_DEC_UPDATE(manager, k->key.chacha, &k->record.chacha, data, data, n);
		IMB_CHACHA20_POLY1305_DEC_FINALIZE(manager, &k->record.chacha, tag, sizeof(tag));
	}
	return gnutls_memcmp(tag, data + n, sizeof(tag)) == 0 ? 0 : -1; /* in constant time */
}

const struct aead_engine aead_ipsec_mb = { "ipsec-mb", ipsec_mb_knows, ipsec_mb_key, ipsec_mb_unkey, ipsec_mb_seal, ipsec_mb_open };
#endif

const char *aead_ipsec_mb_version(void)
{
#ifdef HAVE_IPSEC_MB
	return ready() ? imb.version_text() : NULL;
#else
	return NULL;
#endif
}
