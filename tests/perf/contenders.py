# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnels that are compared: how each is started, and what it says of itself.

Each has the same certificate, TLS 1.3 alone, session tickets, no log, and a
client side that verifies chain and name.
"""
import os
import re
import shutil
import subprocess
import time

from procs import Failed, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
TLSKIT = os.environ.get("TLSKIT") or os.path.join(HERE, "..", "..", "tlskit")
SUITES = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
CERTS = {"ECDSA P-256": ("ecdsa", ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")), "RSA-3072": ("rsa", ("rsa:3072",))}


def make_certificates(work):
    for name, key in CERTS.values():
        base = f"{work}/{name}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-keyout", f"{base}.key", "-out", f"{base}.crt",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, stderr=subprocess.DEVNULL)
        with open(f"{base}.pem", "w") as out:  # haproxy wants both in one
            for part in (f"{base}.crt", f"{base}.key"):
                with open(part) as f:
                    out.write(f.read())


def said(*argv):
    try:
        p = subprocess.run(argv, capture_output=True, text=True, timeout=20)
    except OSError:
        return ""
    return p.stdout + p.stderr


def find(pattern, text):
    m = re.search(pattern, text)
    return m.group(1) if m else "?"


class Contender:
    label = None
    ours = False
    program = None

    def missing(self):
        """Why it cannot run at all, or None."""
        return None if shutil.which(self.program) else f"{self.program} is not installed: ./bootstrap --peers"

    def doubt(self, stage, backend):
        """Why what runs is not what its label says, or None."""
        del stage, backend

    def most_held(self, descriptors):
        """How many connections it holds with so many descriptors: two each, and a few of its own."""
        return (descriptors - 64) // 2

    def server(self, stage, backend, cert="ecdsa", suite=SUITES[0], threads=1):
        """TLS in, plain out to the port backend. Returns the process and its port."""
        raise NotImplementedError

    def client(self, stage, target, cert="ecdsa", suite=SUITES[0], threads=1):
        """Plain in, TLS out to the port target."""
        raise NotImplementedError


class Tlskit(Contender):
    ours = True
    program = TLSKIT

    def __init__(self, plane):
        self.plane, self.label = plane, f"tlskit {plane}"

    def missing(self):
        if not os.access(TLSKIT, os.X_OK):
            return "no tlskit program: build it, or say where it is in TLSKIT"
        return None

    def run(self, stage, suite, threads, port, *argv):
        common = ("--threads", str(threads), "--min-tls", "1.3", "--ciphersuite", suite, "--dataplane", self.plane)
        return stage.run([TLSKIT, "tunnel", *common, *argv], port), port

    def server(self, stage, backend, cert="ecdsa", suite=SUITES[0], threads=1, log="error"):
        port, base = free_port(), f"{stage.work}/{cert}"
        return self.run(stage, suite, threads, port, "--log-level", log, "--cert", f"{base}.crt", "--key", f"{base}.key",
                        f"tls:127.0.0.1:{port}", f"127.0.0.1:{backend}")

    def client(self, stage, target, cert="ecdsa", suite=SUITES[0], threads=1):
        port = free_port()
        return self.run(stage, suite, threads, port, "--log-level", "error", "--ca",
                        f"{stage.work}/{cert}.crt", "--verify-name", "localhost", f"127.0.0.1:{port}", f"tls:127.0.0.1:{target}")

    def doubt(self, stage, backend):
        """A session that falls back to another plane must not be shown under this one's name."""
        server, port = self.server(stage, backend, log="info")
        stage.load("connect-storm", connect=port, tls=True, ca=f"{stage.work}/ecdsa.crt")
        for _ in range(100):
            text = server.errors()
            if "\n" in text:
                return None if re.search(rf"\b{self.plane}\b", text) else f"the log does not name the plane: {text.splitlines()[0]}"
            time.sleep(0.05)
        return "no connection came to its end"

    def version(self):
        rows = said(TLSKIT, "--version").splitlines()
        named = [row for row in rows if re.match(r"(tlskit|GnuTLS) ", row)]
        return ", ".join(named + re.findall(r"^(\S+ by \S+)", "\n".join(rows), re.M)) or "tlskit ?"


