# SPDX-License-Identifier: GPL-3.0-or-later
"""`connect --check` and servers that ask for a client's certificate. In TLS 1.3 they
judge it after the client's handshake is over: that has to be waited for."""

import time

import pytest

import peers
import tlskit
import tokens
from connects import Check, Run

VERSIONS = ["1.2", "1.3"]
KINDS = ["openssl", "gnutls", "haproxy"]


@pytest.fixture(scope="module")
def demanding(shared, world):
    """Ports of servers that want a certificate of client_root, by (kind, version)."""
    ca, ports = world.client_root.cert, {}
    for v in VERSIONS:
        ports["openssl", v] = shared.start(peers.OpensslSite(
            world.good, v, "-Verify", "2", "-verify_return_error", "-CAfile", ca)).port
        ports["gnutls", v] = shared.start(peers.GnutlsServ(
            world.good, v, "--require-client-cert", "--verify-client-cert", "--x509cafile", ca)).port
    limits = {v: f"ssl-min-ver TLSv{v} ssl-max-ver TLSv{v} verify required ca-file {ca}" for v in VERSIONS}
    proxy = shared.start(peers.HaproxySites({v: (world.good, o) for v, o in limits.items()}))
    ports.update({("haproxy", v): port for v, port in proxy.ports.items()})
    return ports


@pytest.fixture(scope="module")
def lenient(shared, world):
    """nginx, whose TLS lets everybody in; what it thinks it says in HTTP."""
    lines = f"ssl_verify_client on; ssl_client_certificate {world.client_root.cert};"
    sites = {v: (world.good, f"{lines} ssl_protocols TLSv{v};") for v in VERSIONS}
    sites["asks nothing"] = (world.good, "")
    return shared.start(peers.NginxSites(sites)).ports


@pytest.fixture(params=[(k, v) for k in KINDS for v in VERSIONS], ids=lambda p: "-".join(p))
def server(request, demanding, world):
    """Options that reach it; what is missing is who we are."""
    return "--ca", world.ca, f"localhost:{demanding[request.param]}", request.param[1]


def shown(cred):
    return "--cert", cred.cert, "--key", cred.key


def auth(check):
    a = check.doc["client_auth"]
    return a["requested"], a["sent"], a["accepted"]


def test_none_given(server):
    *args, version = server
    start = time.monotonic()
    c = Check(*args)
    tlskit.took(start, 0, 1)  # the refusal comes at once, and nothing more is waited for
    assert (c.code, [e["code"] for e in c.doc["errors"]]) == (16, [16]) and c.err == "", c
    assert auth(c) == (True, False, False), c
    assert c.doc["alert"]["received"] is True and "none was given" in c.text and "--cert" in c.text, c
    assert (c.doc["verify"]["performed"], c.doc["verify"]["ok"]) == (True, True), c
    if version == "1.3":
        assert c.doc["tls"]["version"] == "TLS1.3", c
    text = Run("--check", *args)
    assert text.code == 16 and b"a client certificate is wanted" in text.out.splitlines()[0], text


@pytest.mark.parametrize("which", ["client_foreign", "client_expired", "selfsigned"])
def test_a_wrong_one(server, world, which):
    *args, _ = server
    c = Check(*args, *shown(getattr(world, which)))
    assert (c.code, [e["code"] for e in c.doc["errors"]]) == (16, [16]), c
    assert ("has expired" in c.err) == (which == "client_expired"), c
    requested, sent, accepted = auth(c)
    assert (requested, accepted) == (True, False) and c.doc["alert"]["received"] is True, c
    # where the server names its CAs, one of another is not even sent
    assert ("rejects our certificate" if sent else "other CAs than that of ours") in c.text, c


def test_the_right_one(server, world):
    *args, _ = server
    c = Check(*args, *shown(world.client)).fine()
    assert auth(c) == (True, True, True), c
    text = Run("--check", *args, *shown(world.client))
    assert b"sent one, was accepted" in text.out, text


def test_key_and_certificate_in_one_file(server, world):
    *args, _ = server
    assert auth(Check(*args, "--cert", world.client.both).fine()) == (True, True, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_nobody_is_shown_to_a_stranger(demanding, world, version):
    """A server that is not trusted does not learn who we are."""
    c = Check(*shown(world.client), f"localhost:{demanding['openssl', version]}")
    assert c.code == 20 and c.doc["client_auth"]["sent"] is not True, c
    assert c.doc["client_auth"]["accepted"] is None and c.doc["alert"]["received"] is False, c


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("which,sent", [(None, False), ("client", True)])
def test_asked_for_and_let_in_without(lenient, world, version, which, sent):
    args = shown(getattr(world, which)) if which else ()
    c = Check("--ca", world.ca, *args, f"localhost:{lenient[version]}").fine()
    assert auth(c) == (True, sent, True if which else None), c


def test_not_asked_for(lenient, world):
    """A certificate that nobody asks for is not sent."""
    for args in (), shown(world.client):
        c = Check("--ca", world.ca, *args, f"localhost:{lenient['asks nothing']}").fine()
        assert auth(c) == (False, False, None), c


@pytest.mark.parametrize("args,words", [
    (lambda w: ("--cert", w.path + "/none.pem"), "none.pem"),
    (lambda w: ("--cert", w.client.cert), "key"),
    (lambda w: ("--cert", w.client.cert, "--key", w.good.key), "key"),
    (lambda w: ("--key", w.client.key), "--cert"),
])
def test_files_that_do_not_do(demanding, world, args, words):
    r = Run("--json", "--ca", world.ca, *args(world), f"localhost:{demanding['openssl', '1.3']}")
    assert r.code == 2 and words in r.err and r.out.count(b"\n") == 1, r


def test_the_pin_of_a_token_is_not_shown():
    """The URL is, for it may be misspelt."""
    r = Run("--json", "--cert", "pkcs11:token=none;object=me?pin-value=hunter2&x=y", "localhost:1")
    assert r.code == 2 and "token=none" in r.err and "hunter2" not in r.err + r.out.decode(), r


# --- a token --------------------------------------------------------------------------

@pytest.fixture
def token(tmp_path, world):
    """(environment, URL) of a client's certificate and key in a SoftHSM token."""
    return tokens.make(tmp_path, world.client.leaf, world.client.key)


def test_a_token(demanding, world, token):
    env, url = token
    for version in VERSIONS:
        target = f"localhost:{demanding['openssl', version]}"
        c = Check("--ca", world.ca, "--cert", url, "--key", url, target, env=env).fine()
        assert auth(c) == (True, True, True), c
