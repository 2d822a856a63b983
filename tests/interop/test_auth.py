# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may talk to whom: certificates, pins, names and pre-shared keys, on both
sides. A peer that is not let in never causes a connection to the backend."""

import re
import socket
import ssl
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import ends
import servers
import tlsend
from peers import GnutlsCli, GnutlsServ, OpensslClient, OpensslServer, Stunnel

VERSIONS = ["1.2", "1.3"]
KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
OTHER = KEY[::-1]


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


def works(a, b=None):
    """The stream carries data to an echo, or to b."""
    a.send(b"hello\n")
    assert ends.recv_exactly(b or a, 6) == ends.digest(b"hello\n")


# --- the client role: which servers are accepted --------------------------------


def tls_server(rig, cred, version="1.3", **kw):
    return rig.add(servers.TlsEcho(
        tlsend.context(server=True, cred=cred, versions=tlsend.VERSIONS[version], **kw)))


REFUSED = [
    # server, options with {pki} fields, what the reason says
    ("expired", ["--ca", "ca"], "expired"),
    ("notyet", ["--ca", "ca"], "not yet|activated|not valid before"),
    ("wronghost", ["--ca", "ca"], "name|host"),
    ("selfsigned", ["--ca", "ca"], "self-signed|issuer|trust"),
    ("nointermediate", ["--ca", "ca"], "issuer|trust|chain"),
    ("ecdsa", ["--ca", "other_ca"], "issuer|trust"),
    ("ecdsa", [], "issuer|trust"),
    ("ecdsa", ["--pin", "rsa.pin"], "pin"),
    ("ecdsa", ["--ca", "ca", "--pin", "rsa.pin"], "pin"),
    ("ecdsa", ["--ca", "ca", "--verify-name", "other.test"], "name|host"),
    ("alice", ["--ca", "client_ca", "--verify-name", "alice.test"], "purpose|usage|server"),
]


@pytest.mark.parametrize("server,args,reason", REFUSED)
def test_server_refused(rig, pki, version, server, args, reason):
    s = tls_server(rig, getattr(pki, server), version)
    t = rig.client(s.addr[1], *pki.named(args))
    fds = t.fds()
    a = rig.dial(t)
    assert ends.recv_to_end(a) == (b"", "reset")
    line = t.close_line()
    assert (line["result"], line["stage"], line["level"]) == ("error", "target-handshake", "warn"), line
    assert re.search(reason, line["reason"], re.I), line
    a.close()
    t.settled(fds)


@pytest.mark.parametrize("server,args", [
    ("ecdsa", ["--ca", "ca"]),
    ("rsa", ["--ca", "ca"]),
    ("chained", ["--ca", "ca"]),
    ("ecdsa", ["--pin", "ecdsa.pin"]),
    ("selfsigned", ["--pin", "selfsigned.pin"]),
    ("ecdsa", ["--pin", "rsa.pin", "--pin", "ecdsa.pin"]),
    ("expired", ["--pin", "expired.pin"]),
    ("wronghost", ["--ca", "ca", "--verify-name", "other.test"]),
    ("wronghost", ["--ca", "ca", "--servername", "other.test"]),
    ("selfsigned", ["--insecure-no-verify"]),
    ("expired", ["--insecure-no-verify"]),
    ("wronghost", ["--insecure-no-verify"]),
])
def test_server_accepted(rig, pki, version, server, args):
    s = tls_server(rig, getattr(pki, server), version)
    works(rig.dial(rig.client(s.addr[1], *pki.named(args))))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_address_is_verified_without_sni(rig, pki, host):
    """An IP literal is matched against the certificate's addresses, never sent."""
    seen = []
    ctx = tlsend.context(server=True, cred=pki.ecdsa)
    ctx.sni_callback = lambda obj, name, c: seen.append(name)
    back = rig.listener(host=host.strip("[]"))
    a = rig.dial(rig.tlskit("127.0.0.1:0", f"tls:{host}:{back.addr[1]}", "--ca", pki.ca))
    b = back.accept_tls(ctx)
    works(a, b)
    assert seen == [None]


