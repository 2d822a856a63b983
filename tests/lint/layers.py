#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds lib/ and cli/ against the rules of docs/architecture.md, and Makefile.am
against the files that are there.

layers.py [TREE]      reports each breach as FILE:LINE: text; exit 1 if any
layers.py --self-test checks that each rule finds its breach
"""

import pathlib
import re
import sys
import tempfile

# A layer includes itself and those before it.
LAYERS = ["base", "net", "tls", "relay", "crypto", "bench", "report", "probe"]

# A library's header (by its beginning) and where it may stand (by theirs).
LIBRARIES = {
    "event2/": ["lib/net/loop", "cli/version.c"],
    "idn2": ["lib/net/"],
    "gnutls/": ["lib/tls/", "lib/crypto/", "cli/version.c"],
    "nettle/": ["lib/crypto/", "lib/tls/x25519.c"],  # which stands in for a part of it
    "sodium": ["lib/crypto/", "lib/tls/", "cli/version.c"],
    "openssl/": ["lib/tls/aead_engines.c", "lib/tls/libcrypto.c", "lib/tls/signer.c"],
    "intel-ipsec-mb": ["lib/tls/aead_ipsec_mb.c"],
    "jansson": ["lib/report/"],
}

MAX_LINES = 500

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """"net" for lib/net/addr.c, None outside of lib/."""
    parts = path.split("/")
    return parts[1] if parts[0] == "lib" and len(parts) > 2 else None


def command_of(path, commands):
    """The command that a file of cli/ belongs to: cmd_NAME.c, NAME.h, NAME_*.[ch]."""
    if not path.startswith("cli/"):
        return None
    stem = path[len("cli/"):].rsplit(".", 1)[0].removeprefix("cmd_")
    for name in sorted(commands, key=len, reverse=True):
        if stem == name or stem.startswith(name + "_"):
            return name
    return None


def check_library(path, header):
    for start, places in LIBRARIES.items():
        if header.startswith(start) and not any(path.startswith(p) for p in places):
            return f"<{header}> belongs in {'* and '.join(places)}* alone"
    return None


def check_own(path, header, tree, commands):
    """What is wrong with #include "header" in path, or None."""
    if header == "config.h":
        return None
    if not header.startswith(("lib/", "cli/")):
        return f'"{header}": write the path from the top of the tree'
    if not (tree / header).is_file():
        return f'"{header}" does not exist'
    if path.startswith("lib/"):
        if header.startswith("cli/"):
            return f'"{header}": lib does not know cli'
        mine, theirs = layer_of(path), layer_of(header)
        if LAYERS.index(theirs) > LAYERS.index(mine):
            return f'"{header}": {theirs} lies behind {mine} in {", ".join(LAYERS)}'
    elif header.startswith("cli/"):
        mine, theirs = command_of(path, commands), command_of(header, commands)
        if theirs and theirs != mine:
            return f'"{header}" belongs to the command {theirs} alone'
    return None


def check_includes(path, text, tree, commands):
    for number, line in enumerate(text.splitlines(), 1):
        m = INCLUDE.match(line)
        if not m:
            continue
        fault = check_library(path, m[2]) if m[1] == "<" else check_own(path, m[2], tree, commands)
        if fault:
            yield number, fault


def blank(m):
    """Spaces and the same newlines, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", m[0])


def declarations(text):
    """(line, text) of what stands outside of braces, without comments and macros."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", blank, text, flags=re.M | re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    depth, start = 0, 0
    for i, c in enumerate(text):
        if depth == 0 and c in ";{":
            chunk = text[start:i]
            lead = len(chunk) - len(chunk.lstrip())
            yield text.count("\n", 0, start + lead) + 1, " ".join(chunk.split())
        depth += (c == "{") - (c == "}")
        if depth == 0 and c in ";}":
            start = i + 1


