"""Bytes of a file as text, and what encoding that was."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE

_MARKS = (
    (BOM_UTF32_LE, "utf-32-le"),  # before the one it begins with
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)


def decoded(data: bytes) -> tuple[str, str] | None:
    """The text without its byte-order mark, and the encoding's name; None for what is no text. A NUL byte means that,
    unless a mark says that NUL bytes are to be expected.

    >>> decoded(b"caf\\xc3\\xa9"), decoded(b"caf\\xe9"), decoded(b"\\xff\\xfea\\0"), decoded(b"\\x7fELF\\0")
    (('café', 'utf-8'), ('café', 'windows-1252'), ('a', 'utf-16-le'), None)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _marked(data, mark, encoding)) is not None:
            return text, encoding
    if b"\0" in data:
        return None
    if data.startswith(BOM_UTF8):
        try:
            return data[len(BOM_UTF8) :].decode(), "utf-8-sig"
        except UnicodeDecodeError:
            return _of_one_byte(data)
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return _of_one_byte(data)


def _marked(data: bytes, mark: bytes, encoding: str) -> str | None:
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _of_one_byte(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("windows-1252"), "windows-1252"
    except UnicodeDecodeError:  # it leaves five bytes open, this one none
        return data.decode("iso-8859-1"), "iso-8859-1"
