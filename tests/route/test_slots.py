"""Which required values a request seems to hold: T-02."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.router.slots import FILLED, filled_shares, values_in, wanted_arguments
from route.deciding import ODD_TEXTS, ODD_TOOLS, TABLE, tool

pytestmark = pytest.mark.promise("T-02")


def missing(text: str, **kinds: str) -> list[str]:
    needs = wanted_arguments(tool("x", "", **kinds))
    return [one.name for one, held in zip(needs, filled_shares(needs, values_in(text)), strict=True) if held < FILLED]


@pytest.mark.parametrize(
    ("text", "kinds", "expected"),
    [
        ("add 3 and 4", {"first": "number", "second": "number"}, []),
        ("add them up", {"first": "number", "second": "number"}, ["first", "second"]),
        ("mail anna@example.org", {"email": "string"}, []),
        ("mail her", {"email": "string"}, ["email"]),
        ("open https://example.org/a", {"url": "string"}, []),
        ("open it", {"url": "string"}, ["url"]),
        ("on 2024-05-01", {"date": "string"}, []),
        ("some day", {"date": "string"}, ["date"]),
        ("at 7:30", {"time": "string"}, []),
        ("the weather in Oslo", {"city": "string"}, []),
        ("the weather", {"city": "string"}, ["city"]),
    ],
)
def test_a_value_is_seen_where_one_of_its_kind_stands(text: str, kinds: dict[str, str], expected: list[str]) -> None:
    assert missing(text, **kinds) == expected


def test_one_value_serves_one_argument() -> None:
    assert missing("wait 5 seconds", first="integer", second="integer") == ["second"]


def test_only_what_is_required_and_described_is_wanted() -> None:
    assert [one.name for one in wanted_arguments(TABLE)] == ["restaurant", "date", "time", "people"]
    assert wanted_arguments(tool("x", "", "absent", a="string")) == ()


def test_nothing_odd_raises_and_all_is_between_none_and_sure() -> None:
    for text in ODD_TEXTS:
        values = values_in(text)
        for one in ODD_TOOLS:
            assert all(0.0 <= held <= 1.0 for held in filled_shares(wanted_arguments(one), values))


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert len(filled_shares(wanted_arguments(TABLE), values_in(text))) == 4