def exported_name(declaration):
    """The function or extern variable that it declares for others, or None."""
    if re.match(r"(typedef|static|_Static_assert|static_assert)\b", declaration):
        return None
    plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", declaration)
    m = re.search(r"(\w+)\s*\((?!\s*\*)", plain)
    if m:
        return m[1]
    m = re.match(r"extern\b.*?(\w+)\s*(\[[^]]*\]\s*)*$", plain)
    return m[1] if m else None


def check_names(path, text, tree):
    """foo.h declares foo_*; foo_bar.h may say foo_* too, for foo.c is often its
    other half. LAYER_int.h, shared inside a layer, declares for its files."""
    stem = pathlib.PurePosixPath(path).stem
    bases = {stem}
    if stem.endswith("_int"):
        bases |= {p.stem for p in (tree / path).parent.glob("*.c")}
    prefixes = {b + "_" for b in bases} | {b.split("_")[0] + "_" for b in bases}
    for number, declaration in declarations(text):
        name = exported_name(declaration)
        if name and not name.startswith(tuple(prefixes)):
            yield number, f"{name} is not called {stem.split('_')[0]}_..., as what {path} declares is"


def check_build(tree):
    """A file that Makefile.am does not name is neither built nor run nor shipped."""
    makefile = tree / "Makefile.am"
    named = set(re.findall(r"[\w./-]+\.[ch]\b", makefile.read_text(encoding="utf-8")))
    for d in ("lib", "cli", "tests/unit"):
        for p in sorted((tree / d).rglob("*.[ch]")):
            if p.relative_to(tree).as_posix() not in named:
                yield f"{p.relative_to(tree).as_posix()}:1: Makefile.am does not name it"


def check(tree):
    """("FILE:LINE: text" of each breach, number of files)."""
    files = sorted(p for d in ("lib", "cli") for p in (tree / d).rglob("*.[ch]"))
    paths = [p.relative_to(tree).as_posix() for p in files]
    commands = {p[len("cli/cmd_"):-2] for p in paths if re.fullmatch(r"cli/cmd_\w+\.c", p)}
    found = []
    for path in paths:
        text = (tree / path).read_text(encoding="utf-8")
        layer = layer_of(path)
        if path.startswith("lib/") and layer not in LAYERS:
            found.append(f"{path}:1: there is no layer {layer}")
            continue
        faults = list(check_includes(path, text, tree, commands))
        if path.endswith(".h"):
            faults += check_names(path, text, tree)
        lines = text.count("\n")
        if lines > MAX_LINES:
            faults.append((lines, f"{lines} lines; look for the second idea in it ({MAX_LINES} is the limit)"))
        found += [f"{path}:{number}: {fault}" for number, fault in faults]
    return found + list(check_build(tree)), len(files)


