/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/ktls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

bool ktls_knows(gnutls_cipher_algorithm_t cipher)
{
	switch (cipher) {
	case GNUTLS_CIPHER_AES_128_GCM:
	case GNUTLS_CIPHER_AES_256_GCM:
	case GNUTLS_CIPHER_AES_128_CCM:
	case GNUTLS_CIPHER_CHACHA20_POLY1305:
		return true;
	default:
		return false;
	}
}

#if defined(__linux__) && __has_include(<linux/tls.h>)

#include <linux/sockios.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#ifndef TCP_ULP
#define TCP_ULP 31
#endif
#ifndef SOL_TLS
#define SOL_TLS 282
#endif

/* Every crypto_info begins with version and cipher; the sizes tell them apart. */
union crypto {
	struct tls_crypto_info info;
	struct tls12_crypto_info_aes_gcm_128 gcm_128;
	struct tls12_crypto_info_aes_gcm_256 gcm_256;
	struct tls12_crypto_info_aes_ccm_128 ccm_128;
	struct tls12_crypto_info_chacha20_poly1305 chacha;
};

/* --- keys ------------------------------------------------------------------------ */

/* Where the parts stand. The kernel takes the 12 bytes of IV as salt, then iv (of
 * ChaCha20-Poly1305 the salt is empty). */
struct layout {
	gnutls_cipher_algorithm_t cipher;
	unsigned short type;
	size_t size, iv, iv_size, key, key_size, salt, seq;
};

#define LAYOUT(gnutls, linux, member, salt_at)                                                                          \
	{ gnutls, linux, sizeof(((union crypto *)0)->member), offsetof(union crypto, member.iv),                        \
		sizeof(((union crypto *)0)->member.iv), offsetof(union crypto, member.key),                             \
		sizeof(((union crypto *)0)->member.key), salt_at, offsetof(union crypto, member.rec_seq) }

static const struct layout layouts[] = {
	LAYOUT(GNUTLS_CIPHER_AES_128_GCM, TLS_CIPHER_AES_GCM_128, gcm_128, offsetof(union crypto, gcm_128.salt)),
	LAYOUT(GNUTLS_CIPHER_AES_256_GCM, TLS_CIPHER_AES_GCM_256, gcm_256, offsetof(union crypto, gcm_256.salt)),
	LAYOUT(GNUTLS_CIPHER_AES_128_CCM, TLS_CIPHER_AES_CCM_128, ccm_128, offsetof(union crypto, ccm_128.salt)),
	LAYOUT(GNUTLS_CIPHER_CHACHA20_POLY1305, TLS_CIPHER_CHACHA20_POLY1305, chacha, 0),
};

#define IV_SIZE  12
#define SEQ_SIZE 8

static const struct layout *layout_of(gnutls_cipher_algorithm_t cipher)
{
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].cipher == cipher)
			return &layouts[i];
	return NULL;
}

static int set_key(int fd, bool read, const struct ktls_key *k)
{
	const struct layout *l = layout_of(k->cipher);
	union crypto c = { .info.version = TLS_1_3_VERSION };
	uint8_t *at = (uint8_t *)&c;
	size_t salt_size, i;
	int r;

	if (!l)
		return EOPNOTSUPP;
	c.info.cipher_type = l->type;
	salt_size = IV_SIZE - l->iv_size;
	if (salt_size)
		memcpy(at + l->salt, k->iv, salt_size);
	memcpy(at + l->iv, k->iv + salt_size, l->iv_size);
	memcpy(at + l->key, k->key, l->key_size);
	for (i = 0; i < SEQ_SIZE; i++)
		at[l->seq + i] = (uint8_t)(k->seq >> (8 * (SEQ_SIZE - 1 - i)));
	r = setsockopt(fd, SOL_TLS, read ? TLS_RX : TLS_TX, &c, (socklen_t)l->size) < 0 ? errno : 0;
	gnutls_memset(&c, 0, sizeof(c));
	return r;
}

static uint64_t next_seq(int fd, gnutls_cipher_algorithm_t cipher)
{
	const struct layout *l = layout_of(cipher);
	union crypto c = { 0 };
	socklen_t size;
	uint64_t seq = 0;
	size_t i;

	if (!l)
		return 0;
	size = (socklen_t)l->size;
	if (getsockopt(fd, SOL_TLS, TLS_TX, &c, &size) == 0)
		for (i = 0; i < SEQ_SIZE; i++)
			seq = seq << 8 | ((uint8_t *)&c)[l->seq + i];
	gnutls_memset(&c, 0, sizeof(c));
	return seq;
}

