"""Headers that repeat a part of the body (2026-07-28, HTTP), so that whoever stands between can route by them: how a
value is written there, which arguments of a tool are repeated (`x-mcp-header`), and whether both say the same."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Raw

from rightcall.mcp.messages import mapping, value

HEADER_MISMATCH: Final = -32020
_MARK: Final = b"x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = ("string", "integer", "boolean")
_WHOLE: Final = re.compile(r"(-?[0-9]{1,100})(?:\.0{0,100})?")
_DEEPEST: Final = 20
_START, _END = "=?base64?", "?="

Mirror = tuple[tuple[str, ...], str]
"""The path of an argument, and the end of the name of its header."""
Headers = Iterable[tuple[bytes, bytes]]
"""As they came, with names in lower case."""


def header_value(text: str) -> str:
    """A text as HTTP can carry it; anything unusual is wrapped as the protocol says.

    >>> header_value("a.txt"), header_value("ä")
    ('a.txt', '=?base64?w6Q=?=')
    """
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith(_START):
        return text
    return f"{_START}{b64encode(text.encode('utf-8', 'replace')).decode()}{_END}"


def header_text(given: bytes) -> str | None:
    """What a header says, without the blanks around it; None where it cannot be read in one way only.

    >>> header_text(b" a.txt\\t"), header_text(b"=?base64?w6Q=?="), header_text(b"=?base64?w6Q?=")
    ('a.txt', 'ä', None)
    """
    text = given.strip(b" \t").decode("latin-1")
    if not (text.startswith(_START) and text.endswith(_END)):
        return text if text.isascii() and text.replace("\t", " ").isprintable() else None
    inner = text[len(_START) : -len(_END)]
    try:
        found = b64decode(inner, validate=True)
        return found.decode() if b64encode(found).decode() == inner else None
    except ValueError:
        return None


def mirrors(definition: Raw) -> tuple[Mirror, ...]:
    """The arguments of a tool that HTTP clients of the new era also send as headers."""
    if _MARK not in bytes(definition):
        return ()
    schema = mapping(mapping(value(definition)).get("inputSchema"))
    found: dict[str, Mirror] = {}
    for path, token in _marked(schema, ()):
        found.setdefault(token.lower(), (path, token))
    return tuple(found.values())


def _marked(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Mirror]:
    token = schema.get(_MARK.decode())
    if path and isinstance(token, str) and _TOKEN.fullmatch(token) and schema.get("type") in _TYPES:
        yield path, token
    if len(path) < _DEEPEST:
        for name, inner in mapping(schema.get("properties")).items():
            yield from _marked(mapping(inner), (*path, name))


def mirrored(paths: tuple[Mirror, ...], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for one call."""
    headers: dict[str, str] = {}
    for path, token in paths:
        text = _written(_value_at(arguments, path))
        if text is not None:
            headers[_header_of(token)] = header_value(text)
    return headers


def mismatch(paths: tuple[Mirror, ...], arguments: Mapping[str, Any], headers: Headers) -> str | None:
    """How the headers of a call differ from its arguments; None where they say the same. A header without an argument
    differs as well: whoever routed by it was told what the call does not say."""
    for path, token in paths:
        name = _header_of(token)
        given = [found for key, found in headers if key == name.encode()]
        wanted = _value_at(arguments, path)
        text = _written(wanted)
        shown = f"Header mismatch: Mcp-Param-{token}"
        if len(given) > 1:
            return f"{shown} is there twice"
        if text is None:
            if given:
                return f"{shown} is there, but the call has no argument {'.'.join(path)} that could be sent as a header"
        elif not given:
            return f"{shown} is missing, but the call has the argument {'.'.join(path)}"
        elif not _says(header_text(given[0]), wanted, text):
            return f"{shown} does not match the argument {'.'.join(path)}"
    return None


def _says(header: str | None, wanted: Any, text: str) -> bool:
    if header == text:
        return True
    if header is None or isinstance(wanted, (bool, str)):
        return False
    whole = _WHOLE.fullmatch(header)
    return whole is not None and int(whole[1]) == wanted  # 42.0 is 42


def _header_of(token: str) -> str:
    return f"mcp-param-{token.lower()}"


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = arguments
    for name in path:
        found = mapping(found).get(name)
    return found


def _written(found: Any) -> str | None:
    """As a header says it; None where there is no value, or one that no header can say."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if not isinstance(found, (str, int, float)):
        return None
    try:
        return str(found)
    except ValueError:  # a number with thousands of digits
        return None
