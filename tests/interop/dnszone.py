# SPDX-License-Identifier: GPL-3.0-or-later
"""A root zone of our own, signed by its own key (RFC 4034, 4035), and a name server on
loopback that tells of it as a resolver would, or as one that lies, fails or is silent;
dnssec.py has a good one, of others' making. Names are in lower case and without the last
dot; the root is "". (libunbound answers names below test and invalid itself.)"""

import base64
import random
import select
import socket
import struct
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

import ends

A, NS, CNAME, SOA, AAAA, OPT, DS, RRSIG, NSEC, DNSKEY, TLSA = 1, 2, 5, 6, 28, 41, 43, 46, 47, 48, 52
OK, SERVFAIL, NXDOMAIN = 0, 2, 3
IN, TTL, HOUR, DO = 1, 60, 3600, 0x8000
ECDSA_P256 = 13  # RFC 6605


def labels(name):
    return name.split(".") if name else []


def wire(name):
    return b"".join(struct.pack("B", len(label)) + label.encode() for label in labels(name)) + b"\0"


def order(name):
    """Canonical (RFC 4034, 6.1)."""
    return [label.encode() for label in reversed(labels(name))]


def parents(name):
    """The names above, nearest first, and the root last."""
    rest = labels(name)
    return [".".join(rest[i:]) for i in range(1, len(rest) + 1)]


