/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "cli/wrap.h"
#include "lib/base/utf8.h"
#include "tests/unit/sample_cmd.h"

enum what { HELP, MAN, COMPLETE };

/* What a printer prints; the caller frees it. */
static char *printed(enum what what, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);

	cr_assert_not_null(mem);
	if (what == HELP)
		help_command(mem, &sample_cmd, width);
	else if (what == MAN)
		help_man(mem, &sample_cmd);
	else
		help_complete(mem, &sample_cmd);
	cr_assert_eq(fclose(mem), 0);
	return text;
}

Test(help, lines_keep_to_the_width)
{
	for (unsigned width = 60; width <= 100; width++) {
		char *text = printed(HELP, width);
		size_t longest = 0;

		for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1) {
			size_t n = strcspn(p, "\n"), columns = utf8_columns(p, n);

			cr_expect_leq(columns, width, "width %u: %.*s", width, (int)n, p);
			cr_expect(n == 0 || p[n - 1] != ' ', "width %u: blank behind: %.*s", width, (int)n, p);
			cr_expect_null(memchr(p, '\t', n));
			cr_expect_eq(p[n], '\n', "the last line ends");
			longest = columns > longest ? columns : longest;
		}
		cr_expect_geq(longest, width - 8, "width %u is not used", width);
		free(text);
	}
}

Test(help, looks_like_this)
{
	static const char *const parts[] = {
		"Usage: tlskit test [OPTION…] LISTEN TARGET [TARGET…]\n\nFirst paragraph",
		"\n\nSecond paragraph.\n\n",
		"\nOperands:\n  LISTEN",
		"\nTest:\n  -4, --ipv4 ",
		"  Only IPv4.\n",
		"  -t, --threads N ",
		"  Threads. (default: online CPUs)\n",
		"      --idle-timeout TIME  End a",
		"(default: 1.5s)\n",
		"      --log text|json ",
		"  Form. (default: text)\n",
		"  Which target. (one of: first, roundrobin)\n",
		"(default: roundrobin)\n",
		"\n      --servername A-VERY-LONG-METAVARIABLE-FOR-A-NAME\n                           Name to ask",
		"\nHelp:\n  -h, --help ",
		"\nExamples:\n  All at once:\n      tlskit test 1 2 --cert /etc/ssl/a-rather-long-name.pem \\\n",
		"\n          --servername \"a b\" -4 --drain 10s --log json\n  Little:\n      tlskit test 1 2\n",
	};
	char *text = printed(HELP, 80);
	const char *at = text;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		at = strstr(at, parts[i]);
		cr_assert_not_null(at, "part %zu is missing or out of order in\n%s", i, text);
		at += strlen(parts[i]) - 1;
	}
	free(text);
}

/* 30 columns of label and a gap of 2 are what fits at a width of 80. */
Test(help, a_gap_parts_label_and_text)
{
	static const struct opt rows[] = {
		{ .name = "a-name-of-22-letters-x", .type = OPT_FLAG, .help = "Beside." },
		{ .name = "a-name-of-22-letters-xx", .type = OPT_FLAG, .help = "x" },
		{ .name = "a-name-of-23-letters-xxx", .type = OPT_FLAG, .help = "Below." },
		{ .name = NULL },
	};
	static const struct opt_group groups[] = { { "X", rows, 0 }, { NULL, NULL, 0 } };
	static const struct opt_spec spec = { .synopsis = "", .description = "", .groups = groups };
	static const struct cmd cmd = { "x", "", &spec, NULL };
	char *text = NULL;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);

	help_command(mem, &cmd, 80);
	cr_assert_eq(fclose(mem), 0);
	cr_assert_not_null(strstr(text, "\n      --a-name-of-22-letters-x  Beside.\n"), "%s", text);
	cr_assert_not_null(strstr(text, "\n      --a-name-of-22-letters-xx\n                                x\n"), "%s", text);
	cr_assert_not_null(strstr(text, "xxx\n                                Below.\n"), "%s", text);
	free(text);
}

Test(help, texts_stand_in_one_column)
{
	char *text = printed(HELP, 80);
	size_t column = 0;

	for (const char *p = strstr(text, "\nOperands:\n") + 1; strncmp(p, "Examples", 8) != 0; p += strcspn(p, "\n") + 1) {
		size_t n = strcspn(p, "\n"), i = strspn(p, " ");

		if (i < 2 || n > 60)
			continue;
		while (i < 10 && i + 1 < n && !(p[i] == ' ' && p[i + 1] == ' '))
			i++;
		if (i < 10 && i + 1 < n) { /* a row with its text behind a gap of blanks */
			i += strspn(p + i, " ");
			cr_expect(column == 0 || i == column, "%.*s", (int)n, p);
			column = i;
		}
	}
	cr_assert_gt(column, 20);
	free(text);
}

Test(help, every_option_is_in_each_print)
{
	char *texts[] = { printed(HELP, 80), printed(COMPLETE, 0), printed(MAN, 0) };
	const struct opt_group *g;
	size_t options = 0;

	for (size_t i = 0; (g = help_group_at(&sample_spec, i)) != NULL; i++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++, options++) {
			char name[80];

			for (int t = 0; t < 2; t++) {
				snprintf(name, sizeof(name), "--%s%c", o->name, t == 1 ? '\t' : ' ');
				cr_expect_not_null(strstr(texts[t], name), "--%s in print %d", o->name, t);
			}
		}
	}
	cr_assert_eq(options, SAMPLE_OPTIONS);
	cr_assert_not_null(strstr(texts[2], "\n\\fB\\-d\\fR, \\fB\\-\\-cert\\-dir\\fR \\fIDIR\\fR\n"));
	cr_assert_not_null(strstr(texts[2], "\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"));
	for (int t = 0; t < 3; t++)
		free(texts[t]);
}

