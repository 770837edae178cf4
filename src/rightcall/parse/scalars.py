"""Numbers and constants in the notations that models use."""

from __future__ import annotations

import re
from typing import Any

from rightcall.parse.late import Late

NUMBER = r"[-+]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
MAX_DIGITS = 1000
"""More digits than this are no number anybody meant; Python itself gives up at 4,300."""

JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_LENIENT = Late(r"([-+]?)((?:0|[1-9]\d*(?:_\d+)*)?)(\.\d*)?([eE][-+]?\d+)?")
_HEX = Late(r"[-+]?0[xX][0-9a-fA-F]{1,16}")

CONSTANTS: dict[str, tuple[Any, str | None]] = {
    "true": (True, None), "false": (False, None), "null": (None, None),
    "True": (True, "python_constant"), "False": (False, "python_constant"), "None": (None, "python_constant"),
    "TRUE": (True, "constant_form"), "FALSE": (False, "constant_form"), "NULL": (None, "constant_form"),
    "Null": (None, "constant_form"), "undefined": (None, "constant_form"), "nil": (None, "constant_form"),
    "NaN": (float("nan"), "constant_form"), "nan": (float("nan"), "constant_form"),
    "Infinity": (float("inf"), "constant_form"), "inf": (float("inf"), "constant_form"),
    "-Infinity": (float("-inf"), "constant_form"), "-inf": (float("-inf"), "constant_form"),
}  # fmt: skip


def read_number(token: str) -> int | float | None:
    """The number a token stands for, or None: `.5`, `2.`, `+3`, `1_000` and `0x1F` are numbers, `007` is none.

    >>> [read_number(token) for token in ("12", ".5", "1_000", "007", "1/3")]
    [12, 0.5, 1000, None, None]
    """
    if len(token) > MAX_DIGITS:
        return None
    match = JSON_NUMBER.fullmatch(token)
    if match is not None:
        return float(token) if match[1] or match[2] else int(token)
    match = _LENIENT.fullmatch(token)
    if match is None:
        return int(token, 16) if _HEX.fullmatch(token) else None
    sign, whole, fraction, exponent = match.groups()
    digits = whole.replace("_", "")
    if not digits and (not fraction or fraction == "."):
        return None
    if fraction is None and exponent is None:
        return int(sign + digits)
    return float(f"{sign}{digits or '0'}{fraction or ''}{exponent or ''}")
