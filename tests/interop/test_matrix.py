# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS 1.2 and 1.3, RSA and ECDSA, both roles, every peer: 64 MiB each way at
once, and half-close."""

import base64
import os
import time

import pytest

import ends
import servers
import tlsend
from peers import GnutlsCli, GnutlsServ, Haproxy, OpensslClient, OpensslServer, Socat, Stunnel

VERSIONS = ["1.2", "1.3"]
KEYS = ["rsa", "ecdsa"]
RELAYS = {"stunnel": Stunnel, "haproxy": Haproxy, "socat": Socat}
REPLY = b"the reply " * 1000


def connect(rig, kind, tunnel, ca, version=None):
    """A stream through a client of that kind to the TLS port of a tunnel."""
    if kind == "python":
        return rig.dial_tls(tunnel, tlsend.context(ca=ca, versions=version and tlsend.VERSIONS[version]))
    if kind == "openssl":
        return rig.start(OpensslClient(tunnel.target, ca, version)).stream
    if kind == "gnutls":
        return rig.start(GnutlsCli(tunnel.port, ca, version)).stream
    return rig.dial(rig.start(RELAYS[kind](tunnel.target, client=True, ca=ca, version=version)))


def serve(rig, kind, cred, version=None):
    """A TLS server of that kind; (its port, a function that gives the stream of
    its next connection)."""
    if kind == "openssl":
        s = rig.start(OpensslServer(cred, version))
        return s.port, lambda: s.stream
    behind = rig.listener()
    if kind == "python":
        ctx = tlsend.context(server=True, cred=cred, versions=version and tlsend.VERSIONS[version])
        return behind.addr[1], lambda: behind.accept_tls(ctx)
    return rig.start(RELAYS[kind](behind.target, cred=cred, version=version)).port, behind.accept


def check_line(line, version, up, down):
    assert line["result"] == "ok", line
    assert line["tls_version"] == "TLS" + version
    assert (line["to_target_bytes"], line["to_peer_bytes"]) == (up, down)
    assert line["ciphersuite"].startswith("TLS_") and line["group"], line
    assert line["dataplane"] == "direct", line


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["openssl", "gnutls", *RELAYS])
def test_server(rig, pki, blob, kind, version, key):
    back = rig.listener()
    t = rig.server(getattr(pki, key), back.target)
    a = connect(rig, kind, t, pki.ca, version)
    b = back.accept()
    down = base64.b64encode(blob[:96 << 10]) if kind == "gnutls" else blob  # it prints text, byte by byte
    ends.exchange(a, b, blob, down)
    b.shut()
    assert a.recv() == b""
    a.close()
    check_line(t.close_line(), version, len(blob), len(down))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["openssl", *RELAYS])
def test_client(rig, pki, blob, kind, version, key):
    port, accept = serve(rig, kind, getattr(pki, key), version)
    t = rig.client(port, "--ca", pki.ca)
    a = rig.dial(t)
    b = ends.Task(accept)
    ends.exchange(a, b.done(), blob, blob)
    a.shut()
    b.result.shut()
    assert a.recv() == b""
    a.close()
    check_line(t.close_line(), version, len(blob), len(blob))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("version", VERSIONS)
def test_client_gnutls_download(rig, pki, blob, tmp_path, version, key):
    page = tmp_path / "page"
    page.write_bytes(blob)
    s = rig.start(GnutlsServ(getattr(pki, key), version, "--http", "--httpdata", page))
    a = rig.dial(rig.client(s.port, "--ca", pki.ca))
    a.send(b"GET / HTTP/1.0\r\n\r\n")
    ends.same(ends.recv_all(a).partition(b"\r\n\r\n")[2], blob)


@pytest.mark.parametrize("version", VERSIONS)
def test_client_gnutls_echo(rig, pki, version):
    """gnutls-serv keeps one line at a time."""
    s = rig.start(GnutlsServ(pki.ecdsa, version, "--echo"))
    a = rig.dial(rig.client(s.port, "--ca", pki.ca))
    for i in range(100):
        line = b"%d " % i + b"x" * (i * 7) + b"\n"
        a.send(line)
        assert ends.recv_exactly(a, len(line)) == ends.digest(line)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["python", "stunnel", "socat", "gnutls"])
def test_half_close_server(rig, pki, small, kind, version):
    """The client's end reaches the backend; the reply comes later."""
    back = rig.add(servers.Trickle([REPLY] * 3, 0.2))
    a = connect(rig, kind, rig.server(pki.ecdsa, back.target), pki.ca, version)
    a.send(small)
    a.shut()
    ends.same(ends.recv_all(a), REPLY * 3)
    ends.same(back.results()[0], small)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["python", "stunnel", "socat"])
