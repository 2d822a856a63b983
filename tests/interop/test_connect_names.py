# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check` and names: which server name is sent (SNI), which one is verified,
and where the connection goes."""

import pytest

import peers
import servers
import tlsend
from checkpki import IDN, IDN_ASCII, fingerprint
from connects import Check, Run, document


@pytest.fixture(scope="module")
def port(shared, world):
    """An nginx with a certificate for each of several names; the first one's is shown to
    who sends no name, or another."""
    world.server("dotted", san=("dotted.test",))
    creds = [getattr(world, n) for n in ("good", "second", "idn", "wildcard", "dotted")]
    return shared.start(peers.NginxSites({"names": [(c, "") for c in creds]})).ports["names"]


@pytest.fixture
def listens(rig, world):
    """A server that notes the names that are sent to it: (address, names)."""
    names = []
    ctx = tlsend.context(server=True, cred=world.good)
    ctx.sni_callback = lambda obj, name, c: names.append(name)
    return rig.add(servers.TlsEcho(ctx)), names


def shown(check):
    return check.doc["chain_sent"][0]["fingerprint_sha256"]


# target, further options, whose certificate it must be, the server name
@pytest.mark.parametrize("target,args,cred,name", [
    ("localhost:{port}", [], "good", "localhost"),
    ("second.test:{port}", ["--resolve", "127.0.0.1"], "second", "second.test"),
    ("SECOND.test:{port}", ["--resolve", "127.0.0.1"], "second", ...),
    ("second.test", ["--resolve", "127.0.0.1:{port}"], "second", "second.test"),
    ("https://second.test/a/page?x#y", ["--resolve", "127.0.0.1:{port}"], "second", "second.test"),
    ("https://second.test:{port}", ["--resolve", "127.0.0.1"], "second", "second.test"),
    ("second.test:1", ["--resolve", "localhost:{port}"], "second", "second.test"),
    ("dotted.test.:{port}", ["--resolve", "127.0.0.1"], "dotted", "dotted.test"),
    (IDN + ":{port}", ["--resolve", "127.0.0.1"], "idn", IDN_ASCII),
    (IDN.upper() + ":{port}", ["--resolve", "127.0.0.1"], "idn", IDN_ASCII),
    (IDN_ASCII + ":{port}", ["--resolve", "127.0.0.1"], "idn", IDN_ASCII),
    ("a.wild.test:{port}", ["--resolve", "127.0.0.1"], "wildcard", "a.wild.test"),
    ("localhost:{port}", ["--servername", "second.test"], "second", "second.test"),
    ("127.0.0.1:{port}", ["--servername", "second.test"], "second", "second.test"),
    ("127.0.0.1:{port}", [], "good", None),
    ("{port}", [], "good", None),  # our own address, by that name
])
def test_names(world, port, target, args, cred, name):
    target = target.format(port=port)
    c = Check("--ca", world.ca, *(a.format(port=port) for a in args), target).fine()
    assert shown(c) == fingerprint(getattr(world, cred).x509), c
    assert c.doc["target"]["text"] == target
    assert c.doc["address"] == {"text": f"127.0.0.1:{port}", "family": 4}, c
    if name is not ...:  # in which case it is sent does not matter
        assert c.doc["target"]["servername"] == name, c


@pytest.mark.parametrize("args,codes", [
    (["--servername", "second.test", "--verify-name", "localhost"], [21]),
    (["--servername", "second.test", "--verify-name", "second.test"], []),
    (["--verify-name", "second.test"], [21]), (["--servername", "nobody.test", "--verify-name", "localhost"], []),
    (["--servername", "nobody.test"], [21]), (["--verify-name", "127.0.0.1"], []), (["--verify-name", "::1"], []),
])
def test_sent_and_verified_name(world, port, args, codes):
    c = Check("--ca", world.ca, *args, f"localhost:{port}")
    assert [e["code"] for e in c.doc["errors"]] == codes, c


@pytest.mark.parametrize("host,args,sent", [
    ("localhost", [], "localhost"), ("127.0.0.1", [], None), ("name.test", ["--resolve", "127.0.0.1"], "name.test"),
    ("name.test.", ["--resolve", "127.0.0.1"], "name.test"), (IDN, ["--resolve", "127.0.0.1"], IDN_ASCII),
    ("127.0.0.1", ["--servername", "name.test"], "name.test"), ("192.0.2.1", ["--resolve", "127.0.0.1"], None),
    ("[2001:db8::1]", ["--resolve", "127.0.0.1"], None),
])
def test_what_is_sent(listens, host, args, sent):
    """An address is never sent, nor a dot behind a name (RFC 6066, 3)."""
    server, names = listens
    c = Check("--insecure-no-verify", *args, f"{host}:{server.addr[1]}")
    assert c.code == 0 and names == [sent] and c.doc["target"]["servername"] == sent, (names, c)


def test_over_ipv6(rig, world):
    """To ::1: the address is in the certificate, and not sent."""
    names = []
    ctx = tlsend.context(server=True, cred=world.only_v6)
    ctx.sni_callback = lambda obj, name, c: names.append(name)
    try:
        server = rig.add(servers.TlsEcho(ctx, host="::1"))
    except OSError as e:
        pytest.skip(f"there is no IPv6 here: {e}")
    for args in (), ("-6",):
        c = Check("--ca", world.ca, *args, server.target).fine()
        assert c.doc["address"] == {"text": server.target, "family": 6} and c.doc["verify"]["matched_name"] == "ip:::1"
    assert names == [None, None]
    c = Check("--ca", world.ca, "--resolve", server.target, "localhost")
    assert [e["code"] for e in c.doc["errors"]] == [21] and c.doc["address"]["family"] == 6, c


def test_a_unix_socket(rig, world, tmp_path):
    path = str(tmp_path / "s")
    server = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=world.good), unix=path))
    c = Check("--ca", world.ca, "--servername", "localhost", server.target).fine()
    assert c.doc["address"] == {"text": "unix:" + path, "family": None} and c.doc["target"]["host"] is None, c
    r = Run("--json", "--ca", world.ca, server.target)
    assert r.code == 2 and "--verify-name" in r.err + r.out.decode() and document(r.out), r


@pytest.mark.parametrize("args", [("--resolve", "x y", "localhost"), ("--resolve", "unix:", "localhost"),
                                  ("--servername", "", "localhost"), ("-",), ("",), ("systemd:x",)])
def test_bad_names(args):
    r = Run("--json", *args)
    assert r.code == 2 and r.err and document(r.out)["result"] == "usage", r


@pytest.mark.parametrize("name", ["nowhere.invalid", "no_such_host.invalid", "a" * 63 + ".invalid"])
def test_no_such_name(name):
    c = Check(name)
    assert (c.code, c.doc["errors"][0]["stage"]) == (10, "dns") and name in c.text, c
    assert c.doc["verify"] == {"performed": False, "ok": None, "by": None, "status": None, "matched_name": None,
                               "path": None}
