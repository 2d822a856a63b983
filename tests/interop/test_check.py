# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit tunnel --check`: one handshake with the target, and an exit code."""

import time

import pytest

import servers
import tlsend
from tlskit import Once


@pytest.mark.parametrize("server,args,code", [
    ("ecdsa", ["--ca", "ca"], 0), ("ecdsa", ["--pin", "ecdsa.pin"], 0),
    ("ecdsa", ["--pin", "rsa.pin"], 3), ("ecdsa", [], 3), ("expired", ["--ca", "ca"], 3),
    ("wronghost", ["--ca", "ca"], 3), ("selfsigned", [], 3), ("selfsigned", ["--insecure-no-verify"], 0),
])
def test_check(rig, pki, server, args, code):
    s = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=getattr(pki, server))))
    r = Once("tunnel", "0", f"tls:localhost:{s.addr[1]}", "--check", *pki.named(args))
    assert r.code == code, r
    if server == "selfsigned" and code == 3:
        assert "--pin " + pki.selfsigned.pin in r.err, r
    if code == 0:
        assert b"TLS1.3" in r.out.replace(b" ", b""), r


def test_check_client_certificate_refused_after_the_handshake(rig, pki):
    s = rig.add(servers.TlsEcho(tlsend.context(server=True, cred=pki.ecdsa, verify_client=pki.client_ca)))
    r = Once("tunnel", "0", f"tls:localhost:{s.addr[1]}", "--check", "--ca", pki.ca)
    assert r.code != 0, r


def test_check_connection_fails(rig):
    r = Once("tunnel", "0", "tls:" + rig.add(servers.Refuser()).target, "--check", "--insecure-no-verify")
    assert r.code == 1 and "refused" in r.err.lower(), r


def test_check_no_tls_there(rig):
    back = rig.add(servers.Source(b"HTTP/1.0 400 Bad Request\r\n\r\n"))
    r = Once("tunnel", "0", "tls:" + back.target, "--check", "--insecure-no-verify")
    assert r.code == 1, r


def test_check_times_out(rig):
    back = rig.listener()
    start = time.monotonic()
    r = Once("tunnel", "0", "tls:" + back.target, "--check", "--insecure-no-verify", "--handshake-timeout", "500ms")
    assert r.code == 1 and time.monotonic() - start < 5, r
    assert "timed out" in r.err, r
