# SPDX-License-Identifier: GPL-3.0-or-later
"""A DNS of the test's own: a root zone that is really signed (ldns) and served (nsd) at
an address of 127/8, and how to have a program take it for the world's."""

import glob
import os
import shutil
import socket
import subprocess

import pytest

import ends
import peers

ROOT_KEYS = ["/usr/share/dns/root.key", "/etc/unbound/root.key", "/var/lib/unbound/root.key"]  # as libraries were built
RESOLV_CONF = "/etc/resolv.conf"
TTL = 60


def tool(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"{name} is not installed (./bootstrap --peers)")
    return path


def mounted(pairs):
    """A command's beginning: in its view of the file system each second file is the first."""
    script = "".join(f"mount --bind '{new}' '{old}' && " for new, old in pairs)
    return ["unshare", "-m", "sh", "-c", script + 'exec "$@"', "sh"]


def may_mount():
    r = subprocess.run(mounted([("/dev/null", RESOLV_CONF)]) + ["true"], capture_output=True, check=False)
    return r.returncode == 0


class Nsd(peers.Peer):
    """zone: lines of the root zone, to be signed; spoil: (old, new) texts that are changed
    behind that; insecure: lines of a zone "insecure" that nobody signed."""

    name = "nsd"

    def __init__(self, zone, spoil=(), insecure=()):
        super().__init__()
        self.zone, self.spoil, self.insecure = zone, spoil, insecure
        self.host = f"127.53.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}"

    def soa(self, origin):
        return f"$ORIGIN {origin}\n$TTL {TTL}\n@ IN SOA ns. admin. 1 3600 600 86400 {TTL}\n@ IN NS ns.\n"

    def sign(self):
        keygen, sign = tool("ldns-keygen"), tool("ldns-signzone")
        subprocess.run([keygen, "-a", "ECDSAP256SHA256", "-k", "."], cwd=self.dir, check=True, capture_output=True)
        key = glob.glob(self.file("K*.key"))[0]
        shutil.copy(key, self.file("root.key"))
        self.file("zone", self.soa(".") + f"ns. IN A {self.host}\ninsecure. IN NS ns.\n" + "\n".join(self.zone) + "\n")
        subprocess.run([sign, "zone", key.removesuffix(".key")], cwd=self.dir, check=True, capture_output=True)
        with open(self.file("zone.signed")) as f:
            text = f.read()
        for old, new in self.spoil:
            assert old in text
            text = text.replace(old, new)
        self.file("zone.signed", text)

    def argv(self):
        self.sign()
        self.file("insecure", self.soa("insecure.") + "\n".join(self.insecure) + "\n")
        self.file("resolv.conf", f"nameserver {self.host}\noptions attempts:1 timeout:1\n")
        self.file("nsd.conf", f"""
server:
  ip-address: {self.host}
  username: ""
  zonesdir: "{self.dir}"
  database: ""
  pidfile: "{self.file("pid")}"
  xfrdfile: "{self.file("xfrd")}"
  zonelistfile: "{self.file("zones")}"
  xfrdir: "{self.dir}"
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: "."
  zonefile: "zone.signed"
zone:
  name: "insecure."
  zonefile: "insecure"
""")
        return ["-d", "-c", self.file("nsd.conf")]

    def ready(self):
        ends.wait_until(self.answers, "nsd to answer")
        return self

    def answers(self):
        assert self.proc.poll() is None, self.messages()
        with socket.socket() as s:
            return s.connect_ex((self.host, 53)) == 0

    def view(self, resolv_conf=None):
        """A command's beginning: whoever asks the DNS asks this one."""
        keys = [k for k in ROOT_KEYS if os.path.exists(k)]
        if not keys:
            pytest.skip("no root key that libgnutls-dane reads (dns-root-data)")
        return mounted([(resolv_conf or self.file("resolv.conf"), RESOLV_CONF), *((self.file("root.key"), k) for k in keys)])
