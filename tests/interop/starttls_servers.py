# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that people run whose protocols go over to TLS, one small class each. Every
server has a configuration, a folder and ports of its own, and is ended by its own pid."""

import contextlib
import glob
import grp
import os
import pwd
import shutil
import subprocess

import pytest

import ends
from peers import PEERS, OnFreePort, free_port, listening, program

ROOT = os.geteuid() == 0
ME = pwd.getpwuid(os.geteuid()).pw_name
GROUP = grp.getgrgid(os.getegid()).gr_name
USER = "nobody" if ROOT else ME  # for those that will not be root
DB_USER = USER  # Postgres calls its administrator as who made it is called


class Server(OnFreePort):
    """For servers with several ports, too. `self.cred` is what they show, or None:
    they have no TLS then."""

    more = ()  # protocols with a port of their own

    def __init__(self, cred):
        super().__init__()
        self.cred = cred

    def start(self):
        self.ports = {proto: free_port() for proto in self.installed()}
        return super().start()

    def installed(self):
        return self.more

    def ready(self):
        wanted = set(self.ports.values()) or {self.number}

        def look():
            self.check_alive()
            return wanted <= set(listening(self.proc.pid))
        ends.wait_until(look, f"{self.name} to listen")
        self.port = self.number
        return self


def dovecot_release():
    """(2, 3) or (2, 4), which have their settings under different names."""
    out = subprocess.run(["dovecot", "--version"], capture_output=True, text=True, timeout=20)
    return tuple(int(n) for n in out.stdout.split()[0].split(".")[:2])


class Dovecot(Server):
    name = "dovecot"
    more = {"imap": "imap-login", "pop3": "pop3-login", "lmtp": "lmtp", "sieve": "managesieve-login",
            "smtp": "submission-login"}

    def installed(self):
        return [p for p, prog in self.more.items() if glob.glob("/usr/lib*/dovecot/" + prog)]

    def services(self, address):
        names, out = {"sieve": "managesieve", "smtp": "submission"}, "service anvil {\n  chroot =\n}\n"
        for proto in self.installed():
            name = names.get(proto, proto)
            login = name if proto == "lmtp" else name + "-login"
            listener = "sieve" if proto == "sieve" else name
            out += f"service {login} {{\n  chroot =\n  inet_listener {listener} {{\n    {address} = 127.0.0.1\n" \
                   f"    port = {self.ports[proto]}\n  }}\n}}\n"
            if proto in ("imap", "pop3"):
                out += f"service {login} {{\n  inet_listener {listener}s {{\n    port = 0\n  }}\n}}\n"
            if proto == "smtp":
                out += f"service {login} {{\n  inet_listener submissions {{\n    port = 0\n  }}\n}}\n"
        return out

    def settings_of_2_3(self, group):
        tls = f"ssl = yes\nssl_cert = <{self.cred.cert}\nssl_key = <{self.cred.key}" if self.cred else "ssl = no"
        return f"""
passdb {{
  driver = static
  args = nopassword=y
}}
userdb {{
  driver = static
  args = uid={USER} gid={group}
}}
mail_location = maildir:{self.dir}/mail
submission_relay_host = 127.0.0.1
{tls}
{self.services("address")}
"""

    def settings_of_2_4(self, group):
        tls = f"ssl = yes\nssl_server_cert_file = {self.cred.cert}\nssl_server_key_file = {self.cred.key}" if self.cred \
            else "ssl = no\nauth_allow_cleartext = yes"
        return f"""dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
passdb static {{
  fields {{
    nopassword = yes
  }}
}}
userdb static {{
  fields {{
    uid = {USER}
    gid = {group}
  }}
}}
mail_driver = maildir
mail_path = {self.dir}/mail
mail_home = {self.dir}/home
submission_relay_host = 127.0.0.1
{tls}
{self.services("listen")}
"""

    def argv(self):
        os.chmod(self.dir, 0o755)  # the processes that talk have a user of their own
        os.mkdir(self.file("mail"))
        shutil.chown(self.file("mail"), USER)
        group = "nogroup" if ROOT else GROUP
        users = "" if ROOT else f"default_login_user = {ME}\ndefault_internal_user = {ME}\n" \
                                f"default_internal_group = {GROUP}\n"
        settings = self.settings_of_2_3(group) if dovecot_release() < (2, 4) else self.settings_of_2_4(group)
        return ["-F", "-c", self.file("conf", f"""{settings}
