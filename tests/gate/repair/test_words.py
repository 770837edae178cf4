"""Words in names: split, singular, of one meaning."""

import pytest

from rightcall.gate.repair.words import EMPTY_WORDS, GROUPS, joined, opposed, same_meaning, singular, words_of
from support.every import every


@every(
    ("name", "words"),
    [
        ("max_results", ("max", "results")),
        ("maxResults_v2", ("max", "results", "v", "2")),
        ("HTTPServer", ("http", "server")),
        ("user-ID", ("user", "id")),
        ("größe", ("gr", "öß", "e")),
        ("", ()),
        ("__", ()),
    ],
)
def test_a_name_is_split_into_its_words(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


def test_style_is_nothing_but_case_and_separators() -> None:
    assert {joined(name) for name in ("userName", "user_name", "USER-NAME", "User Name")} == {"username"}


@every(
    ("word", "form"),
    [
        ("cities", "city"), ("boxes", "box"), ("classes", "class"), ("items", "item"), ("status", "status"),
        ("address", "address"), ("analysis", "analysis"), ("s", "s"), ("gas", "ga"), ("id", "id"),
    ],
)  # fmt: skip
def test_one_form_for_singular_and_plural(word: str, form: str) -> None:
    assert singular(word) == form


@pytest.mark.promise("N-06")
@every(
    ("one", "other"),
    [("city", "location"), ("message", "text"), ("items", "product"), ("start", "begin"), ("lat", "latitude")],
)
def test_words_of_one_group_mean_the_same_both_ways(one: str, other: str) -> None:
    assert same_meaning(one, other)
    assert same_meaning(other, one)


@pytest.mark.promise("N-06", "N-13")
@every(
    ("one", "other"),
    [("start", "end"), ("min", "max"), ("sender", "recipient"), ("latitude", "longitude"), ("width", "height"),
     ("origin", "destination"), ("first", "last"), ("include", "exclude"), ("enabled", "disabled")],
)  # fmt: skip
def test_opposites_never_mean_the_same(one: str, other: str) -> None:
    assert not same_meaning(one, other)


def test_the_thesaurus_is_made_of_groups_of_plain_words() -> None:
    groups = [line.split() for line in GROUPS.strip().splitlines()]
    assert groups
    assert all(word == word.lower() and word.isascii() for group in groups for word in group)
    assert not [group for group in groups if len(group) != len(set(group))]
    assert not EMPTY_WORDS & {"id", "name", "type", "date"}


@pytest.mark.promise("N-06", "N-13")
@every(
    ("one", "other"),
    [
        ("max_price", "min_price"), ("old_value", "newValue"), ("from_date", "to_date"), ("source", "destination"),
        ("before", "after"), ("lat", "lng"), ("inputs", "output"), ("is_active", "is_inactive"), ("follow", "unfollow"),
        ("connect", "disconnect"), ("x1", "x2"), ("ipv4", "ipv6"), ("include_tags", "exclude_tags"),
    ],
)  # fmt: skip
def test_contraries_are_known_both_ways(one: str, other: str) -> None:
    assert opposed(one, other)
    assert opposed(other, one)


@every(
    ("one", "other"),
    [
        ("city", "town"), ("max_price", "maximum_price"), ("from_start", "start_from"), ("start", "begin"),
        ("min_max", "max_min"), ("line1", "line"), ("debug", "bug"), ("unit", "it"), ("", ""), ("price", "min_price"),
    ],
)  # fmt: skip
def test_what_is_no_contrary_is_none(one: str, other: str) -> None:
    assert not opposed(one, other)
    assert not opposed(other, one)
