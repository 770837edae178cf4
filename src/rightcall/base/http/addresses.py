"""The address of a server, as people write it, and the headers that travel to and from it."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.text.escape import escaped

Headers = list[tuple[bytes, bytes]]
"""Names are in lower case."""

_SECURE = {"http": False, "https": True}


class Address(Struct, frozen=True):
    """Where a server is. `path` has no slash at its end."""

    host: str
    port: int
    secure: bool
    path: str

    @property
    def authority(self) -> str:
        """As the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Kept for the addresses seen last: it is asked with every request."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_address(url: str, rule: str, keys: str) -> Address:
    """Reads a server's URL. Raises ConfigError that begins with `rule` and, where the URL has a password, says where
    `keys` go instead; it never repeats the URL: people put keys into URLs.

    >>> read_address("http://localhost:11434/v1/", "", "").authority
    'localhost:11434'
    """
    # which `urlsplit` would take out in silence
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ConfigError(f"{rule}: without blanks and control characters")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as wrong:
        raise ConfigError(f"{rule}: {escaped(str(wrong), 100)}") from None
    if port == 0:
        raise ConfigError(f"{rule}: a port is a number from 1 to 65535")
    if parts.scheme not in _SECURE:
        raise ConfigError(f"{rule}: it begins with http:// or https://")
    if not host or not _is_printable_ascii(host):
        raise ConfigError(f"{rule}: it names no host, or not in ASCII")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{rule}: without a user or password; {keys}")
    if parts.query or parts.fragment:
        raise ConfigError(f"{rule}: without ? and #")
    if not _is_printable_ascii(parts.path):
        raise ConfigError(f"{rule}: a path is ASCII, with %XX for everything else")
    secure = _SECURE[parts.scheme]
    return Address(host, port or (443 if secure else 80), secure, parts.path.rstrip("/"))


def _is_printable_ascii(text: str) -> bool:
    return all("!" <= character <= "~" for character in text)


def header_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The first header of this name, in lower case; empty where there is none."""
    return next((value for key, value in headers if key == name), b"")


def length_of(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % len(body))