def bitmap(types):
    """The types of an NSEC record; all that are used here stand in window 0."""
    octets = bytearray(max(types) // 8 + 1)
    for t in types:
        octets[t // 8] |= 0x80 >> t % 8
    return bytes([0, len(octets)]) + octets


class Key:
    """Of a zone: the only one, which signs all."""

    def __init__(self):
        self.priv = ec.generate_private_key(ec.SECP256R1())
        n = self.priv.public_key().public_numbers()
        self.public = n.x.to_bytes(32, "big") + n.y.to_bytes(32, "big")
        self.rdata = struct.pack("!HBB", 257, 3, ECDSA_P256) + self.public
        total = sum(b << 8 if i % 2 == 0 else b for i, b in enumerate(self.rdata))  # RFC 4034, appendix B
        self.tag = total + (total >> 16) & 0xffff

    def sign(self, name, kind, rdatas):
        """The RRSIG over a set of records of the root zone."""
        now = int(time.time())
        head = struct.pack("!HBBIIIH", kind, ECDSA_P256, len(labels(name)), TTL, now + HOUR, now - HOUR, self.tag)
        head += wire("")
        body = b"".join(wire(name) + struct.pack("!HHIH", kind, IN, TTL, len(d)) + d for d in sorted(rdatas))
        r, s = decode_dss_signature(self.priv.sign(head + body, ec.ECDSA(hashes.SHA256())))
        return head + r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Zone:
    """The root. What is below a name of `unsigned` was handed on to others, who sign
    nothing. The sets in `forged`, (name, type), have a signature that is wrong; those in
    `hidden` are answered as if they were not there, and without a proof of that."""

    def __init__(self):
        self.key, self.sets, self.unsigned = Key(), {}, set()
        self.forged, self.hidden = set(), set()
        self.add("", SOA, wire("ns") + wire("hostmaster") + struct.pack("!IIIII", 1, HOUR, HOUR, HOUR, TTL))
        self.add("", NS, wire("ns"))
        self.add("", DNSKEY, self.key.rdata)

    @property
    def anchor(self):
        """What a validator has to trust, as a line."""
        return f". IN DNSKEY 257 3 {ECDSA_P256} {base64.b64encode(self.key.rdata[4:]).decode()}\n"

    def add(self, name, kind, *rdatas):
        self.sets.setdefault((name, kind), []).extend(rdatas)

    def host(self, name):
        self.add(name, A, socket.inet_aton("127.0.0.1"))

    def alias(self, name, to):
        self.add(name, CNAME, wire(to))

    def tlsa(self, name, *records):
        """records: as they are typed, "3 1 1 HEX"."""
        for usage, selector, matching, data in (r.split(" ", 3) for r in records):
            self.add(name, TLSA, bytes([int(usage), int(selector), int(matching)]) + bytes.fromhex(data))

    def hand_on(self, name):
        """A delegation without a DS record: who is below is not signed."""
        self.add(name, NS, wire("ns." + name))
        self.unsigned.add(name)

    def names(self):
        """Those of this zone in order, and those that only have others below them."""
        own = {name for name, _ in self.sets if not self.is_unsigned(name)}
        return sorted(own.union(*(parents(name) for name in own)), key=order)

    def is_unsigned(self, name):
        return any(p in self.unsigned for p in parents(name))

    def signed(self, name, kind, rdatas):
        """A set and its signature, as (name, type, rdata)."""
        sigs = []
        if not self.is_unsigned(name):
            sig = self.key.sign(name, kind, rdatas)
            sigs = [sig[:-1] + bytes([sig[-1] ^ 1]) if (name, kind) in self.forged else sig]
        return [(name, kind, d) for d in rdatas] + [(name, RRSIG, s) for s in sigs]

    def nsec(self, name):
        """The record that says what there is at a name and that there is nothing between
        it and the next one; of a name that is not there, the one before it."""
        names = self.names()
        at = [n for n in names if order(n) <= order(name)][-1]
        types = {t for n, t in self.sets if n == at} | {RRSIG, NSEC}
        return self.signed(at, NSEC, [wire(names[(names.index(at) + 1) % len(names)]) + bitmap(types)])

    def denial(self, name):
        """The proof that a name, or what was asked for there, does not exist."""
        proof = self.signed("", SOA, self.sets["", SOA]) + self.nsec(name)
        if name not in self.names():
            above = next(p for p in parents(name) if p in self.names())
            proof += [rr for rr in self.nsec("*." + above if above else "*") if rr not in proof[2:]]
        return proof

    def lookup(self, name, kind):
        """(rcode, records of the answer, records beside it)."""
        found, at = [], name
        while (at, CNAME) in self.sets and kind != CNAME:
            found += self.signed(at, CNAME, self.sets[at, CNAME])
            at = labels_of(self.sets[at, CNAME][0])
        if (at, kind) in self.hidden:
            return OK, found, []
        if (at, kind) in self.sets:
            return OK, found + self.signed(at, kind, self.sets[at, kind]), []
        there = any(n == at or n.endswith("." + at) for n, _ in self.sets) or at == ""
        return OK if there else NXDOMAIN, found, [] if self.is_unsigned(at) else self.denial(at)


def labels_of(data):
    """The name at the beginning of data, which holds no pointer."""
    out = []
    while data[0]:
        out.append(data[1:1 + data[0]].decode().lower())
        data = data[1 + data[0]:]
    return ".".join(out)


def records(rrs):
    return b"".join(wire(name) + struct.pack("!HHIH", kind, IN, TTL, len(d)) + d for name, kind, d in rrs)


class NameServer:
    """Answers from a zone at `address`, port 53, by UDP and TCP. `moods`, by (name, type)
    or by type: "silent", or an rcode to answer with. `asked` has what came, as (name,
    type, "udp" | "tcp")."""

    def __init__(self, zone, moods=(), dnssec=True):
        self.zone, self.moods, self.dnssec, self.asked = zone, dict(moods), dnssec, []
        self.udp, self.tcp = bind()
        self.address = self.udp.getsockname()[0]
        self.stopping = False
        self.loop = ends.Task(self.run)

    def run(self):
        while not self.stopping:
            ready = select.select([self.udp, self.tcp], [], [])[0]
            if self.udp in ready:
                query, peer = self.udp.recvfrom(65535)
                if query and (answer := self.answer(query, "udp")):
                    self.udp.sendto(answer, peer)
            if self.tcp in ready:
                self.serve(self.tcp.accept()[0])

    def serve(self, conn):
        """One question by TCP."""
        with conn, conn.makefile("rb") as f:
            conn.settimeout(ends.WAIT)
            answer = self.answer(f.read(*struct.unpack("!H", f.read(2))), "tcp")
            if answer:
                conn.sendall(struct.pack("!H", len(answer)) + answer)

    def answer(self, query, by):
        ident, flags, _, _, _, extra = struct.unpack("!6H", query[:12])
        name = labels_of(query[12:])
        end = 12 + len(wire(name)) + 4
        question, kind = query[12:end], struct.unpack("!H", query[end - 4:end - 2])[0]
        room, wishes = struct.unpack("!xxxHxxH", query[end:end + 9]) if extra else (512, 0)
        self.asked.append((name, kind, by))
        mood = self.moods.get((name, kind), self.moods.get(kind))
        if mood == "silent":
            return None
        rcode, found, beside = (mood, [], []) if mood is not None else self.zone.lookup(name, kind)
        if not (wishes & DO and self.dnssec):
            found, beside = ([rr for rr in rrs if rr[1] not in (RRSIG, NSEC)] for rrs in (found, beside))
        opt = b"\0" + struct.pack("!HHIH", OPT, 1232, DO, 0) if extra else b""
        flags = 0x8080 | flags & 0x0110 | rcode  # an answer, recursion is there; RD and CD as asked
        body = records(found) + records(beside) + opt
        if by == "udp" and 12 + len(question) + len(body) > room:
            flags, found, beside, body = flags | 0x0200, [], [], opt  # TC: ask again by TCP
        return struct.pack("!6H", ident, flags, 1, len(found), len(beside), extra and 1) + question + body

    def stop(self):
        if self.stopping:
            return
        self.stopping = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"", self.udp.getsockname())  # wakes it
        self.loop.done()
        self.udp.close()
        self.tcp.close()


def bind():
    """Port 53 of an address of loopback that nobody else uses, by UDP and TCP. Raises
    PermissionError where that takes rights that we lack."""
    for _ in range(20):
        address = "127.{}.{}.{}".format(*(random.randrange(1, 255) for _ in range(3)))
        udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
        try:
            udp.bind((address, 53))
            tcp.bind((address, 53))
            tcp.listen(16)
            return udp, tcp
        except OSError as e:
            udp.close()
            tcp.close()
            if isinstance(e, PermissionError):
                raise
    raise AssertionError("port 53 is taken at twenty addresses of loopback")
