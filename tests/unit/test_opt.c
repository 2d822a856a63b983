/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <criterion/criterion.h>
#include <string.h>

#include "cli/opt.h"
#include "tests/unit/sample_cmd.h"

static struct sample v;
static struct opt_list operands;
static struct err e;

/* Parses words, of which the last is NULL; argv[0] is the command's name. */
static int parse(const char *const *words)
{
	char *argv[64] = { (char *)"test" };
	int argc = 1;

	for (; *words != NULL; words++)
		argv[argc++] = (char *)*words;
	memset(&v, 0xee, sizeof(v));
	memset(&operands, 0xee, sizeof(operands));
	e = (struct err){ 0 };
	return opt_parse(&sample_spec, argc, argv, &v, &operands, &e);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PARSE(...) parse(WORDS(__VA_ARGS__))

static void done(void)
{
	opt_free(&sample_spec, &v, &operands);
	opt_free(&sample_spec, &v, &operands); /* twice is fine */
	cr_assert_eq(operands.n, 0);
	cr_assert_eq(v.alpn.n, 0);
}

static void list_is(const struct opt_list *l, const char *const *want)
{
	size_t n = 0;

	for (; want[n] != NULL; n++) {
		cr_assert_lt(n, l->n);
		cr_assert_str_eq(l->v[n], want[n]);
	}
	cr_assert_eq(l->n, n);
}

Test(opt, defaults)
{
	cr_assert_eq(PARSE("1", "2"), 0, "%s", e.msg);
	cr_assert_not(v.v4);
	cr_assert_null(v.dir);
	cr_assert_eq(v.allow.n, 0);
	cr_assert_null(v.allow.v);
	list_is(&v.alpn, WORDS("h2", "http/1.1"));
	cr_assert_eq(v.threads, 0);
	cr_assert_eq(v.conns, 1000);
	cr_assert_eq(v.idle, 1500);
	cr_assert_eq(v.drain, 0);
	cr_assert_eq(v.log, 0);
	cr_assert_eq(v.balance, 1);
	cr_assert_null(v.tls.servername);
	list_is(&operands, WORDS("1", "2"));
	done();
}

Test(opt, every_way_to_write_a_value)
{
	const char *const *const ways[] = {
		WORDS("1", "2", "--cert-dir=/x", "--threads=4", "--log=json", "--cert=a=b", "--cert", "c"),
		WORDS("--cert-dir", "/x", "1", "--threads", "4", "2", "--log", "json", "--cert", "a=b", "--cert=c"),
		WORDS("-d", "/x", "-t", "4", "-ca=b", "-c", "c", "--log=json", "1", "2"),
		WORDS("-d/x", "-t4", "--log=text", "--log=json", "-ca=b", "-cc", "--", "1", "2"),
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		cr_assert_eq(parse(ways[i]), 0, "way %zu: %s", i, e.msg);
		cr_assert_str_eq(v.dir, "/x");
		cr_assert_eq(v.threads, 4);
		cr_assert_eq(v.log, 1);
		list_is(&v.tls.cert, WORDS("a=b", "c"));
		list_is(&operands, WORDS("1", "2"));
		done();
	}
}

Test(opt, flags)
{
	cr_assert_eq(PARSE("-46", "1", "2"), 0, "%s", e.msg);
	cr_assert(v.v4 && v.v6);
	done();
	cr_assert_eq(PARSE("--ipv6", "1", "2", "--ipv6"), 0, "%s", e.msg);
	cr_assert(!v.v4 && v.v6);
	done();
	cr_assert_eq(PARSE("-4t9", "1", "2"), 0, "%s", e.msg);
	cr_assert(v.v4);
	cr_assert_eq(v.threads, 9);
	done();
}

Test(opt, operands)
{
	cr_assert_eq(PARSE("-", "-"), 0, "%s", e.msg);
	list_is(&operands, WORDS("-", "-"));
	done();
	cr_assert_eq(PARSE("1", "--", "--ipv4", "--"), 0, "%s", e.msg);
	list_is(&operands, WORDS("1", "--ipv4", "--"));
	cr_assert_not(v.v4);
	done();
	cr_assert_eq(PARSE("", "2"), 0, "the command judges its operands");
	done();
}

Test(opt, lists)
{
	cr_assert_eq(PARSE("1", "2", "--alpn", "a,b", "--alpn=c", "--allow", "cn:x,y", "-a", "dns:z"), 0, "%s", e.msg);
	list_is(&v.alpn, WORDS("a", "b", "c")); /* and no default */
	list_is(&v.allow, WORDS("cn:x,y", "dns:z"));
	done();
}

Test(opt, many_operands_and_values)
{
	enum { N = 5000 };
	static char *argv[N + 2];
	struct opt_spec any = sample_spec;

	any.operands_min = any.operands_max = 0;
	argv[0] = (char *)"test";
	for (int i = 1; i <= N; i++)
		argv[i] = (char *)(i % 2 ? "-cx" : "y");
	cr_assert_eq(opt_parse(&any, N + 1, argv, &v, &operands, &e), 0);
	cr_assert_eq(operands.n, N / 2);
	cr_assert_eq(v.tls.cert.n, N / 2);
	cr_assert_str_eq(v.tls.cert.v[N / 2 - 1], "x");
	done();
}

static const struct {
	const char *words[6]; /* operands "1" "2" are added */
	const char *msg;
} faults[] = {
	{ { "--idel-timeout", "1s" }, "unknown option --idel-timeout; did you mean --idle-timeout?" },
	{ { "--idel-timeout=1s" }, "unknown option --idel-timeout; did you mean --idle-timeout?" },
	{ { "--idle", "1s" }, "unknown option --idle; did you mean --idle-timeout?" }, /* never cut short */
	{ { "--IPV4" }, "unknown option --IPV4; did you mean --ipv4?" },
	{ { "--hlep" }, "unknown option --hlep; did you mean --help?" },
	{ { "--banana" }, "unknown option --banana; see tlskit test --help" },
	{ { "--=x" }, "unknown option --; see tlskit test --help" },
	{ { "-x" }, "unknown option -x; see tlskit test --help" },
	{ { "-4x" }, "unknown option -x; see tlskit test --help" },
	{ { "-log", "json" }, "unknown option -log; did you mean --log?" },
	{ { "-cert", "x.pem" }, "unknown option -cert; did you mean --cert?" }, /* and not the file "ert" */
	{ { "-connect", "x:1" }, "unknown option -connect; here that is an operand" },
	{ { "--connect=x:1" }, "unknown option --connect; here that is an operand" },
	{ { "--ipv4only" }, "unknown option --ipv4only; here that is --ipv4" },
	{ { "-p", "1" }, "unknown option -p; here that is an operand" },
	{ { "-4p" }, "unknown option -p; here that is an operand" },
	{ { "---ipv4" }, "unknown option ---ipv4; did you mean --ipv4?" },
	{ { "--\x1b[2J" }, "unknown option --?[2J; see tlskit test --help" },
	{ { "--ipv4=yes" }, "--ipv4 takes no value, but got \"yes\"" },
	{ { "--ipv4=" }, "--ipv4: the value is empty" },
	{ { "--cert-dir=" }, "--cert-dir: the value is empty" },
	{ { "--cert-dir", "" }, "--cert-dir: the value is empty" },
	{ { "--cert", "--log", "json" },
	  "--cert needs a value (FILE), but the option --log follows; write --cert=--log if that is the value" },
	{ { "-c", "--log=json" },
	  "--cert needs a value (FILE), but the option --log=json follows; write --cert=--log=json if that is the value" },
	{ { "--cert", "--" },
	  "--cert needs a value (FILE), but the option -- follows; write --cert=-- if that is the value" },
	{ { "--threads=0" }, "--threads: \"0\" is not a whole number from 1 to 64" },
	{ { "--threads=65" }, "--threads: \"65\" is not a whole number from 1 to 64" },
	{ { "--threads=-1" }, "--threads: \"-1\" is not a whole number from 1 to 64" },
	{ { "-t", "4x" }, "--threads: \"4x\" is not a whole number from 1 to 64" },
	{ { "--threads=18446744073709551617" },
	  "--threads: \"18446744073709551617\" is not a whole number from 1 to 64" },
	{ { "--max-conns=1.5" }, "--max-conns: \"1.5\" is not a whole number of 0 or more" },
	{ { "--idle-timeout=soon" },
	  "--idle-timeout: \"soon\" is not a duration; write 10s, 250ms, 5m, 2h, 1d or 0" },
	{ { "--drain=0" }, "--drain: \"0\" is too short; the least is 1s" },
	{ { "--drain=2m" }, "--drain: \"2m\" is too long; the most is 1m" },
	{ { "--log=jsn" }, "--log: \"jsn\" is none of text|json" },
	{ { "--log=text|json" }, "--log: \"text|json\" is none of text|json" },
	{ { "--log=tex" }, "--log: \"tex\" is none of text|json" },
	{ { "--alpn=a,,b" }, "--alpn: \"a,,b\" has an empty item between its commas" },
	{ { "--alpn=," }, "--alpn: \",\" has an empty item between its commas" },
	{ { "--alpn=a," }, "--alpn: \"a,\" has an empty item between its commas" },
	{ { "3", "4" }, "unexpected operand \"4\"; usage: tlskit test [OPTION…] LISTEN TARGET [TARGET…]" },
};

Test(opt, faults_name_option_value_and_reason)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const char *words[9] = { "1", "2" };

		memcpy(words + 2, faults[i].words, sizeof(faults[i].words));
		cr_expect_eq(parse(words), -1, "fault %zu was taken", i);
		cr_expect_eq(e.kind, ERR_CONFIG);
		cr_expect_str_eq(e.msg, faults[i].msg, "fault %zu: %s", i, e.msg);
		done();
	}
}

