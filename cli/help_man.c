/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "cli/wrap.h"
#include "lib/base/utf8.h"

/* The same tables for programs that read them: man(1) and the shells. */

/* --- man page -------------------------------------------------------------- */

/* The page's source is wrapped too, for those who read its diffs. */
#define SOURCE_WIDTH 78

/* What man(1) leaves of 80 columns for an example. */
#define EXAMPLE_WIDTH 66

/* One character as roff shows it literally: a hyphen that can be pasted, quotes
 * that are not turned, nothing beyond ASCII (groff_char(7)). */
static void roff_char(FILE *out, uint32_t cp)
{
	static const struct {
		char c;
		const char *roff;
	} special[] = {
		{ '\\', "\\e" }, { '-', "\\-" }, { '\'', "\\(aq" }, { '"', "\\(dq" },
		{ '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (cp == (unsigned char)special[i].c) {
			fputs(special[i].roff, out);
			return;
		}
	}
	if (cp < 0x80)
		fputc((int)cp, out);
	else
		fprintf(out, "\\[u%04" PRIX32 "]", cp);
}

static void roff_text(FILE *out, const char *s, size_t n)
{
	while (n > 0) {
		uint32_t cp = 0;
		size_t len = utf8_decode(s, n, &cp);

		if (len == 0) {
			cp = '?';
			len = 1;
		}
		roff_char(out, cp);
		s += len;
		n -= len;
	}
}

/* Adds words to a paragraph whose line has *at columns. */
static void roff_words(FILE *out, const char *text, size_t *at)
{
	for (;;) {
		size_t n, columns;

		text += strspn(text, " \t\n");
		n = strcspn(text, " \t\n");
		if (n == 0)
			return;
		columns = utf8_columns(text, n);
		if (*at > 0 && *at + 1 + columns > SOURCE_WIDTH) {
			fputc('\n', out);
			*at = 0;
		}
		if (*at > 0)
			fputc(' ', out);
		else if (*text == '.') /* no macro; a leading quote is escaped as it is */
			fputs("\\&", out);
		*at += columns + (*at > 0);
		roff_text(out, text, n);
		text += n;
	}
}

static void roff_paragraph(FILE *out, const char *text)
{
	size_t at = 0;

	roff_words(out, text, &at);
	fputc('\n', out);
}

static void roff_bold(FILE *out, const char *s)
{
	fputs("\\fB", out);
	roff_text(out, s, strlen(s));
	fputs("\\fR", out);
}

static void man_option(FILE *out, const struct opt *o)
{
	const char letter[] = { '-', o->letter, '\0' };
	const char *arg = help_metavar(o);
	char words[HELP_WORDS_SIZE];
	size_t at = 0;

	fputs(".TP\n", out);
	if (o->letter != 0) {
		roff_bold(out, letter);
		fputs(", ", out);
	}
	fputs("\\fB\\-\\-", out);
	roff_text(out, o->name, strlen(o->name));
	fputs("\\fR", out);
	if (arg != NULL) {
		fputs(" \\fI", out);
		roff_text(out, arg, strlen(arg));
		fputs("\\fR", out);
	}
	fputc('\n', out);
	roff_words(out, o->help, &at);
	if (help_words(o, words, sizeof(words)) != NULL) {
		roff_words(out, "(one of:", &at);
		roff_words(out, words, &at);
		fputc(')', out);
		at++;
	}
	if (help_default(o) != NULL) {
		roff_words(out, "(default:", &at);
		roff_words(out, help_default(o), &at);
		fputc(')', out);
	}
	fputc('\n', out);
}

static void man_operands(FILE *out, const struct opt_operand *rows)
{
	fputs(".SH OPERANDS\n", out);
	for (; rows->name != NULL; rows++) {
		fputs(".TP\n", out);
		roff_bold(out, rows->name);
		fputc('\n', out);
		roff_paragraph(out, rows->help);
	}
}

/* A line of an example; a dot at its start is no macro. */
static void roff_line(FILE *out, const char *s, size_t n)
{
	if (n > 0 && *s == '.')
		fputs("\\&", out);
	roff_text(out, s, n);
	fputc('\n', out);
}

static void man_shell(FILE *out, const char *command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *mem = open_memstream(&text, &size);

	if (mem == NULL)
		return;
	wrap_shell(mem, command, 0, EXAMPLE_WIDTH);
	if (fclose(mem) == 0) {
		for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1)
			roff_line(out, p, strcspn(p, "\n"));
	}
	free(text);
}

static void man_examples(FILE *out, const struct opt_example *rows)
{
	fputs(".SH EXAMPLES\n", out);
	for (const struct opt_example *r = rows; r->command != NULL; r++) {
		if (r != rows)
			fputs(".PP\n", out);
		roff_paragraph(out, r->what);
		fputs(".PP\n.RS 4\n.EX\n", out);
		man_shell(out, r->command);
		fputs(".EE\n.RE\n", out);
	}
}

void help_man(FILE *out, const struct cmd *c)
{
	const struct opt_group *g;

	if (c->spec->operands != NULL)
		man_operands(out, c->spec->operands);
	fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; (g = help_group_at(c->spec, i)) != NULL; i++) {
		fputs(".SS ", out);
		roff_text(out, g->title, strlen(g->title));
		fputc('\n', out);
		for (const struct opt *o = g->opts; o->name != NULL; o++)
			man_option(out, o);
	}
	if (c->spec->examples != NULL)
		man_examples(out, c->spec->examples);
}

/* --- completion ------------------------------------------------------------ */

static const char *const kinds[] = {
	[OPT_COMPLETE_NONE] = "none",
	[OPT_COMPLETE_FILE] = "file",
	[OPT_COMPLETE_DIR] = "dir",
	[OPT_COMPLETE_USER] = "user",
	[OPT_COMPLETE_CHOICES] = "choices",
	[OPT_COMPLETE_SUITES] = "suites",
	[OPT_COMPLETE_GROUPS] = "groups",
	[OPT_COMPLETE_ALGORITHMS] = "algorithms",
};

static const char *kind_of(const struct opt *o)
{
	if (o->type == OPT_FLAG)
		return "flag";
	if (o->type == OPT_ENUM)
		return "choices";
	return kinds[o->complete];
}

/* One sentence on one line. */
static void first_sentence(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '.' && (text[1] == ' ' || text[1] == '\n' || text[1] == '\0'))
			return;
		fputc(*text == '\n' || *text == '\t' ? ' ' : *text, out);
	}
}

void help_complete(FILE *out, const struct cmd *c)
{
	const struct opt_group *g;

	for (size_t i = 0; (g = help_group_at(c->spec, i)) != NULL; i++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++) {
			const char *kind = kind_of(o);
			bool comma = o->type == OPT_COMMA && o->complete != OPT_COMPLETE_NONE;
			bool choices = strcmp(kind, "choices") == 0 && o->choices != NULL;

			fprintf(out, "--%s\t%s%s\t%s\t", o->name, comma ? "comma-" : "", kind,
				choices ? o->choices : "-");
			first_sentence(out, o->help);
			fputc('\n', out);
		}
	}
	if (c->spec->operands_complete != OPT_COMPLETE_NONE)
		fprintf(out, "*\t%s\t-\t%s\n", kinds[c->spec->operands_complete], c->spec->operands[0].name);
}
