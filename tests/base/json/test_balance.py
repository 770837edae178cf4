"""Where a bracket closes in a text that is still growing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.json.strings import Balance

pytestmark = pytest.mark.promise("R-09")


def closing(text: str) -> int:
    return Balance(0).advance(text, len(text))


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("{}", 2),
        ("{} x", 2),
        ("{[()]}", 6),
        ("{", -1),
        ("{[}", -1),
        ('{"}"}', 5),
        ('{"\\"}"}', 7),
        ('{"a\\\\"}', 7),
        ("{'}'}", 5),
        ("{a: it's}", 9),
        ("{'a': 'it\\'s }'}", 16),
        ("f(')')"[1:], 5),
        ('{"a', -1),
        ('{"a\\', -1),
        ("[1, {'a': \"]\"}]", 15),
        ("{”}”}", 3),
        ("{a 'b} c'}", 6),
    ],
)
def test_a_bracket_closes_outside_of_strings(text: str, end: int) -> None:
    """A single quote opens a string only where a value or a key may begin; elsewhere it is an apostrophe."""
    assert closing(text) == end


@given(st.text(st.sampled_from("{}[]()\"'\\,: ab\n"), max_size=30).map("{".__add__), st.data())
def test_it_does_not_matter_in_which_pieces_the_text_comes(text: str, data: st.DataObject) -> None:
    balance, limit, end = Balance(0), 0, -1
    while end < 0 and limit < len(text):
        limit = data.draw(st.integers(limit + 1, len(text)))
        end = balance.advance(text[:limit], limit)
    assert end == closing(text)


def test_the_string_it_stands_in_is_told() -> None:
    balance = Balance(0)
    balance.advance('{"a', 3)
    assert balance.quote == '"'
    balance.advance('{"a"', 4)
    assert balance.quote == ""
