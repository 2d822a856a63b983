# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit bench-ciphers`: which rows there are, that they are measured, and what
becomes of them when it is stopped. How fast anything is, is not asserted."""

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess

import pytest

import benches
import ends
import tlskit
from benches import ONE, SHORT, Background, Running, document, ids, listed, refused, run

AEADS = ("--kind", "aead,record")
# Many rows, and two in both ways of which each part takes 2 s: to be stopped in the middle
SLOWLY = ("AES-*", "--engine", "gnutls", "--kind", "aead,record", "--op", "encrypt", "--time", "60ms", "--samples", "3")
BOTH = ("AES-128-GCM", "--size", "64,1024", "--engine", "gnutls", "--kind", "aead", "--op", "encrypt", "--time", "200ms",
        "--samples", "2", "--accel", "on,off")


@pytest.fixture(scope="module", autouse=True)
def background():
    """What takes seconds and nobody's attention: beside the other tests."""
    runs = {
        "quick": Background("bench-ciphers", "--quick", "--json"),
        "preset": Background("bench-ciphers", "--preset", "gnutls-cli", *SHORT),
    }
    if os.environ.get("TLSKIT_TEST_GNUTLS_CLI") and shutil.which("gnutls-cli"):
        runs["gnutls-cli"] = Background("--benchmark-ciphers", program="gnutls-cli")
    yield runs
    for r in runs.values():
        r.end()


# --- the document ---------------------------------------------------------------------------


def test_document(tmp_path):
    """A row of each kind: what is known is there, and nothing is made up."""
    names = ("AES-128-GCM", "AES-128-CB[C]", "AES-128-CBC-SHA1", "SHA256")
    args = (*names, "--engine", "gnutls", "--op", "encrypt,digest", "--size", "32", "--time", "2ms", "--samples", "6")
    d = document(*args)
    assert ids(d) == listed(*args)
    assert {r["kind"] for r in d["rows"]} == {"aead", "record", "pair", "mac", "hash", "cipher"}
    assert d["arguments"].startswith("tlskit bench-ciphers AES-128-GCM 'AES-128-CB[C]' AES-128-CBC-SHA1 SHA256 ")
    assert not d["interrupted"] and d["started"] and d["duration_s"] > 0
    assert d["clock"]["samples"] == 6 and d["clock"]["sample_s"] == 0.002
    assert d["clock"]["resolution_ns"] > 0 and d["clock"]["overhead_ns"] > 0
    assert {"GnuTLS", "Nettle"} <= set(d["lib"]) and all(re.match(r"\d+\.\d+", v) for v in d["lib"].values())
    known = ("cpu", "architecture", "cores_online", "cores_usable", "kernel", "os", "memory_bytes", "acceleration")
    assert [k for k in known if d["host"][k] is None] == []
    for r in d["rows"]:
        check_measured(r, 6)
        op = "digest" if r["kind"] in ("mac", "hash") else "encrypt"
        assert r["params"] == {"engine": "gnutls", "op": op, "size_bytes": 32, "threads": 1, "accel": "on"}, r


def check_measured(r, samples):
    assert (r["status"], r["reason"], r["unit"]) == ("ok", None, "bytes/s"), r
    assert len(r["samples"]) == samples and min(r["samples"]) > 0, r
    assert r["min"] == min(r["samples"]) and r["max"] == max(r["samples"]) and r["min"] <= r["median"] <= r["max"], r
    assert r["mad"] is not None and 0 < r["cpu_s"] and 0 < r["wall_s"], r
    assert (r["ci95"] is None) == (samples < 6) and "few-samples" not in r["flags"], r
    assert r["negotiated"] is r["latency"] is r["mem"] is None, r


def test_every_listed_row_is_measured_once(background):
    """--quick without names: AEADs and records of every library, and an end."""
    q = background["quick"]
    code, out, err = q.result()
    assert code == 0, err
    d = benches.parse(out)
    assert ids(d) == listed(*AEADS) == listed("--quick") and len(set(ids(d))) == len(ids(d)) > 40
    assert {r["params"]["engine"] for r in d["rows"]} >= {"gnutls", "nettle"}
    for r in d["rows"]:
        assert r["status"] == "ok" and 1 <= len(r["samples"]) <= 3, r
        assert ("few-samples" in r["flags"]) == (len(r["samples"]) < 3), r
    assert any(line.startswith("Fastest AEAD for TLS records of 16 KiB: ") for line in d["advice"]), d["advice"]
    assert d["duration_s"] < 30 * tlskit.SLOW  # of a machine that does other things too


