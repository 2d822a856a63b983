# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a run: its formats, stored runs printed again and compared, and
outputs that fail. Two short runs are made here; the rest prints them."""

import copy
import csv
import io
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import benches
import schema
import tlskit
from benches import ONE, SHORT, refused, run

# Of two kinds, one row that cannot be
MADE = ("AES-*-GCM", "AES-128-CBC", "--engine", "gnutls", "--kind", "aead,cipher", "--op", "encrypt", "--size", "1")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run as file, with the picture that was drawn at the same time."""
    at = tmp_path_factory.mktemp("stored")
    run(*MADE, "--time", "2ms", "--samples", "6", "--json", "-o", at / "run.json", "--svg", at / "run.svg")
    return at / "run.json"


@pytest.fixture(scope="module")
def steady(stored, tmp_path_factory):
    """The same with samples that say something on any machine."""
    d = json.loads(stored.read_bytes())
    for r in measured(d):
        set_samples(r, [1e9 + i * 1e6 for i in range(8)])
    d["clock"]["samples"] = 8
    return write(tmp_path_factory.mktemp("steady") / "run.json", d)


def measured(d):
    return [r for r in d["rows"] if r["status"] == "ok"]


def set_samples(r, values):
    """What follows from them is computed by who reads them."""
    r["samples"], r["flags"] = values, []


def write(path, d):
    path.write_text(json.dumps(d))
    return path


def changed(path, to, change):
    """A copy of a document, changed."""
    d = json.loads(path.read_bytes())
    change(d)
    return write(to / "changed.json", d)


# --- formats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_text_is_as_wide_as_the_terminal(stored, columns):
    """Or as $COLUMNS says, where there is none."""
    args = ("--from", str(stored), "--compare", str(stored))
    text = benches.on_screen(*args, columns=columns)
    assert columns - 20 < max(len(line) for line in text.splitlines()) <= columns, text
    assert "\n  AES-128-GCM" in text and "MB/s" in text and "unavailable" in text, text
    assert run(*args, env={"COLUMNS": str(columns)}).out.decode() == text


def test_text_of_a_run_on_a_terminal():
    text = benches.on_screen(*ONE, *SHORT)
    assert text.startswith("tlskit ") and max(len(line) for line in text.splitlines()) <= 80, text
    for fact in ("processor", "features", "system", "libraries", "clock", "samples", "started", "command"):
        assert re.search(f"^{fact} ", text, re.M), (fact, text)
    assert re.search(r"^  CHACHA20-POLY1305 +\d", text, re.M), text


def test_text_in_a_file_has_no_colours(stored):
    assert b"\x1b" not in run("--from", stored).out


def records(out):
    return list(csv.DictReader(io.StringIO(out.decode(), newline="")))


def test_csv(stored):
    """A record a sample, to the last digit; one of a row without."""
    d = json.loads(stored.read_bytes())
    rows = records(run("--from", stored, "--csv").out)
    want = [(r["id"], r["status"], str(i), v) for r in d["rows"] for i, v in enumerate(r["samples"])]
    got = [(r["id"], r["status"], r["sample"], float(r["value"])) for r in rows if r["value"]]
    assert got == want and len(rows) == len(want) + len(d["rows"]) - len(measured(d))
    assert all(None not in r and None not in r.values() for r in rows), "as many fields as names"
    assert {r["size_bytes"] for r in rows} == {"1"} and {r["unit"] for r in rows} == {"bytes/s"}