def shown(port, name, versions=None, ciphers=None):
    """The common name of the certificate that a server shows for a name."""
    ctx = tlsend.context(versions=versions)
    if ciphers:
        ctx.set_ciphers(ciphers)
    with socket.create_connection(("127.0.0.1", port), timeout=ends.WAIT) as s, \
            ctx.wrap_socket(s, server_hostname=name) as t:
        cert = x509.load_der_x509_certificate(t.getpeercert(True))
    return cert.subject.get_attributes_for_oid(x509.oid.NameOID.COMMON_NAME)[0].value


def test_certificate_by_name(rig, pki):
    """Several --cert: by name (of the subject's alternative names, or else the common
    name), then by what the client can verify; the first one, where nothing fits."""
    leaf, rsa_key = pki.leaf, pki.rsa.priv
    certs = [leaf("by-a", pki.root_rsa, key=rsa_key, cn="first", san=("a.test", "b.test", "127.0.0.1")),
             leaf("by-cn", pki.root_ec, cn="cn.test", san=()),
             leaf("by-both-rsa", pki.root_rsa, key=rsa_key, cn="both, RSA", san=("both.test",)),
             leaf("by-both-ec", pki.root_ec, cn="both, ECDSA", san=("both.test",))]
    args = [a for c in certs for a in ("--cert", c.cert, "--key", c.key)]
    t = rig.tlskit("tls:127.0.0.1:0", rig.add(servers.Echo()).target, *args)
    for name, want in {"a.test": "first", "b.test": "first", "cn.test": "cn.test",
                       "B.TEST": "first", "unknown.test": "first"}.items():
        assert shown(t.port, name) == want, name
    for ciphers, want in ("ECDHE+aRSA", "both, RSA"), ("ECDHE+aECDSA", "both, ECDSA"):
        assert shown(t.port, "both.test", tlsend.V12, ciphers) == want


KEYS = {
    "RSA-2048": lambda: rsa.generate_private_key(65537, 2048),
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
}


@pytest.mark.parametrize("kind", KEYS)
def test_server_with_each_kind_of_key(rig, pki, version, kind):
    """Whoever makes the signatures (lib/tls/signer.h): OpenSSL verifies them, and a client
    that can verify none of this kind gets an alert."""
    cred = pki.leaf(f"kind-{kind}-{version}", None, key=KEYS[kind]())
    t = rig.server(cred, rig.add(servers.Echo()).target)
    ctx = tlsend.context(ca=cred.cert, versions=tlsend.VERSIONS[version])
    for _ in range(3):
        works(rig.dial_tls(t, ctx))
    other = "ECDSA+SHA256" if kind.startswith("RSA") else "RSA-PSS+SHA256:RSA+SHA256"
    r = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{t.port}", "-sigalgs", other,
                        "-tls1_2" if version == "1.2" else "-tls1_3"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ends.WAIT)
    assert "alert handshake failure" in r.stderr, r


def test_servername_is_sent(rig, pki):
    seen = []
    ctx = tlsend.context(server=True, cred=pki.ecdsa)
    ctx.sni_callback = lambda obj, name, c: seen.append(name)
    for args, want in ((), "localhost"), (("--servername", "other.test", "--verify-name", "localhost"), "other.test"):
        back = rig.listener()
        a = rig.dial(rig.client(back.addr[1], "--ca", pki.ca, *args))
        works(a, back.accept_tls(ctx))
        assert seen.pop() == want


def test_self_signed_names_the_pin(rig, pki):
    """Without options it is refused, and the message can be acted on."""
    s = tls_server(rig, pki.selfsigned)
    t = rig.client(s.addr[1])
    a = rig.dial(t)
    assert ends.recv_to_end(a) == (b"", "reset")
    t.close_line()
    assert "--pin " + pki.selfsigned.pin in t.stderr()


