# SPDX-License-Identifier: GPL-3.0-or-later
"""`tlskit connect --starttls` against servers that people run: checked, and talked to in
their own protocol behind TLS. nntp is in test_connect_starttls.py alone."""

import struct

import pytest

from connects import Check, Talker, together
from starttls_scripts import mysql_packet
from starttls_servers import DB_USER, Dovecot, Exim, Inspircd, Mariadb, Postfix, Postgres, Prosody, Slapd, Vsftpd


class At:
    """A port of a server where proto is spoken: checks and talkers."""

    def __init__(self, rig, pki, proto, port):
        self.rig, self.proto = rig, proto
        self.args = ("--ca", pki.ca, "--starttls", proto, f"localhost:{port}")

    def check(self, *args):
        return Check(*args, *self.args)

    def fine(self, *args):
        c = self.check(*args).fine()
        d = c.doc
        assert d["starttls"] == {"protocol": self.proto, "done": True} and d["timing_ms"]["starttls"] > 0, c
        assert d["tls"]["version"] == "TLS1.3", c

    def refused(self, *words, args=()):
        c = self.check(*args).is_fault(14, "starttls", *words).no_tls()
        assert c.doc["starttls"] == {"protocol": self.proto, "done": False} and c.doc["tls"] is None, c

    def talker(self, *args, **kw):
        return self.rig.start(Talker(*args, *self.args, **kw))


@pytest.fixture
def at(rig, pki):
    return lambda proto, port: At(rig, pki, proto, port)


def test_dovecot(rig, pki, at):
    d = rig.start(Dovecot(pki.ecdsa))
    together({p: at(p, d.ports[p]).fine for p in d.installed()})


def test_dovecot_in_talk_mode(rig, pki, at):
    d = rig.start(Dovecot(pki.ecdsa))
    if "imap" in d.ports:
        t = at("imap", d.ports["imap"]).talker("--crlf")
        t.ask(b"a CAPABILITY\n", b"\r\na OK")
        t.ask(b"b LOGIN joe secret\n", b"b OK")
        t.ask(b"c SELECT INBOX\n", b"c OK")
        t.ask(b"d LOGOUT\n", b"d OK")
        t.over()
    if "pop3" in d.ports:
        t = at("pop3", d.ports["pop3"]).talker("--crlf")
        t.ask(b"USER joe\n", b"+OK")
        t.ask(b"PASS secret\n", b"+OK Logged in")
        t.ask(b"QUIT\n", b"+OK")
        t.over()
    if "lmtp" in d.ports:
        t = at("lmtp", d.ports["lmtp"]).talker("--crlf")
        t.ask(b"LHLO client.test\n", b"250 ")
        t.ask(b"QUIT\n", b"221 ")
        t.over()
    if "sieve" in d.ports:
        t = at("sieve", d.ports["sieve"]).talker("--crlf")
        t.until(b"\r\nOK ")  # it says its capabilities again (RFC 5804, 2.2)
        t.ask(b"LOGOUT\n", b"OK ")
        t.over()


def test_dovecot_without_tls(rig, at):
    d = rig.start(Dovecot(None))
    together({p: lambda p=p: at(p, d.ports[p]).refused(" is not offered (capabilities: ") for p in d.installed()})


def test_dovecot_wrong_protocol(rig, pki, at):
    d = rig.start(Dovecot(pki.ecdsa))
    at("imap", d.ports["pop3"]).refused(
        "imap: greeting: what the server says is not imap, this looks like POP3: +OK")
    at("pop3", d.ports["imap"]).refused(
        "pop3: greeting: what the server says is not pop3, this looks like IMAP: * OK")


def test_exim(rig, pki, at):
    smtp = at("smtp", rig.start(Exim(pki.ecdsa)).port)
    smtp.fine()
    t = smtp.talker("--crlf")
    assert b"STARTTLS" not in t.ask(b"EHLO client.test\n", b"\r\n250 ")
    t.ask(b"MAIL FROM:<joe@client.test>\n", b"250 OK")
    t.ask(b"QUIT\n", b"221 ")
    t.over()


def test_postfix(rig, pki, at):
    p = rig.start(Postfix(pki.ecdsa))
    smtp = at("smtp", p.ports["smtp"])
    smtp.fine()
    t = smtp.talker("--crlf")
    assert b"STARTTLS" not in t.ask(b"EHLO client.test\n", b"250 CHUNKING\r\n")
    for line, answer in ((b"MAIL FROM:<joe@client.test>", b"250 2.1.0 "), (b"RCPT TO:<ann@localhost>", b"250 2.1.5 "),
                         (b"DATA", b"354 "), (b"Subject: hello\n\nhello\n.", b"250 2.0.0 Ok: queued"), (b"QUIT", b"221 ")):
        t.ask(line + b"\n", answer)
    t.over()
    Check("--ca", pki.ca, f"localhost:{p.ports['smtps']}").fine()
    at("smtp", rig.start(Postfix(None)).ports["smtp"]).refused("STARTTLS is not offered (capabilities: ")


