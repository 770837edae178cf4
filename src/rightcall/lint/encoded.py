"""RC707: pieces that nobody can review, and what they say: base64, bytes in hex or in zeros and ones, and ROT13."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint.elsewhere import is_shown
from rightcall.lint.findings import Hit, Steps, quote_text

_BLOB: Final = re.compile(
    r"(?<![A-Za-z0-9+/=_.-])(?:[A-Za-z0-9+/_-]{60,}={0,2}|[0-9a-fA-F]{80,}|(?:\\x[0-9a-f]{2}){12,}|"
    r"(?:%[0-9A-F]{2}){12,}|(?:&#\d{2,5};){8,})(?![A-Za-z0-9+/_-])"
)
_BASE64: Final = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:\s[A-Za-z0-9+/_-]{16,})*(?:\s[A-Za-z0-9+/_-]{2,}(?==))?={0,2}"
)
_LEAST: Final = 24
_HASHES: Final = (64, 96, 128)
"""Digits of a hash in hex."""
_HEX: Final = re.compile(
    r"(?<![\da-zA-Z])(?:0x)?(?:[\da-fA-F]{2}[ :,\\x]{0,3}){12,}(?![\da-zA-Z])|(?:\\x[\da-fA-F]{2}){8,}"
)
_BITS: Final = re.compile(r"(?<!\d)[01]{8}(?:\s?[01]{8}){7,}(?!\d)")
_TURNED: Final = re.compile(r"\b(?:gur|naq|gb|vg|vagb|ernq|hfre|vtaber|cnff|frperg|xrl|qb|abg)\b")
_LEAST_TURNED: Final = 3
_WORDS: Final = re.compile(r"[A-Za-z]{2,}")
_LEAST_WORDS: Final = 3
_KEY_TYPES: Final = (b"ssh-rsa", b"ssh-ed25519", b"ssh-dss", b"ecdsa-sha2-")


def meanings(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text that are words in another writing, each with the words."""
    for found in _BASE64.finditer(text):
        piece = "".join(found[0].split())
        if len(piece) >= _LEAST and (told := _as_words(from_base64(piece))):
            yield found[0], told
    for found in _HEX.finditer(text):
        digits = re.sub(r"0x|[^\da-fA-F]", "", found[0])
        if len(digits) % 2 == 0 and (told := _as_words(bytes.fromhex(digits))):
            yield found[0], told
    for found in _BITS.finditer(text):
        bits = "".join(found[0].split())
        if told := _as_words(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))):
            yield found[0], told


def turned(text: str) -> str:
    """A text in ROT13 as it reads; empty for any other."""
    return codecs.decode(text, "rot13") if len(_TURNED.findall(text)) >= _LEAST_TURNED else ""


def from_base64(piece: str) -> bytes:
    plain = piece.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4))
    except binascii.Error:
        return b""


def _as_words(read: bytes) -> str:
    """What bytes say; empty where they are no sentence."""
    told = read.decode("utf-8", "ignore")
    if len(told.encode()) < len(read) or not told.replace("\n", " ").isprintable():
        return ""
    return told if len(_WORDS.findall(told)) >= _LEAST_WORDS and " " in told.strip() else ""


def check(path: Steps, text: str) -> Iterator[Hit]:
    sample = _keyword(path)
    meant = (one for one, _ in meanings(text) if not is_shown(text[: text.find(one)]))
    piece = next(meant, "") if sample in ("", "default") else ""
    if not piece and not sample:
        piece = next((one[0] for one in _BLOB.finditer(text) if _is_encoded(one[0]) and not _is_key(one[0])), "")
    if not piece and not sample and turned(text):
        piece = text
    if piece:
        what = f"an encoded piece of {len(piece)} characters: {quote_text(piece, 30)}"
        yield Hit("RC707", what, "write it in plain words, or remove it", path)


def _keyword(path: Steps) -> str:
    """The keyword that holds a sample; empty for a text. An argument may have the name of one."""
    at = next((at for at in range(len(path) - 1, -1, -1) if isinstance(path[at], str)), 0)
    named = at and path[at - 1] == "properties"
    return str(path[at]) if path[at] in ("$ref", "example", "examples", "default") and not named else ""


def _is_encoded(piece: str) -> bool:
    """Whether a long word is neither a path nor letters, digits or a few characters alone."""
    return (
        len(set(piece)) > 12
        and not (len(piece) in _HASHES and re.fullmatch(r"[0-9a-fA-F]+", piece))
        and not re.search(r"(?<![a-z])(?:[a-z]{3,}[/_-]){3}", piece)
        and not re.fullmatch(r"[A-Za-z/_-]+|[0-9_-]+", piece.rstrip("="))
    )


def _is_key(piece: str) -> bool:
    """Whether it is a public key of SSH, which people show as an example."""
    return from_base64(piece)[4:].startswith(_KEY_TYPES)
