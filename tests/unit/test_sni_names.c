/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

/* Which certificates a name stands for. */

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/sni_names.h"

/* Whether a certificate with this name is for `asked`. */
static bool is_for(const char *name, size_t name_n, const char *asked, size_t asked_n)
{
	struct sni_names t = { 0 };
	size_t first = 99, found;

	cr_assert_eq(sni_names_add(&t, 7, name, name_n), 0);
	sni_names_sort(&t);
	found = sni_names_find(&t, asked, asked_n, &first);
	if (found) {
		cr_assert_eq(first, 0);
		cr_assert_eq(found, 1);
		cr_assert_eq(t.v[0].cert, 7);
	}
	sni_names_free(&t);
	return found > 0;
}

struct match {
	char name[40], asked[40];
	bool is;
};

static struct match matches[] = {
	/* exact, letter case, the dot at the end */
	{ "a.example.org", "a.example.org", true },
	{ "a.example.org", "A.eXample.ORG", true },
	{ "A.Example.org", "a.example.org", true },
	{ "a.example.org", "a.example.org.", true },
	{ "a.example.org.", "a.example.org", true },
	{ "a.example.org", "a.example.org..", false },
	{ "a.example.org", ".a.example.org", false },
	{ "a.example.org", "b.example.org", false },
	{ "a.example.org", "example.org", false },
	{ "example.org", "a.example.org", false },
	{ "a.example.org", "xa.example.org", false },
	{ "a.example.org", "a.example.orgs", false },
	{ "localhost", "localhost", true },
	{ "[", "{", false }, /* neighbours of the letters */
	{ "@", "`", false },
	/* one whole label, the leftmost */
	{ "*.example.org", "www.example.org", true },
	{ "*.example.org", "WWW.Example.Org.", true },
	{ "*.Example.Org.", "www.example.org", true },
	{ "*.example.org", "example.org", false },
	{ "*.example.org", ".example.org", false },
	{ "*.example.org", "a.b.example.org", false },
	{ "*.example.org", "www.example.com", false },
	{ "*.example.org", "wwwexample.org", false },
	{ "*.example.org", "www.xexample.org", false },
	{ "*.example.org", "*.example.org", false }, /* nobody's name */
	{ "*.b.example.org", "a.b.example.org", true },
	{ "*.com", "example.com", true }, /* whether to believe it is the client's choice */
	{ "*.com", "com", false },
	{ "*.com", "a.example.com", false },
	/* no wildcards */
	{ "*", "localhost", false },
	{ "*", "a.example.org", false },
	{ "*", "*", false },
	{ "*.", "localhost", false },
	{ "*.", "localhost.", false },
	{ "*..", "localhost..", false },
	{ "*..org", "a..org", false },
	{ "f*.example.org", "foo.example.org", false },
	{ "*o.example.org", "foo.example.org", false },
	{ "f*o.example.org", "foo.example.org", false },
	{ "f*.example.org", "f*.example.org", false },
	{ "**.example.org", "foo.example.org", false },
	{ "*.*.example.org", "a.b.example.org", false },
	{ "a.*.org", "a.example.org", false },
	{ "www.*", "www.org", false },
	/* IDNs: A-labels, as they come */
	{ "xn--mnchen-3ya.example.org", "XN--Mnchen-3ya.example.org", true },
	{ "*.example.org", "xn--mnchen-3ya.example.org", true },
	{ "*.xn--mnchen-3ya.example", "a.xn--mnchen-3ya.example", true },
	{ "xn--*.example.org", "xn--mnchen-3ya.example.org", false },
	{ "xn--mnchen-3ya.example.org", "xn--mnchen-3yb.example.org", false },
	{ "m\xc3\xbcnchen.example", "m\xc3\xbcnchen.example", true },
	{ "m\xc3\xbcnchen.example", "m\xc3\x9cnchen.example", false }, /* ASCII letters alone have a case */
	/* none at all */
	{ "", "", false },
	{ ".", ".", false },
	{ "a..org", "a..org", false },
};

ParameterizedTestParameters(sni_names, match)
{
	return cr_make_param_array(struct match, matches, sizeof(matches) / sizeof(*matches));
}

ParameterizedTest(struct match *m, sni_names, match)
{
	cr_assert_eq(is_for(m->name, strlen(m->name), m->asked, strlen(m->asked)), m->is, "\"%s\" for \"%s\"", m->name,
		m->asked);
}

/* --- bytes and lengths -------------------------------------------------------------------- */

