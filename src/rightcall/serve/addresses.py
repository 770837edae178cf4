"""The upstream's address, how a client's path is joined to it, and which headers travel with a request.

**Paths.** People write the upstream with or without `/v1`, and so do the clients' base URLs. Where the end of the one
is the beginning of the other it is taken once:

    upstream http://h            client /v1/models          →  /v1/models
    upstream http://h/v1         client /v1/models          →  /v1/models
    upstream http://h/api/v1     client /v1/models          →  /api/v1/models
    upstream http://h/v1         client /chat/completions   →  /v1/chat/completions

Ollama's own API, and what llama.cpp tells of itself, lie beside `/v1`, not below it, so a client's `/api/…` or `/props`
leaves the upstream's `/v1` away:

    upstream http://h/v1         client /api/chat           →  /api/chat

The client's bytes are never quoted anew: what it sent as `%2F` arrives as `%2F`. Nor are they resolved: a path that
climbs (`..`, however it is quoted) is refused where the upstream has a path that it could climb out of.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

from rightcall.base.http.addresses import Address, Headers, read_address
from rightcall.errors import CallError
from rightcall.serve.browsers import acts, as_data

OWN = b"x-rightcall"
"""The beginning of the headers that are between the client and us."""

_RULE = "--upstream must be an address such as http://localhost:11434 or https://api.example.com/v1"
_SLASHES = re.compile(r"[/\\]")  # some servers take the other one for it
_OF_ONE_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OF_ONE_REQUEST = _OF_ONE_HOP | {b"host", b"content-length", b"expect"}


def address_of(url: str) -> Address:
    """Reads an upstream's URL."""
    return read_address(url, _RULE, "keys come from the client, in a header")


def joined(base: str, target: str) -> str:
    """The client's path and query below the upstream's path, see above. Raises CallError for a path that would leave
    it."""
    path = target.partition("?")[0]
    if base and "." in (plain := unquote(path)) and any(map(_climbs, _SLASHES.split(plain))):
        raise CallError("a path with .. in it could leave the path of --upstream, and is not passed on")
    if base.endswith("/v1") and (path.startswith("/api/") or path == "/props"):
        base = base[: -len("/v1")]
    common = _common(base, path)
    return base[: len(base) - common] + target


def _climbs(segment: str) -> bool:
    """Also with parameters behind it, which some servers take off first."""
    return segment.partition(";")[0] == ".."


def _common(base: str, path: str) -> int:
    """How many characters at the end of `base` are the beginning of `path`, whole segments only."""
    start = base.find("/")
    while start != -1:
        end = base[start:]
        if path == end or path.startswith(end + "/"):
            return len(end)
        start = base.find("/", start + 1)
    return 0


def forwarded(headers: Iterable[tuple[bytes, bytes]], *, plain: bool) -> Headers:
    """The headers of a client's request that go on to the upstream, keys and all. Names are in lower case.

    With `plain` the upstream is asked not to compress, since we must read its answer.
    """
    kept = _without(headers, _OF_ONE_REQUEST)
    if plain:
        kept = [header for header in kept if header[0] != b"accept-encoding"]
        kept.append((b"accept-encoding", b"identity"))
    return kept


def answered(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of the upstream's answer that go back to the client. The length stays: drop it if you change the
    body. What we did is ours to say: an upstream's own `x-rightcall` does not pass. Nor does what would act on a
    browser in our name, and a type that is none of a model's API is delivered as a file."""
    given = list(headers)
    kept = [header for header in given if _passes(header[0])]
    for name, value in given:
        if name == b"connection":
            hop = {one.strip().lower() for one in value.split(b",")}
            kept = [header for header in kept if header[0] not in hop]
    return as_data(kept)


@lru_cache(maxsize=1024)  # an upstream sends the same few with every answer
def _passes(name: bytes) -> bool:
    return name not in _OF_ONE_HOP and not name.startswith(OWN) and not acts(name)


def _without(headers: Iterable[tuple[bytes, bytes]], dropped: frozenset[bytes]) -> Headers:
    given = list(headers)
    named = b",".join(value for name, value in given if name == b"connection")
    if named:
        dropped = dropped | {name.strip().lower() for name in named.split(b",")}
    return [header for header in given if header[0] not in dropped]
