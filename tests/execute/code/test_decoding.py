"""Bytes as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.tools.code.read import decode_text


@pytest.mark.promise("C-01")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ("", "utf-8")),
        ("größe".encode(), ("größe", "utf-8")),
        (b"\xef\xbb\xbfabc", ("abc", "utf-8-sig")),
        (b"\xef\xbb\xbfcaf\xe9", ("ï»¿café", "windows-1252")),
        (b"caf\xe9 \x93x\x94", ("café “x”", "windows-1252")),
        (b"\x81\xe9", ("\x81é", "iso-8859-1")),
        (b"\xff\xfe" + "aß\n".encode("utf-16-le"), ("aß\n", "utf-16-le")),
        (b"\xfe\xff" + "a😀".encode("utf-16-be"), ("a😀", "utf-16-be")),
        (b"\xff\xfe\0\0" + "a".encode("utf-32-le"), ("a", "utf-32-le")),
        (b"\0\0\xfe\xff" + "a".encode("utf-32-be"), ("a", "utf-32-be")),
        (b"\xff\xfe", ("", "utf-16-le")),
        (b"\x7fELF\0\0", None),
        (b"text\0", None),
        (b"\xff\xfea\0b", None),
        (b"\xff\xfe\0\0\0\xd8", None),
        (b"\xff\xfea\0\0\0", None),
    ],
)
def test_bytes_are_decoded_and_the_encoding_is_said(data: bytes, expected: tuple[str, str] | None) -> None:
    assert decode_text(data) == expected


@given(st.binary(max_size=50))
def test_any_bytes_are_text_or_binary_and_a_nul_without_a_mark_means_binary(data: bytes) -> None:
    found = decode_text(data)
    if found is None:
        assert b"\0" in data
    else:
        assert "\0" not in found[0]
        found[0].encode()
