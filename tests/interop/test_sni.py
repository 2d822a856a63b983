# SPDX-License-Identifier: GPL-3.0-or-later
"""A listener with several certificates, asked by foreign clients for this name and that:
which one they are shown, and that they can verify it."""

import re
import subprocess

import pytest

import ends
import peers
import pki as pki_module
import servers
import tokens

VERSIONS = ["1.2", "1.3"]

# by name: what it is for, and whether its key is RSA. The first has no twin.
NAMES = {
    "first": (["first.test", "localhost"], True),
    "www-rsa": (["www.example.test"], True),
    "www-ec": (["www.example.test"], False),
    "wild-ec": (["*.example.test", "example.test"], False),
    "wild-rsa": (["*.example.test"], True),
    "idn": (["xn--mnchen-3ya.test", "*.xn--mnchen-3ya.test"], False),
    "other": (["other.test"], False),
}

# who asks for the name is shown one of these, by (RSA, ECDSA)
SHOWN = {
    "first.test": ("first", None),
    "FIRST.test": ("first", None),
    "other.test": (None, "other"),
    "www.example.test": ("www-rsa", "www-ec"),
    "mail.example.test": ("wild-rsa", "wild-ec"),
    "Mail.Example.TEST": ("wild-rsa", "wild-ec"),
    "example.test": (None, "wild-ec"),
    "xn--mnchen-3ya.test": (None, "idn"),
    "a.xn--mnchen-3ya.test": (None, "idn"),
}
NOBODYS = ["a.www.example.test", "unknown.test", "test", None]  # they are shown the first


@pytest.fixture(scope="module")
def certs(pki):
    return {name: pki.leaf(name, pki.root_rsa if rsa else pki.root_ec, cn=name, san=san,
                           key=pki_module.rsa_key() if rsa else None) for name, (san, rsa) in NAMES.items()}


def options(certs):
    return [x for c in certs for x in ("--cert", c.cert, "--key", c.key)]


def serve(rig, certs, *args, **kw):
    """A tunnel to an echo with these certificates, in this order."""
    return rig.tlskit("tls:127.0.0.1:0", rig.add(servers.Echo()).target, *options(certs), *args, **kw)


@pytest.fixture(scope="module")
def port(shared, certs):
    return serve(shared, certs.values()).port


def run(*command):
    return subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=ends.WAIT)


class Openssl:
    """openssl s_client; what it can verify is up to its signature schemes."""

    KINDS = {"any": [], "rsa": ["-sigalgs", "RSA-PSS+SHA256:RSA+SHA256"], "ecdsa": ["-sigalgs", "ECDSA+SHA256"]}

    @classmethod
    def ask(cls, port, name, version, kind="any", ca=None, more=()):
        """The common name of what it is shown; None: it was refused."""
        verify = ["-CAfile", ca, "-verify_return_error", "-verify_hostname", name] if ca else []
        r = run(peers.program("openssl", peers.TESTS), "s_client", "-connect", f"127.0.0.1:{port}",
                *(["-servername", name] if name else ["-noservername"]), "-tls" + version.replace(".", "_"),
                *cls.KINDS[kind], *verify, *more)
        found = re.search(rb"^subject=CN ?= ?(\S+)", r.stdout, re.M)
        assert not ca or r.returncode == 0, r
        return found and found[1].decode()


class Gnutls:
    KINDS = {"any": "", "rsa": ":-SIGN-ALL:+SIGN-RSA-PSS-RSAE-SHA256:+SIGN-RSA-SHA256",
             "ecdsa": ":-SIGN-ALL:+SIGN-ECDSA-SHA256:+SIGN-ECDSA-SECP256R1-SHA256"}

    @classmethod
    def ask(cls, port, name, version, kind="any", ca=None, more=()):
        verify = ["--x509cafile", ca, "--verify-hostname", name] if ca else ["--insecure"]
        r = run(peers.program("gnutls-cli", peers.TESTS), "--port", port,
                *(["--sni-hostname", name] if name else ["--disable-sni"]),
                "--priority", peers.gnutls_priority(version) + cls.KINDS[kind], *verify, *more, "127.0.0.1")
        found = re.search(rb"Certificate\[0\] info:\s+- subject `CN=([^',]+)", r.stdout)
        assert not ca or r.returncode == 0, r
        return found and found[1].decode() if b"Handshake was completed" in r.stdout else None


CLIENTS = {"openssl": Openssl, "gnutls": Gnutls}


@pytest.fixture(params=CLIENTS)
def client(request):
    return CLIENTS[request.param]


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.mark.parametrize("name", SHOWN)
def test_name(pki, port, client, version, name):
    """Whoever can verify anything is shown one of the name's and verifies it; who can
    verify one kind alone is shown that, and no other name's."""
    rsa, ecdsa = SHOWN[name]
    assert client.ask(port, name, version, ca=pki.ca) in {rsa, ecdsa} - {None}