def test_csv_of_a_run():
    rows = records(run(*ONE, "--size", "1,64", "--time", "1ms", "--samples", "3", "--csv").out)
    assert [(r["size_bytes"], r["sample"]) for r in rows] == [(s, i) for s in ("1", "64") for i in "012"]


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def test_markdown(stored, steady):
    """Each table with a blank line before it, a rule, and lines of as many cells."""
    text = run("--from", stored, "--compare", steady, "--markdown", code=None).out.decode()
    tables = [b.splitlines() for b in text.split("\n\n") if b.startswith("|")]
    inside = [line for t in tables for line in t]
    assert len(tables) == 3 and inside == [line for line in text.splitlines() if line.startswith("|")], text
    for t in tables:
        assert all(re.fullmatch(":--|--:", c) for c in cells(t[1])), t
        assert len({len(cells(line)) for line in t}) == 1 and len(t) > 2, t
    assert text.startswith("# bench-ciphers\n\n- tool: tlskit ") and "## Compared with the run of 20" in text
    for r in json.loads(stored.read_bytes())["rows"]:
        assert any(cells(line)[0].replace("\\", "") == r["title"] for line in inside), (r["title"], text)


def test_svg(stored):
    """Well-formed, a bar for each row that was measured, nothing that runs or is fetched."""
    picture = stored.with_suffix(".svg").read_bytes()
    root = ElementTree.fromstring(picture)
    names = [e.tag.split("}")[1] for e in root.iter()]
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and {"title", "desc", "rect", "text"} <= set(names)
    assert {"script", "foreignObject", "image", "use", "a", "iframe"} & set(names) == set()
    for e in root.iter():
        bad = [k for k in e.attrib if k.startswith("on") or k.endswith("href") or "url(http" in e.attrib[k]]
        assert bad == [], e.attrib
    bars = [e.get("data-row") for e in root.iter() if e.get("data-row") and "bar" in (e.get("class") or "").split()]
    d = json.loads(stored.read_bytes())
    assert sorted(bars) == [str(i) for i, r in enumerate(d["rows"]) if r["status"] == "ok"], bars
    for r in d["rows"]:
        assert r["title"] in picture.decode(), r


@pytest.mark.parametrize("unit,word", [("MB", "MB/s"), ("MiB", "MiB/s"), ("Gbit", "Gbit/s")])
def test_units(steady, unit, word):
    text = run("--from", steady, "--unit", unit).out.decode()
    assert word in text, text
    value = {"MB": "1004", "MiB": "957", "Gbit": "8.0"}[unit]
    assert re.search(rf"AES-128-GCM +{re.escape(value)}", text), text
    assert run("--from", steady, "--unit", unit, "--json").out == run("--from", steady, "--json").out


# --- stored runs -------------------------------------------------------------------------------


def test_stored_again(stored, tmp_path):
    again = run("--from", stored, "--json", "--svg", tmp_path / "again.svg").out
    assert again == stored.read_bytes()
    assert (tmp_path / "again.svg").read_bytes() == stored.with_suffix(".svg").read_bytes()
    assert run("--from", "-", "--json", stdin=again).out == again


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",), ("--markdown",), ("--preset", "gnutls-cli")])
def test_stored_and_piped_and_to_a_file(stored, tmp_path, form):
    """The same, wherever it comes from and goes to; text in a file has longer lines."""
    direct = run("--from", stored, *form).out
    (tmp_path / "out").write_bytes(direct * 2)  # a longer file is cut
    r = run("--from", "-", *form, "-o", tmp_path / "out", stdin=stored.read_bytes())
    found = (tmp_path / "out").read_bytes()
    assert r.out == b"" and len(direct) > 200 and found.split() == direct.split()
    assert form == () or found == direct


def test_an_interrupted_run_is_printed_like_others(stored, tmp_path):
    path = changed(stored, tmp_path, lambda d: d.update(interrupted=True))
    r = run("--from", path)
    assert b"nterrupted" in r.out and r.err == "", r


def test_stored_of_another_command(stored, tmp_path):
    path = changed(stored, tmp_path, lambda d: d.update(schema="tlskit/bench-kx/1"))
    for option in ("--from", "--compare"):
        refused(*ONE[1:], option, path, says=[option, str(path), '"tlskit/bench-kx/1"', "expected: tlskit/bench-ciphers/1"])