def test_memory(background):
    """However many rows there are: one at a time is in memory."""
    q = background["quick"]
    q.proc.wait(55)
    q.watcher.join()
    if tlskit.sanitized():
        pytest.skip("a sanitizer takes memory of its own")
    assert 1000 < q.peak_kb < 32 << 10, f"{q.peak_kb} kB"


def test_quick_of_one_row_is_quick():
    r = run(*ONE, "--quick", "--json")
    d = benches.parse(r.out)
    assert d["clock"]["samples"] == 3 and d["duration_s"] < 3 * tlskit.SLOW, d
    assert "1 row, less than 1 s" in r.err, r


# --- names ------------------------------------------------------------------------------------


def test_lists():
    everything = listed("--kind", "aead,record,pair,mac,hash,cipher")
    assert everything == listed() and len(set(everything)) == len(everything) > 100
    for kind in ("aead", "record", "pair", "mac", "hash", "cipher"):
        rows = listed("--kind", kind)
        assert rows and rows == [i for i in everything if i.startswith(kind + "/")], kind
    assert {i.split("/")[2] for i in listed("--kind", "mac")} == {"gnutls"}
    assert {i.split("/")[2] for i in listed("--kind", "mac", "--engine", "gnutls,nettle")} == {"gnutls", "nettle"}
    assert {i.split("/")[3] for i in listed("--op", "decrypt")} == {"decrypt"}
    assert [i.split("/")[4] for i in listed(*ONE, "--size", "1,16K,1,16384")] == ["1", "16384"]
    assert [i.split("/")[5:] for i in listed(*ONE, "--threads", "1,3,1")] == [[], ["t3"]]


