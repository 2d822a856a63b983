# SPDX-License-Identifier: GPL-3.0-or-later
"""Proxies that people run, one small class each."""

import os

import pytest

from peers import OnFreePort, program

USER, PASSWORD = "user", "pa-ss.w_rd"  # tinyproxy knows no other characters
LOGIN = "user:pa%2Dss%2ew_rd@"


class Proxy(OnFreePort):
    """login: USER and PASSWORD are wanted. only: the one port that may be connected to."""

    schemes = ()

    def __init__(self, login=False, only=None):
        super().__init__()
        self.login, self.only = login, only

    def url(self, scheme, login=""):
        return f"{scheme}://{login}127.0.0.1:{self.port}"


class Tinyproxy(Proxy):
    name, schemes = "tinyproxy", ("http",)

    def argv(self):
        text = f"Port {self.number}\nListen 127.0.0.1\nTimeout 60\nLogLevel Info\nMaxClients 20\nAllow 127.0.0.1\n"
        if self.login:
            text += f"BasicAuth {USER} {PASSWORD}\n"
        if self.only:
            text += f"ConnectPort {self.only}\n"
        return ["-d", "-c", self.file("conf", text)]


class Squid(Proxy):
    """Started by root it becomes somebody else, who has to be able to read."""

    name, schemes = "squid", ("http",)

    def argv(self):
        os.chmod(self.dir, 0o755)
        check = self.file("check", f"while read -r login; do case $login in "
                          f"'{USER} {PASSWORD}') echo OK ;; *) echo ERR ;; esac; done\n")
        rules = [f"auth_param basic program /bin/sh {check}", "auth_param basic realm test",
                 "acl in proxy_auth REQUIRED"] if self.login else []
        if self.only:
            rules += [f"acl port port {self.only}", "http_access deny !port"]
        rules += ["http_access allow in" if self.login else "http_access allow all"]
        return ["-N", "-d", "1", "-f", self.file("conf", "\n".join([
            f"http_port 127.0.0.1:{self.number}", "pid_filename none", "cache_log /dev/null", "access_log none",
            "netdb_filename none", "pinger_enable off", "cache deny all", "cache_mem 1 MB", "cache_store_log none",
            "visible_hostname test", "shutdown_lifetime 0 seconds", "dns_nameservers 127.0.0.1",
            f"coredump_dir {self.dir}", *rules, ""]))]

    def end(self):
        """At SIGTERM it thinks for two seconds about who might still come."""
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait(5)


class Microsocks(Proxy):
    name, schemes = "microsocks", ("socks5", "socks5h")

    def argv(self):
        return ["-i", "127.0.0.1", "-p", str(self.number), *(["-u", USER, "-P", PASSWORD] if self.login else [])]


class Dante(Proxy):
    """Its logins are those of the system, so with one it lets nobody in here."""

    schemes = ("socks5", "socks5h")
    name = "danted"

    def locate(self):
        try:
            return program("sockd", self.package)
        except pytest.skip.Exception:
            return program(self.name, self.package)

    def argv(self):
        port = f" port = {self.only}" if self.only else ""
        return ["-f", self.file("conf", f"""
logoutput: stderr
internal: 127.0.0.1 port = {self.number}
external: 127.0.0.1
external: ::1
external.rotation: route
clientmethod: none
socksmethod: {"username" if self.login else "none"}
user.unprivileged: nobody
client pass {{ from: 127.0.0.1/32 to: 0.0.0.0/0 }}
socks pass {{ from: 127.0.0.1/32 to: 0.0.0.0/0{port} command: connect }}
socks pass {{ from: 127.0.0.1/32 to: ::/0{port} command: connect }}
socks pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 command: bindreply udpreply }}
""")]


PROXIES = [Tinyproxy, Squid, Microsocks, Dante]