Test(sni_names, nul_is_in_no_name)
{
	cr_assert(is_for("a.org", 5, "a.org", 5));
	cr_assert_not(is_for("a.org\0.evil.org", 15, "a.org", 5));
	cr_assert_not(is_for("a.org", 5, "a.org\0.evil.org", 15));
	cr_assert_not(is_for("a.org\0", 6, "a.org", 5));
	cr_assert_not(is_for("a.org", 5, "a.org\0", 6));
	cr_assert_not(is_for("a.o\0g", 5, "a.o\0g", 5));
	cr_assert_not(is_for("*.org\0", 6, "a.org", 5));
	cr_assert_not(is_for("*.org", 5, "\0.org", 5));
	cr_assert_not(is_for("\0", 1, "\0", 1));
}

/* n bytes of labels of 63 and what is left. */
static char *long_name(size_t n)
{
	char *s = malloc(n + 3);
	size_t i;

	cr_assert(s);
	for (i = 0; i < n; i++)
		s[i] = i % 64 == 63 && i + 1 < n ? '.' : 'a';
	s[n] = '\0';
	return s;
}

Test(sni_names, of_253_bytes_and_no_more)
{
	static const size_t no[] = { 254, 255, 256, 257, 300, 65535 };
	char *s = long_name(253);
	size_t i;

	cr_assert(is_for(s, 253, s, 253));
	strcat(s, ".");
	cr_assert(is_for(s, 254, s, 253));
	cr_assert(is_for(s, 253, s, 254));
	free(s);
	for (i = 0; i < sizeof(no) / sizeof(*no); i++) {
		s = long_name(no[i]);
		cr_assert_not(is_for(s, no[i], s, no[i]), "%zu", no[i]);
		free(s);
	}
}

/* The longest name's wildcard: what stands behind the star may be as long as what a label
 * of one byte leaves. */
Test(sni_names, the_longest_wildcard)
{
	char *s = long_name(253);

	s[0] = '*';
	s[1] = '.';
	cr_assert(is_for(s, 253, "x", 1) == false);
	{
		char *asked = strdup(s);

		asked[0] = 'x';
		cr_assert(is_for(s, 253, asked, 253));
		free(asked);
	}
	free(s);
}

Test(sni_names, labels_of_63_bytes_and_no_more)
{
	char name[80];
	int n;

	for (n = 62; n <= 65; n++) {
		memset(name, 'a', sizeof(name));
		memcpy(name + n, ".org", 5);
		cr_assert_eq(is_for(name, strlen(name), name, strlen(name)), n <= 63, "%d", n);
		cr_assert_eq(is_for("*.org", 5, name, strlen(name)), n <= 63, "%d", n);
	}
}

/* --- several certificates ------------------------------------------------------------------ */

static struct sni_names table;

static void add(unsigned cert, const char *name)
{
	cr_assert_eq(sni_names_add(&table, cert, name, strlen(name)), 0);
}

/* Which certificates are for it, "0 2". */
static void check(const char *asked, const char *want)
{
	size_t first = 0, n = sni_names_find(&table, asked, strlen(asked), &first), i;
	char got[64] = "";

	for (i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i ? " " : "", table.v[first + i].cert);
	cr_assert_str_eq(got, want, "%s", asked);
}

Test(sni_names, none)
{
	sni_names_sort(&table);
	check("a.org", "");
	check("", "");
	sni_names_free(&table);
}

Test(sni_names, the_name_wins_over_the_wildcard)
{
	add(0, "*.example.org");
	add(1, "www.example.org");
	add(2, "*.example.org");
	add(2, "example.org");
	add(3, "*.www.example.org");
	sni_names_sort(&table);
	check("www.example.org", "1");
	check("mail.example.org", "0 2");
	check("example.org", "2");
	check("a.www.example.org", "3");
	check("a.mail.example.org", "");
	check("org", "");
	sni_names_free(&table);
}

Test(sni_names, in_the_order_of_certificates)
{
	add(12, "a.org");
	add(3, "b.org");
	add(3, "a.org");
	add(0, "B.org");
	add(7, "a.ORG.");
	sni_names_sort(&table);
	check("a.org", "3 7 12");
	check("b.org", "0 3");
	sni_names_free(&table);
}

Test(sni_names, said_twice)
{
	add(1, "a.org");
	add(1, "A.org");
	add(0, "a.org");
	add(1, "a.org.");
	sni_names_sort(&table);
	cr_assert_eq(table.n, 2);
	check("a.org", "0 1");
	sni_names_free(&table);
}

Test(sni_names, many)
{
	char name[32], want[8];
	unsigned i;

	for (i = 1000; i-- > 0;) {
		snprintf(name, sizeof(name), "%s%u.org", i % 2 ? "*." : "", i);
		add(i, name);
	}
	sni_names_sort(&table);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%s%u.org", i % 2 ? "x." : "", i);
		snprintf(want, sizeof(want), "%u", i);
		check(name, want);
	}
	check("1000.org", "");
	check("1.org", "");
	check("x.2.org", "");
	sni_names_free(&table);
}
