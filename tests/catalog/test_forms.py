"""Forms: dates and numbers as models write them, declared by a pack, and what each means."""

from typing import Any

import pytest

from rightcall import Gate
from rightcall.catalog import read_pack_text
from rightcall.catalog.forms import convert, explain, read_form
from rightcall.errors import PackError
from support.every import every

TOOLS = [
    {
        "name": "book",
        "parameters": {
            "type": "object",
            "required": ["room"],
            "properties": {
                "room": {"type": "string"},
                "day": {"type": "string", "format": "date"},
                "minutes": {"type": "integer"},
                "tags": {"type": "array", "items": {"enum": ["quiet", "large"]}},
                "guest": {
                    "type": "object",
                    "required": ["surname", "language"],
                    "properties": {
                        "surname": {"type": "string"},
                        "language": {"enum": ["de", "fr"]},
                        "arrival": {"type": "string"},
                    },
                },
                "meals": {
                    "type": "array",
                    "items": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
                },
            },
        },
    }
]
PACK = """
[pack]
name = "hotel"
[tools.book]
aliases."guest.familienname" = "guest.surname"
aliases."meals[].sort" = "meals[].kind"
aliases.sprache = "guest.language"
values."tags[]".ruhig = "quiet"
defaults."guest.language" = "de"
forms.day = ["D.M.YYYY -> YYYY-MM-DD"]
forms."guest.arrival" = ["h:mm A -> HH:mm"]
forms.minutes = ["h * 60", "min * 1"]
"""


def book(arguments: dict[str, Any]) -> Any:
    return Gate(TOOLS, packs=[read_pack_text(PACK)]).check("book", arguments)


@every(
    ("given", "forms", "meant"),
    [
        ("31.1.2026", ["D.M.YYYY -> YYYY-MM-DD"], "2026-01-31"),
        ("Jan 31, 2026", ["MMMM D, YYYY -> YYYY-MM-DD"], "2026-01-31"),
        ("3:30 pm", ["h:mm A -> HH:mm"], "15:30"),
        ("12:05 am", ["h:mm A -> HH:mm"], "00:05"),
        (1769817600, ["unix -> YYYY-MM-DD"], "2026-01-31"),
        ("1h 30min", ["h * 60", "min * 1"], 90),
        ("50 %", ["% * 0.01"], 0.5),
        ("1.250,50", ["1.234,5"], 1250.5),
    ],
)
def test_a_form_says_what_a_value_means(given, forms, meant):
    assert convert(given, forms) == meant


@every(
    ("given", "forms"),
    [
        ("31.2.2026", ["D.M.YYYY -> YYYY-MM-DD"]),
        ("2026-01-31", ["D.M.YYYY -> YYYY-MM-DD"]),
        ("soon", ["D.M.YYYY -> YYYY-MM-DD"]),
        ("2 days", ["h * 60"]),
        ("13:30 pm", ["h:mm A -> HH:mm"]),
        ("9" * 500 + "h", ["h * 60"]),
        (True, ["h * 60"]),
    ],
)
def test_what_no_form_reads_is_left_alone(given, forms):
    assert convert(given, forms) is None


def test_two_forms_that_disagree_decide_nothing():
    assert convert("3/4/2026", ["D/M/YYYY -> YYYY-MM-DD", "M/D/YYYY -> YYYY-MM-DD"]) is None


@every(
    ("given", "wanted", "forms"),
    [
        ("31.1.2026", "2026-01-31", ("D.M.YYYY -> YYYY-MM-DD",)),
        ("03/04/2026", "2026-04-03", ("D/M/YYYY -> YYYY-MM-DD",)),
        ("2 h", 120, ("h * 60",)),
        ("10k", 10000, ("k * 1000",)),
        ("1.250,50", 1250.5, ("1.234,5",)),
        ("Bern", "Basel", ()),
        ("3", True, ()),
    ],
)
def test_a_correction_tells_which_form_it_was(given, wanted, forms):
    assert explain(given, wanted) == forms


@every("text", ["tomorrow", "YYYY -> YYYY-YYYY", "h * 0", "h", "x" * 80, "DD.QQ -> MM"])
def test_a_pack_with_a_form_that_cannot_be_read_is_refused(text):
    with pytest.raises(ValueError, match=r"form|layout|twice"):
        read_form(text)
    with pytest.raises(PackError, match=r"forms\.day"):
        read_pack_text(f'[pack]\nname = "x"\n[tools.book]\nforms.day = ["{text}"]\n')


def test_a_date_that_any_text_argument_would_take_is_brought_to_its_layout():
    verdict = book({"room": "7", "day": "31.1.2026"})
    assert verdict.call.arguments == {"room": "7", "day": "2026-01-31"}
    assert [repair.rule for repair in verdict.repairs] == ["form"]


def test_a_right_date_is_not_touched():
    arguments = {"room": "7", "day": "2026-01-31"}
    verdict = book(arguments)
    assert verdict.call.arguments is arguments
    assert verdict.strategy == "direct"


def test_rules_reach_inside_objects_and_lists():
    guest = {"familienname": "Ott", "arrival": "3:30 pm"}
    verdict = book({"room": "7", "guest": guest, "meals": [{"sort": "tea"}], "tags": ["ruhig"], "minutes": "1h 30min"})
    assert verdict.ok
    assert verdict.call.arguments == {
        "room": "7",
        "guest": {"surname": "Ott", "arrival": "15:30", "language": "de"},
        "meals": [{"kind": "tea"}],
        "tags": ["quiet"],
        "minutes": 90,
    }


def test_an_alias_may_lead_into_an_object():
    verdict = book({"room": "7", "sprache": "fr", "guest": {"surname": "Ott"}})
    assert verdict.call.arguments["guest"] == {"surname": "Ott", "language": "fr"}


def test_an_alias_beside_what_it_means_moves_nothing():
    verdict = book({"room": "7", "sprache": "fr", "guest": {"surname": "Ott", "language": "de"}})
    assert verdict.call is None or verdict.call.arguments["guest"]["language"] == "de"


def test_a_place_that_the_schema_does_not_have_is_refused():
    with pytest.raises(PackError, match="no such argument"):
        read_pack_text(
            '[pack]\nname = "x"\n[tools.a]\naliases."b.c" = "b.d"\n[tools.a.parameters.properties]\nx = {}\n'
        )
