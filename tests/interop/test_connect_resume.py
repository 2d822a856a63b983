# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check --resume` and `--early-data`: a second connection, which has to
resume the session of the first."""

import pytest

import peers
from connects import Check, Run

VERSIONS = ["1.2", "1.3"]
EARLY = b"HEAD / HTTP/1.0\r\n\r\n"


@pytest.fixture(scope="module")
def early_file(world):
    return world.file("early", EARLY)


@pytest.fixture(scope="module")
def at(shared, world):
    """Addresses by (kind, version)."""
    creds, out = world.good, {}
    for v in VERSIONS:
        out["openssl", v] = shared.start(peers.OpensslSite(creds, v)).port
        out["gnutls", v] = shared.start(peers.GnutlsServ(creds, v)).port
        out["gnutls without", v] = shared.start(peers.GnutlsServ(creds, v, "--noticket", "--nodb")).port
    nginx = {v: (creds, f"ssl_protocols TLSv{v}; ssl_session_cache shared:s{v[-1]}:1m;") for v in VERSIONS}
    nginx["without 1.2"] = creds, "ssl_protocols TLSv1.2; ssl_session_cache off; ssl_session_tickets off;"
    nginx["early"] = creds, "ssl_early_data on; ssl_session_cache shared:early:1m;"
    ports = shared.start(peers.NginxSites(nginx)).ports
    out.update({("nginx", v): ports[v] for v in VERSIONS})
    out["nginx without", "1.2"], out["nginx early", "1.3"] = ports["without 1.2"], ports["early"]
    limits = {v: (creds, f"ssl-min-ver TLSv{v} ssl-max-ver TLSv{v}") for v in VERSIONS}
    out.update({("haproxy", v): p for v, p in shared.start(peers.HaproxySites(limits)).ports.items()})
    return {k: f"localhost:{port}" for k, port in out.items()}


def codes(check):
    return [e["code"] for e in check.doc["errors"]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["openssl", "gnutls", "nginx", "haproxy"])
def test_resumed(world, at, kind, version):
    args = ("--resume", "--ca", world.ca, at[kind, version])
    c = Check(*args).fine()
    tls = c.doc["tls"]
    assert (tls["version"], tls["resumed"], tls["early_data"]) == ("TLS" + version, True, None), c
    assert len(c.doc["chain_sent"]) == 2 and c.doc["verify"]["matched_name"] == "dns:localhost", c
    if version == "1.3":
        assert tls["tickets"] >= 1 and tls["ticket_lifetime_s"] > 0, c
    assert b"resumed" in Run("--check", *args).out


@pytest.mark.parametrize("kind,version", [
    ("gnutls without", "1.2"), ("gnutls without", "1.3"), ("nginx without", "1.2")])
def test_not_resumed(world, at, kind, version):
    args = ("--resume", "--ca", world.ca, at[kind, version])
    c = Check(*args)
    assert (c.code, codes(c), c.doc["tls"]["resumed"]) == (31, [31], False), c
    assert c.doc["verify"]["ok"] is True and "not resumed" in c.text, c
    text = Run("--check", *args)
    assert text.code == 31 and b"not as expected" in text.out.splitlines()[0], text


def test_without_the_option_nothing_is_resumed(world, at):
    c = Check("--ca", world.ca, at["openssl", "1.3"]).fine()
    assert c.doc["tls"]["resumed"] is False


def test_a_fault_comes_first(rig, world):
    """A server that is not trusted is not connected to again."""
    s = rig.start(peers.OpensslSite(world.selfsigned, None, "-naccept", "2"))
    c = Check("--resume", "--ca", world.ca, f"localhost:{s.port}")
    assert codes(c) == [20], c
    s.check_alive()  # it would have ended with the second connection


def test_names_are_those_of_both_connections(world, at):
    c = Check("--resume", "--ca", world.ca, "--verify-name", "other.test", at["openssl", "1.3"])
    assert codes(c) == [21], c


# --- early data -----------------------------------------------------------------------


def test_early_data_to_openssl(rig, world, early_file):
    s = rig.start(peers.OpensslSite(world.good, None, "-early_data"))
    c = Check("--early-data", early_file, "--ca", world.ca, f"localhost:{s.port}").fine()
    assert (c.doc["tls"]["resumed"], c.doc["tls"]["early_data"]) == (True, True), c
    got = b""
    while EARLY not in got:  # it was there in full
        got += s.stream.recv()


@pytest.mark.parametrize("args", [(), ("--resume",)])
def test_early_data_to_gnutls(rig, world, early_file, args):
    s = rig.start(peers.GnutlsServ(world.good, None, "--earlydata", "--maxearlydata", "1000"))
    c = Check("--early-data", early_file, *args, "--ca", world.ca, f"localhost:{s.port}").fine()
    assert (c.doc["tls"]["resumed"], c.doc["tls"]["early_data"]) == (True, True), c


def test_early_data_to_nginx(world, at, early_file):
    args = ("--early-data", early_file, "--ca", world.ca, at["nginx early", "1.3"])
    assert Check(*args).fine().doc["tls"]["early_data"] is True
    assert b"early data accepted" in Run("--check", *args).out


@pytest.mark.parametrize("kind,version", [("openssl", "1.3"), ("gnutls", "1.3"), ("nginx", "1.3"), ("haproxy", "1.3"),
                                          ("openssl", "1.2"), ("gnutls", "1.2")])
def test_early_data_not_taken(world, at, early_file, kind, version):
    """The ticket allows none, or the version knows none."""
    c = Check("--early-data", early_file, "--ca", world.ca, at[kind, version])
    assert c.code == 31 and set(codes(c)) == {31} and c.doc["tls"]["resumed"] is True, c
    assert c.doc["tls"]["early_data"] is None and "--early-data" in c.text, c


def test_more_early_data_than_is_allowed(rig, world):
    s = rig.start(peers.GnutlsServ(world.good, None, "--earlydata", "--maxearlydata", "100"))
    c = Check("--early-data", world.file("much", bytes(200)), "--ca", world.ca, f"localhost:{s.port}")
    assert codes(c) == [31] and "not so much (200 bytes)" in c.text, c


@pytest.mark.parametrize("data", [None, b""])
def test_no_early_data(world, at, data):
    file = world.path + "/none" if data is None else world.file("empty", data)
    r = Run("--json", "--early-data", file, "--ca", world.ca, at["openssl", "1.3"])
    assert r.code == 2 and file in r.err and r.out.count(b"\n") == 1, r


def test_early_data_without_tls_1_3(at, early_file):
    r = Run("--json", "--early-data", early_file, "--max-tls", "1.2", at["openssl", "1.2"])
    assert r.code == 2 and "--max-tls" in r.err, r
