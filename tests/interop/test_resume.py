# SPDX-License-Identifier: GPL-3.0-or-later
"""Tickets: who sends them, when, and what comes back with them."""

import select
import ssl
import time

import pytest

import ends
import servers
import tlsend
from peers import GnutlsCli, GnutlsServ, OpensslClient, Stunnel

VERSIONS = ["1.2", "1.3"]


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture(params=["ecdsa", "rsa"])
def cred(request, pki):
    """An RSA handshake goes to another thread, unless it resumes."""
    return getattr(pki, request.param)


def once(rig, t):
    """A whole connection through a client-role tunnel to an echo."""
    a = rig.dial(t)
    a.send(b"hello\n")
    assert ends.recv_exactly(a, 6) == ends.digest(b"hello\n")
    a.shut()
    ends.recv_to_end(a)
    a.close()


@pytest.mark.parametrize("kind", ["python", "gnutls", "stunnel", "tlskit"])
def test_client_role(rig, pki, version, kind):
    """The second connection resumes, and so does the third."""
    if kind == "gnutls":
        port = rig.start(GnutlsServ(pki.ecdsa, version, "--echo")).port
    elif kind == "stunnel":
        port = rig.start(Stunnel(rig.add(servers.Echo()).target, cred=pki.ecdsa, version=version)).port
    elif kind == "tlskit":
        port = rig.server(pki.ecdsa, rig.add(servers.Echo()).target, "--max-tls", version).port
    else:
        port = rig.add(servers.TlsEcho(
            tlsend.context(server=True, cred=pki.ecdsa, versions=tlsend.VERSIONS[version]))).addr[1]
    t = rig.client(port, "--ca", pki.ca)
    for i in range(3):
        once(rig, t)
        t.closes(i + 1)
    assert [l["resumed"] for l in t.events("close")] == [False, True, True]
    assert {l["tls_version"] for l in t.events("close")} == {"TLS" + version}


def test_no_resumption_with_another_server(rig, pki, version):
    """A target that changed its certificate is verified anew: what was good
    under a ticket is not good for ever."""
    first = tlsend.context(server=True, cred=pki.ecdsa, versions=tlsend.VERSIONS[version])
    second = tlsend.context(server=True, cred=pki.selfsigned, versions=tlsend.VERSIONS[version])
    s = rig.add(servers.TlsEcho(first))
    t = rig.client(s.addr[1], "--ca", pki.ca)
    once(rig, t)
    s.ctx = second
    assert ends.recv_to_end(rig.dial(t)) == (b"", "reset")
    assert t.closes(2)[1]["stage"] == "target-handshake"
    s.ctx = tlsend.context(server=True, cred=pki.rsa, versions=tlsend.VERSIONS[version])
    once(rig, t)


def s_client(rig, t, pki, version, *args):
    """One connection of openssl s_client that carries a line each way; what it printed."""
    c = rig.start(OpensslClient(t.target, pki.ca, version, *args, quiet=False))
    c.stream.send(b"hello\n")
    got = b""
    while b"\nhello\n" not in got:
        got += c.stream.recv()
    c.stream.shut()
    try:
        while data := c.stream.recv():
            got += data
    finally:
        c.wait()
    return got


def test_openssl_client(rig, pki, cred, version, tmp_path):
    t = rig.server(cred, rig.add(servers.Echo()).target, "--threads", "2")
    ticket = tmp_path / "ticket"
    assert b"\nNew, " in s_client(rig, t, pki, version, "-sess_out", ticket)
    assert b"\nReused, " in s_client(rig, t, pki, version, "-sess_in", ticket)
    assert [l["resumed"] for l in t.closes(2)] == [False, True]


def test_gnutls_client(rig, pki, version):
    t = rig.server(pki.ecdsa, rig.add(servers.Echo()).target)
    c = rig.start(GnutlsCli(t.port, pki.ca, version, "--resume"))
    c.stream.send(b"hello\n")
    c.stream.shut()
    assert ends.recv_all(c.stream) == b"hello\n"
    c.wait()
    # with TLS 1.3 it ends the first session before any answer, with which the ticket would come
    assert version == "1.3" or "This is a resumed session" in c.messages(), c.messages()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_tickets_come_with_the_first_answer_only(rig, pki, count):
    """TLS 1.3: nothing is sent before the backend has said something."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--tickets", count)
    c = rig.dial_tls(t, tlsend.context(versions=tlsend.V13))
    b = back.accept()
    c.send(b"question")
    assert b.recv() == b"question"
    assert not select.select([c.sock], [], [], 0.2)[0], "a ticket before the first answer"
    b.send(b"answer")
    records = read_records(c, b"answer")
    assert (len(records) > 1) == bool(count), records
    assert c.obj.session is None or bool(c.obj.session.has_ticket) == bool(count)


def read_records(c, want):
    """Feeds c until it has `want`; the lengths of the records that came."""
    raw, got = b"", b""
    while got != want:
        data = c.sock.recv(ends.CHUNK)
        raw += data
        c.inc.write(data)
        try:
            got += c.obj.read(ends.CHUNK)
        except ssl.SSLWantReadError:
            pass
    lengths = []
    while raw:
        n = int.from_bytes(raw[3:5], "big")
        lengths.append(n)
        raw = raw[5 + n:]
    return lengths


def test_ticket_of_a_refused_client_is_no_use(rig, pki):
    """A client's session resumes as the client that it was."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--client-ca", pki.client_ca, "--allow", "cn:alice")
    ctx = tlsend.context(cred=pki.alice, versions=tlsend.V12)
    session = None
    for i in range(2):
        a = rig.dial_tls(t, ctx, session=session)
        b = back.accept()
        ends.exchange(a, b, b"ping", b"pong")
        session = a.obj.session
        a.shut()
        b.close()
        a.close()
        t.closes(i + 1)
    assert all(l["result"] == "ok" for l in t.events("close"))


def test_tickets_do_not_outlive_the_process(rig, pki, cred, version, tmp_path):
    """Another process has other keys: a full handshake, no failure, be it one client
    after the other; and tickets of its own are good."""
    back = rig.add(servers.Echo())
    old, new = tmp_path / "old", tmp_path / "new"
    s_client(rig, rig.server(cred, back.target), pki, version, "-sess_out", old)
    t = rig.server(cred, back.target)
    for _ in range(3):
        assert b"\nNew, " in s_client(rig, t, pki, version, "-sess_in", old, "-sess_out", new)
    assert b"\nReused, " in s_client(rig, t, pki, version, "-sess_in", new)


def test_hello_in_pieces(rig, pki, cred, version):
    """With and without a ticket in it, cut anywhere."""
    t = rig.server(cred, rig.add(servers.Echo()).target)
    ctx, session = tlsend.context(versions=tlsend.VERSIONS[version]), None
    for cut in (1, 5, 9, 60, -1, -40):
        a = rig.dial_tls(t, ctx, session=session, handshake=False)
        with pytest.raises(ssl.SSLWantReadError):
            a.obj.do_handshake()
        hello = a.take()
        a.sock.sendall(hello[:cut])
        time.sleep(0.02)
        a.sock.sendall(hello[cut:])
        a.handshake()
        a.send(b"hello")
        assert ends.recv_exactly(a, 5) == ends.digest(b"hello")
        assert a.obj.session_reused == bool(session), cut
        session = a.obj.session
        a.shut()
        a.close()
