"""The hash chain of the audit: each record's hash covers everything it holds and the hash of the one before."""

from hashlib import sha256

START = b"\0" * 32
"""What stands before the first record."""


def link(before: bytes, seq: int, kind: str, call: int, at: str, body: bytes) -> bytes:
    """The hash of one record. The lengths are covered too, so that nothing can move between two fields.

    >>> link(START, 1, "begin", 0, "2026-01-01 00:00:00.000", b"{}").hex()[:16]
    'e563f152b3bc55c5'
    """
    head = f"{seq}\0{kind}\0{call}\0{at}\0{len(body)}\0".encode()
    return sha256(before + head + body).digest()
