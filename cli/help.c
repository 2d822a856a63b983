/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli/help.h"
#include "cli/wrap.h"
#include "lib/base/units.h"
#include "lib/base/utf8.h"

/* --help is no row of a table: it is the same for every command. */
static const struct opt help_row[] = {
	{ .name = "help", .letter = 'h', .type = OPT_FLAG, .help = "Print this help." },
	{ .name = NULL },
};
static const struct opt_group help_group = { "Help", help_row, 0 };

const struct opt_group *help_group_at(const struct opt_spec *spec, size_t i)
{
	size_t n = 0;

	while (spec->groups[n].title != NULL)
		n++;
	if (i < n)
		return &spec->groups[i];
	return i == n ? &help_group : NULL;
}

const char *help_metavar(const struct opt *o)
{
	if (o->type == OPT_FLAG)
		return NULL;
	if (o->arg != NULL)
		return o->arg;
	return o->choices != NULL ? o->choices : "VALUE";
}

const char *help_default(const struct opt *o)
{
	return o->def_text != NULL ? o->def_text : o->def;
}

const char *help_words(const struct opt *o, char *out, size_t size)
{
	size_t n = 0;

	if (o->type != OPT_ENUM || o->arg == NULL)
		return NULL;
	for (const char *c = o->choices; *c != '\0' && n + 3 < size; c++) {
		if (*c != '|') {
			out[n++] = *c;
		} else {
			out[n++] = ',';
			out[n++] = ' ';
		}
	}
	out[n] = '\0';
	return out;
}

static int label_of(const struct opt *o, char *out, size_t size)
{
	const char letter[] = { '-', o->letter, ',', ' ', '\0' };
	const char *arg = help_metavar(o);

	return snprintf(out, size, "  %s--%s%s%s", o->letter != 0 ? letter : "    ", o->name,
			arg != NULL ? " " : "", arg != NULL ? arg : "");
}

#define LABEL_SIZE 160
#define GAP	   2

/* Where the texts start: behind the longest label, but not further right than
 * two fifths of the line; longer labels have a line of their own. */
static size_t text_column(const struct opt_spec *spec, unsigned width)
{
	size_t most = width * 2 / 5, column = 0;
	const struct opt_group *g;

	for (size_t i = 0; (g = help_group_at(spec, i)) != NULL; i++) {
		for (const struct opt *o = g->opts; o->name != NULL; o++) {
			char label[LABEL_SIZE];
			size_t n;

			label_of(o, label, sizeof(label));
			n = utf8_columns(label, strlen(label)) + GAP;
			if (n > column && n <= most)
				column = n;
		}
	}
	return column;
}

/* A label, and the wrap that stands behind it. */
static struct wrap start_row(FILE *out, const char *label, size_t column, unsigned width)
{
	struct wrap w = wrap_start(out, column, width);

	fputs(label, out);
	w.at = utf8_columns(label, strlen(label));
	if (w.at + GAP > column)
		wrap_newline(&w);
	return w;
}

static void print_option(FILE *out, const struct opt *o, size_t column, unsigned width)
{
	char label[LABEL_SIZE], words[HELP_WORDS_SIZE];
	struct wrap w;

	label_of(o, label, sizeof(label));
	w = start_row(out, label, column, width);
	wrap_words(&w, o->help);
	if (help_words(o, words, sizeof(words)) != NULL)
		wrap_note(&w, "one of", words);
	if (help_default(o) != NULL)
		wrap_note(&w, "default", help_default(o));
	wrap_newline(&w);
}

static void print_description(FILE *out, const char *text, unsigned width)
{
	while (*text != '\0') {
		const char *end = strstr(text, "\n\n");
		size_t n = end != NULL ? (size_t)(end - text) : strlen(text);
		struct wrap w = wrap_start(out, 0, width);
		char *paragraph = strndup(text, n);

		if (paragraph == NULL)
			return;
		wrap_newline(&w);
		wrap_words(&w, paragraph);
		wrap_newline(&w);
		free(paragraph);
		text += n;
		text += strspn(text, "\n");
	}
}

static void print_row(FILE *out, const char *name, const char *text, size_t column, unsigned width)
{
	char label[LABEL_SIZE];
	struct wrap w;

	snprintf(label, sizeof(label), "  %s", name);
	w = start_row(out, label, column, width);
	wrap_words(&w, text);
	wrap_newline(&w);
}

static void print_operands(FILE *out, const struct opt_operand *rows, size_t column, unsigned width)
{
	fprintf(out, "\nOperands:\n");
	for (; rows->name != NULL; rows++)
		print_row(out, rows->name, rows->help, column, width);
}

static void print_examples(FILE *out, const struct opt_example *rows, unsigned width)
{
	fprintf(out, "\nExamples:\n");
	for (; rows->command != NULL; rows++) {
		struct wrap w = wrap_start(out, 2, width);

		wrap_words(&w, rows->what);
		wrap_newline(&w);
		wrap_shell(out, rows->command, 6, width);
	}
}

void help_command(FILE *out, const struct cmd *c, unsigned width)
{
	const struct opt_spec *spec = c->spec;
	size_t column = text_column(spec, width);
	const struct opt_group *g;
	struct wrap w;

	w = wrap_start(out, strlen("Usage: tlskit ") + strlen(c->name) + 1, width);
	fprintf(out, "Usage: tlskit %s", c->name);
	w.at = w.indent - 1;
	wrap_words(&w, spec->synopsis);
	wrap_newline(&w);
	print_description(out, spec->description, width);
	if (spec->operands != NULL)
		print_operands(out, spec->operands, column, width);
	for (size_t i = 0; (g = help_group_at(spec, i)) != NULL; i++) {
		fprintf(out, "\n%s:\n", g->title);
		for (const struct opt *o = g->opts; o->name != NULL; o++)
			print_option(out, o, column, width);
	}
	if (spec->examples != NULL)
		print_examples(out, spec->examples, width);
}

void help_overview(FILE *out, const struct cmd *const *cmds)
{
	static const struct opt_operand options[] = {
		{ "-h, --help", "Print this help." },
		{ "-V, --version", "Print the version and those of the libraries." },
	};
	unsigned width = help_width(fileno(out));
	size_t column = strlen(options[1].name);

	fprintf(out, "Usage: tlskit COMMAND [OPTION…] [OPERAND…]\n\nTLS on the command line.\n");
	for (const struct cmd *const *c = cmds; *c != NULL; c++) {
		if (strlen((*c)->name) > column)
			column = strlen((*c)->name);
	}
	column += 2 + GAP;
	fprintf(out, "\nCommands:\n");
	for (; *cmds != NULL; cmds++)
		print_row(out, (*cmds)->name, (*cmds)->summary, column, width);
	fprintf(out, "\nOptions:\n");
	print_row(out, options[0].name, options[0].help, column, width);
	print_row(out, options[1].name, options[1].help, column, width);
	print_description(out, "`tlskit COMMAND --help` and the man page tlskit-COMMAND(1) tell more.", width);
}

unsigned help_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width = 80;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	else if (columns != NULL && units_parse_uint(columns, 1, UINT16_MAX, &width) != 0)
		width = 80;
	if (width < 60)
		return 60;
	return width > 100 ? 100 : (unsigned)width;
}