# --- self-test: a file, its text, and a piece of the report it must cause ------
GOOD = {
    "lib/base/err.h": "#define X(a) \\\n\tf(a)\nint err_set(int a, ...)\n\t__attribute__((format(printf, 1, 2)));\n"
                      "typedef void fn(void *);\nstruct err { int (*f)(void); };\nextern const int err_max;\n"
                      "static inline int twice(int a) { return f(a); }\n/* int other(void); */\n",
    "lib/net/addr.h": '#include "lib/base/err.h"\nint addr_parse(void);\n',
    "lib/net/addr_text.h": "char *addr_format(void);\n",
    "lib/net/loop.c": '#include "config.h"\n#include <event2/event.h>\n#include "lib/net/addr.h"\n',
    "lib/tls/config.c": "#include <gnutls/gnutls.h>\n#include <string.h>\n",
    "lib/tls/tls_int.h": "int config_peek(void);\n",
    "lib/crypto/aead.h": "int aead_run(void);\n",
    "lib/relay/relay.h": "void relay_end(void);\n",
    "cli/cmd.h": "extern const struct cmd cmd_tunnel;\n",
    "cli/cmd_tunnel.c": '#include "lib/relay/relay.h"\n#include "cli/tunnel_modes.h"\n#include "cli/cmd.h"\n',
    "cli/cmd_serve.c": '#include "cli/cmd.h"\n',
    "cli/tunnel_modes.h": "int tunnel_demo(void);\n",
    "cli/tunnel_demo.c": '#include "cli/tunnel_modes.h"\n',
    "cli/version.c": "#include <sodium.h>\n#include <gnutls/gnutls.h>\n",
}
BAD = [
    ("lib/base/buf.c", '#include "lib/net/addr.h"\n', "lib/base/buf.c:1: \"lib/net/addr.h\": net lies behind base"),
    ("lib/relay/pipe.c", '\n# include "lib/crypto/aead.h"\n', "lib/relay/pipe.c:2: \"lib/crypto/aead.h\": crypto"),
    ("lib/net/dial.c", '#include "cli/cmd.h"\n', "lib does not know cli"),
    ("lib/net/dial.c", "#include <event2/event.h>\n", "<event2/event.h> belongs in lib/net/loop* and"),
    ("lib/net/dial.c", "#include <gnutls/x509.h>\n", "<gnutls/x509.h> belongs in lib/tls/* and"),
    ("lib/relay/relay.c", "#include <jansson.h>\n", "<jansson.h> belongs in lib/report/* alone"),
    ("lib/base/units.c", "#include <sodium.h>\n", "<sodium.h> belongs in"),
    ("lib/base/units.c", '#include "err.h"\n', "write the path from the top"),
    ("lib/base/units.c", '#include "lib/base/gone.h"\n', "does not exist"),
    ("cli/cmd_serve.c", '#include "cli/tunnel_modes.h"\n', "belongs to the command tunnel alone"),
    ("cli/cmd_serve.c", "#include <gnutls/gnutls.h>\n", "<gnutls/gnutls.h> belongs in"),
    ("cli/main.c", '#include "cli/tunnel_modes.h"\n', "belongs to the command tunnel alone"),
    ("lib/misc/x.c", "", "there is no layer misc"),
    ("lib/net/sock.h", "\nint sock_new(void);\nint\nopen_sock(int a);\n", "lib/net/sock.h:3: open_sock is not called"),
    ("lib/net/sock.h", "extern int socks[4];\n", "socks is not called sock_..."),
    ("lib/net/sock.h", "static inline int f(void) { return 0; }\nint g(void);\n", "lib/net/sock.h:2: g is not"),
    ("lib/tls/tls_int.h", "int other_peek(void);\n", "other_peek is not called"),
    ("Makefile.am", " ".join(set(GOOD) - {"cli/cmd.h"}), "cli/cmd.h:1: Makefile.am does not name it"),
    ("lib/base/log.c", "\n" * 501, "501 lines"),
]


def write_tree(tree, files):
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")


def report_of(files):
    """The breaches of a tree of these files, with a Makefile.am unless they bring one."""
    with tempfile.TemporaryDirectory() as d:
        write_tree(pathlib.Path(d), {"Makefile.am": " ".join(files), **files})
        return check(pathlib.Path(d))[0]


def self_test():
    failed = [f"good tree: {line}" for line in report_of(GOOD)]
    for name, text, expected in BAD:
        found = report_of({**GOOD, name: text})
        if len(found) != 1 or expected not in found[0]:
            failed.append(f"{name} with {text[:60]!r}: expected {expected!r}, found {found}")
    for line in failed:
        print("self-test:", line)
    print(f"self-test: {len(BAD) + 1} trees, {len(failed)} failed")
    return 1 if failed else 0


def main(argv):
    if argv[1:] == ["--self-test"]:
        return self_test()
    found, files = check(pathlib.Path(argv[1] if len(argv) > 1 else "."))
    for line in found:
        print(line)
    print(f"layers: {files} files, {len(found)} breaches")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
