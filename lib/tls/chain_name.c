/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Whether the leaf is for the name that was asked for. GnuTLS decides; which
 * name it was is found here, since GnuTLS does not tell. */

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/tls/chain_int.h"

#define NO_IP_TEXT GNUTLS_VERIFY_DO_NOT_ALLOW_IP_MATCHES /* IP addresses are looked for as such */

static size_t parse_ip(const char *name, uint8_t ip[16])
{
	if (inet_pton(AF_INET, name, ip) == 1)
		return 4;
	return inet_pton(AF_INET6, name, ip) == 1 ? 16 : 0;
}

static const char *value_of(const char *name, const char *kind)
{
	size_t n = strlen(kind);

	return strncmp(name, kind, n) == 0 ? name + n : NULL;
}

bool chain_name_has_san(const struct chain_cert *leaf)
{
	size_t i;

	for (i = 0; leaf->names && leaf->names[i]; i++)
		if (value_of(leaf->names[i], "dns:") || value_of(leaf->names[i], "ip:"))
			return true;
	return false;
}

/* RFC 9525, 6.3: a wildcard is the whole first label and stands for one label. */
static bool dns_fits(const char *pattern, const char *name)
{
	const char *dot;

	if (strcasecmp(pattern, name) == 0)
		return true;
	dot = strchr(name, '.');
	return pattern[0] == '*' && pattern[1] == '.' && dot && dot != name && strcasecmp(pattern + 1, dot) == 0;
}

static bool san_fits(const char *san, const char *name, const uint8_t *ip, size_t ip_size)
{
	uint8_t other[16];
	const char *value = value_of(san, ip_size ? "ip:" : "dns:");

	if (!value)
		return false;
	return ip_size ? parse_ip(value, other) == ip_size && memcmp(ip, other, ip_size) == 0 : dns_fits(value, name);
}

static const char *which_fits(const struct chain_cert *leaf, const char *name, const uint8_t *ip, size_t ip_size)
{
	size_t i;

	for (i = 0; leaf->names[i]; i++)
		if (san_fits(leaf->names[i], name, ip, ip_size))
			return leaf->names[i];
	return name;
}

int chain_name_match(const struct chain_cert *leaf, const char *name, char **out)
{
	uint8_t ip[16];
	size_t ip_size = parse_ip(name, ip);

	*out = NULL;
	/* GnuTLS takes the CN when there is no name; RFC 9525 does not */
	if (!chain_name_has_san(leaf))
		return 0;
	if (ip_size ? !gnutls_x509_crt_check_ip(leaf->crt, ip, (unsigned)ip_size, 0)
		    : !gnutls_x509_crt_check_hostname2(leaf->crt, name, NO_IP_TEXT))
		return 0;
	*out = strdup(which_fits(leaf, name, ip, ip_size));
	return *out ? 1 : -1;
}

bool chain_name_cn_fits(const struct chain_cert *leaf, const char *name)
{
	char cn[256];
	size_t n = sizeof(cn);

	if (gnutls_x509_crt_get_dn_by_oid(leaf->crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, cn, &n) < 0)
		return false;
	return memchr(cn, '\0', n) == NULL && dns_fits(cn, name);
}
