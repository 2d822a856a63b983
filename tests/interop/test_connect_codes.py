# SPDX-License-Identifier: GPL-3.0-or-later
"""Every exit code of `connect`, each by one server; where there is more about it; and
which one is taken of several."""

import re

import pytest

import peers
import servers
import tlsend
from checkpki import tlsa
from connects import RESULTS, Check, Run
from pki import DAY, NOW

# code, result, how it comes about (a method of Ways), where more of its kind is
CODES = [
    (0, "ok", "good", "test_connect_check"),
    (1, "failed", "unwritable", "test_connect_many"),
    (2, "usage", "misspelt", "test_connect_many, tests/cli/run"),
    (10, "dns", "nameless", "test_connect_names"),
    (11, "connect", "refused", "test_connect_hostile"),
    (12, "deadline", "silent", "test_connect_hostile"),
    (13, "proxy", "no_proxy", "test_connect_proxy"),
    (14, "starttls", "no_starttls", "test_connect_starttls"),
    (15, "handshake", "http", "test_connect_hostile"),
    (16, "client-certificate-rejected", "demanding", "test_connect_client, test_connect_hostile"),
    (20, "untrusted", "selfsigned", "test_connect_check"),
    (21, "name-mismatch", "wronghost", "test_connect_check, test_connect_names"),
    (22, "expired", "expired", "test_connect_check"),
    (23, "revoked", "revoked", "test_connect_trust, test_connect_ocsp"),
    (24, "staple", "muststaple", "test_connect_ocsp"),
    (25, "weak", "rsa1024", "test_connect_check"),
    (26, "pin-mismatch", "pinned", "test_connect_trust"),
    (30, "near-expiry", "soon", "test_connect_monitor"),
    (31, "unexpected", "unexpected", "test_connect_monitor, test_connect_resume"),
    (32, "truncated", "truncated", "test_connect_talk"),
]
IN_TALK = {32}  # what a check does not wait for


class Cut(servers.Server):
    """Ends without close_notify once the handshake is over."""

    def __init__(self, ctx):
        self.ctx = ctx
        super().__init__()

    def serve(self, conn):
        t = tlsend.Tls(conn.sock, self.ctx, server=True).handshake()
        t.send(b"half a th")
        t.fin()


class Ways:
    """Each method gives the arguments."""

    def __init__(self, rig, world):
        self.rig, self.world = rig, world

    def shown(self, name, *args, server=peers.OpensslSite, options=()):
        site = self.rig.start(server(getattr(self.world, name), None, *options))
        return "--ca", self.world.ca, *args, f"localhost:{site.port}"

    def good(self):
        return self.shown("good")

    def unwritable(self):
        return self.shown("good", "--save-chain", "/nonexistent/chain.pem")

    def misspelt(self):
        return "--insecure-no-verfiy", "localhost"

    def nameless(self):
        return ("nowhere.invalid",)

    def refused(self):
        return (self.rig.add(servers.Refuser()).target,)

    def silent(self):
        return "--timeout", "200ms", self.rig.listener().target

    def no_proxy(self):
        return "--proxy", "http://" + self.rig.add(servers.Refuser()).target, "localhost:1"

    def no_starttls(self):
        return "--starttls", "smtp", self.rig.add(servers.Source(b"554 not today\r\n")).target

    def http(self):
        return (self.rig.add(servers.Source(b"HTTP/1.0 400 Bad Request\r\n\r\n")).target,)

    def demanding(self):
        ca = self.world.client_root.cert
        return self.shown("good", options=("-Verify", "1", "-verify_return_error", "-CAfile", ca))

    def selfsigned(self):
        return self.shown("selfsigned", server=peers.GnutlsServ)

    def wronghost(self):
        return self.shown("wronghost", server=peers.GnutlsServ)

    def expired(self):
        return self.shown("expired")

    def revoked(self):
        return self.shown("revoked", "--crl", self.world.crl("codes.crl", self.world.middle, self.world.revoked.x509))

    def muststaple(self):
        return self.shown("muststaple")

    def rsa1024(self):
        return self.shown("rsa1024")

    def pinned(self):
        return self.shown("good", "--pin", self.world.rsa.pin)

    def soon(self):
        return self.shown("sixday", "--warn", "30")

    def unexpected(self):
        return self.shown("good", "--expect-alpn", "h2")

    def truncated(self):
        ctx = tlsend.context(server=True, cred=self.world.good)
        return "--ca", self.world.ca, f"localhost:{self.rig.add(Cut(ctx)).addr[1]}"


def test_all_codes_are_in_the_list():
    assert {code: result for code, result, _, _ in CODES} == RESULTS
    told = Run("--help").out.decode()
    for code in RESULTS:
        assert code < 3 or re.search(rf"\b{code}\s+[a-zA-Z]", told), code


@pytest.mark.parametrize("code,result,way", [c[:3] for c in CODES], ids=[c[1] for c in CODES])
def test_code(rig, world, code, result, way):
    args = getattr(Ways(rig, world), way)()
    if code in IN_TALK:
        r = Run(*args)
        assert r.code == code and "close_notify" in r.err, r
        return
    r = Run("--check", "--json", *args)
    assert (r.code, r.out.count(b"\n")) == (code, 1), r
    if code in (0, *range(10, 33)):
        assert r.err == "" and f'"result": "{result}"' in r.out.decode(), r
    else:
        assert r.err, r


# --- one of several -------------------------------------------------------------------

# In this order the causes decide: 23, 20, 21, 22, 25, 24, 26; what comes after them is
# in the order in which it was found.
SEVERAL = [
    ("three_faults", ["--pin", "good"], [20, 21, 22, 26]),
    ("three_faults", ["--crl", "--must-staple"], [20, 21, 22, 24]),  # no path, so nobody who could revoke
    ("much", ["--crl", "--must-staple", "--pin", "good"], [23, 21, 22, 25, 24, 26]),
    ("much", ["--must-staple", "--pin", "good"], [21, 22, 25, 24, 26]),
    ("expired_and_weak", ["--must-staple"], [22, 25, 24]),
    ("rsa1024", ["--must-staple", "--pin", "good"], [25, 24, 26]),
    ("good", ["--must-staple", "--pin", "rsa"], [24, 26]),
    ("good", ["--must-staple", "--tlsa"], [24, 26]),
    ("good", ["--pin", "rsa", "--warn", "90"], [26, 30]),
    ("good", ["--warn", "90", "--expect-alpn", "h2"], [30, 31]),
]


@pytest.mark.parametrize("server,args,codes", SEVERAL)
def test_the_first_of_several(rig, world, server, args, codes):
    """All are listed; the first of the list is the exit code."""
    key, dates = world.rsa1024.priv, {"start": NOW - 9 * DAY, "end": NOW - DAY}
    if server == "much":
        world.server("much", key=key, san=("other.test",), **dates)
    if server == "expired_and_weak":
        world.server("expired_and_weak", key=key, **dates)
    given = []
    for a in args:
        given.append(getattr(world, a).pin if a in ("good", "rsa") else a)
        if a == "--crl":
            given.append(world.crl("several.crl", world.middle, getattr(world, server).x509))
        if a == "--tlsa":
            given.append(tlsa(3, 1, 1, world.rsa.x509))
    c = Check(*Ways(rig, world).shown(server, *given))
    assert sorted(e["code"] for e in c.doc["errors"]) == sorted(codes) and c.code == codes[0], c
