"""A real console on loopback, and a browser of few words: it sends what a test says, and keeps nothing."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from http.client import HTTPConnection
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.console.people import add_person, enter, make_link
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.policy.types import May
from rightcall.record.tables import Store

HERE = {"sec-fetch-site": "same-origin"}
PAGE = {"accept": "text/html"}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    def field(self, name: str) -> str:
        """The value of a hidden field of its form."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        return unescape(found[1]) if found else ""


class Browser:
    """One person's."""

    def __init__(self, address: Address, secret: str = "") -> None:
        self.address = address
        self.secret = secret

    def ask(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.address.port, timeout=30)
        try:
            sent = {"host": f"127.0.0.1:{self.address.port}"} | dict(headers or {})
            if self.secret:
                sent.setdefault("cookie", f"{self.address.cookie}={self.secret}")
            if body is not None:
                sent.setdefault("content-type", "application/x-www-form-urlencoded")
            connection.request(method, path, body, sent)
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, names, found.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, PAGE | headers)

    def post(self, path: str, form: Mapping[str, object] | None = None, **headers: str) -> Answer:
        return self.ask("POST", path, PAGE | (headers or HERE), urlencode(form or {}, doseq=True))


@contextmanager
def opened(store: Store, policy: Policy | None = None) -> Generator[Address]:
    rules = policy or Policy()
    with console_running(Console(store, lambda: rules), ConsoleSettings(port=0)) as address:
        yield address


def session(store: Store, name: str, may: May = "approve") -> str:
    """The secret of a session of a new person."""
    store.transact(lambda tables: add_person(tables, name, may, "root"))
    link = store.transact(lambda tables: make_link(tables, name, "root"))
    found = store.transact(lambda tables: enter(tables, link, "link"))
    assert found is not None
    return found[1]


def certificate(folder: Path, host: str = "localhost") -> tuple[Path, Path]:
    """A certificate that vouches for itself, for a name and 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "console.pem", folder / "console.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
    return files
