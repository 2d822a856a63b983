# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that people put through a tunnel, over a pair of ours: the server's
side and the client line that it prints."""

import getpass
import os
import subprocess

import pytest

import ends
import tlskit
from peers import PEERS, OnFreePort, Peer, program


class Iperf3(OnFreePort):
    name = "iperf3"

    def argv(self):
        return ["-s", "-p", str(self.number), "-B", "127.0.0.1"]


class Sshd(OnFreePort):
    """sshd for the user who runs the tests. As root it wants /run/sshd, which a
    container may lack; then it gets one of its own."""

    name = "sshd"

    def locate(self):
        sshd = program(self.name, self.package)
        if os.geteuid() != 0 or os.path.isdir("/run/sshd"):
            return sshd
        self.inner = sshd
        return program("unshare", PEERS)

    def start(self):
        try:
            return super().start()
        except AssertionError:
            if "not permitted" in self.stderr():
                pytest.skip("sshd has no /run/sshd, and may not have one of its own here")
            raise

    def argv(self):
        inner = getattr(self, "inner", None)
        script = 'mount -t tmpfs none /run && mkdir /run/sshd && exec "$0" "$@"'
        return [*(["-m", "sh", "-c", script, inner] if inner else []), *self.sshd_argv()]

    def sshd_argv(self):
        for name in "host", "user":
            subprocess.run([program("ssh-keygen", PEERS), "-q", "-t", "ed25519", "-N", "", "-f", self.file(name)],
                           check=True)
        return ["-D", "-e", "-f", self.file("conf", f"""
ListenAddress 127.0.0.1:{self.number}
HostKey {self.file("host")}
AuthorizedKeysFile {self.file("user.pub")}
StrictModes no
UsePAM no
PidFile none
""")]


class OnUnixSocket(Peer):
    """Ready when its socket can be connected to."""

    def ready(self):
        def look():
            self.check_alive()
            try:
                ends.dial(self.file("sock")).close()
            except OSError:
                return False
            return True
        ends.wait_until(look, f"{self.name} to listen")
        return self

    @property
    def target(self):
        return "unix:" + self.file("sock")


class Redis(OnUnixSocket):
    name = "redis-server"

    def argv(self):
        return ["--port", "0", "--unixsocket", self.file("sock"), "--save", "", "--appendonly", "no"]


class Nginx(OnUnixSocket):
    """HTTPS with one page."""

    name = "nginx"

    def __init__(self, cred, page):
        super().__init__()
        self.cred, self.page = cred, page

    def argv(self):
        with open(self.file("page"), "wb") as f:
            f.write(self.page)
        return ["-p", self.dir, "-e", "stderr", "-g", "daemon off;", "-c", self.file("conf", f"""
pid {self.file("pid")};
worker_processes 1;
{f"user {getpass.getuser()};" if os.geteuid() == 0 else ""}
events {{ }}
http {{
  access_log off;
  client_body_temp_path {self.file("t1")};
  proxy_temp_path {self.file("t2")};
  fastcgi_temp_path {self.file("t3")};
  uwsgi_temp_path {self.file("t4")};
  scgi_temp_path {self.file("t5")};
  server {{
    listen unix:{self.file("sock")} ssl;
    ssl_certificate {self.cred.cert};
    ssl_certificate_key {self.cred.key};
    location / {{ root {self.dir}; }}
  }}
}}
""")]


@pytest.fixture
def pair(rig):
    def make(target):
        """The plain port of a pair of tunnels to target."""
        s = rig.tlskit("tls:127.0.0.1:0", target)
        words = s.lines("client")[0].split()
        return rig.tlskit("127.0.0.1:0", *words[3:]).port
    return make


def output(name, *args):
    r = subprocess.run([program(name, PEERS), *map(str, args)], capture_output=True, timeout=40,
                       stdin=subprocess.DEVNULL)
    assert r.returncode == 0, r
    return r.stdout


def test_redis(rig, pair, small):
    port = pair(rig.start(Redis()).target)
    assert output("redis-cli", "-p", port, "set", "key", small[:1000].hex()) == b"OK\n"
    assert output("redis-cli", "-p", port, "get", "key") == small[:1000].hex().encode() + b"\n"
    assert output("redis-cli", "-p", port, "eval", "return string.rep('x', 3000000)", "0") == b"x" * 3000000 + b"\n"


@pytest.mark.parametrize("args", [(), ("-R",), ("--bidir", "-P", "4")])
def test_iperf3(rig, pair, args):
    port = pair(rig.start(Iperf3()).target)
    assert b"receiver" in output("iperf3", "-c", "127.0.0.1", "-p", port, "-n", "64M", *args)


def test_ssh(rig, blob):
    """By ProxyCommand: our client side on standard input and output."""
    sshd = rig.start(Sshd())
    words = rig.tlskit("tls:127.0.0.1:0", sshd.target).lines("client")[0].split()
    command = [program("ssh", PEERS), "-F", "none", "-i", sshd.file("user"), "-o", "StrictHostKeyChecking=no",
               "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
               "-o", f"ProxyCommand={tlskit.TLSKIT} tunnel - {' '.join(words[3:])}", getpass.getuser() + "@tunnel"]
    r = subprocess.run([*command, "echo hello; exit 7"], capture_output=True, timeout=40, stdin=subprocess.DEVNULL)
    assert (r.stdout, r.returncode) == (b"hello\n", 7), r
    r = subprocess.run([*command, "cat"], capture_output=True, timeout=40, input=blob)
    ends.same(r.stdout, blob)


def test_nginx(rig, pki, blob):
    """The client role in front of an HTTPS server on a unix socket."""
    target = rig.start(Nginx(pki.ecdsa, blob)).target
    t = rig.tlskit("127.0.0.1:0", "tls:" + target, "--ca", pki.ca, "--verify-name", "localhost")
    a = rig.dial(t)
    a.send(b"GET /page HTTP/1.0\r\n\r\n")
    ends.same(ends.recv_all(a).partition(b"\r\n\r\n")[2], blob)