def test_alpn(rig, pki, version):
    s = tls_server(rig, pki.ecdsa, version, alpn=["h2", "http/1.1"])
    works(rig.dial(rig.client(s.addr[1], "--ca", pki.ca, "--alpn", "http/1.1,foo")))
    back = rig.add(servers.Echo())
    t = rig.server(pki.ecdsa, back.target, "--alpn", "postgresql,foo")
    a = rig.dial_tls(t, tlsend.context(versions=tlsend.VERSIONS[version], alpn=["x", "foo"]))
    assert a.obj.selected_alpn_protocol() == "foo"
    works(a)
    with pytest.raises(ssl.SSLError, match="(?i)application.protocol"):
        rig.dial_tls(t, tlsend.context(versions=tlsend.VERSIONS[version], alpn=["x"])).recv()


@pytest.mark.parametrize("args,client,ok", [
    ((), "1.2", True),
    (("--min-tls", "1.3"), "1.2", False),
    (("--min-tls", "1.3"), "1.3", True),
    (("--max-tls", "1.2"), "1.3", False),
    (("--max-tls", "1.2"), "1.2", True),
    (("--priority", "NORMAL:-VERS-TLS1.3"), "1.3", False),
])
def test_versions(rig, pki, args, client, ok):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *args)
    ctx = tlsend.context(versions=tlsend.VERSIONS[client])
    if ok:
        return works(rig.dial_tls(t, ctx), back.accept())
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        rig.dial_tls(t, ctx)
    rig.streams[-1].close()
    assert t.close_line()["stage"] == "handshake"
    assert not back.was_called()


