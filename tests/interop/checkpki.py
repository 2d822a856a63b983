# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole PKI for `connect --check`: CAs below each other, cross-signed, expired and
limited; a server's certificate for each thing that can be wrong with it; and what
CAs say of them: CRLs, OCSP answers, TLSA records, SCTs."""

import datetime
import hashlib
import ipaddress
import struct

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID as Access
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

import pki
from pki import DAY, LOCAL, NOW

YEAR = 365 * DAY
EPOCH = datetime.datetime(1970, 1, 1)
SCT_EXTENSION = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
UNKNOWN_EXTENSION = x509.ObjectIdentifier("1.3.6.1.4.1.99999.1")
SHA256_RSA, SHA1_RSA = bytes.fromhex("2a864886f70d01010b"), bytes.fromhex("2a864886f70d010105")  # object identifiers
DOMAIN_VALIDATED = x509.ObjectIdentifier("2.23.140.1.2.1")  # what public CAs put in
IDN, IDN_ASCII = "bücher.test", "xn--bcher-kva.test"


def der(cert):
    return cert.public_bytes(Encoding.DER)


def fingerprint(cert):
    return hashlib.sha256(der(cert)).hexdigest()


def common_name(cert):
    return cert.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value


class Shown(pki.Cred):
    """A certificate and what a server sends with it, in that order: `sent`. `leaf`
    and `rest` are files with the first and the others (None: there are none);
    `issuer` is the Cred that signed it, `names` are the DNS names and addresses it is for."""

    def __init__(self, path, name, cert, key, issuer=None, chain=(), names=()):
        super().__init__(path, name, cert, key, chain)
        self.sent, self.issuer, self.names = [cert, *chain], issuer, list(names)
        self.leaf = pki.write(path, name + "-leaf.pem", pki.pem_cert(cert))
        self.rest = pki.write(path, name + "-rest.pem", b"".join(map(pki.pem_cert, chain))) if chain else None


# --- extensions -----------------------------------------------------------------------


def sct_list(scts):
    """The extension with a SignedCertificateTimestampList (RFC 6962, 3.3) of (log id,
    milliseconds); the signatures are made up."""
    def one(log, at):
        body = struct.pack("!B32sQHBBH", 0, log, at, 0, 4, 3, 8) + b"\x30\x06\x02\x01\x01\x02\x01\x01"
        return struct.pack("!H", len(body)) + body
    body = b"".join(one(*s) for s in scts)
    body = struct.pack("!H", len(body)) + body
    return x509.UnrecognizedExtension(SCT_EXTENSION, octets(body))


def octets(body):
    """DER of an OCTET STRING."""
    n = len(body)
    return b"\x04" + (bytes([n]) if n < 128 else bytes([0x81, n])) + body


def access(ocsp_url=None, issuer_url=None):
    """Authority information access."""
    pairs = (Access.OCSP, ocsp_url), (Access.CA_ISSUERS, issuer_url)
    return (x509.AuthorityInformationAccess(
        [x509.AccessDescription(oid, x509.UniformResourceIdentifier(url)) for oid, url in pairs if url]), False)


def only_for(*names):
    """Name constraints: DNS names and addresses below which alone may be certified."""
    def one(name):
        try:
            return x509.IPAddress(ipaddress.ip_network(name))
        except ValueError:
            return x509.DNSName(name)
    return (x509.NameConstraints([one(n) for n in names], None), True)


MUST_STAPLE = (x509.TLSFeature([x509.TLSFeatureType.status_request]), False)
FROM_PUBLIC_CA = (x509.CertificatePolicies([x509.PolicyInformation(DOMAIN_VALIDATED, None)]), False)
CRITICAL = (x509.UnrecognizedExtension(UNKNOWN_EXTENSION, b"\x05\x00"), True)


# --- all of it ------------------------------------------------------------------------


class CheckPki:
    """CAs are attributes; so are the servers' certificates (Shown), made by servers()
    and those behind it. `ca` is the file of what clients trust."""

    LOGS = [(bytes([i] * 32), 1_700_000_000_000 + i) for i in (1, 2, 3)]

    def __init__(self, path):
        self.path = str(path)
        self.authorities()
        self.old_and_young()
        self.servers()
        self.weak()
        self.chains()
        self.clients()

    def file(self, name, data):
        return pki.write(self.path, name, data)

    # CAs

    def authority(self, name, issuer=None, key=None, end=NOW + YEAR, cn=None, **kw):
        """issuer None: a root."""
        key = key or pki.ec_key()
        by = issuer and (issuer.x509.subject, issuer.priv)
        cert = pki.issue(pki.subject(cn or name), key, by, ca=True, end=end, **kw)
        return Shown(self.path, name.replace(" ", "-"), cert, key, issuer)

    def authorities(self):
        self.root, self.other = self.authority("root"), self.authority("other root")
        self.middle = self.authority("middle", self.root)
        self.upper = self.authority("upper", self.root)
        self.lower = self.authority("lower", self.upper)
        self.over = self.authority("over", self.root, start=NOW - YEAR, end=NOW - 2 * DAY)
        self.elsewhere = self.authority("elsewhere", self.root, extra=[only_for("example.test")])
        self.here = self.authority("here", self.root, extra=[only_for("localhost", "127.0.0.0/8", "::1/128")])
        self.short = self.authority("short", self.root, length=0)
        self.beneath = self.authority("beneath", self.short)
        self.for_clients = self.authority("for clients", self.root, usage=Usage.CLIENT_AUTH)
        self.small = self.authority("small", self.root, key=rsa.generate_private_key(65537, 1024))
        self.rsa_middle = self.authority("rsa middle", self.root, key=rsa.generate_private_key(65537, 2048))
        self.sha1_middle = self.signed_with_sha1(self.authority("sha1 middle", self.rsa_middle))

    def old_and_young(self):
        """A CA that an older one once certified: by itself, by one that expired, and
        by one that did not (the case of AddTrust)."""
        self.young = self.authority("young")
        self.old = self.authority("old", start=NOW - 9 * YEAR, end=NOW - DAY)
        self.elder = self.authority("elder")
        self.young_by_old = self.authority(
            "young by old", self.old, key=self.young.priv, cn="young", start=NOW - 9 * YEAR, end=NOW - DAY)
        self.young_by_elder = self.authority("young by elder", self.elder, key=self.young.priv, cn="young")
        self.below_young = self.authority("below young", self.young)
        self.ca = self.file("ca.pem", pki.pem_cert(self.root.x509) + pki.pem_cert(self.young.x509))

    def signed_with_sha1(self, cred):
        """The same certificate with another signature, by its issuer's RSA key; the
        module refuses to make one."""
        tbs = cred.x509.tbs_certificate_bytes.replace(SHA256_RSA, SHA1_RSA)
        signature = cred.issuer.priv.sign(tbs, padding.PKCS1v15(), hashes.SHA1())
        whole = der(cred.x509).replace(cred.x509.tbs_certificate_bytes, tbs).replace(SHA256_RSA, SHA1_RSA)
        cert = x509.load_der_x509_certificate(whole[:-len(signature)] + signature)
        return Shown(self.path, cred.name, cert, cred.priv, cred.issuer, cred.sent[1:], cred.names)

    # servers

    def server(self, name, issuer="middle", key=None, cn=None, san=tuple(LOCAL), chain=None, usage=Usage.SERVER_AUTH,
               **kw):
        """issuer: a CA's attribute, or None for itself. chain: what is sent with it, by
        default the issuer, if that is no root."""
        key, by = key or pki.ec_key(), issuer and getattr(self, issuer)
        if chain is None:
            chain = [by] if by and by.issuer else []
        cert = pki.issue(pki.subject(cn or (san or ["localhost"])[0]), key, by and (by.x509.subject, by.priv),
                         san=san, usage=usage, **kw)
        shown = Shown(self.path, name, cert, key, by, [c.x509 for c in chain], san)
        setattr(self, name, shown)
        return shown

    def servers(self):
        self.server("good")
        self.server("by_root", "root")
        self.server("ed25519", key=ed25519.Ed25519PrivateKey.generate())
        self.server("rsa", key=pki.rsa_key())
        self.server("expired", start=NOW - 30 * DAY, end=NOW - DAY)
        self.server("notyet", start=NOW + 2 * DAY, end=NOW + 30 * DAY)
        self.server("wronghost", san=("other.test", "www.other.test"))
        self.server("selfsigned", None)
        self.server("three_faults", None, san=("other.test",), start=NOW - 30 * DAY, end=NOW - DAY)
        self.server("nosan", cn="localhost", san=())
        self.server("only_v4", san=("127.0.0.1",))
        self.server("only_v6", san=("::1",))
        self.server("wildcard", san=("*.wild.test",))
        self.server("idn", san=(IDN_ASCII,))
        self.server("sixday", start=NOW - DAY, end=NOW + 5 * DAY)
        self.server("muststaple", extra=[MUST_STAPLE])
        self.server("revoked")
        self.server("clientonly", usage=Usage.CLIENT_AUTH)
        self.server("many", san=[f"host-{i:04}.example.test" for i in range(2000)] + LOCAL, cn="many")
        self.server("scts", extra=[(sct_list(self.LOGS), False)])
        self.server("badscts", extra=[(x509.UnrecognizedExtension(SCT_EXTENSION, octets(b"\x00\x09abc")), False)])
        self.server("longlife", end=NOW + 500 * DAY, extra=[FROM_PUBLIC_CA])
        self.server("critical", extra=[CRITICAL])
        self.server("second", san=("second.test",))

    def weak(self):
        self.server("rsa1024", key=rsa.generate_private_key(65537, 1024))
        self.server("sha1", "rsa_middle")
        self.sha1 = self.signed_with_sha1(self.sha1)
        self.server("below_small", "small")
        self.server("below_sha1", "sha1_middle", chain=[self.sha1_middle, self.rsa_middle])

    def chains(self):
        three = [self.lower, self.upper]
        self.server("deep", "lower", chain=three)
        self.server("alone", "middle", chain=[], extra=[access(issuer_url="http://ca.test/middle.der")])
        self.server("gap", "lower", chain=[self.lower])
        self.server("backwards", "lower", chain=three[::-1])
        self.server("withroot", chain=[self.middle, self.root])
        self.server("twice", chain=[self.middle, self.middle])
        self.server("withuseless", chain=[self.middle, self.upper])
        self.server("strange_root", "other", chain=[self.other])
        self.server("below_over", "over")
        self.server("below_elsewhere", "elsewhere")
        self.server("below_here", "here")
        self.server("below_beneath", "beneath", chain=[self.beneath, self.short])
        self.server("below_for_clients", "for_clients")
        self.server("below_good", "good", chain=[self.good, self.middle])
        self.server("crossed_over", "below_young", chain=[self.below_young, self.young_by_old])
        self.server("crossed", "below_young", chain=[self.below_young, self.young_by_elder])
        self.server("altered")
        self.altered = self.spoilt(self.altered)

    def spoilt(self, cred):
        """The last byte of the signature is another one."""
        raw = bytearray(der(cred.x509))
        raw[-1] ^= 1
        cert = x509.load_der_x509_certificate(bytes(raw))
        return Shown(self.path, cred.name, cert, cred.priv, cred.issuer, cred.sent[1:], cred.names)

    def clients(self):
        self.client_root, self.client_other = self.authority("client root"), self.authority("client other")
        dates = {"start": NOW - 9 * DAY, "end": NOW - DAY}
        for name, by, kw in (("client", "client_root", {}), ("client_foreign", "client_other", {}),
                             ("client_expired", "client_root", dates)):
            self.server(name, by, san=("client.test",), usage=Usage.CLIENT_AUTH, **kw)

    # what CAs say of them

    def crl(self, name, issuer, *revoked, start=NOW - DAY, end=NOW + 7 * DAY):
        """The file of a revocation list of certificates."""
        b = x509.CertificateRevocationListBuilder().issuer_name(issuer.x509.subject).last_update(start).next_update(end)
        b = b.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.priv.public_key()), False)
        b = b.add_extension(x509.CRLNumber(1), False)
        for cert in revoked:
            b = b.add_revoked_certificate(x509.RevokedCertificateBuilder().serial_number(cert.serial_number)
                                          .revocation_date(NOW - DAY).build())
        return self.file(name, b.sign(issuer.priv, pki.hash_for(issuer.priv)).public_bytes(Encoding.PEM))

    def answer(self, cred, status="good", by=None, start=NOW - DAY, end=NOW + 6 * DAY):
        """An OCSP answer about cred, DER, that its issuer signs, or another one."""
        good, revoked = status == "good", status == "revoked"
        signer = by or cred.issuer
        b = ocsp.OCSPResponseBuilder().add_response(
            cert=cred.x509, issuer=cred.issuer.x509, algorithm=hashes.SHA1(),
            cert_status=ocsp.OCSPCertStatus.GOOD if good else
            ocsp.OCSPCertStatus.REVOKED if revoked else ocsp.OCSPCertStatus.UNKNOWN,
            this_update=start, next_update=end, revocation_time=NOW - 3 * DAY if revoked else None,
            revocation_reason=x509.ReasonFlags.key_compromise if revoked else None)
        b = b.responder_id(ocsp.OCSPResponderEncoding.HASH, signer.x509)
        return b.sign(signer.priv, pki.hash_for(signer.priv)).public_bytes(Encoding.DER)

    def refusal(self):
        """The responder's "try later", DER."""
        return ocsp.OCSPResponseBuilder.build_unsuccessful(
            ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(Encoding.DER)


def tlsa(usage, selector, matching, cert):
    """A TLSA record (RFC 6698) about a certificate, as it is typed."""
    data = cert.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) if selector else der(cert)
    digests = {0: lambda d: d, 1: lambda d: hashlib.sha256(d).digest(), 2: lambda d: hashlib.sha512(d).digest()}
    return f"{usage} {selector} {matching} {digests[matching](data).hex()}"
