# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS 1.2's AEAD suites on the direct plane, and the others on GnuTLS's, with
foreign peers in both roles."""

import pytest

import ends
from peers import Client, OpensslClient, OpensslServer, Peer, Stunnel
from tlskit import SLOW

AEADS = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305", "AES128-CCM", "AES256-CCM"]
OTHERS = ["AES128-CCM8", "AES128-SHA256", "AES256-SHA"]
PLANES = {**dict.fromkeys(AEADS, "direct"), **dict.fromkeys(OTHERS, "gnutls")}
ALL = ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,"
       "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_CCM,TLS_ECDHE_ECDSA_WITH_AES_256_CCM,"
       "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA")


@pytest.fixture(scope="module")
def some(blob):
    return blob[:8 << 20]


def cipher(suite):
    return "ECDHE-ECDSA-" + suite + ":@SECLEVEL=0"  # CCM_8 is below the usual level


def both_ways_and_end(a, b, t, up, down, plane):
    ends.exchange(a, b, up, down)
    a.shut()
    assert b.recv() == b""
    b.shut()
    assert a.recv() == b""
    line = t.close_line()
    assert (line["result"], line["tls_version"], line["dataplane"]) == ("ok", "TLS1.2", plane), line
    assert (line["to_target_bytes"], line["to_peer_bytes"]) == (len(up), len(down))


def peer_side(stream, t, back, up, down, plane):
    """The peer is a program on a pipe, which takes its own end for the whole's."""
    ends.exchange(stream, back, up, down)
    back.shut()
    assert stream.recv() == b""
    stream.close()
    line = t.close_line()
    assert (line["tls_version"], line["dataplane"]) == ("TLS1.2", plane), line
    assert (line["to_target_bytes"], line["to_peer_bytes"]) == (len(up), len(down))


@pytest.mark.parametrize("suite", PLANES)
def test_openssl_client(rig, pki, some, suite):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--ciphersuite", ALL)
    a = rig.start(OpensslClient(t.target, pki.ca, "1.2", "-cipher", cipher(suite)))
    peer_side(a.stream, t, back.accept(), some, some, PLANES[suite])


@pytest.mark.parametrize("suite", PLANES)
def test_openssl_server(rig, pki, some, suite):
    s = rig.start(OpensslServer(pki.ecdsa, "1.2", "-cipher", cipher(suite)))
    t = rig.client(s.port, "--ca", pki.ca, "--ciphersuite", ALL)
    a = rig.dial(t)
    ends.exchange(a, s.stream, some, some)
    a.shut()
    s.stream.shut()
    assert ends.recv_all(a) == b""
    assert t.close_line()["dataplane"] == PLANES[suite]


@pytest.mark.parametrize("suite", AEADS[:3])
def test_stunnel_client(rig, pki, some, suite):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    s = rig.start(Stunnel(t.target, client=True, ca=pki.ca, version="1.2", ciphers=cipher(suite)))
    a = rig.dial(s)
    both_ways_and_end(a, back.accept(), t, some, some, "direct")


@pytest.mark.parametrize("suite", AEADS[:3])
def test_stunnel_server(rig, pki, some, suite):
    back = rig.listener()
    s = rig.start(Stunnel(back.target, cred=pki.ecdsa, version="1.2", ciphers=cipher(suite)))
    t = rig.client(s.port, "--ca", pki.ca)
    a = rig.dial(t)
    both_ways_and_end(a, back.accept(), t, some, some, "direct")


@pytest.mark.parametrize("fragment", [512, 4096])
def test_max_fragment_length(rig, pki, small, fragment):
    """RFC 6066, 4: openssl refuses a larger record than it asked for."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    a = rig.start(OpensslClient(t.target, pki.ca, "1.2", "-maxfraglen", str(fragment)))
    peer_side(a.stream, t, back.accept(), small, small, "direct")


@pytest.mark.parametrize("alg", ["rsa", "ecdsa"])
def test_resumed(rig, pki, small, alg):
    """The second connection resumes the first one's session."""
    back = rig.listener()
    s = rig.server(getattr(pki, alg), back.target, "--max-tls", "1.2")
    c = rig.client(s.port, "--ca", pki.ca)
    lines = []
    for _ in range(2):
        a = rig.dial(c)
        b = back.accept()
        ends.exchange(a, b, small, small)
        a.shut()
        b.shut()
        assert a.recv() == b.recv() == b""
        lines = c.closes(len(lines) + 1)
    assert [line["resumed"] for line in lines] == [False, True], lines
    assert [line["dataplane"] for line in lines] == ["direct"] * 2
    assert [line["dataplane"] for line in s.closes(2)] == ["direct"] * 2


class Curl(Client, Peer):
    """Posts what comes from its stdin."""

    name = "curl"

    def __init__(self, port, ca, *args):
        super().__init__(*args)
        self.where, self.ca = f"https://localhost:{port}/", ca

    def argv(self):
        return ["-sS", "--max-time", str(int(60 * SLOW)), "--tls-max", "1.2", "--cacert", self.ca, "-H", "Expect:",
                "--data-binary", "@-", *self.args, self.where]


@pytest.mark.parametrize("suite", AEADS[:3])
def test_curl(rig, pki, small, some, suite):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target)
    c = rig.start(Curl(t.port, pki.ca, "--ciphers", cipher(suite)))
    c.stream.send(small)
    c.stream.shut()
    b = back.accept()
    request = b""
    while b"\r\n\r\n" not in request or len(request.split(b"\r\n\r\n", 1)[1]) < len(small):
        request += b.recv()
    ends.same(request.split(b"\r\n\r\n", 1)[1], small)
    b.send(b"HTTP/1.0 200 OK\r\n\r\n" + some)
    b.shut()
    ends.same(ends.recv_all(c.stream), some)
    assert t.close_line()["dataplane"] == "direct"