@pytest.mark.parametrize("args,field,value", [
    (["--ciphersuite", "TLS_CHACHA20_POLY1305_SHA256"], "ciphersuite", "TLS_CHACHA20_POLY1305_SHA256"),
    (["--ciphersuite", "TLS_AES_256_GCM_SHA384"], "ciphersuite", "TLS_AES_256_GCM_SHA384"),
    (["--ciphersuite", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"], "ciphersuite",
     "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    (["--group", "SECP384R1"], "group", "SECP384R1"),
    (["--group", "X25519"], "group", "X25519"),
    (["--signature", "ECDSA-SECP256R1-SHA256"], "result", "ok"),
])
def test_algorithms(rig, pki, args, field, value):
    back = rig.listener()
    a = rig.dial_tls(rig.server(pki.ecdsa, back.target, *args), tlsend.context(ca=pki.ca))
    works(a, back.accept())
    a.shut()
    back.conns[0].close()
    a.close()
    if field != "result":
        assert rig.things[-1].close_line()[field].upper() == value.upper()


# --- the server role: which clients are let in ----------------------------------

ALLOW = [
    # options, the client that is let in
    (["cn:alice"], "alice"), (["dns:alice.test"], "alice"), (["uri:spiffe://test/alice"], "alice"),
    (["email:alice@test"], "alice"), (["ou:ops"], "alice"), (["pin:{alice}"], "alice"),
    (["cn:nobody", "dns:alice.test"], "alice"), (["cn:alice.evil.test"], "mallory"),
]
DENY = [["cn:bob"], ["cn:alic"], ["cn:alice*"], ["dns:alice"], ["dns:*.test"], ["uri:spiffe://test/alic"],
        ["uri:spiffe://test"], ["email:alice"], ["email:bob@test"], ["ou:op"], ["pin:{mallory}"]]
# what is like alice's names, but is not
MALLORY = [["cn:alice"], ["dns:alice.test"], ["uri:spiffe://test/alice"], ["email:alice@test"], ["ou:ops"],
           ["pin:{alice}"]]


def allow(pki, rules):
    return [x for r in rules for x in ("--allow", r.format(alice=pki.alice.pin, mallory=pki.mallory.pin))]


def client_ctx(pki, cred, version):
    return tlsend.context(ca=pki.ca, cred=cred and getattr(pki, cred), versions=tlsend.VERSIONS[version])


def is_refused(rig, tunnel, back, ctx):
    """TLS 1.3 tells the client only when it reads."""
    fds = tunnel.fds()
    with pytest.raises((ssl.SSLError, ConnectionResetError, BrokenPipeError)):
        c = rig.dial_tls(tunnel, ctx)
        c.send(b"let me in")
        assert c.recv() == b"never"
    rig.streams[-1].close()
    line = tunnel.close_line()
    assert (line["result"], line["stage"], line["level"]) == ("error", "handshake", "warn"), line
    assert not back.was_called(0.05)
    tunnel.settled(fds)
    return line


@pytest.mark.parametrize("rules,client", ALLOW)
def test_allowed(rig, pki, version, rules, client):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--client-ca", pki.client_ca, *allow(pki, rules))
    works(rig.dial_tls(t, client_ctx(pki, client, version)), back.accept())


@pytest.mark.parametrize("rules,client", [(r, "alice") for r in DENY] + [(r, "mallory") for r in MALLORY])
def test_not_allowed(rig, pki, rules, client):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--client-ca", pki.client_ca, *allow(pki, rules))
    is_refused(rig, t, back, client_ctx(pki, client, "1.3"))


@pytest.mark.parametrize("client,rules,reason", [
    (None, [], "certificate"),
    (None, ["cn:alice"], "certificate"),
    ("foreign", [], "issuer|trust"),
    ("foreign", ["cn:alice"], "issuer|trust"),
    ("expired_client", [], "expired"),
    ("selfsigned", [], "issuer|trust|self-signed"),
    ("ecdsa", [], "issuer|trust"),
])
def test_client_refused(rig, pki, version, client, rules, reason):
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--client-ca", pki.client_ca, *allow(pki, rules))
    line = is_refused(rig, t, back, client_ctx(pki, client, version))
    assert re.search(reason, line["reason"], re.I), line


def test_client_ca_alone_lets_every_client_of_it_in(rig, pki, version):
    back = rig.add(servers.Echo())
    t = rig.server(pki.ecdsa, back.target, "--client-ca", pki.client_ca)
    for cred in "alice", "mallory":
        works(rig.dial_tls(t, client_ctx(pki, cred, version)))


def test_pinned_client_without_ca(rig, pki, version):
    """A pin needs no chain of trust."""
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, *allow(pki, ["pin:{alice}"]))
    works(rig.dial_tls(t, client_ctx(pki, "alice", version)), back.accept())
    is_refused(rig, t, back, client_ctx(pki, "mallory", version))


def test_our_client_certificate(rig, pki, version):
    """The client role shows --cert; a tunnel with TLS on both sides --client-cert."""
    s = tls_server(rig, pki.ecdsa, version, verify_client=pki.client_ca)
    cred = pki.alice
    works(rig.dial(rig.client(s.addr[1], "--ca", pki.ca, "--cert", cred.cert, "--key", cred.key)))
    t = rig.server(pki.rsa, f"tls:localhost:{s.addr[1]}", "--ca", pki.ca,
                   "--client-cert", cred.cert, "--client-key", cred.key)
    works(rig.dial_tls(t))


@pytest.mark.parametrize("cred", [None, "foreign"])
def test_our_client_certificate_refused(rig, pki, version, cred):
    """TLS 1.3: the refusal comes after our handshake is done. The plain client
    must see a reset and the log the alert."""
    s = tls_server(rig, pki.ecdsa, version, verify_client=pki.client_ca)
    args = ["--cert", getattr(pki, cred).cert, "--key", getattr(pki, cred).key] if cred else []
    t = rig.client(s.addr[1], "--ca", pki.ca, *args)
    a = rig.dial(t)
    assert ends.recv_to_end(a) == (b"", "reset")
    line = t.close_line()
    assert line["result"] == "error" and re.search("certificate|unknown.ca|alert", line["reason"], re.I), line


# --- pre-shared keys ----------------------------------------------------------


@pytest.fixture
def psk(tmp_path):
    def make(text, name="psk"):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o600)
        return path
    return make


def psk_client(rig, kind, port, version, identity, key, psk):
    if kind == "openssl":
        args = ["-psk_identity", identity, "-psk", key]
        return rig.start(OpensslClient(f"127.0.0.1:{port}", None, version, *args)).stream
    if kind == "gnutls":
        args = ["--pskusername", identity, "--pskkey", key]
        return rig.start(GnutlsCli(port, None, version, *args, psk=True)).stream
    s = rig.start(Stunnel(f"127.0.0.1:{port}", client=True, version=version, PSKidentity=identity,
                          PSKsecrets=psk(f"{identity}:{key}\n", "psk-stunnel"), ciphers="PSK"))
    return rig.dial(s)


