# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check` for monitoring: limits of validity, what is expected of a server,
the forms for Nagios and Prometheus."""

import math
import re

import pytest

import peers
from connects import Check, Run
from tlskit import Once

SITES = ("sixday", "good", "expired", "wronghost", "revoked")


@pytest.fixture(scope="module")
def at(shared, world):
    """A function: the address of the server that shows this certificate. sixday has 4
    days and some hours left, 83 % of its life; good 29 days and 97 %."""
    nginx = shared.start(peers.NginxSites({n: (getattr(world, n), "") for n in SITES}))
    return lambda name: f"localhost:{nginx.ports[name]}"


def codes(check):
    return [e["code"] for e in check.doc["errors"]]


# --- limits ---------------------------------------------------------------------------


@pytest.mark.parametrize("server,args,code", [
    ("sixday", ["--warn", "30"], 30), ("sixday", ["--warn", "30d"], 30), ("sixday", ["--warn", "4"], 0),
    ("sixday", ["--warn", "5d"], 30), ("sixday", ["--warn", "96h"], 0), ("sixday", ["--warn", "121h"], 30),
    ("sixday", ["--warn", "20%"], 0), ("sixday", ["--warn", "83%"], 0), ("sixday", ["--warn", "84%"], 30),
    ("sixday", ["--crit", "5"], 30), ("sixday", ["--crit", "4"], 0), ("sixday", ["--crit", "84%"], 30),
    ("sixday", ["--warn", "90%", "--crit", "1"], 30), ("sixday", ["--warn", "1", "--crit", "50%"], 0),
    ("sixday", ["--warn", "0", "--crit", "0"], 0), ("good", ["--warn", "20"], 0), ("good", ["--warn", "98%"], 30),
    ("expired", ["--warn", "30", "--crit", "1%"], 22), ("wronghost", ["--warn", "40"], 21),
])
def test_limit(world, at, server, args, code):
    c = Check("--ca", world.ca, *args, at(server))
    assert c.code == code and c.err == "", c
    if code == 30:
        assert codes(c) == [30] and c.doc["errors"][0]["stage"] == "expect" and c.doc["verify"]["ok"] is True, c
        assert re.search(r"expires in \d+ days", c.text), c
        assert b"expires soon" in Run("--check", "--ca", world.ca, *args, at(server)).out
    if server == "wronghost":
        assert codes(c) == [21, 30], c
    if server == "expired":
        assert codes(c) == [22], c


@pytest.mark.parametrize("limit", ["", "x", "-1", "101%", "%", "30x", "3 0", "1e3", "20%%", "99999999999999999999"])
@pytest.mark.parametrize("option", ["--warn", "--crit"])
def test_bad_limit(at, option, limit):
    r = Run("--json", option, limit, at("good"))
    assert r.code == 2 and option in r.err and r.out.count(b"\n") == 1, r


# --- Nagios ---------------------------------------------------------------------------

TEXT = r"TLS (OK|WARNING|CRITICAL|UNKNOWN) - ([^|\n]+)"
LINE = re.compile(TEXT + r" \| days_left=(-?\d+\.\d\d|U);(?:([\d.]+):)?;(?:([\d.]+):)? time=([\d.]+s|U);;;0\n")
FIGURE = re.compile(r"'([^'=|]+)'=(-?[\d.]+|U)(s?);([\d.]+:)?;([\d.]+:)?(?:;0?)*")


def nagios(*args, **kw):
    """(exit code, word, text, days, warn, crit); one line, whatever happens. Limits are
    ranges: "5:" is all from 5 on. Days are rounded down."""
    r = Run("--nagios", *args, **kw)
    m = LINE.fullmatch(r.out.decode())
    assert m, r
    assert r.code == ["OK", "WARNING", "CRITICAL", "UNKNOWN"].index(m[1]), r
    days = m[3] if m[3] == "U" else str(math.floor(float(m[3])))
    return r.code, m[1], m[2], days, m[4], m[5]


@pytest.mark.parametrize("server,args,word,text,days,warn,crit", [
    ("good", [], "OK", "valid for 29 days", "29", None, None),
    ("sixday", ["--warn", "3", "--crit", "1"], "OK", "valid for 4 days", "4", "3", "1"),
    ("sixday", ["--warn", "5", "--crit", "1"], "WARNING", "expires in 4 days", "4", "5", "1"),
    ("sixday", ["--warn", "30", "--crit", "5"], "CRITICAL", "expires in 4 days", "4", "30", "5"),
    ("sixday", ["--warn", "90%"], "WARNING", "expires in 4 days", "4", "5.40", None),
    ("sixday", ["--warn", "95%", "--crit", "90%"], "CRITICAL", "expires in 4 days", "4", "5.70", "5.40"),
    ("expired", ["--warn", "5"], "CRITICAL", "expired", "-2", "5", None),
    ("wronghost", [], "CRITICAL", "is not for localhost", "29", None, None),
])
def test_nagios(world, at, server, args, word, text, days, warn, crit):
    _, *got = nagios("--ca", world.ca, *args, at(server))
    assert text in got.pop(1) and got == [word, days, warn, crit]


@pytest.mark.parametrize("args,word", [
    (("--expect-alpn", "h3"), "CRITICAL"), (("--max-tls", "1.2", "--min-tls", "1.2"), "OK"),
    (("--timeout", "1ms", "--resolve", "192.0.2.1"), "CRITICAL")])
def test_nagios_states(world, at, args, word):
    assert nagios("--ca", world.ca, *args, at("good"))[1] == word


def test_nagios_without_an_answer(shared):
    closed = shared.listener(backlog=None)
    assert nagios("--insecure-no-verify", closed.target)[1:] != nagios("--insecure-no-verify", "nowhere.invalid")[1:]
    assert nagios(closed.target)[:2] == nagios("nowhere.invalid")[:2] == (2, "CRITICAL")
    assert nagios(closed.target)[3] == "U"


def test_nagios_asked_in_a_wrong_way():
    """Nagios wants a line and 3, even then."""
    for args in (("--no-such-option",), ("--warn", "x", "localhost"), ("localhost:99999",), (), ("host|x=1",)):
        r = Once("connect", "--nagios", *args)
        assert r.code == 3 and re.fullmatch(rb"TLS UNKNOWN - [^|\n]+\n", r.out) and r.err, r


def test_nagios_of_several(world, at):
    """As the plugin API has it: what stands behind a bar is figures, on the first line, and
    from the next bar on to the end."""
    names = [at("good"), at("expired"), at("sixday")]
    r = Run("--nagios", "--ca", world.ca, *names)
    first, _, rest = r.out.decode().partition("\n")
    (head, more), (texts, _, figures) = first.split(" | "), rest.partition(" | ")
    assert r.code == 2 and [re.fullmatch(TEXT, t)[1] for t in (head, *texts.split("\n"))] == ["CRITICAL", "OK", "OK"], r
    found = {f[1]: f[2] for f in FIGURE.finditer(more + " " + figures)}
    assert re.fullmatch(rf"{FIGURE.pattern}( {FIGURE.pattern})*", " ".join((more + "\n" + figures).split("\n")[:-1])), r
    assert set(found) == {f"{n} {what}" for n in names for what in ("days_left", "time")}, r
    assert -1.2 < float(found[at("expired") + " days_left"]) < -1, r


def test_nagios_days(world, at):
    """The figure is of the day that the text and the JSON tell."""
    r, doc = Run("--nagios", "--ca", world.ca, at("expired")), Check("--ca", world.ca, at("expired")).doc
    days = float(re.search(rb"days_left=(\S+?);", r.out)[1])
    assert b", 1 day ago" in r.out and int(days) == -1 and abs(days - doc["chain"]["days_left"]) < 0.02, r


# --- Prometheus -----------------------------------------------------------------------

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)?\}} (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|[+-]Inf)")


def metrics(*args, code=None):
    """{(name, labels): value} of text format 0.0.4: every line is in it, each series is
    there once, those of a name stand together and behind its HELP and TYPE."""
    r = Run("--prometheus", *args)
    text = r.out.decode()
    assert text.endswith("\n") and r.err == "" and code in (None, r.code), r
    found, told, open_name = {}, {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            m = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
            assert m and m[1] not in told.setdefault(m[2], []), line
            told[m[2]].append(m[1])
            assert m[1] == "HELP" or m[3] in ("gauge", "counter"), line
            open_name = m[2]
            continue
        m = SAMPLE.fullmatch(line)
        assert m, line
        key = m[1], frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
        assert key not in found and m[1] == open_name and told[m[1]] == ["HELP", "TYPE"], line
        found[key] = float(m[3])
    return found


def value(found, name, **labels):
    got = [v for (n, l), v in found.items() if n == name and set(labels.items()) <= l]
    assert len(got) == 1, (name, labels, found)
    return got[0]


def test_prometheus(world, at):
    m = metrics("--ca", world.ca, at("good"), code=0)
    doc = Check("--ca", world.ca, at("good")).doc
    assert value(m, "tlskit_probe_success", target=at("good")) == 1
    assert value(m, "tlskit_probe_exit_code") == 0 and value(m, "tlskit_verify_success") == 1
    assert value(m, "tlskit_path_not_after_seconds") == doc["chain_sent"][0]["not_after_epoch_s"]
    for i, c in enumerate(doc["chain_sent"]):
        assert value(m, "tlskit_certificate_not_after_seconds", position=str(i)) == c["not_after_epoch_s"]
    assert value(m, "tlskit_tls_info", version="TLS1.3", ciphersuite=doc["tls"]["ciphersuite"]) == 1
    assert 0 < value(m, "tlskit_probe_duration_seconds", phase="handshake") <= value(m, "tlskit_probe_elapsed_seconds")


def test_prometheus_of_a_fault(world, at):
    m = metrics("--ca", world.ca, "--warn", "40", at("wronghost"), code=21)
    assert value(m, "tlskit_probe_success") == 0 and value(m, "tlskit_probe_exit_code") == 21
    assert {dict(l)["result"] for n, l in m if n == "tlskit_probe_fault"} == {"name-mismatch", "near-expiry"}
    assert value(m, "tlskit_verify_success") == 0


def test_prometheus_without_an_answer(shared):
    m = metrics(shared.listener(backlog=None).target, code=11)
    assert value(m, "tlskit_probe_success") == 0 and not any("certificate" in n for n, _ in m)


def test_prometheus_of_several(world, at):
    """One text of all, and no series twice, though a target is given twice."""
    m = metrics("--ca", world.ca, at("good"), at("expired"), at("good"), code=22)
    assert {dict(l)["target"]: v for (n, l), v in m.items() if n == "tlskit_probe_success"} == \
        {at("good"): 1, at("expired"): 0}


# --- what is expected -----------------------------------------------------------------


@pytest.fixture(scope="module")
def speaks(shared, world):
    """A server with choices: h2 and http/1.1, TLS 1.2 and 1.3."""
    return f"localhost:{shared.start(peers.GnutlsServ(world.good, None, '--alpn', 'h2', '--alpn', 'http/1.1')).port}"


@pytest.mark.parametrize("args,code", [
    (["--expect-alpn", "h2"], 0), (["--expect-alpn", "h3,http/1.1"], 0), (["--expect-alpn", "h3"], 31),
    (["--expect-alpn", "http/1.1", "--alpn", "h2,http/1.1"], 31), (["--expect-alpn", "h2", "--alpn", "h2"], 0),
    (["--expect-group", "SECP384R1", "--group", "X25519"], 31), (["--expect-group", "x25519", "--group", "X25519"], 0),
    (["--expect-group", "SECP256R1,X25519", "--group", "X25519"], 0),
    (["--expect-group", "P-384", "--group", "SECP384R1"], 0),
    (["--expect-ciphersuite", "TLS_AES_128_GCM_SHA256", "--ciphersuite", "AES-256-GCM"], 31),
    (["--expect-ciphersuite", "TLS_AES_256_GCM_SHA384", "--ciphersuite", "AES-256-GCM"], 0),
    (["--expect-ciphersuite", "GNUTLS_AES_128_GCM_SHA256", "--ciphersuite", "TLS_AES_128_GCM_SHA256"], 0),
    (["--expect-ciphersuite", "AES-128-GCM,CHACHA20-POLY1305", "--ciphersuite", "CHACHA20-POLY1305"], 0),
    (["--expect-ciphersuite", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "--max-tls", "1.2", "--ciphersuite",
      "AES-256-GCM"], 0),
    (["--expect-issuer", "middle"], 0), (["--expect-issuer", "CN=middle"], 0), (["--expect-issuer", "idd"], 0),
    (["--expect-issuer", "root"], 31), (["--expect-issuer", "root", "--expect-issuer", "middle"], 0),
])
def test_expected(world, speaks, args, code):
    c = Check("--ca", world.ca, *args, speaks)
    assert (c.code, codes(c)) == (code, [code] if code else []) and c.err == "", c
    if code:
        e = c.doc["errors"][0]
        assert e["stage"] == "expect" and args[0] in e["message"] and args[1] in c.text, c
        assert c.doc["verify"]["ok"] is True
        assert b"not as expected" in Run("--check", "--ca", world.ca, *args, speaks).out


def test_all_that_is_unexpected_is_told(world, speaks):
    c = Check("--ca", world.ca, "--expect-alpn", "h3", "--expect-group", "SECP521R1", "--expect-issuer", "nobody",
              "--expect-ciphersuite", "TLS_AES_128_CCM_SHA256", "--warn", "60", speaks)
    assert sorted(codes(c)) == [30, 31, 31, 31, 31] and c.code in (30, 31), c


def test_nothing_is_agreed_on(rig, world, at):
    """A server without ALPN, and one that will not go on without."""
    s = rig.start(peers.OpensslSite(world.good))
    c = Check("--ca", world.ca, "--expect-alpn", "h2", f"localhost:{s.port}")
    assert codes(c) == [31] and c.doc["tls"]["alpn"] is None and c.doc["verify"]["ok"] is True, c
    c = Check("--ca", world.ca, "--expect-alpn", "h2", at("good"))
    assert codes(c) == [31] and c.doc["alert"]["name"] == "no_application_protocol", c


@pytest.mark.parametrize("option,text", [("--expect-group", "X25518"), ("--expect-ciphersuite", "TLS_NO_SUCH"),
                                         ("--expect-group", ""), ("--expect-alpn", "")])
def test_what_nobody_knows_cannot_be_expected(speaks, option, text):
    """It could never come true: a slip of the keyboard is told at once."""
    r = Run("--json", option, text, speaks)
    assert r.code == 2 and option in r.err, r


@pytest.mark.parametrize("version,args,code", [
    ("1.2", ["--min-tls", "1.3"], 15), ("1.3", ["--max-tls", "1.2"], 15), ("1.2", [], 0),
    ("1.3", ["--min-tls", "1.3"], 0)])
def test_versions(rig, world, version, args, code):
    s = rig.start(peers.OpensslSite(world.good, version))
    c = Check("--ca", world.ca, *args, f"localhost:{s.port}")
    assert c.code == code, c
    if code:
        assert c.doc["tls"] is None and c.doc["verify"]["ok"] is None and c.doc["alert"], c
    else:
        assert c.doc["tls"]["version"] == "TLS" + version