def test_slapd(rig, pki, at):
    ldap = at("ldap", rig.start(Slapd(pki.ecdsa)).port)
    ldap.fine()
    t = ldap.talker()
    t.ask(bytes.fromhex("300c020102600702010304008000"), bytes.fromhex("020102" "6107" "0a0100"))  # a bind, success
    t.stream.send(bytes.fromhex("30050201034200"))  # unbind: it hangs up
    t.over()
    at("ldap", rig.start(Slapd(None)).port).refused("ldap: StartTLS: the server answered protocolError (2): ")


def test_vsftpd(rig, pki, at):
    ftp = at("ftp", rig.start(Vsftpd(pki.ecdsa)).port)
    ftp.fine()
    t = ftp.talker("--crlf", expect=(0, 32))  # it leaves without close_notify
    t.ask(b"FEAT\n", b"211 End")
    t.ask(b"USER anonymous\n", b"331 ")
    t.ask(b"QUIT\n", b"221 ")
    t.over()
    at("ftp", rig.start(Vsftpd(None)).port).refused("ftp: AUTH TLS: the server answered 530 ")


def test_prosody(rig, pki, at):
    p = rig.start(Prosody(pki.ecdsa))
    for proto in p.more:
        at(proto, p.ports[proto]).fine()
        at(proto, p.ports[proto]).fine("--starttls-name", "other.example")
    at("xmpp", p.ports["xmpp"]).refused(
        "xmpp: stream: the server answered with a stream error: host-unknown",
        args=("--starttls-name", "nobody.example"))
    t = at("xmpp", p.ports["xmpp"]).talker()
    got = t.ask(b"<?xml version='1.0'?><stream:stream xmlns='jabber:client' to='localhost' version='1.0' "
                b"xmlns:stream='http://etherx.jabber.org/streams'>", b"</stream:features>")
    assert b"mechanism" in got and b"starttls" not in got
    t.ask(b"</stream:stream>", b"</stream:stream>")
    t.over()


def postgres_message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


def test_postgres(rig, pki, at):
    """As psql begins, a query, and its farewell."""
    pg = at("postgres", rig.start(Postgres(pki.ecdsa)).port)
    pg.fine()
    t = pg.talker()
    t.ask(postgres_message(b"", struct.pack("!I", 3 << 16) + b"user\0%s\0database\0postgres\0\0" % DB_USER.encode()),
          postgres_message(b"Z", b"I"))
    got = t.ask(postgres_message(b"Q", b"select 'x' || ssl from pg_stat_ssl where pid = pg_backend_pid()\0"),
                postgres_message(b"Z", b"I"))
    assert b"xtrue" in got
    t.stream.send(postgres_message(b"X", b""))
    t.over()


def test_postgres_without_tls(rig, at):
    at("postgres", rig.start(Postgres(None)).port).refused(
        "postgres: SSLRequest: the server answered N: it does not do TLS on this address")


def test_mariadb(rig, pki, at):
    """Login, ping and farewell; our SSLRequest was packet 1."""
    my = at("mysql", rig.start(Mariadb(pki.ecdsa)).port)
    my.fine()
    t = my.talker(expect=(0, 32))  # it leaves without close_notify
    login = struct.pack("<IIB23x", 0x8a0d, 1 << 24, 45) + b"root\0" + b"\0"
    t.ask(mysql_packet(login, 2), b"\x03\x00\x00")  # OK, number 3
    t.ask(mysql_packet(b"\x0e", 0), b"\x01\x00\x00")
    t.stream.send(mysql_packet(b"\x01", 0))
    t.over()


def test_mariadb_without_tls(rig, at):
    at("mysql", rig.start(Mariadb(None)).port).refused("mysql: TLS is not offered (server ")


def test_inspircd(rig, pki, at):
    irc = at("irc", rig.start(Inspircd(pki.ecdsa)).port)
    irc.fine()
    t = irc.talker("--crlf")
    t.ask(b"NICK joe\nUSER joe 0 * :Joe\n", b" 001 joe ")
    t.ask(b"PING :here\n", b"here")
    t.ask(b"QUIT\n", b"ERROR :")
    t.over()
    at("irc", rig.start(Inspircd(None)).port).refused("irc: STARTTLS is not offered (capabilities: ")