def test_stored_cut_anywhere(stored, tmp_path):
    data = stored.read_bytes().rstrip()
    for n in sorted({1, 2, 20, len(data) // 3, len(data) // 2, len(data) - 100, len(data) - 2, len(data) - 1}):
        (tmp_path / "cut").write_bytes(data[:n])
        err = refused("--from", tmp_path / "cut", says=["--from: ", str(tmp_path / "cut"), "ends in the middle"])
        assert re.search(r"line \d+, column \d+", err), err


@pytest.mark.parametrize("data,says", [
    (b"", "empty"), (b"\n", "line 2, column 0"), (os.urandom(4096).replace(b"{", b"}"), "line 1, column"),
    (b"[" * 100000, "line 1, column"), (b'{"a":' * 100000, "line 1, column"), (b"[]", '"schema" is missing'),
    (b"{}", '"schema" is missing'), (b'{"schema": 1}', '"schema" is missing'), (b'{"schema": "tlskit/log/1"}', '"tlskit/log/1"'),
    (b'{"schema": "tlskit/bench-ciphers/1"}', "rows"), (b'{"schema": "tlskit/bench-ciphers/1", "rows": {}}', "rows"),
    (b'{"schema": "tlskit/bench-ciphers/2", "rows": []}', "bench-ciphers/2"), (b'{"schema": "\0"}', "line 1"),
    (b'{"schema": "tlskit/bench-ciphers/1", "rows": [], "rows": []}', "line 1"), (b"\xff\xfe{\0}\0", "line 1"),
    (b" " * (17 << 20), "larger than 16 MiB"),
], ids=lambda v: repr(v[:12]) if isinstance(v, bytes) else None)
def test_stored_nonsense(tmp_path, data, says):
    (tmp_path / "run.json").write_bytes(data)
    refused("--from", tmp_path / "run.json", says=["--from: ", str(tmp_path / "run.json"), says])
    if len(data) < 1 << 20:
        refused("--compare", "-", says=["--compare: ", "standard input", says], stdin=data)


@pytest.mark.parametrize("change,says", [
    (lambda d: d["rows"][1].pop("id"), "rows[1].id"), (lambda d: d["rows"][0].update(samples=[-1]), "rows[0].samples[0]"),
    (lambda d: d["rows"][2].update(status="fine"), 'rows[2].status is unknown: "fine"'),
    (lambda d: d["rows"].append(d["rows"][0]), "is there twice"), (lambda d: d.update(started="yesterday"), "started"),
    (lambda d: d["host"].update(cores_usable="two"), "host.cores_usable"),
    (lambda d: d["rows"][0].update(samples=["fast"]), "rows[0].samples[0] is not a number"),
])
def test_stored_with_a_wrong_value(stored, tmp_path, change, says):
    path = changed(stored, tmp_path, change)
    refused("--from", path, says=[str(path), says])


def test_stored_is_no_file(tmp_path):
    for option in ("--from", "--compare"):
        refused(option, tmp_path, says=[option, str(tmp_path), "Is a directory"])
        refused(option, tmp_path / "no", says=[option, str(tmp_path / "no"), "No such file"])


# --- comparisons -----------------------------------------------------------------------------------


def comparison(now, base, *args, code=0):
    r = run("--from", now, "--compare", base, "--json", *args, code=code)
    return json.loads(r.out), r.err


def verdicts(c):
    return {(x["verdict"], x["reason"]) for x in c["changes"] if x["reason"] != "unavailable in both"}


def times(factor):
    def change(d):
        for r in measured(d):
            set_samples(r, [v * factor for v in r["samples"]])
    return change


@pytest.mark.parametrize("factor,args,verdict,code", [
    (1, [], "same", 0), (2, [], "worse", 1), (0.5, [], "better", 0), (1.04, [], "same", 0), (1.06, [], "worse", 1),
    (1.06, ["--threshold", "7%"], "same", 0), (1.06, ["--threshold", "7"], "same", 0), (1.04, ["--threshold", "3.5"], "worse", 1),
    (2, ["--threshold", "100%"], "same", 0), (1.02, ["--threshold", "0"], "worse", 1), (1, ["--threshold", "0"], "same", 0),
])
def test_compare(steady, tmp_path, factor, args, verdict, code):
    """Against a base that was `factor` as fast."""
    c, err = comparison(steady, changed(steady, tmp_path, times(factor)), *args, code=code)
    assert verdicts(c) == {(verdict, None)} and err == "", c
    n = len(measured(json.loads(steady.read_bytes())))
    assert (c["schema"], c["worse"], c["better"]) == (
        "tlskit/bench-ciphers-compare/1", n * (verdict == "worse"), n * (verdict == "better"))
    assert all(abs(x["ratio"] * factor - 1) < 1e-9 for x in c["changes"] if x["ratio"]), c


def test_compare_a_run(stored, tmp_path):
    """Measured now, against one that a thousand times as much could not be."""
    one = tmp_path / "one.json"
    run(*ONE, "--time", "1ms", "--samples", "6", "--json", "-o", one)
    args = (*ONE, "--time", "1ms", "--samples", "6", "--compare")
    r = run(*args, changed(one, tmp_path, times(1e4)), code=1)
    assert b"compared with the run of 20" in r.out and b" worse" in r.out and b"1 row: 1 worse" in r.out, r
    r = run(*args, changed(one, tmp_path, times(1e-4)), "-o", one)
    assert r.out == b"" and b" better" in one.read_bytes(), r


def test_compare_too_few_samples(steady, tmp_path):
    def few(d):
        for r in measured(d):
            set_samples(r, [v * 2 for v in r["samples"][:2]])
    few_now = changed(steady, tmp_path, lambda d: [set_samples(r, r["samples"][:2]) for r in measured(d)])
    c, _ = comparison(few_now, few_now)
    assert verdicts(c) == {("unsure", None)}
    c, _ = comparison(steady, changed(steady, tmp_path, lambda d: [set_samples(r, [5e9]) for r in measured(d)]))
    assert verdicts(c) == {("unsure", None)}
    text = run("--from", steady, "--compare", changed(steady, tmp_path, lambda d: [set_samples(r, [5e9]) for r in measured(d)]))
    assert b"too few samples" in text.out, text


def test_compare_rows_of_one_side(steady, tmp_path):
    d = json.loads(steady.read_bytes())
    cut = copy.deepcopy(d)
    gone = cut["rows"].pop(0)["id"]
    cut = write(tmp_path / "cut.json", cut)
    for now, base, reason in ((steady, cut, "not in the base"), (cut, steady, "in the base alone")):
        c, _ = comparison(now, base)
        assert [(x["id"], x["reason"]) for x in c["changes"] if x["verdict"] == "missing"] == [(gone, reason)]
        assert verdicts(c) == {("missing", reason), ("same", None)} and len(c["changes"]) == len(d["rows"])


@pytest.mark.parametrize("status,words", [("error", "error"), ("skipped", "skipped"), ("unavailable", "unavailable")])
def test_compare_rows_that_failed(steady, tmp_path, status, words):
    """Only a row that failed now is a failure now."""
    def fail(d):
        measured(d)[0].update(status=status, reason="it is Sunday", samples=[], flags=[])
    bad = changed(steady, tmp_path, fail)
    c, _ = comparison(steady, bad)
    assert ("refused", f"{words} in the base") in verdicts(c)
    c, _ = comparison(bad, steady, code=1 if status == "error" else 0)
    assert ("refused", f"{words} now") in verdicts(c)
    r = run("--from", bad, code=1 if status == "error" else 0)
    assert b"it is Sunday" in r.out, r


def test_compare_another_machine(steady, tmp_path):
    def other(d):
        d["host"].update(cpu="Zilog Z80", virtualization="none")
        d["lib"]["GnuTLS"] = "1.0"
    c, err = comparison(steady, changed(steady, tmp_path, other))
    assert c["other_machine"] and "Zilog Z80" in c["machine_note"]
    assert err.startswith("tlskit: ") and "another machine or software" in err and "was Zilog Z80" in err and "was 1.0" in err
    text = run("--from", steady, "--compare", tmp_path / "changed.json")
    assert b"Not the same conditions: " in text.out and b"Zilog" in text.out, text


def test_compare_in_every_format(steady, tmp_path):
    base = changed(steady, tmp_path, times(2))
    n = len(json.loads(steady.read_bytes())["rows"])
    rows = records(run("--from", steady, "--compare", base, "--csv", code=1).out)
    assert len(rows) == n and {r["verdict"] for r in rows} == {"worse", "refused"}
    assert list(rows[0]) == ["id", "unit", "base", "now", "ratio", "p", "verdict", "reason"]
    text = run("--from", steady, "--compare", base, code=1).out.decode()
    assert re.search(r"/encrypt/1 .* -50\.0%.* worse$", text, re.M) and f"{n} rows: {n - 1} worse" in text, text
    assert text.startswith("tlskit "), "the run itself stands above"
    c, _ = comparison(steady, base, "--svg", tmp_path / "x.svg", code=1)
    assert len(c["changes"]) == n and ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


# --- outputs that fail -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",), ("--markdown",), ("--preset", "gnutls-cli"), ("--list",)])
def test_disk_full(stored, form):
    args = [tlskit.TLSKIT, "bench-ciphers", *form, *([] if "--list" in form else ["--from", stored])]
    with open("/dev/full", "wb") as full:
        r = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, timeout=30)
    assert r.returncode == 1 and r.stderr.count(b"\n") == 1 and b"No space left on device" in r.stderr, r


@pytest.mark.parametrize("option", ["--output", "--svg"])
def test_disk_full_for_a_file(stored, option):
    r = run("--from", stored, option, "/dev/full", code=1)
    assert r.err == f"tlskit: {option} /dev/full: cannot write the report: No space left on device\n", r


def test_picture_is_drawn_although_the_text_is_lost(stored, tmp_path):
    run("--from", stored, "-o", "/dev/full", "--svg", tmp_path / "x.svg", code=1)
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("form", [(), ("--json",), ("--list",)])
def test_closed_stdout(stored, form):
    args = [tlskit.TLSKIT, "bench-ciphers", *form, *([] if "--list" in form else ["--from", stored])]
    r = subprocess.run(args, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1), timeout=30)
    assert r.returncode == 1 and r.stderr.count(b"\n") == 1 and b"Bad file descriptor" in r.stderr, r
    back, front = os.pipe()
    os.close(back)
    r = subprocess.run(args, stdout=front, stderr=subprocess.PIPE, timeout=30)
    os.close(front)
    assert (r.returncode, r.stderr) == (1, b""), "a reader that had enough is told nothing"


