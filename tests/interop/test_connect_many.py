# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check` of many targets: operands, --targets, --all-addresses; what is shown
and saved; and that language and time zone change nothing of it."""

import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest

import peers
import servers
import tlskit
from checkpki import fingerprint, x509
from connects import Check, Run, document

SITES = ("good", "expired", "wronghost", "sixday", "selfsigned", "withroot", "by_root")


@pytest.fixture(scope="module")
def at(shared, world):
    """A function: the address of the server that shows this certificate."""
    nginx = shared.start(peers.NginxSites({n: (getattr(world, n), "") for n in SITES}))
    return lambda name: f"localhost:{nginx.ports[name]}"


@pytest.fixture(scope="module")
def closed(shared):
    return shared.add(servers.Refuser()).target


def documents(*args, code=None, **kw):
    """The checks by what was typed for them, and the run."""
    r = Run("--json", *args, **kw)
    docs = [document(line) for line in r.out.splitlines()]
    assert code in (None, r.code), r
    return docs, r


def by_target(docs):
    assert len({d["target"]["text"] for d in docs}) == len(docs)
    return {d["target"]["text"]: d["exit_code"] for d in docs}


# --- many -----------------------------------------------------------------------------


def test_several_operands(world, at, closed):
    targets = {at("good"): 0, at("expired"): 22, at("wronghost"): 21, closed: 11, at("selfsigned"): 20}
    docs, r = documents("--ca", world.ca, *targets)
    assert by_target(docs) == targets and r.code == 20 and r.err == "", r


@pytest.mark.parametrize("names,worst", [
    (["good", "good"], 0), (["good", "expired"], 22), (["expired", "good"], 22), (["wronghost", "expired"], 21),
    (["expired", "wronghost", "selfsigned"], 20), (["sixday", "good"], 30), (["sixday", "expired"], 22)])
def test_the_worst_decides(world, at, names, worst):
    for args in ("--check",), ("--json",), ("--prometheus",):
        assert Run(*args, "--ca", world.ca, "--warn", "10", *map(at, names)).code == worst


def test_text_of_several(world, at, closed):
    """A verdict and what is wrong for each; no more."""
    r = Run("--check", "--ca", world.ca, at("good"), at("expired"), closed)
    lines = r.out.decode().splitlines()
    verdicts = [x for x in lines if not x.startswith(" ")]
    assert r.code in (11, 22) and r.err == "" and len(verdicts) == 3, r
    said = {next(t for t in (at("good"), at("expired"), closed) if t in v): v for v in verdicts}
    assert "is fine" in said[at("good")] and "expired" in said[at("expired")] and "no connection" in said[closed], r
    assert len(lines) < 15, r


def test_targets_of_a_file(tmp_path, world, at, closed):
    file = tmp_path / "targets"
    file.write_text(f"# ours\n\n{at('good')}\n  {at('expired')}  # old\n\t\n#{closed}\n{at('wronghost')}\r\n{closed}")
    want = {at("good"): 0, at("expired"): 22, at("wronghost"): 21, closed: 11}
    docs, _ = documents("--ca", world.ca, "--targets", file)
    assert by_target(docs) == want
    docs, _ = documents("--ca", world.ca, "--targets", "-", stdin=file.read_bytes())
    assert by_target(docs) == want
    docs, _ = documents("--ca", world.ca, at("sixday"), "--targets", file, at("by_root"))
    assert by_target(docs) == {**want, at("sixday"): 0, at("by_root"): 0}


BAD = ["localhost:99999", "localhost:nope", "[::1", "a b", "host:1:2:3", "unix:", "tls:localhost:1 x", "\x1b[31mred",
       "x" * 5000, "https://", "-"]


def test_bad_lines_are_checks_of_their_own(tmp_path, world, at):
    """They are told each; the others are looked at all the same."""
    file = tmp_path / "targets"
    file.write_text("\n".join([at("good"), *BAD, at("good")]) + "\n")
    docs, r = documents("--ca", world.ca, "--targets", file, code=2)
    assert len(docs) == len(BAD) + 2 and [d["exit_code"] for d in docs].count(0) == 2, r
    for d in docs:
        if d["exit_code"]:
            assert d["result"] == "usage" and d["errors"][0]["code"] == 2, d
    assert {d["target"]["text"].replace("?", "") for d in docs if d["exit_code"]} >= {"localhost:99999", "[::1", "a b"}
    text = Run("--check", "--ca", world.ca, "--targets", file)
    assert text.code == 2 and "\x1b" not in text.out.decode() and b"localhost:99999" in text.out, text


def test_targets_from_an_editor(tmp_path, world, at):
    """A byte order mark, and comments that do not begin at the margin."""
    file = tmp_path / "targets"
    file.write_bytes(b"\xef\xbb\xbf# ours\r\n  # theirs\r\n\t#mine\r\n" + at("good").encode() + b"\r\n")
    assert by_target(documents("--ca", world.ca, "--targets", file, code=0)[0]) == {at("good"): 0}
    file.write_bytes(b"\xef\xbb\xbf" + at("good").encode())
    assert by_target(documents("--ca", world.ca, "--targets", file, code=0)[0]) == {at("good"): 0}


def typing(*args):
    """`connect --json`, which gets its targets from whoever holds stdin."""
    return subprocess.Popen([tlskit.TLSKIT, "connect", "--json", *map(str, args), "--targets", "-"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def next_document(proc):
    assert select.select([proc.stdout], [], [], tlskit.SLOW * 5)[0], "says nothing"
    return document(proc.stdout.readline())


def test_targets_that_come_slowly(world, at):
    """Those that are there are looked at meanwhile, and in their own time; half a line is none."""
    proc = typing("--ca", world.ca, "--timeout", tlskit.SLOW)
    try:
        for name in ("good", "expired"):
            proc.stdin.write(at("by_root").encode()[:5])
            time.sleep(0.05)
            proc.stdin.write(at("by_root").encode()[5:] + b"\n" + at(name).encode() + b"\n")
            docs = [next_document(proc) for _ in range(2)]
            assert by_target(docs) == {at("by_root"): 0, at(name): 22 if name == "expired" else 0}, docs
        time.sleep(tlskit.SLOW + 0.2)  # longer than a check may take
        proc.stdin.write(at("sixday").encode())
        proc.stdin.close()
        assert by_target([next_document(proc)]) == {at("sixday"): 0}
        assert proc.wait(tlskit.SLOW * 5) == 22 and proc.stderr.read() == b""
    finally:
        proc.kill()
        proc.wait()


def test_interrupted_while_no_target_comes(world, at):
    proc = typing("--ca", world.ca)
    try:
        proc.stdin.write(at("good").encode() + b"\n")
        assert next_document(proc)["exit_code"] == 0
        proc.send_signal(signal.SIGINT)
        assert proc.wait(tlskit.SLOW * 5) == 1 and b"interrupted" in proc.stderr.read()
    finally:
        proc.kill()
        proc.communicate()


def test_a_nul_ends_no_target(tmp_path, world, at):
    file = tmp_path / "targets"
    file.write_bytes(at("good").encode() + b"\0.example.test\nlocal\0host\n")
    docs, r = documents("--ca", world.ca, "--targets", file, code=2)
    assert [d["exit_code"] for d in docs] == [2, 2], r


def test_a_bad_operand_stops_all(world, at):
    docs, r = documents("--ca", world.ca, at("good"), "localhost:99999", code=2)
    assert len(docs) == 1 and docs[0]["result"] == "usage" and "99999" in r.err, r


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", None, "a folder"])
def test_no_targets(tmp_path, content):
    file = tmp_path / "targets"
    if content == "a folder":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    r = Run("--json", "--targets", file)
    assert r.code == 2 and str(file) in r.err, r
    assert r.out.count(b"\n") == 1 and document(r.out)["result"] == "usage", r
    r = tlskit.Once("connect", "--nagios", "--targets", file)
    assert r.code == 3 and r.out.startswith(b"TLS UNKNOWN - ") and r.out.count(b"\n") == 1, r
    assert str(file).encode() in r.out


@pytest.mark.parametrize("jobs", [1, 3, 64])
def test_jobs(tmp_path, world, at, jobs):
    file = tmp_path / "targets"
    file.write_text((at("good") + "\n") * 40)
    docs, r = documents("--ca", world.ca, "--targets", file, "--jobs", jobs, code=0)
    assert len(docs) == 40, r


def test_side_by_side(shared, world, at):
    """Silent servers hold nobody up: each has its own deadline, together they take one."""
    silent = [shared.listener().target for _ in range(8)]
    start = time.monotonic()
    docs, r = documents("--ca", world.ca, "--timeout", "300ms", *silent, at("good"), code=12)
    tlskit.took(start, 0.3, 1.2)
    assert sorted(by_target(docs).values()) == [0] + 8 * [12] and docs[0]["exit_code"] == 0, r
    start = time.monotonic()
    documents("--timeout", "150ms", "--jobs", "1", *silent[:3], code=12)
    tlskit.took(start, 0.45, 2)


@pytest.mark.parametrize("jobs", ["0", "-1", "x", "100000"])
def test_bad_jobs(jobs):
    r = Run("--json", "--jobs", jobs, "localhost:1")
    assert r.code == 2 and "--jobs" in r.err, r


# --- addresses ------------------------------------------------------------------------


def test_all_addresses(world, at):
    want = {a[4][0] for a in socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)} | {"127.0.0.1", "::1"}
    docs, r = documents("--ca", world.ca, "--all-addresses", at("good"))
    seen = {d["address"]["text"].rsplit(":", 1)[0].strip("[]"): d["exit_code"] for d in docs if d["address"]["text"]}
    assert set(seen) <= want and seen["127.0.0.1"] == 0 and len(docs) == len(want), r
    assert r.code == (11 if len(want) > 1 else 0), r  # nobody listens on ::1


@pytest.fixture
def hosts(tmp_path):
    """A function that runs something with an /etc/hosts of its own."""
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"']
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1 localhost two.test\n::1 two.test\nfd00::1 six.test\n127.0.0.9 two.test\n")
    try:
        works = subprocess.run([*inside, str(file), "true"], capture_output=True, timeout=20).returncode == 0
    except FileNotFoundError:
        works = False
    if not works:
        pytest.skip("unshare gives no mount namespace here, so there can be no /etc/hosts of ours")

    def run(*args):
        r = subprocess.run([*inside, str(file), tlskit.TLSKIT, "connect", *map(str, args)], capture_output=True,
                           timeout=30)
        assert not tlskit.SANITIZER.search(r.stderr), r
        return r
    return run


def test_a_name_with_addresses_of_both_families(hosts, rig, world):
    cred = world.server("two", san=("two.test", "six.test"))
    four = rig.start(peers.NginxSites({"two": (cred, "")}))
    port = four.ports["two"]
    args = ("--json", "--ca", world.ca)
    docs = [document(x) for x in hosts(*args, "--all-addresses", f"two.test:{port}").stdout.splitlines()]
    assert {d["address"]["text"] or d["errors"][0]["code"]: d["exit_code"] for d in docs}[f"127.0.0.1:{port}"] == 0
    assert len(docs) == 3 and sorted(d["exit_code"] for d in docs) == [0, 11, 11], docs
    for family, code in (("-4", 0), ("-6", 11)):
        d = document(hosts(*args, family, f"two.test:{port}").stdout)
        assert d["exit_code"] == code, d
    d = document(hosts(*args, f"two.test:{port}").stdout)  # the one that answers
    assert (d["exit_code"], d["address"]["family"]) == (0, 4), d
    d = document(hosts(*args, "-4", f"six.test:{port}").stdout)
    assert (d["exit_code"], d["errors"][0]["stage"]) == (10, "dns"), d


@pytest.mark.parametrize("args,family", [
    (("-4", "localhost"), 4), (("-4", "127.0.0.1"), 4), (("--ipv4", "localhost"), 4)])
def test_families(world, at, args, family):
    port = at("good").rsplit(":", 1)[1]
    d = Check("--ca", world.ca, *args[:-1], f"{args[-1]}:{port}").fine().doc
    assert d["address"] == {"text": f"127.0.0.1:{port}", "family": family}


@pytest.mark.parametrize("args", [("-6", "127.0.0.1:1"), ("-4", "[::1]:1")])
def test_address_of_the_other_family(args):
    assert Check("--insecure-no-verify", *args).code in (2, 10)


def test_both_families_are_none():
    r = Run("--json", "-4", "-6", "localhost:1")
    assert r.code == 2 and document(r.out)["result"] == "usage", r


# --- what is saved and shown ----------------------------------------------------------


@pytest.mark.parametrize("name", ["good", "withroot", "selfsigned", "by_root"])
def test_save_chain(tmp_path, world, at, name):
    """As sent, whatever is wrong with it; what other programs read."""
    file = tmp_path / "chain.pem"
    Run("--check", "--ca", world.ca, "--save-chain", file, at(name))
    pem = file.read_text()
    certs = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", pem, re.S)
    assert [fingerprint(x509.load_pem_x509_certificate(c.encode())) for c in certs] == \
        [fingerprint(c) for c in getattr(world, name).sent]
    assert "".join(certs) == pem
    if name == "selfsigned":  # what was saved can be trusted from then on
        Check("--ca", file, at(name)).fine()


def test_chain_cannot_be_saved(tmp_path, world, at):
    r = Run("--json", "--ca", world.ca, "--save-chain", tmp_path / "none" / "chain.pem", at("good"))
    assert r.code == 1 and "--save-chain" in r.err and r.out.count(b"\n") == 1, r


def test_show_chain(world, at):
    r = Run("--check", "--show-chain", "--ca", world.ca, at("good"))
    text = " ".join(r.out.decode().split())
    doc = Check("--ca", world.ca, at("good")).doc
    for c in doc["chain_sent"]:
        assert all(c[k] in text for k in ("serial", "fingerprint_sha256", "not_before", "not_after")), (c, r)
        assert "sha256:" + c["pin_sha256"] in text and c["signature"] in text
    assert all(n in text for n in doc["chain_sent"][0]["names"])
    assert doc["verify"]["path"][2]["fingerprint_sha256"] in text, "the root, which was not sent"


def test_print_pin_of_several(world, at):
    r = Run("--print-pin", "--ca", world.ca, at("good"), at("by_root"))
    assert sorted(r.out.decode().split()) == sorted([world.good.pin, world.by_root.pin]) and r.code == 0, r


@pytest.mark.parametrize("args", [("--json", "--nagios"), ("--prometheus", "--print-pin"), ("--check", "--crlf"),
                                  ("--targets", "x"), ("--all-addresses",),
                                  ("--json", "--save-chain", "x", "localhost:2"),
                                  ("--check", "--warn", "14", "--crit", "30"), ("--json", "--warn", "1%", "--crit", "2%")])
def test_options_that_do_not_go_together(args):
    r = Run(*args, "localhost:1", stdin=b"")
    assert r.code == 2 and r.err, r


@pytest.mark.parametrize("soft,hard,told", [(64, 1024, False), (64, 64, True)])
def test_more_jobs_than_files(tmp_path, shared, soft, hard, told):
    """Servers that there is no descriptor left for would be told as unreachable."""
    file = tmp_path / "targets"
    file.write_text((shared.listener(backlog=200).target + "\n") * 60)
    docs, r = documents("--insecure-no-verify", "--timeout", "300ms", "--jobs", "60", "--targets", file, code=12,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    assert {d["exit_code"] for d in docs} == {12} and len(docs) == 60, r
    assert ("ulimit -n" in r.err) is told, r


# --- a reader that leaves -------------------------------------------------------------


@pytest.mark.parametrize("args", [["--json"], ["--check"], ["--print-pin"]])
def test_nobody_reads(world, at, args):
    """What nobody can get to know is not found out; and `| head -1` is no error to be told."""
    ours, its = os.pipe()
    os.close(ours)
    proc = subprocess.Popen([tlskit.TLSKIT, "connect", *args, "--ca", world.ca, "--jobs", "1", "--targets", "-"],
                            stdin=subprocess.PIPE, stdout=its, stderr=subprocess.PIPE, bufsize=0)
    os.close(its)
    try:
        proc.stdin.write(at("good").encode() + b"\n")  # and more may come
        assert proc.wait(tlskit.SLOW * 5) == 1 and proc.stderr.read() == b""
    finally:
        proc.kill()
        proc.communicate()


@pytest.mark.parametrize("args,code", [(["--json"], 1), (["--check"], 1), (["--prometheus"], 1), (["--nagios"], 3),
                                       (["--print-pin"], 1), (["--nagios", "--all-addresses"], 3)])
def test_no_room_for_the_report(world, at, args, code):
    with open("/dev/full", "wb") as full:
        r = subprocess.run([tlskit.TLSKIT, "connect", *args, "--ca", world.ca, at("good")], stdout=full,
                           stderr=subprocess.PIPE, check=False)
    assert r.returncode == code and r.stderr == b"tlskit connect: cannot write to standard output: No space left on device\n", r


# --- language, time zone, colours -----------------------------------------------------

TIMES = {"started", "started_epoch_s", "timing_ms", "days_left", "percent_left"}


def timeless(v):
    """A document without what differs from run to run."""
    if isinstance(v, dict):
        return {k: timeless(x) for k, x in v.items() if k not in TIMES}
    return [timeless(x) for x in v] if isinstance(v, list) else v


WORLDS = [{"TZ": "Pacific/Kiritimati"}, {"TZ": "America/St_Johns"}, {"TZ": ":/none"}, {"LC_ALL": "de_DE.UTF-8"},
          {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR"}, {"LC_ALL": "xx"}, {"LC_ALL": "", "LC_NUMERIC": "fr_FR.UTF-8"},
          {"LC_ALL": "C.UTF-8", "LANGUAGE": "de"}]


@pytest.mark.parametrize("env", WORLDS, ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()))
def test_the_same_everywhere(world, at, env):
    args = ("--ca", world.ca, "--warn", "20", at("expired"))
    plain, there = (Check(*args, env=e).doc for e in (None, env))
    assert timeless(plain) == timeless(there)
    said = [re.sub(r"Time +.*", "", Run("--check", *args, env=e).out.decode()) for e in (None, env)]
    assert said[0] == said[1]
    lines = [re.sub(r"time=\S+", "", Run("--nagios", *args, env=e).out.decode()) for e in (None, env)]
    assert lines[0] == lines[1]


def on_a_terminal(*args, **env):
    """What it writes to a terminal."""
    ours, its = os.openpty()
    env = {k: v for k, v in {**os.environ, "TERM": "xterm-256color", **env}.items() if v is not None}
    proc = subprocess.Popen([tlskit.TLSKIT, "connect", *map(str, args)], stdin=subprocess.DEVNULL, stdout=its,
                            stderr=subprocess.PIPE, env=env)
    os.close(its)
    out = b""
    try:
        while data := os.read(ours, 65536):
            out += data
    except OSError:  # EIO: nobody writes any more
        pass
    os.close(ours)
    proc.communicate(timeout=20)
    return out


def test_colours(world, at):
    args = ("--check", "--ca", world.ca, at("expired"))
    assert b"\x1b[" in on_a_terminal(*args, NO_COLOR=None)
    assert b"\x1b[" in on_a_terminal(*args, NO_COLOR="")
    assert b"\x1b" not in on_a_terminal(*args, NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(*args, TERM="dumb", NO_COLOR=None)
    assert b"\x1b" not in on_a_terminal("--json", *args[1:], NO_COLOR=None)
    assert json.loads(on_a_terminal("--json", *args[1:], NO_COLOR=None))
