# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that take part in a test, one small class each: start(), ready(),
stop(). Each has its own temporary directory, takes a port that the kernel
chose, is found ready by what the kernel says about its own sockets, and ends by
its own pid."""

import getpass
import glob
import os
import shutil
import socket
import subprocess
import tempfile

import pytest

import ends
from ends import wait_until

PEERS, TESTS = "./bootstrap --peers", "./bootstrap --tests"
MAX = {"1.2": "TLSv1.2", "1.3": "TLSv1.3"}


def program(name, installed_by):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        pytest.skip(f"{name} is not installed: {installed_by} installs it")
    return path


def listening(pid, family="tcp"):
    """Ports on which a process listens, asked of the kernel."""
    inodes = set()
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            link = os.readlink(fd)
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    ports = []
    with open(f"/proc/{pid}/net/{family}") as f:
        for row in list(f)[1:]:
            col = row.split()
            if col[3] == "0A" and col[9] in inodes:
                ports.append(int(col[1].split(":")[1], 16))
    return ports


class Peer:
    """A process. Subclasses give `name`, `package` and argv()."""

    name, package = None, PEERS
    pipes = False  # stdin and stdout are pipes, to be used as a stream
    limit = None  # runs in the child before exec

    def __init__(self, *args):
        self.args = [str(a) for a in args]
        self.dir, self.proc, self.port, self.command = None, None, None, []
        self.pass_fds = ()

    def argv(self):
        raise NotImplementedError

    def start(self):
        path = self.locate()
        self.dir = tempfile.mkdtemp(prefix="tlskit-test-")
        self.command = [path, *self.argv()]
        pipe = subprocess.PIPE if self.pipes else None
        with open(self.file("stderr"), "wb") as err, open(self.file("stdout"), "wb") as out:
            self.proc = subprocess.Popen(
                self.command, stdin=self.stdin(), stdout=pipe or out, stderr=err, cwd=self.dir,
                pass_fds=self.pass_fds, preexec_fn=self.limit, env=self.env(), bufsize=0)
        return self.ready()

    def locate(self):
        return program(self.name, self.package)

    def stdin(self):
        return subprocess.PIPE if self.pipes else subprocess.DEVNULL

    def env(self):
        return dict(os.environ, LC_ALL="C")

    def file(self, name, text=None):
        path = os.path.join(self.dir, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path

    def read(self, name):
        try:
            with open(self.file(name), "rb") as f:
                return f.read()
        except FileNotFoundError:
            return b""

    def stderr(self):
        return self.read("stderr").decode(errors="replace")

    def stdout(self):
        return self.read("stdout").decode(errors="replace")

    def check_alive(self):
        code = self.proc.poll()
        assert code is None, f"{self.name} ended with {code}: {self.stderr()[-2000:]}"

    def ready(self):
        """Waits until it listens."""
        def look():
            self.check_alive()
            return listening(self.proc.pid)
        self.port = wait_until(look, f"{self.name} to listen")[0]
        return self

    @property
    def addr(self):
        return ("127.0.0.1", self.port)

    @property
    def target(self):
        return f"127.0.0.1:{self.port}"

    @property
    def stream(self):
        return ends.Pipe(self.proc)

    def wait(self, timeout=ends.WAIT):
        return self.proc.wait(timeout)

    def end(self):
        """Makes sure that the process has gone."""
        if self.proc and self.proc.poll() is None:
            self.proc.terminate()
            try:
                self.proc.wait(5)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait(5)

    def stop(self):
        try:
            self.end()
        finally:
            if self.proc and self.pipes:
                self.stream.close()
            if self.dir:
                shutil.rmtree(self.dir, ignore_errors=True)
                self.dir = None

    def report(self):
        """For a failed test: what it was and what it said."""
        if not self.dir:
            return ""
        text = self.stderr()
        if len(text) > 6000:
            text = text[:2000] + "\n[…]\n" + text[-4000:]
        return f"$ {' '.join(self.command)}\n{text}{'' if self.pipes else self.stdout()[-2000:]}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class OnFreePort(Peer):
    """For servers that need a number: another one when somebody was faster."""

    def start(self):
        for attempt in range(5):
            self.number = free_port()
            try:
                return super().start()
            except AssertionError:
                if attempt == 4 or "in use" not in self.stderr() + self.stdout():
                    raise


class Client:
    """Mixin: a process that connects and talks over its stdin and stdout; ready
    as soon as it runs."""

    pipes = True

    def ready(self):
        return self


def flags(pairs):
    return [x for flag, value in pairs if value for x in (flag, value)]


class OpensslServer(Peer):
    """openssl s_server; what it receives goes to stdout, stdin to the client."""

    name, package, pipes = "openssl", TESTS, True

    def __init__(self, cred=None, version=None, *args):
        super().__init__(*args)
        self.cred, self.version = cred, version

    def argv(self):
        out = ["s_server", "-quiet", "-accept", "127.0.0.1:0", *self.args]
        out += ["-cert", self.cred.cert, "-cert_chain", self.cred.cert, "-key", self.cred.key] if self.cred \
            else ["-nocert"]
        return out + (["-tls" + self.version.replace(".", "_")] if self.version else [])


class OpensslClient(Client, Peer):
    """openssl s_client without its chatter; fails when it cannot verify."""

    name, package = "openssl", TESTS

    def __init__(self, target, ca=None, version=None, *args, quiet=True):
        super().__init__(*args)
        self.where, self.ca, self.version, self.quiet = target, ca, version, quiet

    def argv(self):
        out = ["s_client", "-connect", self.where, *(["-quiet"] if self.quiet else []), *self.args]
        if self.ca:
            out += ["-CAfile", self.ca, "-verify_return_error", "-verify_quiet",
                    "-verify_hostname", "localhost", "-servername", "localhost"]
        return out + (["-tls" + self.version.replace(".", "_")] if self.version else [])


def gnutls_priority(version, psk=False):
    return ("NORMAL" + (":+PSK:+ECDHE-PSK:+DHE-PSK" if psk else "")
            + (":-VERS-ALL:+VERS-TLS" + version if version else ""))


class GnutlsServ(Peer):
    """gnutls-serv. With --echo it sends lines back, one at a time; with
    --httpdata it answers any request with a file."""

    name, package = "gnutls-serv", TESTS

    def __init__(self, cred=None, version=None, *args, psk=None):
        super().__init__(*args)
        self.cred, self.version, self.psk = cred, version, psk

    def argv(self):
        out = ["--quiet", "--port", "0", "--priority", gnutls_priority(self.version, self.psk), *self.args]
        if self.psk:
            out += ["--pskpasswd", self.psk]
        if self.cred:
            out += ["--x509certfile", self.cred.cert, "--x509keyfile", self.cred.key]
        return out


class GnutlsCli(Client, Peer):
    """gnutls-cli; stdout carries data alone, its messages go to `messages`."""

    name, package = "gnutls-cli", TESTS

    def __init__(self, port, ca=None, version=None, *args, psk=False):
        super().__init__(*args)
        self.port, self.ca, self.version, self.psk = port, ca, version, psk

    def argv(self):
        return ["--port", str(self.port), "--priority", gnutls_priority(self.version, self.psk),
                "--logfile", self.file("log"), *flags([("--x509cafile", self.ca)]), *self.args, "localhost"]

    def messages(self):
        return self.read("log").decode(errors="replace") + self.stderr()

    def report(self):
        return super().report() + (self.messages()[-3000:] if self.dir else "")


class Stunnel(Peer):
    """stunnel. client: from a plain port to TLS at `target`; else from a TLS port
    to plain `target`. Further lines of the service's section come in options."""

    name = "stunnel"

    def __init__(self, target, client=False, cred=None, ca=None, version=None, **options):
        super().__init__()
        lines = {"accept": "127.0.0.1:0", "connect": target, "client": "yes" if client else "no"}
        if cred:
            lines.update(cert=cred.cert, key=cred.key)
        if ca:
            lines.update({"CAfile": ca, "verifyChain": "yes", "checkHost": "localhost"})
        if version:
            lines.update(sslVersionMin=MAX[version], sslVersionMax=MAX[version])
        self.options = {**lines, **options}

    def argv(self):
        body = "".join(f"{k} = {v}\n" for k, v in self.options.items())
        return [self.file("conf", f"foreground = yes\npid =\ndebug = info\nsyslog = no\n[t]\n{body}")]