# --- the checker itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [
    lambda d: d.pop("tool"), lambda d: d.update(more=1), lambda d: d.update(duration_s=-1), lambda d: d.update(interrupted=0),
    lambda d: d.update(started="2026"), lambda d: d["rows"][0].update(unit="MB"), lambda d: d["rows"][0].update(id=""),
    lambda d: d["rows"][0].update(flags=["noisy", "noisy"]), lambda d: d["rows"][0].update(flags=["loud"]),
    lambda d: d["rows"][0].update(ci95=[1]), lambda d: d["rows"][0].update(ci95=[1, 2, 3]),
    lambda d: d["rows"][0]["params"].update({"Size": 1}), lambda d: d["rows"][0]["params"].update(size=[]),
    lambda d: d["host"].update(cores_online=1.5), lambda d: d["rows"][0].update(samples=[True]), lambda d: d.update(rows={}),
])
def test_schema_refuses(stored, change):
    d = json.loads(stored.read_bytes())
    schema.check(d, "bench")
    change(d)
    with pytest.raises(schema.Wrong):
        schema.check(d, "bench")


def test_schema_of_unknown_words():
    with pytest.raises(schema.Wrong, match="maxLength"):
        schema.Checker({}).check({"type": "string", "maxLength": 3}, "abc")