Test(opt, a_value_may_be_missing_at_the_end)
{
	cr_assert_eq(PARSE("1", "2", "--cert"), -1);
	cr_assert_str_eq(e.msg, "--cert needs a value (FILE)");
	cr_assert_eq(PARSE("1", "2", "-t"), -1);
	cr_assert_str_eq(e.msg, "--threads needs a value (N)");
	cr_assert_eq(PARSE("1", "2", "--log"), -1);
	cr_assert_str_eq(e.msg, "--log needs a value (text|json)");
	cr_assert_eq(PARSE("1", "2", "--cert=--log"), 0, "%s", e.msg);
	list_is(&v.tls.cert, WORDS("--log"));
	done();
	cr_assert_eq(PARSE("1", "2", "--cert", "--no-option-of-ours"), 0, "%s", e.msg);
	list_is(&v.tls.cert, WORDS("--no-option-of-ours"));
	done();
}

Test(opt, too_few_operands)
{
	cr_assert_eq(PARSE("1"), -1);
	cr_assert_str_eq(e.msg, "an operand is missing; usage: tlskit test [OPTION…] LISTEN TARGET [TARGET…]");
	cr_assert_eq(PARSE("--ipv4"), -1);
	cr_assert_str_eq(e.msg, "operands are missing; usage: tlskit test [OPTION…] LISTEN TARGET [TARGET…]");
}

