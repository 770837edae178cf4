"""Addresses in arguments and commands, judged by what a client would connect to and not by how they are written.

A pattern of `[policy.urls]` is `[scheme://]host[:port][/path]`: `example.com` means every scheme, port and path there;
`*.example.com` its subdomains (and, in `deny` and `ask`, itself); `*` in a path stands for any characters, and a path
counts from its beginning. A host may be an address range such as `10.0.0.0/8` (then without a path). `{a,b}` is one or
the other.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rightcall.base.globs import matches
from rightcall.base.text import regex

_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ODD = regex(
    r"[\s\x00-\x20\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""What clients drop: blanks, control characters, and those of Unicode that nobody sees."""
_BEFORE = regex(r"(?:[/\\]+|[^/\\?#]*[^A-Za-z0-9+.:/\\?#-])(?=[A-Za-z][A-Za-z0-9+.-]*:[/\\]{2})")
"""What stands before a scheme and cannot be part of it: else the scheme would be taken for the host."""
_QUOTES = "\"'`<>()\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a"
"""Signs that some clients take off an address."""
_LONGEST_HOST = 1024
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22, "sftp": 22}
_METADATA = frozenset(
    ("169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "169.254.169.123", "100.100.100.200",
     "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "168.63.129.16", "metadata.google.internal", "metadata.goog",
     "metadata", "instance-data", "instance-data.ec2.internal", "metadata.azure.com", "metadata.azure.internal",
     "metadata.tencentyun.com", "metadata.packet.net")
)  # fmt: skip
"""Where a cloud hands out its credentials."""
_NAMES_FOR = regex(
    r"(?:^|[.-])((?:\d{1,3}[.-]){3}\d{1,3}|[0-9a-f]{8})\.(?:nip\.io|sslip\.io|xip\.io|traefik\.me|localtest\.me)$"
)
_AROUND = regex(r"\s*(?:view-source|blob|jar|url|feed|filesystem|wyciwyg|cache|pcast|podcast|about):(?=[a-z+.-]+:/?)")


def unquote(text: str) -> str:
    """`%41` as `A`."""
    if "%" not in text:
        return text
    from urllib.parse import unquote as unquoted  # late: few addresses need it

    return unquoted(text)


class Address(NamedTuple):
    """An address as it is understood: host in lower case, numbers as dotted quads, no user, no trailing dot."""

    scheme: str
    host: str
    port: int | None
    path: str
    user: str = ""

    @property
    def meant(self) -> str:
        """The host, or the address that its name holds: `10-0-0-1.sslip.io`."""
        found = _NAMES_FOR.search(self.host)
        if found is None:
            return self.host
        return canonical_host(f"0x{found[1]}" if len(found[1]) == 8 and "." not in found[1] and "-" not in found[1]
                              else found[1].replace("-", "."))  # fmt: skip

    @property
    def is_metadata(self) -> bool:
        host = self.meant
        return host in _METADATA or (host.startswith("169.254.") and _is_quad(host))

    @property
    def is_local(self) -> bool:
        """This very machine."""
        return (
            self.host in ("localhost", "::1", "0.0.0.0", "::", "host.docker.internal", "[::1]")
            or (self.host.startswith("127.") and _is_quad(self.host))
            or self.host.endswith(".localhost")
        )  # fmt: skip

    def __str__(self) -> str:
        port = f":{self.port}" if self.port is not None and self.port != _PORTS.get(self.scheme) else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{port}{self.path}"


def parsed(text: str, scheme: str = "") -> Address | None:
    """What a lenient client makes of an address; None where there is no host to be found. `scheme` is taken where the
    text has none. Raises ValueError for a host that is too long to be judged.

    >>> str(parsed("HTTP://a:b@0x7f.1:80/x"))
    'http://127.0.0.1/x'
    >>> str(parsed("https://EXAMPLE.com.:8443")), parsed("not an address")
    ('https://example.com:8443/', None)
    """
    if not (text.isascii() and text.isprintable()) or " " in text:
        text = _ODD.sub("", text)
    text = text.lstrip(_QUOTES)
    if not text.startswith(("https:", "http:")) and (before := _BEFORE.match(text)) is not None:
        text = text[before.end() :]
    for _ in range(8):
        around = _AROUND.match(text[:40].casefold())
        if around is None:
            break
        text = text[around.end() :]
    found = _SCHEME.match(text)
    if found is not None and (
        text.startswith("//", found.end()) or found[1].casefold() in ("file", "http", "https", "data", "javascript")
    ):
        scheme, rest = found[1].casefold(), text[found.end() :]
    elif text.startswith(("//", "\\\\")):
        scheme, rest = scheme or "https", text
    elif scheme:
        rest = text
    else:
        return None
    if scheme in ("data", "javascript", "about", "blob", "mailto"):
        return Address(scheme, "", None, rest)
    if scheme in ("file", "netdoc", "local_file", "local-file"):
        return _file(rest)
    rest = rest.replace("\\", "/").lstrip("/")
    authority, path = _split(rest)
    user, _, place = authority.rpartition("@")
    host, port = _host_and_port(place.strip(_QUOTES))
    if not host:
        return None
    if len(host) > _LONGEST_HOST:
        raise ValueError(f"a host of {len(host)} characters")
    return Address(scheme, canonical_host(host), port if port is not None else _PORTS.get(scheme), path or "/", user)


