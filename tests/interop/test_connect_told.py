# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect`: what it says, and where, when there is more than one thing to say."""

import json
import subprocess

import pytest

import ends
import peers
import servers
import tlsend
import tlskit
from tlskit import Once


class Leaver(servers.Server):
    """Says something behind TLS and goes without close_notify, once the client has said its own."""

    def __init__(self, cred):
        self.ctx = tlsend.context(server=True, cred=cred)
        super().__init__()

    def serve(self, conn):
        t = tlsend.Tls(conn.sock, self.ctx, server=True).handshake()
        while t.recv():
            pass
        t.send(b"hello\n")
        t.fin()
        ends.recv_all(conn)


def echo(rig, cred, **kw):
    return rig.add(servers.TlsEcho(tlsend.context(server=True, cred=cred, **kw))).addr[1]


def test_nagios_says_the_worst_first(rig, pki, tmp_path):
    good, expired = echo(rig, pki.ecdsa), echo(rig, pki.expired)
    targets = tmp_path / "targets"
    targets.write_text(f"localhost:{good}\nnot a name\nlocalhost:{expired}\n")
    r = Once("connect", "--nagios", "--ca", pki.ca, "--warn", "60", "--targets", targets)
    words = [line.split(" ")[1] for line in r.out.decode().splitlines()[:3]]
    assert (r.code, words) == (2, ["CRITICAL", "UNKNOWN", "WARNING"]), r
    assert f"'localhost:{good} days_left'=29.99;60:; ".encode() in r.out, r


@pytest.mark.parametrize("args", [["--check"], []])
def test_a_socket_without_a_name_is_nothing_to_verify(args):
    r = Once("connect", *args, "unix:/nosuch")
    assert r.code == 2 and "--verify-name" in r.out.decode() + r.err, r


def test_usage_error_where_json_and_nagios_are_asked_for():
    r = Once("connect", "--json", "--nagios", "localhost")
    assert r.code == 2 and json.loads(r.out)["exit_code"] == 2, r
    assert Once("connect", "--nagios", "--warn", "soon", "localhost").code == 3


@pytest.mark.parametrize("args,code", [([], 32), (["--allow-truncation"], 0)])
def test_a_server_that_leaves_at_the_end_of_input(rig, pki, args, code):
    s = rig.add(Leaver(pki.ecdsa))
    r = Once("connect", "--ca", pki.ca, *args, f"localhost:{s.addr[1]}", stdin=b"a")
    assert (r.code, r.out) == (code, b"hello\n"), r
    assert ("--ignore-eof" in r.err) == (code == 32), r


def test_standard_output_that_fails_is_a_failure_of_this_side(rig, pki):
    port = echo(rig, pki.ecdsa)
    with open("/dev/full", "w", encoding="ascii") as full:
        p = subprocess.run([tlskit.TLSKIT, "connect", "--ca", pki.ca, f"localhost:{port}"], input=b"hello", stdout=full,
                           stderr=subprocess.PIPE, timeout=ends.WAIT, check=False)
    assert p.returncode == 1 and b"standard output" in p.stderr, p


@pytest.mark.parametrize("cred,asked,why", [("alice", True, None), ("foreign", True, "that the server asks for"),
                                            ("alice", False, "did not ask")])
def test_a_certificate_that_is_not_sent_is_told(rig, pki, cred, asked, why):
    """The server takes clients without one, so nothing fails."""
    c = getattr(pki, cred)
    asking = ["-verify", "1", "-CAfile", pki.client_ca] if asked else []
    s = rig.start(peers.OpensslServer(pki.ecdsa, None, *asking))
    r = Once("connect", "--json", "--ca", pki.ca, "--cert", c.cert, "--key", c.key, f"localhost:{s.port}")
    doc = json.loads(r.out)
    assert r.code == 0 and doc["client_auth"]["requested"] == asked and doc["client_auth"]["sent"] == (why is None), r
    assert [w for w in doc["warnings"] if "--cert" in w and str(why) in w] == doc["warnings"], r
    assert len(doc["warnings"]) == (why is not None), r
