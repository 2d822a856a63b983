# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --scan`: what it says of servers whose settings are known, OpenSSL's, GnuTLS's
and nginx's; and of those that are none, or do not answer."""

import json
import re
import select
import signal
import subprocess

import pytest

import ends
import peers
import schema
import servers
import tlsend
import tlskit
from connects import PLAIN, Run

OLD = ("-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0")


class Scan(Run):
    """`connect --scan --json ARG…`: doc is what came on stdout."""

    def __init__(self, *args, **kw):
        super().__init__("--scan", "--json", *args, **kw)
        self.doc = json.loads(self.out)
        schema.check(self.doc, "connect-scan")
        assert self.doc["exit_code"] == self.code, self
        assert bool(self.code) == bool(self.doc["errors"]), self

    def version(self, name):
        return next(v for v in self.doc["versions"] if v["name"] == "TLS " + name)

    def versions(self):
        return {v["name"].removeprefix("TLS "): v["accepted"] for v in self.doc["versions"]}

    def rows(self, version, kind, accepted=True):
        """Names, those with a place first and in its order."""
        found = [r for r in (self.version(version)[kind] or {"list": []})["list"] if r["accepted"] is accepted]
        return [r["name"] for r in sorted(found, key=lambda r: r["place"] or 1000)]

    def row(self, version, kind, name):
        return next(r for r in self.version(version)[kind]["list"] if r["name"] == name)

    def order(self, version, kind):
        return self.version(version)[kind]["order"]

    def fine(self):
        assert self.code == 0 and self.doc["complete"] and self.err == "", self
        return self


def openssl_suites(ciphers, version="-tls1_2"):
    """What OpenSSL makes of a cipher string, by the registry's names."""
    out = subprocess.run(["openssl", "ciphers", "-s", version, "-stdname", ciphers], capture_output=True, text=True,
                         check=True).stdout
    return [line.split()[0] for line in out.splitlines() if line.startswith("TLS_")]


def rsa_suites(scan, version):
    """Those that were offered and do without a certificate of another kind."""
    names = {r["name"] for r in scan.version(version)["ciphersuites"]["list"]}
    return {name for name in names if "ECDSA" not in name and "DSS" not in name}


# --- suites ------------------------------------------------------------------------------

# Orders that no product of key exchanges, ciphers and MACs has.
ORDERS = [
    "ECDHE-RSA-AES256-SHA384:DHE-RSA-AES256-SHA256:ECDHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA256:AES128-SHA",
    "AES128-SHA:DHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256",
    "ALL:COMPLEMENTOFALL",
]


@pytest.mark.parametrize("order", ORDERS)
def test_server_with_an_order(rig, pki, order):
    ciphers = order + ":@SECLEVEL=0"
    server = rig.start(peers.OpensslServer(pki.rsa, None, "-cipher", ciphers, "-serverpref"))
    scan = Scan(f"localhost:{server.port}").fine()
    there = [s for s in openssl_suites(ciphers) if s in rsa_suites(scan, "1.2")]
    assert scan.rows("1.2", "ciphersuites") == there
    assert scan.order("1.2", "ciphersuites") == "server"
    assert scan.rows("1.2", "ciphersuites", None) == []
    assert scan.rows("1.3", "ciphersuites") == ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
                                               "TLS_AES_128_GCM_SHA256"]