@pytest.mark.parametrize("name", ["first.test", "other.test", "www.example.test", "mail.example.test"])
def test_kind_of_key(port, client, version, name):
    assert (client.ask(port, name, version, "rsa"), client.ask(port, name, version, "ecdsa")) == SHOWN[name]


@pytest.mark.parametrize("name", NOBODYS)
def test_nobodys_name(port, client, version, name):
    assert client.ask(port, name, version) == "first"


def test_hello_retry(pki, rig, certs):
    """The name is looked at in both ClientHellos."""
    t = serve(rig, [certs["first"], certs["wild-ec"]], "--group", "X25519")
    assert Openssl.ask(t.port, "a.example.test", "1.3", ca=pki.ca, more=["-groups", "P-384:X25519"]) == "wild-ec"
    assert Openssl.ask(t.port, "first.test", "1.3", ca=pki.ca, more=["-groups", "P-384:X25519"]) == "first"


# --- other things that a server's credentials are for ------------------------------------


def test_client_certificates(pki, rig, certs, client, version):
    """They are asked for, with the names of the CAs, and held against them."""
    t = serve(rig, [certs["first"], certs["wild-ec"]], "--client-ca", pki.client_ca, "--allow", "cn:alice")

    def ask(name, cred):
        if client is Openssl:
            more = ["-cert", cred.cert, "-key", cred.key] if cred else []
        else:
            more = ["--x509certfile", cred.cert, "--x509keyfile", cred.key] if cred else []
        client.ask(t.port, name, version, more=more)
        asked.append(name)
        return t.closes(len(asked))[-1]["result"]

    asked = []
    for name in "first.test", "www.example.test":
        assert ask(name, pki.alice) == "ok"
        for cred in pki.mallory, pki.foreign, None:
            assert ask(name, cred) != "ok"
    shown = run(peers.program("openssl", peers.TESTS), "s_client", "-connect", t.target, "-servername",
                "www.example.test", "-tls" + version.replace(".", "_")).stdout
    assert re.search(rb"Acceptable client certificate CA names\nCN ?= ?root-client\n", shown), shown


def test_ticket_of_another_name(pki, rig, certs, version, tmp_path):
    """With the ticket of one name and the wish for another there is a connection, resumed
    or not; and with the name's own it resumes."""
    t = serve(rig, [certs["first"], certs["wild-ec"]])
    ticket = tmp_path / "ticket"

    def ask(name, *args):
        """What was sent came back; what the log says about it."""
        c = rig.start(peers.OpensslClient(t.target, None, version, "-servername", name, *args))
        c.stream.send(b"hello\n")
        assert ends.recv_exactly(c.stream, 6) == ends.digest(b"hello\n")
        c.end()
        asked.append(name)
        return t.closes(len(asked))[-1]

    asked = []
    assert not ask("a.example.test", "-sess_out", ticket)["resumed"]
    assert ask("a.example.test", "-sess_in", ticket, "-sess_out", ticket)["resumed"]
    for name in "first.test", "unknown.test":
        ask(name, "-sess_in", ticket)


def test_other_certificates_after_a_restart(pki, rig, certs, client, version, tmp_path):
    """Two processes share a ticket key; the second has other certificates."""
    key = tmp_path / "ticket-key"
    key.write_bytes(bytes(range(64)))
    args = ["--ticket-key-file", key]
    one = serve(rig, [certs["first"], certs["wild-ec"]], *args)
    assert client.ask(one.port, "www.example.test", version, ca=pki.ca) == "wild-ec"
    two = serve(rig, [certs["wild-rsa"], certs["www-ec"]], *args)
    assert client.ask(two.port, "www.example.test", version, ca=pki.ca) == "www-ec"
    assert client.ask(two.port, "mail.example.test", version, ca=pki.ca) == "wild-rsa"


@pytest.mark.parametrize("in_token", ["first", "wild-rsa"])
def test_key_in_a_token(pki, rig, certs, version, tmp_path, in_token):
    """A token's certificate takes its turn among those of files."""
    env, url = tokens.make(tmp_path, certs[in_token].cert, certs[in_token].key)
    args = []
    for name in "first", "wild-rsa", "wild-ec":
        args += ["--cert", url, "--key", url] if name == in_token else options([certs[name]])
    t = rig.tlskit("tls:127.0.0.1:0", rig.add(servers.Echo()).target, *args, env=env)
    assert Openssl.ask(t.port, "first.test", version, ca=pki.ca) == "first"
    assert Openssl.ask(t.port, "www.example.test", version, "rsa") == "wild-rsa"
    assert Openssl.ask(t.port, "www.example.test", version, "ecdsa") == "wild-ec"
    assert Openssl.ask(t.port, None, version) == "first"