@pytest.mark.parametrize("kind", ["openssl", "gnutls", "stunnel"])
def test_psk_client(rig, psk, version, kind):
    if (kind, version) == ("gnutls", "1.2"):
        pytest.skip("gnutls-cli 3.7.9 crashes on ECDHE-PSK with TLS 1.2, against gnutls-serv too")
    back = rig.listener()
    t = rig.tlskit("tls:127.0.0.1:0", back.target, "--psk-file", psk(f"bob:{OTHER}\nann:{KEY}\n"))
    assert not t.lines("client"), "no certificate is needed beside a PSK"
    a = psk_client(rig, kind, t.port, version, "ann", KEY, psk)
    works(a, back.accept())


@pytest.mark.parametrize("identity,key", [("ann", OTHER), ("eve", KEY)])
@pytest.mark.parametrize("kind", ["openssl", "gnutls", "stunnel"])
def test_psk_client_refused(rig, psk, version, kind, identity, key):
    back = rig.listener()
    t = rig.tlskit("tls:127.0.0.1:0", back.target, "--psk-file", psk(f"ann:{KEY}\n"))
    psk_client(rig, kind, t.port, version, identity, key, psk)
    line = t.close_line()
    assert (line["result"], line["stage"]) == ("error", "handshake"), line
    assert not back.was_called(0.05)


def psk_server(rig, kind, version, psk):
    """(port, function for the stream behind it, or None when it echoes)"""
    if kind == "openssl":
        s = rig.start(OpensslServer(None, version, "-psk_identity", "ann", "-psk", KEY))
        return s.port, lambda: s.stream
    if kind == "gnutls":
        s = rig.start(GnutlsServ(None, version, "--echo", psk=str(psk(f"ann:{KEY}\n", "psk-serv"))))
        return s.port, None
    back = rig.listener()
    s = rig.start(Stunnel(back.target, version=version, PSKsecrets=psk(f"ann:{KEY}\n", "psk-stunnel"),
                          ciphers="PSK"))
    return s.port, back.accept


@pytest.mark.parametrize("kind", ["openssl", "gnutls", "stunnel"])
def test_psk_server(rig, psk, version, kind):
    port, accept = psk_server(rig, kind, version, psk)
    a = rig.dial(rig.client(port, "--psk-file", psk(f"ann:{KEY}\n"), "--psk-identity", "ann"))
    works(a, accept and accept())


@pytest.mark.parametrize("kind", ["openssl", "gnutls", "stunnel"])
def test_psk_server_refuses_a_wrong_key(rig, psk, version, kind):
    port, _ = psk_server(rig, kind, version, psk)
    t = rig.client(port, "--psk-file", psk(f"ann:{OTHER}\n"))
    assert ends.recv_to_end(rig.dial(t)) == (b"", "reset")
    assert t.close_line()["stage"] == "target-handshake"


def test_psk_only_server_has_no_certificate_to_fall_back_to(rig, psk, pki):
    """A client that asked for a PSK takes no server with just a certificate."""
    s = tls_server(rig, pki.ecdsa)
    t = rig.client(s.addr[1], "--psk-file", psk(f"ann:{KEY}\n"))
    assert ends.recv_to_end(rig.dial(t)) == (b"", "reset")
    assert t.close_line()["stage"] == "target-handshake"


def test_psk_pair(rig, psk):
    back = rig.listener()
    file = psk(f"ann:{KEY}\n")
    s = rig.tlskit("tls:127.0.0.1:0", back.target, "--psk-file", file)
    works(rig.dial(rig.client(s.port, "--psk-file", file)), back.accept())


def test_certificate_client_at_a_psk_server(rig, psk):
    back = rig.listener()
    t = rig.tlskit("tls:127.0.0.1:0", back.target, "--psk-file", psk(f"ann:{KEY}\n"))
    is_refused(rig, t, back, tlsend.context())