def test_server_that_follows_the_client(rig, pki):
    server = rig.start(peers.OpensslServer(pki.rsa, "1.2", "-cipher", ORDERS[1] + ":@SECLEVEL=0"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert set(scan.rows("1.2", "ciphersuites")) == set(openssl_suites(ORDERS[1]))
    assert scan.order("1.2", "ciphersuites") == "client"
    assert scan.versions() == {"1.3": False, "1.2": True, "1.1": False, "1.0": False}
    assert scan.version("1.3")["ciphersuites"]["order"] is None and scan.version("1.3")["groups"] is None


@pytest.mark.parametrize("chacha", ["-serverpref", "-prioritize_chacha"])
def test_chacha20_that_goes_first_when_the_client_puts_it_there_is_no_clients_choice(rig, pki, chacha):
    order = ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"]
    server = rig.start(peers.OpensslServer(pki.rsa, "1.2", "-cipher", ":".join(order), "-serverpref", chacha))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.rows("1.2", "ciphersuites") == openssl_suites(":".join(order))
    assert scan.order("1.2", "ciphersuites") == "server"


def test_old_versions(rig, pki):
    server = rig.start(peers.OpensslServer(pki.rsa, None, *OLD, "-no_tls1_2", "-no_tls1_3", "-serverpref"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.versions() == {"1.3": False, "1.2": False, "1.1": True, "1.0": True}
    for version, flag in (("1.1", "-tls1_1"), ("1.0", "-tls1")):
        there = [s for s in openssl_suites(OLD[1], flag) if s in rsa_suites(scan, version)]
        assert scan.rows(version, "ciphersuites") == there
    assert {"X25519", "SECP256R1"} < set(scan.rows("1.1", "groups"))
    assert scan.version("1.0")["groups"] is None and scan.version("1.1")["signatures"] is None
    assert {"old-version", "anonymous", "null", "md5", "no-forward-secrecy"} <= set(scan.doc["weak"])
    assert scan.version("1.1")["weak"] == ["old-version"] and scan.version("1.2")["weak"] == []


def test_a_client_certificate_that_is_wanted_hides_nothing(rig, pki):
    server = rig.start(peers.OpensslServer(pki.rsa, "1.2", "-cipher", ORDERS[1] + ":@SECLEVEL=0", "-serverpref",
                                           "-Verify", "1", "-verify_return_error", "-CAfile", pki.client_ca))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.rows("1.2", "ciphersuites") == openssl_suites(ORDERS[1])
    assert {"X25519", "SECP256R1"} < set(scan.rows("1.2", "groups"))
    assert "RSA-PSS-RSAE-SHA256" in scan.rows("1.2", "signatures")


# --- groups --------------------------------------------------------------------------------

@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_one_group(rig, pki, version):
    """In TLS 1.3 by a HelloRetryRequest, which is no refusal."""
    server = rig.start(peers.OpensslServer(pki.rsa, version, "-groups", "P-384"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert [g for g in scan.rows(version, "groups") if g[:2] != "DH"] == ["SECP384R1"]
    assert scan.row(version, "groups", "SECP384R1")["id"] == "0x0018"
    assert {"X25519", "SECP256R1"} < set(scan.rows(version, "groups", False))


def test_groups_in_the_servers_order(rig, pki):
    server = rig.start(peers.OpensslServer(pki.rsa, "1.2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256", "-serverpref",
                                           "-groups", "P-521:X25519:P-384"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.rows("1.2", "groups") == ["SECP521R1", "X25519", "SECP384R1"]
    assert scan.order("1.2", "groups") == "server"


CURVES = "P-256:X25519:P-384"


def test_groups_beside_the_curve_of_the_certificate(rig, pki):
    """A server with an ECDSA certificate alone needs its curve to be offered in TLS 1.2."""
    server = rig.start(peers.OpensslServer(pki.ecdsa, "1.2", "-groups", CURVES))
    scan = Scan(f"localhost:{server.port}").fine()
    assert set(scan.rows("1.2", "groups")) == {"SECP256R1", "X25519", "SECP384R1"}
    assert {"X448", "SECP521R1"} < set(scan.rows("1.2", "groups", False))


def test_groups_behind_the_curve_of_the_certificate_are_unknown(rig, pki):
    server = rig.start(peers.OpensslServer(pki.ecdsa, "1.2", "-groups", CURVES, "-serverpref"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.rows("1.2", "groups") == ["SECP256R1"]
    assert {"X25519", "SECP384R1", "X448"} < set(scan.rows("1.2", "groups", None))
    assert "certificate" in scan.row("1.2", "groups", "X25519")["reason"]


def test_a_small_prime_and_a_small_key(rig, world):
    path = world.file("dh1024.pem", b"")
    subprocess.run(["openssl", "dhparam", "-dsaparam", "-out", path, "1024"], check=True, capture_output=True)
    server = rig.start(peers.OpensslSite(world.rsa1024, "1.2", "-cipher", "DHE-RSA-AES128-SHA:AES128-SHA:@SECLEVEL=0",
                                         "-dhparam", path))
    scan = Scan(f"localhost:{server.port}").fine()
    assert {"small-group", "small-key", "no-forward-secrecy"} <= set(scan.doc["weak"])
    dhe = scan.row("1.2", "ciphersuites", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA")
    assert (dhe["group"], dhe["weak"], dhe["notes"]) == ("DH 1024", ["small-group"], ["cbc"])
    rsa = scan.row("1.2", "ciphersuites", "TLS_RSA_WITH_AES_128_CBC_SHA")
    assert rsa["weak"] == ["no-forward-secrecy", "small-key"]
    assert scan.rows("1.2", "groups") == ["DH 1024, its own prime"]
    assert scan.row("1.2", "groups", "DH 1024, its own prime")["id"] is None
    assert "FFDHE2048" in scan.rows("1.2", "groups", False)


# --- signatures -------------------------------------------------------------------------------

def test_signatures_of_two_certificates(rig, pki):
    schemes = "RSA+SHA512:ECDSA+SHA256:rsa_pss_rsae_sha256:ECDSA+SHA1:RSA+SHA1"
    server = rig.start(peers.OpensslServer(pki.rsa, None, "-dcert", pki.ecdsa.cert, "-dkey", pki.ecdsa.key, "-serverpref",
                                           "-sigalgs", schemes, "-cipher", "DEFAULT:@SECLEVEL=0"))
    scan = Scan(f"localhost:{server.port}").fine()
    assert set(scan.rows("1.3", "signatures")) == {"ECDSA-SECP256R1-SHA256", "RSA-PSS-RSAE-SHA256"}
    assert set(scan.rows("1.2", "signatures")) == {"RSA-SHA512", "ECDSA-SHA256", "RSA-PSS-RSAE-SHA256", "ECDSA-SHA1",
                                                  "RSA-SHA1"}
    assert scan.row("1.2", "signatures", "ECDSA-SHA256")["key"] == "ECDSA P-256"
    assert re.fullmatch(r"RSA \d+", scan.row("1.3", "signatures", "RSA-PSS-RSAE-SHA256")["key"])
    assert scan.row("1.2", "signatures", "RSA-SHA1")["weak"] == ["sha1-signature"]


def test_ed25519(rig, world):
    server = rig.start(peers.OpensslSite(world.ed25519, None))
    scan = Scan(f"localhost:{server.port}").fine()
    for version in ("1.2", "1.3"):
        assert scan.rows(version, "signatures") == ["EdDSA-Ed25519"]
        assert scan.row(version, "signatures", "EdDSA-Ed25519")["key"] == "Ed25519"
    assert "SECP256R1" in scan.rows("1.2", "groups")


# --- other servers ---------------------------------------------------------------------------------

def test_gnutls(rig, pki):
    priority = "NONE:+VERS-TLS1.2:+VERS-TLS1.3:+AES-256-GCM:+AES-128-GCM:+AES-128-CBC:+AEAD:+SHA1:" \
        "+DHE-RSA:+ECDHE-RSA:+SIGN-ALL:+GROUP-SECP384R1:+GROUP-X25519:+GROUP-FFDHE3072:+COMP-NULL:%SERVER_PRECEDENCE"
    server = rig.start(peers.GnutlsServ(pki.rsa, None, "--echo", "--priority", priority))
    scan = Scan(f"localhost:{server.port}").fine()
    assert scan.rows("1.2", "ciphersuites") == [
        f"TLS_{kx}_RSA_WITH_AES_{rest}" for kx in ("DHE", "ECDHE")
        for rest in ("256_GCM_SHA384", "128_GCM_SHA256", "128_CBC_SHA")]
    assert scan.order("1.2", "ciphersuites") == "server"
    for version in ("1.2", "1.3"):
        assert set(scan.rows(version, "groups")) == {"SECP384R1", "X25519", "FFDHE3072"}
    assert scan.row("1.2", "ciphersuites", "TLS_DHE_RSA_WITH_AES_128_CBC_SHA")["group"] == "FFDHE3072"


def test_nginx(rig, world):
    lines = "ssl_prefer_server_ciphers on; ssl_ecdh_curve P-384:X25519; " \
        "ssl_ciphers ECDHE-RSA-CHACHA20-POLY1305:AES128-SHA:ECDHE-RSA-AES256-GCM-SHA384:AES256-SHA;"
    sites = rig.start(peers.NginxSites({"both": (world.rsa, lines), "new": (world.rsa, "ssl_protocols TLSv1.3;")}))
    both, new = (Scan(f"localhost:{sites.ports[name]}").fine() for name in ("both", "new"))
    assert both.rows("1.2", "ciphersuites") == [
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_256_CBC_SHA"]
    assert both.rows("1.2", "groups") == ["SECP384R1", "X25519"]
    assert both.doc["weak"] == ["no-forward-secrecy"]
    assert new.versions() == {"1.3": True, "1.2": False, "1.1": False, "1.0": False}
    assert new.doc["weak"] == []


def test_haproxy(rig, world):
    sites = rig.start(peers.HaproxySites({"new": (world.good, "ssl-min-ver TLSv1.3")}))
    scan = Scan(f"localhost:{sites.ports['new']}").fine()
    assert scan.versions() == {"1.3": True, "1.2": False, "1.1": False, "1.0": False}
    assert set(scan.rows("1.3", "ciphersuites")) == {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
                                                     "TLS_AES_128_GCM_SHA256"}


class Smtp(servers.TlsEcho):
    """Speaks SMTP up to STARTTLS."""

    def serve(self, conn):
        conn.send(b"220 test\r\n")
        for answer in (b"250-test\r\n250 STARTTLS\r\n", b"220 go\r\n"):
            if not ends_with_newline(conn):
                return None
            conn.send(answer)
        return super().serve(conn)


def ends_with_newline(conn):
    got = b""
    while not got.endswith(b"\n"):
        data = conn.recv()
        if not data:
            return False
        got += data
    return True


def test_starttls(rig, pki):
    server = rig.add(Smtp(tlsend.context(server=True, cred=pki.ecdsa, versions=tlsend.V13)))
    scan = Scan("--starttls", "smtp", server.target).fine()
    assert scan.versions() == {"1.3": True, "1.2": False, "1.1": False, "1.0": False}
    assert scan.doc["starttls"] == "smtp"


class Mute(servers.Server):
    """A way to another server that keeps what is not nice to itself: after an alert in
    the clear there is silence."""

    def __init__(self, addr):
        self.behind = addr
        super().__init__()

    def serve(self, conn):
        back = ends.dial(self.behind)
        try:
            self.relay(conn.sock, back)
        finally:
            back.close()

    def relay(self, front, back):
        while True:
            for s in select.select([front, back], [], [])[0]:
                data = s.recv(65536)
                if s is back and (not data or data[0] == 21):
                    ends.recv_all(ends.Sock(front))
                    return
                if not data:
                    return
                (back if s is front else front).sendall(data)


def test_silence_is_no_refusal(rig, pki):
    behind = rig.start(peers.OpensslServer(pki.rsa, "1.2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA"))
    scan = Scan("--timeout", "2s", rig.add(Mute(behind.addr)).target)
    assert scan.code == 0 and scan.doc["complete"], scan
    assert scan.versions() == {"1.3": None, "1.2": True, "1.1": None, "1.0": None}
    assert set(scan.rows("1.2", "ciphersuites")) == {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                                                     "TLS_RSA_WITH_AES_128_CBC_SHA"}
    assert scan.rows("1.2", "ciphersuites", False) == []
    assert "no answer within" in scan.row("1.2", "ciphersuites", "TLS_RSA_WITH_NULL_MD5")["reason"]


# --- no servers ----------------------------------------------------------------------------------------

def is_fault(scan, code, stage, *words):
    assert (scan.code, scan.doc["errors"][0]["stage"]) == (code, stage), scan
    assert all(w in json.dumps(scan.doc["errors"]) for w in words), (words, scan)
    assert True not in scan.versions().values() and scan.doc["weak"] == [], scan


def test_nobody(rig):
    is_fault(Scan("nowhere.invalid"), 10, "dns")
    is_fault(Scan(rig.add(servers.Refuser()).target), 11, "connect", "refused")
    is_fault(Scan("--proxy", "http://" + rig.add(servers.Refuser()).target, "localhost:1"), 13, "proxy")
    is_fault(Scan("--starttls", "smtp", rig.add(servers.Source(b"554 not today\r\n")).target), 14, "starttls", "554")


def test_nothing_is_said(rig):
    silent = Scan("--timeout", "300ms", rig.listener().target).idle()
    is_fault(silent, 12, "handshake", "no answer within 300ms")
    assert 0.3 <= silent.spent_s < 5 * tlskit.SLOW
    assert set(silent.versions().values()) == {None}


class Short(servers.Server):
    """Hears something, says something, and goes."""

    def __init__(self, says, reset=False):
        self.says, self.reset = says, reset
        super().__init__()

    def serve(self, conn):
        conn.recv()
        if self.says:
            conn.send(self.says)
        conn.reset() if self.reset else conn.close()


def test_not_tls(rig):
    is_fault(Scan(rig.add(Short(b"")).target), 15, "handshake", "closed the connection", "--starttls")
    is_fault(Scan(rig.add(Short(b"", reset=True)).target), 15, "handshake")
    is_fault(Scan(rig.add(Short(b"\x00\x01rubbish" * 50)).target), 15, "handshake", "not TLS")
    is_fault(Scan(rig.add(Short(b"HTTP/1.0 400 Bad\r\n\r\n")).target), 15, "handshake", "HTTP")


def test_every_version_refused(rig):
    is_fault(Scan(rig.add(Short(b"\x15\x03\x03\x00\x02\x02\x46")).target), 15, "handshake", "protocol_version (70)")


@pytest.mark.parametrize("args", [
    ["--ca", "x"], ["--min-tls", "1.3"], ["--resume"], ["--print-pin"], ["--targets", "x"]])
def test_what_would_have_no_effect(args):
    assert Run("--scan", *args, "localhost:1").code == 2


def test_a_signal_keeps_what_was_found(rig):
    server = rig.add(servers.Sink())  # it never answers
    proc = subprocess.Popen([tlskit.TLSKIT, "connect", "--scan", "--json", server.target], stdout=subprocess.PIPE)
    try:
        ends.wait_until(lambda: server.accepts, "a connection")
        proc.send_signal(signal.SIGINT)
        out = proc.communicate(timeout=ends.WAIT)[0]
    finally:
        proc.kill()
        proc.wait()
    doc = json.loads(out)
    schema.check(doc, "connect-scan")
    assert (proc.returncode, doc["complete"]) == (1, False)
    assert "interrupted" in doc["errors"][0]["message"]


# --- the screen ------------------------------------------------------------------------------------------

def test_screen(rig, pki):
    server = rig.start(peers.OpensslServer(pki.rsa, None, *OLD, "-serverpref"))
    run = Run("--scan", f"localhost:{server.port}", env={"COLUMNS": "80"})
    assert run.code == 0 and run.err == "", run
    lines = run.out.decode().splitlines()
    assert all(len(line) <= 80 and PLAIN.fullmatch(line) and line == line.rstrip() for line in lines), run
    assert "weak: TLS 1.0, TLS 1.1, NULL encryption, anonymous" in lines[0]
    text = "\n".join(lines)
    for words in (r"handshakes in [\d.]+ s, certificates were not verified", r"TLS 1.1 +yes +old version",
                  r"TLS 1.2 suites, the server's order", r"TLS_DHE_RSA_WITH_AES_256_GCM_SHA384 +DH \d+",
                  r"TLS 1.1 to 1.0 suites", r"X25519 +(yes|1st) +1st", r"RSA-SHA1 +- +7th +RSA \d+ +SHA-1 signatures",
                  r"Not tested, since GnuTLS [\d.]+ cannot offer it", r"SSL 2, SSL 3"):
        assert re.search(words, text), (words, run)


def test_screen_without_weakness(rig, pki):
    server = rig.start(peers.OpensslServer(pki.ecdsa, "1.3"))
    run = Run("--scan", f"localhost:{server.port}")
    assert run.code == 0 and "nothing weak found" in run.out.decode().splitlines()[0], run


def test_screen_without_a_server(rig):
    """Of what is no server there are no tables."""
    run = Run("--scan", rig.add(servers.Refuser()).target)
    assert run.code == 11 and "no TLS was found" in run.out.decode() and "suites" not in run.out.decode(), run


@pytest.mark.parametrize("args", [("--no-such-option", "localhost:1"), ("--ca", "x", "localhost:1"), (), ("a:b:c",)])
def test_asked_for_in_a_wrong_way(args):
    """The object is a scan's, then too."""
    s = Scan(*args)
    assert s.code == 2 and s.doc["result"] == "usage" and s.err, s
