# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers of each protocol that goes over to TLS, by a script: what a client has to
have said for what a server answers, and then TLS."""

import contextlib
import re
import ssl

import ends
import servers
import tlsend

XMPP_TLS = b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
XMPP_STREAM = b"""<?xml version='1.0'?><stream:stream xmlns='jabber:client' version='1.0' id='1' from='localhost'
 xmlns:stream='http://etherx.jabber.org/streams'><stream:features>""" + XMPP_TLS + b"</stream:features>"
XMPP_ASKS = rb"(?s)<\?xml .*<stream:stream [^>]*to='[^']+'[^>]*>"
LDAP_ASKS = rb"(?s)\x30\x1d\x02\x01\x01\x77\x18\x80\x161\.3\.6\.1\.4\.1\.1466\.20037"
LDAP_YES = bytes.fromhex("300c02010178070a010004000400")
MYSQL_SALT = b"\x01\x00\x00\x00" + b"12345678" + b"\x00"


def mysql_packet(body, number=0):
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def mysql_greeting(flags=0x8a0f):
    return mysql_packet(b"\x0a8.0.0-test\x00" + MYSQL_SALT + flags.to_bytes(2, "little") + b"\x21\x02\x00\x00\x00\x00"
                        + b"\x00" * 11 + b"123456789012\x00")


# protocol: what the client says (a pattern, None: nothing), the step that the message of
# a failure names while it waits for the answer, and the answer
SCRIPTS = {
    "smtp": [(None, "greeting", b"220 mail.test ESMTP\r\n"),
             (rb"EHLO \S+\r\n", "EHLO", b"250-mail.test\r\n250-SIZE 1000\r\n250 STARTTLS\r\n"),
             (rb"STARTTLS\r\n", "STARTTLS", b"220 go ahead\r\n")],
    "lmtp": [(None, "greeting", b"220 mail.test LMTP\r\n"),
             (rb"LHLO \S+\r\n", "LHLO", b"250-mail.test\r\n250 STARTTLS\r\n"),
             (rb"STARTTLS\r\n", "STARTTLS", b"220 go ahead\r\n")],
    "imap": [(None, "greeting", b"* OK ready\r\n"),
             (rb"a1 CAPABILITY\r\n", "CAPABILITY", b"* CAPABILITY IMAP4rev1 STARTTLS\r\na1 OK done\r\n"),
             (rb"a2 STARTTLS\r\n", "STARTTLS", b"a2 OK go ahead\r\n")],
    "pop3": [(None, "greeting", b"+OK ready\r\n"),
             (rb"CAPA\r\n", "CAPA", b"+OK list\r\nUSER\r\nSTLS\r\n.\r\n"),
             (rb"STLS\r\n", "STLS", b"+OK go ahead\r\n")],
    "ftp": [(None, "greeting", b"220 ready\r\n"), (rb"AUTH TLS\r\n", "AUTH TLS", b"234 go ahead\r\n")],
    "nntp": [(None, "greeting", b"200 ready\r\n"),
             (rb"CAPABILITIES\r\n", "CAPABILITIES", b"101 list\r\nVERSION 2\r\nREADER\r\nSTARTTLS\r\n.\r\n"),
             (rb"STARTTLS\r\n", "STARTTLS", b"382 go ahead\r\n")],
    "sieve": [(None, "greeting", b'"IMPLEMENTATION" "test"\r\n"SIEVE" "fileinto"\r\n"STARTTLS"\r\nOK "ready"\r\n'),
              (rb"STARTTLS\r\n", "STARTTLS", b'OK "go ahead"\r\n')],
    "xmpp": [(XMPP_ASKS, "stream", XMPP_STREAM),
             (rb"<starttls [^>]*/>", "STARTTLS", b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")],
    "xmpp-server": [(XMPP_ASKS, "stream", XMPP_STREAM.replace(b"jabber:client", b"jabber:server")),
                    (rb"<starttls [^>]*/>", "STARTTLS", b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>")],
    "ldap": [(LDAP_ASKS, "StartTLS", LDAP_YES)],
    "postgres": [(rb"(?s)\x00\x00\x00\x08\x04\xd2\x16\x2f", "SSLRequest", b"S")],
    "mysql": [(None, "greeting", mysql_greeting()), (rb"(?s)\x20\x00\x00\x01.{32}", None, b"")],
    "irc": [(rb"CAP LS\r\nCAP END\r\nSTARTTLS\r\n", "STARTTLS", b":irc.test CAP * LS :multi-prefix tls\r\n"
             b":irc.test 670 * :go ahead\r\n")],
}


def steps(proto):
    """Those in which the client waits for an answer: their places in the script."""
    return [i for i, (_, step, _) in enumerate(SCRIPTS[proto]) if step]


def hear(conn, pattern):
    """Reads what fits the pattern whole, and not a byte behind it."""
    said = b""
    while not re.fullmatch(pattern, said):
        byte = conn.recv(1)
        if not byte:
            raise ConnectionError(f"ended after {said!r}")
        said += byte
    return said


class Scripted(servers.Server):
    """Speaks `proto`. Where it would give answer number `at`, it calls do(conn, answer)
    in its place; that gives True for going on. Then TLS, and an echo. A connection's
    result: what came over TLS, or None when it did not come to that; `heard` has what
    the clients said before."""

    def __init__(self, proto, ctx, at=None, do=None, **kw):
        self.script, self.ctx, self.at, self.do = SCRIPTS[proto], ctx, at, do
        self.heard = []
        super().__init__(**kw)

    def serve(self, conn):
        with contextlib.suppress(ConnectionError, ssl.SSLError, ends.Truncated):
            for i, (pattern, _, answer) in enumerate(self.script):
                if pattern:
                    self.heard.append(hear(conn, pattern))
                if i != self.at:
                    conn.send(answer)
                elif not self.do(conn, answer):
                    return None
            return self.echo(tlsend.Tls(conn.sock, self.ctx, server=True).handshake())
        return None

    @staticmethod
    def echo(t):
        got = b""
        while data := t.recv():
            t.send(data)
            got += data
        t.shut()
        return got