Test(help, rows_for_completion)
{
	static const char want[] = "--ipv4\tflag\t-\tOnly IPv4\n"
				   "--ipv6\tflag\t-\tOnly IPv6\n"
				   "--cert-dir\tdir\t-\tWhere it is kept across restarts\n"
				   "--allow\tchoices\tcn:|dns:\tLet a peer in\n"
				   "--alpn\tnone\t-\tProtocols\n"
				   "--group\tcomma-groups\t-\t.starts with a dot, has a \\ and 'quotes'\n"
				   "--threads\tnone\t-\tThreads\n"
				   "--max-conns\tnone\t-\tMost\n";
	static const char want_end[] = "--log\tchoices\ttext|json\tForm\n"
				       "--balance\tchoices\tfirst|roundrobin\tWhich target\n"
				       "--servername\tnone\t-\tName to ask for\n"
				       "--cert\tfile\t-\tCertificate\n"
				       "--help\tflag\t-\tPrint this help\n";
	char *text = printed(COMPLETE, 0);

	cr_assert_eq(strncmp(text, want, strlen(want)), 0, "%s", text);
	cr_assert_str_eq(strstr(text, "--log"), want_end);
	free(text);
}

Test(help, man_is_plain_roff)
{
	static const char *const macros[] = { ".SH ", ".SS ", ".TP", ".PP", ".RS", ".RE", ".EX", ".EE" };
	char *text = printed(MAN, 0);

	for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1) {
		bool known = *p != '.' && *p != '\'';

		for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++)
			known = known || strncmp(p, macros[i], strlen(macros[i])) == 0;
		cr_expect(known, "no macro of ours: %.40s", p);
		cr_expect_neq(*p, '\n', "an empty line");
		cr_expect_leq(strcspn(p, "\n"), 110);
	}
	for (const char *p = text; *p != '\0'; p++)
		cr_assert(*p == '\n' || (*p >= ' ' && *p <= '~'));
	cr_assert_not_null(strstr(text, "\n\\&.starts with a dot, has a \\e and \\(aqquotes\\(aq\n"));
	cr_assert_not_null(strstr(text, "\nWhich target. (one of: first, roundrobin) (default: roundrobin)\n"));
	cr_assert_not_null(strstr(text, "\\-\\-servername \\(dqa b\\(dq \\-4 \\-\\-drain 10s"));
	cr_assert_not_null(strstr(text, ".SH EXAMPLES\nAll at once:\n.PP\n.RS 4\n.EX\ntlskit test 1 2 "));
	free(text);
}

Test(help, wrap_breaks_what_is_too_long)
{
	char *text = NULL;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);
	struct wrap w = wrap_start(mem, 4, 24);

	wrap_words(&w, "ab  \n c");
	for (int i = 0; i < 3; i++)
		wrap_words(&w, "ÄäÖöÜüÄäÖöÜüÄäÖöÜüÄäÖöÜü-24");
	wrap_note(&w, "default", "");
	wrap_newline(&w);
	cr_assert_eq(fclose(mem), 0);
	cr_assert_str_eq(text, "    ab c\n    ÄäÖöÜüÄäÖöÜüÄäÖöÜüÄä\n    ÖöÜü-24\n    ÄäÖöÜüÄäÖöÜüÄäÖöÜüÄä\n    ÖöÜü-24\n"
			       "    ÄäÖöÜüÄäÖöÜüÄäÖöÜüÄä\n    ÖöÜü-24 (default: )\n");
	free(text);
}

Test(help, width)
{
	static const struct {
		const char *columns;
		unsigned want;
	} rows[] = { { "80", 80 },  { "100", 100 }, { "101", 100 }, { "65535", 100 }, { "60", 60 },
		     { "59", 60 },  { "1", 60 },    { "0", 80 },    { "-5", 80 },     { "wide", 80 },
		     { "", 80 },    { "99999999999999999999", 80 } };
	FILE *file = tmpfile();

	cr_assert_not_null(file);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(setenv("COLUMNS", rows[i].columns, 1), 0);
		cr_expect_eq(help_width(fileno(file)), rows[i].want, "COLUMNS=%s", rows[i].columns);
		cr_expect_eq(help_width(-1), rows[i].want);
	}
	cr_assert_eq(unsetenv("COLUMNS"), 0);
	cr_assert_eq(help_width(fileno(file)), 80);
	fclose(file);
}

Test(help, overview)
{
	static const struct cmd other = { "bench-ciphers", "Another", &sample_spec, NULL };
	const struct cmd *const cmds[] = { &sample_cmd, &other, NULL };
	char *text = NULL;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);

	help_overview(mem, cmds);
	cr_assert_eq(fclose(mem), 0);
	cr_assert_not_null(strstr(text, "\n  test           A command for tests\n  bench-ciphers  Another\n\n"), "%s", text);
	cr_assert_not_null(strstr(text, "--help"));
	cr_assert_not_null(strstr(text, "--version"));
	free(text);
}
