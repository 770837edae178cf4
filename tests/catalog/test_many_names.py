"""A name that nobody has, among thousands: the same help as among few, in a moment."""

import pytest

from rightcall import Gate
from rightcall.catalog import build_catalog

VERBS = ["get", "list", "create", "update", "delete", "search", "fetch", "send", "archive", "restore"]
NOUNS = ["user", "invoice", "order", "ticket", "message", "channel", "report", "contact", "file", "folder"]
NAMES = [f"{verb}_{noun}_{number}" for verb in VERBS for noun in NOUNS for number in range(20)]


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate([{"name": name, "parameters": {"type": "object"}} for name in [*NAMES, "open_weather_map"]])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("weather_map", "open_weather_map"),
        ("open_wether_mpa", "open_weather_map"),
        ("invoice_search_7", "search_invoice_7"),
    ],
)
def test_the_nearest_of_thousands_is_suggested(gate: Gate, written: str, meant: str) -> None:
    assert meant in gate.catalog.find(written).suggestions


def test_what_is_like_none_of_thousands_is_answered_with_none(gate: Gate) -> None:
    assert gate.catalog.find("qqqq_zzzz_xxxx").suggestions == ()
    assert "and 1,9" not in (gate.check("qqqq_zzzz_xxxx", {}).hint or "")


def test_a_slip_is_repaired_among_thousands_as_among_few(gate: Gate) -> None:
    few = build_catalog([{"name": "open_weather_map", "parameters": {"type": "object"}}])
    for catalog in (few, gate.catalog):
        found = catalog.find("open_waether_map")
        assert (found.kind, found.tool and found.tool.name) == ("typo", "open_weather_map")