static int attach(int fd)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) < 0 ? errno : 0;
}

/* --- what there is ------------------------------------------------------------------ */

static bool has_tls, has_rekey;

/* A socket without a connection is refused for that only where there is a TLS
 * module to ask; the kernel loads it for who may have it loaded. */
static void ask_for_tls(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	has_tls = attach(fd) == ENOTCONN;
	close(fd);
}

static bool available(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, ask_for_tls);
	return has_tls;
}

/* Two keys in a row, on a connection to itself. */
static void ask_for_rekey(void)
{
	static const uint8_t zeros[32];
	const struct ktls_key k = { .cipher = GNUTLS_CIPHER_AES_128_GCM, .key = zeros, .iv = zeros };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(in);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (l >= 0 && c >= 0 && bind(l, (struct sockaddr *)&in, size) == 0 && listen(l, 1) == 0 &&
		getsockname(l, (struct sockaddr *)&in, &size) == 0 && connect(c, (struct sockaddr *)&in, size) == 0 &&
		attach(c) == 0)
		has_rekey = set_key(c, false, &k) == 0 && set_key(c, false, &k) == 0;
	if (l >= 0)
		close(l);
	if (c >= 0)
		close(c);
}

static bool rekeys(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, ask_for_rekey);
	return has_rekey;
}

/* --- traffic ------------------------------------------------------------------------- */

/* Room for a control message of one byte: a record's type. */
union type_message {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(uint8_t))];
};

/* One type a call: the kernel stops in front of a record of another type, and after
 * each one that is not data. An empty record of data is passed over. */
static long receive(struct sock *s, void *data, size_t size, uint8_t *type)
{
	union type_message room;
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head;
	ssize_t r;

	*type = 0;
	if (s->eof)
		return 0;
	if (!s->readable)
		return SOCK_BLOCKED;
	do {
		m.msg_control = &room;
		m.msg_controllen = sizeof(room);
		r = recvmsg(s->fd, &m, 0);
	} while (r < 0 && errno == EINTR);
	head = r >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!head || head->cmsg_level != SOL_TLS || head->cmsg_type != TLS_GET_RECORD_TYPE) {
		r = sock_read_result(s, r);
		/* a broken record stays the socket's error, and nothing could be sent for it */
		if (r == SOCK_FAILED)
			getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &(int){ 0 }, &(socklen_t){ sizeof(int) });
		return r;
	}
	memcpy(type, CMSG_DATA(head), 1);
	return r;
}

static long send_type(struct sock *s, uint8_t type, const void *data, size_t n)
{
	union type_message room = { 0 };
	struct iovec iov = { (void *)data, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	ssize_t r;

	if (type == KTLS_DATA)
		return sock_write(s, data, n);
	if (!s->writable)
		return SOCK_BLOCKED;
	head->cmsg_level = SOL_TLS;
	head->cmsg_type = TLS_SET_RECORD_TYPE;
	head->cmsg_len = CMSG_LEN(sizeof(type));
	memcpy(CMSG_DATA(head), &type, sizeof(type));
	do {
		r = sendmsg(s->fd, &m, MSG_NOSIGNAL);
	} while (r < 0 && errno == EINTR);
	return sock_write_result(s, r, n);
}

/* A record that TCP had no room for stays in the kernel's TLS, which tries once more
 * when the socket is closed and then drops it. So an end waits for room. */
static bool handed_on(struct sock *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };

	if (poll(&p, 1, 0) == 1)
		return true;
	s->writable = false;
	return false;
}

/* What the kernel's TLS has not taken is what is left of a record. (Where the
 * receive buffer is small it copies a record's beginning, and this says no.) */
static bool cut(const struct sock *s)
{
	int n = 0;

	return ioctl(s->fd, SIOCINQ, &n) == 0 && n > 0;
}

static const struct ktls_calls linux_calls = { available, rekeys, attach, set_key, receive, send_type, next_seq, handed_on,
	cut };

const struct ktls_calls *ktls_system = &linux_calls;

#else

static bool no(void)
{
	return false;
}

static const struct ktls_calls no_calls = { .available = no, .rekeys = no };

const struct ktls_calls *ktls_system = &no_calls;

#endif