@pytest.mark.parametrize("names,found", [
    (["aes-*-gcm"], {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"}), (["AES-?28-GCM"], {"AES-128-GCM"}),
    (["chacha20-poly1305"], {"CHACHA20-POLY1305"}), (["[ab]es-256-gcm", "AES-256-*M"], {"AES-256-GCM", "AES-256-CCM"}),
])
def test_names(names, found):
    rows = listed(*names, *AEADS)
    assert {i.split("/")[1] for i in rows if "-SIV-" not in i} == found and len(rows) == len(set(rows))


@pytest.mark.parametrize("name,says", [
    ("aes-128-gmc", 'did you mean "AES-128-GCM"?'), ("chacha20poly1305", 'did you mean "CHACHA20-POLY1305"?'),
    ("aes-128-g", 'did you mean "AES-128-GCM"?'), ("rot13*", "--list shows all"), ("", "--list shows all"),
])
def test_unknown_names(name, says):
    refused("SHA256", name, says=[f'"{name}"', says])


def test_names_that_the_options_leave_out():
    assert "did you mean" not in refused("aes-128-gcm", "--kind", "hash", says='"aes-128-gcm" fits AES-128-GCM, which --e')
    refused("3DES-CBC", "--engine", "sodium", says="which --engine or --kind leaves out")
    refused("--kind", "aead", "--op", "digest", says="no row fits --engine, --kind and --op together")


# --- options that are wrong -----------------------------------------------------------------------


@pytest.mark.parametrize("option,value,says", [
    *[("--size", v, "between 1 and 16M bytes") for v in ("0", "17M", "16777217")],
    *[("--size", v, "is not a number of bytes") for v in ("x", "-1", "1.5", "99999999999999999999", "1 ")],
    *[("--threads", v, "no number from 1 to 1024, nor N") for v in ("0", "x", "1025", "-1", "n", "1.0")],
    *[(o, "", "the value is empty") for o in ("--size", "--threads", "--op", "--kind", "--engine", "--accel", "--threshold")],
    *[(o, "1,,2", "an empty item") for o in ("--size", "--threads", "--op")],
    ("--op", "encrypts", 'did you mean "encrypt"?'), ("--op", "both", "none of encrypt, decrypt, digest"),
    ("--kind", "aeda", 'did you mean "aead"?'), ("--kind", "kx", "none of aead, record, pair, mac, hash, cipher"),
    ("--engine", "Nettle", 'did you mean "nettle"?'), ("--engine", "openssl", "none of gnutls, nettle"),
    ("--accel", "maybe", "none of on, off"), ("--preset", "gnutls", "gnutls-cli"), ("--unit", "GB", "MiB"),
    *[("--threshold", v, f'"{v}" is not a percentage') for v in ("x", "-1", "nan", "inf", "101", "5%%", "5 %", "%")],
    *[("--samples", v, "from 1 to 10000") for v in ("0", "10001", "x", "-1")],
    ("--time", "0", "the least is 1ms"), ("--time", "11m", "10m"), ("--time", "soon", "not a duration"),
])
def test_bad_values(option, value, says):
    err = refused(f"{option}={value}", says=says)
    assert option in err and (not value or f'"{value}"' in err or value in err), err


@pytest.mark.parametrize("args,says", [
    *[(["--preset", "gnutls-cli", o, v], "--preset says which rows") for o, v in (
        ("--kind", "aead"), ("--engine", "gnutls"), ("--size", "1"), ("--op", "encrypt"), ("--threads", "1"), ("--accel", "off"))],
    (["--preset", "gnutls-cli", "AES-128-GCM"], "--preset says which rows"),
    *[(list(f), "choose one") for f in (("--json", "--csv"), ("--csv", "--markdown"), ("--json", "--csv", "--markdown"))],
    *[([o, "/nonexistent/x"], f"{o}: cannot write /nonexistent/x: No such file") for o in ("--output", "--svg")],
    *[([o, "/"], f"{o}: cannot write /: Is a directory") for o in ("--output", "--svg")],
    (["--list", "--from", "x"], "--list has no say"), (["AES-128-GCM", "--from", "x"], "NAME has no say"),
    (["--quick=yes"], "takes no value"), (["--sizes", "1"], "--size"), (["--size"], "needs a value"),
])
def test_bad_command_lines(args, says):
    refused(*args, says=says)


def test_nothing_is_written_when_the_command_line_is_wrong(tmp_path):
    old = tmp_path / "old.json"
    old.write_text("a run of last year")
    refused("aes-129-gcm", "--json", "-o", old, says="did you mean")
    refused(*ONE, "--svg", old, "--threshold", "x", says="percentage")
    refused(*ONE, "--svg", old, "-o", old, says="one file")
    refused(*ONE, "-o", old, "--svg", "/", says="directory")
    assert old.read_text() == "a run of last year" and os.listdir(tmp_path) == ["old.json"]
    run(*ONE, *SHORT, "--json", "-o", old)
    benches.parse(old.read_bytes())
    assert stat.S_IMODE(old.stat().st_mode) & 0o444


# --- sizes, threads, processors --------------------------------------------------------------------


def test_sizes_at_the_ends():
    d = document("CHACHA20-POLY1305", "AES-128-CBC", "--engine", "gnutls", "--kind", "aead,cipher", "--op", "encrypt",
                 "--size", "1,16M", "--time", "1ms", "--samples", "1")
    rows = {(r["kind"], r["params"]["size_bytes"]): r for r in d["rows"]}
    assert set(rows) == {(k, n) for k in ("aead", "cipher") for n in (1, 16 << 20)}
    odd = rows.pop(("cipher", 1))
    assert odd["status"] == "unavailable" and "16-byte blocks: 1 is not a multiple" in odd["reason"], odd
    assert odd["samples"] == [] and odd["median"] is odd["wall_s"] is None and odd["flags"] == [], odd
    for r in rows.values():
        check_measured(r, 1)


def test_more_threads_than_processors():
    cores = os.sysconf("SC_NPROCESSORS_ONLN")
    d = document(*ONE, *SHORT, "--threads", f"N,{4 * cores},1")
    assert [r["params"]["threads"] for r in d["rows"]] == list(dict.fromkeys([cores, 4 * cores, 1]))
    for r in d["rows"]:
        check_measured(r, 2)
        assert ("overcommitted" in r["flags"]) == (r["params"]["threads"] > d["host"]["cores_usable"]), r


def test_one_processor():
    program = shutil.which("taskset")
    if not program:
        pytest.skip("taskset is not installed")
    cpu = str(min(os.sched_getaffinity(0)))
    b = Background("-c", cpu, tlskit.TLSKIT, "bench-ciphers", *ONE, *SHORT, "--threads", "1,2", "--json", program=program)
    code, out, err = b.result()
    assert code == 0, err
    d = benches.parse(out)
    assert d["host"]["cores_usable"] == 1 and d["host"]["cores_online"] == os.sysconf("SC_NPROCESSORS_ONLN")
    assert ["overcommitted" in r["flags"] for r in d["rows"]] == [False, True]


# --- without acceleration ---------------------------------------------------------------------------


def test_accel_both():
    names = ["chacha20-poly1305", *["CHACHA20-POLY130?"] * 300]  # more than a table of arguments would hold
    args = (*names, "--kind", "aead", "--op", "encrypt", *SHORT, "--accel", "on,off")
    d = document(*args)
    assert ids(d) == listed(*args)
    on, off = d["rows"][:len(d["rows"]) // 2], d["rows"][len(d["rows"]) // 2:]
    assert [i["id"] + "/accel-off" for i in on] == [i["id"] for i in off]
    assert {r["params"]["accel"] for r in on} == {"on"} and {r["params"]["accel"] for r in off} == {"off"}
    for r in off:
        if r["params"]["engine"] == "sodium":
            assert r["status"] == "unavailable" and "libsodium has no switch" in r["reason"], r
        else:
            check_measured(r, 2)
    assert not d["host"]["acceleration"].startswith("off")


def test_accel_off_alone():
    """The document tells of the process that measured."""
    r = run(*ONE, *SHORT, "--accel", "off", "--json")
    d = benches.parse(r.out)
    assert ids(d) == listed(*ONE, "--accel", "off") == ["aead/CHACHA20-POLY1305/gnutls/encrypt/16384/accel-off"]
    check_measured(d["rows"][0], 2)
    assert d["duration_s"] > 0 and d["host"]["acceleration"].startswith("off"), d["host"]
    assert d["clock"]["samples"] == 2 and d["clock"]["sample_s"] == 0.002 and d["clock"]["overhead_ns"] > 0, d["clock"]
    assert "--accel off" in d["arguments"] and "1 row, " in r.err


# --- the preset ------------------------------------------------------------------------------------

GNUTLS_CLI = """\
Checking AEAD ciphers, payload size: 16384: AES-128-GCM AES-128-CCM CHACHA20-POLY1305
Checking cipher-MAC combinations, payload size: 16384: SALSA20-256-SHA1 AES-128-CBC-SHA1 AES-128-CBC-SHA256 \
GOST28147-TC26Z-CNT-GOST28147-TC26Z-IMIT
Checking MAC algorithms, payload size: 16384: SHA1 SHA256 SHA512 GOST28147-TC26Z-IMIT GOSTR341194 STREEBOG-512
Checking ciphers, payload size: 16384: 3DES-CBC AES-128-CBC AES-128-XTS AES-256-XTS SALSA20-256 NULL GOST28147-TC26Z-CNT
"""


def sections(text):
    """Headings with the names below them, as in GNUTLS_CLI."""
    out = []
    for block in text.strip().split("\n\n"):
        heading, *rows = block.splitlines()
        out.append(heading + ": " + " ".join(r.split()[0] for r in rows))
    return "\n".join(out) + "\n"


def test_preset(background):
    code, out, err = background["preset"].result()
    assert code == 0 and sections(out.decode()) == GNUTLS_CLI, out.decode()
    for line in out.decode().splitlines():
        fine = r"Checking .*|| *\S+ ([1-9]\d{0,2}|0)\.\d\d [KMGT]?B/sec| *\S+ unavailable: this GnuTLS does not have it"
        assert re.fullmatch(fine, line), line
    names = [i.split("/")[1] for i in listed("--preset", "gnutls-cli")]
    assert names == [n for line in GNUTLS_CLI.splitlines() for n in line.split(": ")[2].split()]


def test_preset_beside_the_program(background):
    """Takes 25 s of processor time, so only where TLSKIT_TEST_GNUTLS_CLI is set; as far
    as it comes in 45 s."""
    if "gnutls-cli" not in background:
        pytest.skip("TLSKIT_TEST_GNUTLS_CLI is not set, or there is no gnutls-cli")
    theirs = background["gnutls-cli"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        theirs.proc.wait(45)
    theirs.proc.kill()
    _, out, err = theirs.result()
    lines = out.decode().rpartition("\n")[0]
    assert lines.count("/sec") > 3 and GNUTLS_CLI.startswith(sections(lines).rstrip("\n")), (lines, err)


# --- Ctrl-C -----------------------------------------------------------------------------------------


def test_interrupt():
    """What was finished is printed; every row is there."""
    rows = listed(*SLOWLY)
    with Running(*SLOWLY, "--json") as p:
        p.at("|".join(map(re.escape, rows[2:])))
        p.signal()
        code, out, err = p.finish()
    d = benches.parse(out)
    assert code == 1 and d["interrupted"] and "interrupted" in err.splitlines()[-1], err
    assert ids(d) == rows
    done = [r for r in d["rows"] if r["status"] == "ok"]
    assert 2 <= len(done) < len(rows) and done == d["rows"][:len(done)]
    for r in done:
        assert len(r["samples"]) == 1 and "few-samples" in r["flags"] and r["median"], r
    for r in d["rows"][len(done):]:
        assert (r["status"], r["reason"], r["samples"], r["median"]) == ("skipped", "interrupted", [], None), r


@pytest.mark.parametrize("signo,group", [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, True)])
def test_interrupt_without_acceleration(signo, group):
    """Whether the terminal tells both processes or somebody the first alone."""
    with Running(*BOTH, "--json") as p:
        p.at("accel-off")
        p.signal(signo, group)
        code, out, err = p.finish()
    d = benches.parse(out)
    assert code == 1 and d["interrupted"] and ids(d) == listed(*BOTH) and len(d["rows"]) == 4, err
    for r in d["rows"][:2]:
        check_measured(r, 2)
    assert {r["status"] for r in d["rows"][2:]} <= {"ok", "skipped"} and len(d["rows"][3]["samples"]) < 2, d["rows"][2:]
    assert d["duration_s"] > sum(r["wall_s"] for r in d["rows"][:2])


def test_second_interrupt_ends_at_once():
    with Running(*ONE, "--time", "60s", "--samples", "1") as p:
        ends.wait_until(lambda: p.cpu() > 0.7, "the sample")
        p.signal()
        p.signal()
        code, out, err = p.finish()
    assert (code, out) == (-signal.SIGINT, b""), err


def test_second_interrupt_ends_both_processes():
    with Running(*ONE, "--time", "60s", "--samples", "1", "--accel", "off") as p:
        ends.wait_until(p.children, "the other process")
        child = p.children()[0]
        ends.wait_until(lambda: p.cpu(child) > 0.7, "its sample")
        p.signal()
        p.signal()
        assert p.finish()[:2] == (-signal.SIGINT, b"")
        ends.wait_until(lambda: not os.path.exists(f"/proc/{child}"), "the other process to end")


def test_the_other_process_is_killed():
    """The rows that there are stay; the others say why they are not."""
    with Running(*BOTH, "--json") as p:
        p.at("accel-off")
        os.kill(p.children()[0], signal.SIGKILL)
        code, out, err = p.finish()
    d = benches.parse(out)
    assert code == 1 and not d["interrupted"] and ids(d) == listed(*BOTH), err
    assert [r["status"] for r in d["rows"]] == ["ok"] * 2 + ["error"] * 2
    assert "the process that measures without acceleration" in d["rows"][3]["reason"], d["rows"][3]


# --- completion ------------------------------------------------------------------------------------


def test_completion():
    names = tlskit.Once("complete", "algorithms").out.decode().splitlines()
    assert names == sorted(set(names)) and {"AES-128-GCM", "CHACHA20-POLY1305", "SHA256", "AES-128-CBC-SHA1"} <= set(names)
    assert {i.split("/")[1] for i in listed("--engine", "gnutls,nettle,sodium")} == set(names)
    rows = tlskit.Once("complete", "bench-ciphers").out.decode()
    shown = set(re.findall(r"--[a-z]+", tlskit.Once("bench-ciphers", "--help").out.decode()))
    assert {"--engine", "--quick", "--svg", "--compare", "--help"} <= shown
    first = [line.split("\t")[0] for line in rows.splitlines()]
    assert sorted(first) == sorted(shown - {"--benchmark"} | {"*"}), rows
    assert "\n*\talgorithms\t" in rows and "none|gnutls-cli" in rows and "aead|record|pair|mac|hash|cipher" in rows