class Haproxy(Peer):
    """haproxy in TCP mode; roles as Stunnel's. It takes no port 0, so it inherits
    a socket."""

    name = "haproxy"

    def __init__(self, target, client=False, cred=None, ca=None, version=None):
        super().__init__()
        limits = f" ssl-min-ver {MAX[version]} ssl-max-ver {MAX[version]}" if version else ""
        self.bind = "" if client else f"ssl crt {cred.both}{limits}"
        self.server = target + (
            f" ssl verify required ca-file {ca} verifyhost localhost sni str(localhost){limits}" if client else "")

    def argv(self):
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(128)
        self.pass_fds = (self.sock.fileno(),)
        return ["-db", "-f", self.file("conf", f"""
global
  nbthread 1
  tune.ssl.default-dh-param 2048
defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen t
  bind fd@{self.sock.fileno()} {self.bind}
  server s {self.server}
""")]

    def ready(self):
        super().ready()
        self.sock.close()
        return self


class Socat(Peer):
    """socat between TCP and OPENSSL; roles as Stunnel's, one connection."""

    name, package = "socat", TESTS

    def __init__(self, target, client=False, cred=None, ca=None, version=None):
        super().__init__()
        limits = f",openssl-min-proto-version=TLS{version},openssl-max-proto-version=TLS{version}" if version else ""
        if client:
            self.args = ["TCP-LISTEN:0,bind=127.0.0.1",
                         f"OPENSSL:{target},cafile={ca},commonname=localhost{limits}"]
        else:
            self.args = [f"OPENSSL-LISTEN:0,bind=127.0.0.1,cert={cred.cert},key={cred.key},verify=0{limits}",
                         f"TCP:{target}"]

    def argv(self):
        return ["-t", "60", "-b", "65536", *self.args]