def readings(text: str, scheme: str = "") -> list[Address]:
    """Everything that clients make of an address: `\\` before `@` is a slash to some, and part of a name to others;
    wide letters and signs are the usual ones to some; and a file may have blanks in its name."""
    found = [parsed(text, scheme)]
    if "\\" in text and "@" in text:
        found.append(parsed(text.replace("\\", "%5C"), scheme))
    if not text.isascii():
        from unicodedata import normalize

        found.append(parsed(normalize("NFKC", text), scheme))
    if found[0] is not None and found[0].scheme == "file" and _ODD.search(text.strip()):
        found.append(_file(re.split("(?i)file:", text.strip(), maxsplit=1)[-1]))
    return [one for one in dict.fromkeys(found) if one is not None]


def _file(rest: str) -> Address:
    rest = rest.replace("\\", "/")
    host = ""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
    path = unquote(unquote(re.split(r"[?#]", rest, maxsplit=1)[0]))
    return Address("file", "" if host.casefold() in ("localhost", "127.0.0.1") else canonical_host(host), None,
                   "/" + path.lstrip("/"))  # fmt: skip


def _split(rest: str) -> tuple[str, str]:
    found = re.search(r"[/?#]", rest)
    if found is None:
        return rest, ""
    path = rest[found.start() :]
    return rest[: found.start()], path if path.startswith("/") else "/" + path


def _split_host(place: str) -> tuple[str, str]:
    """A host and what stands behind its colon."""
    if place.startswith("["):
        host, _, after = place[1:].partition("]")
        return host, after.removeprefix(":")
    if place.count(":") > 1:
        return place, ""
    host, _, port = place.partition(":")
    return host, port


def _host_and_port(place: str) -> tuple[str, int | None]:
    host, port = _split_host(place)
    if ":" in host and not place.startswith("[") and _six(host.partition("%")[0]) is None:
        host, port = place.split(":")[:2]
    port = port.lstrip("0") or port[:1]  # as many zeros as one likes
    return host, int(port) if port.isascii() and port.isdigit() and len(port) < 6 else None


@lru_cache(1024)
def canonical_host(host: str) -> str:
    """A name in lower case without a trailing dot, its letters as ASCII; a number in any notation as it is usual.

    >>> canonical_host("2852039166"), canonical_host("0xA9FEA9FE"), canonical_host("[::ffff:a9fe:a9fe]")
    ('169.254.169.254', '169.254.169.254', '169.254.169.254')
    """
    host = unquote(host[:_LONGEST_HOST])
    if not (host.isascii() and host.isprintable()) or " " in host:
        host = _ODD.sub("", host)
    host = host.strip("[]").partition("%")[0]
    if not host.isascii():
        from unicodedata import normalize

        host = normalize("NFKC", host).replace("\u3002", ".").replace("\uff0e", ".").replace("\uff61", ".")
        host = ".".join(_ascii(part) for part in host.split("."))
    host = host.casefold().rstrip(".")
    return _quad(host) or _six(host) or host


def _ascii(label: str) -> str:
    if label.isascii():
        return label
    try:
        return "xn--" + label.casefold().encode("punycode").decode("ascii")
    except UnicodeError:
        return label


def _quad(host: str) -> str | None:
    """IPv4 as the oldest libraries read it: decimal, octal and hexadecimal parts, and fewer than four of them."""
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(parts):
        return None
    numbers: list[int] = []
    for part in parts:
        number = _number(part)
        if number is None:
            return None
        numbers.append(number)
    last = numbers.pop()
    if any(number > 255 for number in numbers) or last >= 256 ** (4 - len(numbers)):
        return None
    whole = sum(number << 8 * (3 - at) for at, number in enumerate(numbers)) + last
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _number(part: str) -> int | None:
    if not part.isascii() or not part[:1].isdigit():
        return None
    part = re.sub(r"^(0x|0)0+(?=.)", r"\1", part)  # as many zeros as one likes
    if len(part) > 12:
        return None
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        if len(part) > 1 and part[0] == "0" and part.isdigit():
            return int(part, 8)
        return int(part) if part.isdigit() else None
    except ValueError:
        return None


def _is_quad(host: str) -> bool:
    return re.fullmatch(r"\d+\.\d+\.\d+\.\d+", host) is not None


