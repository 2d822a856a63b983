# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --scan`: what real servers were told to take is what is found, in the order
that they were told."""

import json
import signal
import subprocess
import time

import pytest

import peers
import schema
import servers
import tlskit
from connects import Run

SCHEMA = schema.load("connect-scan")
TLS13 = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"]


class Scan(Run):
    """A scan with its JSON, which is held against the schema."""

    def __init__(self, *args, **kw):
        super().__init__("--scan", "--json", *args, **kw)
        assert self.out.count(b"\n") == 1, self
        self.doc = json.loads(self.out)
        schema.Checker(SCHEMA).check(SCHEMA, self.doc)
        assert self.doc["exit_code"] == self.code, self

    def versions(self):
        return [v["name"] for v in self.doc["versions"] if v["taken"]]

    def taken(self, kind, version):
        """Names in their order, of `suites`, `groups` or `signatures`."""
        for part in self.doc[kind]:
            if part["version"] == version:
                return [i["name"] for i in part["list"] if i["taken"]]
        return []

    def servers_order(self, kind, version):
        return {p["version"]: p["servers_order"] for p in self.doc[kind]}[version]

    def fine(self):
        assert (self.code, self.err, self.doc["error"]) == (0, "", None), self
        return self


@pytest.fixture(scope="module")
def openssl(shared, world):
    """Addresses of servers with these options."""
    def start(*args, version=None, cred=None):
        return f"localhost:{shared.start(peers.OpensslSite(cred or world.good, version, *args)).port}"
    return start


def test_the_servers_order(openssl):
    wanted = ["ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-GCM-SHA256"]
    s = Scan(openssl("-serverpref", "-cipher", ":".join(wanted) + ":@SECLEVEL=0", version="1.2")).fine()
    assert s.versions() == ["TLS1.2"], s
    assert s.taken("suites", "TLS1.2") == [
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"], s
    part = s.doc["suites"][0]
    assert part["servers_order"] is True and part["ordered"] == 3, s


def test_the_clients_order(openssl):
    s = Scan(openssl("-ciphersuites", ":".join(TLS13), version="1.3")).fine()
    assert s.versions() == ["TLS1.3"] and sorted(s.taken("suites", "TLS1.3")) == sorted(TLS13), s
    assert s.servers_order("suites", "TLS1.3") is False, s


def test_tls13_suites_in_order(openssl):
    s = Scan(openssl("-serverpref", "-ciphersuites", ":".join(TLS13[1:]), version="1.3")).fine()
    assert s.taken("suites", "TLS1.3") == TLS13[1:] and s.servers_order("suites", "TLS1.3") is True, s


def test_groups(openssl):
    """One of them by a HelloRetryRequest, which is no refusal."""
    s = Scan(openssl("-groups", "P-384:X25519", version="1.3")).fine()
    assert sorted(s.taken("groups", "TLS1.3")) == ["SECP384R1", "X25519"], s


def test_groups_behind_the_curve_of_the_key(openssl):
    """In TLS 1.2 a client without the key's own curve cannot have an ECDSA key at all."""
    s = Scan(openssl("-groups", "X25519:P-256", version="1.2")).fine()
    assert sorted(s.taken("groups", "TLS1.2")) == ["SECP256R1", "X25519"], s


def test_signatures(openssl):
    s = Scan(openssl(version="1.3")).fine()
    assert s.taken("signatures", "TLS1.3") == ["ECDSA-SECP256R1-SHA256"], s


def test_weak_things_are_named(openssl):
    s = Scan(openssl("-cipher", "ALL:@SECLEVEL=0")).fine()
    assert set(s.versions()) >= {"TLS1.3", "TLS1.2"}, s
    if "TLS1.0" in s.versions():  # builds differ
        assert "TLS 1.0" in s.doc["weak"], s
    assert set(s.doc["weak"]) == {i["weak"] for kind in ("suites", "groups", "signatures") for part in s.doc[kind]
                                  for i in part["list"] if i["taken"] and i["weak"]} | {
        v["weak"] for v in s.doc["versions"] if v["taken"] and v["weak"]}, s


def test_gnutls(shared, world):
    s = shared.start(peers.GnutlsServ(world.good, "1.3"))
    found = Scan(f"localhost:{s.port}").fine()
    assert found.versions() == ["TLS1.3"] and "TLS_AES_128_CCM_SHA256" in found.taken("suites", "TLS1.3"), found


def test_nginx_and_haproxy(shared, world):
    ports = shared.start(peers.NginxSites({"a": (world.good, "ssl_protocols TLSv1.2; ssl_prefer_server_ciphers on; "
                         "ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256;")})).ports
    s = Scan(f"localhost:{ports['a']}").fine()
    both = ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]
    assert s.versions() == ["TLS1.2"] and s.taken("suites", "TLS1.2") == both, s
    assert s.servers_order("suites", "TLS1.2") is True, s
    ports = shared.start(peers.HaproxySites({"b": (world.good, "ssl-min-ver TLSv1.3")})).ports
    s = Scan(f"localhost:{ports['b']}").fine()
    assert s.versions() == ["TLS1.3"] and sorted(s.taken("suites", "TLS1.3")) == sorted(TLS13), s


def test_a_client_certificate_is_demanded(openssl, world):
    """Which does not hide what the server would take, in TLS 1.2 and 1.3."""
    s = Scan(openssl("-Verify", "1", "-CAfile", world.ca)).fine()
    assert {"TLS1.3", "TLS1.2"} <= set(s.versions()) and s.taken("suites", "TLS1.2"), s


def test_nobody_there(rig):
    refuser, silent, http = rig.add(servers.Refuser()), rig.listener(), rig.add(servers.Source(b"HTTP/1.0 400 No\r\n\r\n"))
    for code, stage, target, args in [
            (11, "connect", refuser.target, ()), (10, "dns", "no-such-host.invalid", ()),
            (12, "handshake", silent.target, ("--timeout", "300ms")), (15, "handshake", http.target, ()),
            (13, "proxy", "127.0.0.1:9", ("--proxy", f"http://{refuser.target}"))]:
        s = Scan(*args, target)
        assert (s.code, s.doc["error"]["code"], s.doc["error"]["stage"]) == (code, code, stage), s


def test_text(openssl):
    s = Run("--scan", openssl("-cipher", "AES128-SHA:@SECLEVEL=0", version="1.2", cred=None))
    assert s.code in (0, 15) and all(len(line) <= 80 for line in s.out.decode().splitlines()), s
    s = Run("--scan", openssl(version="1.3"))
    text = s.out.decode()
    assert s.code == 0 and "TLS_AES_128_GCM_SHA256" in text and "Nothing weak" in text and "--check" in text, s


@pytest.mark.parametrize("args", [["--ca", "x"], ["--min-tls", "1.3"], ["--resume"], ["--print-pin"], ["--targets", "x"]])
def test_what_would_have_no_effect(args):
    assert Run("--scan", *args, "localhost:1").code == 2


def test_interrupted(rig):
    """What was found by then is kept."""
    silent = rig.listener()
    proc = subprocess.Popen([tlskit.TLSKIT, "connect", "--scan", "--json", "--timeout", "20s", silent.target],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.5 * tlskit.SLOW)
    proc.send_signal(signal.SIGINT)
    out, err = proc.communicate(timeout=20)
    doc = json.loads(out)
    schema.Checker(SCHEMA).check(SCHEMA, doc)
    assert proc.returncode == 1 and doc["interrupted"] and b"interrupted" in err, (proc.returncode, out, err)
