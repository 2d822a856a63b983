# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user can get wrong: exit 2 and one line with the option, the value and
the reason, before anything listens."""

import os
import re
import socket
import stat
import subprocess

import pytest

import ends
import servers
import tlskit
from pki import pem_cert, pem_key
from tlskit import Once

PSK = b"ann:00112233445566778899aabbccddeeff\n"
GARBAGE = b"-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"


@pytest.fixture
def files(pki, tmp_path):
    """Bad files by name; and good ones of pki under their own names."""
    def path(name, data=b""):
        p = tmp_path / name
        p.write_bytes(data)
        p.chmod(0o600)
        return str(p)

    out = {
        "missing": str(tmp_path / "missing"), "empty": path("empty"), "garbage": path("garbage", GARBAGE),
        "text": path("text", b"hello\n"), "binary": path("binary", bytes(range(256)) * 10), "dir": str(tmp_path),
        "nokey": pki.ecdsa.cert, "encrypted": pki.encrypted_key(pki.rsa),
        "cut": path("cut", pem_cert(pki.ecdsa.x509)[:300]), "cutkey": path("cutkey", pem_key(pki.ecdsa.priv)[:100]),
        "psk_empty": path("psk_empty"), "psk_nocolon": path("psk_nocolon", b"ann\n"),
        "psk_nohex": path("psk_nohex", b"ann:xyz0\n"), "psk_odd": path("psk_odd", PSK[:-1] + b"0\n"),
        "psk_nokey": path("psk_nokey", b"ann:\n"), "psk_noname": path("psk_noname", PSK[3:]),
        "psk_twice": path("psk_twice", PSK * 2),
        "psk": path("psk", PSK),
        "ca": pki.ca, "rsa_key": pki.rsa.key, "cert": pki.ecdsa.cert, "key": pki.ecdsa.key,
    }
    return out


SERVER, CLIENT = "server", "client"
NO_VALUE = "no value"  # the option is wrong whatever its value
# role, options ({name}: a file above), what the line says besides the last option
# and its value, and what it shows of the value when not all of it
BAD = [
    (SERVER, "--cert {missing}", "no such file"),
    (SERVER, "--cert {empty}", ""), (SERVER, "--cert {garbage}", ""), (SERVER, "--cert {text}", ""),
    (SERVER, "--cert {binary}", ""), (SERVER, "--cert {dir}", "director"), (SERVER, "--cert {cut}", ""),
    (SERVER, "--cert {nokey}", "key"),
    (SERVER, "--cert {cert} --key {missing}", "no such file"),
    (SERVER, "--cert {cert} --key {empty}", ""), (SERVER, "--cert {cert} --key {text}", ""),
    (SERVER, "--cert {cert} --key {cutkey}", ""), (SERVER, "--cert {cert} --key {cert}", ""),
    (SERVER, "--cert {cert} --key {rsa_key}", "match|belong"),
    (SERVER, "--cert {cert} --key {encrypted}", "encrypted|password|passphrase"),
    (SERVER, "--key {key}", "--cert"),
    (SERVER, "--cert {cert} --key {key} --client-ca {missing}", "no such file"),
    (SERVER, "--cert {cert} --key {key} --client-ca {text}", ""),
    (SERVER, "--cert {cert} --key {key} --client-ca {empty}", ""),
    (SERVER, "--allow cn:alice", "--client-ca"),
    (SERVER, "--client-ca {ca} --allow alice", "cn:"), (SERVER, "--client-ca {ca} --allow cn:", ""),
    (SERVER, "--client-ca {ca} --allow foo:alice", "cn:"),
    (SERVER, "--client-ca {ca} --allow pin:sha256:AAAA", "32|44", "sha256:AAAA"),
    (SERVER, "--psk-file {missing}", "no such file"), (SERVER, "--psk-file {psk_empty}", ""),
    (SERVER, "--psk-file {psk_nocolon}", "line 1|:1"), (SERVER, "--psk-file {psk_nohex}", "hex"),
    (SERVER, "--psk-file {psk_odd}", "hex|odd|even"), (SERVER, "--psk-file {psk_nokey}", ""),
    (SERVER, "--psk-file {psk_noname}", ""), (SERVER, "--psk-file {psk_twice}", "twice|duplicate|again"),
    (SERVER, "--ciphersuite TLS_AES_128_GCM_SHA", "TLS_AES_128_GCM_SHA256"),
    (SERVER, "--ciphersuite nonsense", ""),
    (SERVER, "--group X25518", "X25519"), (SERVER, "--group nonsense", "X25519"),
    (SERVER, "--signature RSA-SHA257", "RSA-SHA256"),
    (SERVER, "--min-tls 1.1", "1.2"), (SERVER, "--max-tls 1.4", "1.3"),
    (SERVER, "--min-tls 1.3 --max-tls 1.2", "", NO_VALUE),
    (SERVER, "--priority NORMAL:+FOO", "FOO|position|at"),
    (SERVER, "--alpn a,,b", ""), (SERVER, "--alpn " + "x" * 256, "255", "x" * 50),
    (SERVER, "--tickets -1", ""), (SERVER, "--tickets many", ""),
    (SERVER, "--threads 0", ""), (SERVER, "--threads x", ""), (SERVER, "--max-conns 0", ""),
    (SERVER, "--connect-timeout soon", ""), (SERVER, "--handshake-timeout -1s", ""),
    (SERVER, "--idle-timeout 10parsecs", ""), (SERVER, "--drain ''", ""),
    (SERVER, "--log xml", "json"), (SERVER, "--log-level loud", "info"), (SERVER, "--dataplane fast", "gnutls"),
    (SERVER, "--keylog {dir}/none/file", ""), (SERVER, "--cert-dir {text}", ""),
    (SERVER, "--ca {ca}", "target", NO_VALUE), (SERVER, "--pin sha256:AAAA", "target", NO_VALUE),
    (CLIENT, "--ca {missing}", "no such file"), (CLIENT, "--ca {empty}", ""), (CLIENT, "--ca {text}", ""),
    (CLIENT, "--ca {garbage}", ""), (CLIENT, "--ca {key}", ""),
    (CLIENT, "--pin sha256:AAAA", "32|44"), (CLIENT, "--pin AAAA", "sha256:"),
    (CLIENT, "--pin md5:AAAA", "sha256:"), (CLIENT, "--pin sha256:!!!!", ""),
    (CLIENT, "--psk-file {psk} --psk-identity bob", "bob"), (CLIENT, "--psk-identity ann", "--psk-file", NO_VALUE),
    (CLIENT, "--client-ca {ca}", "listener", NO_VALUE),
    (CLIENT, "--servername bad..name", ""),
    (CLIENT, "--nonsense", "--nonsense"), (CLIENT, "--insecure-no-verif", "--insecure-no-verify"),
    (CLIENT, "--ca", ""),
]


def run(role, options, listen=None, target="127.0.0.1:9"):
    plain, tls = ("127.0.0.1:0", "tls:" + target) if role == CLIENT else ("tls:127.0.0.1:0", target)
    return Once("tunnel", listen or plain, tls if role == CLIENT else target, *options, timeout=10)


def one_line(r, *words):
    assert r.code == 2, r
    assert r.out == b"", r
    assert len(r.err.splitlines()) == 1, r
    for w in words:
        assert w in r.err, r


@pytest.mark.parametrize("bad", BAD, ids=[b[1][:50] for b in BAD])
def test_bad_option(files, bad):
    role, text, reason, shown = (*bad, None)[:4]
    args = [a.format(**files).replace("''", "") for a in text.split()]
    r = run(role, args)
    option = [a for a in args if a.startswith("--")][-1]
    one_line(r, option, "" if shown == NO_VALUE else shown or args[-1])
    assert re.search(reason, r.err, re.I), r


@pytest.mark.parametrize("listen,target,word", [
    ("tls:", "127.0.0.1:9", "tls:"),
    ("tls:127.0.0.1:99999", "127.0.0.1:9", "99999"),
    ("tls:127.0.0.1:-1", "127.0.0.1:9", "-1"),
    ("tls:[::1:0", "127.0.0.1:9", "[::1:0"),
    ("tls:::1:0", "127.0.0.1:9", "::1:0"),
    ("tls:127.0.0.1:nonsense", "127.0.0.1:9", "nonsense"),
    ("tls:256.1.1.1:0", "127.0.0.1:9", "256.1.1.1"),
    ("tls:127.0.0.1:0", "", ""),
    ("tls:127.0.0.1:0", "host:", "host:"),
    ("tls:127.0.0.1:0", "unix:", "unix:"),
    ("tls:127.0.0.1:0", "unix:/" + "x" * 200, "unix:/xxx"),
    ("tls:127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"),
    ("tls:no-such-host.invalid:0", "127.0.0.1:9", "no-such-host.invalid"),
    ("tls:192.0.2.77:0", "127.0.0.1:9", "192.0.2.77"),
    ("127.0.0.1:0", "127.0.0.1:9", "tls:"),
    ("-", "-", "-"),
])
def test_bad_address(listen, target, word):
    r = Once("tunnel", listen, target)
    one_line(r, word)


def test_no_operands():
    r = Once("tunnel")
    assert r.code == 2 and r.out == b"" and "LISTEN" in r.err, r
    r = Once("tunnel", "tls:0")
    assert r.code == 2 and "TARGET" in r.err, r


def test_port_in_use(rig):
    taken = rig.listener()
    r = Once("tunnel", "tls:" + taken.target, "127.0.0.1:9")
    one_line(r, taken.target, "in use")


def test_unix_path_in_use(rig, tmp_path):
    """A live socket is left alone, and so is a file of another kind."""
    taken = rig.listener(unix=str(tmp_path / "sock"))
    one_line(Once("tunnel", "tls:unix:" + taken.addr, "127.0.0.1:9"), taken.addr, "in use")
    plain = tmp_path / "file"
    plain.write_text("precious")
    one_line(Once("tunnel", f"tls:unix:{plain}", "127.0.0.1:9"), str(plain))
    assert plain.read_text() == "precious"


def test_stale_unix_socket_is_replaced(rig, tmp_path):
    path = str(tmp_path / "sock")
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.close()
    t = rig.tlskit("tls:unix:" + path, rig.add(servers.Echo()).target)
    a = rig.dial_tls(path)
    a.send(b"hello")
    assert a.recv() == b"hello"
    a.close()
    t.signal()
    t.finish()
    assert not os.path.exists(path), "the socket file stays behind"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_unreadable_key(pki, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(pem_key(pki.ecdsa.priv))
    key.chmod(0)
    one_line(run(SERVER, ["--cert", pki.ecdsa.cert, "--key", key]), "--key", str(key), "ermission")


def test_nothing_listens_before_the_files_are_read(rig, pki):
    """The port stays free: a second program gets it."""
    free = rig.add(servers.Refuser())
    r = Once("tunnel", "tls:" + free.target, "127.0.0.1:9", "--cert", "/none")
    one_line(r, "--cert", "/none")


def test_keylog(rig, pki, tmp_path):
    path = tmp_path / "keys"
    back = rig.listener()
    t = rig.server(pki.ecdsa, back.target, "--keylog", path)
    a = rig.dial_tls(t)
    ends.exchange(a, back.accept(), b"ping", b"pong")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for label in "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0":
        assert re.search(rf"^{label} [0-9a-f]{{64}} [0-9a-f]{{64,96}}$", text, re.M), text


def test_keylog_on_a_full_disk(rig, pki):
    """Said once, and the connections go on; the device's mode is its own."""
    mode = os.stat("/dev/full").st_mode
    back = rig.add(servers.Echo())
    t = rig.server(pki.ecdsa, back.target, "--keylog", "/dev/full")
    for _ in range(3):
        a = rig.dial_tls(t)
        a.send(b"x")
        assert a.recv() == b"x"
        a.close()
    t.closes(3)
    assert t.stderr().count("--keylog: secrets are lost: No space left on device") == 1, t.stderr()
    assert os.stat("/dev/full").st_mode == mode