protocols = {" ".join({"smtp": "submission"}.get(p, p) for p in self.installed())}
base_dir = {self.dir}/run
state_dir = {self.dir}/state
log_path = /dev/stderr
hostname = localhost
{users}
""")]


class Exim(Server):
    """Not among ./bootstrap's peers: a machine has one mail server, and where there is
    none it gets postfix."""

    name, package = "exim4", "your system"

    def argv(self):
        for d in "spool", "log":
            os.mkdir(self.file(d))
        conf = self.file("conf", f"""
exim_user = {ME}
exim_group = {GROUP}
never_users =
spool_directory = {self.file("spool")}
log_file_path = {self.file("log")}/%s
pid_file_path = {self.file("pid")}
primary_hostname = localhost
tls_advertise_hosts = *
tls_certificate = {self.cred.cert}
tls_privatekey = {self.cred.key}
host_lookup =
rfc1413_query_timeout = 0s
""")
        return ["-C", conf, "-bdf", "-oX", f"127.0.0.1.{self.number}"]

    def ready(self):
        """It is set-uid, so the kernel tells none but root what it listens on."""
        def look():
            self.check_alive()
            with contextlib.suppress(OSError):
                ends.dial(("127.0.0.1", self.number)).close()
                return True
        ends.wait_until(look, "exim4 to listen")
        self.port = self.number
        return self


class Postfix(Server):
    """With a configuration, a queue and data of its own. What it is sent it throws away."""

    name, package = "postfix", PEERS + ", where no other mail server is,"
    more = ("smtp", "smtps")
    limit = os.setsid  # it ends its children as a group

    def locate(self):
        command = program(self.name, self.package)
        if not ROOT:
            pytest.skip("postfix runs for root alone")
        folder = subprocess.run([os.path.join(os.path.dirname(command), "postconf"), "-dh", "daemon_directory"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        return os.path.join(folder, "master")

    def argv(self):
        os.chmod(self.dir, 0o755)  # the processes that talk have a user of their own
        for d in "conf", "data", "queue":
            os.mkdir(self.file(d))
        shutil.chown(self.file("data"), "postfix")
        tls = f"smtpd_tls_security_level = may\nsmtpd_tls_chain_files = {self.cred.key}, {self.cred.cert}" if self.cred \
            else "smtpd_tls_security_level = none"
        self.file("conf/main.cf", f"""
compatibility_level = 3.6
queue_directory = {self.dir}/queue
data_directory = {self.dir}/data
maillog_file = {self.dir}/log
maillog_file_prefixes = {self.dir}
myhostname = localhost
mydestination = localhost
mynetworks = 127.0.0.1
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
local_transport = discard:
default_transport = discard:
local_recipient_maps =
alias_maps =
{tls}
""")
        smtps = f"127.0.0.1:{self.ports['smtps']} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes\n" if self.cred else ""
        self.file("conf/master.cf", f"""
127.0.0.1:{self.ports["smtp"]} inet n - n - - smtpd
{smtps}postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
rewrite unix - - n - - trivial-rewrite
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
discard unix - - n - - discard
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
""")
        subprocess.run([program(self.name, self.package), "-c", self.file("conf"), "check"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # makes the queue's folders
        return ["-d", "-c", self.file("conf")]

    def installed(self):
        return self.more if self.cred else self.more[:1]


class Slapd(Server):
    name = "slapd"

    def argv(self):
        tls = f"TLSCertificateFile {self.cred.cert}\nTLSCertificateKeyFile {self.cred.key}\n" if self.cred else ""
        conf = self.file("conf", f"pidfile {self.file('pid')}\n{tls}")
        return ["-d", "0", "-h", f"ldap://127.0.0.1:{self.number}", "-f", conf]


class Vsftpd(Server):
    name = "vsftpd"

    def argv(self):
        os.chmod(self.dir, 0o755)
        os.mkdir(self.file("empty"), 0o555)
        tls = f"ssl_enable=YES\nallow_anon_ssl=YES\nrsa_cert_file={self.cred.cert}\n" \
              f"rsa_private_key_file={self.cred.key}" if self.cred else ""
        return [self.file("conf", f"""listen=YES