/* What was collected before the fault is freed: the leak checker watches. */
Test(opt, faults_late_in_the_line_leak_nothing)
{
	cr_assert_eq(PARSE("1", "--alpn=a,b,c", "--allow=x", "--cert=y", "2", "--alpn=d,"), -1);
	cr_assert_eq(operands.n + v.alpn.n + v.allow.n + v.tls.cert.n, 0);
	cr_assert_null(v.alpn.v);
}

Test(opt, long_values_leave_room_for_the_reason)
{
	static char word[100001];

	memset(word, 'x', sizeof(word) - 1);
	memcpy(word, "--log=", 6);
	cr_assert_eq(PARSE("1", "2", word), -1);
	cr_assert_not_null(strstr(e.msg, "x\" is none of text|json"), "%s", e.msg);
	memcpy(word, "--xxxx", 6);
	cr_assert_eq(PARSE("1", "2", word), -1);
	cr_assert_not_null(strstr(e.msg, "; see tlskit test --help"), "%s", e.msg);
	memcpy(word, "-xxxxx", 6);
	cr_assert_eq(PARSE("1", "2", word), -1);
	cr_assert_not_null(strstr(e.msg, "; see tlskit test --help"), "%s", e.msg);
	memcpy(word, "xxxxxx", 6);
	cr_assert_eq(PARSE("1", "2", "3", word), -1);
	cr_assert_not_null(strstr(e.msg, "; usage: tlskit test"), "%s", e.msg);
}

Test(opt, a_broken_default_says_so)
{
	static const struct opt rows[] = {
		{ .name = "n", .type = OPT_UINT, .arg = "N", .def = "many", .offset = offsetof(struct sample, threads), .help = "N" },
		{ .name = NULL },
	};
	static const struct opt_group broken_groups[] = { { "X", rows, 0 }, { NULL, NULL, 0 } };
	static const struct opt_spec broken = { .synopsis = "", .groups = broken_groups, .size = sizeof(v) };
	char *argv[] = { (char *)"test", NULL };

	cr_assert_eq(opt_parse(&broken, 1, argv, &v, &operands, &e), -1);
	cr_assert_str_eq(e.msg, "the default of --n: --n: \"many\" is not a whole number of 0 or more");
}

Test(opt, wants_help)
{
	static const struct {
		const char *words[5];
		bool want;
	} rows[] = {
		{ { "test", NULL }, false },
		{ { "test", "--help", NULL }, true },
		{ { "test", "1", "--bad", "-h", NULL }, true },
		{ { "test", "--", "--help", NULL }, false },
		{ { "--help", NULL }, false }, /* a name, not an option */
		{ { "test", "--helpme", "help", "-help", NULL }, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int argc = 0;

		while (argc < 5 && rows[i].words[argc] != NULL)
			argc++;
		cr_expect_eq(opt_wants_help(argc, (char **)rows[i].words), rows[i].want, "row %zu", i);
	}
	cr_assert_not(opt_wants_help(0, NULL));
}

Test(opt, find)
{
	cr_assert_str_eq(opt_find(&sample_spec, "cert")->name, "cert");
	cr_assert_str_eq(opt_find(&sample_spec, "cert-dir")->name, "cert-dir");
	cr_assert_null(opt_find(&sample_spec, "cer"));
	cr_assert_null(opt_find(&sample_spec, "cert="));
	cr_assert_null(opt_find(&sample_spec, ""));
}