def test_half_close_client(rig, pki, small, kind, version):
    port, accept = serve(rig, kind, pki.ecdsa, version)
    a = rig.dial(rig.client(port, "--ca", pki.ca))
    b = ends.Task(accept)
    a.send(small)
    a.shut()
    ends.same(ends.recv_all(b.done()), small)
    for _ in range(3):
        time.sleep(0.2)
        b.result.send(REPLY)
    b.result.shut()
    ends.same(ends.recv_all(a), REPLY * 3)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["python", "stunnel", "socat"])
def test_backend_half_close(rig, pki, small, kind, version):
    """The backend ends first; what the client sends afterwards still arrives."""
    back = rig.listener()
    a = connect(rig, kind, rig.server(pki.ecdsa, back.target), pki.ca, version)
    b = back.accept()
    b.send(small)
    b.shut()
    ends.same(ends.recv_all(a), small)
    a.send(small)
    a.shut()
    ends.same(ends.recv_all(b), small)


def test_both_certificates(rig, pki):
    """RSA and ECDSA together: the client's signature algorithms choose."""
    back = rig.add(servers.Echo())
    t = rig.server(pki.rsa, back.target, "--cert", pki.ecdsa.cert, "--key", pki.ecdsa.key)
    for sig, cred in ("rsa_pss_rsae_sha256", pki.rsa), ("ecdsa_secp256r1_sha256", pki.ecdsa):
        c = rig.start(OpensslClient(t.target, pki.ca, "1.3", "-sigalgs", sig, "-showcerts", quiet=False))
        text = c.stream
        got = b""
        while b"END CERTIFICATE" not in got:
            got += text.recv()
        assert cred.x509.public_bytes(pki_pem()).strip() in got


def pki_pem():
    from cryptography.hazmat.primitives.serialization import Encoding
    return Encoding.PEM


@pytest.mark.parametrize("cred", ["rsa", "ecdsa"])
def test_key_in_certificate_file(rig, pki, cred):
    back = rig.add(servers.Echo())
    t = rig.tlskit("tls:127.0.0.1:0", back.target, "--cert", getattr(pki, cred).both)
    a = rig.dial_tls(t, tlsend.context(ca=pki.ca))
    a.send(b"hello")
    assert a.recv() == b"hello"


def test_tls_on_both_sides(rig, pki, blob):
    """Terminate and originate again."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, "tls:localhost:%d" % back.addr[1], "--ca", pki.ca)
    a = ends.Task(connect, rig, "openssl", t, pki.ca)
    b = back.accept_tls(tlsend.context(server=True, cred=pki.rsa))
    ends.exchange(a.done(), b, blob, blob)


def test_pair(rig, blob):
    """Two of ours, by the line that the first one prints."""
    back = rig.listener()
    s = rig.tlskit("tls:127.0.0.1:0", back.target)
    words = s.lines("client")[0].split()
    assert words[:2] == ["tlskit", "tunnel"], words
    c = rig.tlskit("127.0.0.1:0", *words[3:])
    a = rig.dial(c)
    b = back.accept()
    ends.exchange(a, b, blob, blob)
    a.shut()
    assert b.recv() == b""
    b.close()
    assert a.recv() == b""
    assert c.close_line()["result"] == s.close_line()["result"] == "ok"


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="no IPv6 here")
def test_bare_port_is_loopback_both_families(rig):
    back = rig.add(servers.Echo())
    t = rig.tlskit("tls:0", back.target)
    ports = {w.rsplit(":", 1)[1] for w in t.ready(lines=2).where}
    assert len(ports) == 1, t.where
    for host in "127.0.0.1", "::1":
        a = rig.dial_tls((host, t.port))
        a.send(b"hello")
        assert a.recv() == b"hello"


def test_every_interface(rig):
    back = rig.add(servers.Echo())
    t = rig.tlskit("tls::0", back.target)
    assert t.where[0].rsplit(":", 1)[0] in ("[::]", "0.0.0.0"), t.where
    a = rig.dial_tls(("127.0.0.1", t.port))
    a.send(b"hello")
    assert a.recv() == b"hello"