class Stunnel(Contender):
    label = program = "stunnel"

    def most_held(self, descriptors):
        return descriptors * 125 // 256 - 16  # its own rule, and it turns further ones away

    def run(self, stage, role, suite, port, body):
        conf = stage.write(f"stunnel-{role}.conf", "foreground = yes\ndebug = 0\nsyslog = no\npid =\n[t]\n"
                           f"accept = 127.0.0.1:{port}\nciphersuites = {suite}\nsslVersion = TLSv1.3\n{body}")
        return stage.run([self.program, conf], port), port

    def server(self, stage, backend, cert="ecdsa", suite=SUITES[0], threads=1):
        base = f"{stage.work}/{cert}"
        return self.run(stage, "server", suite, free_port(), f"connect = 127.0.0.1:{backend}\ncert = {base}.crt\nkey = {base}.key\n")

    def client(self, stage, target, cert="ecdsa", suite=SUITES[0], threads=1):
        return self.run(stage, "client", suite, free_port(), f"client = yes\nconnect = 127.0.0.1:{target}\n"
                        f"CAfile = {stage.work}/{cert}.crt\nverifyChain = yes\ncheckHost = localhost\n")

    def version(self):
        text = said("stunnel", "-version")
        built = find(r"with (OpenSSL \S+)", text)
        return f"stunnel {find(r'stunnel ([0-9.]+)', text)} (runs on {find(r'Running  ?with (OpenSSL [0-9.a-z]+)', text).replace('?', built)})"


class Haproxy(Contender):
    label = program = "haproxy"

    def most_held(self, descriptors):
        return (descriptors - 128) // 2

    def run(self, stage, role, suite, threads, port, bind, server):
        conf = stage.write(f"haproxy-{role}.cfg", f"""global
  nbthread {threads}
  ssl-default-bind-ciphersuites {suite}
  ssl-default-server-ciphersuites {suite}
  ssl-default-bind-options ssl-min-ver TLSv1.3
  ssl-default-server-options ssl-min-ver TLSv1.3
defaults
  mode tcp
  timeout connect 5s
  timeout client 10m
  timeout server 10m
listen t
  bind 127.0.0.1:{port} {bind}
  server s 127.0.0.1:{server}
""")
        return stage.run([self.program, "-db", "-f", conf], port), port

    def server(self, stage, backend, cert="ecdsa", suite=SUITES[0], threads=1):
        return self.run(stage, "server", suite, threads, free_port(), f"ssl crt {stage.work}/{cert}.pem", f"{backend}")

    def client(self, stage, target, cert="ecdsa", suite=SUITES[0], threads=1):
        return self.run(stage, "client", suite, threads, free_port(), "",
                        f"{target} ssl verify required ca-file {stage.work}/{cert}.crt verifyhost localhost")

    def version(self):
        text = said("haproxy", "-vv")
        return f"haproxy {find(r'version ([0-9.]+)', text)} (runs on {find(r'Running on OpenSSL version : (OpenSSL [0-9.a-z]+)', text)})"


class Plain(Contender):
    """No tunnel: what the load generator itself can do."""
    label = "plain TCP"

    def missing(self):
        return None

    def server(self, stage, backend, **_):
        return None, backend

    client = server


def all_contenders():
    return [Tlskit("direct"), Tlskit("gnutls"), Stunnel(), Haproxy(), Plain()]


def preflight(c, stage):
    """One echo round through a pair, before anything is timed. Returns why not, or None."""
    try:
        echo = stage.load("echo-server", listen=0)
        _, port = c.server(stage, echo.port)
        _, entry = c.client(stage, port)
        client = stage.load("echo-client", connect=entry)
        for _ in range(100):
            if client.ask("mark")["round_trips"]:
                return c.doubt(stage, echo.port)
            time.sleep(0.05)
        return "nothing comes back through it"
    except Failed as e:
        return str(e)