def test_keylog_of_the_environment_is_ignored(rig, pki, tmp_path):
    """SSLKEYLOGFILE would write secrets nobody asked this program for."""
    path = tmp_path / "keys"
    back = rig.add(servers.Echo())
    t = rig.server(pki.ecdsa, back.target, env={"SSLKEYLOGFILE": str(path)})
    a = rig.dial_tls(t)
    a.send(b"x")
    assert a.recv() == b"x"
    if path.exists():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_ephemeral_certificate(rig):
    """Made anew each time, unless a directory keeps it."""
    back = rig.add(servers.Echo())
    pins = {rig.tlskit("tls:127.0.0.1:0", back.target).lines("client")[0] .split("--pin ")[1] for _ in range(2)}
    assert len(pins) == 2


def test_cert_dir_keeps_the_certificate(rig, tmp_path):
    back = rig.add(servers.Echo())
    home = tmp_path / "certs"
    home.mkdir(mode=0o700)
    pins = set()
    for _ in range(2):
        t = rig.tlskit("tls:127.0.0.1:0", back.target, "--cert-dir", home)
        pins.add(t.lines("client")[0].split("--pin ")[1])
        t.signal()
        t.finish()
    assert len(pins) == 1
    for f in home.iterdir():
        if b"PRIVATE KEY" in f.read_bytes():
            assert stat.S_IMODE(f.stat().st_mode) == 0o600
            break
    else:
        raise AssertionError("no key in the directory")


def test_demo():
    r = Once("tunnel", "--demo", timeout=30)
    assert r.code == 0 and r.out, r


def test_help_and_version():
    for args in ("--help",), ("tunnel", "--help"):
        r = Once(*args)
        assert r.code == 0 and b"tunnel" in r.out and r.err == "", r
    r = Once("--version")
    assert r.code == 0 and b"GnuTLS" in r.out, r


def test_closed_descriptors_are_survived(rig, pki):
    """A stdout that is gone is no reason to die by SIGPIPE later."""
    r, w = os.pipe()
    os.close(r)
    p = subprocess.Popen([tlskit.TLSKIT, "tunnel", "tls:127.0.0.1:0", "127.0.0.1:9"], stdout=w,
                               stderr=subprocess.PIPE)
    os.close(w)
    try:
        try:
            code = p.wait(1)
        except subprocess.TimeoutExpired:
            code = None
        assert code in (None, 1), f"ended by {code}"
    finally:
        p.kill()
        p.communicate()
