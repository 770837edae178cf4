"""Exceptions as a model may read them."""

import pytest

from rightcall.base.text import fault_text


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such day"), "ValueError: no such day"),
        (ValueError("two\n  lines\tand \x1b[31m red"), "ValueError: two lines and \\u001b[31m red"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError("a"), "KeyError: 'a'"),
        (BrokenError(), "BrokenError"),
    ],
)
def test_an_exception_is_its_kind_and_its_message_on_one_line(error: BaseException, text: str) -> None:
    assert fault_text(error) == text


def test_a_long_message_is_cut() -> None:
    text = fault_text(ValueError("x" * 10_000_000), 50)
    assert len(text) == 50
    assert text.endswith("x…")
