/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <idn2.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "lib/net/addr_host.h"

#define LABEL_MAX 63
#define NAME_MAX_ASCII 253 /* RFC 1035, 2.3.4, as text without the last dot */
#define NAME_MAX_TYPED 1000 /* UTF-8 */

/* Not ctype.h: the locale has no say in host names. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int bad_character(char c, struct err *e)
{
	if (c == ' ' || c == '\t')
		return err_set(e, ERR_CONFIG, "a blank in the host name");
	if ((unsigned char)c < 0x20 || c == 0x7f)
		return err_set(e, ERR_CONFIG, "a control character in the host name");
	return err_set(e, ERR_CONFIG, "'%c' is not allowed in a host name", c);
}

/* Letters, digits and hyphens (RFC 1123, 2.1), and the underscore, which
 * container networks put into names. */
static int check_label(const char *label, size_t len, struct err *e)
{
	if (len == 0)
		return err_set(e, ERR_CONFIG, "an empty label in the host name");
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(label[i]) && !is_alpha(label[i]) && label[i] != '-' && label[i] != '_')
			return bad_character(label[i], e);
	}
	if (len > LABEL_MAX)
		return err_set(e, ERR_CONFIG, "a label of the host name is longer than %d characters", LABEL_MAX);
	if (label[0] == '-')
		return err_set(e, ERR_CONFIG, "a label of the host name starts with '-'");
	return 0;
}

static int check_name(const char *host, struct err *e)
{
	const char *label = host;

	for (;;) {
		size_t len = strcspn(label, ".");

		if (check_label(label, len, e) != 0)
			return -1;
		if (label[len] == '\0')
			break;
		label += len + 1;
	}
	if (strlen(host) > NAME_MAX_ASCII)
		return err_set(e, ERR_CONFIG, "the host name is longer than %d characters", NAME_MAX_ASCII);
	return 0;
}

/* Whether resolvers might read the name as a number: its last label is decimal
 * or 0x-hexadecimal. inet_aton(3) takes "1.2.3" for 1.2.0.3, "010.0.0.1" for
 * 8.0.0.1 and "0x7f000001" for 127.0.0.1, so anything but the four plain
 * numbers is refused. */
static bool ends_in_number(const char *host)
{
	const char *dot = strrchr(host, '.');
	const char *last = dot != NULL ? dot + 1 : host;
	size_t n = strspn(last, "0123456789");

	if (last[n] == '\0')
		return true;
	if (last[0] != '0' || (last[1] != 'x' && last[1] != 'X'))
		return false;
	for (last += 2; is_hex(*last); last++)
		continue;
	return *last == '\0';
}

/* in and out may be the same. */
static int idn_to_ascii(char name[NAME_MAX_TYPED + 1], struct err *e)
{
	uint8_t *ascii = NULL;
	size_t len;
	int r;

	/* UTS 46 mapping (case, width, the ideographic full stop), then IDNA
	 * 2008: what browsers and GnuTLS do. */
	r = idn2_lookup_u8((const uint8_t *)name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (r != IDN2_OK)
		return err_set(e, ERR_CONFIG, "not a valid international host name: %s", idn2_strerror(r));
	len = strlen((const char *)ascii);
	if (len > NAME_MAX_TYPED) {
		idn2_free(ascii);
		return err_set(e, ERR_CONFIG, "the host name is longer than %d characters", NAME_MAX_ASCII);
	}
	memcpy(name, ascii, len + 1);
	idn2_free(ascii);
	return 0;
}

static bool is_ascii(const char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s >= 0x80)
			return false;
	}
	return true;
}

int addr_host_name(struct addr *a, const char *text, size_t len, struct err *e)
{
	char name[NAME_MAX_TYPED + 1];
	struct in_addr v4;

	if (len == 0)
		return err_set(e, ERR_CONFIG, "no host");
	if (len > NAME_MAX_TYPED)
		return err_set(e, ERR_CONFIG, "the host name is longer than %d characters", NAME_MAX_ASCII);
	memcpy(name, text, len);
	name[len] = '\0';
	if (!is_ascii(name) && idn_to_ascii(name, e) != 0)
		return -1;
	len = strlen(name);
	if (len > 1 && name[len - 1] == '.') {
		name[--len] = '\0';
		a->absolute = true;
	}
	if (check_name(name, e) != 0)
		return -1;
	a->numeric = inet_pton(AF_INET, name, &v4) == 1;
	if (!a->numeric && ends_in_number(name))
		return err_set(e, ERR_CONFIG, "not an IPv4 address; expected four numbers from 0 to 255");
	if (a->numeric)
		a->absolute = false;
	for (size_t i = 0; i <= len; i++)
		a->host[i] = name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i];
	return 0;
}

static int check_scope(const char *scope, struct err *e)
{
	size_t len = strlen(scope);

	for (size_t i = 0; i < len; i++) {
		if (!is_digit(scope[i]) && !is_alpha(scope[i]) && strchr("._-~", scope[i]) == NULL)
			return err_set(e, ERR_CONFIG, "a bad character in the scope of the IPv6 address");
	}
	if (len == 0 || len >= IF_NAMESIZE)
		return err_set(e, ERR_CONFIG, "the scope behind '%%' is not the name of an interface");
	return 0;
}

int addr_host_ipv6(struct addr *a, const char *text, size_t len, struct err *e)
{
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	char plain[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	char *scope;

	if (len == 0 || len >= sizeof(host))
		return err_set(e, ERR_CONFIG, "not an IPv6 address between the brackets");
	memcpy(host, text, len);
	host[len] = '\0';
	scope = strchr(host, '%');
	if (scope != NULL)
		*scope++ = '\0';
	if (inet_pton(AF_INET6, host, &v6) != 1)
		return err_set(e, ERR_CONFIG, "not an IPv6 address between the brackets");
	if (scope != NULL && check_scope(scope, e) != 0)
		return -1;
	inet_ntop(AF_INET6, &v6, plain, sizeof(plain));
	snprintf(a->host, sizeof(a->host), "%s%s%s", plain, scope != NULL ? "%" : "", scope != NULL ? scope : "");
	a->numeric = true;
	return 0;
}