def _six(host: str) -> str | None:
    if ":" not in host:
        return None
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if inner is None and int(address) >> 32 in (0, 0x64FF9B << 64, 0xFFFF << 16) and int(address) > 0xFFFF:
        return _quad(str(int(address) & 0xFFFFFFFF))
    return str(inner) if inner is not None else str(address)


class UrlPattern(NamedTuple):
    """One line of a list, ready to be matched."""

    scheme: str
    host: str
    port: int | None
    path: str

    def hits(self, address: Address, *, surely: bool = False) -> bool:
        if self.scheme and not matches(self.scheme, address.scheme):
            return False
        if self.port is not None and self.port != address.port:
            return False
        if not _host_hits(self.host, address.host, surely) and (
            surely or address.meant == address.host or not _host_hits(self.host, address.meant, surely)
        ):
            return False
        if surely and address.user and address.scheme in ("http", "https"):
            return False  # a name before `@` is there to mislead
        return not self.path or _path_hits(self.path, address.path, surely)


_THIS_MACHINE = frozenset(("localhost", "127.0.0.1", "::1"))
"""Names of one host."""


def _host_hits(wanted: str, host: str, surely: bool) -> bool:
    if "/" in wanted:
        return _in_range(wanted, host)
    if wanted.startswith("*.") and not surely and host == wanted[2:]:
        return True
    if wanted in _THIS_MACHINE and host in _THIS_MACHINE:
        return True
    return matches(wanted, host)


def _in_range(wanted: str, host: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(wanted, strict=False)
    except ValueError:
        return False


def _path_hits(wanted: str, path: str, surely: bool) -> bool:
    clean = unquote(unquote(path)).partition("?")[0].partition("#")[0]
    if surely and (".." in clean or "\\" in clean):
        return False
    whole = _resolved(clean)
    return matches(wanted, whole) or matches(wanted + "/*", whole) or (not wanted)


def _resolved(path: str) -> str:
    """A path without `.`, `..` and empty parts."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


@lru_cache(1024)
def compiled_url(text: str) -> tuple[UrlPattern, ...]:
    """What a pattern means: one, or several by its braces. Raises ValueError with what is wrong, and an example."""
    if not text or text != text.strip() or not text.isprintable() or " " in text:
        raise ValueError('must be an address or a part of one, such as "*.example.com" or "https://example.com/docs"')
    from rightcall.policy.commands.words import alternatives  # late: only policies need it

    return tuple(map(_url_pattern, alternatives(text)))


def _url_pattern(text: str) -> UrlPattern:
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    if "@" in rest or "?" in rest or "#" in rest:
        raise ValueError(
            "has a user, a query or a fragment, which are never compared; name scheme, host, port and path"
        )
    if not re.fullmatch(r"[A-Za-z0-9+.*-]*", scheme) or re.search(r"[{}\\]", rest):
        raise ValueError('is not a URL; write it as in "https://example.com/docs"')
    from ipaddress import ip_network

    if re.fullmatch(r"[0-9a-fA-F.:]+/\d{1,3}", rest):
        try:
            return UrlPattern(scheme.casefold(), str(ip_network(rest, strict=False)), None, "")
        except ValueError:
            raise ValueError('is not a range of addresses, such as "10.0.0.0/8"') from None
    authority, slash, path = rest.partition("/")
    if re.search(r"[\[\]]", path):
        raise ValueError("has brackets in its path, and `*` is the only wildcard: write `*` instead")
    host, port = _pattern_host(authority)
    if not host and scheme.casefold() != "file":
        raise ValueError('must name a host, such as "example.com" or "*"')
    return UrlPattern(scheme.casefold(), host, port, _resolved(unquote(unquote(path))).rstrip("/") if slash else "")


def _pattern_host(authority: str) -> tuple[str, int | None]:
    """Raises ValueError for a host that no address has."""
    host, port = _split_host(authority)
    if authority.endswith(":") or (
        port and port != "*" and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)
    ):
        raise ValueError("has an invalid port; expected 1 to 65535")
    if host.startswith("."):
        host = f"*{host}"  # as other lists write the subdomains
    if re.search(r"[\[\]]", authority) and not re.fullmatch(r"\[[^\[\]]+\](?::[\d*]+)?", authority):
        raise ValueError('has brackets that are not around an IPv6 address, as in "http://[::1]:8080"')
    if (":" in host or authority.startswith("[")) and "*" not in host and _six(host.partition("%")[0]) is None:
        raise ValueError('has an IPv6 address that is none; write it as in "http://[::1]:8080"')
    found = canonical_host(host)
    if ".." in found or any("*" in label and not label.isascii() for label in host.split(".")):
        raise ValueError("has a name that no host has; write its parts as letters, or a `*` for a whole part")
    return found, int(port) if port and port != "*" else None


def first_url_hit(patterns: Sequence[str], address: Address, *, surely: bool = False) -> str | None:
    """The first pattern of a list that means this address."""
    return next(
        (text for text in patterns if any(one.hits(address, surely=surely) for one in compiled_url(text))), None
    )