class OpensslSite(OpensslServer):
    """openssl s_server that sends what cred.sent has (checkpki), weak or not."""

    def argv(self):
        out = ["s_server", "-quiet", "-accept", "127.0.0.1:0", "-cipher", "DEFAULT:@SECLEVEL=0", *self.args,
               "-cert", self.cred.leaf, "-key", self.cred.key, *flags([("-cert_chain", self.cred.rest)])]
        return out + (["-tls" + self.version.replace(".", "_")] if self.version else [])


class Sites(Peer):
    """One process with many TLS servers, each on a port of its own. sites: by name,
    (cred, further options). It takes no port 0, so it inherits sockets."""

    def __init__(self, sites):
        super().__init__()
        self.sites, self.socks = sites, {}

    def open(self, name):
        s = self.socks[name] = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.pass_fds += (s.fileno(),)
        return s

    def ready(self):
        super().ready()
        self.ports = {name: s.getsockname()[1] for name, s in self.socks.items()}
        for s in self.socks.values():
            s.close()
        return self


class NginxSites(Sites):
    """nginx; options are lines of a server's block, with a semicolon each. A list of
    (cred, options) is one port where the first is the default and each has its
    certificate's names."""

    name = "nginx"

    def argv(self):
        blocks = [block for name, site in self.sites.items() for block in self.blocks(self.open(name), site)]
        temporary = "".join(f"{what}_temp_path {self.file(what)};\n"
                            for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return ["-p", self.dir, "-e", "stderr", "-c", self.file("conf", f"""
daemon off;
pid {self.file("pid")};
{f"user {getpass.getuser()};" if os.geteuid() == 0 else ""}
events {{ }}
http {{
access_log off;
ssl_ciphers DEFAULT:@SECLEVEL=0;
ssl_protocols TLSv1.2 TLSv1.3;
{temporary}{"".join(blocks)}}}
""")]

    def blocks(self, sock, site):
        several, port = isinstance(site, list), sock.getsockname()[1]
        for n, (cred, lines) in enumerate(site if several else [site]):
            names = f"server_name {' '.join(cred.names)};" if several else ""
            yield f"""server {{
listen 127.0.0.1:{port} ssl{"" if n else " default_server"};
{names}
ssl_certificate {cred.cert};
ssl_certificate_key {cred.key};
{lines}
return 204;
}}
"""

    def env(self):
        return {**super().env(), "NGINX": "".join(f"{fd};" for fd in self.pass_fds)}


class HaproxySites(Sites):
    """haproxy; options stand behind `bind`. An answer that it staples is in the file
    cred.both with ".ocsp" behind."""

    name = "haproxy"

    def argv(self):
        binds = "".join(f"  bind fd@{self.open(name).fileno()} ssl crt {cred.both} {options}\n"
                        for name, (cred, options) in self.sites.items())
        return ["-db", "-f", self.file("conf", f"""
global
  nbthread 1
  tune.ssl.default-dh-param 2048
  ssl-default-bind-ciphers DEFAULT:@SECLEVEL=0
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend t
{binds}  http-request return status 204
""")]