listen_address=127.0.0.1
listen_port={self.number}
background=NO
secure_chroot_dir={self.file("empty")}
{"" if ROOT else "run_as_launching_user=YES"}
nopriv_user={USER}
anonymous_enable=YES
ftp_username={USER}
anon_root={self.file("empty")}
ftpd_banner=hello
{tls}""")]


class Prosody(Server):
    name = "prosody"
    more = ("xmpp", "xmpp-server")

    def argv(self):
        data = self.file("data")
        os.mkdir(data)
        return ["-F", "--config", self.file("conf.cfg.lua", f"""
run_as_root = true
daemonize = false
pidfile = "{self.file("pid")}"
data_path = "{data}"
modules_enabled = {{ "tls", "saslauth", "dialback", "disco" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {self.ports["xmpp"]} }}
s2s_ports = {{ {self.ports["xmpp-server"]} }}
log = {{ info = "*console" }}
{f'ssl = {{ certificate = "{self.cred.cert}", key = "{self.cred.key}" }}' if self.cred else ""}
VirtualHost "localhost"
VirtualHost "other.example"
""")]


class Postgres(Server):
    name = "postgres"

    def locate(self):
        dirs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        self.initdb = os.path.join(dirs[-1], "initdb") if dirs else program("initdb", PEERS)
        return os.path.join(dirs[-1], "postgres") if dirs else program("postgres", PEERS)

    def limit(self):
        """As root it would not run."""
        if ROOT:
            who = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(who.pw_gid)
            os.setuid(who.pw_uid)

    def own(self, path):
        if ROOT:
            shutil.chown(path, "nobody")
        return path

    def argv(self):
        self.own(self.dir)
        data = self.file("data")
        subprocess.run([self.initdb, "-N", "-A", "trust", "-D", data], check=True, capture_output=True, cwd=self.dir,
                       preexec_fn=self.limit, env=self.env())
        tls = []
        if self.cred:
            for kind in "cert", "key":
                path = self.own(shutil.copy(getattr(self.cred, kind), self.file(kind)))
                os.chmod(path, 0o600)
                tls += ["-c", f"ssl_{kind}_file={path}"]
            tls += ["-c", "ssl=on"]
        return ["-D", data, "-h", "127.0.0.1", "-p", str(self.number), "-k", self.dir, *tls]


class Mariadb(Server):
    """Without a database in it, which a handshake does without."""

    name = "mariadbd"

    def argv(self):
        data = self.file("data")
        os.mkdir(data)
        tls = [f"--ssl-cert={self.cred.cert}", f"--ssl-key={self.cred.key}"] if self.cred else ["--skip-ssl"]
        return ["--no-defaults", f"--user={ME}", f"--datadir={data}", "--skip-grant-tables", "--skip-innodb",
                "--default-storage-engine=Aria", "--bind-address=127.0.0.1", f"--port={self.number}",
                f"--socket={self.file('sock')}", f"--pid-file={self.file('pid')}", *tls]


class Inspircd(Server):
    name = "inspircd"

    def argv(self):
        tls = f"""<module name="ssl_gnutls"><module name="starttls">
<sslprofile name="gnutls" provider="gnutls" certfile="{self.cred.cert}" keyfile="{self.cred.key}">""" if self.cred else ""
        conf = self.file("conf", f"""
<server name="irc.test" description="d" network="n">
<admin name="a" nick="a" email="a@b.test">
<bind address="127.0.0.1" port="{self.number}" type="clients">
<module name="cap">
<connect allow="*" resolvehostnames="no">
<log method="file" type="* -USERINPUT -USEROUTPUT" level="default" target="{self.file('log')}">
<pid file="{self.file('pid')}">
{tls}
""")
        return [*(["--runasroot"] if ROOT else []), "--nofork", "--config", conf]
